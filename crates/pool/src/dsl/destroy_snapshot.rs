//! Destroying a snapshot: its blocks that nobody else has go to the pool's list of what is to be
//! freed, and the two dead lists on either side of it become one.
//!
//! ```text
//!   previous ◀── this ◀── next            next's dead list: what `this` has and `next` has not. Of that, what was born
//!        │ dead list  │ dead list         after `previous` goes; the rest, and this one's, is what `previous` has and
//!        └────────────┴──▶ merged         `next` has not.
//! ```
//! Nothing is read but the lists' own sums: it takes no longer for a snapshot that holds much. The
//! blocks are freed in the groups that follow ([`super::destroy`]).
//!
//! Where holds or clones keep it, destroying can be put off: then the last of them takes it along.
//!
//! Sources: module/zfs/dsl_destroy.c (`dsl_destroy_snapshot_sync_impl`), dsl_dataset.c.

use std::collections::HashSet;

use dmu::{Bpobj, Tx};
use ondisk::dsl_dataset::{DslDatasetPhys, FIELD_REMAP_DEADLIST, FLAG_DEFER_DESTROY};
use ondisk::{BlkPtr, version};
use refusal::{Action, Reason, Refused, Upgrade};

use super::Dsl;
use super::bookmark;
use super::counts::Counted;
use super::dataset::recorded_features;
use super::deadlist::Deadlist;
use super::dir::Used;
use super::names::Found;
use crate::namecheck::is_hidden;
use crate::state::scan::Departure;
use crate::sums::{Sums, sums_of};
use crate::{PoolError, Result};

impl Dsl {
    /// Why this snapshot cannot be destroyed, if the heads in `gone` are gone by then.
    pub(crate) fn check_destroy_snapshot(
        &self,
        found: &Found,
        name: &str,
        defer: bool,
        gone: &HashSet<u64>,
    ) -> Result<()> {
        let action = || Action::DestroySnapshot { name: name.to_owned() };
        let refuse = |reason: Reason| Err(Refused::new(action(), reason).into());
        if self.if_open(found.object).is_some_and(|open| open.is_busy()) {
            return refuse(Reason::DatasetBusy);
        }
        if defer {
            return match self.version() < version::HOLDS {
                true => refuse(Reason::PoolTooOld(Upgrade::This)),
                false => Ok(()),
            };
        }
        if self.holds_on(&found.phys)? > 0 {
            return refuse(Reason::Held { name: name.to_owned() });
        }
        if self.clones_left(&found.phys, gone)? > 0 {
            return refuse(Reason::Cloned);
        }
        Ok(())
    }

    /// Whether tags, or clones whose heads are not in `gone`, keep a snapshot.
    pub(crate) fn is_kept(&self, phys: &DslDatasetPhys, gone: &HashSet<u64>) -> Result<bool> {
        Ok(self.holds_on(phys)? > 0 || self.clones_left(phys, gone)? > 0)
    }

    /// Clones of a snapshot whose heads are not in `gone`.
    fn clones_left(&self, phys: &DslDatasetPhys, gone: &HashSet<u64>) -> Result<u64> {
        let mut left = phys.num_children.saturating_sub(1);
        for head in self.clone_heads(phys)? {
            left -= u64::from(gone.contains(&head)).min(left);
        }
        Ok(left)
    }

    /// The heads of a snapshot's clones.
    pub(crate) fn clone_heads(&self, phys: &DslDatasetPhys) -> Result<Vec<u64>> {
        let mut heads = Vec::new();
        if phys.next_clones_obj == 0 && phys.num_children > 1 {
            // They are listed from version 11 on.
            for dir in self.dirs_below(&self.root()?)? {
                let (origin, head) = (dir.phys().origin_obj, dir.phys().head_dataset_obj);
                if origin != 0 && self.mos.dataset(origin)?.guid == phys.guid {
                    heads.push(head);
                }
            }
        }
        if phys.next_clones_obj != 0 {
            for (_, value) in self.mos.entries(phys.next_clones_obj)? {
                let clone = self.mos.dataset(value.first())?;
                heads.push(self.dir(clone.dir_obj)?.phys().head_dataset_obj);
            }
        }
        Ok(heads)
    }

