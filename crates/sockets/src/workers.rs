//! A bounded pool of threads for requests that wait: grown as requests wait, shrunk as threads
//! stand idle.
//!
//! A job goes to the thread that became idle last: its memory is warm, and the others age until
//! they end. A thread that finishes a job first looks for the next, and may take what another was
//! woken for. So there are as many threads as requests were waiting at a time lately.
//!
//! A pool that many connections use is shared fairly: a connection may have so many jobs at a time
//! that all busy ones together just fill it ([`Workers::share`]).
//!
//! Invariants:
//! - While a thread is idle, for each job that waits another thread has been woken or started.
//! - A job wakes one thread at the most. The one lock is taken by who submits the job, by the
//!   thread that is woken, and by the thread that has done it.
//! - If no thread can be made, those who submit do what waits, one job each, or all where there is
//!   no thread.
//! - A job that panics ends no thread, and is counted no more ([`Flight`]).

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use crate::lock::lock;

type Job = Box<dyn FnOnce() + Send>;

/// What the threads of a pool are like.
pub struct Config {
    /// What a thread is called, by its number.
    pub name: fn(u64) -> String,
    /// So many at the most.
    pub threads: usize,
    /// Bytes of a stack. What is never touched takes no memory.
    pub stack: usize,
    /// How long a thread stands idle before it ends.
    pub idle_age: Duration,
}

/// See the module. Dropping it ends its threads, as soon as they have done what waits.
pub struct Workers(Arc<Shared>);

struct Shared {
    config: Config,
    state: Mutex<State>,
    /// Jobs that no thread has taken yet, to be read without the lock.
    queued: AtomicUsize,
    /// The last thread has ended.
    ended: Condvar,
    /// Connections that have jobs here.
    busy: AtomicUsize,
}

#[derive(Default)]
struct State {
    /// What no thread has taken yet.
    jobs: VecDeque<Job>,
    /// The last one became idle last.
    idle: Vec<Arc<Seat>>,
    /// Threads that were started or called, and have not looked for jobs since.
    coming: usize,
    threads: usize,
    /// Names them.
    started: u64,
    closed: bool,
}

/// Where an idle thread sits.
#[derive(Default)]
struct Seat {
    /// It is not among the idle any more. Changed with the state locked.
    is_called: AtomicBool,
    called: Condvar,
}

impl Shared {
    /// A thread, from its beginning to its end.
    fn work(&self) {
        let seat = Arc::new(Seat::default());
        let mut state = lock(&self.state);
        loop {
            state.coming -= 1;
            let mut some = true;
            while some {
                (state, some) = self.work_one(state);
            }
            if state.closed {
                break;
            }
            state.idle.push(seat.clone());
            let uncalled = |_: &mut State| !seat.is_called.load(Relaxed);
            let waited = seat.called.wait_timeout_while(state, self.config.idle_age, uncalled);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
            if !seat.is_called.swap(false, Relaxed) {
                state.idle.retain(|other| !Arc::ptr_eq(other, &seat));
                break;
            }
        }
        // Under the lock under which it found no job: whoever submits counts on those that are
        // counted.
        self.count_out(&mut state);
    }

    /// Does the job that waits first; false: none waits.
    fn work_one<'a>(&'a self, mut state: MutexGuard<'a, State>) -> (MutexGuard<'a, State>, bool) {
        let Some(job) = state.jobs.pop_front() else { return (state, false) };
        self.queued.store(state.jobs.len(), Relaxed);
        drop(state);
        if catch_unwind(AssertUnwindSafe(job)).is_err() {
            tracing::error!("a job ended in a panic");
        }
        (lock(&self.state), true)
    }

    /// A thread ends, or could not be made.
    fn count_out(&self, state: &mut State) {
        state.threads -= 1;
        if state.threads == 0 {
            self.ended.notify_all();
        }
    }
}

impl Workers {
    /// A pool that has no thread yet.
    pub fn new(config: Config) -> Workers {
        Workers(Arc::new(Shared {
            config,
            state: Mutex::default(),
            queued: AtomicUsize::new(0),
            ended: Condvar::new(),
            busy: AtomicUsize::new(0),
        }))
    }

    /// False when `most` jobs wait already: then the caller had better do its own itself.
    pub fn has_room(&self, most: usize) -> bool {
        self.0.config.threads > 0 && self.0.queued.load(Relaxed) < most
    }

