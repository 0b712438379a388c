//! Syncing turns the quiesced transaction group into blocks on disk. Read this file first.
//!
//! Writing a block allocates; allocating changes space maps; space maps are blocks. So we write in
//! passes until one leaves nothing dirty. The first carries user data and administrative changes,
//! the rest metadata about metadata. From [`PASS_REWRITE`] on, blocks born in this group are
//! overwritten where they lie, and what is freed waits on a list for the next group, so nothing new
//! is allocated or freed and the loop must end.
//!
//! A side of a mirror that does not take what the others take is noted in the same group
//! ([`crate::spa`]'s dirty time logs); that may need another pass. A crash sees none of it until
//! the uberblock, which is written last:
//!
//! ```text
//!   data, metadata ─▶ flush ─▶ labels 0, 2 ─▶ flush ─▶ uberblocks ─▶ flush ─▶ labels 1, 3 ─▶ flush
//!                             (only where the configuration changed)                (likewise)
//! ```
//!
//! Sources: module/zfs/spa.c (`spa_sync`), dsl_pool.c, vdev_label.c (`vdev_config_sync`).

use dmu::{SyncError, SyncTx, Tx};
use env::lock;
use ondisk::BlkPtr;
use ondisk::trim::{STATE_ACTIVE, STATE_CANCELED, STATE_COMPLETE, STATE_SUSPENDED};
use ondisk::uberblock::Uberblock;

use crate::deferred::Deferred;
use crate::history::Record;
use crate::spa::{Durable, Pool};
use crate::sweep::SweepChange;
use crate::txg::Syncing;
use crate::{PoolError, Result};

/// From this pass on blocks are rewritten in place.
pub const PASS_REWRITE: u32 = 2;
/// From this pass on freed blocks wait for the next group.
const PASS_DEFER_FREES: u32 = 2;
/// More passes than this mean that the loop does not converge.
const PASS_MAX: u32 = 64;

impl Syncing for Pool {
    fn sync(&self, txg: u64) -> std::result::Result<(), SyncError> {
        // Half a group cannot be taken back: it waits for its disks.
        storage::insisting(|| self.sync_txg(txg)).map_err(|error| {
            tracing::error!(txg, %error, "sync failed");
            SyncError::Write(storage::WriteError::Suspended)
        })
    }
}

impl Pool {
    /// Writes out `txg`. An error leaves the pool as it was after the group before.
    pub(crate) fn sync_txg(&self, txg: u64) -> Result<()> {
        let core = &*self.core;
        let tx = Tx::syncing(txg);
        for pass in 1.. {
            assert!(pass <= PASS_MAX, "{txg} is still dirty after {PASS_MAX} passes");
            let sync = SyncTx { txg, pass, rewrite: pass >= PASS_REWRITE };
            if pass == 1 {
                self.first_pass(&sync, &tx)?;
            }
            self.dsl.sync_dirs(&tx)?;
            let root = core.mos.sync(&sync)?;
            self.settle_frees(pass, &tx)?;
            core.sync_dtls(&tx)?;
            let cx = core.map_cx(pass, &tx);
            core.maps
                .persist(&cx, &mut |vdev, kept| core.keep_for_checkpoint(vdev, kept, cx.form, pass, &tx))?;
            core.removed.persist(&cx)?;
            if !core.mos.is_dirty(txg) && self.is_kept(&tx)? {
                self.commit_root(txg, root)?;
                break;
            }
        }
        core.mos.sync_done(txg);
        self.dsl.sync_done(txg);
        core.storage.sync_done(txg);
        core.kept.get().inspect(|kept| kept.durable(txg));
        core.storage.keep_spare(core.txgs.room());
        core.sweeps.group_done();
        core.trees_changed();
        core.dtl.sync_done(&core.storage);
        core.scan.sync_done();
        core.watch_logs(&|| self.dsl.has_logs_to_replay());
        core.watch_vdevs();
        core.tell_states();
        if core.ddt.was_behind() || core.is_discarding() {
            core.txgs.request_sync();
        }
        Ok(())
    }

    /// Flushes the disks. `false` if one could not, which is news: what it took before may be lost.
    fn is_kept(&self, tx: &Tx) -> Result<bool> {
        self.core.storage.flush_all().map_err(|_| PoolError::Suspended)?;
        Ok(!self.core.sync_dtls(tx)?)
    }

