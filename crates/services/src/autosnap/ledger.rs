//! The snapshots of a dataset that a service owns, in the order in which they were made, with times
//! that can be believed.
//!
//! Transaction groups are the order, whatever clocks said. A time counts if it is neither in the
//! future nor before [`OLDEST`], and nothing that was made before is later. What has none that
//! counts is as old as the next newer one that has, and as made now where there is none. So a clock
//! that was in 2099 or 1970 for a while lets nothing expire early, and keeps nothing for ever.

use crate::time::{OLDEST, Time};

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
    /// From when on it ages.
    pub effective: Time,
}

impl<'a> Ledger<'a> {
    pub fn of(policy: &Policy, view: &'a View, now: Time) -> Ledger<'a> {
        let ours = |snapshot: &'a Snapshot| {
            let stamp = snapshot.stamp.as_ref().filter(|stamp| stamp.service == policy.id)?;
            let level = policy.levels.iter().position(|level| level.name == stamp.level);
            let (at, level_name) = (stamp.at, stamp.level.as_str());
            Some(Owned { snapshot, level_name, level, stamped: at, effective: at })
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

    /// When the newest of a level was made, of those that were not made in the future. Whatever
    /// else is believed of times: what was made last counts, so that no slot is taken for served
    /// that a clock has only come by.
    pub fn newest_time(&self, level: usize, now: Time) -> Option<Time> {
        self.newest_first(level).map(|it| it.stamped).find(|at| *at <= now)
    }
}

/// Says from when on each ages.
fn judge(owned: &mut [Owned<'_>], now: Time) {
    let mut latest = OLDEST;
    let counts: Vec<bool> = owned
        .iter()
        .map(|it| {
            let counts = (latest..=now).contains(&it.stamped);
            latest = if counts { it.stamped } else { latest };
            counts
        })
        .collect();
    let mut newer = now;
    for (it, counts) in owned.iter_mut().zip(counts).rev() {
        it.effective = if counts { it.stamped } else { newer };
        newer = it.effective;
    }
}

#[cfg(test)]
mod tests;
