//! The snapshots of a dataset that a service owns, in the order in which they were made, with times
//! that can be believed.
//!
//! Transaction groups are the order, whatever clocks said. Of the times in the stamps that are not
//! in the future, the most are believed that agree with that order: a longest run that never goes
//! back. Whatever is not believed counts as old as the next newer one that is, and as made now where
//! there is none. So a clock in 2099 or 1970 never lets anything expire early, and does not keep it
//! for ever either.

use crate::time::Time;

use super::policy::Policy;
use super::view::{Snapshot, View};

pub struct Ledger<'a> {
    /// Oldest first.
    pub owned: Vec<Owned<'a>>,
    /// Of other makers.
    pub others: usize,
}

pub struct Owned<'a> {
    pub snapshot: &'a Snapshot,
    pub level_name: &'a str,
    /// Index of its level; `None`: the policy has it no longer.
    pub level: Option<usize>,
    /// When it was made, by its stamp.
    pub stamped: Time,
    /// Likewise; `None`: that cannot be believed.
    pub time: Option<Time>,
    /// From when on it ages.
    pub effective: Time,
}

impl<'a> Ledger<'a> {
    pub fn of(policy: &Policy, view: &'a View, now: Time) -> Ledger<'a> {
        let ours = |snapshot: &'a Snapshot| {
            let stamp = snapshot.stamp.as_ref().filter(|stamp| stamp.service == policy.id)?;
            let level = policy.levels.iter().position(|level| level.name == stamp.level);
            let (at, level_name) = (stamp.at, stamp.level.as_str());
            Some(Owned { snapshot, level_name, level, stamped: at, time: Some(at), effective: at })
        };
        let mut owned: Vec<Owned<'a>> = view.snapshots.iter().filter_map(ours).collect();
        owned.sort_unstable_by_key(|it| (it.snapshot.createtxg, it.snapshot.guid));
        let others = view.snapshots.len() - owned.len();
        judge(&mut owned, now);
        Ledger { owned, others }
    }

    /// Those of a level, newest first.
    pub fn newest_first(&self, level: usize) -> impl Iterator<Item = &Owned<'a>> {
        self.owned.iter().rev().filter(move |it| it.level == Some(level))
    }

    /// When the newest of a level was made, of those that were not made in the future. Whatever else
    /// is believed of times: what was made last counts, so that no slot is taken for served that a
    /// clock has only come by.
    pub fn newest_time(&self, level: usize, now: Time) -> Option<Time> {
        self.newest_first(level).map(|it| it.stamped).find(|at| *at <= now)
    }
}

/// Takes away times that cannot be believed, and says from when on each ages.
fn judge(owned: &mut [Owned<'_>], now: Time) {
    let is_plain = owned.is_sorted_by_key(|it| it.stamped) && owned.last().is_none_or(|it| it.stamped <= now);
    if !is_plain {
        let times: Vec<Time> = owned.iter().map(|it| it.stamped).collect();
        let believed = longest_run(&times, now);
        for (it, believed) in owned.iter_mut().zip(believed) {
            it.time = it.time.filter(|_| believed);
        }
    }
    let mut newer = now;
    for it in owned.iter_mut().rev() {
        it.effective = it.time.unwrap_or(newer);
        newer = it.effective;
    }
}

/// Which of the times up to `now` belong to a longest run that never goes back.
fn longest_run(times: &[Time], now: Time) -> Vec<bool> {
    // For each length, which index ends a run of that length at the earliest time; and for each
    // index, which one is before it in the longest run that it ends.
    let mut ends: Vec<usize> = Vec::new();
    let mut before: Vec<Option<usize>> = vec![None; times.len()];
    for (index, time) in times.iter().enumerate().filter(|(_, time)| **time <= now) {
        let length = ends.partition_point(|end| times[*end] <= *time);
        before[index] = length.checked_sub(1).map(|shorter| ends[shorter]);
        if length == ends.len() {
            ends.push(index);
        } else {
            ends[length] = index;
        }
    }
    let mut believed = vec![false; times.len()];
    let mut at = ends.last().copied();
    while let Some(index) = at {
        believed[index] = true;
        at = before[index];
    }
    believed
}

#[cfg(test)]
mod tests;
