//! Clones: heads that begin as a snapshot, and the other way round: promoting one, which makes the
//! snapshots that it shares with its origin's head its own.
//!
//! ```text
//!   a@1 ◀─ a@2 ◀─ a@3 ◀─ a                    b@1 ◀─ b@2 ◀─ a@3 ◀─ a
//!            ▲                   promote b             ▲
//!            └──── b                                   └──── b
//! ```
//! Nothing is copied: snapshots change their directory, and the two directories their sums.
//!
//! Source: module/zfs/dsl_dataset.c (`dsl_dataset_clone_sync`, `dsl_dataset_promote_check`,
//! `…_sync`).

use std::sync::Arc;

use dmu::Tx;
use ondisk::dsl_dataset::{DslDatasetPhys, FLAG_NOPROMOTE};
use refusal::{Action, Reason, Refused};

use super::Dsl;
use super::bookmark;
use super::counts::Counted;
use super::dataset::recorded_features;
use super::deadlist::Deadlist;
use super::dir::{Dir, Used};
use super::names::Found;
use crate::namecheck::{MAX_NAME, is_hidden};
use crate::sums::Sums;
use crate::{PoolError, Result};

/// Everything that a promotion moves, newest first.
pub(crate) struct Promotion {
    origin: u64,
    origin_dir: Arc<Dir>,
    origin_head: u64,
    /// From the origin down to where its directory began.
    shared: Vec<(u64, DslDatasetPhys)>,
    /// From the clone's head down to the first after the origin.
    of_clone: Vec<(u64, DslDatasetPhys)>,
    /// From the origin's head down to the first after the origin.
    of_origin: Vec<(u64, DslDatasetPhys)>,
    /// What the shared snapshots brought.
    moved: Sums,
}

impl Dsl {
    /// A clone of a snapshot, in a directory that has no dataset yet. One that lives as long as an
    /// operation, to change contents with a head, has no livelist. Syncing context.
    pub(crate) fn create_clone(&self, dir: &Arc<Dir>, origin: u64, tx: &Tx) -> Result<u64> {
        let object = self.create_dataset(dir, Some(origin), tx)?;
        if !is_hidden(&dir.last_name()) {
            self.create_livelist(dir, tx)?;
        }
        for feature in recorded_features(self, origin)? {
            self.activate_feature(object, feature, tx)?;
        }
        self.open_without_log(object, tx)?;
        Ok(object)
    }

    /// What a promotion would do; refused where it cannot be.
    pub(crate) fn promotion(&self, clone: &Found) -> Result<Promotion> {
        let origin = clone.dir.phys().origin_obj;
        if clone.is_snapshot() || origin == 0 || Some(origin) == self.origin_snap() {
            return Err(Refused::new(Action::Promote { name: clone.dir.name() }, Reason::NoClone).into());
        }
        let phys = self.mos.dataset(origin)?;
        let origin_dir = self.dir(phys.dir_obj)?;
        let origin_head = origin_dir.phys().head_dataset_obj;
        let shared = self.chain(origin, origin_dir.phys().origin_obj)?;
        let of_clone = self.chain(clone.object, origin)?;
        let of_origin = self.chain(origin_head, origin)?;
        let mut moved = all_of(&phys);
        for (_, snapshot) in shared.iter().filter(|(_, snapshot)| snapshot.prev_snap_obj != 0) {
            moved.add(Deadlist::space(self, snapshot.deadlist_obj)?);
        }
        if origin_dir.phys().origin_obj != 0 {
            moved.add(all_of(&self.mos.dataset(origin_dir.phys().origin_obj)?).negated());
        }
        Ok(Promotion { origin, origin_dir, origin_head, shared, of_clone, of_origin, moved })
    }

    /// Datasets from `last` back to the one after `first`, newest first.
    fn chain(&self, last: u64, first: u64) -> Result<Vec<(u64, DslDatasetPhys)>> {
        let mut chain = Vec::new();
        let mut object = last;
        while object != first && object != 0 {
            let phys = self.mos.dataset(object)?;
            let previous = phys.prev_snap_obj;
            chain.push((object, phys));
            object = previous;
        }
        Ok(chain)
    }

