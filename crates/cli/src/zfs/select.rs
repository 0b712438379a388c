//! Which datasets a command line means, and in which order they come.

use crate::accounts::Accounts;
use crate::client::CallError;
use crate::command::{Cx, refusal};
use crate::fail::{Noun, Stop, usage};
use api_types::{DatasetInfo, Mount, PropKind, PropValue, kind, routes};
use std::cmp::Ordering;

/// Which datasets to ask for.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// Names, or absolute paths inside a mounted file system; empty: every pool.
    pub operands: Vec<String>,
    /// `None`: all the way down.
    pub depth: Option<u32>,
    /// What is named need not be of the kinds itself: something below it may be. Always so where
    /// the depth is not 0.
    pub within: bool,
    /// Names of kinds; empty: whatever is named, and file systems and volumes below.
    pub kinds: Vec<&'static str>,
    /// Comma-separated; empty: all.
    pub props: String,
}

/// `-t`
pub fn kinds(list: Option<&str>) -> Result<Vec<&'static str>, Stop> {
    let mut kinds = Vec::new();
    for name in list.into_iter().flat_map(|list| list.split(',')) {
        match name {
            "filesystem" | "fs" => kinds.push("filesystem"),
            "volume" | "vol" => kinds.push("volume"),
            "snapshot" | "snap" => kinds.push("snapshot"),
            "bookmark" => kinds.push("bookmark"),
            "all" => kinds.extend(["filesystem", "volume", "snapshot", "bookmark"]),
            other => return usage(format!("invalid type '{other}'")),
        }
    }
    Ok(kinds)
}

/// How deep to go: `-d`, `-r`, or not below what is named, unless that has what is asked for:
/// snapshots alone, or bookmarks alone, are those of the datasets named (cmd/zfs/zfs_main.c,
/// `zfs_do_list`).
pub fn depth(options: &crate::getopt::Parsed, kinds: &[&str]) -> Result<Option<u32>, Stop> {
    if let Some(text) = options.value("d") {
        return match text.parse() {
            Ok(depth) => Ok(Some(depth)),
            Err(_) => usage(format!("{text} is not a number")),
        };
    }
    let everything = options.has("r") || options.operands.is_empty();
    let alone = |kind: &str| !kinds.is_empty() && kinds.iter().all(|one| *one == kind);
    Ok(match everything {
        true => None,
        false if alone("snapshot") || alone("bookmark") => Some(1),
        false => Some(0),
    })
}

/// The datasets meant, in name order, none twice; what isn't there is said, and is status 1.
pub fn select(cx: &mut Cx<'_>, selection: &Selection) -> Result<(Vec<DatasetInfo>, i32), Stop> {
    let (mut found, mut status) = (Vec::new(), 0);
    if selection.operands.is_empty() {
        found = ask(cx, selection, "").map_err(Stop::from)?;
    }
    for operand in &selection.operands {
        let Some(name) = at_path(cx, operand)? else {
            status = 1;
            continue;
        };
        if let Some(why) = super::name_fault(&name) {
            cx.complain(&format!("cannot open '{name}': {why}"))?;
            status = 1;
            continue;
        }
        match ask(cx, selection, &name) {
            Ok(datasets) if !datasets.is_empty() => found.extend(datasets),
            Ok(_) if !exists(cx, &name)? => {
                cx.complain(&format!("cannot open '{name}': dataset does not exist"))?;
                status = 1;
            }
            Ok(_) if selection.depth != Some(0) || selection.within => {}
            Ok(_) => {
                cx.complain(&format!(
                    "cannot open '{name}': operation not applicable to datasets of this type"
                ))?;
                status = 1;
            }
            Err(error) => status = cx.refused(&format!("cannot open '{name}'"), error, Noun::Dataset)?,
        }
    }
    found.sort_by(in_name_order);
    found.dedup_by(|a, b| a.name == b.name);
    Ok((found, status))
}

/// Whether a dataset of any kind is there. Stops where that cannot be known.
pub fn exists(cx: &mut Cx<'_>, name: &str) -> Result<bool, Stop> {
    let any = "filesystem,volume,snapshot,bookmark".split(',').collect();
    let selection = Selection { depth: Some(0), kinds: any, props: "type".into(), ..Selection::default() };
    match ask(cx, &selection, name) {
        Ok(found) => Ok(!found.is_empty()),
        Err(CallError::Refused(problem)) if problem.kind == kind::NOT_FOUND => Ok(false),
        Err(error) => Err(refusal(&format!("cannot open '{name}'"), error, Noun::Dataset)),
    }
}

/// The snapshot that a dataset is a clone of, empty without one. The dataset must be there.
pub fn origin(cx: &mut Cx<'_>, name: &str) -> Result<String, Stop> {
    let kinds = vec!["filesystem", "volume"];
    let selection = Selection { depth: Some(0), kinds, props: "origin".into(), ..Selection::default() };
    let found = ask(cx, &selection, name)
        .map_err(|error| refusal(&format!("cannot open '{name}'"), error, Noun::Dataset))?;
    let origin = found.first().and_then(|dataset| find(dataset, "origin"));
    Ok(origin.map(|origin| origin.value.clone()).unwrap_or_default())
}

