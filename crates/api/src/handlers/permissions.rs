//! Delegated permissions.

use crate::app::{Body, Shared, blocking, parse};
use api_types::{Allow, Changed, Unallow};
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
        let done = app.pool_of(&name)?.commit(&Change::Allow { name, grants }, &history);
        Ok(Changed { txg: done?.txg, warnings: Vec::new() })
    })
    .await
}

pub async fn unallow(State(app): State<Shared>, Path(name): Path<String>, body: Body) -> Response {
    let request = parse::<Unallow>(body);
    blocking(app, move |app| {
        let Unallow { grants, recursive, history } = request?;
        let done = app.pool_of(&name)?.commit(&Change::Unallow { name, grants, recursive }, &history);
        Ok(Changed { txg: done?.txg, warnings: Vec::new() })
    })
    .await
}
