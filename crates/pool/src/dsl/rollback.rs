//! Rolling back: a head becomes its last snapshot again.
//!
//! OpenZFS makes a clone, swaps it with the head and destroys it. What comes out is simple: the head takes over the
//! snapshot's root and numbers, its dead list is empty, and its old tree goes the way of destroyed heads, but for what the
//! snapshot has. Nobody may use the file system meanwhile.
//!
//! Source: module/zfs/dsl_dataset.c (`dsl_dataset_rollback_sync`, `dsl_dataset_clone_swap_sync_impl`).

use dmu::Tx;
use ondisk::dsl_dataset::{FLAG_CI_DATASET, FLAG_INCONSISTENT, FLAG_UNIQUE_ACCURATE};

use super::Dsl;
use super::dataset::recorded_features;
use super::deadlist::Deadlist;
use super::dir::{Sums, Used};
use super::names::Found;
use crate::Result;

impl Dsl {
    /// See the module. The head is not in use, and its last snapshot is of an earlier group. Syncing context.
    pub(crate) fn rollback(&self, found: &Found, tx: &Tx) -> Result<()> {
        let (head, dir) = (&found.phys, &found.dir);
        let snapshot = self.mos.dataset(head.prev_snap_obj)?;
        if let Some(open) = self.if_open(found.object) {
            open.core.settle(self, None, tx)?;
        }
        self.forget_dataset(found.object);
        crate::zil::free_on_disk(self.parts.store(), &self.log_of(&head.bp)?, &self.parts.frees);

        let old_list = Deadlist::open(self, head.deadlist_obj)?;
        let dead = Deadlist::space(self, head.deadlist_obj)?;
        let began = self.origin_txg(dir.phys().origin_obj)?;
        let dead_here = old_list.space_between(self, began, u64::MAX)?.used;
        let given_up = Sums {
            used: head.referenced_bytes as i64 + dead.used - snapshot.referenced_bytes as i64,
            comp: head.compressed_bytes as i64 + dead.comp - snapshot.compressed_bytes as i64,
            uncomp: head.uncompressed_bytes as i64 + dead.uncomp - snapshot.uncompressed_bytes as i64,
        };
        self.queue_tree(dir, &head.bp, head.prev_snap_txg, given_up, tx)?;
        dir.transfer(&self.mos, -dead_here, (Used::Head, Used::Snap), tx)?;
        let reserved = self.local_number(dir, "refreservation")?.min(head.unique_bytes);
        if reserved != 0 {
            let sums = Sums { used: reserved as i64, ..Sums::default() };
            dir.used(&self.mos, Used::RefReserve, sums, tx)?;
        }

        let new_list = old_list.cloned(self, u64::MAX, tx)?.object();
        old_list.destroy(self, tx)?;
        const CONTENT: u64 = FLAG_INCONSISTENT | FLAG_CI_DATASET;
        self.edit_dataset(found.object, tx, |phys| {
            phys.bp = snapshot.bp;
            phys.referenced_bytes = snapshot.referenced_bytes;
            phys.compressed_bytes = snapshot.compressed_bytes;
            phys.uncompressed_bytes = snapshot.uncompressed_bytes;
            phys.unique_bytes = 0;
            phys.deadlist_obj = new_list;
            phys.flags = phys.flags & !CONTENT | snapshot.flags & CONTENT | FLAG_UNIQUE_ACCURATE;
        })?;
        self.edit_dataset(head.prev_snap_obj, tx, |phys| phys.unique_bytes = 0)?;
        self.take_over_features(found.object, head.prev_snap_obj, tx)?;
        self.remove_livelist(dir, tx)?;
        self.open_without_log(found.object, tx)
    }

    /// The head uses the features its snapshot uses, and no others.
    fn take_over_features(&self, head: u64, snapshot: u64, tx: &Tx) -> Result<()> {
        let (now, then) = (recorded_features(self, head)?, recorded_features(self, snapshot)?);
        for name in now.iter().filter(|name| !then.contains(name)) {
            self.deactivate_feature(head, name, tx)?;
        }
        for name in then.iter().filter(|name| !now.contains(name)) {
            self.activate_feature(head, name, tx)?;
        }
        Ok(())
    }
}
