//! A policy that was checked, ready to be planned with.

use api_types::{AutoSyncPolicy, SyncAbsence, SyncFault, SyncKeep, SyncTarget};
use jiff::Timestamp;
use jiff::tz::Offset;
use stdx::names::is_at_or_below;

use super::stamp;
use crate::names::is_part;
use crate::schedule::{Calendar, Zones};
use crate::time::{FIRST, LAST, Time};

/// Snapshots of a replica that are kept.
const KEEP: (u32, u32) = (1, 10_000);
/// Seconds after which something that moves no byte is stuck.
const STUCK: (u32, u32) = (10, 86_400);
/// Bytes of a dataset's name.
const LONGEST: usize = 200;

#[derive(Clone, Debug)]
pub struct Policy {
    id: String,
    pub(super) calendar: Calendar,
    pub(super) keep: SyncKeep,
    pub(super) absence: SyncAbsence,
}

impl Policy {
    /// `id`: of the service. All faults there are.
    pub fn new(id: &str, policy: &AutoSyncPolicy, zones: Zones<'_>) -> Result<Policy, Vec<SyncFault>> {
        let mut faults = shape_faults(policy);
        match Calendar::new(&policy.schedule, zones) {
            Err(fault) => faults.push(SyncFault::Schedule { fault }),
            Ok(calendar) if faults.is_empty() => {
                let AutoSyncPolicy { keep, absence, .. } = *policy;
                return Ok(Policy { id: id.to_owned(), calendar, keep, absence });
            }
            Ok(_) => {}
        }
        Err(faults)
    }

    /// What a replica of this source is known by.
    pub fn relation(&self, source: u64) -> String {
        stamp::relation(&self.id, source)
    }

    /// The name of a snapshot.
    pub(super) fn name(&self, now: Time) -> String {
        let second = Timestamp::from_second(now.clamp(FIRST, LAST)).expect("jiff counts that far");
        format!("sync-{}-{}Z", self.id, Offset::UTC.to_datetime(second))
    }
}

fn shape_faults(policy: &AutoSyncPolicy) -> Vec<SyncFault> {
    let mut faults = Vec::new();
    let (source, target) = (policy.source.dataset.as_str(), policy.target.dataset());
    for dataset in [source, target] {
        if !is_dataset(dataset) {
            faults.push(SyncFault::Dataset { dataset: dataset.to_owned() });
        }
    }
    let is_here = matches!(policy.target, SyncTarget::Pool { .. });
    if is_here && (is_at_or_below(source, target) || is_at_or_below(target, source)) {
        faults.push(SyncFault::Overlap);
    }
    // The root of a pool is made with it, and is no replica.
    if !target.contains('/') && is_dataset(target) {
        faults.push(SyncFault::Dataset { dataset: target.to_owned() });
    }
    if !(KEEP.0..=KEEP.1).contains(&policy.keep.count) {
        faults.push(SyncFault::Keep { low: KEEP.0, high: KEEP.1 });
    }
    if policy.absence.seconds == Some(0) || policy.absence.bytes == Some(0) {
        faults.push(SyncFault::Absence);
    }
    if !(STUCK.0..=STUCK.1).contains(&policy.stuck_after) {
        faults.push(SyncFault::StuckAfter { low: STUCK.0, high: STUCK.1 });
    }
    faults
}

/// Whether it can be a dataset's name. What a pool takes, it says itself; what may stand in a
/// command line of another machine, this does: no option, no space but within.
fn is_dataset(name: &str) -> bool {
    let good = |part: &str| is_part(part) && part.trim() == part;
    name.len() <= LONGEST
        && name.starts_with(|first: char| first.is_ascii_alphabetic())
        && name.split('/').all(good)
}

#[cfg(test)]
mod tests;
