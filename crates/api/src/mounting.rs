//! Local mounts follow the datasets: what is created, imported or moved is mounted, what goes is
//! unmounted first.
//!
//! Only administrators mount and unmount, as with OpenZFS on Linux: what others make is not
//! mounted, and what is mounted they can neither move nor destroy. A rollback, which takes the file
//! system from under its users and gives it back, is none of that.
//!
//! Order matters in two ways: a parent's mount point holds its child's directory, so mounting goes
//! down the paths and unmounting up.

use crate::app::App;
use crate::local::{LocalMount, MountSpec, mount_props, mount_word};
use crate::problem::of_error;
use api_types::{Problem, kind};
use engine_api::{DatasetFilter, DatasetInfo, DatasetKind, Error, Source};
use std::collections::HashSet;
use stdx::behalf;

/// A file system and where it belongs.
#[derive(Clone, Debug)]
pub struct Candidate {
    pub dataset: String,
    /// `none`, `legacy`, or a path.
    pub mountpoint: String,
    /// `on`, `off` or `noauto`.
    pub canmount: String,
    /// It may be mounted over a directory that has entries.
    pub overlay: bool,
    /// The mount point follows from the name, and was not set for this file system.
    pub is_by_name: bool,
}

impl Candidate {
    pub fn of(info: &DatasetInfo) -> Candidate {
        Candidate {
            dataset: info.name.clone(),
            mountpoint: value(info, "mountpoint").unwrap_or("none").to_owned(),
            canmount: value(info, "canmount").unwrap_or("on").to_owned(),
            overlay: value(info, "overlay") == Some("on"),
            is_by_name: info.props.iter().any(|prop| {
                prop.name == "mountpoint" && matches!(prop.source, Source::Default | Source::Inherited(_))
            }),
        }
    }

    /// Mounted and unmounted only when asked for by name: `unmount -a` leaves it.
    pub fn is_mounted_by_hand(&self) -> bool {
        self.canmount == "noauto" || self.mountpoint == "legacy"
    }

    /// Its mount point where that follows from its name: the directory was made for it, and goes
    /// with it (`remove_mountpoint` in lib/libzfs/libzfs_mount.c). `None` where somebody else than
    /// an administrator asks: he may have had a mount point set to any directory, and the daemon is
    /// root.
    fn own_directory(&self) -> Option<&str> {
        let is_own = self.is_by_name && self.canmount != "off" && self.mountpoint.starts_with('/');
        (is_own && behalf::caller().is_administrator).then_some(&self.mountpoint)
    }
}

/// Names of the properties that a [`Candidate`] is made of.
pub const OF_MOUNTS: [&str; 3] = ["mountpoint", "canmount", "overlay"];

/// The exact value of a property, where the dataset has it.
pub fn value<'a>(info: &'a DatasetInfo, name: &str) -> Option<&'a str> {
    info.props.iter().find(|prop| prop.name == name).map(|prop| prop.value.as_str())
}

/// Whether `dataset` is `root` or below it.
pub fn is_within(dataset: &str, root: &str) -> bool {
    dataset.strip_prefix(root).is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '@', '#']))
}

/// The file systems at and below a dataset.
pub fn candidates(app: &App, root: &str, depth: Option<u32>) -> Result<Vec<Candidate>, Problem> {
    let filter = DatasetFilter {
        roots: vec![root.to_owned()],
        depth,
        kinds: vec![DatasetKind::Filesystem],
        props: OF_MOUNTS.iter().chain(&["inconsistent"]).map(|&name| name.to_owned()).collect(),
    };
    let found = app.pool_of(root)?.datasets(&filter).map_err(|error| of_error(&error))?;
    Ok(found
        .iter()
        // What was not received whole cannot be mounted.
        .filter(|info| value(info, "inconsistent") != Some("1"))
        .map(Candidate::of)
        .collect())
}

/// What `zfs mount` says when the mount failed.
pub fn mount_failure(dataset: &str, mountpoint: &str, error: &Error) -> String {
    let why = match error {
        Error::Busy => "filesystem already mounted".to_owned(),
        Error::NotEmpty => format!("cannot mount '{mountpoint}': directory is not empty"),
        Error::KeyNotLoaded => "encryption key not loaded".to_owned(),
        Error::Denied | Error::NotPermitted => "Insufficient privileges".to_owned(),
        other => other.to_string(),
    };
    if why.starts_with("cannot ") { why } else { format!("cannot mount '{dataset}': {why}") }
}

