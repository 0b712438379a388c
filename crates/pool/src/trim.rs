//! Telling disks which of their space is free: when an operator asks for it, and as space is freed.
//!
//! *Manual* trimming goes over all free space of a disk once. How far it is, is kept in the disk's ZAP with each group, so
//! that it goes on where it was after a crash, an export or a suspension, also under OpenZFS. *Automatic* trimming
//! (`autotrim=on`) takes what was freed in the last [`BATCH_TXGS`] groups and not been used since; nothing of it is kept.
//!
//! Both are done by one worker, a stretch a step. What makes them safe is said in [`storage::zio::trim`]. The worker is
//! stopped before a pool's disks are closed: a disk that forgets something late would forget somebody else's block.
//!
//! Source: module/zfs/vdev_trim.c, include/sys/fs/zfs.h (`VDEV_LEAF_ZAP_TRIM_*`).

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, OnceLock, Weak};

use dmu::zap::Zap;
use dmu::{Objset, Tx};
use env::{DiskError, Env, Nanos, Next, Worker, WorkerHandle, lock};
use ondisk::trim::{
    ACTION_TIME, LAST_OFFSET, PARTIAL, RATE, SECURE, STATE, STATE_ACTIVE, STATE_CANCELED, STATE_COMPLETE,
    STATE_NONE, STATE_SUSPENDED,
};
use storage::{Storage, TrimError, VdevConfig};

use crate::Result;

/// Bytes forgotten in one step.
const STEP: u64 = 64 << 20;
/// Automatic trimming waits for so many groups, so that neighbours are freed together (`zfs_trim_txg_batch`).
const BATCH_TXGS: u64 = 32;

/// How the trimming of one disk is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeafTrim {
    /// One of [`ondisk::trim`]'s states.
    pub state: u64,
    /// Where to go on, on the top-level vdev.
    pub next: u64,
    /// When it was begun, or has ended: seconds since 1970.
    pub time: u64,
    /// Bytes a second; 0: as fast as it goes.
    pub rate: u64,
}

impl LeafTrim {
    const NEW: LeafTrim = LeafTrim { state: 0, next: 0, time: 0, rate: 0 };
}

/// What an operator asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrimCommand {
    /// Bytes a second; 0: as fast as it goes.
    Start {
        rate: u64,
    },
    Suspend,
    Cancel,
}

/// Why a disk is not trimmed, in the words of lib/libzfs/libzfs_util.c.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrimRefusal {
    NoDevice,
    NotSupported,
    Running,
    NotRunning,
}

impl TrimRefusal {
    pub fn words(self) -> &'static str {
        match self {
            TrimRefusal::NoDevice => "no such device in pool",
            TrimRefusal::NotSupported => "trim operations are not supported by this device",
            TrimRefusal::Running => "currently trimming",
            TrimRefusal::NotRunning => "there is no active trim",
        }
    }
}

/// A disk whose trimming is in another state (`STATE_…`) than it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TrimChange {
    pub leaf: u64,
    pub before: u64,
    pub now: u64,
}

/// The trimming of a pool.
pub struct Trim {
    env: Env,
    shared: Arc<Shared>,
    worker: OnceLock<WorkerHandle>,
}

#[derive(Default)]
struct Shared {
    leaves: Mutex<BTreeMap<u64, Progress>>,
    /// Groups since freed space was last trimmed; `None`: not automatic.
    automatic: Mutex<Option<u64>>,
    /// Freed space is due.
    due: AtomicBool,
}

struct Progress {
    trim: LeafTrim,
    /// Something of it is not in the ZAP yet.
    dirty: bool,
    /// Since the start or the last import: bytes forgotten, and when the next are allowed.
    done: u64,
    not_before: Nanos,
}

impl Trim {
    /// Of a pool that has never been trimmed.
    pub fn new(env: Env) -> Trim {
        Trim { env, shared: Arc::default(), worker: OnceLock::new() }
    }

