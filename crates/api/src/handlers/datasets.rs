//! Datasets and their properties.

use crate::app::{App, Body, Shared, answer, blocking, job, parse};
use crate::handlers::pools::{list_of, query};
use crate::jobs::Reporter;
use crate::local::{LocalMount, mount_props, mount_word};
use crate::problem::{of_error, problem};
use crate::{convert, mounting};
use api_types::{
    Changed, Dataset, DatasetCreate, DatasetDestroy, DatasetPlan, DatasetQuery, DeletedFiles, DestroyPreview,
    DestroyQuery, Inherit, JobResult, Problem, PropKind, PropValue, PropertiesSet, PropertyTables, Rename,
    Source, SpaceUseQuery, kind,
};
use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query, State};
use axum::response::Response;
use engine_api::{Change, DatasetFilter, DatasetKind};

pub async fn tables() -> Response {
    answer(Ok(PropertyTables::all()))
}

pub async fn list(State(app): State<Shared>, asked: Result<Query<DatasetQuery>, QueryRejection>) -> Response {
    blocking(app, move |app| run_list(app, &query(asked)?)).await
}

fn run_list(app: &App, asked: &DatasetQuery) -> Result<Vec<Dataset>, Problem> {
    let kinds = list_of(&asked.kinds)
        .iter()
        .map(|name| {
            convert::kind_named(name).ok_or_else(|| problem(kind::INVALID, format!("invalid type '{name}'")))
        })
        .collect::<Result<Vec<_>, _>>()?;
    let props = list_of(&asked.props);
    let filter =
        |roots| DatasetFilter { roots, depth: asked.depth, kinds: kinds.clone(), props: props.clone() };
    let mut found = Vec::new();
    let roots = list_of(&asked.roots);
    if roots.is_empty() {
        let mut pools = app.engine.pools();
        pools.sort_by_key(|pool| pool.name());
        for pool in pools {
            found.extend(pool.datasets(&filter(Vec::new())).map_err(|error| of_error(&error))?);
        }
    }
    for root in roots {
        found.extend(app.pool_of(&root)?.datasets(&filter(vec![root])).map_err(|error| of_error(&error))?);
    }
    let mut datasets: Vec<Dataset> = found.iter().map(convert::dataset).collect();
    if props.is_empty() || props.iter().any(|name| name == "mounted") {
        say_what_is_mounted(app, &mut datasets);
    }
    if props.is_empty() || props.iter().any(|name| mount_props().any(|prop| prop == name)) {
        say_how_it_is_mounted(app, &mut datasets);
    }
    Ok(datasets)
}

/// What a mount was asked for counts while it lasts (`get_numeric_property` in
/// lib/libzfs/libzfs_dataset.c).
fn say_how_it_is_mounted(app: &App, datasets: &mut [Dataset]) {
    let mounts = app.local.mounted();
    for dataset in datasets.iter_mut() {
        let Some(mount) = mounts.iter().find(|mount| mount.dataset == dataset.name) else { continue };
        for (name, on) in mount.words().filter_map(mount_word) {
            let prop = dataset.props.iter_mut().find(|prop| prop.name == name);
            if let Some(prop) = prop.filter(|prop| (prop.value != "off") != on) {
                prop.value = if on { "on" } else { "off" }.to_owned();
                prop.source = Source::Temporary;
            }
        }
    }
}

/// `mounted` is about this machine, so the engine can't know it.
fn say_what_is_mounted(app: &App, datasets: &mut [Dataset]) {
    let mounts = app.local.mounted();
    for dataset in datasets.iter_mut().filter(|dataset| dataset.kind == api_types::DatasetKind::Filesystem) {
        let mounted = mounts.iter().any(|mount| mount.dataset == dataset.name);
        let value = if mounted { "yes" } else { "no" }.to_owned();
        match dataset.props.iter_mut().find(|prop| prop.name == "mounted") {
            Some(prop) => prop.value = value,
            None => {
                // Where `zfs get all` has it.
                let ratio = dataset.props.iter().position(|prop| prop.name == "compressratio");
                let at = ratio.map_or(dataset.props.len(), |ratio| ratio + 1);
                let (name, kind, source) = ("mounted".into(), PropKind::Text, Source::None);
                dataset.props.insert(at, PropValue { name, value, kind, source, received: None });
            }
        }
    }
}

pub async fn create(State(app): State<Shared>, body: Body) -> Response {
    let request = parse::<DatasetCreate>(body);
    blocking(app, move |app| run_create(app, &request?)).await
}