/// What `zfs unmount` says when it failed.
pub fn unmount_failure(at: &str, error: &Error) -> String {
    match error {
        Error::Busy => format!("cannot unmount '{at}': pool or dataset is busy"),
        Error::NotFound => format!("cannot unmount '{at}': not currently mounted"),
        other => format!("cannot unmount '{at}': {other}"),
    }
}

/// Mounts what at and below `root` wants to be mounted by itself and isn't. Failures are told, not
/// fatal: the datasets are there whether they are mounted or not.
pub fn mount_all(
    app: &App,
    root: &str,
    options: &[String],
    overlay: bool,
    mut each: impl FnMut(&str, u64, u64),
) -> (Vec<String>, Vec<String>) {
    let mut wanted = match candidates(app, root, None) {
        Ok(found) => found,
        Err(why) => return (Vec::new(), vec![why.to_string()]),
    };
    let mounted = app.local.mounted();
    wanted.retain(|one| {
        one.canmount == "on"
            && one.mountpoint.starts_with('/')
            && !mounted.iter().any(|mount| mount.dataset == one.dataset)
    });
    wanted.sort_by(|a, b| a.mountpoint.cmp(&b.mountpoint));
    let (mut done, mut failed) = (Vec::new(), Vec::new());
    let total = wanted.len() as u64;
    for (count, one) in (0u64..).zip(&wanted) {
        each(&one.dataset, count, total);
        let spec = MountSpec {
            dataset: one.dataset.clone(),
            mountpoint: one.mountpoint.clone(),
            options: options.to_vec(),
            overlay: overlay || one.overlay,
        };
        match mount(app, &spec) {
            Ok(()) => done.push(one.dataset.clone()),
            Err(error) => failed.push(mount_failure(&one.dataset, &one.mountpoint, &error)),
        }
    }
    (done, failed)
}

fn mount(app: &App, spec: &MountSpec) -> engine_api::Result<()> {
    if behalf::caller().is_administrator { app.local.mount(spec) } else { Err(Error::Denied) }
}

/// Mounts what was made at and below `root`; gives what is to be said where it is not.
pub fn mount_made(app: &App, root: &str) -> Vec<String> {
    let (_, failed) = mount_all(app, root, &[], false, |_, _, _| {});
    match failed.is_empty() || behalf::caller().is_administrator {
        true => failed,
        false => vec!["filesystem successfully created, but it may only be mounted by root".to_owned()],
    }
}

/// The local mounts at and below a dataset, deepest path first.
pub fn mounted_within(app: &App, root: &str) -> Vec<LocalMount> {
    let mut mounts = app.local.mounted();
    mounts.retain(|mount| is_within(&mount.dataset, root));
    mounts.sort_by(|a, b| b.mountpoint.cmp(&a.mountpoint));
    mounts
}

/// What the file system holds was replaced, and its mount stays: who has a file open there that is
/// no more gets an error. Gives a warning where the mount does not show it yet.
pub fn refresh(app: &App, dataset: &str) -> Option<String> {
    let text = || format!("the mount of '{dataset}' may show for a minute what was there before");
    (!app.local.refresh(dataset)).then(text)
}

/// Unmounts everything at and below `root`; where one can't be, those already unmounted are mounted
/// again. A file system in use stays mounted, even with `-f`, as with OpenZFS on Linux.
pub fn unmount_all(app: &App, root: &str) -> Result<Vec<LocalMount>, Problem> {
    app.local
        .settled(&|dataset| is_within(dataset, root))
        .map_err(|error| crate::problem::problem(&of_error(&error).kind, unmount_failure(root, &error)))?;
    let mounts = mounted_within(app, root);
    if let Some(first) = mounts.first().filter(|_| !behalf::caller().is_administrator) {
        let text = unmount_failure(&first.mountpoint, &Error::Denied);
        return Err(crate::problem::problem(kind::DENIED, text));
    }
    for (count, mount) in mounts.iter().enumerate() {
        match app.local.unmount(&mount.dataset, false) {
            Ok(()) | Err(Error::NotFound) => {}
            Err(error) => {
                restore(app, &mounts[..count]);
                let kind = of_error(&error).kind;
                return Err(crate::problem::problem(&kind, unmount_failure(&mount.mountpoint, &error)));
            }
        }
    }
    Ok(mounts)
}