    /// User data, queued changes, what the group before left over, and the pool's own records.
    fn first_pass(&self, sync: &SyncTx, tx: &Tx) -> Result<()> {
        let core = &*self.core;
        self.turn_checkpoint(tx)?;
        // Before space changes: a map that is written anew here must not have what the allocator
        // has yet to report.
        core.retire_log_space_maps(tx)?;
        core.make_missing_zaps(tx)?;
        core.free_deferred(tx)?;
        self.discard_step(tx)?;
        self.dsl.turn_livelists(tx)?;
        self.dsl.sync_datasets(sync)?;
        self.dsl.run_changes(tx)?;
        // What is destroyed could only add to the references that wait.
        if !core.deferred.as_ref().is_some_and(Deferred::has_parked) && !self.dsl.puts_off_destroys() {
            self.dsl.process_async_destroy(tx)?;
        }
        self.dsl.sync_datasets(sync)?; // Datasets that the changes made or touched.
        // All that goes of deduplicated blocks has gone: the tables are written with the meta
        // object set.
        self.settle_frees(1, tx)?;
        let rose = &mut |bp: &BlkPtr| core.scan.rose(&core.storage, bp);
        core.ddt.flush(&mut |bp| core.free_now(bp, tx), rose, tx)?;
        self.tell_sweeps(&core.sweeps.persist(&core.mos, || core.tree(), tx)?, tx);
        self.turn_scan(tx)?;
        let scrub_is_due = self.turn_rebuilds(tx)?;
        core.change_trees(&|| self.dsl.has_logs_to_replay(), tx)?;
        self.sync_rebuilds(tx)?;
        self.sync_scan(scrub_is_due, tx)?;
        core.write_extras(tx)?;
        core.write_config(tx)
    }

    /// The trimming or initializing of disks goes on otherwise than before.
    fn tell_sweeps(&self, changes: &[SweepChange], tx: &Tx) {
        for change in changes {
            self.core.sweep_sysevent(change);
            let path = self.core.path_of(change.leaf);
            let (event, text) = match change.now {
                STATE_ACTIVE => (change.kind.name(), format!("vdev={path} activated")),
                STATE_SUSPENDED => (change.kind.name(), format!("vdev={path} suspended")),
                STATE_CANCELED => (change.kind.name(), format!("vdev={path} canceled")),
                STATE_COMPLETE => (change.kind.name(), format!("vdev={path} complete")),
                _ => ("uninitialize", format!("vdev={path}")),
            };
            self.dsl.record(Record::internal(event, &text, tx.txg()), tx);
        }
    }

    /// Gives back what this pass freed: at once in the first, through the deferred list later. Of
    /// what is deduplicated only references go, in the tables.
    fn settle_frees(&self, pass: u32, tx: &Tx) -> Result<()> {
        let core = &*self.core;
        let mut references = Vec::new();
        for bp in core.frees.take() {
            if pass >= PASS_DEFER_FREES {
                core.defer_free(&bp, tx)?;
            } else if bp.is_dedup() {
                references.push(bp);
            } else {
                core.free_now(&bp, tx);
            }
        }
        core.release_references(references, tx)
    }

    /// Makes the new root durable. Until this returns, the pool is what it was.
    fn commit_root(&self, txg: u64, root: BlkPtr) -> Result<()> {
        let core = &*self.core;
        let config = core.config_for_labels();
        let mut uberblock = Uberblock {
            txg,
            guid_sum: config.as_ref().map_or_else(|| core.guid_sum(), |config| config.tree.guid_sum()),
            timestamp: core.env.clock.wall().secs.max(0) as u64,
            root_bp: root,
            ..Uberblock::new(core.version())
        };
        core.mmp.stamp(&core.env, &mut uberblock);
        let tops = config.as_ref().map_or_else(Vec::new, |config| config.tree.children.clone());
        let label = |top: u32, leaf: u64| match (&config, tops.get(top as usize)) {
            (Some(config), Some(top)) => config.to_label_nvlist(top, leaf),
            _ => unreachable!("labels are written for leaves of the tree only"),
        };
        let label: Option<storage::labels::commit::LabelOf<'_>> = config.as_ref().map(|_| &label as _);
        core.kept.get().inspect(|kept| kept.syncing(&uberblock));
        core.storage.commit_uberblock(&uberblock, label).map_err(|_| PoolError::Suspended)?;
        *lock(&core.durable) = Durable { txg, root };
        core.checkpoint.note_group(&uberblock);
        core.mmp.note_group(&core.env, &uberblock, core.living_leaves());
        if config.is_some() {
            core.sysevent("config_sync");
        }
        Ok(())
    }
}
