//! Going over the free space of disks: telling them that it is free (*trimming*), or writing to all
//! of it (*initializing*), so that who lends the space does so before it is needed.
//!
//! *By hand* all free space of a disk is gone over once. How far that is, is kept in the disk's ZAP
//! with each group, so that it goes on where it was after a crash, an export or a suspension, also
//! under OpenZFS. *Automatic* trimming (`autotrim=on`) takes what was freed in some groups
//! ([`Tunable::TrimTxgBatch`]) and not been used since; nothing of it is kept.
//!
//! The same worker writes ahead what logs will need next ([`Storage::stock_logs`]), which nobody
//! has to ask for.
//!
//! All is done by one worker, a stretch a step. What makes it safe is said in
//! [`storage::zio::sweep`]. The worker is stopped before a pool's disks are closed: a disk that
//! forgets something late would forget somebody else's block.
//!
//! Sources: module/zfs/vdev_trim.c, vdev_initialize.c, include/sys/fs/zfs.h (`VDEV_LEAF_ZAP_…`).

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, OnceLock, Weak};

use dmu::zap::Zap;
use dmu::{Objset, Tx};
use env::{DiskError, Env, Nanos, Next, Tunable, Worker, WorkerHandle, lock};
use ondisk::trim::{STATE_ACTIVE, STATE_CANCELED, STATE_COMPLETE, STATE_NONE, STATE_SUSPENDED};
use ondisk::{initialize, trim};
use refusal::SweepFault;
use storage::{Storage, Sweep, SweepError, VdevConfig, VdevState};

use crate::Result;
use crate::txg::Txgs;

/// Bytes forgotten in one step, and bytes written.
const STEP: u64 = 64 << 20;
const FILL_STEP: u64 = 8 << 20;

/// How often it is looked whether disks are away, back or faulted.
const AWAY: Nanos = Nanos::from_millis(1000);

/// What is done with a disk's free space by hand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SweepKind {
    Trim,
    Initialize,
}

impl SweepKind {
    const ALL: [SweepKind; 2] = [SweepKind::Trim, SweepKind::Initialize];

    /// As commands and histories call it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            SweepKind::Trim => "trim",
            SweepKind::Initialize => "initialize",
        }
    }

    fn running(self) -> SweepFault {
        match self {
            SweepKind::Trim => SweepFault::Trimming,
            SweepKind::Initialize => SweepFault::Initializing,
        }
    }

    fn not_running(self) -> SweepFault {
        match self {
            SweepKind::Trim => SweepFault::NoTrim,
            SweepKind::Initialize => SweepFault::NoInitialization,
        }
    }

    /// What [`LeafSweep::how`] is unless it is asked for otherwise.
    fn usual(self, env: &Env) -> u64 {
        match self {
            SweepKind::Trim => 0,
            SweepKind::Initialize => env.tunable(Tunable::InitializeValue),
        }
    }

    /// The ZAP's names of state, place, time and how; and of what is always 0.
    fn names(self) -> ([&'static str; 4], &'static [&'static str]) {
        use trim::{ACTION_TIME, LAST_OFFSET, PARTIAL, RATE, SECURE, STATE};
        match self {
            SweepKind::Trim => ([STATE, LAST_OFFSET, ACTION_TIME, RATE], &[PARTIAL, SECURE]),
            SweepKind::Initialize => {
                use initialize::{ACTION_TIME, LAST_OFFSET, STATE, VALUE};
                ([STATE, LAST_OFFSET, ACTION_TIME, VALUE], &[])
            }
        }
    }
}

/// How the trimming or initializing of one disk is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeafSweep {
    /// One of [`ondisk::trim`]'s states.
    pub state: u64,
    /// Where to go on, on the top-level vdev.
    pub next: u64,
    /// When it was begun, or has ended: seconds since 1970.
    pub time: u64,
    /// Of trimming: bytes a second, 0: as fast as it goes. Of initializing: what is written.
    pub how: u64,
}

/// What an operator asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SweepCommand {
    /// Begins, or goes on after a suspension; with [`LeafSweep::how`], where it is not to be as
    /// usual or as before.
    Start {
        how: Option<u64>,
    },
    Suspend,
    Cancel,
    /// As if it had never been done.
    Forget,
}

