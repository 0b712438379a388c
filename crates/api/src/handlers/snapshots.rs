//! Snapshots, clones, bookmarks and holds.

use crate::app::{Body, Shared, blocking, changed, commit, parse};
use crate::convert;
use crate::handlers::pools::query;
use api_types::{
    BookmarkCreate, CloneCreate, DiffQuery, Hold, HoldRequest, Promote, Rollback, SnapshotCreate,
};
use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query, State};
use axum::response::Response;
use engine_api::Change;

pub async fn create(State(app): State<Shared>, body: Body) -> Response {
    let request = parse::<SnapshotCreate>(body);
    blocking(app, move |app| {
        let SnapshotCreate { names, recursive, props, history } = request?;
        let pool = app.appliance.pool_of_all(&names)?;
        let change = Change::Snapshot { names, recursive, props };
        commit(&*pool, &change, &history)
    })
    .await
}

pub async fn rollback(State(app): State<Shared>, Path(name): Path<String>, body: Body) -> Response {
    let request = parse::<Rollback>(body);
    blocking(app, move |app| Ok(changed(app.appliance.rollback(&name, &request?)?))).await
}

pub async fn clone(State(app): State<Shared>, body: Body) -> Response {
    let request = parse::<CloneCreate>(body);
    blocking(app, move |app| Ok(changed(app.appliance.clone_snapshot(request?)?))).await
}

pub async fn promote(State(app): State<Shared>, Path(name): Path<String>, body: Body) -> Response {
    let request = parse::<Promote>(body);
    blocking(app, move |app| {
        let history = request?.history;
        commit(&*app.pool_of(&name)?, &Change::Promote { name }, &history)
    })
    .await
}

pub async fn bookmark(State(app): State<Shared>, body: Body) -> Response {
    let request = parse::<BookmarkCreate>(body);
    blocking(app, move |app| {
        let BookmarkCreate { source, name, history } = request?;
        commit(&*app.pool_of(&source)?, &Change::Bookmark { source, name }, &history)
    })
    .await
}

pub async fn hold(State(app): State<Shared>, body: Body) -> Response {
    let request = parse::<HoldRequest>(body);
    blocking(app, move |app| {
        let HoldRequest { snapshots, tag, recursive, history } = request?;
        commit(
            &*app.appliance.pool_of_all(&snapshots)?,
            &Change::Hold { snapshots, tag, recursive },
            &history,
        )
    })
    .await
}

pub async fn release(State(app): State<Shared>, body: Body) -> Response {
    let request = parse::<HoldRequest>(body);
    blocking(app, move |app| {
        let HoldRequest { snapshots, tag, recursive, history } = request?;
        commit(
            &*app.appliance.pool_of_all(&snapshots)?,
            &Change::Release { snapshots, tag, recursive },
            &history,
        )
    })
    .await
}

pub async fn holds(State(app): State<Shared>, Path(name): Path<String>) -> Response {
    blocking(app, move |app| {
        let holds = app.pool_of(&name)?.holds(&name)?;
        Ok(holds.into_iter().map(|(tag, time)| Hold { tag, time }).collect::<Vec<_>>())
    })
    .await
}

pub async fn diff(
    State(app): State<Shared>,
    Path(from): Path<String>,
    asked: Result<Query<DiffQuery>, QueryRejection>,
) -> Response {
    blocking(app, move |app| {
        let to = query(asked)?.to;
        let mut found = Vec::new();
        let mut tell = |entry: engine_api::DiffEntry| found.push(convert::diff_entry(&entry));
        app.pool_of(&from)?.diff(&from, &to, &mut tell)?;
        Ok(found)
    })
    .await
}
