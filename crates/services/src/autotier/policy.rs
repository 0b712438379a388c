//! A policy that was checked, ready to be planned with.

use api_types::{AutoTierPolicy, NextRun, RunReason, TierAction, TierFault, TierTarget};
use jiff::Timestamp;
use jiff::tz::Offset;

use super::choose::Choice;
use crate::names::{is_dataset, is_host, is_user};
use crate::schedule::{Calendar, Zones};
use crate::time::{FIRST, LAST, Time};

/// Seconds after which an rsync that moves no byte is stuck.
const STUCK: (u32, u32) = (10, 86_400);
/// rsync counts rates in such steps.
const SLOWEST: u64 = 1 << 10;
/// Bytes of a path.
const LONGEST: usize = 1_024;

#[derive(Clone, Debug)]
pub struct Policy {
    id: String,
    calendar: Calendar,
    pub choice: Choice,
    /// Of a move: how long what goes has not changed.
    pub keep: Option<u64>,
}

impl Policy {
    /// `id`: of the service. All faults there are.
    pub fn new(id: &str, policy: &AutoTierPolicy, zones: Zones<'_>) -> Result<Policy, Vec<TierFault>> {
        let mut faults = shape_faults(policy);
        let calendar = Calendar::new(&policy.schedule, zones);
        let calendar = calendar.map_err(|fault| faults.push(TierFault::Schedule { fault }));
        let choice = Choice::new(&policy.choose).map_err(|more| faults.extend(more));
        let keep = match policy.action {
            TierAction::Copy => None,
            TierAction::Move { keep } => Some(keep),
        };
        match (calendar, choice) {
            (Ok(calendar), Ok(choice)) if faults.is_empty() => {
                Ok(Policy { id: id.to_owned(), calendar, choice, keep })
            }
            _ => Err(faults),
        }
    }

    /// The name of a snapshot.
    pub fn name(&self, now: Time) -> String {
        let second = Timestamp::from_second(now.clamp(FIRST, LAST)).expect("jiff counts that far");
        format!("tier-{}-{}Z", self.id, Offset::UTC.to_datetime(second))
    }

    /// When it runs next, and why, if nobody asks. What was interrupted begins anew at once: its
    /// snapshot may be there still.
    pub fn next(&self, served: Time, is_interrupted: bool, now: Time) -> Option<NextRun> {
        let scheduled = |at| NextRun { at, reason: RunReason::Scheduled };
        match self.calendar.due(served, now) {
            Some(due) if due.missed > 0 => {
                Some(NextRun { at: now, reason: RunReason::CatchUp { missed: due.missed } })
            }
            Some(_) => Some(scheduled(now)),
            None if is_interrupted => Some(scheduled(now)),
            None => self.calendar.next_after(now).map(scheduled),
        }
    }

    /// Whether a file that was last changed then may go from the source.
    pub fn is_removable(&self, changed: Time, now: Time) -> bool {
        let unchanged = u64::try_from(now.saturating_sub(changed)).unwrap_or(0);
        self.keep.is_some_and(|keep| unchanged >= keep)
    }
}

fn shape_faults(policy: &AutoTierPolicy) -> Vec<TierFault> {
    let mut faults = Vec::new();
    let source = &policy.source;
    let no_path = |path: &str| TierFault::Path { path: path.chars().take(LONGEST).collect() };
    if !is_dataset(&source.dataset) {
        faults.push(TierFault::Dataset { dataset: source.dataset.clone() });
    }
    if source.recursive || !source.exclude.is_empty() {
        faults.push(TierFault::Recursive);
    }
    let in_control = policy.folder.split('/').next() == Some(".zfs");
    if !policy.folder.is_empty() && (!is_path(&policy.folder) || in_control) {
        faults.push(no_path(&policy.folder));
    }
    match &policy.target {
        TierTarget::Dataset { dataset } if !is_dataset(dataset) => {
            faults.push(TierFault::Dataset { dataset: dataset.clone() });
        }
        TierTarget::Dataset { dataset } if *dataset == source.dataset => faults.push(TierFault::Same),
        TierTarget::Dataset { .. } => {}
        TierTarget::Folder { path } | TierTarget::Ssh { path, .. } => {
            let is_absolute = path == "/" || path.strip_prefix('/').is_some_and(is_path);
            if !is_absolute {
                faults.push(no_path(path));
            }
        }
    }
    if let TierTarget::Ssh { host, user, .. } = &policy.target {
        if !is_host(host) {
            faults.push(TierFault::Host { host: host.clone() });
        }
        if let Some(user) = user.as_ref().filter(|user| !is_user(user)) {
            faults.push(TierFault::User { user: user.clone() });
        }
    }
    if policy.rate.is_some_and(|rate| rate < SLOWEST) {
        faults.push(TierFault::Rate { low: SLOWEST });
    }
    if !(STUCK.0..=STUCK.1).contains(&policy.stuck_after) {
        faults.push(TierFault::StuckAfter { low: STUCK.0, high: STUCK.1 });
    }
    faults
}

/// Whether these are names, one below the other.
fn is_path(path: &str) -> bool {
    let is_name = |name: &str| !matches!(name, "" | "." | "..") && !name.contains(char::is_control);
    path.len() <= LONGEST && path.split('/').all(is_name)
}

#[cfg(test)]
mod tests;