/// A disk whose trimming or initializing is in another state (`STATE_…`) than it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SweepChange {
    pub leaf: u64,
    pub kind: SweepKind,
    pub before: u64,
    pub now: u64,
}

/// All sweeps of a pool.
pub struct Sweeps {
    env: Env,
    shared: Arc<Shared>,
    worker: OnceLock<WorkerHandle>,
}

#[derive(Default)]
struct Shared {
    leaves: Mutex<BTreeMap<(u64, SweepKind), Progress>>,
    /// Groups since freed space was last trimmed; `None`: not automatic.
    automatic: Mutex<Option<u64>>,
    /// Freed space is due.
    due: AtomicBool,
}

struct Progress {
    sweep: LeafSweep,
    /// Something of it is not in the ZAP yet.
    dirty: bool,
    /// When the next step is allowed.
    not_before: Nanos,
}

impl Sweeps {
    /// Of a pool of which nothing has ever been swept.
    pub fn new(env: Env) -> Sweeps {
        Sweeps { env, shared: Arc::default(), worker: OnceLock::new() }
    }

    /// Reads how far each disk of a tree is.
    pub fn load(env: Env, mos: &Arc<Objset>, tree: &VdevConfig) -> Result<Sweeps> {
        let sweeps = Sweeps::new(env);
        let mut zaps = Vec::new();
        tree.visit(&mut |vdev| {
            zaps.extend(vdev.leaf_zap.filter(|zap| *zap != 0).map(|zap| (vdev.guid, zap)));
        });
        for (guid, zap) in zaps {
            let zap = Zap::open(mos, zap)?;
            for kind in SweepKind::ALL {
                let ([state, next, time, how], _) = kind.names();
                let Some(state) = zap.find_u64(state)? else { continue };
                let sweep = LeafSweep {
                    state,
                    next: zap.find_u64(next)?.unwrap_or(0),
                    time: zap.find_u64(time)?.unwrap_or(0),
                    how: zap.find_u64(how)?.unwrap_or(kind.usual(&sweeps.env)),
                };
                lock(&sweeps.shared.leaves).insert((guid, kind), Progress::of(sweep));
            }
        }
        Ok(sweeps)
    }

    /// Begins to work on what is active.
    pub fn start(&self, storage: &Arc<Storage>, txgs: &Arc<Txgs>) {
        let worker = Sweeper {
            env: self.env.clone(),
            storage: Arc::downgrade(storage),
            txgs: Arc::downgrade(txgs),
            shared: self.shared.clone(),
        };
        let handle = storage.spawn(Box::new(worker));
        storage.stock_with(handle.clone());
        assert!(self.worker.set(handle).is_ok(), "it is started once");
    }

    /// Ends all work, and waits until no disk is forgetting anything any more.
    pub fn stop(&self) {
        self.worker.get().inspect(|worker| worker.stop_and_join());
    }

