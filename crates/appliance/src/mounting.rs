//! Local mounts follow the datasets: what is created, imported or moved is mounted, what goes is
//! unmounted first.
//!
//! Only administrators and operators mount and unmount, as root with OpenZFS on Linux, and nobody
//! who is held to a dataset: a mount point may be any directory of the machine. What others
//! make is not mounted, and what is mounted they can neither move nor destroy. A rollback, which
//! takes the file system from under its users and gives it back, is none of that.
//!
//! Invariant: who mounts as an operator does not say where, nor what is allowed there. The daemon
//! mounts as root, so he could put what he likes over any directory of the machine. What an
//! administrator mounts, and the daemon when it starts, is where `mountpoint` says, whoever set it:
//! so it is with OpenZFS, and to delegate that property is to trust somebody with it.
//!
//! Order matters in two ways: a parent's mount point holds its child's directory, so mounting goes
//! down the paths and unmounting up.

use std::collections::HashSet;
use std::ops::ControlFlow;

use engine_api::{Change, Error, PropertyChange};
use stdx::behalf;

use crate::candidate::Candidate;
use crate::failure::warnings;
use crate::local::{LocalMount, MountSpec, mount_props, mount_word};
use crate::{Appliance, Failure, Result, Warning};

/// Whether `dataset` is `root` or below it.
pub fn is_within(dataset: &str, root: &str) -> bool {
    dataset.strip_prefix(root).is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '@', '#']))
}

/// Whether some options of a mount allow what properties, which an administrator has set, forbid.
fn loosens(options: &[String]) -> bool {
    let mut words = options.iter().flat_map(|option| option.split(','));
    words.any(|word| {
        matches!(mount_word(word), Some(("devices" | "exec" | "setuid", true) | ("readonly", false)))
    })
}

/// Refuses options of a mount, or that it hides what is in its directory, where whom this thread
/// works for may not ask for that.
pub(crate) fn check_options(options: &[String], hides: bool) -> engine_api::Result<()> {
    let is_free = behalf::actor().is_administrator() || !(hides || loosens(options));
    if is_free { Ok(()) } else { Err(Error::Denied) }
}

/// A dataset and what is above it, the topmost first.
pub(crate) fn and_above(dataset: &str) -> impl Iterator<Item = &str> {
    let ends = dataset.match_indices('/').map(|(at, _)| at).chain([dataset.len()]);
    ends.map(move |end| &dataset[..end])
}

/// What was done for the file systems that a request is about.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Their names.
    pub done: Vec<String>,
    /// Only where it is about all of them: one that is asked for by its name is refused.
    pub failed: Vec<Failure>,
}

impl Outcome {
    pub(crate) fn of_one(dataset: String) -> Outcome {
        Outcome { done: vec![dataset], failed: Vec::new() }
    }
}

/// Is told before each mount: the file system, how many were tried, how many there are. It may end
/// the mounting there.
pub type Told<'a> = &'a mut dyn FnMut(&str, u64, u64) -> ControlFlow<()>;

/// For whom nobody is to be told.
pub fn untold(_: &str, _: u64, _: u64) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

impl Appliance {
    /// Mounts what at and below `root` wants to be mounted by itself and isn't. Failures are told,
    /// not fatal: the datasets are there whether they are mounted or not. Where `told` has ended it
    /// the last failure is [`Failure::MountCancelled`].
    pub fn mount_all(&self, root: &str, options: &[String], overlay: bool, told: Told<'_>) -> Outcome {
        let mut wanted = match self.candidates(root, None) {
            Ok(found) => found,
            Err(why) => return Outcome { done: Vec::new(), failed: vec![why] },
        };
        let there = self.local.mounted();
        wanted.retain(|one| {
            one.canmount == "on" && one.has_place() && !there.iter().any(|mount| mount.dataset == one.dataset)
        });
        wanted.sort_by(|a, b| a.mountpoint.cmp(&b.mountpoint));
        let mut mounted = Outcome::default();
        let total = wanted.len() as u64;
        for (count, one) in (0u64..).zip(wanted) {
            if told(&one.dataset, count, total).is_break() {
                mounted.failed.push(Failure::MountCancelled { dataset: one.dataset });
                break;
            }
            match self.mount_candidate(&one, options, overlay) {
                Ok(()) => mounted.done.push(one.dataset),
                Err(why) => mounted.failed.push(why),
            }
        }
        mounted
    }

