//! How far the rebuilds of a pool are; see [`crate::rebuild`].

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use dmu::Objset;
use dmu::zap::Zap;
use env::{Env, Nanos, WorkerHandle, lock};
use ondisk::rebuild::{REBUILD, RebuildPhys};
use storage::VdevConfig;

use crate::Result;

/// The rebuilds of a pool.
#[derive(Default)]
pub struct Rebuilds {
    /// By the number of the top-level vdev.
    pub(crate) tops: Mutex<BTreeMap<u32, Progress>>,
    /// Top-level vdevs that are to be rebuilt from the group being synced on.
    pub(crate) wanted: Mutex<BTreeSet<u32>>,
    worker: Mutex<Staff>,
    /// Of an import: the group that was found. Its space maps may lack what OpenZFS keeps in logs
    /// of them.
    pub(crate) found: u64,
}

/// Hires the worker; `None` where the pool is gone.
pub(crate) type Hire = Box<dyn Fn() -> Option<WorkerHandle> + Send + Sync>;

/// The worker, hired when there is something to do for the first time.
#[derive(Default)]
struct Staff {
    /// `None` before there may be a worker.
    hire: Option<Hire>,
    worker: Option<WorkerHandle>,
}

/// How far one is.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Progress {
    pub phys: RebuildPhys,
    /// The ZAP has it otherwise.
    pub dirty: bool,
    /// The worker is through.
    pub finished: bool,
    pub pass: Pass,
}

/// Since the import or the beginning, in bytes: for rates.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Pass {
    pub start: Nanos,
    /// Milliseconds that it ran before.
    pub before_ms: u64,
    pub scanned: u64,
    pub issued: u64,
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
    pub fn of(phys: RebuildPhys, now: Nanos) -> Progress {
        let pass = Pass { start: now, before_ms: phys.scan_time_ms, ..Pass::default() };
        Progress { phys, pass, ..Progress::default() }
    }

    pub fn pass_ms(&self, now: Nanos) -> u64 {
        now.since(self.pass.start).0 / 1_000_000
    }

    /// It ends in this state.
    pub fn end(&mut self, state: u64, seconds: u64, now: Nanos) {
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
    pub(crate) fn start_with(&self, hire: Hire) {
        lock(&self.worker).hire = Some(hire);
        if self.is_active() {
            self.wake();
        }
    }

    /// Ends the worker; rebuilds go on with the next import.
    pub(crate) fn stop(&self) {
        let staff = std::mem::take(&mut *lock(&self.worker));
        staff.worker.as_ref().inspect(|worker| worker.stop_and_join());
    }

    pub(crate) fn wake(&self) {
        let mut staff = lock(&self.worker);
        match &staff.worker {
            Some(worker) => worker.wake(),
            None => staff.worker = staff.hire.as_ref().and_then(|hire| hire()),
        }
    }

    /// Has a top-level vdev rebuilt, from the start. Syncing context, before
    /// [`crate::Pool::sync_rebuilds`] of the group.
    pub(crate) fn want(&self, top: u32) {
        lock(&self.wanted).insert(top);
    }

    /// Whether any runs.
    pub fn is_active(&self) -> bool {
        lock(&self.tops).values().any(|progress| progress.phys.is_active())
    }

    pub(crate) fn active(&self) -> Vec<u32> {
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
