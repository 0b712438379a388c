//! Sequential rebuild: a disk that joined a mirror is given all that is allocated, in the order of
//! places, without knowing what it is (`zpool attach -s`, `zpool replace -s`). Quicker than a
//! resilver where blocks are small, but nothing is verified: so a scrub follows by itself.
//!
//! Each top-level vdev has a rebuild of its own, and remembers it in its ZAP, so that it goes on
//! after a crash, here or in OpenZFS; feature `device_rebuild` is active meanwhile. While any runs
//! no resilver begins.
//!
//! ```text
//!   attach -s ──group──▶ active ──worker: all maps are gone through──▶ group: complete ──▶ scrub
//!                         │  ▲└──another disk joins so: from the start──┘
//!                         └──nobody lacks anything any more, or everybody──▶ canceled
//! ```
//! Two parties share the work, as of scans: the worker `rebuild` copies, and the groups write down
//! how far it is; what it has copied before a group is on disk with it. It takes what is in use
//! from the space maps of the last durable group, and an epoch keeps that as it is for the time of
//! a step. It begins when the last group whose blocks may have been written before the disk joined
//! is durable.
//!
//! A stretch that could not be copied leaves the disks' dirty time logs as they are, and so does a
//! disk that was not there all the time: a resilver follows. It also does what no rebuild can where
//! every disk lacks something: it can tell what is good.
//!
//! Source: module/zfs/vdev_rebuild.c.

mod worker;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Arc, Mutex, Weak};

use dmu::zap::Zap;
use dmu::{Objset, Tx};
use env::{Env, Nanos, WorkerHandle, lock};
use ondisk::label::config::key;
use ondisk::rebuild::{REBUILD, RebuildPhys, STATE_ACTIVE, STATE_CANCELED, STATE_COMPLETE};
use storage::VdevConfig;

use crate::history::Record;
use crate::spa::events::Resilver;
use crate::spa::{Core, Pool};
use crate::{PoolError, Result};

/// The rebuilds of a pool.
#[derive(Default)]
pub struct Rebuilds {
    /// By the number of the top-level vdev.
    tops: Mutex<BTreeMap<u32, Progress>>,
    /// Top-level vdevs that are to be rebuilt from the group being synced on.
    wanted: Mutex<BTreeSet<u32>>,
    worker: Mutex<Staff>,
    /// Of an import: the group that was found. Its space maps may lack what OpenZFS keeps in logs
    /// of them.
    found: u64,
}

/// The worker, hired when there is something to do for the first time.
#[derive(Default)]
struct Staff {
    /// Whom it works for.
    pool: Weak<Pool>,
    worker: Option<WorkerHandle>,
}

/// How far one is.
#[derive(Clone, Copy, Debug, Default)]
struct Progress {
    phys: RebuildPhys,
    /// The ZAP has it otherwise.
    dirty: bool,
    /// The worker is through.
    finished: bool,
    pass: Pass,
}

/// Since the import or the beginning, in bytes: for rates.
#[derive(Clone, Copy, Debug, Default)]
struct Pass {
    start: Nanos,
    /// Milliseconds that it ran before.
    before_ms: u64,
    scanned: u64,
    issued: u64,
}

/// What an operator sees of one: plain data, as `vdev_rebuild_stat_t` has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RebuildReport {
    /// As it is on disk, with the counts as of now.
    pub phys: RebuildPhys,
    pub pass_ms: u64,
    pub pass_scanned: u64,
    pub pass_issued: u64,
}

impl Progress {
    fn of(phys: RebuildPhys, now: Nanos) -> Progress {
        let pass = Pass { start: now, before_ms: phys.scan_time_ms, ..Pass::default() };
        Progress { phys, pass, ..Progress::default() }
    }

    fn pass_ms(&self, now: Nanos) -> u64 {
        now.since(self.pass.start).0 / 1_000_000
    }

    /// It ends in this state.
    fn end(&mut self, state: u64, seconds: u64, now: Nanos) {
        self.phys.scan_time_ms = self.pass.before_ms + self.pass_ms(now);
        (self.phys.state, self.phys.end_time) = (state, seconds);
        (self.dirty, self.finished) = (true, false);
    }
}