/// The directories that go with file systems, which are at and below `root` and elsewhere
/// ([`Candidate::own_directory`]); children come first.
///
/// # Errors
/// As [`candidates`].
pub fn directories_of(app: &App, root: &str, names: &[String]) -> Result<Vec<String>, Problem> {
    let file_systems = || names.iter().filter(|name| !name.contains(['@', '#']));
    let mut found = Vec::new();
    if file_systems().any(|name| is_within(name, root)) {
        let wanted: HashSet<&String> = names.iter().collect();
        found = candidates(app, root, None)?;
        found.retain(|one| wanted.contains(&one.dataset));
    }
    for name in file_systems().filter(|name| !is_within(name, root)) {
        found.extend(candidates(app, name, Some(0))?);
    }
    let mut own: Vec<String> = found.iter().filter_map(Candidate::own_directory).map(str::to_owned).collect();
    own.sort_by(|a, b| b.cmp(a));
    Ok(own)
}

/// Unmounts a whole pool and lets go of it; the directories of what was mounted go too
/// (`zpool_disable_datasets` in lib/libzfs/libzfs_mount.c). Where it cannot be let go of, all is
/// mounted again.
///
/// # Errors
/// As [`unmount_all`] with `unmounting`, and of `release`.
pub fn releasing(
    app: &App,
    pool: &str,
    unmounting: impl FnOnce(Problem) -> Problem,
    release: impl FnOnce() -> engine_api::Result<()>,
) -> Result<(), Problem> {
    let names: Vec<String> = mounted_within(app, pool).into_iter().map(|mount| mount.dataset).collect();
    let directories = directories_of(app, pool, &names).unwrap_or_else(|why| {
        // A pool that has lost its devices cannot be asked, and is let go of all the same.
        tracing::debug!(pool, %why, "directories of mounts stay");
        Vec::new()
    });
    let mounts = unmount_all(app, pool).map_err(unmounting)?;
    match release() {
        Ok(()) => {
            app.local.leave(directories);
            Ok(())
        }
        Err(error) => {
            restore(app, &mounts);
            Err(of_error(&error))
        }
    }
}

/// Mounts again, where they were, what `unmount_all` took away. Gives the failures.
pub fn restore(app: &App, mounts: &[LocalMount]) -> Vec<String> {
    let again = |mount: &LocalMount| {
        let outcome = app.local.mount(&mount.again());
        outcome.err().map(|error| mount_failure(&mount.dataset, &mount.mountpoint, &error))
    };
    mounts.iter().rev().filter_map(again).collect()
}

fn not_mounted(mount: &LocalMount) -> String {
    mount_failure(&mount.dataset, &mount.mountpoint, &Error::Denied)
}

/// Makes a change that may move mount points at and below `before`, which is called `after`
/// afterwards: unmount, change, mount where things belong now. Gives the change's result and what
/// could not be mounted again.
pub fn moving<T>(
    app: &App,
    before: &str,
    after: &str,
    change: impl FnOnce() -> Result<T, Problem>,
) -> Result<(T, Vec<String>), Problem> {
    let places = candidates(app, before, None)?;
    let mounts = unmount_all(app, before)?;
    match change() {
        Err(why) => {
            restore(app, &mounts);
            Err(why)
        }
        Ok(done) => {
            let warnings = match candidates(app, after, None) {
                Ok(now) => {
                    app.local.leave(left(&places, &now, (before, after)).into_iter().collect());
                    let moved = moved(app.auto_mount, (before, &places), (after, &now), &mounts);
                    match behalf::caller().is_administrator {
                        true => restore(app, &moved),
                        false => moved.iter().map(not_mounted).collect(),
                    }
                }
                Err(why) => vec![why.to_string()],
            };
            Ok((done, warnings))
        }
    }
}

/// The directory that the topmost file system has left; those below it are in what was mounted
/// there (`changelist_postfix` in lib/libzfs/libzfs_changelist.c).
fn left(places: &[Candidate], now: &[Candidate], (before, after): (&str, &str)) -> Option<String> {
    let old = places.iter().find(|one| one.dataset == before)?;
    let new = now.iter().find(|one| one.dataset == after)?;
    old.own_directory().filter(|at| *at != new.mountpoint).map(str::to_owned)
}

