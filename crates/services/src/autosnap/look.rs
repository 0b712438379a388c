//! What one dataset needs now.
//!
//! Invariants: a snapshot is destroyed only if its stamp is this service's, and nothing protects
//! it. What the service has of a dataset is never more than its budget of snapshots. The work is
//! that of the dataset's snapshots, times the levels at most.

use std::collections::{BTreeMap, BTreeSet};

use api_types::{
    BudgetOver, FailureClass, SnapCreate, SnapDestroy, SnapDestroyReason, SnapFinding, SnapKept,
    SnapKeptReason, SnapNext, SnapNextReason, SnapSkipReason, SnapSkipped,
};

use crate::backoff::Backoff;
use crate::schedule::Due;
use crate::time::Time;

use super::agenda::REVIEW;
use super::ledger::{Ledger, Owned};
use super::policy::{Level, Policy};
use super::stamp::Stamp;
use super::state::Memory;
use super::view::View;

/// Bytes without which making a snapshot is not tried.
const LEAST_SPACE: u64 = 1 << 20;
/// Seconds after which it is looked at again whether what was done for a budget is enough.
pub const SOON: i64 = 60;
/// Of what may go for space, this part goes in one look.
const THINNED_AT_ONCE: usize = 8;

/// What follows for one dataset.
pub struct Look {
    pub creates: Vec<SnapCreate>,
    /// Oldest first.
    pub destroys: Vec<SnapDestroy>,
    pub kept: Vec<SnapKept>,
    pub skipped: Vec<SnapSkipped>,
    pub findings: Vec<SnapFinding>,
    pub next: SnapNext,
}

/// A look under way.
struct Looking<'a> {
    policy: &'a Policy,
    memory: &'a Memory,
    view: &'a View,
    ledger: Ledger<'a>,
    now: Time,
    creates: Vec<SnapCreate>,
    /// Index in the ledger → why it goes.
    going: BTreeMap<usize, SnapDestroyReason>,
    kept: Vec<SnapKept>,
    skipped: Vec<SnapSkipped>,
    findings: Vec<SnapFinding>,
    /// A budget does not hold yet, and something was done for it.
    thinning: bool,
}

/// What is to be done with a dataset, by itself.
pub fn look(policy: &Policy, memory: &Memory, view: &View, now: Time) -> Look {
    let mut looking = Looking {
        policy,
        memory,
        view,
        ledger: Ledger::of(policy, view, now),
        now,
        creates: Vec::new(),
        going: BTreeMap::new(),
        kept: Vec::new(),
        skipped: Vec::new(),
        findings: Vec::new(),
        thinning: false,
    };
    looking.make();
    looking.expire();
    let protected = looking.protected();
    looking.hold_count(&protected);
    looking.hold_space(&protected);
    looking.tell_oddities();
    looking.done()
}

impl<'a> Looking<'a> {
    /// Makes what is due, the rarest level first.
    fn make(&mut self) {
        let mut due: Vec<(&Level, usize, Due)> = Vec::new();
        for (index, level) in self.policy.levels.iter().enumerate() {
            due.extend(self.due(level, index).map(|it| (level, index, it)));
        }
        if due.is_empty() {
            return;
        }
        if let Some(reason) = self.hindrance() {
            self.skip(None, reason);
            return;
        }
        due.sort_by_key(|(level, ..)| level.often);
        let (budget, here) = (self.policy.budget.snapshots, self.ledger.owned.len());
        for (level, index, due) in due {
            let snapshots = u32::try_from(here + self.creates.len()).unwrap_or(u32::MAX);
            if self.policy.skip_unchanged && self.is_unchanged(index) {
                self.skip(Some(level), SnapSkipReason::Unchanged);
            } else if snapshots >= budget {
                self.skip(Some(level), SnapSkipReason::SnapshotBudget { snapshots, budget });
            } else {
                self.create(level, due);
            }
        }
    }

    /// Whether a level is due: it was served by its newest snapshot, or by a look that is
    /// remembered.
    fn due(&self, level: &Level, index: usize) -> Option<Due> {
        let remembered = self.memory.served.get(&level.name).copied().filter(|at| *at <= self.now);
        match self.ledger.newest_time(index, self.now).max(remembered) {
            Some(served) => level.calendar.due(served, self.now),
            // The first one is made at once.
            None => Some(Due { slot: level.calendar.latest(self.now)?, missed: 0 }),
        }
    }