pub async fn plan(State(app): State<Shared>, body: Body) -> Response {
    let request = parse::<DatasetCreate>(body);
    blocking(app, move |app| {
        let create = request?;
        let plan =
            app.pool_of(&create.name)?.plan_create(&creating(&create)).map_err(|error| of_error(&error))?;
        Ok(DatasetPlan { volume: plan.map(convert::volume_plan) })
    })
    .await
}

fn creating(create: &DatasetCreate) -> Change {
    let (name, parents, props) = (create.name.clone(), create.parents, convert::props(&create.props));
    match create.volume {
        true => Change::CreateVolume { name, parents, sparse: create.sparse, props },
        false => Change::CreateFilesystem { name, parents, props },
    }
}

fn run_create(app: &App, create: &DatasetCreate) -> Result<Changed, Problem> {
    let change = creating(create);
    let pool = app.pool_of(&create.name)?;
    let topmost = first_missing(app, &create.name);
    let committed = pool.commit(&change, &create.history).map_err(|error| of_error(&error))?;
    let warnings = match topmost {
        Some(topmost) if app.auto_mount && !create.no_mount => mounting::mount_made(app, topmost),
        _ => Vec::new(),
    };
    Ok(Changed { txg: committed.txg, warnings })
}

/// The first on the way down to `name` that isn't there: it and what is below it are what a create
/// makes. What was there before, and somebody may have unmounted, stays as it is.
fn first_missing<'a>(app: &App, name: &'a str) -> Option<&'a str> {
    let ends = name.match_indices('/').map(|(at, _)| at).chain([name.len()]);
    ends.map(|end| &name[..end]).find(|ancestor| find(app, ancestor, DatasetKind::Filesystem).is_err())
}

pub async fn destroy_preview(
    State(app): State<Shared>,
    Path(name): Path<String>,
    asked: Result<Query<DestroyQuery>, QueryRejection>,
) -> Response {
    blocking(app, move |app| {
        let DestroyQuery { recursive, clones, defer } = query(asked)?;
        let query = engine_api::DestroyQuery { name: name.clone(), recursive, clones, defer };
        let plan = app.pool_of(&name)?.plan_destroy(&query).map_err(|error| of_error(&error))?;
        Ok(DestroyPreview { names: plan.names, bytes: plan.bytes })
    })
    .await
}

pub async fn destroy(State(app): State<Shared>, Path(name): Path<String>, body: Body) -> Response {
    let target = name.clone();
    let run = move |app: &App, request: &DatasetDestroy, reporter: &Reporter| {
        run_destroy(app, &name, request, reporter)
    };
    job(app, "dataset.destroy", body, |_| target, run).await
}

fn run_destroy(
    app: &App,
    name: &str,
    request: &DatasetDestroy,
    reporter: &Reporter,
) -> Result<JobResult, Problem> {
    let pool = app.pool_of(name)?;
    let mut names = vec![name.to_owned()];
    if !name.contains('#') {
        let (recursive, clones, defer) = (request.recursive, request.clones, request.defer);
        let query = engine_api::DestroyQuery { name: name.to_owned(), recursive, clones, defer };
        names = pool.plan_destroy(&query).map_err(|error| of_error(&error))?.names;
    }
    // A pool's root stays as long as the pool.
    let is_root = !name.contains(['/', '@', '#']);
    names.retain(|one| !is_root || one != name);
    reporter.step(format!("destroying {name}"), 0, names.len() as u64);
    let directories = mounting::directories_of(app, name, &names)?;
    let mounts = unmount(app, &names)?;
    let change = Change::Destroy { names, defer: request.defer };
    match pool.commit(&change, &request.history) {
        Ok(committed) => {
            let root: Vec<_> = mounts.into_iter().filter(|mount| is_root && mount.dataset == name).collect();
            let warnings = mounting::restore(app, &root);
            app.local.leave(directories);
            Ok(JobResult { txg: Some(committed.txg), warnings, ..JobResult::default() })
        }
        Err(error) => {
            mounting::restore(app, &mounts);
            Err(of_error(&error))
        }
    }
}

/// Unmounts what is to be destroyed; where one cannot be, all stays as it was.
pub fn unmount(app: &App, names: &[String]) -> Result<Vec<LocalMount>, Problem> {
    let mut mounts = Vec::new();
    for name in names.iter().filter(|name| !name.contains(['@', '#'])) {
        match mounting::unmount_all(app, name) {
            Ok(unmounted) => mounts.extend(unmounted),
            Err(why) => {
                mounting::restore(app, &mounts);
                return Err(why);
            }
        }
    }
    Ok(mounts)
}