    /// Whether whom this thread works for may mount a file system where it belongs: an operator may
    /// not if he can set the place, there or above, from where it is inherited.
    fn may_mount(&self, dataset: &str) -> bool {
        let props = || vec![PropertyChange { name: "mountpoint".into(), value: "none".into() }];
        let choose = |name: &str| Change::SetProperties { name: name.to_owned(), props: props() };
        let has_no_say = || {
            let pool = self.pool_of(dataset);
            let denied = Err(Error::Denied);
            pool.is_ok_and(|pool| and_above(dataset).all(|name| pool.permits(&choose(name)) == denied))
        };
        let actor = behalf::actor();
        actor.is_administrator() || (actor.is_operator() && has_no_say())
    }

    /// Mounts a file system where its properties want it.
    pub(crate) fn mount_candidate(&self, one: &Candidate, options: &[String], overlay: bool) -> Result<()> {
        let spec = MountSpec {
            dataset: one.dataset.clone(),
            mountpoint: one.mountpoint.clone(),
            options: options.to_vec(),
            overlay: overlay || one.overlay,
        };
        let mounted = match self.may_mount(&one.dataset) {
            true => check_options(options, overlay && !one.overlay).and_then(|()| self.local.mount(&spec)),
            false => Err(Error::Denied),
        };
        mounted.map_err(|why| Failure::Mount { dataset: spec.dataset, mountpoint: spec.mountpoint, why })
    }

    /// Mounts what was made at and below `root`; gives what is to be said where it is not.
    pub(crate) fn mount_made(&self, root: &str) -> Vec<Warning> {
        let failed = self.mount_all(root, &[], false, &mut untold).failed;
        match failed.is_empty() || self.may_mount(root) {
            true => warnings(failed),
            false => vec![Warning::MountedByRootAlone],
        }
    }

    /// The local mounts at and below a dataset, deepest path first.
    fn mounted_within(&self, root: &str) -> Vec<LocalMount> {
        let mut mounts = self.local.mounted();
        mounts.retain(|mount| is_within(&mount.dataset, root));
        mounts.sort_by(|a, b| b.mountpoint.cmp(&a.mountpoint));
        mounts
    }

    /// What the file system holds was replaced, and its mount stays: who has a file open there that
    /// is no more gets an error. Gives a warning where the mount does not show it yet.
    pub(crate) fn refresh(&self, dataset: &str) -> Option<Warning> {
        let stale = || Warning::StaleMount { dataset: dataset.to_owned() };
        (!self.local.refresh(dataset)).then(stale)
    }

    /// Unmounts everything at and below `root`; where one can't be, those already unmounted are
    /// mounted again. A file system in use stays mounted, even with `-f`, as with OpenZFS on Linux.
    pub(crate) fn unmount_all(&self, root: &str) -> Result<Vec<LocalMount>> {
        let cannot = |what: &str, why| Failure::Unmount { what: what.to_owned(), why };
        self.local.settled(&|dataset| is_within(dataset, root)).map_err(|why| cannot(root, why))?;
        let mounts = self.mounted_within(root);
        if let Some(first) = mounts.first().filter(|_| !behalf::actor().is_operator()) {
            return Err(cannot(&first.mountpoint, Error::Denied));
        }
        for (count, mount) in mounts.iter().enumerate() {
            match self.local.unmount(&mount.dataset, false) {
                Ok(()) | Err(Error::NotFound) => {}
                Err(why) => {
                    self.restore(&mounts[..count]);
                    return Err(cannot(&mount.mountpoint, why));
                }
            }
        }
        Ok(mounts)
    }

    /// Unmounts each of some datasets, and what is below it; where one cannot be, all stays as it
    /// was. Snapshots and bookmarks have no mounts.
    pub(crate) fn unmount_each(&self, names: &[String]) -> Result<Vec<LocalMount>> {
        let mut mounts = Vec::new();
        for name in names.iter().filter(|name| !name.contains(['@', '#'])) {
            match self.unmount_all(name) {
                Ok(unmounted) => mounts.extend(unmounted),
                Err(why) => {
                    self.restore(&mounts);
                    return Err(why);
                }
            }
        }
        Ok(mounts)
    }

    /// The directories that go with file systems, which are at and below `root` and elsewhere
    /// ([`Candidate::own_directory`]); children come first.
    pub(crate) fn directories_of(&self, root: &str, names: &[String]) -> Result<Vec<String>> {
        let file_systems = || names.iter().filter(|name| !name.contains(['@', '#']));
        let mut found = Vec::new();
        if file_systems().any(|name| is_within(name, root)) {
            let wanted: HashSet<&String> = names.iter().collect();
            found = self.candidates(root, None)?;
            found.retain(|one| wanted.contains(&one.dataset));
        }
        for name in file_systems().filter(|name| !is_within(name, root)) {
            found.extend(self.candidates(name, Some(0))?);
        }
        let mut own: Vec<String> =
            found.iter().filter_map(Candidate::own_directory).map(str::to_owned).collect();
        own.sort_by(|a, b| b.cmp(a));
        Ok(own)
    }

