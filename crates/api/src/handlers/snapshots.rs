//! Snapshots, clones, bookmarks and holds.

use crate::app::{App, Body, Shared, blocking, parse};
use crate::convert;
use crate::handlers::datasets::unmount;
use crate::handlers::pools::query;
use crate::mounting;
use crate::problem::{of_error, problem};
use api_types::{
    BookmarkCreate, Changed, CloneCreate, DiffQuery, Hold, HoldRequest, Problem, Promote, Rollback,
    SnapshotCreate, kind,
};
use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query, State};
use axum::response::Response;
use engine_api::{Change, DatasetFilter, DatasetKind, DestroyQuery, Pool};
use std::sync::Arc;

/// Younger snapshots and bookmarks that a refused rollback names.
const YOUNGER_MAX: usize = 32;

pub async fn create(State(app): State<Shared>, body: Body) -> Response {
    let request = parse::<SnapshotCreate>(body);
    blocking(app, move |app| {
        let SnapshotCreate { names, recursive, props, history } = request?;
        let pool = pool_of_all(app, &names)?;
        let change = Change::Snapshot { names, recursive, props: convert::props(&props) };
        commit(&pool, &change, &history)
    })
    .await
}

/// The one pool of all these names.
fn pool_of_all(app: &App, names: &[String]) -> Result<Arc<dyn Pool>, Problem> {
    let first = names.first().ok_or_else(|| problem(kind::INVALID, "no snapshots are named"))?;
    let pool = app.pool_of(first)?;
    let own = pool.name();
    match names.iter().find(|name| name.split(['/', '@', '#']).next() != Some(own.as_str())) {
        Some(_) => Err(problem(kind::INVALID, "snapshots must be in the same pool")),
        None => Ok(pool),
    }
}

fn commit(pool: &Arc<dyn Pool>, change: &Change, history: &str) -> Result<Changed, Problem> {
    let committed = pool.commit(change, history).map_err(|error| of_error(&error))?;
    Ok(Changed { txg: committed.txg, warnings: Vec::new() })
}

pub async fn rollback(State(app): State<Shared>, Path(name): Path<String>, body: Body) -> Response {
    let request = parse::<Rollback>(body);
    blocking(app, move |app| run_rollback(app, &name, &request?)).await
}

fn run_rollback(app: &App, snapshot: &str, request: &Rollback) -> Result<Changed, Problem> {
    let pool = app.pool_of(snapshot)?;
    let head = snapshot.split('@').next().unwrap_or_default();
    let change = Change::Rollback { snapshot: snapshot.to_owned() };
    // Before anything is taken from anybody.
    pool.permits(&change).map_err(|error| of_error(&error))?;
    let missing = || problem(kind::NOT_FOUND, format!("cannot open '{snapshot}': dataset does not exist"));
    let filter = DatasetFilter {
        roots: vec![head.to_owned()],
        depth: Some(1),
        kinds: vec![DatasetKind::Snapshot, DatasetKind::Bookmark],
        props: vec!["type".into()],
    };
    let mut points = pool.datasets(&filter).map_err(|error| of_error(&error))?;
    points.retain(|point| point.name.split(['@', '#']).next() == Some(head));
    let target = points.iter().find(|point| point.name == snapshot).ok_or_else(missing)?;
    let txg = target.createtxg;
    let younger: Vec<String> =
        points.iter().filter(|point| point.createtxg > txg).map(|point| point.name.clone()).collect();
    if !younger.is_empty() && !request.recursive && !request.clones {
        return Err(more_recent(snapshot, &younger));
    }
    let names = younger_and_clones(&pool, (snapshot, head), &younger, request.clones)?;
    let clones: Vec<String> = names.iter().filter(|name| !younger.contains(name)).cloned().collect();
    unmount(app, &clones)?;
    if !names.is_empty() {
        let change = Change::Destroy { names, defer: false };
        pool.commit(&change, "").map_err(|error| of_error(&error))?;
    }
    let done = commit(&pool, &change, &request.history)?;
    Ok(Changed { warnings: mounting::refresh(app, head).into_iter().collect(), ..done })
}