    /// Why none can be made of this dataset at all.
    fn hindrance(&self) -> Option<SnapSkipReason> {
        let dataset = &self.view.dataset;
        if !dataset.writable {
            Some(SnapSkipReason::NotWritable)
        } else if dataset.receiving {
            Some(SnapSkipReason::Receiving)
        } else if dataset.replica {
            Some(SnapSkipReason::Replica)
        } else if let Some(backoff) = waits(self.memory.create, self.now) {
            Some(match backoff.class {
                FailureClass::Retriable => {
                    SnapSkipReason::BackOff { until: backoff.until, failures: backoff.failures }
                }
                FailureClass::NeedsPerson | FailureClass::Fatal => SnapSkipReason::Stopped,
            })
        } else {
            (dataset.available < LEAST_SPACE).then_some(SnapSkipReason::NoSpace)
        }
    }

    /// Whether nothing was written since the newest snapshot of a level, whoever made those
    /// between.
    fn is_unchanged(&self, level: usize) -> bool {
        let Some(newest) = self.ledger.newest_first(level).next() else { return false };
        let newer = |txg: u64| txg > newest.snapshot.createtxg;
        let mut between = self.view.snapshots.iter().filter(|it| newer(it.createtxg));
        self.view.dataset.written == 0 && between.all(|it| it.written == 0)
    }

    fn create(&mut self, level: &Level, due: Due) {
        let plain = self.policy.name(&level.name, self.now);
        let taken = |name: &str| {
            self.view.snapshots.iter().any(|it| it.name == name)
                || self.creates.iter().any(|it| it.snapshot == name)
        };
        // A clock that went back comes by the same second again.
        let numbered = (2_u32..).map(|number| format!("{plain}-{number}"));
        let name = std::iter::once(plain.clone()).chain(numbered).find(|name| !taken(name));
        let stamp =
            Stamp { service: self.policy.id.clone(), level: level.name.clone(), at: self.now }.to_string();
        self.creates.push(SnapCreate {
            dataset: self.view.dataset.name.clone(),
            dataset_guid: self.view.dataset.guid,
            snapshot: name.unwrap_or(plain),
            level: level.name.clone(),
            slot: due.slot,
            missed: due.missed,
            stamp,
        });
    }

    fn skip(&mut self, level: Option<&Level>, reason: SnapSkipReason) {
        let (dataset, dataset_guid) = (self.view.dataset.name.clone(), self.view.dataset.guid);
        self.skipped.push(SnapSkipped {
            dataset,
            dataset_guid,
            level: level.map(|level| level.name.clone()),
            reason,
        });
    }

    /// How many of a level are about to be made.
    fn coming(&self, level: &Level) -> u32 {
        u32::from(self.creates.iter().any(|it| it.level == level.name))
    }

    /// Lets go what its level does not keep.
    fn expire(&mut self) {
        let owned = std::mem::take(&mut self.ledger.owned);
        let mut ranks: Vec<u32> = self.policy.levels.iter().map(|level| self.coming(level)).collect();
        for (at, it) in owned.iter().enumerate().rev() {
            let Some(level) = it.level else { continue };
            let (keep, rank) = (self.policy.levels[level].keep, ranks[level]);
            ranks[level] = rank.saturating_add(1);
            let age = u64::try_from(self.now.saturating_sub(it.effective)).unwrap_or(0);
            let reason = match (keep.count, keep.age) {
                (Some(count), _) if rank >= count => SnapDestroyReason::Count { keep: count },
                (_, Some(limit)) if age > limit => SnapDestroyReason::Age { age, limit },
                _ => continue,
            };
            let at_least = self.policy.levels[level].at_least();
            let kept = if rank < at_least { Some(SnapKeptReason::AtLeast { at_least }) } else { needed(it) };
            match kept {
                Some(reason) => self.keep(it, reason),
                None => {
                    self.going.insert(at, reason);
                }
            }
        }
        self.ledger.owned = owned;
    }

    fn keep(&mut self, it: &Owned<'_>, reason: SnapKeptReason) {
        self.kept.push(SnapKept {
            dataset: self.view.dataset.name.clone(),
            snapshot: it.snapshot.name.clone(),
            level: it.level_name.to_owned(),
            reason,
        });
    }

