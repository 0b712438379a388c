//! A clone and the head it was made of change contents: how a head becomes what was received, or
//! its last snapshot again.
//!
//! Both have the same previous snapshot. Roots, sums and dead lists change places, the datasets
//! keep their names, their own snapshots and properties; afterwards the clone is destroyed, with
//! what the head had. Nobody may use either meanwhile.
//!
//! Source: module/zfs/dsl_dataset.c (`dsl_dataset_clone_swap_sync_impl`).

use dmu::Tx;
use ondisk::dsl_dataset::{DslDatasetPhys, FLAG_CI_DATASET, FLAG_UNIQUE_ACCURATE};

use super::Dsl;
use super::bookmark;
use super::dataset::recorded_features;
use super::deadlist::Deadlist;
use super::dir::Used;
use super::names::Found;
use crate::Result;
use crate::sums::Sums;

impl Dsl {
    /// See the module. Syncing context.
    pub(crate) fn swap_contents(&self, clone: &Found, head: &Found, tx: &Tx) -> Result<()> {
        for object in [clone.object, head.object] {
            if let Some(open) = self.if_open(object) {
                open.core.settle(self, None, tx)?;
            }
            self.forget_dataset(object);
        }
        let (new, old) = (self.mos.dataset(clone.object)?, self.mos.dataset(head.object)?);
        self.swap_features(clone.object, head.object, tx)?;

        let began = self.origin_txg(head.dir.phys().origin_obj)?;
        let (new_list, old_list) =
            (Deadlist::open(self, new.deadlist_obj)?, Deadlist::open(self, old.deadlist_obj)?);
        let (mut more, less) = (self.held(&new)?, self.held(&old)?);
        more.add(less.negated());
        head.dir.used(&self.mos, Used::Head, more, tx)?;
        clone.dir.used(&self.mos, Used::Head, more.negated(), tx)?;
        let in_snapshots = new_list.space_between(self, began, u64::MAX)?.used
            - old_list.space_between(self, began, u64::MAX)?.used;
        head.dir.transfer(&self.mos, in_snapshots, (Used::Head, Used::Snap), tx)?;
        let reserved = self.local_number(&head.dir, "refreservation")?;
        let unused = reserved.min(old.unique_bytes) as i64 - reserved.min(new.unique_bytes) as i64;
        if unused != 0 {
            head.dir.used(&self.mos, Used::RefReserve, Sums::allocated(unused), tx)?;
        }

        if old.prev_snap_obj != 0 {
            let before = self.mos.dataset(old.prev_snap_obj)?.prev_snap_txg;
            let unique = new_list.space_between(self, before, u64::MAX)?.used;
            self.edit_dataset(old.prev_snap_obj, tx, |prev| prev.unique_bytes = unique as u64)?;
        }
        self.edit_dataset(head.object, tx, |phys| take_contents(phys, &new))?;
        self.edit_dataset(clone.object, tx, |phys| take_contents(phys, &old))?;
        bookmark::next_changed(self, head.object, old.prev_snap_obj, tx)?;
        self.remove_livelist(&clone.dir, tx)?;
        self.remove_livelist(&head.dir, tx)
    }

    /// Everything a head keeps from being freed.
    fn held(&self, phys: &DslDatasetPhys) -> Result<Sums> {
        let mut held = Sums::of(phys.referenced_bytes, phys.compressed_bytes, phys.uncompressed_bytes);
        held.add(Deadlist::space(self, phys.deadlist_obj)?);
        Ok(held)
    }

    fn swap_features(&self, one: u64, other: u64, tx: &Tx) -> Result<()> {
        let (ones, others) = (recorded_features(self, one)?, recorded_features(self, other)?);
        for (from, to, has, knows) in [(one, other, &ones, &others), (other, one, &others, &ones)] {
            for name in has.iter().filter(|name| !knows.contains(name)) {
                self.activate_feature(to, name, tx)?;
                self.deactivate_feature(from, name, tx)?;
            }
        }
        Ok(())
    }
}

/// Flags that speak of what is swapped.
const OF_CONTENTS: u64 = FLAG_CI_DATASET | FLAG_UNIQUE_ACCURATE;

fn take_contents(phys: &mut DslDatasetPhys, from: &DslDatasetPhys) {
    phys.bp = from.bp;
    phys.referenced_bytes = from.referenced_bytes;
    phys.compressed_bytes = from.compressed_bytes;
    phys.uncompressed_bytes = from.uncompressed_bytes;
    phys.unique_bytes = from.unique_bytes;
    phys.deadlist_obj = from.deadlist_obj;
    phys.flags = phys.flags & !OF_CONTENTS | from.flags & OF_CONTENTS;
}
