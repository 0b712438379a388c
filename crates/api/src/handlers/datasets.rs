//! Datasets and their properties.

use crate::app::{App, Body, Shared, answer, blocking, changed, job, parse, patient, posted};
use crate::convert;
use crate::etag;
use crate::handlers::pools::{Asked, list_of, query};
use crate::page::{Cursor, MOST, Page, address};
use crate::path::Path;
use crate::problem::{Refusal, refuse};
use crate::words::warnings;
use api_types::{
    Changed, DatasetCreate, DatasetDestroy, DatasetInfo, DatasetPlace, DatasetPlan, DatasetQuery,
    DeletedFiles, DestroyOptions, JobResult, PropKind, PropValue, PropertyTables, Rename, Source,
    SpaceUseQuery, kind, routes,
};
use appliance::{LocalMount, Reporter, mount_props, mount_word};
use axum::Json;
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use engine_api::{Change, DatasetFilter, Pool, Secrets};
use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

pub async fn tables() -> Response {
    answer(Ok(PropertyTables::all()))
}

pub async fn list(State(app): State<Shared>, asked: Asked<DatasetQuery>) -> Response {
    patient(app, move |app| run_list(app, &query(asked)?, Secrets::Hidden)).await.into_response()
}

pub async fn list_with_secrets(State(app): State<Shared>, body: Body) -> Response {
    let asked: Result<DatasetQuery, _> = parse(body);
    let whole = asked.and_then(|asked| match (asked.limit, asked.after.as_str()) {
        (None, "") => Ok(asked),
        _ => Err(refuse(kind::BAD_REQUEST, "a list with secrets has no pages")),
    });
    patient(app, move |app| run_list(app, &whole?, Secrets::Shown)).await.into_response()
}

fn run_list(app: &App, asked: &DatasetQuery, secrets: Secrets) -> Result<Page<DatasetInfo>, Refusal> {
    let kinds = list_of(&asked.kinds)
        .iter()
        .map(|name| {
            convert::kind_named(name).ok_or_else(|| refuse(kind::INVALID, format!("invalid type '{name}'")))
        })
        .collect::<Result<Vec<_>, _>>()?;
    let props = list_of(&asked.props);
    let filter = |roots| DatasetFilter {
        roots,
        depth: asked.depth,
        alone: false,
        kinds: kinds.clone(),
        props: props.clone(),
    };
    let limit = asked.limit.map_or(usize::MAX, |limit| (limit as usize).clamp(1, MOST));
    let after = Cursor::parse(&asked.after)?;
    let (mut datasets, mut next) = (Vec::<DatasetInfo>::new(), None);
    let mut last_root = 0;
    for Part { root, pool, roots } in parts(app, list_of(&asked.roots))? {
        let lies = after.as_ref().map_or(Ordering::Greater, |after| match roots.is_empty() {
            true => pool.name().as_str().cmp(pool_in(&after.place.name)),
            false => root.cmp(&after.root),
        });
        if lies == Ordering::Less {
            continue;
        }
        if let Some(last) = datasets.last().filter(|_| datasets.len() == limit) {
            let place = DatasetPlace { name: last.name.clone(), createtxg: last.createtxg };
            next = Some(Cursor { root: last_root, place });
            break;
        }
        let place = after.as_ref().filter(|_| lies == Ordering::Equal).map(|after| &after.place);
        let page = pool.datasets_page(&filter(roots), secrets, place, limit - datasets.len())?;
        datasets.extend(page.datasets);
        next = page.next.map(|place| Cursor { root, place });
        if next.is_some() {
            break;
        }
        last_root = root;
    }
    if props.is_empty() || props.iter().any(|name| name == "mounted") {
        say_what_is_mounted(app, &mut datasets);
    }
    if props.is_empty() || props.iter().any(|name| mount_props().any(|prop| prop == name)) {
        say_how_it_is_mounted(app, &mut datasets);
    }
    Ok(Page { items: datasets, next: next.map(|next| page_at(asked, &next)) })
}

/// A list of those that were asked for, one after the other.
struct Part {
    /// Which of the roots it is of.
    root: usize,
    pool: Arc<dyn Pool>,
    /// One, or none: all of the pool.
    roots: Vec<String>,
}

fn parts(app: &App, roots: Vec<String>) -> Result<Vec<Part>, Refusal> {
    if roots.is_empty() {
        let mut pools = app.engine().pools();
        pools.sort_by_key(|pool| pool.name());
        return Ok(pools.into_iter().map(|pool| Part { root: 0, pool, roots: Vec::new() }).collect());
    }
    let part =
        |(root, name): (usize, String)| Ok(Part { root, pool: app.pool_of(&name)?, roots: vec![name] });
    roots.into_iter().enumerate().map(part).collect()
}

/// The pool that a name is in.
fn pool_in(name: &str) -> &str {
    name.split(['/', '@', '#']).next().unwrap_or(name)
}

