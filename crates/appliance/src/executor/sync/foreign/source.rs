//! What is asked of an OpenZFS that has sources, and what its answers mean.

use std::collections::{BTreeMap, BTreeSet};

use api_types::SyncStep;
use engine_api::{DatasetKind, PropertyChange};
use services::autosnap::coverage::Named;
use services::autosync::stamp;
use services::autosync::view::{Bookmark, Snapshot, Source};
use services::time::Time;

use super::super::origin::{Content, Original};
use super::super::{GIVEN, source::tag};
use super::{has, if_same, quoted, snapshot, unintelligible, wrapped, zfs};
use crate::RemoteFault;

/// How streams are made: blocks as they are stored.
const AS_STORED: [&str; 3] = ["-L", "-e", "-c"];

/// What is there of a dataset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    pub guid: u64,
    pub kind: DatasetKind,
    written: u64,
    /// Properties of it that a new replica gets.
    pub given: Vec<PropertyChange>,
    /// With how many holds each has.
    snapshots: Vec<(Snapshot, u64)>,
    bookmarks: Vec<Bookmark>,
}

impl Listed {
    /// Full names of snapshots that somebody holds.
    pub fn held(&self, dataset: &str) -> impl Iterator<Item = String> {
        let held = self.snapshots.iter().filter(|(_, tags)| *tags > 0);
        held.map(move |(it, _)| format!("{dataset}@{}", it.name))
    }

    /// `own`: full names of those that this service holds.
    pub fn hold(&mut self, dataset: &str, own: &BTreeSet<String>) {
        for (snapshot, tags) in &mut self.snapshots {
            snapshot.held = own.contains(&format!("{dataset}@{}", snapshot.name));
            snapshot.needed |= *tags > u64::from(snapshot.held);
        }
    }

    /// This service's, that nobody needs: what [`kept`] counts.
    pub fn own(&self) -> Vec<&str> {
        let own = self.snapshots.iter().filter(|(it, _)| it.stamp.is_some() && !it.needed);
        own.map(|(it, _)| it.name.as_str()).collect()
    }

    /// As a plan has it. `kept`: bytes.
    pub fn source(&self, kept: u64) -> Source {
        Source {
            guid: self.guid,
            snapshots: self.snapshots.iter().map(|(it, _)| it.clone()).collect(),
            bookmarks: self.bookmarks.clone(),
            written: self.written,
            kept,
            makes: true,
        }
    }
}

/// Lists the names and guids of all datasets of a pool, for [`named`].
pub fn names(pool: &str) -> String {
    wrapped(&zfs(&["list", "-Hp", "-t", "filesystem,volume", "-o", "name,guid", "-r", pool]))
}

/// # Errors
/// [`RemoteFault::Unintelligible`].
pub fn named(text: &str) -> Result<Vec<Named>, RemoteFault> {
    let name = |line: &str| {
        let (name, guid) = line.split_once('\t')?;
        Some(Named { name: name.to_owned(), guid: guid.parse().ok()? })
    };
    text.lines().map(|line| name(line).ok_or_else(|| unintelligible(line))).collect()
}

/// Has a pool written out, and lists a dataset, or all below it too, for [`listed`].
pub fn list(dataset: &str, is_whole: bool) -> String {
    let pool = dataset.split('/').next().unwrap_or_default();
    let properties = format!("guid,type,written,{},{}", GIVEN.join(","), stamp::SNAPSHOT);
    let columns = format!("name,guid,createtxg,userrefs,clones,{}", stamp::SNAPSHOT);
    let mut heads = vec!["get", "-Hp", "-t", "filesystem,volume", "-o", "name,property,value,source"];
    heads.extend(is_whole.then_some("-r"));
    heads.extend([properties.as_str(), dataset]);
    let mut below = vec!["list", "-Hp", "-t", "snapshot,bookmark", "-o", columns.as_str()];
    below.extend(if is_whole { &["-r"][..] } else { &["-d", "1"] });
    below.push(dataset);
    // What was written is counted once it is on the disks.
    wrapped(&format!("zpool sync {} && {} && {}", quoted(pool), zfs(&heads), zfs(&below)))
}

