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

/// Stands for the listing of a source that is elsewhere, as no dataset has this guid. Until that
/// has succeeded again, nothing of the source is looked at.
pub const LISTING: u64 = 0;

/// To be kept over restarts. `Default`: nothing is remembered.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Memory {
    /// guid of a source, or [`LISTING`] → what is remembered.
    pub datasets: BTreeMap<u64, Synced>,
    /// Of a source that is elsewhere: guid → name of what is covered, as it was listed last.
    #[serde(default)]
    pub listed: BTreeMap<u64, String>,
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
    /// A source that is elsewhere was listed.
    pub fn listed(&mut self, names: BTreeMap<u64, String>, now: Time) {
        self.datasets.insert(LISTING, Synced { current: Some(now), ..Synced::default() });
        self.listed = names;
    }

    /// The source is another from now on: it is listed at once.
    pub fn unlist(&mut self) {
        self.datasets.remove(&LISTING);
        self.listed.clear();
    }

    /// Whether the listing of a source that is elsewhere has failed, and not succeeded since.
    fn is_unlisted(&self) -> bool {
        self.datasets.get(&LISTING).is_some_and(|it| it.backoff.is_some())
    }

    /// Somebody had it rest, and go on: what has failed is tried again.
    pub fn try_again(&mut self) {
        self.datasets.values_mut().for_each(|synced| synced.backoff = None);
    }

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
            _ if *guid != LISTING && self.is_unlisted() => false,
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
            // What was due meanwhile is looked at once the source could be listed.
            _ if self.is_unlisted() => None,
            Some(due) if due.missed == 0 => Some(NextRun { at: now, reason: RunReason::Scheduled }),
            Some(due) => Some(NextRun { at: now, reason: RunReason::CatchUp { missed: due.missed } }),
            None => policy.calendar.next_after(now).map(|at| NextRun { at, reason: RunReason::Scheduled }),
        };
        let waiting = datasets.filter(|guid| *guid == LISTING || !self.is_unlisted());
        let sooner = waiting.filter_map(|guid| match self.datasets.get(&guid) {
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

#[cfg(test)]
mod tests {
    use api_types::{
        AutoSyncPolicy, Schedule, SnapTarget, SyncAbsence, SyncKeep, SyncOrigin, SyncTarget, When,
    };
    use jiff::tz::TimeZone;

    use super::*;

    fn daily() -> Policy {
        let policy = AutoSyncPolicy {
            source: SnapTarget { dataset: "tank/a".to_owned(), ..SnapTarget::default() },
            origin: SyncOrigin::Here,
            target: SyncTarget::Pool { dataset: "dozer/a".to_owned() },
            schedule: Schedule { when: When::Day { hour: 3, minute: 0 }, zone: None },
            keep: SyncKeep::default(),
            absence: SyncAbsence::default(),
            limits: Vec::new(),
            lag: None,
            stuck_after: 600,
        };
        Policy::new("s", &policy, &|_| Some(TimeZone::UTC)).expect("it is good")
    }

    #[test]
    fn nothing_of_a_source_is_looked_at_until_it_could_be_listed() {
        const NOW: Time = 1_795_843_462;
        let (policy, mut memory, mut random) = (daily(), Memory::default(), Prng::new(1));
        let due = |memory: &Memory, asked, now| {
            memory.agenda(&policy, [7, LISTING].into_iter(), (NOW, asked), now).datasets
        };
        let next = |memory: &Memory| memory.next(&policy, [7, LISTING].into_iter(), NOW, NOW);
        memory.listed(BTreeMap::from([(7, "tank/a".to_owned())]), NOW);
        assert_eq!(due(&memory, false, NOW), [7], "one that is new");
        memory.datasets.entry(LISTING).or_default().failed(FailureClass::Retriable, NOW, &mut random);
        assert!(due(&memory, false, NOW).is_empty());
        assert_eq!(due(&memory, true, NOW), [LISTING]);
        let retry = next(&memory).expect("it is tried again");
        assert!(retry.at > NOW && matches!(retry.reason, RunReason::Retry { failures: 1 }), "{retry:?}");
        assert_eq!(due(&memory, false, retry.at), [LISTING]);
        // However long it takes, and whatever was due meanwhile.
        let late = NOW + 10 * 86_400;
        let retry = memory.next(&policy, [7, LISTING].into_iter(), NOW, late).expect("it is tried again");
        assert!(matches!(retry.reason, RunReason::Retry { .. }), "{retry:?}");
        memory.listed(BTreeMap::from([(7, "tank/a".to_owned())]), late);
        memory.datasets.entry(7).or_default().current = Some(NOW);
        assert_eq!(due(&memory, false, late), [7, LISTING]);
        memory.datasets.entry(LISTING).or_default().failed(FailureClass::NeedsPerson, NOW, &mut random);
        assert!(due(&memory, true, NOW + 86_400 * 2).is_empty(), "a person is waited for");
        let mut rested = memory.clone();
        rested.try_again();
        assert_eq!(due(&rested, true, NOW), [7, LISTING]);
        assert_eq!(rested.datasets[&LISTING].failing_since, Some(NOW), "it has not succeeded");
        memory.clear();
        assert_eq!(due(&memory, false, NOW), [7, LISTING]);
        memory.unlist();
        assert_eq!(due(&memory, false, NOW), [7, LISTING]);
    }
}
