//! A trace: the requests that somebody wants to see, until he takes them.
//!
//! Who takes them slowly loses the newest: what is there has been seen in one row, and how many
//! are missing behind it is told with the next that he takes.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use crate::filter::Filter;
use crate::observer::{Look, Looks};
use crate::seen::Seen;

/// See the module.
pub struct Ring {
    filter: Filter,
    /// Bytes at the most.
    room: usize,
    state: Mutex<State>,
    news: Condvar,
}

#[derive(Default)]
struct State {
    kept: VecDeque<Seen>,
    bytes: usize,
    lost: u64,
    /// Somebody waits for news.
    is_awaited: bool,
}

/// What was taken of a ring.
#[derive(Debug, Default)]
pub struct Taken {
    pub seen: Vec<Seen>,
    /// That were lost behind these.
    pub lost: u64,
}

impl Ring {
    pub fn new(filter: Filter, room: usize) -> Ring {
        Ring { filter, room, state: Mutex::default(), news: Condvar::new() }
    }

    /// A panic under it leaves it as it was.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What there is, so many at the most; waits for the first.
    pub fn take(&self, most: usize, patience: Duration) -> Taken {
        let mut state = self.state();
        if state.kept.is_empty() && state.lost == 0 {
            state.is_awaited = true;
            let is_nothing = |state: &mut State| state.kept.is_empty() && state.lost == 0;
            let waited = self.news.wait_timeout_while(state, patience, is_nothing);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
            state.is_awaited = false;
        }
        let count = most.min(state.kept.len());
        let seen: Vec<Seen> = state.kept.drain(..count).collect();
        state.bytes -= seen.iter().map(Seen::bytes).sum::<usize>();
        // They were lost behind all that is there.
        let lost = if state.kept.is_empty() { std::mem::take(&mut state.lost) } else { 0 };
        Taken { seen, lost }
    }

    /// Bytes that it holds.
    pub fn bytes(&self) -> usize {
        self.state().bytes
    }
}

impl Looks for Arc<Ring> {
    fn of_lane(&self, _lane: usize) -> Weak<dyn Look> {
        Arc::downgrade(self) as Weak<dyn Look>
    }
}

impl Look for Ring {
    fn see(&self, seen: &Seen, _now: Instant) -> bool {
        // It had begun before anybody wanted its stages.
        if !seen.trail.is_staged || !self.filter.takes(seen) {
            return true;
        }
        let bytes = seen.bytes();
        let mut state = self.state();
        // Behind one that is missing nothing is put before that is told: their order is what
        // happened.
        if state.lost > 0 || state.bytes + bytes > self.room {
            state.lost += 1;
        } else {
            state.bytes += bytes;
            state.kept.push_back(seen.clone());
        }
        if state.is_awaited {
            self.news.notify_one();
        }
        true
    }

    fn wants_stages(&self) -> bool {
        true
    }
}