/// The datasets that [`list`] has listed, as a service sees them that is called so there.
///
/// # Errors
/// [`RemoteFault::Unintelligible`].
pub fn listed(text: &str, id: &str) -> Result<BTreeMap<String, Listed>, RemoteFault> {
    let mut all: BTreeMap<String, Listed> = BTreeMap::new();
    // What a dataset hands down to its snapshots, under the name of a stamp.
    let mut handed: BTreeMap<&str, &str> = BTreeMap::new();
    for line in text.lines() {
        let bad = || unintelligible(line);
        let (name, rest) = line.split_once('\t').ok_or_else(bad)?;
        if let Some((dataset, short)) = name.split_once('@') {
            let found = all.get_mut(dataset).ok_or_else(bad)?;
            let handed = handed.get(dataset).copied();
            found.snapshots.push(snapshot(short, rest, (id, handed)).ok_or_else(bad)?);
            continue;
        }
        if let Some((dataset, short)) = name.split_once('#') {
            let found = all.get_mut(dataset).ok_or_else(bad)?;
            found.bookmarks.push(bookmark(short, rest).ok_or_else(bad)?);
            continue;
        }
        let (property, rest) = rest.split_once('\t').ok_or_else(bad)?;
        let (value, source) = rest.rsplit_once('\t').ok_or_else(bad)?;
        let found = all.entry(name.to_owned()).or_insert_with(|| Listed {
            guid: 0,
            kind: DatasetKind::Filesystem,
            written: 0,
            given: Vec::new(),
            snapshots: Vec::new(),
            bookmarks: Vec::new(),
        });
        match property {
            "guid" => found.guid = value.parse().map_err(|_| bad())?,
            "written" => found.written = value.parse().map_err(|_| bad())?,
            "type" if value == "filesystem" => found.kind = DatasetKind::Filesystem,
            "type" if value == "volume" => found.kind = DatasetKind::Volume,
            stamp::SNAPSHOT => drop(handed.insert(name, value)),
            given if GIVEN.contains(&given) => {
                let set = PropertyChange { name: given.to_owned(), value: value.to_owned() };
                found.given.extend((source == "local").then_some(set));
            }
            _ => return Err(bad()),
        }
    }
    match all.iter().find(|(_, found)| found.guid == 0) {
        Some((name, _)) => Err(unintelligible(name)),
        None => Ok(all),
    }
}

fn bookmark(short: &str, rest: &str) -> Option<Bookmark> {
    let mut columns = rest.split('\t');
    let mut number = || columns.next()?.parse::<u64>().ok();
    Some(Bookmark { name: short.to_owned(), guid: number()?, createtxg: number()?, own: false })
}

/// Lists who holds these snapshots, for [`held`].
pub fn holds(snapshots: &[String]) -> String {
    let mut words = vec!["holds", "-H"];
    words.extend(snapshots.iter().map(String::as_str));
    wrapped(&zfs(&words))
}

/// The full names of the snapshots that this service holds.
///
/// # Errors
/// [`RemoteFault::Unintelligible`].
pub fn held(text: &str, id: &str) -> Result<BTreeSet<String>, RemoteFault> {
    let mut own = BTreeSet::new();
    for line in text.lines() {
        let (name, rest) = line.split_once('\t').ok_or_else(|| unintelligible(line))?;
        // A tag may have tabs, the time has none.
        let (held_by, _) = rest.rsplit_once('\t').ok_or_else(|| unintelligible(line))?;
        own.extend((held_by == tag(id)).then(|| name.to_owned()));
    }
    Ok(own)
}

/// Counts what would come free if snapshots of a dataset went, for [`reclaimed`]. Deferred: holds
/// are no hindrance.
pub fn kept(dataset: &str, snapshots: &[&str]) -> String {
    wrapped(&zfs(&["destroy", "-dnvp", &format!("{dataset}@{}", snapshots.join(","))]))
}

/// # Errors
/// [`RemoteFault::Unintelligible`].
pub fn reclaimed(text: &str) -> Result<u64, RemoteFault> {
    let bytes = text.lines().find_map(|line| line.strip_prefix("reclaim\t")?.parse().ok());
    bytes.ok_or_else(|| unintelligible(text))
}

