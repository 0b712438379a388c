//! Which datasets are to be looked at, by the time at which they are: so a look costs what is due,
//! not what there is.

use std::collections::{BTreeMap, BTreeSet};

use crate::time::Time;

/// Seconds after which anything is looked at again. No look is set further ahead.
pub const REVIEW: i64 = 21_600;

/// Kept in memory only: after a start, everything is to be looked at.
#[derive(Clone, Debug, Default)]
pub struct Agenda {
    times: BTreeMap<u64, Time>,
    order: BTreeSet<(Time, u64)>,
}

impl Agenda {
    /// Looks at a dataset at `at`, and not when it was to be looked at before.
    pub fn set(&mut self, dataset: u64, at: Time) {
        self.remove(dataset);
        self.times.insert(dataset, at);
        self.order.insert((at, dataset));
    }

    /// Looks at a dataset at `at`, or earlier where that was so.
    pub fn hasten(&mut self, dataset: u64, at: Time) {
        if self.times.get(&dataset).is_none_or(|before| at < *before) {
            self.set(dataset, at);
        }
    }

    pub fn remove(&mut self, dataset: u64) {
        if let Some(at) = self.times.remove(&dataset) {
            self.order.remove(&(at, dataset));
        }
    }

    /// The datasets that are due, the longest first, at most `most`. They stay until they are set
    /// anew. One that is set further ahead than [`REVIEW`] was set by a clock that has gone back
    /// since: it is due.
    pub fn due(&self, now: Time, most: usize) -> Vec<u64> {
        let due = self.order.range(..=(now, u64::MAX));
        let astray = self.order.range((now.saturating_add(REVIEW), u64::MAX)..);
        due.chain(astray).take(most).map(|(_, dataset)| *dataset).collect()
    }

    /// When the next one is due.
    pub fn next(&self) -> Option<Time> {
        self.order.first().map(|(at, _)| *at)
    }
}

#[cfg(test)]
mod tests;
