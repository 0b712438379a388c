//! Replicas: what there are, and fail-over.

use super::pools::{Asked, query};
use super::services::services;
use crate::app::{App, Body, Shared, long, parse, whole};
use crate::path::Path;
use crate::problem::Refusal;
use crate::words::warnings;
use api_types::{
    ReplicaPromote, ReplicaPromoted, ReplicaQuery, ReplicaTest, ReplicaTested, ServiceReverse,
    ServiceReversed,
};
use appliance::Promoted;
use axum::extract::State;
use axum::response::Response;

pub async fn list(State(app): State<Shared>) -> Response {
    long(app, |app| Ok(app.appliance.replicas()?)).await
}

pub async fn losses(State(app): State<Shared>, asked: Asked<ReplicaQuery>) -> Response {
    long(app, move |app| {
        let ReplicaQuery { dataset } = query(asked)?;
        Ok(app.appliance.losses(&dataset)?)
    })
    .await
}

pub async fn promote(State(app): State<Shared>, body: Body) -> Response {
    let asked: Result<ReplicaPromote, Refusal> = whole(body);
    long(app, move |app: &App| {
        let asked = asked?;
        let (done, told) = app.appliance.promote(app.services(), &asked)?;
        tracing::info!(asked.dataset, asked.force, "a replica was promoted");
        let Promoted { promoted, taken_out, disabled } = done;
        Ok(ReplicaPromoted { promoted, taken_out, disabled, warnings: warnings(told) })
    })
    .await
}

pub async fn test(State(app): State<Shared>, body: Body) -> Response {
    let asked: Result<ReplicaTest, Refusal> = whole(body);
    long(app, move |app: &App| {
        let (clones, told) = app.appliance.test_replica(&asked?)?;
        Ok(ReplicaTested { clones, warnings: warnings(told) })
    })
    .await
}

pub async fn reverse(State(app): State<Shared>, Path(id): Path<String>, body: Body) -> Response {
    let asked: Result<ServiceReverse, Refusal> = parse(body);
    long(app, move |app: &App| {
        let asked = asked?;
        let (service, told) = app.appliance.reverse(services(app)?, &id, asked)?;
        tracing::info!(id, discard = asked.discard, "a service replicates the other way");
        Ok(ServiceReversed { service, warnings: warnings(told) })
    })
    .await
}
