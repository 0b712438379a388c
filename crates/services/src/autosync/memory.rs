//! What a service remembers of its datasets. If it is lost, all of it follows anew from what is on
//! both sides, but that a replica has been there before, and which bookmarks are this service's:
//! one bookmark a dataset may be left then.

use std::collections::{BTreeMap, BTreeSet};

use api_types::{FailureClass, NextRun, RunReason};
use serde::{Deserialize, Serialize};
use stdx::prng::Prng;

use super::policy::Policy;
use crate::backoff::Backoff;
use crate::time::Time;

/// To be kept over restarts. `Default`: nothing is remembered.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Memory {
    /// guid of a source → what is remembered.
    pub datasets: BTreeMap<u64, Synced>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Synced {
    /// The newest one that is on the replica.
    pub snapshot: Option<String>,
    /// All that the source had then is there.
    pub current: Option<Time>,
    /// guids of bookmarks that this service made.
    pub bookmarks: BTreeSet<u64>,
    /// Failures since something last succeeded, and since when.
    pub backoff: Option<Backoff>,
    pub failing_since: Option<Time>,
}

impl Synced {
    /// Whether it was never looked at, or somebody has cleared it since.
    fn is_new(&self) -> bool {
        self.snapshot.is_none() && self.current.is_none() && self.backoff.is_none()
    }

    pub fn succeeded(&mut self) {
        (self.backoff, self.failing_since) = (None, None);
    }

    pub fn failed(&mut self, class: FailureClass, now: Time, random: &mut Prng) {
        self.backoff = Some(Backoff::after(self.backoff, class, now, random));
        self.failing_since.get_or_insert(now);
    }
}

/// What is to be looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Agenda {
    /// guids of sources, in no order.
    pub datasets: Vec<u64>,
    /// A snapshot that is older is not new enough.
    pub wanted: Time,
    /// Up to when the schedule is served then.
    pub served: Time,
}

impl Memory {
    /// Somebody has looked at what failed: all is tried again, and what is gone is sent anew.
    pub fn clear(&mut self) {
        for synced in self.datasets.values_mut() {
            let bookmarks = std::mem::take(&mut synced.bookmarks);
            *synced = Synced { bookmarks, ..Synced::default() };
        }
    }

    /// What to look at now, of these datasets. `served`: up to when the schedule was served.
    /// `asked`: whatever the schedule says. What needs a person is not looked at.
    pub fn agenda(
        &self,
        policy: &Policy,
        datasets: impl Iterator<Item = u64>,
        (served, asked): (Time, bool),
        now: Time,
    ) -> Agenda {
        let due = policy.calendar.due(served, now);
        let is_due = |guid: &u64| match self.datasets.get(guid) {
            None => true,
            Some(Synced { backoff: Some(backoff), .. }) => {
                backoff.may_try(now) || (asked && backoff.class == FailureClass::Retriable)
            }
            Some(synced) => synced.is_new() || due.is_some() || asked,
        };
        let datasets = datasets.filter(is_due).collect();
        let served = due.map_or(served, |due| due.slot);
        Agenda { datasets, wanted: if asked { now } else { served }, served }
    }

    /// When to look next, and why, if nobody asks.
    pub fn next(
        &self,
        policy: &Policy,
        datasets: impl Iterator<Item = u64>,
        served: Time,
        now: Time,
    ) -> Option<NextRun> {
        let scheduled = match policy.calendar.due(served, now) {
            Some(due) if due.missed == 0 => Some(NextRun { at: now, reason: RunReason::Scheduled }),
            Some(due) => Some(NextRun { at: now, reason: RunReason::CatchUp { missed: due.missed } }),
            None => policy.calendar.next_after(now).map(|at| NextRun { at, reason: RunReason::Scheduled }),
        };
        let sooner = datasets.filter_map(|guid| match self.datasets.get(&guid) {
            None => Some(NextRun { at: now, reason: RunReason::Scheduled }),
            Some(synced) if synced.is_new() => Some(NextRun { at: now, reason: RunReason::Scheduled }),
            Some(Synced { backoff: Some(backoff), .. }) if backoff.class == FailureClass::Retriable => {
                let at = if backoff.may_try(now) { now } else { backoff.until };
                Some(NextRun { at, reason: RunReason::Retry { failures: backoff.failures } })
            }
            Some(_) => None,
        });
        scheduled.into_iter().chain(sooner).min_by_key(|next| next.at)
    }
}
