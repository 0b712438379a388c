//! `zfs snapshot`, `rollback`, `clone`, `promote`, `bookmark`

use super::{check_name, name_fault, select};
use crate::command::Cx;
use crate::fail::{Noun, Outcome, Stop, fail, sentence, usage};
use crate::{accounts, getopt, props};
use api_types::{BookmarkCreate, Changed, CloneCreate, Promote, Rollback, SnapshotCreate, kind, routes};
use serde::Serialize;

pub fn snapshot(cx: &mut Cx<'_>, args: &[String]) -> Outcome {
    let options = getopt::parse(args, "ro:", &[])?;
    let names = options.operands.clone();
    if names.is_empty() {
        return usage("missing snapshot argument");
    }
    if names.iter().any(|name| !name.contains('@')) {
        return usage("");
    }
    let mut request = SnapshotCreate {
        recursive: options.has("r"),
        history: cx.history.clone(),
        ..SnapshotCreate::default()
    };
    for text in options.values("o") {
        props::add(&mut request.props, props::assignment(text, "missing '=' for property=value argument")?)?;
    }
    for name in &names {
        let head = name.split('@').next().unwrap_or_default();
        if !select::exists(cx, head)? {
            return usage(format!("cannot open '{head}': dataset does not exist\n"));
        }
    }
    let many = request.recursive || names.len() > 1;
    let fault = names.iter().find_map(|name| Some((name, name_fault(name)?)));
    let percent = names.iter().find(|name| name.contains('%'));
    let why = match (fault, percent) {
        (Some((name, why)), _) => format!("cannot create snapshot '{name}': {why}"),
        (None, Some(name)) => format!("cannot create snapshot '{name}': invalid character % in name"),
        (None, None) => {
            request.names.clone_from(&names);
            match cx.client.post::<Changed>(routes::SNAPSHOTS, &request) {
                Ok(changed) => return cx.warn(&changed.warnings),
                Err(error) => sentence("cannot create snapshots ", &error.problem()?, Noun::Dataset),
            }
        }
    };
    cx.complain(&why)?;
    if many {
        cx.complain("no snapshots were created")?;
    }
    Ok(1)
}

/// Posts a request that concerns one dataset; `what` begins the sentence where it is refused.
fn post(cx: &mut Cx<'_>, path: &str, request: &impl Serialize, what: &str, name: &str) -> Outcome {
    match cx.client.post::<Changed>(path, request) {
        Ok(changed) => cx.warn(&changed.warnings),
        Err(error) => {
            let problem = error.problem()?;
            match problem.kind == kind::NOT_FOUND {
                true => fail(sentence(&format!("cannot open '{name}'"), &problem, Noun::Dataset)),
                false => fail(sentence(what, &problem, Noun::Dataset)),
            }
        }
    }
}

/// Opens what has to be a snapshot.
fn open_snapshot(cx: &mut Cx<'_>, name: &str) -> Result<(), Stop> {
    check_name(name)?;
    if !name.contains('@') {
        return fail(format!("cannot open '{name}': missing '@' delimiter in snapshot name"));
    }
    if !select::exists(cx, name)? {
        return fail(format!("cannot open '{name}': dataset does not exist"));
    }
    Ok(())
}

pub fn rollback(cx: &mut Cx<'_>, args: &[String]) -> Outcome {
    let options = getopt::parse(args, "rRf", &[])?;
    let name = options.one("missing dataset argument")?;
    open_snapshot(cx, name)?;
    let request = Rollback {
        recursive: options.has("r") || options.has("R"),
        clones: options.has("R"),
        history: cx.history.clone(),
    };
    let head = name.split('@').next().unwrap_or_default();
    let path = routes::at(routes::DATASET_ROLLBACK, name);
    post(cx, &path, &request, &format!("cannot rollback '{head}'"), name)
}

pub fn clone(cx: &mut Cx<'_>, args: &[String]) -> Outcome {
    let options = getopt::parse(args, "o:pu", &[])?;
    let (snapshot, name) =
        options.two(["missing source dataset argument", "missing target dataset argument"])?;
    open_snapshot(cx, snapshot)?;
    if let Some(why) = name_fault(name) {
        return fail(format!("cannot create '{name}': {why}"));
    }
    let mut request = CloneCreate {
        snapshot: snapshot.clone(),
        name: name.clone(),
        parents: options.has("p"),
        no_mount: options.has("u"),
        history: cx.history.clone(),
        ..CloneCreate::default()
    };
    for text in options.values("o") {
        props::add(&mut request.props, props::assignment(text, "missing '=' for property=value argument")?)?;
    }
    let what = format!("cannot create '{name}'");
    request.props =
        accounts::numbered(&cx.client, &request.props).or_else(|why| fail(format!("{what}: {why}")))?;
    post(cx, routes::CLONES, &request, &what, snapshot)
}

pub fn promote(cx: &mut Cx<'_>, args: &[String]) -> Outcome {
    let options = getopt::parse(args, "", &[])?;
    let name = options.one("missing clone filesystem argument")?;
    if name.contains('@') {
        return fail(format!("cannot open '{name}': snapshot delimiter '@' is not expected here"));
    }
    check_name(name)?;
    let request = Promote { history: cx.history.clone() };
    let path = routes::at(routes::DATASET_PROMOTE, name);
    post(cx, &path, &request, &format!("cannot promote '{name}'"), name)
}

pub fn bookmark(cx: &mut Cx<'_>, args: &[String]) -> Outcome {
    let options = getopt::parse(args, "", &[])?;
    let (source, name) = match options.operands.as_slice() {
        [] => return usage("missing source argument"),
        [_] => return usage("missing bookmark argument"),
        [source, name, ..] => (source.clone(), name.clone()),
    };
    if !source.contains(['@', '#']) {
        return usage(format!("invalid source name '{source}': must contain a '@' or '#'"));
    }
    if !name.contains('#') {
        return usage(format!("invalid bookmark name '{name}': must contain a '#'"));
    }
    let head = |name: &str| name.split(['@', '#']).next().unwrap_or_default().to_owned();
    let (source, name) = match (head(&source).is_empty(), head(&name).is_empty()) {
        (true, true) => return usage("either source or bookmark must be specified as full dataset paths"),
        (true, false) => (format!("{}{source}", head(&name)), name),
        (false, true) => (source.clone(), format!("{}{name}", head(&source))),
        (false, false) => (source, name),
    };
    if !select::exists(cx, &source)? {
        return usage(format!("cannot open '{source}': dataset does not exist\n"));
    }
    let request = BookmarkCreate { source: source.clone(), name: name.clone(), history: cx.history.clone() };
    post(cx, routes::BOOKMARKS, &request, &format!("cannot create bookmark '{name}'"), &source)
}