impl Rebuilds {
    /// Of a pool that is being imported. One that cannot be read did not take place.
    pub(crate) fn load(env: &Env, mos: &Arc<Objset>, tree: &VdevConfig, found: u64) -> Result<Rebuilds> {
        let mut rebuilds = Rebuilds::default();
        rebuilds.found = found;
        for top in &tree.children {
            let Some(zap) = top.top_zap.filter(|zap| *zap != 0) else { continue };
            if let Some(value) = Zap::open(mos, zap)?.find(REBUILD)? {
                let phys = RebuildPhys::from_words(&value.words()).unwrap_or_default();
                lock(&rebuilds.tops).insert(top.id as u32, Progress::of(phys, env.clock.now()));
            }
        }
        Ok(rebuilds)
    }

    /// Goes on with what is active in a pool that is written.
    pub(crate) fn start(&self, pool: &Arc<Pool>) {
        lock(&self.worker).pool = Arc::downgrade(pool);
        if self.is_active() {
            self.wake();
        }
    }

    /// Ends the worker; rebuilds go on with the next import.
    pub(crate) fn stop(&self) {
        let staff = std::mem::take(&mut *lock(&self.worker));
        staff.worker.as_ref().inspect(|worker| worker.stop_and_join());
    }

    fn wake(&self) {
        let mut staff = lock(&self.worker);
        match (&staff.worker, staff.pool.upgrade()) {
            (Some(worker), _) => worker.wake(),
            (None, Some(pool)) => {
                let worker = worker::Rebuilder::new(&pool);
                staff.worker = Some(pool.core.storage.spawn(Box::new(worker)));
            }
            (None, None) => {}
        }
    }

    /// Has a top-level vdev rebuilt, from the start. Syncing context, before
    /// [`Pool::sync_rebuilds`] of the group.
    pub(crate) fn want(&self, top: u32) {
        lock(&self.wanted).insert(top);
    }

    /// Whether any runs.
    pub fn is_active(&self) -> bool {
        lock(&self.tops).values().any(|progress| progress.phys.is_active())
    }

    fn active(&self) -> Vec<u32> {
        let tops = lock(&self.tops);
        tops.iter().filter(|(_, progress)| progress.phys.is_active()).map(|(top, _)| *top).collect()
    }
}

impl Drop for Rebuilds {
    /// Lets the worker see that its pool is gone.
    fn drop(&mut self) {
        lock(&self.worker).worker.as_ref().inspect(|worker| worker.wake());
    }
}

impl Core {
    /// The guids of the disks of a top-level vdev.
    fn disks_in(&self, top: u32) -> BTreeSet<u64> {
        let mut disks = BTreeSet::new();
        if let Some(top) = lock(&self.config).tree.children.get(top as usize) {
            top.visit(&mut |vdev| disks.extend(vdev.kind.is_leaf().then_some(vdev.guid)));
        }
        disks
    }

    /// Those of them that are here and lack something that others there have.
    fn behind_in(&self, top: u32) -> BTreeSet<u64> {
        let mut disks = self.disks_in(top);
        disks.retain(|guid| self.storage.is_usable(*guid) && !self.storage.is_working(*guid));
        disks
    }

    /// After an import: the disks that rebuilds are about need not have been there all the time for
    /// what they are given.
    pub(crate) fn resume_rebuilds(&self) {
        for top in self.rebuilds.active() {
            let max = lock(&self.rebuilds.tops)[&top].phys.max_txg;
            self.dtl.begin_rebuild(&self.behind_in(top), max);
        }
    }

    /// A disk is no newcomer any more once it lacks nothing.
    fn forget_newcomers(&self) {
        let mut config = lock(&self.config);
        config.tree.visit_mut(&mut |vdev| {
            if vdev.pairs.get(key::REBUILD_TXG).is_some() && self.dtl.is_empty(vdev.guid) {
                vdev.pairs.remove(key::REBUILD_TXG);
                self.config_dirty.store(true, SeqCst);
            }
        });
    }

    /// The number of a top-level vdev's ZAP; `None` if it has none, or there is no such vdev.
    pub(crate) fn top_zap(&self, top: u32) -> Option<u64> {
        let config = lock(&self.config);
        config.tree.children.get(top as usize).and_then(|vdev| vdev.top_zap).filter(|zap| *zap != 0)
    }
}

impl Pool {
    /// How the rebuild of a top-level vdev is, or the last one was; `None`: there never was one.
    pub fn rebuild_report(&self, top: u32) -> Option<RebuildReport> {
        let now = self.core.env.clock.now();
        let progress = lock(&self.core.rebuilds.tops).get(&top).copied()?;
        Some(RebuildReport {
            phys: progress.phys,
            pass_ms: progress.pass_ms(now),
            pass_scanned: progress.pass.scanned,
            pass_issued: progress.pass.issued,
        })
    }

