//! Drill-downs.

use api_types::{DrillDownQuery, DrillDownRequest, kind};
use axum::extract::{ConnectInfo, State};
use axum::response::Response;

use super::pools::{Asked, query};
use crate::analytics;
use crate::app::{Body, Shared, answer, blocking, prompt, whole};
use crate::caller::Asker;
use crate::path::Path;
use crate::problem::{Refusal, refuse};

fn number(id: &str) -> Result<u64, Refusal> {
    id.parse().map_err(|_| refuse(kind::NOT_FOUND, format!("'{id}' is no number of a drill-down")))
}

/// Who asks, as a drill-down and a worksheet name him.
pub fn owner(asker: &Asker) -> String {
    let of_machine = || format!("user {} of the machine", asker.actor.user);
    asker.identity().map_or_else(of_machine, |identity| identity.user.clone())
}

pub async fn begin(
    State(app): State<Shared>,
    ConnectInfo(asker): ConnectInfo<Asker>,
    body: Body,
) -> Response {
    let asked: DrillDownRequest = match whole(body) {
        Ok(asked) => asked,
        Err(why) => return answer::<()>(Err(why)),
    };
    let owner = owner(&asker);
    blocking(app, move |app| analytics::begin(app, asked, owner)).await
}

pub async fn list(State(app): State<Shared>) -> Response {
    prompt(app, |app| Ok(app.drill_downs.list())).await
}

pub async fn one(
    State(app): State<Shared>,
    Path(id): Path<String>,
    asked: Asked<DrillDownQuery>,
) -> Response {
    blocking(app, move |app| {
        let DrillDownQuery { from } = query(asked)?;
        analytics::found(app, number(&id)?, from)
    })
    .await
}

pub async fn end(State(app): State<Shared>, Path(id): Path<String>) -> Response {
    prompt(app, move |app| app.drill_downs.end(number(&id)?)).await
}

pub async fn remove(State(app): State<Shared>, Path(id): Path<String>) -> Response {
    prompt(app, move |app| app.drill_downs.remove(number(&id)?)).await
}
