//! How long callers wait for something, and how they come: all that is needed to say what less
//! waiting would change.
//!
//! ```text
//!   A      ├──wait──┤      ├──wait──┤
//!   B         ├────wait────┤
//!          ├──────────busy──────────┤between├─busy─┤      pause      ├─busy─┤
//! ```
//! While at least one waits, time is *busy*. A gap between two busy times is thinking on the
//! callers' side; longer ones are pauses and count as nothing. What thinking takes is the median of
//! the gaps: a few long ones are accidents, and do not come more often when there is less waiting.
//! So a load that waits less would take `between` plus what is left of `busy`.
//!
//! Processor time is the whole process's, in busy times and gaps; what it does in pauses is no
//! affair of the load. Asking for it takes a microsecond, so it is asked now and then only.

use std::sync::Mutex;

use crate::{Clock, Nanos, lock};

/// A longer gap is not the load's own: nobody wanted anything.
const PAUSE: Nanos = Nanos::from_millis(100);
/// How often the process is asked what it has used of the processors, at the most.
const SAMPLING: Nanos = Nanos::from_millis(10);
/// Buckets of gaps for each doubling, and how many there are: up to 2³² nanoseconds.
const STEPS: f64 = 8.0;
const BUCKETS: usize = 32 * STEPS as usize;

/// Being counted: two short locks a wait, which is much longer.
#[derive(Default)]
pub struct Waits(Mutex<State>);

struct State {
    seen: Waited,
    gaps: [u32; BUCKETS],
    /// Callers that wait now.
    inside: u64,
    /// When that became or stopped being none.
    since: Nanos,
    /// When the processor time was asked for, and what it was.
    asked: Nanos,
    used: Nanos,
}

impl Default for State {
    fn default() -> State {
        State {
            seen: Waited::default(),
            gaps: [0; BUCKETS],
            inside: 0,
            since: Nanos(0),
            asked: Nanos(0),
            used: Nanos(0),
        }
    }
}

impl State {
    /// Gaps, and the one in their middle.
    fn median_gap(&self) -> (u64, Nanos) {
        let count: u64 = self.gaps.iter().map(|&n| u64::from(n)).sum();
        let mut left = count / 2;
        for (bucket, &n) in self.gaps.iter().enumerate() {
            if left < u64::from(n) {
                return (count, Nanos(2f64.powf((bucket as f64 + 0.5) / STEPS) as u64));
            }
            left -= u64::from(n);
        }
        (count, Nanos(0))
    }
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
    /// Gaps that `between` is made of.
    pub gaps: u64,
    /// Of all processors.
    pub work: Nanos,
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
    /// Somebody begins to wait: now, which is what it gives.
    pub fn begin(&self, clock: &dyn Clock) -> Nanos {
        let now = clock.now();
        let mut state = lock(&self.0);
        if state.inside == 0 {
            let gap = now.since(state.since);
            if gap > PAUSE || state.seen.count == 0 {
                (state.asked, state.used) = (now, clock.processor_time());
            } else {
                let bucket = (gap.0.max(1) as f64).log2() * STEPS;
                let counted = &mut state.gaps[(bucket as usize).min(BUCKETS - 1)];
                *counted = counted.saturating_add(1);
            }
            state.since = now;
        }
        state.inside += 1;
        state.seen.most = state.seen.most.max(state.inside);
        now
    }

    /// Somebody who began at `began` need not wait any more.
    pub fn end(&self, began: Nanos, clock: &dyn Clock) {
        let now = clock.now();
        let mut state = lock(&self.0);
        state.seen.count += 1;
        state.seen.total += now.since(began);
        state.inside -= 1;
        if state.inside == 0 {
            let busy = now.since(state.since);
            state.seen.busy += busy;
            state.since = now;
        }
        if now.since(state.asked) >= SAMPLING {
            let used = clock.processor_time();
            let since_asked = used.since(state.used);
            state.seen.work += since_asked;
            (state.asked, state.used) = (now, used);
        }
    }

    pub fn snapshot(&self) -> Waited {
        let state = lock(&self.0);
        let (gaps, median) = state.median_gap();
        Waited { between: Nanos(gaps * median.0), gaps, ..state.seen }
    }
}

#[cfg(test)]
mod tests;
