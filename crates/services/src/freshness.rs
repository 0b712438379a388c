//! Whether the newest snapshot, or replica, of a dataset is older than it should be.

use serde::{Deserialize, Serialize};

use crate::time::Time;

/// What is known of one dataset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facts {
    /// Of the newest snapshot or replica; `None` where there is none.
    pub newest: Option<Time>,
    /// Since when there should be one: the dataset was made, or the policy was set.
    pub since: Time,
    /// Nothing has changed since the newest one.
    pub unchanged: bool,
}

/// A fault: too old since then.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stale {
    pub since: Time,
    /// Of the newest one then.
    pub newest: Option<Time>,
}

/// What a check changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    Raised(Stale),
    Cleared(Stale),
}

/// Checks one dataset. `limit` is in seconds. Puts what is so now into `fault`, and says what
/// changed.
pub fn check(facts: Facts, limit: u64, now: Time, fault: &mut Option<Stale>) -> Option<Change> {
    todo!()
}

/// When the next check can change anything, if the facts stay.
pub fn next_check(facts: Facts, limit: u64, fault: Option<Stale>) -> Option<Time> {
    todo!()
}