    /// Whether nothing keeps a snapshot any more that was to be destroyed when nothing does.
    pub(crate) fn is_due(&self, phys: &DslDatasetPhys) -> Result<bool> {
        let put_off = phys.flags & FLAG_DEFER_DESTROY != 0;
        Ok(put_off && phys.num_children == 1 && self.holds_on(phys)? == 0)
    }

    /// Destroys a snapshot that may be; with `defer`, or as soon as it may. Syncing context.
    pub(crate) fn destroy_snapshot(&self, object: u64, name: &str, defer: bool, tx: &Tx) -> Result<()> {
        let this = self.mos.dataset(object)?;
        if defer && (this.num_children > 1 || self.holds_on(&this)? > 0) {
            self.edit_dataset(object, tx, |phys| phys.flags |= FLAG_DEFER_DESTROY)?;
            self.note("defer_destroy", name, object, " ", tx);
            return Ok(());
        }
        self.note("destroy", name, object, " ", tx);
        let next = this.next_snap_obj;
        let departure = Departure { txg: tx.touch(), dataset: object, heir: Some(next), again: true };
        self.parts.scan.dataset_gone(departure);
        let features = recorded_features(self, object)?;
        let dir = self.dir(this.dir_obj)?;
        let head = dir.phys().head_dataset_obj;
        let keeps_key = bookmark::snapshot_gone(self, head, &this, tx)?;
        let (previous, previous_txg) = (this.prev_snap_obj, this.prev_snap_txg);
        let before_branch = self.relink_previous(previous, object, next, tx)?;

        self.edit_dataset(next, tx, |phys| {
            phys.prev_snap_obj = previous;
            phys.prev_snap_txg = previous_txg;
        })?;
        let mut list = Deadlist::open(self, self.mos.dataset(next)?.deadlist_obj)?;
        if let Some(before) = before_branch {
            let used = list.space_between(self, before, previous_txg)?.used;
            self.add_unique(previous, used, tx)?;
        }
        if list.is_old() {
            self.release_old(list, next, &this, tx)?;
        } else {
            self.release_blocks(&mut list, &this, tx)?;
            list.merge(self, Deadlist::open(self, this.deadlist_obj)?, tx)?;
        }
        if !keeps_key {
            self.remove_clones_key(dir.phys().clones, this.creation_txg, tx)?;
        }
        if next == head {
            self.recount_head(head, tx)?;
        } else {
            let after_next = self.mos.dataset(self.mos.dataset(next)?.next_snap_obj)?;
            let shared = Deadlist::open(self, after_next.deadlist_obj)?;
            let used = shared.space_between(self, previous_txg, this.creation_txg)?.used;
            self.add_unique(next, used, tx)?;
            if !keeps_key {
                let object = self.mos.dataset(head)?.deadlist_obj;
                Deadlist::open(self, object)?.remove_key(self, this.creation_txg, tx)?;
            }
        }
        self.forget_dataset(object);
        let names = self.mos.dataset(head)?.snapnames_zapobj;
        let short = name.split_once('@').map_or(name, |(_, short)| short);
        self.mos.remove(names, short, tx)?;
        if !is_hidden(short) {
            self.count(&dir, Counted::Snapshots, -1, tx)?;
        }
        self.snapshots_changed(&dir, tx)?;
        for zap in [this.next_clones_obj, this.props_obj, this.userrefs_obj] {
            if zap != 0 {
                self.mos.free(zap, tx)?;
            }
        }
        self.free_remap_deadlist(object, tx)?;
        self.free_dataset_object(object, &features, tx)
    }

    /// What only this snapshot had goes to the pool's list.
    fn release_blocks(&self, next_list: &mut Deadlist, this: &DslDatasetPhys, tx: &Tx) -> Result<()> {
        let (list, free_dir) = self.special(|special| (special.free_bpobj, special.free_dir.clone()));
        let (Some(list), Some(free_dir)) = (list, free_dir) else {
            return Err(PoolError::Corrupt("a pool without a list of what is to be freed".into()));
        };
        let list = Bpobj::open(&self.mos.objset, list)?;
        let sums = next_list.move_to(self, &list, this.prev_snap_txg, tx)?;
        self.dir(this.dir_obj)?.used(&self.mos, Used::Snap, sums.negated(), tx)?;
        free_dir.used(&self.mos, Used::Head, sums, tx)?;
        Ok(())
    }