    /// Jobs that one connection may have at a time now: `least`, however many are busy.
    pub fn share(&self, least: usize) -> usize {
        (self.0.config.threads / self.0.busy.load(Relaxed).max(1)).max(least)
    }

    /// The jobs of a connection that has none yet.
    pub fn jobs(&self) -> Arc<Jobs> {
        Arc::new(Jobs { pool: self.0.clone(), in_flight: Mutex::new(0), landed: Condvar::new() })
    }

    /// Queues a job. The queue is as long as those who submit let it be: by asking
    /// [`Workers::has_room`] first, or by what they may have under way.
    pub fn submit(&self, job: impl FnOnce() + Send + 'static) {
        let mut state = lock(&self.0.state);
        state.jobs.push_back(Box::new(job));
        self.0.queued.store(state.jobs.len(), Relaxed);
        if state.coming >= state.jobs.len() {
            return;
        }
        if let Some(seat) = state.idle.pop() {
            state.coming += 1;
            seat.is_called.store(true, Relaxed);
            drop(state);
            seat.called.notify_one();
        } else if state.threads < self.0.config.threads {
            state.coming += 1;
            state.threads += 1;
            state.started += 1;
            let number = state.started;
            drop(state);
            self.start(number);
        }
    }

    fn start(&self, number: u64) {
        let Config { name, stack, .. } = self.0.config;
        let shared = self.0.clone();
        let thread = thread::Builder::new().name(name(number)).stack_size(stack);
        if let Err(error) = thread.spawn(move || shared.work()) {
            tracing::warn!(%error, "no thread for another worker");
            let mut state = lock(&self.0.state);
            state.coming -= 1;
            self.0.count_out(&mut state);
            // The caller stands in for it: for one job, and for the next while nobody else would
            // take it.
            loop {
                let (next, some) = self.0.work_one(state);
                state = next;
                if !some || state.threads > 0 {
                    return;
                }
            }
        }
    }

    /// Threads end that find nothing to do any more.
    fn close(&self) -> MutexGuard<'_, State> {
        let mut state = lock(&self.0.state);
        state.closed = true;
        let idle = std::mem::take(&mut state.idle);
        state.coming += idle.len();
        for seat in idle {
            seat.is_called.store(true, Relaxed);
            seat.called.notify_one();
        }
        state
    }

    /// Does what is queued, then ends all threads. Not for a thread of the pool.
    pub fn stop(&self) {
        let waited = self.0.ended.wait_while(self.close(), |state| state.threads > 0);
        drop(waited.unwrap_or_else(PoisonError::into_inner));
    }
}

impl Drop for Workers {
    /// Waits for nobody: the last job of a connection may be who drops it.
    fn drop(&mut self) {
        drop(self.close());
    }
}

/// The jobs that one connection has with a pool, counted by who submits them.
pub struct Jobs {
    pool: Arc<Shared>,
    in_flight: Mutex<usize>,
    /// There are none any more.
    landed: Condvar,
}

impl Jobs {
    pub fn in_flight(&self) -> usize {
        *lock(&self.in_flight)
    }

    /// Counts one more, to be called before it is submitted. The job drops what it is given here
    /// when it is done.
    pub fn take_off(self: &Arc<Self>) -> Flight {
        let mut in_flight = lock(&self.in_flight);
        *in_flight += 1;
        if *in_flight == 1 {
            self.pool.busy.fetch_add(1, Relaxed);
        }
        Flight(self.clone())
    }

    /// Returns when all are done.
    pub fn wait(&self) {
        let waited = self.landed.wait_while(lock(&self.in_flight), |in_flight| *in_flight > 0);
        drop(waited.unwrap_or_else(PoisonError::into_inner));
    }
}

/// A job that is counted until this is dropped, so also if it panics.
#[must_use]
pub struct Flight(Arc<Jobs>);

impl Drop for Flight {
    fn drop(&mut self) {
        let mut in_flight = lock(&self.0.in_flight);
        *in_flight -= 1;
        if *in_flight == 0 {
            self.0.pool.busy.fetch_sub(1, Relaxed);
            self.0.landed.notify_all();
        }
    }
}

#[cfg(test)]
mod tests;
