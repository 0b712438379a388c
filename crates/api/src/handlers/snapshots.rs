//! Snapshots, clones, bookmarks and holds.

use crate::app::{Body, Shared, blocking, changed, commit, posted, whole};
use crate::convert;
use crate::handlers::pools::{Asked, query};
use crate::path::Path;
use crate::problem::{Refusal, refuse};
use api_types::lock::{self, LockRequest};
use api_types::{
    BookmarkCreate, CloneCreate, DiffQuery, Hold, HoldRequest, Promote, Rollback, SnapshotCreate, kind,
};
use axum::extract::State;
use axum::response::Response;
use engine_api::Change;

pub async fn create(State(app): State<Shared>, body: Body) -> Response {
    posted(app, body, |app, SnapshotCreate { names, recursive, props, history }| {
        let pool = app.appliance.pool_of_all(&names)?;
        commit(&*pool, &Change::Snapshot { names, recursive, props }, &history)
    })
    .await
}

pub async fn rollback(State(app): State<Shared>, Path(name): Path<String>, body: Body) -> Response {
    posted(app, body, move |app, asked: Rollback| Ok(changed(app.appliance.rollback(&name, &asked)?))).await
}

pub async fn clone(State(app): State<Shared>, body: Body) -> Response {
    posted(app, body, |app, asked: CloneCreate| Ok(changed(app.appliance.clone_snapshot(asked)?))).await
}

pub async fn promote(State(app): State<Shared>, Path(name): Path<String>, body: Body) -> Response {
    posted(app, body, move |app, Promote { history }| {
        commit(&*app.pool_of(&name)?, &Change::Promote { name }, &history)
    })
    .await
}

pub async fn bookmark(State(app): State<Shared>, body: Body) -> Response {
    posted(app, body, |app, BookmarkCreate { source, name, history }| {
        commit(&*app.pool_of(&source)?, &Change::Bookmark { source, name }, &history)
    })
    .await
}

pub async fn hold(State(app): State<Shared>, body: Body) -> Response {
    posted(app, body, |app, HoldRequest { snapshots, tag, recursive, history }| {
        let pool = app.appliance.pool_of_all(&snapshots)?;
        commit(&*pool, &Change::Hold { snapshots, tag, recursive }, &history)
    })
    .await
}

pub async fn lock(State(app): State<Shared>, body: Body) -> Response {
    let asked: Result<LockRequest, Refusal> = whole(body);
    blocking(app, move |app| {
        let LockRequest { snapshots, until, recursive, history } = asked?;
        let tag = lock::tag(until).ok_or_else(|| refuse(kind::INVALID, format!("{until} is no time")))?;
        let pool = app.appliance.pool_of_all(&snapshots)?;
        commit(&*pool, &Change::Hold { snapshots, tag, recursive }, &history)
    })
    .await
}

pub async fn release(State(app): State<Shared>, body: Body) -> Response {
    posted(app, body, |app, HoldRequest { snapshots, tag, recursive, history }| {
        let pool = app.appliance.pool_of_all(&snapshots)?;
        commit(&*pool, &Change::Release { snapshots, tag, recursive }, &history)
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

pub async fn diff(State(app): State<Shared>, Path(from): Path<String>, asked: Asked<DiffQuery>) -> Response {
    blocking(app, move |app| {
        let to = query(asked)?.to;
        let mut found = Vec::new();
        let mut tell = |entry: engine_api::DiffEntry| found.push(convert::diff_entry(&entry));
        app.pool_of(&from)?.diff(&from, &to, &mut tell)?;
        Ok(found)
    })
    .await
}
