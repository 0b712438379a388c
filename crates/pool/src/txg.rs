//! Transaction groups: open → quiescing → syncing.
//!
//! Every change joins the open group and leaves it when it is complete in memory. From time to time
//! the open group is closed: no one may enter, whoever is inside finishes (quiescing), the next
//! group opens, and the closed one is written out (syncing) by the worker `txg-sync`. So at any
//! moment one group is open and at most one is syncing, and **transactions of two groups never
//! overlap**, on which `dmu`'s overlays rely.
//!
//! A group is closed when as much has changed in it as is worth writing at once, when somebody
//! waits for it, or five seconds after its first change. A pool without changes writes nothing.
//! Small changes here and there in large blocks make many times their size dirty; the longer such a
//! group is open, the more of them meet in the same block, which is written once. So it stays open
//! until half of the dirty limit is full.
//!
//! The throttle smooths rather than stops: above 60 % of the limit each newcomer is delayed, and
//! the delay grows with how little room is left. Delays are handed out one behind the other, so
//! that n writers together get the rate that one would. Only at the limit itself everyone waits for
//! the sync.
//!
//! A group that cannot be written for lack of disks waits inside the write
//! ([`storage::Suspension`]) and goes on when the pool is resumed; newcomers wait too, or get an
//! error, as `failmode` has it. A group that fails otherwise, or in a pool that was given up, is
//! never tried again: the machine stops, everyone waiting gets `Suspended`. The same holds when the
//! worker panics, or whoever is inside a group: a change that ended in the middle must not be
//! written. Sources: module/zfs/txg.c, dmu_tx.c (throttle, `dmu_tx_try_assign`).

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

use dmu::{DmuError, SyncError, TxHold};
use env::{Env, Nanos, Next, Quirk, Tunable, Worker, WorkerHandle, lock};
use stdx::trail::{self, Span};
use storage::{Refusal, Storage};

/// Changed bytes that are worth writing at once: as much as keeps any disk busy for a while, and
/// more would only keep those waiting who want them durable.
const SYNC_FROM: u64 = 64 << 20;

/// How much may be dirty and for how long.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Bytes dirty in memory at the most.
    pub dirty_max: u64,
    /// A group with changes is closed after this time; `None`: as the tunable says.
    pub timeout: Option<Nanos>,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { dirty_max: 256 << 20, timeout: None }
    }
}

impl Limits {
    /// From here on newcomers are delayed.
    fn delay_from(&self) -> u64 {
        self.dirty_max / 10 * 6
    }

    /// From so many changed bytes on the group is closed early, if they are no less than half of
    /// what is dirty.
    fn sync_from(&self) -> u64 {
        (self.dirty_max / 5).min(SYNC_FROM)
    }

    /// From so many dirty bytes on it is closed whatever they are.
    fn full_from(&self) -> u64 {
        self.dirty_max / 2
    }

    /// `zfs_delay_scale` and `zfs_delay_max_ns`, in nanoseconds.
    fn delay(&self, dirty: u64) -> Nanos {
        const SCALE: u64 = 500_000;
        const MAX: u64 = 100_000_000;
        let over = dirty.saturating_sub(self.delay_from());
        let room = self.dirty_max.saturating_sub(dirty).max(1);
        Nanos((u128::from(SCALE) * u128::from(over) / u128::from(room)).min(u128::from(MAX)) as u64)
    }
}

/// Whoever writes a group out. Returns when it is durable.
pub trait Syncing: Send + Sync {
    fn sync(&self, txg: u64) -> Result<(), SyncError>;
}

/// The machine. One per pool.
pub struct Txgs {
    env: Env,
    limits: Limits,
    state: Mutex<State>,
    changed: Condvar,
    worker: Mutex<Option<WorkerHandle>>,
    observer: OnceLock<Observer>,
    storage: OnceLock<Weak<Storage>>,
}

/// Hears by how many bytes what is dirty has grown, or shrunk.
pub type Observer = Box<dyn Fn(i64) + Send + Sync>;

#[derive(Default)]
struct State {
    /// The group that newcomers enter.
    open: u64,
    /// No one may enter: the open group is about to be closed.
    quiescing: bool,
    inside: usize,
    /// When the open group got its first member.
    touched: Option<Nanos>,
    /// Groups up to this one are wanted on disk.
    wanted: u64,
    synced: u64,
    /// Bytes by `txg & 3`.
    dirty: [u64; 4],
    /// Of those, how many have really changed.
    changed: [u64; 4],
    /// When the last delayed newcomer is let in.
    last_wakeup: Nanos,
    stopped: bool,
}