/// What is to be mounted after a change: whatever was mounted and still may be; and, where file
/// systems are mounted by themselves, what had no place to be mounted at and has one now.
fn moved(
    auto_mount: bool,
    (before, places): (&str, &[Candidate]),
    (after, now): (&str, &[Candidate]),
    mounts: &[LocalMount],
) -> Vec<LocalMount> {
    let old_name = |one: &Candidate| format!("{before}{}", &one.dataset[after.len()..]);
    let place = |one: &Candidate| {
        let old_name = old_name(one);
        let was = mounts.iter().find(|mount| mount.dataset == old_name);
        let had_place = places.iter().any(|old| old.dataset == old_name && old.mountpoint.starts_with('/'));
        let wanted = match was {
            Some(_) => one.canmount != "off",
            None => auto_mount && !had_place && one.canmount == "on",
        };
        (wanted && one.mountpoint.starts_with('/')).then(|| LocalMount {
            dataset: one.dataset.clone(),
            mountpoint: one.mountpoint.clone(),
            options: was.map(|mount| mount.options.clone()).unwrap_or_default(),
        })
    };
    let mut moved: Vec<LocalMount> = now.iter().filter_map(place).collect();
    // `restore` goes through them backwards, and a parent's directory must be there before its
    // child's.
    moved.sort_by(|a, b| b.mountpoint.cmp(&a.mountpoint));
    moved
}

/// Mounts at and below a dataset follow properties that say how they are mounted, and have changed:
/// what was asked for while the mount lasts goes with that (`zfs_is_namespace_prop` in
/// lib/libzfs/libzfs_mount.c). Gives the failures.
pub fn follow(app: &App, root: &str, changed: &[&str]) -> Vec<String> {
    if !changed.iter().any(|name| mount_props().any(|prop| prop == *name)) {
        return Vec::new();
    }
    let again = |mount: LocalMount| {
        let stays = |word: &&str| mount_word(word).is_none_or(|(prop, _)| !changed.contains(&prop));
        let words: Vec<String> = mount.words().filter(stays).map(str::to_owned).collect();
        match app.local.remount(&mount.dataset, &words) {
            Ok(()) | Err(Error::NotFound) => None,
            Err(error) => Some(mount_failure(&mount.dataset, &mount.mountpoint, &error)),
        }
    };
    mounted_within(app, root).into_iter().filter_map(again).collect()
}

/// Whether inheriting this property, or setting it to this value, may move or end a mount.
pub fn moves_mounts(property: &str, value: Option<&str>) -> bool {
    match property {
        "mountpoint" => true,
        // These do not end a mount.
        "canmount" => !matches!(value, Some("on" | "noauto")),
        _ => false,
    }
}

/// One that mount(8) mounts: its property leaves the place to that, and what is in the directory is
/// hidden without a question.
pub fn legacy_at(one: Candidate, mountpoint: &str) -> Result<Candidate, Problem> {
    let name = &one.dataset;
    // Who may mount this may not choose where.
    if !behalf::caller().is_administrator {
        return Err(crate::problem::problem(kind::DENIED, mount_failure(name, mountpoint, &Error::Denied)));
    }
    if !mountpoint.starts_with('/') {
        let why = format!("cannot mount '{name}': '{mountpoint}' is not an absolute path");
        return Err(crate::problem::problem(kind::INVALID, why));
    }
    if one.mountpoint != "legacy" {
        let why = format!(
            "filesystem '{name}' cannot be mounted using 'mount'.\n\
             Use 'zfs set mountpoint={mountpoint}' or 'zfs mount {name}'.\n\
             See zfs(8) for more information."
        );
        return Err(crate::problem::problem(kind::REFUSED, why));
    }
    Ok(Candidate { mountpoint: mountpoint.to_owned(), overlay: true, ..one })
}

/// The refusal for a dataset that can't be mounted as its properties stand, as zfs(8) words it.
pub fn not_mountable(one: &Candidate, verb: &str) -> Option<Problem> {
    let name = &one.dataset;
    let why = match (one.mountpoint.as_str(), one.canmount.as_str()) {
        ("legacy", _) => {
            format!("cannot {verb} '{name}': legacy mountpoint\nuse {verb}(8) to {verb} this filesystem")
        }
        ("none", _) => format!("cannot {verb} '{name}': no mountpoint set"),
        (_, "off") => format!("cannot {verb} '{name}': 'canmount' property is set to 'off'"),
        _ => return None,
    };
    Some(crate::problem::problem(kind::REFUSED, why))
}

#[cfg(test)]
mod tests;
