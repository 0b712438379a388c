//! `zfs diff`
//!
//! Sources: cmd/zfs/zfs_main.c (`zfs_do_diff`), lib/libzfs/libzfs_diff.c.

use crate::command::Cx;
use crate::fail::{Noun, Outcome, Stop, fail, sentence, usage};
use crate::getopt::{self, Parsed};
use api_types::{DiffEntry, escape_path, kind, routes, unescape_path};

pub fn diff(cx: &mut Cx<'_>, args: &[String]) -> Outcome {
    let options = getopt::parse(args, "FHth", &[])?;
    let (from, to) = match options.operands.as_slice() {
        [] => return usage("must provide at least one snapshot name"),
        [from] => (from.as_str(), None),
        [from, to] => (from.as_str(), Some(to.as_str())),
        _ => return usage("too many arguments"),
    };
    let (from, to) = names(from, to).or_else(fail)?;
    let path = format!("{}?to={}", routes::at(routes::DATASET_DIFF, &from), routes::segment(&to));
    let found: Vec<DiffEntry> = match cx.client.get(&path) {
        Ok(found) => found,
        Err(error) => {
            let problem = error.problem()?;
            let begin = match problem.kind == kind::NOT_FOUND {
                true => format!("cannot open '{from}'"),
                false => "Unable to obtain diffs".to_owned(),
            };
            return fail(sentence(&begin, &problem, Noun::Dataset));
        }
    };
    let prefix = mountpoint(cx, to.split('@').next().unwrap_or_default())?;
    for entry in &found {
        let line = line(entry, &prefix, &options);
        cx.io.out.write_all(&line)?;
    }
    Ok(0)
}

/// The snapshot to begin with, and where to end: a snapshot or a file system.
fn names(from: &str, to: Option<&str>) -> Result<(String, String), String> {
    let split = |name: &str| match name.find('@') {
        Some(at) => (name[..at].to_owned(), name[at..].to_owned()),
        None => (name.to_owned(), String::new()),
    };
    let (from_fs, from_snap) = split(from);
    let Some(to) = to else {
        if from_fs.is_empty() || from_snap.len() < 2 {
            return Err(format!("Badly formed snapshot name {from}: invalid name"));
        }
        return Ok((from.to_owned(), from_fs));
    };
    let (to_fs, to_snap) = split(to);
    if from_snap.len() <= 1 || to_snap.len() == 1 || from_fs.is_empty() && to_fs.is_empty() {
        return Err("Unable to determine which snapshots to compare: invalid name".into());
    }
    let other = |fs: &str, than: &str| if fs.is_empty() { than.to_owned() } else { fs.to_owned() };
    Ok((other(&from_fs, &to_fs) + &from_snap, other(&to_fs, &from_fs) + &to_snap))
}

/// What paths begin with: where clients see the file system. Nothing where it has no such place.
fn mountpoint(cx: &mut Cx<'_>, dataset: &str) -> Result<String, Stop> {
    let path = format!("{}?roots={}&depth=0&props=mountpoint", routes::DATASETS, routes::segment(dataset));
    let found: Vec<api_types::DatasetInfo> = cx.client.get(&path)?;
    let value = found.first().and_then(|dataset| dataset.props.first()).map(|prop| prop.value.clone());
    Ok(value.filter(|path| path.starts_with('/') && path != "/").unwrap_or_default())
}

fn line(entry: &DiffEntry, prefix: &str, options: &Parsed) -> Vec<u8> {
    let mut line = Vec::new();
    if options.has("t") {
        line.extend(format!("{:>10}.{:09}\t", entry.ctime_secs, entry.ctime_nanos).bytes());
    }
    line.extend(format!("{}\t", entry.change).bytes());
    if options.has("F") {
        line.extend(format!("{}\t", entry.node).bytes());
    }
    let name = |path: &str| match options.has("h") {
        true => [prefix.as_bytes(), &unescape_path(path)].concat(),
        false => [escape_path(prefix.as_bytes()), path.to_owned()].concat().into_bytes(),
    };
    line.extend(name(&entry.path));
    if let Some(to) = &entry.to {
        line.extend(if options.has("H") { "\t" } else { " -> " }.bytes());
        line.extend(name(to));
    }
    if entry.links != 0 {
        line.extend(format!("\t({:+})", entry.links).bytes());
    }
    line.push(b'\n');
    line
}

#[cfg(test)]
mod tests;