/// The address of the page that begins there.
fn page_at(asked: &DatasetQuery, cursor: &Cursor) -> String {
    let number = |number: Option<u32>| number.map_or_else(String::new, |number| number.to_string());
    let query = [
        ("roots", asked.roots.as_str()),
        ("depth", &number(asked.depth)),
        ("kinds", &asked.kinds),
        ("props", &asked.props),
        ("limit", &number(asked.limit)),
        ("after", &cursor.text()),
    ];
    address(routes::DATASETS, &query)
}
/// What a mount was asked for counts while it lasts (`get_numeric_property` in
/// lib/libzfs/libzfs_dataset.c).
fn say_how_it_is_mounted(app: &App, datasets: &mut [DatasetInfo]) {
    let mounts = app.appliance.local.mounted();
    let mounts: HashMap<&str, &LocalMount> =
        mounts.iter().map(|mount| (mount.dataset.as_str(), mount)).collect();
    for dataset in datasets.iter_mut() {
        let Some(mount) = mounts.get(dataset.name.as_str()) else { continue };
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
fn say_what_is_mounted(app: &App, datasets: &mut [DatasetInfo]) {
    let mounts = app.appliance.local.mounted();
    let mounts: HashSet<&str> = mounts.iter().map(|mount| mount.dataset.as_str()).collect();
    for dataset in datasets.iter_mut().filter(|dataset| dataset.kind == api_types::DatasetKind::Filesystem) {
        let mounted = mounts.contains(dataset.name.as_str());
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
    posted(app, body, |app, create: DatasetCreate| run_create(app, &create)).await
}

pub async fn plan(State(app): State<Shared>, body: Body) -> Response {
    posted(app, body, |app, create: DatasetCreate| {
        let volume = app.pool_of(&create.name)?.plan_create(&creating(&create))?;
        Ok(DatasetPlan { volume })
    })
    .await
}

fn creating(create: &DatasetCreate) -> Change {
    let (name, parents, props) = (create.name.clone(), create.parents, create.props.clone());
    match create.volume {
        true => Change::CreateVolume { name, parents, sparse: create.sparse, props },
        false => Change::CreateFilesystem { name, parents, props },
    }
}

fn run_create(app: &App, create: &DatasetCreate) -> Result<Changed, Refusal> {
    let change = creating(create);
    let done = app.appliance.create_dataset(&create.name, &change, &create.history, create.no_mount);
    Ok(changed(done?))
}

pub async fn destroy_preview(
    State(app): State<Shared>,
    Path(name): Path<String>,
    asked: Asked<DestroyOptions>,
) -> Response {
    blocking(app, move |app| {
        let DestroyOptions { recursive, clones, defer } = query(asked)?;
        let query = engine_api::DestroyQuery { name: name.clone(), recursive, clones, defer };
        Ok(app.pool_of(&name)?.plan_destroy(&query)?)
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
) -> Result<JobResult, Refusal> {
    let DatasetDestroy { recursive, clones, defer, ref history } = *request;
    let asked = DestroyOptions { recursive, clones, defer };
    let mut told = |names| reporter.step(format!("destroying {name}"), 0, names);
    let (committed, told) = app.appliance.destroy_dataset(name, asked, history, &mut told)?;
    Ok(JobResult { txg: Some(committed.txg), warnings: warnings(told), ..JobResult::default() })
}

pub async fn settings(State(app): State<Shared>, Path(name): Path<String>) -> Response {
    let found = patient(app, move |app| Ok(app.pool_of(&name)?.settings(&name)?)).await;
    let tagged = |info: DatasetInfo| ([(header::ETAG, etag::of_version(info.version()))], Json(info));
    found.map(tagged).into_response()
}

pub async fn set(State(app): State<Shared>, Path(name): Path<String>, body: Body) -> Response {
    posted(app, body, move |app, asked| Ok(changed(app.appliance.set_properties(&name, asked)?))).await
}

pub async fn inherit(State(app): State<Shared>, Path(name): Path<String>, body: Body) -> Response {
    posted(app, body, move |app, asked| Ok(changed(app.appliance.inherit_property(&name, asked)?))).await
}

pub async fn space_use(
    State(app): State<Shared>,
    Path(name): Path<String>,
    asked: Asked<SpaceUseQuery>,
) -> Response {
    blocking(app, move |app| {
        let of = query(asked)?.of;
        Ok(app.pool_of(&name)?.space_use(&name, of)?)
    })
    .await
}

pub async fn deleted(State(app): State<Shared>, Path(name): Path<String>) -> Response {
    blocking(app, move |app| Ok(DeletedFiles { files: app.pool_of(&name)?.deleted_files(&name)? })).await
}

pub async fn explain_space(State(app): State<Shared>, Path(name): Path<String>) -> Response {
    blocking(app, move |app| Ok(app.pool_of(&name)?.explain_space(&name)?)).await
}

pub async fn rename(State(app): State<Shared>, Path(name): Path<String>, body: Body) -> Response {
    posted(app, body, move |app, asked: Rename| Ok(changed(app.appliance.rename_dataset(&name, &asked)?)))
        .await
}
