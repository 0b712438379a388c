//! Changing the pool's tree of vdevs, one change at a time.
//!
//! The tree changes in syncing context, in the first pass of a group: so the configuration in the
//! MOS, the labels and the uberblock of that group speak of the same tree. What can fail (opening
//! disks, emptying logs) is done before, in open context. Source: module/zfs/spa.c
//! (`spa_vdev_config_enter` and kin).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Mutex};

use dmu::Tx;
use dmu::zap::Zap;
use env::{Nanos, lock};
use ondisk::label::config::{PoolState, key};
use ondisk::object_type::pool_directory;
use storage::{OpenedLeaf, Roll, VdevConfig, VdevKind};

use super::Core;
use super::disks::Leaving;
use super::draft::Draft;
use super::vdev_objects::{make_zap_list, make_zaps};
use crate::{PoolError, Result};

/// How long a change waits for its disks to be closed, and how often it looks.
const CLOSING: Nanos = Nanos::from_secs(10);
const A_MOMENT: Nanos = Nanos::from_millis(10);

/// What a group does to the tree.
pub(super) type Step = Box<dyn FnOnce(&Core, &Tx) -> Result<()> + Send>;

struct Queued {
    step: Step,
    outcome: Arc<Mutex<Option<Result<()>>>>,
}

/// Changes under way.
#[derive(Default)]
pub struct Topology {
    waiting: Mutex<BTreeMap<u64, Vec<Queued>>>,
    busy: AtomicBool,
    /// Disks of logs that had failed when the last group was written; see
    /// [`Core::note_failed_logs`].
    failed: Mutex<BTreeSet<u64>>,
    /// Disks that the group being synced takes out.
    pub(super) leaving: Mutex<Vec<Leaving>>,
    /// Top-level vdevs that have grown in the group being synced, with the metaslabs they have now.
    pub(super) grown: Mutex<Vec<(u32, u64)>>,
}

/// Held by whoever changes the tree.
pub(crate) struct Alone<'a>(&'a AtomicBool);

impl Drop for Alone<'_> {
    fn drop(&mut self) {
        self.0.store(false, SeqCst);
    }
}