    /// Names of the shared snapshots (`@…`) and bookmarks (`#…`) that the clone has of its own,
    /// too.
    pub(crate) fn promotion_conflicts(&self, clone: &Found, promotion: &Promotion) -> Result<Vec<String>> {
        let own: Vec<String> = self.snapshots(&clone.phys)?.into_iter().map(|one| one.name).collect();
        let shared = self.shared_names(promotion)?.into_iter().filter(|(name, _)| own.contains(name));
        let mut both: Vec<String> = shared.map(|(name, _)| format!("@{name}")).collect();
        let own = bookmark::all(self, clone.object)?;
        let until = promotion.shared.first().map_or(0, |(_, origin)| origin.creation_txg);
        for bookmark in bookmark::all(self, promotion.origin_head)? {
            let moves = bookmark.phys.creation_txg <= until;
            if moves && own.iter().any(|other| other.name == bookmark.name) {
                both.push(format!("#{}", bookmark.name));
            }
        }
        Ok(both)
    }

    /// Why a promotion that can be has to be refused now.
    pub(crate) fn check_promotion(&self, clone: &Found, promotion: &Promotion) -> Result<()> {
        if clone.phys.flags & FLAG_NOPROMOTE != 0 {
            return Err(PoolError::Busy);
        }
        let is_too_long = |name: &str| clone.dir.name().len() + 1 + name.len() > MAX_NAME;
        if self.shared_names(promotion)?.iter().any(|(name, _)| is_too_long(name)) {
            return Err(PoolError::NameTooLong);
        }
        let (from, to) = (&promotion.origin_dir, &clone.dir);
        let (common, used) = (from.common_ancestor(to), promotion.moved.used as u64);
        if to.available(self.pool_size(), common.map(|ancestor| (ancestor, used)), false) < used {
            return Err(PoolError::NoSpace);
        }
        if self.is_count_full(to, Counted::Snapshots, promotion.shared.len() as u64, common)? {
            return Err(PoolError::Quota);
        }
        Ok(())
    }

    fn shared_names(&self, promotion: &Promotion) -> Result<Vec<(String, u64)>> {
        let names = self.mos.entries(self.mos.dataset(promotion.origin_head)?.snapnames_zapobj)?;
        let named = names.into_iter().map(|(name, value)| (name, value.first()));
        let is_shared = |object: u64| promotion.shared.iter().any(|(shared, _)| *shared == object);
        Ok(named.filter(|(_, object)| is_shared(*object)).collect())
    }

    /// See the module. Syncing context.
    pub(crate) fn promote(&self, clone: &Found, promotion: &Promotion, tx: &Tx) -> Result<()> {
        let Promotion { origin, origin_dir, origin_head, .. } = promotion;
        let (origin, dir) = (*origin, &clone.dir);
        let old = self.mos.dataset(origin)?;
        let (first_of_clone, _) = promotion.of_clone.last().ok_or(PoolError::NotFound)?;
        let clone_snaps = self.snapshot_space(promotion, clone)?;
        let unique = self.origin_unique(promotion, &old)?;

        // The origin's next is the clone's now, and its other one a clone.
        self.edit_dataset(origin, tx, |phys| phys.next_snap_obj = *first_of_clone)?;
        if old.next_clones_obj != 0 {
            self.mos.remove_int(old.next_clones_obj, *first_of_clone, tx)?;
            self.mos.add_int(old.next_clones_obj, old.next_snap_obj, tx)?;
        }
        let above = origin_dir.phys().origin_obj;
        dir.edit(&self.mos, tx, |phys| phys.origin_obj = above)?;
        origin_dir.edit(&self.mos, tx, |phys| phys.origin_obj = origin)?;
        self.swap_clones(clone, promotion, above, tx)?;

        let after = self.mos.dataset(origin)?;
        bookmark::promote(self, *origin_head, clone.object, &after, tx)?;
        self.move_snapshots(clone, promotion, old.next_snap_obj, tx)?;

        let (now_snap, then_snap) = clone_snaps;
        let delta = now_snap - dir.phys().used_snap as i64;
        dir.used(&self.mos, Used::Snap, Sums::allocated(delta), tx)?;
        let moved = promotion.moved;
        dir.used(&self.mos, Used::Head, Sums { used: moved.used - delta, ..moved }, tx)?;
        let delta = then_snap - origin_dir.phys().used_snap as i64;
        origin_dir.used(&self.mos, Used::Snap, Sums::allocated(delta), tx)?;
        let back = moved.negated();
        origin_dir.used(&self.mos, Used::Head, Sums { used: back.used - delta, ..back }, tx)?;
        self.edit_dataset(origin, tx, |phys| phys.unique_bytes = unique as u64)?;
        self.remove_livelist(dir, tx)?;
        self.remove_livelist(origin_dir, tx)?;
        self.parts.errlog.promoted(&self.mos, clone.object, *origin_head, old.creation_txg, tx)?;
        self.note("promote", &dir.name(), clone.object, " ", tx);
        Ok(())
    }