    /// Indices of those that no budget may take, and how many there are of each kind.
    fn protected(&self) -> (BTreeSet<usize>, BudgetOver) {
        let others = u32::try_from(self.ledger.others).unwrap_or(u32::MAX);
        let (mut kept, mut over) = (BTreeSet::new(), BudgetOver { others, ..BudgetOver::default() });
        let mut ranks: Vec<u32> = self.policy.levels.iter().map(|level| self.coming(level)).collect();
        for (at, it) in self.ledger.owned.iter().enumerate().rev() {
            let is_among_newest = it.level.is_some_and(|level| {
                ranks[level] = ranks[level].saturating_add(1);
                ranks[level] <= self.policy.levels[level].at_least()
            });
            let tally = match needed(it) {
                _ if is_among_newest => &mut over.kept_at_least,
                Some(SnapKeptReason::Held { .. }) => &mut over.held,
                Some(SnapKeptReason::Cloned { .. }) => &mut over.cloned,
                Some(_) => &mut over.needed,
                None => continue,
            };
            *tally += 1;
            kept.insert(at);
        }
        (kept, over)
    }

    /// Thins for the budget of snapshots, down to where one of each level has room.
    fn hold_count(&mut self, (protected, over): &(BTreeSet<usize>, BudgetOver)) {
        let (owned, budget) = (&self.ledger.owned, self.policy.budget.snapshots);
        let target = budget as usize - self.policy.levels.len();
        let left = (owned.len() + self.creates.len()).saturating_sub(self.going.len());
        let Some(excess) = left.checked_sub(target).filter(|excess| *excess > 0) else { return };
        let mut candidates: Vec<usize> =
            (0..owned.len()).filter(|at| !protected.contains(at) && !self.going.contains_key(at)).collect();
        // Levels that are gone first, then the one that is due most often; the sort keeps the
        // order.
        let often = |at: &usize| owned[*at].level.map_or(u64::MAX, |level| self.policy.levels[level].often);
        candidates.sort_by_key(|at| std::cmp::Reverse(often(at)));
        let snapshots = u32::try_from(left).unwrap_or(u32::MAX);
        let thinned = candidates.len().min(excess);
        let reason = SnapDestroyReason::SnapshotBudget { snapshots, budget };
        self.going.extend(candidates.into_iter().take(thinned).map(|at| (at, reason)));
        self.thinning |= thinned > 0;
        if thinned < excess {
            let snapshots = u32::try_from(excess - thinned).ok();
            let dataset = self.view.dataset.name.clone();
            let over = BudgetOver { snapshots, ..*over };
            self.findings.push(SnapFinding::BudgetCannotBeHeld { dataset, over });
        }
    }

    /// Thins for the budget of space, the oldest first, as far as it is known what that frees.
    fn hold_space(&mut self, (protected, over): &(BTreeSet<usize>, BudgetOver)) {
        let (owned, dataset) = (&self.ledger.owned, &self.view.dataset);
        let used = dataset.used_by_snapshots;
        let Some(budget) = self.policy.space(dataset.used, dataset.available) else { return };
        let Some(excess) = used.checked_sub(budget).filter(|excess| *excess > 0) else { return };
        // What was destroyed before is not seen yet in what is used.
        if dataset.freeing {
            self.thinning = true;
            return;
        }
        let mut freed: u64 = self.going.keys().map(|at| owned[*at].snapshot.unique).sum();
        let candidates: Vec<usize> =
            (0..owned.len()).filter(|at| !protected.contains(at) && !self.going.contains_key(at)).collect();
        let most = candidates.len().div_ceil(THINNED_AT_ONCE);
        for at in candidates.iter().take(most) {
            if freed >= excess {
                break;
            }
            freed = freed.saturating_add(owned[*at].snapshot.unique);
            self.going.insert(*at, SnapDestroyReason::SpaceBudget { used, budget });
        }
        self.thinning |= !self.going.is_empty();
        if self.going.is_empty() {
            let over = BudgetOver { bytes: Some(excess), ..*over };
            let dataset = dataset.name.clone();
            self.findings.push(SnapFinding::BudgetCannotBeHeld { dataset, over });
        }
    }

