//! Which datasets are to be looked at, by the time at which they are: so a look costs what is due,
//! not what there is.

use crate::time::Time;

/// Kept in memory only: after a start, everything is to be looked at.
#[derive(Clone, Debug, Default)]
pub struct Agenda {}

impl Agenda {
    /// Looks at a dataset at `at`, and not when it was to be looked at before.
    pub fn set(&mut self, dataset: u64, at: Time) {
        todo!()
    }

    /// Looks at a dataset at `at`, or earlier where that was so.
    pub fn hasten(&mut self, dataset: u64, at: Time) {
        todo!()
    }

    pub fn remove(&mut self, dataset: u64) {
        todo!()
    }

    /// The datasets that are due, the longest first, at most `most`. They stay until they are set
    /// anew.
    pub fn due(&self, now: Time, most: usize) -> Vec<u64> {
        todo!()
    }

    /// When the next one is due.
    pub fn next(&self) -> Option<Time> {
        todo!()
    }
}
