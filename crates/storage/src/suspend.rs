//! A pool that lost more than it can: what becomes of its I/O until an operator decides.
//!
//! ```text
//!             a write, a flush or a needed read fails beyond redundancy
//!   running ───────────────────────────────────────────────────────────▶ suspended ──`zpool clear`──▶ running
//!                                                                            └──export -f──▶ given up
//! ```
//! While a pool is suspended, whoever met the failure is *parked*: it waits inside the call that
//! failed, with all that it has in memory, and tries again once the pool is resumed. So a
//! transaction group that was half written goes on where it stood, what it allocated and freed
//! still holds, and those who wait for the group notice nothing but time. What the disks took and
//! had not flushed when they went is not believed: it is kept in memory until a flush has made it
//! durable ([`crate::unflushed`]) and is written again, in whole, before anything else is.
//!
//! The property `failmode` says what happens to others meanwhile:
//! - `wait`: new changes and reads of what cannot be read wait too;
//! - `continue`: new changes and reads that fail are answered with an error, what can be read is
//!   read;
//! - `panic`: the pool is given up at once. A machine would stop to let another take over; here it
//!   is the pool alone that stops, for good: every call fails, and it can be exported and imported
//!   again.
//!
//! Whoever is in a hurry ([`stdx::patience`]), as servers are whose threads serve other pools too,
//! does not wait in any case, be it that its call began before: it hears that it should ask again.
//!
//! A pool is given up, too, by `zpool export -f`, and where one of its workers panics
//! ([`crate::keeper`]). Before a pool is patient ([`Suspension::be_patient`]: it has been imported)
//! failures are errors. Source: module/zfs/zio.c (`zio_suspend`, `zio_resume`, `zio_done`).

use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering::SeqCst};
use std::sync::{Condvar, Mutex, OnceLock};

use env::{Env, Quirk, lock};
use stdx::mark::mark;
use stdx::patience::is_hurried;
use stdx::scoped;

/// The property `failmode`, by the numbers it has on disk.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(u8)]
pub enum FailMode {
    #[default]
    Wait,
    Continue,
    Panic,
}

impl FailMode {
    /// An unknown number waits: that loses nothing.
    pub fn from_raw(raw: u64) -> FailMode {
        match raw {
            1 => FailMode::Continue,
            2 => FailMode::Panic,
            _ => FailMode::Wait,
        }
    }
}

/// Why a pool is suspended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cause {
    /// I/O failed beyond redundancy.
    Io,
    /// Other hosts may think that this one is gone: it could not tell them in time that it uses the
    /// pool.
    Multihost,
    /// A worker panicked: a defect of this program.
    Fault,
}

/// Why something is refused while a pool is suspended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refusal {
    /// By `failmode=continue`: an error now.
    Error,
    /// The caller is in a hurry ([`stdx::patience`]): later.
    Later,
    /// The pool has been given up.
    GivenUp,
}

/// Hears of every change of a suspension, and for what, if the pool has just been suspended. Called
/// without locks.
pub type Listener = Box<dyn Fn(Option<Cause>) + Send + Sync>;

/// Whether a pool is suspended, and those who wait for its end.
pub struct Suspension {
    env: Env,
    mode: AtomicU8,
    /// What `state` says, for a quick look.
    is_on: AtomicBool,
    state: Mutex<State>,
    changed: Condvar,
    listener: OnceLock<Listener>,
}

#[derive(Default)]
struct State {
    cause: Option<Cause>,
    /// Who panicked, and saying what.
    fault: Option<String>,
    patient: bool,
}

thread_local!(static INSISTS: RefCell<bool> = const { RefCell::new(false) });

/// Runs something that must not fail half done: a transaction group being written. Its reads wait
/// for a suspended pool whatever `failmode` says and whatever the error is.
pub fn insisting<T>(work: impl FnOnce() -> T) -> T {
    scoped::set_during(&INSISTS, true, work)
}

/// Whether this thread is [`insisting`].
pub(crate) fn insists() -> bool {
    INSISTS.with_borrow(|insists| *insists)
}

impl Suspension {
    pub fn new(env: Env) -> Suspension {
        Suspension {
            env,
            mode: AtomicU8::new(FailMode::Wait as u8),
            is_on: AtomicBool::new(false),
            state: Mutex::default(),
            changed: Condvar::new(),
            listener: OnceLock::new(),
        }
    }

    /// Once.
    pub fn listen(&self, listener: Listener) {
        assert!(self.listener.set(listener).is_ok(), "there is one listener");
    }

    pub fn set_mode(&self, mode: FailMode) {
        self.mode.store(mode as u8, SeqCst);
    }

