//! How long callers wait for something, and how they come: all that is needed to say what less waiting would change.
//!
//! ```text
//!   A      ├──wait──┤      ├──wait──┤
//!   B         ├────wait────┤
//!          ├──────────busy──────────┤between├─busy─┤      pause      ├─busy─┤
//! ```
//! While at least one waits, time is *busy*. A gap between two busy times is thinking on the callers' side and counts as
//! *between* if it is short; longer ones are pauses and count as nothing. So a load that waits less would take `between`
//! plus what is left of `busy`.

use std::sync::Mutex;

use crate::{Nanos, lock};

/// A longer gap is not the load's own: nobody wanted anything.
const PAUSE: Nanos = Nanos::from_millis(100);

/// Being counted: two short locks a wait, which is much longer.
#[derive(Default)]
pub struct Waits(Mutex<State>);

#[derive(Default)]
struct State {
    seen: Waited,
    /// Callers that wait now.
    inside: u64,
    /// When that became or stopped being none.
    since: Nanos,
}

/// As counted so far.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Waited {
    /// Waits that have ended, and the sum of their times.
    pub count: u64,
    pub total: Nanos,
    /// See the module.
    pub busy: Nanos,
    pub between: Nanos,
    /// Callers at the same time, at the most.
    pub most: u64,
}

impl Waited {
    /// A mean wait.
    pub fn mean(&self) -> Nanos {
        Nanos(self.total.0.checked_div(self.count).unwrap_or(0))
    }

    /// Busy and between: how long the load took, without pauses.
    pub fn span(&self) -> Nanos {
        self.busy + self.between
    }
}

impl Waits {
    /// Somebody begins to wait.
    pub fn begin(&self, now: Nanos) {
        let mut state = lock(&self.0);
        if state.inside == 0 {
            let gap = now.since(state.since);
            if gap <= PAUSE && state.seen.count > 0 {
                state.seen.between = state.seen.between + gap;
            }
            state.since = now;
        }
        state.inside += 1;
        state.seen.most = state.seen.most.max(state.inside);
    }

    /// Somebody who began at `began` need not wait any more.
    pub fn end(&self, began: Nanos, now: Nanos) {
        let mut state = lock(&self.0);
        state.seen.count += 1;
        state.seen.total = state.seen.total + now.since(began);
        state.inside -= 1;
        if state.inside == 0 {
            state.seen.busy = state.seen.busy + now.since(state.since);
            state.since = now;
        }
    }

    pub fn snapshot(&self) -> Waited {
        lock(&self.0).seen
    }
}

#[cfg(test)]
mod tests;
