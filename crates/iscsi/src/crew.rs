//! The threads that work on one session's commands: as many as there is work for, none when there
//! is none.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use crate::limits::{CREW, IDLE_THREAD, THREAD_STACK};
use crate::lock::lock;

type Job = Box<dyn FnOnce() + Send>;

/// See the module.
#[derive(Default)]
pub struct Crew {
    state: Mutex<State>,
    work: Condvar,
}

#[derive(Default)]
struct State {
    queue: VecDeque<Job>,
    threads: usize,
    idle: usize,
}

impl Crew {
    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    pub fn submit(self: &Arc<Crew>, job: Job) {
        let mut state = self.state();
        state.queue.push_back(job);
        if state.idle >= state.queue.len() || state.threads == CREW {
            drop(state);
            self.work.notify_one();
            return;
        }
        state.threads += 1;
        drop(state);
        let crew = self.clone();
        let thread = thread::Builder::new().name("iscsi-crew".to_owned()).stack_size(THREAD_STACK);
        if thread.spawn(move || crew.run()).is_err() {
            self.state().threads -= 1;
            // No threads to be had: whoever submits works.
            while self.step(self.state()) {}
        }
    }

    fn run(&self) {
        let mut state = self.state();
        loop {
            if state.queue.is_empty() {
                state.idle += 1;
                let empty = |state: &mut State| state.queue.is_empty();
                let waited = self.work.wait_timeout_while(state, IDLE_THREAD, empty);
                state = waited.unwrap_or_else(PoisonError::into_inner).0;
                state.idle -= 1;
            }
            let Some(job) = state.queue.pop_front() else {
                // Under the same lock: whoever submits counts on a thread that is counted.
                state.threads -= 1;
                return;
            };
            drop(state);
            job();
            state = self.state();
        }
    }

    /// Does one job; false if there is none.
    fn step(&self, mut state: MutexGuard<'_, State>) -> bool {
        let Some(job) = state.queue.pop_front() else { return false };
        drop(state);
        job();
        true
    }
}