fn more_recent(snapshot: &str, younger: &[String]) -> Problem {
    let mut text = format!(
        "cannot rollback to '{snapshot}': more recent snapshots or bookmarks exist\n\
         use '-r' to force deletion of the following snapshots and bookmarks:\n{}",
        younger[..younger.len().min(YOUNGER_MAX)].join("\n")
    );
    if younger.len() >= YOUNGER_MAX {
        text.push_str(&format!("\nOutput limited to {YOUNGER_MAX} snapshots/bookmarks"));
    }
    problem(kind::REFUSED, text)
}

/// What is younger, in the order in which it can go, with its clones.
fn younger_and_clones(
    pool: &Arc<dyn Pool>,
    (snapshot, head): (&str, &str),
    younger: &[String],
    clones: bool,
) -> Result<Vec<String>, Problem> {
    let (snapshots, bookmarks): (Vec<&String>, Vec<&String>) =
        younger.iter().partition(|name| name.contains('@'));
    let mut names = Vec::new();
    if !snapshots.is_empty() {
        let short = snapshots.iter().filter_map(|name| Some(name.split_once('@')?.1));
        let name = format!("{head}@{}", short.collect::<Vec<_>>().join(","));
        let query = DestroyQuery { name, recursive: false, clones: true, defer: false };
        names = pool.plan_destroy(&query).map_err(|error| of_error(&error))?.names;
    }
    let others: Vec<&str> = names.iter().filter(|name| !younger.contains(name)).map(String::as_str).collect();
    if !others.is_empty() && !clones {
        return Err(problem(
            kind::REFUSED,
            format!(
                "cannot rollback to '{snapshot}': clones of previous snapshots exist\n\
                 use '-R' to force deletion of the following clones and dependents:\n{}",
                others.join("\n")
            ),
        ));
    }
    names.extend(bookmarks.into_iter().cloned());
    Ok(names)
}

pub async fn clone(State(app): State<Shared>, body: Body) -> Response {
    let request = parse::<CloneCreate>(body);
    blocking(app, move |app| {
        let CloneCreate { snapshot, name, parents, no_mount, props, history } = request?;
        let pool = app.pool_of(&snapshot)?;
        let change = Change::Clone { snapshot, name: name.clone(), parents, props: convert::props(&props) };
        let done = commit(&pool, &change, &history)?;
        let warnings = match app.auto_mount && !no_mount {
            true => mounting::mount_made(app, &name),
            false => Vec::new(),
        };
        Ok(Changed { warnings, ..done })
    })
    .await
}

pub async fn promote(State(app): State<Shared>, Path(name): Path<String>, body: Body) -> Response {
    let request = parse::<Promote>(body);
    blocking(app, move |app| {
        let history = request?.history;
        commit(&app.pool_of(&name)?, &Change::Promote { name }, &history)
    })
    .await
}

pub async fn bookmark(State(app): State<Shared>, body: Body) -> Response {
    let request = parse::<BookmarkCreate>(body);
    blocking(app, move |app| {
        let BookmarkCreate { source, name, history } = request?;
        commit(&app.pool_of(&source)?, &Change::Bookmark { source, name }, &history)
    })
    .await
}

pub async fn hold(State(app): State<Shared>, body: Body) -> Response {
    let request = parse::<HoldRequest>(body);
    blocking(app, move |app| {
        let HoldRequest { snapshots, tag, recursive, history } = request?;
        commit(&pool_of_all(app, &snapshots)?, &Change::Hold { snapshots, tag, recursive }, &history)
    })
    .await
}

pub async fn release(State(app): State<Shared>, body: Body) -> Response {
    let request = parse::<HoldRequest>(body);
    blocking(app, move |app| {
        let HoldRequest { snapshots, tag, recursive, history } = request?;
        commit(&pool_of_all(app, &snapshots)?, &Change::Release { snapshots, tag, recursive }, &history)
    })
    .await
}

pub async fn holds(State(app): State<Shared>, Path(name): Path<String>) -> Response {
    blocking(app, move |app| {
        let holds = app.pool_of(&name)?.holds(&name).map_err(|error| of_error(&error))?;
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
        app.pool_of(&from)?.diff(&from, &to, &mut tell).map_err(|error| of_error(&error))?;
        Ok(found)
    })
    .await
}