impl State {
    fn dirty(&self) -> u64 {
        self.dirty.iter().sum()
    }

    fn is_settled(&self, txg: u64) -> bool {
        self.synced >= txg || self.stopped
    }
}

impl Txgs {
    fn timeout(&self) -> Nanos {
        self.limits.timeout.unwrap_or_else(|| Nanos::from_secs(self.env.tunable(Tunable::TxgTimeout)))
    }

    /// A machine whose last durable group is `synced`. Nothing is written before [`Txgs::start`].
    pub fn new(env: Env, limits: Limits, synced: u64) -> Arc<Txgs> {
        let state = State { open: synced + 1, synced, ..State::default() };
        Arc::new(Txgs {
            env,
            limits,
            state: Mutex::new(state),
            changed: Condvar::new(),
            worker: Mutex::new(None),
            observer: OnceLock::new(),
            storage: OnceLock::new(),
        })
    }

    /// Once, before anything is dirty.
    pub fn observe(&self, observer: Observer) {
        assert!(self.observer.set(observer).is_ok(), "there is one observer");
    }

    /// From now on a transaction that begins while the pool is suspended waits, or is refused.
    /// To be called once. The suspension's listener calls [`Txgs::reconsider`].
    pub fn heed(&self, storage: &Arc<Storage>) {
        assert!(self.storage.set(Arc::downgrade(storage)).is_ok(), "a machine is of one pool");
    }

    /// Wakes all waiters, which check their conditions again.
    pub fn reconsider(&self) {
        self.changed.notify_all();
    }

    fn storage(&self) -> Option<Arc<Storage>> {
        self.storage.get()?.upgrade()
    }

    /// What those hear who may not wait for a suspended pool.
    fn refusal(&self) -> Option<DmuError> {
        self.storage()?.suspension().refusal().map(refused)
    }

    fn tell(&self, bytes: i64) {
        if let Some(observer) = self.observer.get().filter(|_| bytes != 0) {
            observer(bytes);
        }
    }

    /// `spawn` starts the worker.
    pub fn start(
        self: &Arc<Txgs>,
        syncing: Arc<dyn Syncing>,
        spawn: &dyn Fn(Box<dyn Worker>) -> WorkerHandle,
    ) {
        let worker = SyncWorker { txgs: self.clone(), syncing };
        *lock(&self.worker) = Some(spawn(Box::new(worker)));
    }

    /// Writes out what is dirty, then stops: nobody enters any more. `Err` if a group could not be
    /// written.
    pub fn stop(&self) -> Result<(), DmuError> {
        let written = self.sync_now().map(drop);
        lock(&self.state).stopped = true;
        self.changed.notify_all();
        let worker = lock(&self.worker).take();
        if let Some(worker) = worker {
            worker.wake();
            // A worker that panicked has said so and has stopped the machine; who exports its pool
            // shall live.
            if catch_unwind(AssertUnwindSafe(|| worker.stop_and_join())).is_err() {
                return Err(DmuError::Suspended);
            }
        }
        written
    }

    /// Enters the open group. With `wait`, waits for room, while a group closes and while the pool
    /// is suspended; without, `Busy`.
    pub fn enter(self: &Arc<Txgs>, wait: bool) -> Result<TxHold, DmuError> {
        if let Some(storage) = self.storage() {
            if !wait && storage.is_suspended() {
                return Err(DmuError::Busy);
            }
            storage.suspension().admit().map_err(refused)?;
        }
        let mut state = lock(&self.state);
        if !wait && (state.quiescing || state.dirty() >= self.limits.dirty_max) {
            return Err(DmuError::Busy);
        }
        if wait {
            let limit = self.limits.dirty_max;
            let wait = || {
                let state = self.delay(state);
                self.env.wait(&self.state, state, &self.changed, &mut |state| {
                    let room = !state.quiescing && state.dirty() < limit;
                    state.stopped || room || self.refusal().is_some()
                })
            };
            state = trail::during(Span::Group, || self.env.clock.now().0, wait);
            if let Some(refusal) = self.refusal() {
                return Err(refusal);
            }
        }
        self.join(state)
    }