impl Core {
    /// Keeps others from changing the tree; `Busy` if somebody does.
    pub(crate) fn alone(&self) -> Result<Alone<'_>> {
        if self.readonly {
            return Err(PoolError::ReadOnly);
        }
        if self.topology.busy.swap(true, SeqCst) {
            Err(PoolError::Busy)
        } else {
            Ok(Alone(&self.topology.busy))
        }
    }

    /// Does a step in the open group and waits until it is durable; gives the group.
    pub(super) fn change_tree(&self, step: Step) -> Result<u64> {
        let outcome = Arc::new(Mutex::new(None));
        let roll = self.storage.roll();
        let hold = self.txgs.enter(true)?;
        let txg = hold.txg();
        let queued = Queued { step, outcome: outcome.clone() };
        lock(&self.topology.waiting).entry(txg).or_default().push(queued);
        drop(hold);
        self.txgs.wait_synced(txg)?;
        let outcome = lock(&outcome).take();
        outcome.unwrap_or(Err(PoolError::Suspended))?;
        self.see_closed(&roll);
        Ok(txg)
    }

    /// Waits until disks that have left the tree are closed: others may want them. What still reads
    /// one, a scan say, is done in a moment; a disk that does not answer keeps nobody waiting for
    /// longer than [`CLOSING`].
    fn see_closed(&self, roll: &Roll) {
        let end = self.env.clock.now() + CLOSING;
        while self.storage.is_leaving(roll) && self.env.clock.now() < end {
            self.env.clock.sleep(A_MOMENT);
        }
    }

    /// Syncing context: the steps of this group.
    pub(crate) fn change_trees(&self, to_replay: &dyn Fn() -> bool, tx: &Tx) -> Result<()> {
        self.note_failed_logs(to_replay);
        let steps = lock(&self.topology.waiting).remove(&tx.txg()).unwrap_or_default();
        for Queued { step, outcome } in steps {
            *lock(&outcome) = Some(self.take_step(step, tx.txg())?);
        }
        self.settle_vdevs(tx)
    }

    /// The outer error is the group's: the step has changed something. One that fails before that,
    /// for it has met what is damaged, fails for who asked for it alone.
    fn take_step(&self, step: Step, txg: u64) -> Result<Result<()>> {
        let (before, tx) = (self.tree(), Tx::syncing(txg));
        match step(self, &tx) {
            Err(error) if !tx.is_touched() && self.tree() == before => Ok(Err(error)),
            done => done.map(Ok),
        }
    }

    /// The group is durable, and with it what it did to the tree.
    pub(crate) fn trees_changed(&self) {
        self.part_with_disks();
        self.use_grown_space();
    }

    /// The pool's tree, to be changed.
    pub(super) fn draft(&self) -> Draft {
        Draft::of(&lock(&self.config).tree)
    }

    /// Puts another tree in the place of the pool's. See [`storage::Storage::swap_tree`].
    pub(super) fn put_tree(&self, draft: Draft, opened: &[OpenedLeaf], renamed: &[(u64, u64)]) -> Result<()> {
        self.storage
            .swap_tree(&draft, opened, renamed)
            .map_err(|error| PoolError::Invalid(error.to_string()))?;
        let mut config = lock(&self.config);
        let now = std::mem::replace(&mut config.tree, self.storage.config());
        draft.keep_verdicts(&now, &mut config.tree);
        config.vdev_children = config.tree.children.len() as u64;
        drop(config);
        self.config_dirty.store(true, SeqCst);
        Ok(())
    }

    /// The list of all vdevs' ZAPs.
    pub(super) fn vdev_zaps(&self) -> Result<Zap> {
        let directory = Zap::open(&self.mos, pool_directory::OBJECT)?;
        Ok(Zap::open(&self.mos, directory.lookup_u64(pool_directory::VDEV_ZAP_MAP)?)?)
    }

    /// Gives vdevs the ZAPs that pools of old programs do not have.
    pub(crate) fn make_missing_zaps(&self, tx: &Tx) -> Result<()> {
        if !self.lacks_zaps.swap(false, SeqCst) {
            return Ok(());
        }
        let mut tree = self.draft();
        let all = make_zap_list(&self.mos, &self.env, tx)?;
        let is_vdev = |top: &&mut VdevConfig| !matches!(top.kind, VdevKind::Hole | VdevKind::Missing);
        for top in tree.children.iter_mut().filter(is_vdev) {
            make_zaps(&self.mos, &all, top, &self.env, tx)?;
        }
        let mut config = lock(&self.config);
        let mut new = VdevConfig::clone(&tree);
        tree.keep_verdicts(&config.tree, &mut new);
        config.tree = new.clone();
        drop(config);
        self.storage.update_config(|root| *root = new);
        self.config_dirty.store(true, SeqCst);
        Ok(())
    }

    /// Frees the objects of a vdev that goes, and of those below: ZAPs and dirty time logs.
    pub(super) fn free_vdev_objects(&self, vdev: &VdevConfig, tx: &Tx) -> Result<()> {
        let all = self.vdev_zaps()?;
        let mut gone = Vec::new();
        vdev.visit(&mut |vdev| gone.push((vdev.guid, [vdev.top_zap, vdev.leaf_zap], vdev.dtl)));
        for (guid, zaps, dtl) in gone {
            for zap in zaps.into_iter().flatten().filter(|zap| *zap != 0) {
                all.remove_int(zap, tx)?;
                self.mos.free(zap, tx)?;
            }
            self.dtl.forget(guid);
            if let Some(dtl) = dtl.filter(|object| *object != 0) {
                self.maps.free_map(dtl, &self.features, tx)?;
            }
        }
        Ok(())
    }

    // ── Logs that fail ──

    /// Top-level vdevs of logs that cannot be read.
    pub(super) fn missing_logs(&self) -> Vec<u32> {
        let tops = self.storage.tops();
        tops.iter().filter(|top| top.is_log && !top.is_readable).map(|top| top.id).collect()
    }

    /// Tells which datasets' logs were on vdevs that are missing. One that was taken out of use
    /// while the pool ran had nothing that the pool lacks.
    pub(super) fn note_lost_logs(&self, logs: &[(String, u32)]) {
        let config = lock(&self.config);
        let is_missing = |vdev: u32| {
            let mut missing = false;
            config.tree.children[vdev as usize].visit(&mut |vdev| {
                missing |= vdev.kind.is_leaf() && !(vdev.offline || vdev.faulted || vdev.removed);
            });
            missing
        };
        let lost = logs.iter().filter(|(_, vdev)| is_missing(*vdev)).map(|(name, _)| name.clone());
        let lost: Vec<String> = lost.collect();
        if !lost.is_empty() {
            let datasets = lost.join(", ");
            tracing::warn!(datasets, "the last synchronous writes may be lost: intent logs are missing");
        }
        *lock(&self.lost_logs) = lost;
    }

    /// Disks of logs that have failed, and that the configuration has as good.
    fn unnoted_failures(&self) -> BTreeSet<u64> {
        let mut failed = self.storage.failed_logs();
        if !failed.is_empty() {
            lock(&self.config).tree.visit(&mut |vdev| {
                if vdev.faulted {
                    failed.remove(&vdev.guid);
                }
            });
        }
        failed
    }

    /// Keeps in the configuration that a log's disk has failed, so that the next import leaves it
    /// alone. Only once a whole group has gone by: what was promised on the disk before it failed
    /// is durable then, and nobody need read it. While a log waits to be replayed (`to_replay`),
    /// the disk may hold what is nowhere else.
    fn note_failed_logs(&self, to_replay: &dyn Fn() -> bool) {
        let mut now = self.unnoted_failures();
        if !now.is_empty() && to_replay() {
            now.clear();
        }
        let mut before = lock(&self.topology.failed);
        let mut config = lock(&self.config);
        // At export no log has anything left.
        let leaving = config.state != PoolState::Active;
        let certain = |guid: &u64| leaving || before.contains(guid);
        if now.iter().any(certain) {
            config.tree.visit_mut(&mut |vdev| {
                if now.contains(&vdev.guid) && certain(&vdev.guid) {
                    vdev.faulted = true;
                    vdev.pairs.set(key::AUX_STATE, "err_exceeded");
                }
            });
            self.config_dirty.store(true, SeqCst);
        }
        *before = now;
    }

    /// After a group: has another one follow where a disk of a log has failed that the
    /// configuration has as good.
    pub(crate) fn watch_logs(&self, to_replay: &dyn Fn() -> bool) {
        if !self.unnoted_failures().is_empty() && !to_replay() {
            drop(self.txgs.enter(false));
        }
    }
}
