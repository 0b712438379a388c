//! Projects of files and directories.

use crate::app::{Body, Shared, blocking, posted};
use crate::handlers::pools::{Asked, query};
use crate::path::Path;
use crate::problem::{Refusal, refuse};
use api_types::{
    NodeProject, PROJECT_NODES_MAX, ProjectPage, ProjectQuery, ProjectSet, ProjectsSet, escape_path, kind,
    unescape_path,
};
use axum::extract::State;
use axum::response::Response;
use engine_api::refusal::{Reason, Refused};
use engine_api::{Attr, Cred, DirLimit, Error, FileSystem, NodeId, NodeKind, Project, Result};

/// Bytes of names in one answer.
const NAME_BYTES: usize = 512 << 10;

pub async fn page(
    State(app): State<Shared>,
    Path(name): Path<String>,
    asked: Asked<ProjectQuery>,
) -> Response {
    blocking(app, move |app| {
        let asked = query(asked)?;
        let fs = app.pool_of(&name)?.open_fs(&name)?;
        page_of(&*fs, &asked).map_err(Refusal::from)
    })
    .await
}

fn page_of(fs: &dyn FileSystem, asked: &ProjectQuery) -> Result<ProjectPage> {
    let found = walk(fs, &unescape_path(&asked.path))?;
    let node = shown(fs, b"", &found)?;
    let mut page = ProjectPage { node, entries: Vec::new(), next: None };
    if !asked.entries || !page.node.is_dir {
        return Ok(page);
    }
    let limit = DirLimit { entries: PROJECT_NODES_MAX, name_bytes: NAME_BYTES, with_attr: true };
    let listed = fs.readdir(&Cred::root(), found.node, asked.after, limit)?;
    page.next = listed.entries.last().filter(|_| !listed.eof).map(|last| last.cookie);
    for entry in listed.entries {
        let has_project = matches!(entry.kind, NodeKind::File | NodeKind::Dir);
        // One that went meanwhile is not there.
        if let Some(attr) = entry.attr.filter(|_| has_project)
            && let Ok(one) = shown(fs, &entry.name, &attr)
        {
            page.entries.push(one);
        }
    }
    Ok(page)
}

fn shown(fs: &dyn FileSystem, name: &[u8], attr: &Attr) -> Result<NodeProject> {
    let is_dir = match attr.kind {
        NodeKind::Dir => true,
        NodeKind::File => false,
        _ => return Err(Refused::because(Reason::NotCounted).into()),
    };
    let Project { id, inherit } = fs.project(attr.node)?;
    Ok(NodeProject { name: escape_path(name), is_dir, project: id, inherit })
}

/// The node that a path leads to from the root.
fn walk(fs: &dyn FileSystem, path: &[u8]) -> Result<Attr> {
    let mut at = fs.getattr(fs.root())?;
    for name in path.split(|byte| *byte == b'/').filter(|name| !name.is_empty()) {
        at = fs.lookup(&Cred::root(), at.node, name)?;
    }
    Ok(at)
}

pub async fn set(State(app): State<Shared>, Path(name): Path<String>, body: Body) -> Response {
    posted(app, body, move |app, request: ProjectSet| {
        if request.names.len() > PROJECT_NODES_MAX {
            return Err(refuse(kind::BAD_REQUEST, "too many names"));
        }
        let fs = app.pool_of(&name)?.open_fs(&name)?;
        let at = walk(&*fs, &unescape_path(&request.path))?;
        Ok(set_all(&*fs, at.node, &request))
    })
    .await
}

fn set_all(fs: &dyn FileSystem, at: NodeId, request: &ProjectSet) -> ProjectsSet {
    let one = |name: &String| -> std::result::Result<(), Refusal> {
        let set = || -> Result<()> {
            let node = match unescape_path(name) {
                name if name.is_empty() => at,
                name => fs.lookup(&Cred::root(), at, &name)?.node,
            };
            let is = fs.project(node)?;
            let (id, inherit) = (request.project.unwrap_or(is.id), request.inherit.unwrap_or(is.inherit));
            fs.set_project(&Cred::root(), node, Project { id, inherit })
        };
        match set() {
            // It went meanwhile.
            Err(Error::NotFound | Error::Stale) if !name.is_empty() => Ok(()),
            set => set.map_err(Refusal::from),
        }
    };
    let mut outcome = ProjectsSet { done: 0, failed: None };
    for name in &request.names {
        match one(name) {
            Ok(()) => outcome.done += 1,
            Err(Refusal(why)) => {
                outcome.failed = Some(why);
                break;
            }
        }
    }
    outcome
}
