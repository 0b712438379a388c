//! Disks that join a vdev of a running pool, take another's place, or leave.
//!
//! A disk that joins lacks everything that was written before, and says so in its dirty time log:
//! it takes writes at once and is read when it has been resilvered. A disk that replaces another
//! stands beside it in a vdev `replacing` until then; see [`super::settle`] for what happens then.
//! Logs are emptied first ([`super::logs`]): nothing is to be copied, so the old disk goes with the
//! group that brings the new one.
//!
//! Source: module/zfs/spa.c (`spa_vdev_attach`, `spa_vdev_detach`).

use api_types::{NewDevice, VdevSpec};
use dmu::Tx;
use env::{DiskError, lock};
use ondisk::label::config::key;
use ondisk::version;
use refusal::{Action, Reason, Refused, ScanFault, VdevFault};
use storage::{OpenedLeaf, VdevConfig, VdevKind, VdevState};

use super::disks::turn_away;
use super::place::{Place, edit, is_spare, put_beside, take_out};
use super::spec::{new_guid, plan_vdev};
use super::vdev_objects::make_vdev_zap;
use super::{Core, Pool, TXG_INITIAL};
use crate::{PoolError, Result};

/// Groups from the one being synced on whose blocks may have been written before a disk joined: its
/// own and, of intent logs, those that are open meanwhile (`TXG_CONCURRENT_STATES`).
const OPEN_GROUPS: u64 = 3;

/// Where a disk is when it joins this one.
fn path_beside<'a>(new: &'a NewDevice, old: &'a VdevConfig) -> Option<&'a str> {
    new.path.as_deref().or(old.path.as_deref())
}

/// Why nothing was done.
pub(super) fn refuse<T>(action: &Action, reason: impl Into<Reason>) -> Result<T> {
    Err(Refused::new(action.clone(), reason).into())
}

impl Core {
    /// The vdev of this guid; `action`, given its name, is refused where it is none of the tree's.
    pub(super) fn place(&self, guid: u64, action: &dyn Fn(String) -> Action) -> Result<Place> {
        if let Some(place) = Place::find(&lock(&self.config).tree, guid) {
            return Ok(place);
        }
        match self.extras.name_of(guid) {
            Some((name, true)) => refuse(&action(name), VdevFault::IsSpare),
            Some((name, false)) => refuse(&action(name), VdevFault::IsCache),
            None => Err(PoolError::NotFound),
        }
    }

    /// Whether others have all that a disk has.
    pub(super) fn can_do_without(&self, place: &Place) -> bool {
        self.storage.is_whole_without(place.id(), place.vdev().guid)
    }

    /// Puts a disk beside the leaf `guid`, in a vdev of this kind. Syncing context.
    pub(super) fn admit(
        &self,
        guid: u64,
        kind: &VdevKind,
        leaf: VdevConfig,
        disk: OpenedLeaf,
        tx: &Tx,
    ) -> Result<()> {
        let mut tree = self.draft();
        let place = Place::find(&tree, guid).ok_or(PoolError::NotFound)?;
        let (is_log, create_txg) = (place.top().is_log, place.vdev().create_txg);
        let path = leaf.path.clone();
        edit(&mut tree, guid, &mut |old| {
            if old.path == path {
                // So that nobody takes the new one for it.
                old.path = path.as_ref().map(|path| format!("{path}/old"));
                old.pairs.remove(key::DEVID);
            }
        });
        let leaf_zap = Some(make_vdev_zap(&self.mos, &self.vdev_zaps()?, &self.env, tx)?);
        let new = leaf.guid;
        let at_once = is_log && *kind == VdevKind::Replacing;
        let parent = if at_once { new } else { new_guid(&self.env) };
        put_beside(&mut tree, guid, kind, parent, VdevConfig { leaf_zap, create_txg, ..leaf });
        if at_once {
            if let Some((gone, _)) = take_out(&mut tree, guid) {
                self.free_vdev_objects(&gone, tx)?;
            }
            self.see_off(guid, None);
        }
        if !is_log {
            self.lack(new, TXG_INITIAL, &disk, tx);
        }
        self.put_tree(tree, &[disk], &[])?;
        if *kind == VdevKind::Spare {
            self.vdev_sysevent("vdev_spare", new);
        }
        self.vdev_sysevent("vdev_attach", new);
        Ok(())
    }