    fn tell_oddities(&mut self) {
        let mut gone: BTreeMap<&str, u32> = BTreeMap::new();
        for it in self.ledger.owned.iter().filter(|it| it.level.is_none()) {
            *gone.entry(it.level_name).or_default() += 1;
        }
        let dataset = &self.view.dataset.name;
        let gone = gone.into_iter().map(|(level, snapshots)| SnapFinding::LevelGone {
            dataset: dataset.clone(),
            level: level.to_owned(),
            snapshots,
        });
        self.findings.extend(gone);
        let unbelieved = self.ledger.owned.iter().filter(|it| it.stamped > self.now).count();
        if unbelieved > 0 {
            let snapshots = u32::try_from(unbelieved).unwrap_or(u32::MAX);
            self.findings.push(SnapFinding::TimeUnbelievable { dataset: dataset.clone(), snapshots });
        }
    }

    fn done(mut self) -> Look {
        let waiting = waits(self.memory.destroy, self.now);
        // What cannot be destroyed yet is looked at again when it can.
        self.thinning &= waiting.is_none();
        let mut destroys = Vec::new();
        for (at, reason) in std::mem::take(&mut self.going) {
            let it = &self.ledger.owned[at];
            let (dataset, snapshot) = (self.view.dataset.name.clone(), it.snapshot.name.clone());
            let level = it.level_name.to_owned();
            match waiting {
                None => destroys.push(SnapDestroy {
                    dataset,
                    dataset_guid: self.view.dataset.guid,
                    snapshot,
                    guid: it.snapshot.guid,
                    level,
                    reason,
                }),
                Some(Backoff { class: FailureClass::Retriable, until, failures, .. }) => {
                    let reason = SnapKeptReason::BackOff { until, failures };
                    self.kept.push(SnapKept { dataset, snapshot, level, reason });
                }
                Some(_) => {
                    let reason = SnapKeptReason::Stopped;
                    self.kept.push(SnapKept { dataset, snapshot, level, reason });
                }
            }
        }
        let next = self.next();
        let Looking { creates, kept, skipped, findings, .. } = self;
        Look { creates, destroys, kept, skipped, findings, next }
    }

    /// When to look again: whatever may change something without anybody else doing anything.
    fn next(&self) -> SnapNext {
        let now = self.now;
        let mut times = vec![(now + REVIEW, SnapNextReason::Review)];
        if self.thinning {
            times.push((now + SOON, SnapNextReason::Thinning));
        }
        for level in &self.policy.levels {
            let name = || level.name.clone();
            let due = level.calendar.next_after(now);
            times.extend(due.map(|at| (at, SnapNextReason::Due { level: name() })));
        }
        for it in &self.ledger.owned {
            let Some(level) = it.level.map(|level| &self.policy.levels[level]) else { continue };
            let expiry = level.keep.age.and_then(|age| expires(it.effective, age)).filter(|at| *at > now);
            times.extend(expiry.map(|at| (at, SnapNextReason::Expiry { level: level.name.clone() })));
        }
        for made in &self.creates {
            let level = self.policy.levels.iter().find(|level| level.name == made.level);
            let expiry = level.and_then(|level| expires(now, level.keep.age?));
            times.extend(expiry.map(|at| (at, SnapNextReason::Expiry { level: made.level.clone() })));
        }
        for backoff in [self.memory.create, self.memory.destroy].into_iter().flatten() {
            if backoff.class == FailureClass::Retriable && !backoff.may_try(now) {
                times.push((backoff.until, SnapNextReason::Retry));
            }
        }
        let soonest = times.into_iter().min_by_key(|(at, _)| *at);
        let (at, reason) = soonest.unwrap_or((now + REVIEW, SnapNextReason::Review));
        SnapNext { dataset: self.view.dataset.name.clone(), at, reason }
    }
}

/// The first moment at which something is older than it may be.
fn expires(made: Time, age: u64) -> Option<Time> {
    made.checked_add(i64::try_from(age).ok()?)?.checked_add(1)
}

/// A failure after which it is not time to try again.
fn waits(backoff: Option<Backoff>, now: Time) -> Option<Backoff> {
    backoff.filter(|backoff| !backoff.may_try(now))
}

/// Who else needs a snapshot.
fn needed(it: &Owned<'_>) -> Option<SnapKeptReason> {
    let snapshot = it.snapshot;
    if snapshot.holds > 0 {
        return Some(SnapKeptReason::Held { holds: snapshot.holds });
    }
    if snapshot.clones > 0 {
        return Some(SnapKeptReason::Cloned { clones: snapshot.clones });
    }
    snapshot.needed_by.clone().map(|by| SnapKeptReason::Needed { by })
}