    /// Unmounts a whole pool and lets go of it; the directories of what was mounted go too
    /// (`zpool_disable_datasets` in lib/libzfs/libzfs_mount.c). Where it cannot be let go of, all
    /// is mounted again.
    pub(crate) fn releasing(
        &self,
        pool: &str,
        unmounting: impl FnOnce(Failure) -> Failure,
        release: impl FnOnce() -> engine_api::Result<()>,
    ) -> Result<()> {
        let names: Vec<String> = self.mounted_within(pool).into_iter().map(|mount| mount.dataset).collect();
        let directories = self.directories_of(pool, &names).unwrap_or_else(|why| {
            // A pool that has lost its devices cannot be asked, and is let go of all the same.
            tracing::debug!(pool, ?why, "directories of mounts stay");
            Vec::new()
        });
        let mounts = self.unmount_all(pool).map_err(unmounting)?;
        match release() {
            Ok(()) => {
                self.local.leave(directories);
                Ok(())
            }
            Err(error) => {
                self.restore(&mounts);
                Err(error.into())
            }
        }
    }

    /// Mounts again, where they were, what was unmounted. Gives the failures.
    pub(crate) fn restore(&self, mounts: &[LocalMount]) -> Vec<Failure> {
        let again = |mount: &LocalMount| self.local.mount(&mount.again()).err().map(|why| failed(mount, why));
        mounts.iter().rev().filter_map(again).collect()
    }

    /// Makes a change that may move mount points at and below `before`, which is called `after`
    /// afterwards: unmount, change, mount where things belong now. Gives the change's result and
    /// what could not be mounted again.
    pub(crate) fn moving<T>(
        &self,
        before: &str,
        after: &str,
        change: impl FnOnce() -> Result<T>,
    ) -> Result<(T, Vec<Failure>)> {
        let places = self.candidates(before, None)?;
        let mounts = self.unmount_all(before)?;
        match change() {
            Err(why) => {
                self.restore(&mounts);
                Err(why)
            }
            Ok(done) => {
                let failures = match self.candidates(after, None) {
                    Ok(now) => {
                        self.local.leave(left(&places, &now, (before, after)).into_iter().collect());
                        let moved = moved(self.auto_mount, (before, &places), (after, &now), &mounts);
                        let (may, not): (Vec<_>, Vec<_>) =
                            moved.into_iter().partition(|mount| self.may_mount(&mount.dataset));
                        let mut failures = self.restore(&may);
                        failures.extend(not.iter().map(|mount| failed(mount, Error::Denied)));
                        failures
                    }
                    Err(why) => vec![why],
                };
                Ok((done, failures))
            }
        }
    }

    /// Mounts at and below a dataset follow properties that say how they are mounted, and have
    /// changed: what was asked for while the mount lasts goes with that (`zfs_is_namespace_prop` in
    /// lib/libzfs/libzfs_mount.c). Gives the failures.
    pub(crate) fn follow(&self, root: &str, changed: &[String]) -> Vec<Failure> {
        if !changed.iter().any(|name| mount_props().any(|prop| prop == *name)) {
            return Vec::new();
        }
        let again = |mount: LocalMount| {
            let stays = |word: &&str| {
                mount_word(word).is_none_or(|(prop, _)| !changed.iter().any(|name| name == prop))
            };
            let words: Vec<String> = mount.words().filter(stays).map(str::to_owned).collect();
            match self.local.remount(&mount.dataset, &words) {
                Ok(()) | Err(Error::NotFound) => None,
                Err(why) => {
                    let LocalMount { dataset, mountpoint, .. } = mount;
                    Some(Failure::Remount { dataset, mountpoint, why })
                }
            }
        };
        self.mounted_within(root).into_iter().filter_map(again).collect()
    }
}

fn failed(mount: &LocalMount, why: Error) -> Failure {
    Failure::Mount { dataset: mount.dataset.clone(), mountpoint: mount.mountpoint.clone(), why }
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
        let had_place = places.iter().any(|old| old.dataset == old_name && old.has_place());
        let wanted = match was {
            Some(_) => one.canmount != "off",
            None => auto_mount && !had_place && one.canmount == "on",
        };
        (wanted && one.has_place()).then(|| LocalMount {
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

/// Whether inheriting this property, or setting it to this value, may move or end a mount.
pub fn moves_mounts(property: &str, value: Option<&str>) -> bool {
    match property {
        "mountpoint" => true,
        // These do not end a mount.
        "canmount" => !matches!(value, Some("on" | "noauto")),
        _ => false,
    }
}