    /// The same with lists of the old form, which are not sorted: every block of the next one is
    /// looked at, and freed or put on this one, which is the next's then.
    fn release_old(&self, next_list: Deadlist, next: u64, this: &DslDatasetPhys, tx: &Tx) -> Result<()> {
        let mut kept = Deadlist::open(self, this.deadlist_obj)?;
        let mut freed = Sums::default();
        next_list.show_old(self, |dead| {
            let (gone, stays): (Vec<&BlkPtr>, Vec<&BlkPtr>) =
                dead.iter().partition(|bp| bp.birth() > this.prev_snap_txg);
            for bp in gone {
                freed.add(sums_of(bp, self.dsize(bp)));
                self.parts.frees.free(bp);
            }
            let stays: Vec<BlkPtr> = stays.into_iter().copied().collect();
            kept.insert(self, &stays, tx)
        })?;
        self.dir(this.dir_obj)?.used(&self.mos, Used::Snap, freed.negated(), tx)?;
        self.edit_dataset(next, tx, |phys| phys.deadlist_obj = this.deadlist_obj)?;
        next_list.destroy(self, tx)
    }

    fn add_unique(&self, snapshot: u64, bytes: i64, tx: &Tx) -> Result<()> {
        self.edit_dataset(snapshot, tx, |phys| {
            phys.unique_bytes = phys.unique_bytes.wrapping_add_signed(bytes);
        })
    }

    /// In the heads of clones of later snapshots, and of their clones, that group ends no list any
    /// more.
    pub(crate) fn remove_clones_key(&self, clones: u64, key: u64, tx: &Tx) -> Result<()> {
        if clones == 0 {
            return Ok(());
        }
        for (_, value) in self.mos.entries(clones)? {
            let clone = self.mos.dataset(value.first())?;
            let dir = self.dir(clone.dir_obj)?.phys();
            if self.origin_txg(dir.origin_obj)? > key {
                Deadlist::open(self, clone.deadlist_obj)?.remove_key(self, key, tx)?;
                if let Some(object) = self.remap_deadlist(value.first())? {
                    Deadlist::open(self, object)?.remove_key(self, key, tx)?;
                }
                self.remove_clones_key(dir.clones, key, tx)?;
            }
        }
        Ok(())
    }

    /// What a head does not share with its new previous snapshot, which it has more of now.
    fn recount_head(&self, head: u64, tx: &Tx) -> Result<()> {
        let before = self.mos.dataset(head)?.unique_bytes;
        let phys = self.recount_unique(head, tx)?;
        let dir = self.dir(phys.dir_obj)?;
        let reserved = self.local_number(&dir, "refreservation")?;
        if before < reserved {
            let less = phys.unique_bytes.saturating_sub(before).min(reserved - before);
            dir.used(&self.mos, Used::RefReserve, Sums::allocated(-(less as i64)), tx)?;
        }
        Ok(())
    }

    /// Counts what only a head has, in the head's record; which says so now
    /// (`dsl_dataset_recalc_head_uniq`).
    pub(super) fn recount_unique(&self, head: u64, tx: &Tx) -> Result<DslDatasetPhys> {
        let phys = self.mos.dataset(head)?;
        let before = match phys.prev_snap_obj {
            0 => 0,
            previous => self.mos.dataset(previous)?.referenced_bytes,
        };
        let dead = Deadlist::space(self, phys.deadlist_obj)?.used as u64;
        let unique = phys.referenced_bytes.wrapping_sub(before.wrapping_sub(dead));
        self.edit_dataset(head, tx, |phys| {
            phys.unique_bytes = unique;
            phys.flags |= self.unique_flag();
        })?;
        Ok(DslDatasetPhys { unique_bytes: unique, ..phys })
    }

    /// The dead list of blocks that the removal of a vdev moved.
    fn remap_deadlist(&self, dataset: u64) -> Result<Option<u64>> {
        Ok(self.mos.field(dataset, FIELD_REMAP_DEADLIST)?)
    }

    fn free_remap_deadlist(&self, dataset: u64, tx: &Tx) -> Result<()> {
        let Some(object) = self.remap_deadlist(dataset)? else { return Ok(()) };
        Deadlist::open(self, object)?.destroy(self, tx)?;
        self.features().decrement("obsolete_counts", tx)
    }
}
