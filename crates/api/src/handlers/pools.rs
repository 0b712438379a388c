//! Pools.

use crate::app::{App, Body, Shared, blocking, commit, job, posted, prompt};
use crate::convert;
use crate::path::Path;
use crate::problem::{Refusal, refuse};
use crate::statistics;
use crate::words::warnings;
use api_types::{
    Edit, HistoryQuery, ImportSearch, JobResult, LabelClear, PoolAdd, PoolAttach, PoolCheckpoint, PoolClear,
    PoolImport, PoolInitialize, PoolOffline, PoolOnline, PoolProperty, PoolReguid, PoolRelease, PoolReopen,
    PoolScan, PoolSpec, PoolTrim, PoolVdev, PropValue, PropertiesQuery, PropertiesSet, kind,
};
use appliance::{Release, Reporter};
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::response::Response;
use engine_api::Change;
use std::ops::ControlFlow;

/// A query string as axum hands it over, or why it did not.
pub type Asked<T> = Result<Query<T>, QueryRejection>;

/// A query string, or the problem with it.
pub fn query<T>(given: Asked<T>) -> Result<T, Refusal> {
    given.map(|Query(query)| query).map_err(|rejection| refuse(kind::BAD_REQUEST, rejection.body_text()))
}

/// A comma-separated list.
pub fn list_of(text: &str) -> Vec<String> {
    text.split(',').filter(|part| !part.is_empty()).map(str::to_owned).collect()
}

pub async fn list(State(app): State<Shared>) -> Response {
    prompt(app, |app| Ok(statistics::pools(app))).await
}

pub async fn one(State(app): State<Shared>, Path(name): Path<String>) -> Response {
    prompt(app, move |app| Ok(app.pool(&name)?.status())).await
}

pub async fn create(State(app): State<Shared>, body: Body) -> Response {
    job(app, "pool.create", body, |create: &PoolSpec| create.name.clone(), run_create).await
}

fn run_create(app: &App, create: &PoolSpec, reporter: &Reporter) -> Result<JobResult, Refusal> {
    reporter.step(format!("creating {}", create.name), 0, 0);
    let (pool, told) = app.appliance.create_pool(create, &mut mounting(reporter))?;
    Ok(JobResult {
        warnings: warnings(told),
        txg: Some(pool.status().txg),
        pool: Some(pool.name()),
        rewound: None,
    })
}

