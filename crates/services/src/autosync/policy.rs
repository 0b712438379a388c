//! A policy that was checked, ready to be planned with.

use api_types::{
    AutoSyncPolicy, SshHost, SyncAbsence, SyncFault, SyncKeep, SyncLimit, SyncOrigin, SyncTarget,
};
use jiff::Timestamp;
use jiff::tz::Offset;
use stdx::names::is_at_or_below;

use super::stamp;
use crate::instance::is_id;
use crate::names::{is_dataset, is_host, is_user};
use crate::schedule::{Calendar, Zones};
use crate::time::{FIRST, LAST, Time};
use crate::window::{is_open, is_window};

/// Snapshots of a replica that are kept.
const KEEP: (u32, u32) = (1, 10_000);
/// Seconds after which something that moves no byte is stuck.
const STUCK: (u32, u32) = (10, 86_400);
/// Bytes a second: a chunk of a stream is then under way for less than a stream is stuck after.
const SLOWEST: u64 = 64 << 10;
const MOST_LIMITS: u32 = 16;

#[derive(Clone, Debug)]
pub struct Policy {
    id: String,
    pub(super) calendar: Calendar,
    pub(super) keep: SyncKeep,
    pub absence: SyncAbsence,
    limits: Vec<SyncLimit>,
}

impl Policy {
    /// `id`: of the service. All faults there are.
    pub fn new(id: &str, policy: &AutoSyncPolicy, zones: Zones<'_>) -> Result<Policy, Vec<SyncFault>> {
        let mut faults = shape_faults(policy);
        match Calendar::of_seconds(&policy.schedule, zones) {
            Err(fault) => faults.push(SyncFault::Schedule { fault }),
            Ok(calendar) if faults.is_empty() => {
                let AutoSyncPolicy { keep, absence, .. } = *policy;
                let (id, limits) = (id.to_owned(), policy.limits.clone());
                return Ok(Policy { id, calendar, keep, absence, limits });
            }
            Ok(_) => {}
        }
        Err(faults)
    }

    /// What a replica of this source is known by.
    pub fn relation(&self, source: u64) -> String {
        stamp::relation(&self.id, source)
    }

    /// Bytes a second that are sent at most now; `None`: as many as may be.
    pub fn rate(&self, now: Time) -> Option<u64> {
        let minute = self.calendar.minute_of_day(now);
        let in_force = |limit: &&SyncLimit| limit.window.is_none_or(|window| is_open(&window, minute));
        self.limits.iter().filter(in_force).map(|limit| limit.bytes).min()
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
    if !is_here && !policy.origin.is_here() {
        faults.push(SyncFault::NothingHere);
    }
    let is_one_machine = is_here && policy.origin.is_here();
    if is_one_machine && (is_at_or_below(source, target) || is_at_or_below(target, source)) {
        faults.push(SyncFault::Overlap);
    }
    // The root of a pool is made with it, and is no replica.
    if !target.contains('/') && is_dataset(target) {
        faults.push(SyncFault::Dataset { dataset: target.to_owned() });
    }
    if let SyncTarget::Ssh(there) = &policy.target {
        faults.extend(place_faults(&there.place()));
    }
    match &policy.origin {
        SyncOrigin::Here => {}
        SyncOrigin::Ssh(place) => faults.extend(place_faults(place)),
        SyncOrigin::Peer { peer } if is_id(peer) => {}
        SyncOrigin::Peer { peer } => faults.push(SyncFault::Peer { peer: peer.clone() }),
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
    let is_bad = |it: &SyncLimit| it.bytes < SLOWEST || !it.window.as_ref().is_none_or(is_window);
    if policy.limits.len() > MOST_LIMITS as usize || policy.limits.iter().any(is_bad) {
        faults.push(SyncFault::Limit { low: SLOWEST, most: MOST_LIMITS });
    }
    if policy.lag == Some(0) {
        faults.push(SyncFault::Lag);
    }
    faults
}

fn place_faults(place: &SshHost) -> Vec<SyncFault> {
    let mut faults = Vec::new();
    if !is_host(&place.host) {
        faults.push(SyncFault::Host { host: place.host.clone() });
    }
    if let Some(user) = place.user.as_ref().filter(|user| !is_user(user)) {
        faults.push(SyncFault::User { user: user.clone() });
    }
    faults
}

#[cfg(test)]
mod tests;
