//! Delegated permissions.

use crate::app::{Body, Shared, blocking, commit, parse};
use api_types::{Allow, Unallow};
use axum::extract::{Path, State};
use axum::response::Response;
use engine_api::Change;

pub async fn list(State(app): State<Shared>, Path(name): Path<String>) -> Response {
    blocking(app, move |app| Ok(app.pool_of(&name)?.delegations(&name)?)).await
}

pub async fn allow(State(app): State<Shared>, Path(name): Path<String>, body: Body) -> Response {
    let request = parse::<Allow>(body);
    blocking(app, move |app| {
        let Allow { grants, history } = request?;
        commit(&*app.pool_of(&name)?, &Change::Allow { name, grants }, &history)
    })
    .await
}

pub async fn unallow(State(app): State<Shared>, Path(name): Path<String>, body: Body) -> Response {
    let request = parse::<Unallow>(body);
    blocking(app, move |app| {
        let Unallow { grants, recursive, history } = request?;
        commit(&*app.pool_of(&name)?, &Change::Unallow { name, grants, recursive }, &history)
    })
    .await
}