fn ask(cx: &mut Cx<'_>, selection: &Selection, root: &str) -> Result<Vec<DatasetInfo>, CallError> {
    let named = match root {
        root if root.contains('@') => Some("snapshot"),
        root if root.contains('#') => Some("bookmark"),
        _ => None,
    };
    let kinds = match named {
        Some(kind) if selection.kinds.is_empty() => kind.to_owned(),
        _ => selection.kinds.join(","),
    };
    let depth = selection.depth.map(|depth| format!("&depth={depth}")).unwrap_or_default();
    let accounts = match selection.props.contains('@') {
        true => Accounts::around(&cx.client),
        false => Accounts::default(),
    };
    // Who nobody knows is nobody, and the daemon has nothing to say of him.
    let numbered = |name: &str| accounts.numbered(name).unwrap_or_else(|| name.to_owned());
    let asked: Vec<(&str, String)> = selection.props.split(',').map(|name| (name, numbered(name))).collect();
    let props: Vec<&str> = asked.iter().map(|(_, numbered)| numbered.as_str()).collect();
    let (root, props) = (routes::segment(root), routes::segment(&props.join(",")));
    let mut found: Vec<DatasetInfo> =
        cx.client.get(&format!("{}?roots={root}&kinds={kinds}&props={props}{depth}", routes::DATASETS))?;
    for (name, numbered) in asked.iter().filter(|(name, numbered)| name != numbered) {
        for dataset in &mut found {
            let value = dataset.props.iter().find(|prop| prop.name == *numbered).cloned();
            dataset.props.extend(value.map(|value| PropValue { name: (*name).to_owned(), ..value }));
        }
    }
    Ok(found)
}

/// A path names the file system that it lies in.
pub fn at_path(cx: &mut Cx<'_>, operand: &str) -> Result<Option<String>, Stop> {
    if !operand.starts_with('/') && !operand.starts_with("./") {
        return Ok(Some(operand.to_owned()));
    }
    cx.client.must_be_here(operand)?;
    let Ok(path) = std::fs::canonicalize(operand) else {
        cx.complain(&format!("cannot open '{operand}': No such file or directory"))?;
        return Ok(None);
    };
    let mounts: Vec<Mount> = cx.client.get(routes::MOUNTS)?;
    let inside = |mount: &&Mount| path.starts_with(&mount.mountpoint);
    let found = mounts.iter().filter(inside).max_by_key(|mount| mount.mountpoint.len());
    match found {
        Some(mount) => Ok(Some(mount.dataset.clone())),
        None => {
            cx.complain(&format!("cannot open '{operand}': not a ZFS filesystem"))?;
            Ok(None)
        }
    }
}

/// By name; the snapshots of one dataset in the order of their making (cmd/zfs/zfs_iter.c,
/// `zfs_compare`).
pub fn in_name_order(a: &DatasetInfo, b: &DatasetInfo) -> Ordering {
    fn split(name: &str) -> (&str, bool) {
        name.split_once('@').map_or((name, false), |(dataset, _)| (dataset, true))
    }
    let (a_name, a_snapshot) = split(&a.name);
    let (b_name, b_snapshot) = split(&b.name);
    a_name.cmp(b_name).then(a_snapshot.cmp(&b_snapshot)).then_with(|| match a_snapshot && b_snapshot {
        true => a.createtxg.cmp(&b.createtxg).then(a.name.cmp(&b.name)),
        false => a.name.cmp(&b.name),
    })
}

/// By the values of properties, then by name; a dataset without the property comes last.
pub fn sort(datasets: &mut [DatasetInfo], keys: &[(String, bool)]) {
    datasets.sort_by(|a, b| {
        let by_key = |(name, reverse): &(String, bool)| {
            let ordering = match (name == "name", find(a, name), find(b, name)) {
                (true, _, _) => a.name.cmp(&b.name),
                (false, Some(a), Some(b)) => compare(a, b),
                (false, a, b) => return b.is_some().cmp(&a.is_some()),
            };
            if *reverse { ordering.reverse() } else { ordering }
        };
        keys.iter()
            .map(by_key)
            .find(|ordering| ordering.is_ne())
            .unwrap_or(Ordering::Equal)
            .then(in_name_order(a, b))
    });
}

fn find<'a>(dataset: &'a DatasetInfo, name: &str) -> Option<&'a PropValue> {
    dataset.props.iter().find(|prop| prop.name == name && !prop.value.is_empty())
}

fn compare(a: &PropValue, b: &PropValue) -> Ordering {
    let number = |prop: &PropValue| match prop.value.as_str() {
        "none" => Some(0.0),
        value => value.parse::<f64>().ok(),
    };
    match (a.kind, number(a), number(b)) {
        (PropKind::Text, _, _) | (_, None, _) | (_, _, None) => a.value.cmp(&b.value),
        (_, Some(a), Some(b)) => a.total_cmp(&b),
    }
}

#[cfg(test)]
mod tests;