    /// A disk that joins in this group lacks what groups from `first` on have written.
    pub(super) fn lack(&self, leaf: u64, first: u64, disk: &OpenedLeaf, tx: &Tx) {
        disk.set_behind();
        self.dtl.miss(leaf, first, tx.touch() + OPEN_GROUPS - 1);
    }

    /// Takes a leaf out of the vdev above it. Syncing context.
    pub(super) fn dismiss(&self, guid: u64, tx: &Tx) -> Result<()> {
        let mut tree = self.draft();
        let place = Place::find(&tree, guid).ok_or(PoolError::NotFound)?;
        let (leaf, id) = (place.vdev(), place.id());
        let Some(parent) = place.parent() else { return Ok(()) };
        let others: Vec<u64> =
            parent.children.iter().map(|child| child.guid).filter(|other| *other != guid).collect();
        if parent.kind == VdevKind::Replacing && place.index() > 0 {
            // It never took the place: the disk that was there has it again.
            let old = leaf.path.as_ref().map(|path| format!("{path}/old"));
            tree.visit_mut(&mut |vdev| {
                if others.contains(&vdev.guid) && vdev.path == old {
                    vdev.path.clone_from(&leaf.path);
                }
            });
        }
        let grandparent =
            Place::find(&tree, parent.guid).and_then(|place| place.parent().map(|vdev| vdev.kind.clone()));
        if parent.kind == VdevKind::Replacing && place.index() == 0 && grandparent == Some(VdevKind::Spare) {
            // The disk that was stood in for has been replaced: the spare is needed no more.
            others.iter().for_each(|other| edit(&mut tree, *other, &mut set_unspare));
        }
        // What follows stays, whatever fails after it.
        tx.touch();
        let heir = parent.children.last().filter(|last| is_spare(last) && last.guid != guid);
        if let (VdevKind::Spare, 0, Some(heir)) = (&parent.kind, place.index(), heir) {
            // The spare is there for good.
            self.extras.drop_spare(heir.guid);
            self.spares_in_use.release(heir.guid);
            let more = parent.children.len() > 2;
            edit(&mut tree, heir.guid, &mut |vdev| {
                vdev.pairs.remove(key::IS_SPARE);
                if more {
                    set_unspare(vdev);
                }
            });
        }
        let spare = is_spare(leaf).then_some(guid);
        if spare.is_some() {
            self.spares_in_use.release(guid);
        }
        self.vdev_sysevent("vdev_remove", guid);
        self.see_off(guid, spare);
        self.sweeps.forget(guid);
        if let Some((gone, renamed)) = take_out(&mut tree, guid) {
            self.free_vdev_objects(&gone, tx)?;
            let renamed: Vec<(u64, u64)> = renamed.into_iter().collect();
            for (before, now) in &renamed {
                self.dtl.rename(*before, *now);
                self.sweeps.rename(*before, *now);
            }
            self.put_tree(tree, &[], &renamed)?;
        }
        if self.is_set("autoexpand") { self.expand(id, tx) } else { Ok(()) }
    }
}

/// The leaf's spare is to go once the leaf has everything.
pub(super) fn set_unspare(vdev: &mut VdevConfig) {
    vdev.pairs.set(key::UNSPARE, 1u64);
}