/// Makes snapshots of datasets, together. In the order of names.
pub fn make(wanted: &[(Original, String)], id: &str, now: Time) -> String {
    let property = format!("{}={}", stamp::SNAPSHOT, stamp::written(id, now));
    let names: Vec<String> = wanted.iter().map(|(of, short)| format!("{}@{short}", of.name)).collect();
    let mut words = vec!["snapshot", "-o", &property];
    words.extend(names.iter().map(String::as_str));
    let things: Vec<(&str, u64)> = wanted.iter().map(|(of, _)| (of.name.as_str(), of.guid)).collect();
    wrapped(&if_same(&things, &zfs(&words)))
}

/// Does a step that is about the source alone.
pub fn step(of: &Original, step: &SyncStep, id: &str, now: Time) -> String {
    let snap = |name: &str| format!("{}@{name}", of.name);
    let tag = tag(id);
    let done = match step {
        SyncStep::Snapshot { snapshot } => return make(&[(of.clone(), snapshot.clone())], id, now),
        SyncStep::Hold { snapshot } => zfs(&["hold", &tag, &snap(snapshot)]),
        SyncStep::Release { snapshot } => zfs(&["release", &tag, &snap(snapshot)]),
        SyncStep::Bookmark { snapshot } => {
            zfs(&["bookmark", &snap(snapshot), &format!("{}#{snapshot}", of.name)])
        }
        SyncStep::Destroy { name, guid, .. } if name.starts_with('@') => {
            return super::destroy(&format!("{}{name}", of.name), *guid);
        }
        // A bookmark is known by its dataset and name.
        SyncStep::Destroy { name, .. } => zfs(&["destroy", &format!("{}{name}", of.name)]),
        SyncStep::Send { .. } | SyncStep::Resume | SyncStep::Abort | SyncStep::Stamp { .. } => {
            unreachable!("it is about the replica")
        }
    };
    wrapped(&if_same(&[(&of.name, of.guid)], &done))
}

/// Sends a stream.
pub fn send(of: &Original, content: &Content) -> String {
    wrapped(&sending(of, content, &[]))
}

/// Says what would be sent, for [`planned`].
pub fn would_send(of: &Original, content: &Content) -> String {
    wrapped(&sending(of, content, &["-nvP"]))
}

fn sending(of: &Original, content: &Content, more: &[&str]) -> String {
    let mut words = vec!["send"];
    words.extend(AS_STORED.iter().chain(more));
    match content {
        Content::Snapshot { snapshot, from } => {
            let (snapshot, from) =
                (format!("{}@{snapshot}", of.name), from.as_ref().map(|it| format!("{}{it}", of.name)));
            words.extend(from.iter().flat_map(|from| ["-i", from.as_str()]));
            words.push(&snapshot);
            zfs(&words)
        }
        Content::Rest { token } => {
            words.extend(["-t", token]);
            zfs(&words)
        }
    }
}

/// The full name of the snapshot that would be sent, and how many bytes that are, about.
///
/// # Errors
/// [`RemoteFault::Unintelligible`].
pub fn planned(text: &str) -> Result<(String, u64), RemoteFault> {
    let (mut snapshot, mut size) = (None, 0);
    for line in text.lines() {
        let columns: Vec<&str> = line.split('\t').collect();
        match columns[..] {
            ["full", name, bytes] | ["incremental", _, name, bytes] => {
                (snapshot, size) = (Some(name), bytes.parse().map_err(|_| unintelligible(line))?);
            }
            // Some versions say the size of all alone.
            ["full", name] | ["incremental", _, name] => snapshot = Some(name),
            ["size", bytes] => size = bytes.parse().map_err(|_| unintelligible(line))?,
            // What a token has in it.
            _ => {}
        }
    }
    Ok((snapshot.ok_or_else(|| unintelligible(text))?.to_owned(), size))
}

/// Whether a text says that what a token is of is not there any more.
pub fn is_without_rest(said: &str) -> bool {
    has(
        said,
        &[
            "used in the initial send no longer exists",
            "is no longer the same snapshot used in the initial send",
            "incremental source 0x",
            "resume token is corrupt",
        ],
    )
}

#[cfg(test)]
mod tests;