    fn join(self: &Arc<Txgs>, mut state: MutexGuard<'_, State>) -> Result<TxHold, DmuError> {
        if state.stopped {
            return Err(DmuError::Suspended);
        }
        state.inside += 1;
        let txg = state.open;
        if state.touched.is_none() {
            state.touched = Some(self.env.clock.now());
            drop(state);
            self.wake();
        }
        let machine = self.clone();
        Ok(TxHold::new(txg, move || machine.leave()))
    }

    /// As [`Txgs::enter`], for whoever makes data durable: only a closing group is waited for, no
    /// matter how much is dirty.
    pub fn enter_now(self: &Arc<Txgs>) -> Result<TxHold, DmuError> {
        let state = lock(&self.state);
        let mut ready = |state: &mut State| state.stopped || !state.quiescing || self.refusal().is_some();
        let state = self.env.wait(&self.state, state, &self.changed, &mut ready);
        match self.refusal().filter(|_| state.quiescing) {
            Some(refusal) => Err(refusal),
            None => self.join(state),
        }
    }

    fn delay<'a>(&'a self, state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        let mut state = state;
        let dirty = state.dirty();
        if dirty <= self.limits.delay_from() || state.stopped {
            return state;
        }
        let delay = self.limits.delay(dirty);
        let now = self.env.clock.now();
        let until = Nanos((now.0 + delay.0).max(state.last_wakeup.0 + delay.0).min(now.0 + 100_000_000));
        state.last_wakeup = until;
        self.env.wait_until(&self.state, state, &self.changed, until, &mut |state| state.stopped).0
    }

    /// Whoever leaves because of a panic has changed something by half: the group, and all that
    /// follow, are never written.
    fn leave(&self) {
        if let Some(storage) = self.storage().filter(|_| std::thread::panicking()) {
            storage.suspension().fault("a change ended in the middle, by a panic".to_owned());
        }
        let mut state = lock(&self.state);
        state.inside -= 1;
        let last = state.inside == 0 && state.quiescing;
        drop(state);
        if last {
            self.wake();
        }
    }

    /// So many bytes became dirty in this group, and so many have changed.
    pub fn dirtied(&self, txg: u64, bytes: u64, changed: u64) {
        self.tell(bytes as i64);
        let mut state = lock(&self.state);
        state.dirty[txg as usize & 3] += bytes;
        state.changed[txg as usize & 3] += changed;
        let open = state.open;
        let (dirty, changed) = (state.dirty[open as usize & 3], state.changed[open as usize & 3]);
        if state.wanted < open && self.is_full(dirty, changed) {
            state.wanted = open;
            drop(state);
            self.wake();
        }
    }

    /// Whether a group is closed because of what is in it.
    fn is_full(&self, dirty: u64, changed: u64) -> bool {
        let (worth, most) = match self.env.quirk(Quirk::SmallTxg) {
            true => (64 << 10, 256 << 10),
            false => (self.limits.sync_from(), self.limits.full_from()),
        };
        dirty >= most || (changed >= worth && 2 * changed >= dirty)
    }

    /// So many of them are on disk, though not reachable yet.
    pub fn written(&self, txg: u64, bytes: u64) {
        let mut state = lock(&self.state);
        let dirty = &mut state.dirty[txg as usize & 3];
        let bytes = bytes.min(*dirty);
        *dirty -= bytes;
        drop(state);
        self.tell(-(bytes as i64));
        self.changed.notify_all();
    }

    /// Waits until `txg` is durable. The caller is in no group and holds no lock.
    pub fn wait_synced(&self, txg: u64) -> Result<(), DmuError> {
        let mut state = lock(&self.state);
        if state.synced >= txg {
            return Ok(());
        }
        state.wanted = state.wanted.max(txg.min(state.open));
        drop(state);
        self.wake();
        let state = lock(&self.state);
        let mut ready = |state: &mut State| state.is_settled(txg) || self.refusal().is_some();
        let wait = || self.env.wait(&self.state, state, &self.changed, &mut ready);
        let state = trail::during(Span::Group, || self.env.clock.now().0, wait);
        if state.synced >= txg { Ok(()) } else { Err(self.refusal().unwrap_or(DmuError::Suspended)) }
    }

    /// Makes everything durable that any finished transaction changed; gives the group that has it.
    pub fn sync_now(&self) -> Result<u64, DmuError> {
        let (touched, open, stopped) = {
            let state = lock(&self.state);
            (state.touched.is_some(), state.open, state.stopped)
        };
        if stopped {
            return Err(DmuError::Suspended);
        }
        let txg = if touched { open } else { open - 1 };
        self.wait_synced(txg).map(|()| txg)
    }

    /// Has the open group written out soon, even if nothing changed in it. Waits for nobody.
    pub fn request_sync(self: &Arc<Txgs>) {
        // A group that is closing just now will be followed by another anyway if it was wanted.
        drop(self.enter(false));
        let mut state = lock(&self.state);
        state.wanted = state.wanted.max(state.open);
        drop(state);
        self.wake();
    }

    /// Closes the open group even if nothing changed in it, and waits until it is durable.
    pub fn sync_empty(self: &Arc<Txgs>) -> Result<u64, DmuError> {
        let hold = self.enter(true)?;
        let txg = hold.txg();
        drop(hold);
        self.wait_synced(txg).map(|()| txg)
    }

    /// The last group on disk.
    pub fn synced(&self) -> u64 {
        lock(&self.state).synced
    }

    pub fn open(&self) -> u64 {
        lock(&self.state).open
    }

    /// Bytes dirty in memory.
    pub fn dirty(&self) -> u64 {
        lock(&self.state).dirty()
    }

    /// Bytes that may still become dirty.
    pub fn room(&self) -> u64 {
        self.limits.dirty_max.saturating_sub(self.dirty())
    }

    pub fn is_stopped(&self) -> bool {
        lock(&self.state).stopped
    }

    fn wake(&self) {
        let worker = lock(&self.worker).clone();
        worker.inspect(WorkerHandle::wake);
    }

    /// Nothing is ever written again; whoever waits is told.
    pub fn fail(&self) {
        // Also where a panic has left the lock poisoned.
        self.state.lock().unwrap_or_else(PoisonError::into_inner).stopped = true;
        self.changed.notify_all();
    }
}

