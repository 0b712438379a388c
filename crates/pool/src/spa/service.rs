//! Taking disks out of use for a while, and into use again.
//!
//! A disk that was away lacks what its dirty time log says and what the groups under way write
//! while it comes; it is read again when it has been resilvered. A log is emptied before its only
//! disk goes: then a disk that was away has missed nothing. Source: module/zfs/vdev.c
//! (`vdev_offline`, `vdev_online`, `vdev_clear`).

use std::sync::atomic::Ordering::SeqCst;

use env::lock;
use ondisk::label::config::key;
use refusal::{Action, Reason, VdevFault};
use storage::metaslab::RangeTree;
use storage::{OpenedLeaf, VdevConfig, VdevKind, VdevState};

use super::members::{refuse, set_unspare};
use super::place::{Place, edit, is_unspare};
use super::{Core, Pool};
use crate::{PoolError, Result};

impl Pool {
    /// Takes a device that is out of use into use again, if it is there and is what it was, be it
    /// under another path of the same folder; else it stays listed as it is. With `expand`, what it
    /// has more than before is used.
    pub fn online_vdev(&self, guid: u64, expand: bool, history: &str) -> Result<u64> {
        let action = |vdev: String| if expand { Action::Expand { vdev } } else { Action::Online { vdev } };
        let alone = self.core.alone()?;
        match self.core.storage.reopen_cache(guid) {
            Some(_) if expand => {
                let name = self.core.extras.name_of(guid).map_or_else(String::new, |(name, _)| name);
                return refuse(&action(name), VdevFault::CacheNotExpandable);
            }
            Some(Ok(())) => {}
            Some(Err(why)) => return Err(PoolError::Invalid(why.to_string())),
            None => {
                let place = self.core.place(guid, &action)?;
                self.bring_back(&place, false)?;
                if expand || self.core.is_set("autoexpand") {
                    let id = place.id();
                    self.core.change_tree(Box::new(move |core, tx| core.expand(id, tx)))?;
                }
            }
        }
        drop(alone);
        self.list_vdevs(history)
    }

    /// Takes a device out of use; with `temporary` until the next import, else until it is brought
    /// online. A cache device is in use again after an import in either case.
    pub fn offline_vdev(&self, guid: u64, temporary: bool, history: &str) -> Result<u64> {
        let alone = self.core.alone()?;
        if self.core.storage.offline_cache(guid) {
            drop(alone);
            return self.list_vdevs(history);
        }
        let offline = |vdev: String| Action::Offline { vdev };
        let place = self.core.place(guid, &offline)?;
        let offline = offline(place.name());
        if !place.vdev().kind.is_leaf() {
            return refuse(&offline, Reason::NotByThisPool);
        }
        let needed = self.core.storage.is_usable(guid) && !self.core.can_do_without(&place);
        if needed && !place.top().is_log {
            return refuse(&offline, VdevFault::NoReplicas);
        }
        // Blocks that the checkpoint has there would be out of reach.
        if needed && self.core.checkpoint.space_of(place.id()) > 0 {
            return refuse(&offline, Reason::HasCheckpoint);
        }
        let emptied = needed.then(|| self.empty_log(place.id(), &offline)).transpose()?;
        self.core.change_tree(Box::new(move |core, _| {
            let mut tree = core.draft();
            edit(&mut tree, guid, &mut |vdev| vdev.offline = true);
            core.put_tree(tree, &[], &[])?;
            if temporary {
                edit(&mut lock(&core.config).tree, guid, &mut |vdev| vdev.offline = false);
            }
            Ok(())
        }))?;
        drop((emptied, alone));
        self.list_vdevs(history)
    }

    /// Takes disks into use again that were given up because of errors or could not be found, one
    /// or all; those stay out of use that are not there now either.
    pub(super) fn revive(&self, guid: Option<u64>) {
        let mut leaves = Vec::new();
        lock(&self.core.config).tree.visit(&mut |vdev| {
            if vdev.kind.is_leaf() && guid.is_none_or(|guid| guid == vdev.guid) {
                leaves.push(vdev.guid);
            }
        });
        for leaf in leaves {
            if let Err(error) = self.revive_one(leaf) {
                tracing::warn!(guid = leaf, %error, "a device stays out of use");
            }
        }
    }

