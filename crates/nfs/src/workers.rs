//! A bounded pool of threads for requests that wait: shared by all connections, grown as requests
//! wait, shrunk as threads stand idle.
//!
//! A job goes to the thread that became idle last: its memory is warm, and those it was not needed
//! from age until they end. So there are as many threads as requests were waiting at a time lately.
//!
//! The pool is shared fairly: a connection may have so many jobs at a time that all busy ones
//! together just fill it (see [`Workers::share`]).

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::limits::{IDLE_THREAD, LEAST_SHARE, QUEUED_REQUESTS, THREAD_STACK};

type Job = Box<dyn FnOnce() + Send>;

pub struct Workers {
    shared: Arc<Shared>,
    max: usize,
}

struct Shared {
    state: Mutex<State>,
    /// The last thread has ended.
    ended: Condvar,
    /// Connections that have jobs here.
    busy: Arc<AtomicUsize>,
    /// How long a thread stands idle before it ends.
    idle_age: Duration,
}

#[derive(Default)]
struct State {
    /// What no thread has taken yet: only when there are no idle ones.
    jobs: VecDeque<Job>,
    /// The last one became idle last.
    idle: Vec<Arc<Seat>>,
    threads: usize,
    /// Names them.
    started: u64,
    closed: bool,
}

/// Where an idle thread sits. The mutex is taken with that of the state held, never the other way
/// round.
#[derive(Default)]
struct Seat {
    call: Mutex<Call>,
    called: Condvar,
}

#[derive(Default)]
enum Call {
    #[default]
    None,
    Work(Job),
    Close,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Seat {
    fn call(&self, call: Call) {
        *lock(&self.call) = call;
        self.called.notify_one();
    }

    /// Waits to be called, at most until the deadline.
    fn wait(&self, deadline: Instant) -> Call {
        let mut call = lock(&self.call);
        loop {
            match std::mem::take(&mut *call) {
                Call::None => {}
                other => return other,
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Call::None;
            }
            call = self.called.wait_timeout(call, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

/// Counts a thread out however it ends.
struct Leaving<'a>(&'a Shared);

impl Drop for Leaving<'_> {
    fn drop(&mut self) {
        lock(&self.0.state).threads -= 1;
        self.0.ended.notify_all();
    }
}

impl Shared {
    fn work(&self, first: Job) {
        let _leaving = Leaving(self);
        let seat = Arc::new(Seat::default());
        let mut job = Some(first);
        while let Some(work) = job {
            work();
            job = self.next(&seat);
        }
    }

    /// The thread's next job; `None` ends it.
    fn next(&self, seat: &Arc<Seat>) -> Option<Job> {
        let mut state = lock(&self.state);
        if let Some(job) = state.jobs.pop_front() {
            return Some(job);
        }
        if state.closed {
            return None;
        }
        state.idle.push(seat.clone());
        drop(state);
        match seat.wait(Instant::now() + self.idle_age) {
            Call::Work(job) => return Some(job),
            Call::Close => return None,
            Call::None => {}
        }
        let mut state = lock(&self.state);
        state.idle.retain(|other| !Arc::ptr_eq(other, seat));
        // It may have been called just now.
        match std::mem::take(&mut *lock(&seat.call)) {
            Call::Work(job) => Some(job),
            Call::Close | Call::None => None,
        }
    }
}

impl Workers {
    /// At most `max` threads.
    pub fn new(max: usize) -> Workers {
        Workers::with_idle_age(max, IDLE_THREAD)
    }

    fn with_idle_age(max: usize, idle_age: Duration) -> Workers {
        let shared =
            Shared { state: Mutex::default(), ended: Condvar::new(), busy: Arc::default(), idle_age };
        Workers { shared: Arc::new(shared), max }
    }

    /// False when too many jobs wait already: then the caller had better do its own itself.
    pub fn has_room(&self) -> bool {
        self.max > 0 && lock(&self.shared.state).jobs.len() < QUEUED_REQUESTS
    }

    /// The counter of connections that have jobs here. Each adds one with its first job and takes
    /// it off with its last.
    pub fn busy(&self) -> Arc<AtomicUsize> {
        self.shared.busy.clone()
    }

    /// Jobs that one connection may have at a time now.
    pub fn share(&self) -> usize {
        (self.max / self.shared.busy.load(Ordering::Relaxed).max(1)).max(LEAST_SHARE)
    }

    /// Queues a job. The bound of the queue is kept by asking [`Workers::has_room`] first, to
    /// within one job of each connection.
    pub fn submit(&self, job: Job) {
        let mut state = lock(&self.shared.state);
        if let Some(seat) = state.idle.pop() {
            seat.call(Call::Work(job));
        } else if state.threads < self.max {
            state.threads += 1;
            state.started += 1;
            let name = format!("nfs-{}", state.started);
            drop(state);
            self.start(name, job);
        } else {
            state.jobs.push_back(job);
        }
    }

    fn start(&self, name: String, job: Job) {
        let shared = self.shared.clone();
        // Where it can be had back from when there is no thread for it.
        let job = Arc::new(Mutex::new(Some(job)));
        let own = job.clone();
        let work = move || {
            let job = lock(&own).take();
            if let Some(job) = job {
                shared.work(job);
            }
        };
        if let Err(error) = std::thread::Builder::new().name(name).stack_size(THREAD_STACK).spawn(work) {
            tracing::warn!(%error, "no thread for another worker");
            drop(Leaving(&self.shared));
            if let Some(job) = lock(&job).take() {
                job();
            }
        }
    }

    /// Does what is queued, then ends all threads.
    pub fn stop(&self) {
        let mut state = lock(&self.shared.state);
        state.closed = true;
        for seat in std::mem::take(&mut state.idle) {
            seat.call(Call::Close);
        }
        while state.threads > 0 {
            state = self.shared.ended.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

#[cfg(test)]
mod tests;