    /// Reads how far each disk of a tree is.
    pub fn load(env: Env, mos: &Arc<Objset>, tree: &VdevConfig) -> Result<Trim> {
        let trim = Trim::new(env);
        let mut zaps = Vec::new();
        tree.visit(&mut |vdev| {
            zaps.extend(vdev.leaf_zap.filter(|zap| *zap != 0).map(|zap| (vdev.guid, zap)))
        });
        for (guid, zap) in zaps {
            let zap = Zap::open(mos, zap)?;
            let Some(state) = zap.find_u64(STATE)? else { continue };
            let number = |name: &str| -> Result<u64> { Ok(zap.find_u64(name)?.unwrap_or(0)) };
            let leaf = LeafTrim {
                state,
                next: number(LAST_OFFSET)?,
                time: number(ACTION_TIME)?,
                rate: number(RATE)?,
            };
            lock(&trim.shared.leaves).insert(guid, Progress::of(leaf));
        }
        Ok(trim)
    }

    /// Begins to work on what is active.
    pub fn start(&self, storage: &Arc<Storage>) {
        let worker =
            Trimmer { env: self.env.clone(), storage: Arc::downgrade(storage), shared: self.shared.clone() };
        let handle = self.env.driver.spawn(Box::new(worker));
        assert!(self.worker.set(handle).is_ok(), "it is started once");
    }

    /// Ends all work, and waits until no disk is forgetting anything any more.
    pub fn stop(&self) {
        if let Some(worker) = self.worker.get() {
            worker.stop_and_join();
        }
    }

    fn wake(&self) {
        if let Some(worker) = self.worker.get() {
            worker.wake();
        }
    }

    /// Whether what is freed is trimmed by itself.
    pub fn set_automatic(&self, storage: &Storage, wanted: bool) {
        let mut automatic = lock(&self.shared.automatic);
        if automatic.is_some() != wanted {
            *automatic = wanted.then_some(0);
            storage.remember_freed(wanted);
        }
    }

    /// A group is done.
    pub fn group_done(&self) {
        let mut automatic = lock(&self.shared.automatic);
        if let Some(groups) = &mut *automatic {
            *groups += 1;
            if *groups >= BATCH_TXGS {
                *groups = 0;
                self.shared.due.store(true, Relaxed);
                self.wake();
            }
        }
    }

    /// How the trimming of a disk is; `None`: it has never been trimmed.
    pub fn of(&self, leaf: u64) -> Option<LeafTrim> {
        lock(&self.shared.leaves).get(&leaf).map(|progress| progress.trim)
    }

    /// Does what is asked with one disk. Its ZAP knows with the next group.
    pub fn command(
        &self,
        storage: &Storage,
        leaf: u64,
        command: TrimCommand,
    ) -> std::result::Result<(), TrimRefusal> {
        if !storage.leaves().iter().any(|handle| handle.guid == leaf) {
            return Err(TrimRefusal::NoDevice);
        }
        if !storage.can_trim(leaf) {
            return Err(TrimRefusal::NotSupported);
        }
        let now = self.env.clock.wall().secs.max(0) as u64;
        let mut leaves = lock(&self.shared.leaves);
        let progress = leaves.entry(leaf).or_insert_with(|| Progress::of(LeafTrim::NEW));
        let trim = &mut progress.trim;
        match (command, trim.state) {
            (TrimCommand::Start { .. }, STATE_ACTIVE) => return Err(TrimRefusal::Running),
            (TrimCommand::Start { rate }, state) => {
                if state != STATE_SUSPENDED {
                    *trim = LeafTrim { time: now, ..LeafTrim::NEW };
                    progress.done = 0;
                }
                trim.state = STATE_ACTIVE;
                if rate > 0 {
                    trim.rate = rate;
                }
            }
            (TrimCommand::Suspend, STATE_ACTIVE) => trim.state = STATE_SUSPENDED,
            (TrimCommand::Cancel, STATE_ACTIVE | STATE_SUSPENDED) => {
                (trim.state, trim.time) = (STATE_CANCELED, now);
            }
            (TrimCommand::Suspend | TrimCommand::Cancel, _) => return Err(TrimRefusal::NotRunning),
        }
        progress.dirty = true;
        drop(leaves);
        self.wake();
        Ok(())
    }

