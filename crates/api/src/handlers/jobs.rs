//! Jobs, and the version.

use crate::app::{Shared, answer};
use crate::caller::asker;
use crate::handlers::pools::{Asked, query};
use crate::path::Path;
use crate::problem::{Refusal, refuse};
use api_types::{API_VERSION, JobQuery, Version, kind};
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use std::time::Duration;

/// Longest time that a client may ask us to hold its request.
const WAIT_MAX_MS: u64 = 30_000;

pub async fn version(State(app): State<Shared>) -> Response {
    answer(Ok(Version { version: app.version.clone(), api: API_VERSION }))
}

pub async fn list(State(app): State<Shared>) -> Response {
    answer(Ok(app.jobs.all(&asker())))
}

pub async fn one(State(app): State<Shared>, Path(id): Path<String>, asked: Asked<JobQuery>) -> Response {
    let wait = match query(asked) {
        Ok(asked) => Duration::from_millis(asked.wait_ms.min(WAIT_MAX_MS)),
        Err(why) => return why.into_response(),
    };
    let found = match id.parse() {
        Ok(id) => app.wait_for_job(id, wait, true).await,
        Err(_) => None,
    };
    answer(found.ok_or_else(|| no_such_job(&id)))
}

pub async fn log(State(app): State<Shared>, Path(id): Path<String>) -> Response {
    let found = id.parse().ok().and_then(|id| app.jobs.log(id, &asker()));
    answer(found.ok_or_else(|| no_such_job(&id)))
}

pub async fn cancel(State(app): State<Shared>, Path(id): Path<String>) -> Response {
    let asked = match id.parse() {
        Ok(id) => app.jobs.cancel(id, &asker()),
        Err(_) => None,
    };
    answer(asked.map_or_else(|| Err(no_such_job(&id)), |asked| asked.map_err(Refusal::from)))
}

fn no_such_job(id: &str) -> Refusal {
    refuse(kind::NOT_FOUND, format!("no such job: {id}"))
}
