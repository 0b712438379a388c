//! What may be turned while the daemon runs.

use crate::app::{Body, Shared, blocking, posted};
use crate::problem::refuse;
use api_types::{TunableSet, kind};
use axum::extract::State;
use axum::response::Response;

pub async fn list(State(app): State<Shared>) -> Response {
    blocking(app, |app| Ok(app.engine().diagnostics().tunables())).await
}

pub async fn set(State(app): State<Shared>, body: Body) -> Response {
    posted(app, body, |app, TunableSet { name, value }| {
        app.engine().diagnostics().set_tunable(&name, value).map_err(|error| match error {
            engine_api::Error::NotFound => refuse(kind::NOT_FOUND, format!("no tunable '{name}'")),
            error => error.into(),
        })
    })
    .await
}
