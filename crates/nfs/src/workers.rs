//! A bounded pool of threads for requests that wait: shared by all connections, started as they are needed.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use crate::limits::QUEUED_REQUESTS;

type Job = Box<dyn FnOnce() + Send>;

pub struct Workers {
    shared: Arc<Shared>,
    max: usize,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    posted: Condvar,
}

#[derive(Default)]
struct State {
    jobs: VecDeque<Job>,
    idle: usize,
    threads: usize,
    closed: bool,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn work(&self) {
        let mut state = self.lock();
        loop {
            if let Some(job) = state.jobs.pop_front() {
                drop(state);
                job();
                state = self.lock();
            } else if state.closed {
                return;
            } else {
                state.idle += 1;
                state = self.posted.wait(state).unwrap_or_else(PoisonError::into_inner);
                state.idle -= 1;
            }
        }
    }
}

impl Workers {
    /// At most `max` threads.
    pub fn new(max: usize) -> Workers {
        Workers { shared: Arc::default(), max, threads: Mutex::default() }
    }

    /// False when too many jobs wait already: then the caller had better do its own itself.
    pub fn has_room(&self) -> bool {
        self.max > 0 && self.shared.lock().jobs.len() < QUEUED_REQUESTS
    }

    /// Queues a job. The bound of the queue is kept by asking [`Workers::has_room`] first, to within one job of each
    /// connection.
    pub fn submit(&self, job: Job) {
        let mut state = self.shared.lock();
        state.jobs.push_back(job);
        // Sleepers that have been woken still count as idle, hence the comparison with all that waits.
        if state.idle < state.jobs.len() && state.threads < self.max {
            state.threads += 1;
            let name = format!("nfs-{}", state.threads);
            drop(state);
            self.start(name);
        } else {
            drop(state);
            self.shared.posted.notify_one();
        }
    }

    fn start(&self, name: String) {
        let shared = self.shared.clone();
        match std::thread::Builder::new().name(name).spawn(move || shared.work()) {
            Ok(thread) => self.threads.lock().unwrap_or_else(PoisonError::into_inner).push(thread),
            Err(error) => {
                tracing::warn!(%error, "no thread for another worker");
                // Work on with those there are; the very first one is needed.
                let mut state = self.shared.lock();
                state.threads -= 1;
                let jobs = if state.threads == 0 { std::mem::take(&mut state.jobs) } else { VecDeque::new() };
                drop(state);
                jobs.into_iter().for_each(|job| job());
            }
        }
    }

    /// Does what is queued, then ends all threads.
    pub fn stop(&self) {
        self.shared.lock().closed = true;
        self.shared.posted.notify_all();
        let threads = std::mem::take(&mut *self.threads.lock().unwrap_or_else(PoisonError::into_inner));
        for thread in threads {
            if thread.join().is_err() {
                tracing::error!("a worker panicked");
            }
        }
    }
}