impl Pool {
    /// Makes a disk a side of the mirror that `guid` belongs to, or becomes.
    pub fn attach_vdev(&self, guid: u64, new: &NewDevice, history: &str) -> Result<u64> {
        let alone = self.core.alone()?;
        let path = new.path.as_deref().unwrap_or_default();
        let attach = |to: String| Action::Attach { device: path.to_owned(), to };
        let place = self.core.place(guid, &attach)?;
        let attach = attach(place.name());
        self.core.refuse_with_checkpoint(&|| attach.clone())?;
        let beside = place.parent().is_none_or(|parent| parent.kind == VdevKind::Mirror);
        if matches!(place.vdev().kind, VdevKind::Raidz(_)) {
            return refuse(&attach, VdevFault::RaidzExpansion);
        }
        if !place.vdev().kind.is_leaf() || !beside {
            return refuse(&attach, VdevFault::NotMirror);
        }
        self.refuse_rebuild(&place, new.sequential, VdevFault::NeedsRebuildFeature, &attach)?;
        self.join(&place, VdevKind::Mirror, None, new, &attach)?;
        drop(alone);
        self.list_vdevs(history)
    }

    /// Puts a disk in the place of another, once it has all that the other has.
    pub fn replace_vdev(&self, guid: u64, new: &NewDevice, history: &str) -> Result<u64> {
        let alone = self.core.alone()?;
        let replace =
            |vdev: String| Action::Replace { with: new.path.clone().unwrap_or_else(|| vdev.clone()), vdev };
        let place = self.core.place(guid, &replace)?;
        let replace = replace(place.name());
        self.core.refuse_with_checkpoint(&|| replace.clone())?;
        let (old, in_spare) =
            (place.vdev(), place.parent().is_some_and(|above| above.kind == VdevKind::Spare));
        // At the place of the old disk itself may be one too, where disks have changed places.
        let spare = path_beside(new, old).and_then(|path| self.core.waiting_spare(path));
        let by_spare = spare.is_some();
        let fault = if in_spare && is_spare(old) && !by_spare {
            VdevFault::OnlyBySpare
        } else if by_spare && place.top().is_log {
            VdevFault::LogBySpare
        } else if self.core.version() < version::MULTI_REPLACE
            && place.parent().is_some_and(|above| above.kind == VdevKind::Replacing)
        {
            VdevFault::Replacing
        } else if !old.kind.is_leaf() || (in_spare && is_spare(old) != by_spare) {
            VdevFault::InReplacement
        } else {
            let kind = if by_spare { VdevKind::Spare } else { VdevKind::Replacing };
            self.refuse_rebuild(&place, new.sequential, VdevFault::NotRebuildable, &replace)?;
            self.join(&place, kind, spare, new, &replace)?;
            drop(alone);
            return self.list_vdevs(history);
        };
        refuse(&replace, fault)
    }

    /// Resilvers of the two kinds do not run at the same time; where none can be sequential,
    /// `unable` tells why.
    fn refuse_rebuild(&self, place: &Place, wanted: bool, unable: VdevFault, action: &Action) -> Result<()> {
        let core = &self.core;
        let top = place.top();
        let able = (top.kind.is_leaf() || top.kind == VdevKind::Mirror)
            && core.features.is_enabled("device_rebuild")
            && core.top_zap(place.id()).is_some();
        match wanted {
            true if !able => refuse(action, unable),
            true if core.scan.is_resilvering() => refuse(action, ScanFault::Resilvering),
            false if core.rebuilds.is_active() => refuse(action, ScanFault::Rebuilding),
            _ => Ok(()),
        }
    }