/// Tells of each mount, and ends them where the job is cancelled.
fn mounting(reporter: &Reporter) -> impl FnMut(&str, u64, u64) -> ControlFlow<()> {
    |dataset, done, total| {
        reporter.step(format!("mounting {dataset}"), done, total);
        // No step follows the last.
        reporter.set_cancellable(done + 1 < total);
        match reporter.is_cancelled() {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }
}

pub async fn import(State(app): State<Shared>, body: Body) -> Response {
    job(app, "pool.import", body, |import: &PoolImport| import.which.clone(), run_import).await
}

fn run_import(app: &App, import: &PoolImport, reporter: &Reporter) -> Result<JobResult, Refusal> {
    reporter.step(format!("importing {}", import.which), 0, 0);
    reporter.set_cancellable(true);
    let options = convert::import_options(import, reporter.cancellation());
    let mounts = (!import.no_mount && !import.dry_run).then_some(&import.mount_options[..]);
    let (pool, told) = app.appliance.import_pool(&import.which, &options, mounts, &mut mounting(reporter))?;
    let status = pool.status();
    let rewound = status.rewound;
    if import.dry_run {
        return Ok(JobResult { rewound, ..JobResult::default() });
    }
    Ok(JobResult { pool: Some(status.name), txg: Some(status.txg), warnings: warnings(told), rewound })
}

pub async fn importable(State(app): State<Shared>, body: Body) -> Response {
    posted(app, body, |app, ImportSearch { search, cachefile }| {
        Ok(app.engine().importable(&search, cachefile.as_ref())?)
    })
    .await
}

pub async fn export(State(app): State<Shared>, Path(name): Path<String>, body: Body) -> Response {
    let target = name.clone();
    let run = move |app: &App, release: &PoolRelease, reporter: &Reporter| {
        app.appliance.let_go(&name, Release::Export, release.force)?;
        reporter.step(format!("exporting {name}"), 0, 0);
        app.appliance.export_pool(&name, release.force)?;
        Ok(JobResult::default())
    };
    job(app, "pool.export", body, |_| target, run).await
}

pub async fn destroy(State(app): State<Shared>, Path(name): Path<String>, body: Body) -> Response {
    let target = name.clone();
    let run = move |app: &App, release: &PoolRelease, reporter: &Reporter| {
        app.appliance.let_go(&name, Release::Destroy, release.force)?;
        reporter.step(format!("destroying {name}"), 0, 0);
        app.appliance.destroy_pool(&name, release.force)?;
        Ok(JobResult::default())
    };
    job(app, "pool.destroy", body, |_| target, run).await
}

pub async fn sync(State(app): State<Shared>, Path(name): Path<String>, body: Body) -> Response {
    let target = name.clone();
    let run = move |app: &App, how: &PoolRelease, reporter: &Reporter| {
        reporter.step(format!("syncing {name}"), 0, 0);
        let pool = app.pool(&name)?;
        let txg = if how.force { pool.sync_empty()? } else { pool.sync()? };
        Ok(JobResult { txg: Some(txg), ..JobResult::default() })
    };
    job(app, "pool.sync", body, |_| target, run).await
}

pub async fn prefetch(State(app): State<Shared>, Path(name): Path<String>, body: Body) -> Response {
    let target = name.clone();
    let run = move |app: &App, _: &PoolRelease, reporter: &Reporter| {
        reporter.step(format!("reading the deduplication tables of {name}"), 0, 0);
        app.pool(&name)?.prefetch_dedup_tables()?;
        Ok(JobResult::default())
    };
    job(app, "pool.prefetch", body, |_| target, run).await
}

pub async fn add(State(app): State<Shared>, Path(name): Path<String>, body: Body) -> Response {
    let change = |of: &PoolAdd| {
        let change = Change::AddVdevs { vdevs: of.vdevs.clone(), force: of.force };
        Ok((change, of.history.clone()))
    };
    vdev_job(app, ("pool.add", "adding to"), name, body, change).await
}

pub async fn remove(State(app): State<Shared>, Path(name): Path<String>, body: Body) -> Response {
    let change = |of: &PoolVdev| Ok((Change::RemoveVdev { guid: of.guid }, of.history.clone()));
    vdev_job(app, ("pool.remove", "removing from"), name, body, change).await
}

/// A job that changes the vdevs of a pool.
async fn vdev_job<T>(
    app: Shared,
    (kind, step): (&'static str, &'static str),
    name: String,
    body: Body,
    change: impl Fn(&T) -> Result<(Change, String), Refusal> + Send + 'static,
) -> Response
where
    T: serde::de::DeserializeOwned + Default + Send + 'static,
{
    let target = name.clone();
    let run = move |app: &App, request: &T, reporter: &Reporter| {
        reporter.step(format!("{step} {name}"), 0, 0);
        let (change, history) = change(request)?;
        let committed = app.pool(&name)?.commit(&change, &history)?;
        Ok(JobResult { txg: Some(committed.txg), ..JobResult::default() })
    };
    job(app, kind, body, |_| target, run).await
}

pub async fn online(State(app): State<Shared>, Path(name): Path<String>, body: Body) -> Response {
    let change =
        |of: &PoolOnline| Ok((Change::OnlineVdev { guid: of.guid, expand: of.expand }, of.history.clone()));
    vdev_job(app, ("pool.online", "bringing a device online in"), name, body, change).await
}

pub async fn offline(State(app): State<Shared>, Path(name): Path<String>, body: Body) -> Response {
    let change = |of: &PoolOffline| {
        let PoolOffline { guid, temporary, fault, .. } = *of;
        let change = match fault {
            true => Change::FaultVdev { guid, temporary },
            false => Change::OfflineVdev { guid, temporary },
        };
        Ok((change, of.history.clone()))
    };
    vdev_job(app, ("pool.offline", "taking a device offline in"), name, body, change).await
}

pub async fn attach(State(app): State<Shared>, Path(name): Path<String>, body: Body) -> Response {
    let change = |of: &PoolAttach| {
        if of.new.path.is_none() {
            return Err(refuse(kind::BAD_REQUEST, "a device to attach needs a path"));
        }
        Ok((Change::AttachVdev { guid: of.guid, new: of.new.clone() }, of.history.clone()))
    };
    vdev_job(app, ("pool.attach", "attaching a device to"), name, body, change).await
}

pub async fn detach(State(app): State<Shared>, Path(name): Path<String>, body: Body) -> Response {
    let change = |of: &PoolVdev| Ok((Change::DetachVdev { guid: of.guid }, of.history.clone()));
    vdev_job(app, ("pool.detach", "detaching a device from"), name, body, change).await
}

pub async fn replace(State(app): State<Shared>, Path(name): Path<String>, body: Body) -> Response {
    let change = |of: &PoolAttach| {
        let change = Change::ReplaceVdev { guid: of.guid, new: of.new.clone() };
        Ok((change, of.history.clone()))
    };
    vdev_job(app, ("pool.replace", "replacing a device in"), name, body, change).await
}

pub async fn clear(State(app): State<Shared>, Path(name): Path<String>, body: Body) -> Response {
    let change = |of: &PoolClear| Ok((Change::ClearErrors { guid: of.guid }, of.history.clone()));
    vdev_job(app, ("pool.clear", "clearing errors in"), name, body, change).await
}

pub async fn trim(State(app): State<Shared>, Path(name): Path<String>, body: Body) -> Response {
    let change = |of: &PoolTrim| Ok((convert::trim_change(of), of.history.clone()));
    vdev_job(app, ("pool.trim", "trimming devices of"), name, body, change).await
}

pub async fn initialize(State(app): State<Shared>, Path(name): Path<String>, body: Body) -> Response {
    let change = |of: &PoolInitialize| Ok((convert::initialize_change(of), of.history.clone()));
    vdev_job(app, ("pool.initialize", "initializing devices of"), name, body, change).await
}

pub async fn reguid(State(app): State<Shared>, Path(name): Path<String>, body: Body) -> Response {
    let change = |of: &PoolReguid| Ok((Change::Reguid { guid: of.guid }, of.history.clone()));
    vdev_job(app, ("pool.reguid", "changing the guid of"), name, body, change).await
}

pub async fn checkpoint(State(app): State<Shared>, Path(name): Path<String>, body: Body) -> Response {
    let change = |of: &PoolCheckpoint| {
        let change = if of.discard { Change::DiscardCheckpoint } else { Change::TakeCheckpoint };
        Ok((change, of.history.clone()))
    };
    vdev_job(app, ("pool.checkpoint", "taking or discarding a checkpoint of"), name, body, change).await
}

pub async fn reopen(State(app): State<Shared>, Path(name): Path<String>, body: Body) -> Response {
    let change = |of: &PoolReopen| Ok((Change::ReopenVdevs, of.history.clone()));
    vdev_job(app, ("pool.reopen", "looking at the devices of"), name, body, change).await
}

pub async fn scan(State(app): State<Shared>, Path(name): Path<String>, body: Body) -> Response {
    let change = |of: &PoolScan| Ok((Change::Scan(of.command), of.history.clone()));
    vdev_job(app, ("pool.scan", "scanning"), name, body, change).await
}

pub async fn errors(State(app): State<Shared>, Path(name): Path<String>) -> Response {
    blocking(app, move |app| app.pool(&name)?.errors().map_err(Refusal::from)).await
}

pub async fn properties(
    State(app): State<Shared>,
    Path(name): Path<String>,
    asked: Asked<PropertiesQuery>,
) -> Response {
    prompt(app, move |app| {
        let PropertiesQuery { names, settable } = query(asked)?;
        let names = list_of(&names);
        match settable {
            false => Ok(app.pool(&name)?.properties(&names)?),
            true => {
                let mut shown = settings(app, &name)?;
                shown.retain(|prop| names.is_empty() || names.contains(&prop.name));
                Ok(shown)
            }
        }
    })
    .await
}

/// What can be set of a pool, with its values.
pub fn settings(app: &App, name: &str) -> Result<Vec<PropValue>, Refusal> {
    let mut shown = app.pool(name)?.properties(&[])?;
    // A feature is no property of the table.
    shown.retain(|prop| PoolProperty::named(&prop.name).is_none_or(|row| row.row().edit() != Edit::Never));
    Ok(shown)
}

pub async fn set(State(app): State<Shared>, Path(name): Path<String>, body: Body) -> Response {
    posted(app, body, move |app, PropertiesSet { props, history, .. }| {
        commit(&*app.pool(&name)?, &Change::SetPoolProperties { props }, &history)
    })
    .await
}

pub async fn upgradable(State(app): State<Shared>, Path(name): Path<String>) -> Response {
    blocking(app, move |app| Ok(app.pool(&name)?.upgradable()?)).await
}

pub async fn features(State(app): State<Shared>) -> Response {
    prompt(app, |app| Ok(app.engine().features())).await
}

pub async fn history(
    State(app): State<Shared>,
    Path(name): Path<String>,
    asked: Asked<HistoryQuery>,
) -> Response {
    blocking(app, move |app| {
        let internal = query(asked)?.internal;
        Ok(app.pool(&name)?.history(internal)?)
    })
    .await
}

pub async fn label_clear(State(app): State<Shared>, body: Body) -> Response {
    let run = |app: &App, request: &LabelClear, reporter: &Reporter| {
        reporter.step(format!("clearing {}", request.path), 0, 0);
        let outcome = app.engine().label_clear(&request.path, request.force);
        outcome.map(|()| JobResult::default()).map_err(Refusal::from)
    };
    job(app, "label.clear", body, |request: &LabelClear| request.path.clone(), run).await
}