    fn wake(&self) {
        self.worker.get().inspect(|worker| worker.wake());
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
            if *groups >= self.env.tunable(Tunable::TrimTxgBatch) {
                *groups = 0;
                self.shared.due.store(true, Relaxed);
                self.wake();
            }
        }
    }

    /// A disk was faulted.
    pub fn look_for_faulted(&self, storage: &Storage) {
        self.shared.end_with_faulted(&self.env, storage);
    }

    /// A disk leaves the pool.
    pub fn forget(&self, leaf: u64) {
        lock(&self.shared.leaves).retain(|(whose, _), _| *whose != leaf);
    }

    /// A disk has another guid now; what was begun on it goes on.
    pub fn rename(&self, before: u64, now: u64) {
        let mut leaves = lock(&self.shared.leaves);
        for kind in SweepKind::ALL {
            if let Some(progress) = leaves.remove(&(before, kind)) {
                leaves.insert((now, kind), progress);
            }
        }
    }

    /// How the trimming or initializing of a disk is; `None`: it has never been done.
    pub fn of(&self, leaf: u64, kind: SweepKind) -> Option<LeafSweep> {
        lock(&self.shared.leaves).get(&(leaf, kind)).map(|progress| progress.sweep)
    }

    /// Does what is asked with one disk. Its ZAP knows with the next group.
    pub fn command(
        &self,
        storage: &Storage,
        leaf: u64,
        kind: SweepKind,
        command: SweepCommand,
    ) -> std::result::Result<(), SweepFault> {
        if !storage.leaves().iter().any(|handle| handle.guid == leaf) {
            return Err(SweepFault::NoDevice);
        }
        match kind {
            SweepKind::Trim if !storage.can_trim(leaf) => return Err(SweepFault::NotSupported),
            SweepKind::Initialize if !storage.is_usable(leaf) => return Err(SweepFault::OutOfUse),
            _ => {}
        }
        let now = self.env.clock.wall().secs.max(0) as u64;
        let fresh = LeafSweep { state: STATE_NONE, next: 0, time: now, how: kind.usual(&self.env) };
        let mut leaves = lock(&self.shared.leaves);
        let progress = leaves.entry((leaf, kind)).or_insert_with(|| Progress::of(fresh));
        let sweep = &mut progress.sweep;
        match (command, sweep.state) {
            (SweepCommand::Start { .. } | SweepCommand::Forget, STATE_ACTIVE) => {
                return Err(kind.running());
            }
            (SweepCommand::Start { how }, state) => {
                if state != STATE_SUSPENDED {
                    *sweep = fresh;
                }
                sweep.state = STATE_ACTIVE;
                sweep.how = how.unwrap_or(sweep.how);
                progress.not_before = Nanos(0);
            }
            (SweepCommand::Suspend, STATE_ACTIVE) => sweep.state = STATE_SUSPENDED,
            (SweepCommand::Cancel, STATE_ACTIVE | STATE_SUSPENDED) => {
                (sweep.state, sweep.time) = (STATE_CANCELED, now);
            }
            (SweepCommand::Suspend | SweepCommand::Cancel, _) => return Err(kind.not_running()),
            (SweepCommand::Forget, _) => *sweep = fresh,
        }
        progress.dirty = true;
        drop(leaves);
        self.wake();
        Ok(())
    }

    /// Writes down how far each disk is; gives those that are in another state than what was
    /// written. Syncing context, first pass.
    pub fn persist(
        &self,
        mos: &Arc<Objset>,
        tree: impl FnOnce() -> VdevConfig,
        tx: &Tx,
    ) -> Result<Vec<SweepChange>> {
        let (mut changed, mut changes) = (Vec::new(), Vec::new());
        for (whose, progress) in lock(&self.shared.leaves).iter_mut().filter(|(_, progress)| progress.dirty) {
            progress.dirty = false;
            changed.push((*whose, progress.sweep));
        }
        if changed.is_empty() {
            return Ok(changes);
        }
        let tree = tree();
        for ((leaf, kind), sweep) in changed {
            let mut zap = None;
            tree.visit(&mut |vdev| {
                if vdev.guid == leaf {
                    zap = vdev.leaf_zap.filter(|zap| *zap != 0);
                }
            });
            let Some(zap) = zap else { continue };
            let zap = Zap::open(mos, zap)?;
            let (names, zeros) = kind.names();
            let before = zap.find_u64(names[0])?.unwrap_or(STATE_NONE);
            if before != sweep.state {
                changes.push(SweepChange { leaf, kind, before, now: sweep.state });
            }
            let numbers = [sweep.state, sweep.next, sweep.time, sweep.how];
            for (name, number) in names.iter().zip(numbers).chain(zeros.iter().map(|name| (name, 0))) {
                if sweep.state != STATE_NONE {
                    zap.update(name, number, tx)?;
                } else if zap.find_u64(name)?.is_some() {
                    zap.remove(name, tx)?;
                }
            }
        }
        Ok(changes)
    }
}

impl Shared {
    /// Nobody knows what a disk has that is faulted: what was begun on it ends. Whether there was
    /// anything.
    fn end_with_faulted(&self, env: &Env, storage: &Storage) -> bool {
        let wall = env.clock.wall().secs.max(0) as u64;
        let mut has_ended = false;
        for ((leaf, _), progress) in lock(&self.leaves).iter_mut().filter(|(_, it)| it.is_active()) {
            if storage.leaf_state(*leaf) == Some(VdevState::Faulted) {
                (progress.sweep.state, progress.sweep.time, progress.dirty) = (STATE_CANCELED, wall, true);
                has_ended = true;
            }
        }
        has_ended
    }
}