    /// Puts a disk, which may be a `spare` that waits, beside another in a vdev of this kind.
    fn join(
        &self,
        place: &Place,
        kind: VdevKind,
        spare: Option<VdevConfig>,
        new: &NewDevice,
        action: &Action,
    ) -> Result<()> {
        let core = &*self.core;
        let guid = place.vdev().guid;
        let path = path_beside(new, place.vdev()).unwrap_or_default();
        // A disk that does not work may be used as a new one, by who insists.
        let is_given_up = new.force && !core.storage.is_usable(guid);
        if spare.is_none() && !(is_given_up && core.is_at(path, guid)) {
            core.open_pools.refuse_used(&core.env, &[path.to_owned()], &[], new.force)?;
        }
        let (top, rebuild) = (place.id(), new.sequential && !place.top().is_log);
        let emptied = place.top().is_log.then(|| self.empty_log(place.id(), action)).transpose()?;
        // A disk that does not work, or has been wiped since, may be open all the same, and be the
        // one that is to come.
        if place.vdev().path.as_deref() == Some(path) {
            let is_wiped = || core.can_do_without(place) && core.is_foreign(path, guid);
            if !core.storage.is_usable(guid)
                || is_wiped() && core.storage.set_leaf_state(guid, VdevState::Unavail)
            {
                core.release(guid)?;
            }
        }
        let joined = self.open_side(place, path, spare, new.ashift, action).and_then(|(mut leaf, disk)| {
            core.change_tree(Box::new(move |core, tx| {
                let spare = is_spare(&leaf).then_some(leaf.guid);
                if rebuild {
                    leaf.pairs.set(key::REBUILD_TXG, tx.touch());
                    core.rebuilds.want(top);
                }
                core.admit(guid, &kind, leaf, disk, tx)?;
                spare.into_iter().for_each(|spare| core.spares_in_use.claim(spare, &lock(&core.name)));
                Ok(())
            }))
        });
        drop(emptied);
        joined.map(drop)
    }

    /// A disk of the right size, open.
    fn open_side(
        &self,
        place: &Place,
        path: &str,
        spare: Option<VdevConfig>,
        ashift: Option<u64>,
        action: &Action,
    ) -> Result<(VdevConfig, OpenedLeaf)> {
        let core = &*self.core;
        let ashift = ashift.or(self.dsl.new_ashift()?);
        let is_new = spare.is_none();
        let leaf = spare.unwrap_or_else(|| plan_vdev(&core.env, 0, &VdevSpec::Leaf(path.to_owned())));
        let opened = match is_new {
            true => core.open_new(&leaf, place.id()),
            false => core.open_spare(&leaf, place.id()),
        };
        let disk = opened.or_else(|why| match why {
            DiskError::Busy => refuse(action, VdevFault::DeviceBusy { path: path.to_owned() }),
            DiskError::OutOfRange => refuse(action, VdevFault::TooSmall),
            why => refuse(action, VdevFault::Device { path: path.to_owned(), message: why.to_string() }),
        })?;
        let fault = if disk.asize() < place.least_asize() {
            VdevFault::TooSmall
        } else if ashift.unwrap_or(disk.ashift()) > place.top().ashift.unwrap_or(9) {
            VdevFault::SectorSize
        } else {
            return Ok((leaf, disk));
        };
        if is_new {
            turn_away(&[disk]);
        }
        refuse(action, fault)
    }

    /// Takes a disk out of a mirror, or ends its being replaced or stood in for.
    pub fn detach_vdev(&self, guid: u64, history: &str) -> Result<u64> {
        let alone = self.core.alone()?;
        let detach = |vdev: String| Action::Detach { vdev };
        let place = self.core.place(guid, &detach)?;
        let detach = detach(place.name());
        self.core.refuse_with_checkpoint(&|| detach.clone())?;
        if !place.vdev().kind.is_leaf() || !place.parent().is_some_and(|above| above.kind.has_sides()) {
            return refuse(&detach, VdevFault::NotDetachable);
        }
        if !self.core.can_do_without(&place) {
            return refuse(&detach, VdevFault::NoReplicas);
        }
        // What only the side that goes may have is durable elsewhere before.
        let emptied = place.top().is_log.then(|| self.empty_log(place.id(), &detach)).transpose()?;
        self.core.change_tree(Box::new(move |core, tx| core.dismiss(guid, tx)))?;
        drop((emptied, alone));
        self.list_vdevs(history)
    }
}