    pub(super) fn revive_one(&self, guid: u64) -> Result<()> {
        let core = &*self.core;
        let _alone = core.alone()?;
        let place = core.place(guid, &|name| Action::ClearErrors { name })?;
        if core.storage.leaf_state(guid).is_some_and(is_lost) {
            return self.bring_back(&place, true);
        }
        if is_stood_in_for(&place) && core.storage.is_usable(guid) {
            core.change_tree(Box::new(move |core, _| {
                edit(&mut lock(&core.config).tree, guid, &mut set_unspare);
                core.config_dirty.store(true, SeqCst);
                Ok(())
            }))?;
        }
        Ok(())
    }

    fn bring_back(&self, place: &Place, forgiven: bool) -> Result<()> {
        let core = &*self.core;
        let vdev = place.vdev();
        let guid = vdev.guid;
        if !vdev.kind.is_leaf() || (core.storage.is_usable(guid) && !vdev.faulted) {
            return Ok(());
        }
        let online = Action::Online { vdev: place.name() };
        let emptied = place.top().is_log.then(|| self.empty_log(place.id(), &online)).transpose()?;
        let disk = match vdev.faulted && !forgiven {
            true => None,
            false => {
                core.release(guid)?;
                let path = core.where_is(vdev).or_else(|| vdev.path.clone());
                let known = VdevConfig { path, ..vdev.clone() };
                let opened = core.open_known(&known, place.id(), place.least_asize());
                let opened =
                    opened.inspect_err(|why| tracing::warn!(path = known.path, %why, "cannot open a disk"));
                opened.ok().map(|disk| (disk, known.path))
            }
        };
        let is_faulted = vdev.faulted;
        let stood_in = is_stood_in_for(place);
        core.change_tree(Box::new(move |core, tx| {
            let mut tree = core.draft();
            let is_back = disk.is_some();
            edit(&mut tree, guid, &mut |vdev| {
                vdev.offline = false;
                if let Some((_, path)) = &disk {
                    if vdev.path != *path {
                        vdev.path.clone_from(path);
                        vdev.pairs.remove(key::DEVID);
                    }
                    (vdev.faulted, vdev.removed) = (false, false);
                    vdev.pairs.remove(key::AUX_STATE);
                    if stood_in {
                        set_unspare(vdev);
                    }
                }
            });
            if let Some((disk, _)) = &disk {
                core.welcome(&mut tree, guid, disk, tx)?;
            }
            let opened: Vec<OpenedLeaf> = disk.into_iter().map(|(disk, _)| disk).collect();
            core.put_tree(tree, &opened, &[])?;
            if !is_back {
                let state = if is_faulted { VdevState::Faulted } else { VdevState::Unavail };
                core.storage.set_leaf_state(guid, state);
            }
            Ok(())
        }))?;
        if core.storage.is_usable(guid) {
            core.vdev_sysevent("vdev_online", guid);
        }
        drop(emptied);
        Ok(())
    }
}

/// Whether a state is that of a disk which is out of use though nobody wanted it so.
pub(super) fn is_lost(state: VdevState) -> bool {
    matches!(state, VdevState::Faulted | VdevState::Removed | VdevState::Unavail)
}

/// Whether a spare stands in for a disk, and has not been told to go.
fn is_stood_in_for(place: &Place) -> bool {
    let in_spare = place.parent().is_some_and(|above| above.kind == VdevKind::Spare);
    in_spare && place.index() == 0 && !is_unspare(place.vdev())
}

impl Core {
    /// Sets down what a disk lacks that comes back in this group. Syncing context.
    fn welcome(&self, tree: &mut VdevConfig, guid: u64, disk: &OpenedLeaf, tx: &dmu::Tx) -> Result<()> {
        let Some(place) = Place::find(tree, guid) else { return Ok(()) };
        if !place.top().is_log {
            if !place.is_top() {
                self.lack(guid, tx.txg(), disk, tx);
            }
            return Ok(());
        }
        // The log was emptied: whatever it missed is durable elsewhere.
        self.dtl.forget(guid);
        self.storage.set_missing(guid, &RangeTree::new());
        let mut gone = None;
        edit(tree, guid, &mut |vdev| gone = vdev.dtl.take());
        let gone = gone.filter(|object| *object != 0);
        gone.map_or(Ok(()), |object| self.maps.free_map(object, &self.features, tx))
    }
}
