//! Services that look after the data.

use super::pools::{Asked, query};
use crate::app::{App, Body, Shared, answer, blocking, long, prompt, whole};
use crate::path::Path;
use crate::problem::{Refusal, refuse};
use api_types::{
    PolicyWake, ServiceAsk, ServiceCommand, ServiceCreate, ServicePlanQuery, ServiceSet, ServiceSpec, kind,
};
use appliance::Services;
use axum::extract::State;
use axum::response::Response;

pub fn services(app: &App) -> Result<&Services, Refusal> {
    app.services().ok_or_else(|| refuse(kind::UNAVAILABLE, "this program runs no services"))
}

pub async fn list(State(app): State<Shared>) -> Response {
    prompt(app, |app| Ok(services(app)?.all())).await
}

pub async fn create(State(app): State<Shared>, body: Body) -> Response {
    let asked: ServiceCreate = match whole(body) {
        Ok(asked) => asked,
        Err(why) => return answer::<()>(Err(why)),
    };
    blocking(app, move |app| {
        let id = asked.id.clone();
        let made = services(app)?.create(asked)?;
        tracing::info!(id, "a service was made");
        Ok(made)
    })
    .await
}

pub async fn one(State(app): State<Shared>, Path(id): Path<String>) -> Response {
    prompt(app, move |app| Ok(services(app)?.one(&id)?)).await
}

/// What a service is set to do.
pub fn settings(app: &App, id: &str) -> Result<ServiceSpec, Refusal> {
    Ok(services(app)?.spec(id)?)
}

pub async fn spec(State(app): State<Shared>, Path(id): Path<String>) -> Response {
    prompt(app, move |app| settings(app, &id)).await
}

pub async fn set(State(app): State<Shared>, Path(id): Path<String>, body: Body) -> Response {
    let asked: Result<ServiceSet, Refusal> = whole(body);
    blocking(app, move |app| {
        let set = services(app)?.set(&id, asked?.spec)?;
        tracing::info!(id, "a service was set");
        Ok(set)
    })
    .await
}

pub async fn command(State(app): State<Shared>, Path(id): Path<String>, body: Body) -> Response {
    let asked: Result<ServiceAsk, Refusal> = whole(body);
    blocking(app, move |app| {
        let command: ServiceCommand = asked?.command;
        let service = services(app)?.command(&id, command)?;
        tracing::info!(id, ?command, "asked of a service");
        Ok(service)
    })
    .await
}

pub async fn remove(State(app): State<Shared>, Path(id): Path<String>) -> Response {
    blocking(app, move |app| {
        services(app)?.remove(&id)?;
        tracing::info!(id, "a service was removed");
        Ok(())
    })
    .await
}

pub async fn log(State(app): State<Shared>, Path(id): Path<String>) -> Response {
    blocking(app, move |app| Ok(services(app)?.log(&id)?)).await
}

pub async fn plan(
    State(app): State<Shared>,
    Path(id): Path<String>,
    asked: Asked<ServicePlanQuery>,
) -> Response {
    long(app, move |app| {
        let ServicePlanQuery { days } = query(asked)?;
        Ok(services(app)?.plan(&id, days)?)
    })
    .await
}

pub async fn sleeping(State(app): State<Shared>) -> Response {
    prompt(app, |app| Ok(services(app)?.sleeping())).await
}

pub async fn wake(State(app): State<Shared>, body: Body) -> Response {
    let asked: Result<PolicyWake, Refusal> = whole(body);
    blocking(app, move |app| {
        let asked = asked?;
        let PolicyWake { dataset, id } = asked.clone();
        services(app)?.wake(asked)?;
        tracing::info!(dataset, id, "a service that came with a stream begins");
        Ok(())
    })
    .await
}

pub async fn clock(State(app): State<Shared>) -> Response {
    prompt(app, |app| Ok(services(app)?.clock())).await
}

pub async fn agree(State(app): State<Shared>) -> Response {
    blocking(app, |app| {
        let clock = services(app)?.agree()?;
        tracing::warn!("an administrator says that the clock is right");
        Ok(clock)
    })
    .await
}