    /// What snapshots hold afterwards: of the clone, and of the origin's directory.
    fn snapshot_space(&self, promotion: &Promotion, clone: &Found) -> Result<(i64, i64)> {
        const BREAKDOWN: u64 = ondisk::dsl_dir::FLAG_USED_BREAKDOWN;
        let space = |chain: &[(u64, DslDatasetPhys)], after: u64| -> Result<i64> {
            let mut sum = 0;
            for (_, phys) in chain {
                sum += Deadlist::open(self, phys.deadlist_obj)?.space_between(self, after, u64::MAX)?.used;
            }
            Ok(sum)
        };
        let (mut of_clone, mut of_origin) = (0, 0);
        if clone.dir.phys().flags & BREAKDOWN != 0 {
            let began = self.origin_txg(promotion.origin_dir.phys().origin_obj)?;
            of_clone = space(&promotion.shared, began)? + space(&promotion.of_clone, began)?;
        }
        if promotion.origin_dir.phys().flags & BREAKDOWN != 0 {
            let origin = self.mos.dataset(promotion.origin)?;
            of_origin = space(&promotion.of_origin, origin.creation_txg)?;
        }
        Ok((of_clone, of_origin))
    }

    /// What only the origin has once the clone's chain is its own.
    fn origin_unique(&self, promotion: &Promotion, origin: &DslDatasetPhys) -> Result<i64> {
        let (_, next) = promotion.of_clone.last().ok_or(PoolError::NotFound)?;
        let list = Deadlist::open(self, next.deadlist_obj)?;
        Ok(list.space_between(self, origin.prev_snap_txg, u64::MAX)?.used)
    }

    /// The directories' lists of clones of their snapshots.
    fn swap_clones(&self, clone: &Found, promotion: &Promotion, above: u64, tx: &Tx) -> Result<()> {
        let listed = promotion.origin_dir.phys().clones;
        if listed == 0 {
            return Ok(());
        }
        self.mos.remove_int(listed, clone.object, tx)?;
        if above != 0 {
            let listed = self.dir(self.mos.dataset(above)?.dir_obj)?.phys().clones;
            self.mos.add_int(listed, clone.object, tx)?;
            self.mos.remove_int(listed, promotion.origin_head, tx)?;
        }
        self.list_clone(&clone.dir, promotion.origin_head, tx)
    }

    /// Moves the shared snapshots with their names and the clones they have.
    fn move_snapshots(&self, clone: &Found, promotion: &Promotion, old_next: u64, tx: &Tx) -> Result<()> {
        let (from, to) = (&promotion.origin_dir, &clone.dir);
        let old_names = self.mos.dataset(promotion.origin_head)?.snapnames_zapobj;
        for (name, object) in self.shared_names(promotion)? {
            self.mos.remove(old_names, &name, tx)?;
            self.mos.set(clone.phys.snapnames_zapobj, &name, object, tx)?;
            self.count(from, Counted::Snapshots, -1, tx)?;
            self.count(to, Counted::Snapshots, 1, tx)?;
            // Open ones know their directory.
            self.forget_dataset(object);
            self.edit_dataset(object, tx, |phys| phys.dir_obj = to.object)?;
            let phys = self.mos.dataset(object)?;
            if phys.next_clones_obj == 0 || from.phys().clones == 0 {
                continue;
            }
            for (_, value) in self.mos.entries(phys.next_clones_obj)? {
                if value.first() == old_next {
                    continue;
                }
                let other = self.mos.dataset(value.first())?;
                let head = self.dir(other.dir_obj)?.phys().head_dataset_obj;
                self.mos.remove_int(from.phys().clones, head, tx)?;
                self.mos.add_int(to.phys().clones, head, tx)?;
            }
        }
        self.snapshots_changed(from, tx)?;
        self.snapshots_changed(to, tx)
    }
}

fn all_of(phys: &DslDatasetPhys) -> Sums {
    Sums::of(phys.referenced_bytes, phys.compressed_bytes, phys.uncompressed_bytes)
}