impl Drop for Txgs {
    /// What could not be written is gone now.
    fn drop(&mut self) {
        self.tell(-(self.dirty() as i64));
    }
}

fn refused(refusal: Refusal) -> DmuError {
    match refusal {
        Refusal::Error => DmuError::Io,
        Refusal::Later | Refusal::GivenUp => DmuError::Suspended,
    }
}

struct SyncWorker {
    txgs: Arc<Txgs>,
    syncing: Arc<dyn Syncing>,
}

impl SyncWorker {
    /// When the open group is to be closed: `Ok` now, `Err` what to wait for.
    fn due(&self, now: Nanos) -> Result<(), Next> {
        let state = lock(&self.txgs.state);
        if state.stopped {
            return Err(Next::Stop);
        }
        if state.quiescing {
            return Ok(());
        }
        let Some(touched) = state.touched else { return Err(Next::WaitForWork) };
        let until = touched + self.txgs.timeout();
        if state.wanted >= state.open || now >= until { Ok(()) } else { Err(Next::WaitUntil(until)) }
    }

    /// Closes the open group; `None` while somebody is inside: who leaves last wakes the worker.
    fn quiesce(&self) -> Option<u64> {
        let mut state = lock(&self.txgs.state);
        state.quiescing = true;
        if state.inside > 0 {
            return None;
        }
        let txg = state.open;
        state.open += 1;
        state.quiescing = false;
        state.touched = None;
        drop(state);
        self.txgs.changed.notify_all();
        Some(txg)
    }
}

impl Worker for SyncWorker {
    fn name(&self) -> &'static str {
        "txg-sync"
    }

    fn step(&mut self, now: Nanos) -> Next {
        if let Err(next) = self.due(now) {
            return next;
        }
        let Some(txg) = self.quiesce() else { return Next::WaitForWork };
        let mut poison = Poison { txgs: &self.txgs, armed: true };
        match self.syncing.sync(txg) {
            Ok(()) => poison.armed = false,
            Err(error) => {
                tracing::error!(txg, %error, "transaction group could not be written; the pool is suspended");
                return Next::Stop;
            }
        }
        let mut state = lock(&self.txgs.state);
        state.synced = txg;
        let left = std::mem::take(&mut state.dirty[txg as usize & 3]);
        state.changed[txg as usize & 3] = 0;
        drop(state);
        self.txgs.tell(-(left as i64));
        self.txgs.changed.notify_all();
        Next::Again
    }
}

/// Stops the machine when a sync ends in anything but success, a panic included.
struct Poison<'a> {
    txgs: &'a Txgs,
    armed: bool,
}

impl Drop for Poison<'_> {
    fn drop(&mut self) {
        if self.armed {
            self.txgs.fail();
        }
    }
}

#[cfg(test)]
mod tests;
