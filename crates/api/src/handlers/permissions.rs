//! Delegated permissions.

use crate::app::{Body, Shared, blocking, commit, posted};
use crate::path::Path;
use api_types::{Allow, Unallow};
use axum::extract::State;
use axum::response::Response;
use engine_api::Change;

pub async fn list(State(app): State<Shared>, Path(name): Path<String>) -> Response {
    blocking(app, move |app| Ok(app.pool_of(&name)?.delegations(&name)?)).await
}

pub async fn allow(State(app): State<Shared>, Path(name): Path<String>, body: Body) -> Response {
    posted(app, body, move |app, Allow { grants, history }| {
        commit(&*app.pool_of(&name)?, &Change::Allow { name, grants }, &history)
    })
    .await
}

pub async fn unallow(State(app): State<Shared>, Path(name): Path<String>, body: Body) -> Response {
    posted(app, body, move |app, Unallow { grants, recursive, history }| {
        commit(&*app.pool_of(&name)?, &Change::Unallow { name, grants, recursive }, &history)
    })
    .await
}