pub async fn set(State(app): State<Shared>, Path(name): Path<String>, body: Body) -> Response {
    let request = parse::<PropertiesSet>(body);
    blocking(app, move |app| {
        let request = request?;
        let change = Change::SetProperties { name: name.clone(), props: convert::props(&request.props) };
        let moves = !request.no_mount
            && request.props.iter().any(|prop| mounting::moves_mounts(&prop.name, Some(&prop.value)));
        let mut changed = commit(app, &name, &change, &request.history, moves)?;
        let names: Vec<&str> = request.props.iter().map(|prop| prop.name.as_str()).collect();
        changed.warnings.extend(mounting::follow(app, &name, &names));
        Ok(changed)
    })
    .await
}

pub async fn inherit(State(app): State<Shared>, Path(name): Path<String>, body: Body) -> Response {
    let request = parse::<Inherit>(body);
    blocking(app, move |app| {
        let Inherit { property, received, history } = request?;
        let moves = mounting::moves_mounts(&property, None);
        let change = Change::Inherit { name: name.clone(), property: property.clone(), received };
        let mut changed = commit(app, &name, &change, &history, moves)?;
        changed.warnings.extend(mounting::follow(app, &name, &[&property]));
        Ok(changed)
    })
    .await
}

/// Commits a change of a dataset; one that may move mounts takes them along.
fn commit(app: &App, name: &str, change: &Change, history: &str, moves: bool) -> Result<Changed, Problem> {
    let pool = app.pool_of(name)?;
    let change = || pool.commit(change, history).map_err(|error| of_error(&error));
    let (committed, warnings) = match moves {
        true => mounting::moving(app, name, name, change)?,
        false => (change()?, Vec::new()),
    };
    Ok(Changed { txg: committed.txg, warnings })
}

pub async fn space_use(
    State(app): State<Shared>,
    Path(name): Path<String>,
    asked: Result<Query<SpaceUseQuery>, QueryRejection>,
) -> Response {
    blocking(app, move |app| {
        let of = convert::spender(query(asked)?.of);
        let found = app.pool_of(&name)?.space_use(&name, of).map_err(|error| of_error(&error))?;
        Ok(found.into_iter().map(convert::space_use).collect::<Vec<_>>())
    })
    .await
}

pub async fn deleted(State(app): State<Shared>, Path(name): Path<String>) -> Response {
    blocking(app, move |app| {
        let files = app.pool_of(&name)?.deleted_files(&name).map_err(|error| of_error(&error))?;
        Ok(DeletedFiles { files })
    })
    .await
}

pub async fn explain_space(State(app): State<Shared>, Path(name): Path<String>) -> Response {
    blocking(app, move |app| {
        let space = app.pool_of(&name)?.explain_space(&name).map_err(|error| of_error(&error))?;
        Ok(convert::space_explained(name, space))
    })
    .await
}

pub async fn rename(State(app): State<Shared>, Path(name): Path<String>, body: Body) -> Response {
    let request = parse::<Rename>(body);
    blocking(app, move |app| run_rename(app, &name, &request?)).await
}

fn run_rename(app: &App, name: &str, request: &Rename) -> Result<Changed, Problem> {
    let pool = app.pool_of(name)?;
    let (to, parents, recursive) = (request.to.clone(), request.parents, request.recursive);
    let change = Change::Rename { from: name.to_owned(), to, parents, recursive };
    let commit = || pool.commit(&change, &request.history).map_err(|error| of_error(&error));
    let (committed, warnings) = match request.no_mount || name.contains('@') {
        true => {
            let committed = commit()?;
            app.local.renamed(name, &request.to);
            (committed, Vec::new())
        }
        false => mounting::moving(app, name, &request.to, commit)?,
    };
    Ok(Changed { txg: committed.txg, warnings })
}

/// Whether a dataset of that name is there and of that kind.
pub fn find(app: &App, name: &str, kind_wanted: DatasetKind) -> Result<engine_api::DatasetInfo, Problem> {
    let filter = DatasetFilter {
        roots: vec![name.to_owned()],
        depth: Some(0),
        kinds: vec![kind_wanted],
        props: mounting::OF_MOUNTS
            .iter()
            .chain(&["sharenfs", "inconsistent"])
            .map(|&s| s.to_owned())
            .collect(),
    };
    let found = app.pool_of(name)?.datasets(&filter).map_err(|error| of_error(&error))?;
    found
        .into_iter()
        .find(|info| info.name == name)
        .ok_or_else(|| problem(kind::NOT_FOUND, format!("cannot open '{name}': dataset does not exist")))
}