impl Progress {
    fn of(sweep: LeafSweep) -> Progress {
        Progress { sweep, dirty: false, not_before: Nanos(0) }
    }

    fn is_active(&self) -> bool {
        self.sweep.state == STATE_ACTIVE
    }
}

/// Works on what is active, a stretch a step.
struct Sweeper {
    env: Env,
    storage: Weak<Storage>,
    txgs: Weak<Txgs>,
    shared: Arc<Shared>,
}

impl Sweeper {
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
    fn manual(&self, storage: &Storage, whose: (u64, SweepKind), sweep: LeafSweep, now: Nanos) {
        let (leaf, kind) = whose;
        let rate = if kind == SweepKind::Trim { sweep.how } else { 0 };
        let (what, step) = match kind {
            SweepKind::Trim if rate == 0 => (Sweep::Forget, STEP),
            SweepKind::Trim => (Sweep::Forget, rate.clamp(64 << 10, STEP)),
            SweepKind::Initialize => {
                let chunk = self.env.tunable(Tunable::InitializeChunkSize);
                (Sweep::Fill { value: sweep.how, chunk }, FILL_STEP)
            }
        };
        let outcome = storage.sweep_next(leaf, what, sweep.next, step);
        let wall = self.env.clock.wall().secs.max(0) as u64;
        let mut leaves = lock(&self.shared.leaves);
        let Some(progress) = leaves.get_mut(&whose).filter(|progress| progress.is_active()) else { return };
        let is_away = matches!(outcome, Err(SweepError::Gone | SweepError::Disk(DiskError::Gone)));
        progress.dirty |= !is_away;
        match outcome {
            Ok(Some(swept)) => {
                progress.sweep.next = swept.next;
                if let Some(span) = (swept.bytes * 1_000_000_000).checked_div(rate) {
                    progress.not_before = Nanos(now.0 + span);
                } else if kind == SweepKind::Initialize && storage.is_busy() {
                    // Others want the disks: as much time for them.
                    let after = self.env.clock.now();
                    progress.not_before = after + after.since(now);
                }
            }
            Ok(None) => (progress.sweep.state, progress.sweep.time) = (STATE_COMPLETE, wall),
            Err(SweepError::Disk(DiskError::Unsupported)) => progress.sweep.state = STATE_CANCELED,
            // It goes on when the disk is back.
            Err(_) if is_away => progress.not_before = now + AWAY,
            // It goes on when an operator says so.
            Err(error) => {
                tracing::warn!(leaf, ?error, "{} is suspended", kind.name());
                progress.sweep.state = STATE_SUSPENDED;
            }
        }
        let has_ended = !progress.is_active();
        drop(leaves);
        if let Some(txgs) = self.txgs.upgrade().filter(|_| has_ended) {
            // It is told of, and written down, also where nobody writes anything.
            txgs.request_sync();
        }
    }
}

impl Worker for Sweeper {
    fn name(&self) -> &'static str {
        "sweep"
    }

    fn step(&mut self, now: Nanos) -> Next {
        let Some(storage) = self.storage.upgrade() else { return Next::Stop };
        if storage.is_suspended() {
            return Next::WaitForWork;
        }
        let more = self.automatic(&storage) | storage.stock_logs();
        if self.shared.end_with_faulted(&self.env, &storage)
            && let Some(txgs) = self.txgs.upgrade()
        {
            txgs.request_sync();
        }
        let active: Vec<_> = lock(&self.shared.leaves)
            .iter()
            .filter(|(_, progress)| progress.is_active() && progress.not_before <= now)
            .map(|(whose, progress)| (*whose, progress.sweep))
            .collect();
        for (whose, sweep) in active {
            self.manual(&storage, whose, sweep, now);
        }
        let leaves = lock(&self.shared.leaves);
        let waiting = leaves.values().filter(|progress| progress.is_active());
        match waiting.map(|progress| progress.not_before).min_by_key(|time| time.0) {
            _ if more => Next::Again,
            None => Next::WaitForWork,
            Some(time) if time <= self.env.clock.now() => Next::Again,
            // Disks may come, go and fail meanwhile.
            Some(time) => Next::WaitUntil(time.min(now + AWAY)),
        }
    }
}
