//! A policy that was checked, ready to be planned with.

use api_types::lock;
use api_types::{AutoSnapPolicy, SnapBudget, SnapFault, SnapFinding, SnapKeep, SnapNaming, SpaceBudget};
use jiff::Timestamp;
use jiff::tz::Offset;

use crate::schedule::{Calendar, Zones};
use crate::time::{DAY, FIRST, LAST, Time};

use super::stamp::LONGEST;

/// Levels of a policy.
const MOST_LEVELS: u32 = 16;
/// Targets of a policy.
const MOST_TARGETS: u32 = 10_000;
/// What one dataset may have of one service's snapshots.
const MOST_SNAPSHOTS: u32 = 10_000;
/// Bytes of a template: a snapshot's name is at most 255 with that of its dataset.
const LONGEST_TEMPLATE: usize = 100;

#[derive(Clone, Debug)]
pub struct Policy {
    pub(super) id: String,
    pub(super) levels: Vec<Level>,
    pub(super) budget: SnapBudget,
    pub(super) skip_unchanged: bool,
    /// Seconds for which what is made is locked.
    pub lock: Option<u64>,
    naming: SnapNaming,
    findings: Vec<SnapFinding>,
}

#[derive(Clone, Debug)]
pub(super) struct Level {
    pub name: String,
    pub calendar: Calendar,
    pub keep: SnapKeep,
    /// How often it is due in 28 years.
    pub often: u64,
}

impl Level {
    /// How many of the newest stay in any case. One does: by it a service knows, even if it forgot
    /// all else, that the level was served.
    pub fn at_least(&self) -> u32 {
        self.keep.at_least.max(1)
    }
}

impl Policy {
    /// `id`: of the service. All faults there are.
    pub fn new(id: &str, policy: &AutoSnapPolicy, zones: Zones<'_>) -> Result<Policy, Vec<SnapFault>> {
        let (mut faults, mut levels) = (shape_faults(policy), Vec::new());
        for level in &policy.levels {
            let name = level.name.clone();
            match Calendar::new(&level.schedule, zones) {
                Err(fault) => faults.push(SnapFault::Schedule { level: name, fault }),
                Ok(calendar) => {
                    let often = calendar.count(0, 28 * 366 * DAY);
                    levels.push(Level { name, calendar, keep: level.keep, often });
                }
            }
        }
        if !faults.is_empty() {
            return Err(faults);
        }
        let findings = levels.iter().flat_map(oddities).collect();
        Ok(Policy {
            id: id.to_owned(),
            levels,
            budget: policy.budget,
            skip_unchanged: policy.skip_unchanged,
            lock: policy.lock,
            naming: policy.naming.clone(),
            findings,
        })
    }

    /// What is odd about it.
    pub fn findings(&self) -> &[SnapFinding] {
        &self.findings
    }

    /// The name of a snapshot of a level.
    pub(super) fn name(&self, level: &str, now: Time) -> String {
        let second = Timestamp::from_second(now.clamp(FIRST, LAST)).expect("jiff counts that far");
        let time = Offset::UTC.to_datetime(second);
        match &self.naming {
            SnapNaming::Utc => format!("auto-{level}-{time}Z"),
            SnapNaming::ZfsAutoSnapshot => {
                format!("zfs-auto-snap_{level}-{}-{:02}{:02}", time.date(), time.hour(), time.minute())
            }
            SnapNaming::Template { template } => {
                template.replace("{level}", level).replace("{time}", &format!("{time}Z"))
            }
        }
    }

    /// Bytes that the snapshots of a dataset may take which uses and could use so much.
    pub(super) fn space(&self, used: u64, available: u64) -> Option<u64> {
        match self.budget.space? {
            SpaceBudget::Bytes { bytes } => Some(bytes),
            SpaceBudget::Percent { percent } => {
                let all = u128::from(used) + u128::from(available);
                Some(u64::try_from(all * u128::from(percent) / 100).unwrap_or(u64::MAX))
            }
        }
    }
}

/// What is wrong apart from the schedules.
fn shape_faults(policy: &AutoSnapPolicy) -> Vec<SnapFault> {
    let mut faults = Vec::new();
    if policy.levels.is_empty() {
        faults.push(SnapFault::NoLevels);
    }
    if policy.levels.len() > MOST_LEVELS as usize {
        faults.push(SnapFault::TooManyLevels { limit: MOST_LEVELS });
    }
    if policy.targets.is_empty() {
        faults.push(SnapFault::NoTargets);
    }
    if policy.targets.len() > MOST_TARGETS as usize {
        faults.push(SnapFault::TooManyTargets { limit: MOST_TARGETS });
    }
    for (at, level) in policy.levels.iter().enumerate() {
        let name = level.name.clone();
        let good = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-_".contains(&byte);
        if name.is_empty() || name.len() > LONGEST || !name.bytes().all(good) {
            faults.push(SnapFault::LevelName { level: name.clone() });
        }
        if policy.levels[..at].iter().any(|before| before.name == name) {
            faults.push(SnapFault::LevelTwice { level: name.clone() });
        }
        if level.keep.count == Some(0) {
            faults.push(SnapFault::KeepsNothing { level: name });
        }
    }
    if let SnapNaming::Template { template } = &policy.naming
        && !is_template(template)
    {
        faults.push(SnapFault::Template { template: template.clone() });
    }
    if let Some(SpaceBudget::Percent { percent }) = policy.budget.space
        && !(1..=100).contains(&percent)
    {
        faults.push(SnapFault::Percent { percent });
    }
    let (shortest, longest) = (60, lock::LONGEST.unsigned_abs());
    if policy.lock.is_some_and(|seconds| !(shortest..=longest).contains(&seconds)) {
        faults.push(SnapFault::Lock { low: shortest, high: longest });
    }
    // There has to be room for what is kept in any case, and for one more of each level.
    let room = |keep: &SnapKeep| keep.at_least.max(1).saturating_add(1);
    let low = policy.levels.iter().fold(0_u32, |sum, level| sum.saturating_add(room(&level.keep)));
    let (budget, high) = (policy.budget.snapshots, MOST_SNAPSHOTS);
    if budget < low || budget > high {
        faults.push(SnapFault::SnapshotBudget { budget, low, high });
    }
    faults
}

/// Whether it makes names of snapshots that tell levels and times apart.
fn is_template(template: &str) -> bool {
    let rest = template.replacen("{level}", "", 1).replacen("{time}", "", 1);
    let good = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.:".contains(&byte);
    template.contains("{level}")
        && template.contains("{time}")
        && template.len() <= LONGEST_TEMPLATE
        && rest.bytes().all(good)
}

fn oddities(level: &Level) -> Vec<SnapFinding> {
    let SnapKeep { count, age, at_least } = level.keep;
    let name = || level.name.clone();
    let mut found = Vec::new();
    if level.calendar.is_every_minute() {
        found.push(SnapFinding::EveryMinute { level: name() });
    }
    if count.is_some_and(|count| at_least > count) {
        found.push(SnapFinding::KeepContradicts { level: name() });
    }
    if count.is_none() && age.is_none() {
        found.push(SnapFinding::KeptForever { level: name() });
    }
    found
}

#[cfg(test)]
mod tests;
