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
    match (becomes_stale(facts, limit).filter(|at| *at <= now), *fault) {
        (Some(since), None) => {
            let stale = Stale { since, newest: facts.newest };
            *fault = Some(stale);
            Some(Change::Raised(stale))
        }
        (None, Some(stale)) => {
            *fault = None;
            Some(Change::Cleared(stale))
        }
        (Some(_), Some(_)) | (None, None) => None,
    }
}

/// The first moment at which it is older than it may be. `limit` is in seconds; `None`: never, if
/// the facts stay.
pub fn becomes_stale(facts: Facts, limit: u64) -> Option<Time> {
    if facts.unchanged && facts.newest.is_some() {
        return None;
    }
    let limit = i64::try_from(limit).unwrap_or(i64::MAX).saturating_add(1);
    Some(facts.newest.unwrap_or(facts.since).saturating_add(limit))
}

#[cfg(test)]
mod tests;