    pub fn mode(&self) -> FailMode {
        FailMode::from_raw(u64::from(self.mode.load(SeqCst)))
    }

    /// From now on who meets a failure waits.
    pub fn be_patient(&self) {
        lock(&self.state).patient = true;
    }

    pub fn is_patient(&self) -> bool {
        lock(&self.state).patient
    }

    pub fn is_suspended(&self) -> bool {
        self.is_on.load(SeqCst)
    }

    /// Why the pool is suspended, if it is.
    pub fn cause(&self) -> Option<Cause> {
        lock(&self.state).cause
    }

    /// Whether somebody may wait for an operator now.
    pub fn is_waiting(&self) -> bool {
        self.is_suspended() && self.is_patient()
    }

    /// Whether new work would have to wait for an operator.
    pub fn makes_wait(&self) -> bool {
        self.is_suspended() && self.mode() == FailMode::Wait && self.is_patient()
    }

    /// Suspends the pool. Nothing happens if it is suspended already for a reason no better.
    pub fn suspend(&self, cause: Cause) {
        let mut state = lock(&self.state);
        // That others may have the pool is worse than that it lacks disks, and it stays so.
        if state.cause == Some(cause) || matches!(state.cause, Some(Cause::Multihost | Cause::Fault)) {
            return;
        }
        tracing::error!(?cause, mode = ?self.mode(), "the pool is suspended");
        state.cause = Some(cause);
        state.patient &= self.mode() != FailMode::Panic && !self.env.quirk(Quirk::NoOperator);
        self.is_on.store(true, SeqCst);
        self.tell(state, Some(cause));
    }

    /// A defect of this program met the pool: it is given up, whatever `failmode` says. `what`
    /// tells who panicked, and why.
    pub fn fault(&self, what: String) {
        let mut state = lock(&self.state);
        tracing::error!(what, "the pool is suspended: a defect of this program; export and import it");
        state.fault.get_or_insert(what);
        state.patient = false;
        state.cause = state.cause.filter(|cause| *cause == Cause::Multihost).or(Some(Cause::Fault));
        self.is_on.store(true, SeqCst);
        self.tell(state, Some(Cause::Fault));
    }

    /// What [`Suspension::fault`] was told first.
    pub fn fault_text(&self) -> Option<String> {
        lock(&self.state).fault.clone()
    }

    /// Lets everybody try again; false if the pool has been given up, or another host may have it.
    pub fn resume(&self) -> bool {
        let mut state = lock(&self.state);
        if state.cause == Some(Cause::Multihost) || (state.cause.is_some() && !state.patient) {
            return false;
        }
        if state.cause.is_some() {
            mark("suspended pool goes on");
        }
        state.cause = None;
        self.is_on.store(false, SeqCst);
        self.tell(state, None);
        true
    }

    /// Nobody waits any more: who is parked fails, and whoever fails later.
    pub fn give_up(&self) {
        let mut state = lock(&self.state);
        state.patient = false;
        self.tell(state, None);
    }

    fn tell(&self, state: std::sync::MutexGuard<'_, State>, begun: Option<Cause>) {
        drop(state);
        self.changed.notify_all();
        if let Some(listener) = self.listener.get() {
            listener(begun);
        }
    }

    /// Waits while the pool is suspended; false if it has been given up.
    pub fn park(&self) -> bool {
        let mut over = |state: &mut State| state.cause.is_none() || !state.patient;
        // Others that run in here meanwhile do not insist.
        scoped::set_during(&INSISTS, false, || {
            let state = lock(&self.state);
            self.env.wait_outside(&self.state, state, &self.changed, &mut over).cause.is_none()
        })
    }

    /// For new work: waits or refuses, as `failmode` has it.
    pub fn admit(&self) -> Result<(), Refusal> {
        if !self.is_suspended() {
            return Ok(());
        }
        match self.refusal() {
            Some(refusal) => Err(refusal),
            None if self.park() => Ok(()),
            None => Err(Refusal::GivenUp),
        }
    }

    /// What those hear who do not wait.
    pub fn refusal(&self) -> Option<Refusal> {
        if !self.is_suspended() {
            return None;
        }
        let state = lock(&self.state);
        match (state.cause, state.patient, self.mode()) {
            (None, ..) => None,
            (Some(_), false, _) => Some(Refusal::GivenUp),
            (Some(_), true, FailMode::Continue) => Some(Refusal::Error),
            (Some(_), true, _) if is_hurried() => Some(Refusal::Later),
            (Some(_), true, FailMode::Wait | FailMode::Panic) => None,
        }
    }
}

#[cfg(test)]
mod tests;