    /// Ends the rebuilds that the worker is through with; whether a scrub is to follow. First pass
    /// only, before the tree of vdevs may change for it.
    pub(crate) fn turn_rebuilds(&self, tx: &Tx) -> Result<bool> {
        let core = &self.core;
        let through: Vec<(u32, RebuildPhys)> = lock(&core.rebuilds.tops)
            .iter()
            .filter(|(_, progress)| progress.phys.is_active() && progress.finished)
            .map(|(top, progress)| (*top, progress.phys))
            .collect();
        for (top, phys) in &through {
            if phys.errors == 0 {
                // Nothing is believed of what a disk has taken and may still lose.
                core.storage.flush_all().map_err(|_| PoolError::Suspended)?;
                let behind = core.behind_in(*top);
                core.dtl.excise(&core.storage, phys.max_txg, tx.txg(), &|guid| behind.contains(&guid));
                core.forget_newcomers();
            }
            self.end_rebuild(*top, STATE_COMPLETE, tx)?;
        }
        Ok(!through.is_empty() && !core.rebuilds.is_active())
    }

    /// Begins what is wanted, cancels what nobody needs any more, and writes down how far the
    /// others are. First pass only, when the tree of vdevs is as it is to be.
    pub(crate) fn sync_rebuilds(&self, tx: &Tx) -> Result<()> {
        let (core, now) = (&self.core, self.core.env.clock.now());
        for top in std::mem::take(&mut *lock(&core.rebuilds.wanted)) {
            self.begin_rebuild(top, tx)?;
        }
        for top in core.rebuilds.active() {
            let behind = core.behind_in(top);
            let has_source = core.disks_in(top).iter().any(|guid| core.dtl.is_empty(*guid));
            if !has_source || core.dtl.wanted(&core.storage, &|guid| behind.contains(&guid)).is_none() {
                self.end_rebuild(top, STATE_CANCELED, tx)?;
            }
        }
        let mut changed = Vec::new();
        for (top, progress) in lock(&core.rebuilds.tops).iter_mut().filter(|(_, progress)| progress.dirty) {
            progress.dirty = false;
            if progress.phys.is_active() {
                progress.phys.scan_time_ms = progress.pass.before_ms + progress.pass_ms(now);
            }
            changed.push((*top, progress.phys));
        }
        for (top, phys) in changed {
            if let Some(zap) = core.top_zap(top) {
                Zap::open(&core.mos, zap)?.update(REBUILD, phys.to_words().as_slice(), tx)?;
            }
        }
        Ok(())
    }

    fn begin_rebuild(&self, top: u32, tx: &Tx) -> Result<()> {
        let core = &self.core;
        let behind = core.behind_in(top);
        let (min_txg, max_txg) =
            core.dtl.wanted(&core.storage, &|guid| behind.contains(&guid)).unwrap_or_default();
        let phys = RebuildPhys {
            state: STATE_ACTIVE,
            min_txg,
            max_txg,
            start_time: self.dsl.now(),
            estimated: core.storage.vdev_space(top).map_or(0, |space| space.allocated),
            ..RebuildPhys::default()
        };
        let again = core.rebuilds.active().contains(&top);
        let progress = Progress { dirty: true, ..Progress::of(phys, core.env.clock.now()) };
        lock(&core.rebuilds.tops).insert(top, progress);
        core.storage.begin_scan();
        core.dtl.begin_rebuild(&behind, max_txg);
        core.rebuilds.wake();
        if again {
            self.note_rebuild(top, "reset", tx);
            return Ok(());
        }
        core.features.increment("device_rebuild", tx)?;
        core.resilver_sysevent("resilver_start", Resilver::Sequential);
        self.note_rebuild(top, "started", tx);
        Ok(())
    }

    fn end_rebuild(&self, top: u32, state: u64, tx: &Tx) -> Result<()> {
        let core = &self.core;
        if let Some(progress) = lock(&core.rebuilds.tops).get_mut(&top) {
            progress.end(state, self.dsl.now(), core.env.clock.now());
        }
        core.features.decrement("device_rebuild", tx)?;
        core.resilver_sysevent("resilver_finish", Resilver::Sequential);
        self.note_rebuild(top, if state == STATE_COMPLETE { "complete" } else { "canceled" }, tx);
        Ok(())
    }

    fn note_rebuild(&self, top: u32, what: &str, tx: &Tx) {
        let guid = lock(&self.core.config).tree.children.get(top as usize).map_or(0, |vdev| vdev.guid);
        let text = format!("vdev_id={top} vdev_guid={guid} {what}");
        self.dsl.record(Record::internal("rebuild", &text, tx.txg()), tx);
    }
}