    /// Writes down how far each disk is; gives those that are in another state than what was written. Syncing context,
    /// first pass.
    pub fn persist(
        &self,
        mos: &Arc<Objset>,
        tree: impl FnOnce() -> VdevConfig,
        tx: &Tx,
    ) -> Result<Vec<TrimChange>> {
        let (mut changed, mut changes) = (Vec::new(), Vec::new());
        for (guid, progress) in lock(&self.shared.leaves).iter_mut().filter(|(_, progress)| progress.dirty) {
            progress.dirty = false;
            changed.push((*guid, progress.trim));
        }
        if changed.is_empty() {
            return Ok(changes);
        }
        let tree = tree();
        for (guid, trim) in changed {
            let mut zap = None;
            tree.visit(&mut |vdev| {
                if vdev.guid == guid {
                    zap = vdev.leaf_zap.filter(|zap| *zap != 0);
                }
            });
            let Some(zap) = zap else { continue };
            let zap = Zap::open(mos, zap)?;
            let before = zap.find_u64(STATE)?.unwrap_or(STATE_NONE);
            if before != trim.state {
                changes.push(TrimChange { leaf: guid, before, now: trim.state });
            }
            let pairs = [
                (LAST_OFFSET, trim.next),
                (ACTION_TIME, trim.time),
                (RATE, trim.rate),
                (PARTIAL, 0),
                (SECURE, 0),
                (STATE, trim.state),
            ];
            for (name, number) in pairs {
                zap.update(name, number, tx)?;
            }
        }
        Ok(changes)
    }
}

impl Progress {
    fn of(trim: LeafTrim) -> Progress {
        Progress { trim, dirty: false, done: 0, not_before: Nanos(0) }
    }
}

/// Works on what is active, a stretch a step.
struct Trimmer {
    env: Env,
    storage: Weak<Storage>,
    shared: Arc<Shared>,
}

impl Trimmer {
    /// A stretch of what was freed; `false` where none is left.
    fn automatic(&self, storage: &Storage) -> bool {
        if !self.shared.due.load(Relaxed) {
            return false;
        }
        let tops = storage.tops();
        let done = tops.iter().any(|top| storage.trim_freed(top.id, STEP).is_some());
        if !done {
            self.shared.due.store(false, Relaxed);
        }
        done
    }

    /// A stretch of one disk.
    fn manual(&self, storage: &Storage, guid: u64, trim: LeafTrim, now: Nanos) {
        let step = if trim.rate == 0 { STEP } else { trim.rate.clamp(64 << 10, STEP) };
        let outcome = storage.trim_next(guid, trim.next, step);
        let wall = self.env.clock.wall().secs.max(0) as u64;
        let mut leaves = lock(&self.shared.leaves);
        let Some(progress) = leaves.get_mut(&guid).filter(|it| it.trim.state == STATE_ACTIVE) else { return };
        progress.dirty = true;
        match outcome {
            Ok(Some(trimmed)) => {
                progress.trim.next = trimmed.next;
                progress.done += trimmed.bytes;
                if let Some(span) = (trimmed.bytes * 1_000_000_000).checked_div(progress.trim.rate) {
                    progress.not_before = Nanos(now.0 + span);
                }
            }
            Ok(None) => (progress.trim.state, progress.trim.time) = (STATE_COMPLETE, wall),
            Err(TrimError::Disk(DiskError::Unsupported)) => progress.trim.state = STATE_CANCELED,
            // As a device that is away: it goes on when an operator says so.
            Err(error) => {
                tracing::warn!(guid, ?error, "trimming is suspended");
                progress.trim.state = STATE_SUSPENDED;
            }
        }
    }
}

impl Worker for Trimmer {
    fn name(&self) -> &'static str {
        "trim"
    }

    fn step(&mut self, now: Nanos) -> Next {
        let Some(storage) = self.storage.upgrade() else { return Next::Stop };
        if storage.is_suspended() {
            return Next::WaitForWork;
        }
        let more = self.automatic(&storage);
        let active: Vec<(u64, LeafTrim, Nanos)> = lock(&self.shared.leaves)
            .iter()
            .filter(|(_, progress)| progress.trim.state == STATE_ACTIVE)
            .map(|(guid, progress)| (*guid, progress.trim, progress.not_before))
            .collect();
        for (guid, trim, _) in active.iter().filter(|(_, _, not_before)| *not_before <= now) {
            self.manual(&storage, *guid, *trim, now);
        }
        if more || active.iter().any(|(_, trim, _)| trim.rate == 0) {
            return Next::Again;
        }
        let soonest = lock(&self.shared.leaves)
            .values()
            .filter(|progress| progress.trim.state == STATE_ACTIVE)
            .map(|progress| progress.not_before)
            .min_by_key(|time| time.0);
        soonest.map_or(Next::WaitForWork, Next::WaitUntil)
    }
}
