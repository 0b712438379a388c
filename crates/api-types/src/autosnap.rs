//! Automatic snapshots: what is to be made and kept, and what a plan says of it.
//!
//! Times are in seconds since 1970, ages in seconds, sizes in bytes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::schedule::{Schedule, ScheduleFault};

/// What an auto-snap service makes and keeps, for each dataset that it covers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AutoSnapPolicy {
    pub targets: Vec<SnapTarget>,
    pub levels: Vec<SnapLevel>,
    #[serde(default)]
    pub budget: SnapBudget,
    /// A dataset that has not changed since its newest snapshot gets none.
    #[serde(default)]
    pub skip_unchanged: bool,
    #[serde(default)]
    pub naming: SnapNaming,
    /// The newest snapshot of a dataset that has changed may be this old.
    #[serde(default)]
    pub stale_after: Option<u64>,
    /// What is made is locked for so many seconds ([`crate::lock`]), up to ten years. A policy that
    /// locks is kept by the machine: no dataset locks anything by what it says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lock: Option<u64>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SnapTarget {
    pub dataset: String,
    /// Once known, the target follows a dataset that is renamed.
    #[serde(default)]
    pub guid: Option<u64>,
    /// All that is below it, too.
    #[serde(default)]
    pub recursive: bool,
    /// Of what is below it: these and all below them not.
    #[serde(default)]
    pub exclude: Vec<String>,
}

/// Snapshots of one schedule, which are kept together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SnapLevel {
    /// Lower case letters, digits, `-` and `_`, at most 32.
    pub name: String,
    pub schedule: Schedule,
    pub keep: SnapKeep,
}

/// What of a level is kept. A snapshot goes when there are `count` newer ones of its level, or when
/// it is older than `age`; the newest `at_least`, and the newest one in any case, stay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SnapKeep {
    #[serde(default)]
    pub count: Option<u32>,
    #[serde(default)]
    pub age: Option<u64>,
    #[serde(default)]
    pub at_least: u32,
}

/// What the snapshots of one dataset may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SnapBudget {
    /// Of all snapshots of the dataset, whoever made them. `None`: no bound.
    #[serde(default)]
    pub space: Option<SpaceBudget>,
    /// How many of this service there may be, at most 10,000.
    #[serde(default = "default_snapshots")]
    pub snapshots: u32,
}

fn default_snapshots() -> u32 {
    1_000
}

impl Default for SnapBudget {
    fn default() -> SnapBudget {
        SnapBudget { space: None, snapshots: default_snapshots() }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "of", rename_all = "kebab-case", deny_unknown_fields)]
pub enum SpaceBudget {
    Bytes {
        bytes: u64,
    },
    /// Of what the dataset uses and could use.
    Percent {
        percent: u8,
    },
}

/// How snapshots are named. What a service owns it does not know by that.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "style", rename_all = "kebab-case", deny_unknown_fields)]
pub enum SnapNaming {
    /// `auto-hourly-2026-11-28T05:24:22Z`
    #[default]
    Utc,
    /// `zfs-auto-snap_hourly-2026-11-28-0524`, in UTC.
    ZfsAutoSnapshot,
    /// With `{level}` and `{time}`, which is as with [`SnapNaming::Utc`].
    Template { template: String },
}

/// Why a policy is not taken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum SnapFault {
    Schedule {
        level: String,
        fault: ScheduleFault,
    },
    LevelName {
        level: String,
    },
    LevelTwice {
        level: String,
    },
    /// `keep.count` is from 1 on.
    KeepsNothing {
        level: String,
    },
    NoLevels,
    TooManyLevels {
        limit: u32,
    },
    NoTargets,
    TooManyTargets {
        limit: u32,
    },
    Template {
        template: String,
    },
    Percent {
        percent: u8,
    },
    /// There is room for each level to keep what it has to, and to make one more, from `low` on.
    /// Seconds of a lock.
    Lock {
        low: u64,
        high: u64,
    },
    SnapshotBudget {
        budget: u32,
        low: u32,
        high: u32,
    },
}

/// What is odd about a service, or hinders it, without stopping it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum SnapFinding {
    /// A level that is due in every minute.
    EveryMinute {
        level: String,
    },
    /// `keep.at_least` is more than `keep.count`: the former holds.
    KeepContradicts {
        level: String,
    },
    /// Nothing but the budget ends this level's snapshots.
    KeptForever {
        level: String,
    },
    /// Two targets cover the same: the longer name decides.
    TargetsOverlap {
        dataset: String,
        other: String,
    },
    TargetGone {
        dataset: String,
    },
    TargetRenamed {
        from: String,
        to: String,
    },
    /// What may be destroyed is destroyed, and it is still too much.
    BudgetCannotBeHeld {
        dataset: String,
        over: BudgetOver,
    },
    /// Snapshots of a level that the policy no longer has: they stay until a budget needs them.
    LevelGone {
        dataset: String,
        level: String,
        snapshots: u32,
    },
    /// Snapshots that this service made by a clock that was ahead: their times are still to come.
    TimeUnbelievable {
        dataset: String,
        snapshots: u32,
    },
}

/// By how much a budget is exceeded, and what stands in the way: numbers of snapshots.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BudgetOver {
    /// Bytes; `None` of a budget of snapshots.
    pub bytes: Option<u64>,
    /// Snapshots; `None` of a budget of bytes.
    pub snapshots: Option<u32>,
    pub kept_at_least: u32,
    pub held: u32,
    pub cloned: u32,
    pub needed: u32,
    /// Not of this service.
    pub others: u32,
}

/// What a look at the datasets leads to. Nothing else is done, and in this order: groups, then
/// destroys.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SnapPlan {
    /// When this was, or will be.
    pub at: i64,
    pub groups: Vec<SnapGroup>,
    pub destroys: Vec<SnapDestroy>,
    pub kept: Vec<SnapKept>,
    pub skipped: Vec<SnapSkipped>,
    pub findings: Vec<SnapFinding>,
}

/// Snapshots that are made in one transaction group of a pool, or not at all.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SnapGroup {
    pub pool: String,
    pub creates: Vec<SnapCreate>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SnapCreate {
    pub dataset: String,
    pub dataset_guid: u64,
    /// Without the dataset's name.
    pub snapshot: String,
    pub level: String,
    /// The time of the schedule that this is for.
    pub slot: i64,
    /// Times of the schedule before that for which none was made.
    pub missed: u64,
    /// The value of the user property that marks it as this service's.
    pub stamp: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SnapDestroy {
    pub dataset: String,
    pub dataset_guid: u64,
    pub snapshot: String,
    /// It is destroyed only if it still has this guid.
    pub guid: u64,
    pub level: String,
    pub reason: SnapDestroyReason,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum SnapDestroyReason {
    /// There are `keep` newer ones of its level.
    Count { keep: u32 },
    /// It is older than `limit`.
    Age { age: u64, limit: u64 },
    /// The service has `snapshots` of this dataset.
    SnapshotBudget { snapshots: u32, budget: u32 },
    /// The dataset's snapshots take `used`.
    SpaceBudget { used: u64, budget: u64 },
}

/// A snapshot that would go and stays.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SnapKept {
    pub dataset: String,
    pub snapshot: String,
    pub level: String,
    pub reason: SnapKeptReason,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum SnapKeptReason {
    Held {
        holds: u32,
    },
    Cloned {
        clones: u32,
    },
    /// Somebody needs it as a base.
    Needed {
        by: String,
    },
    AtLeast {
        at_least: u32,
    },
    /// After a failure, not before then.
    BackOff {
        until: i64,
        failures: u32,
    },
    /// After a failure that somebody has to look at.
    Stopped,
}

/// A snapshot that is due and is not made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SnapSkipped {
    pub dataset: String,
    pub dataset_guid: u64,
    /// `None`: it is about all levels.
    pub level: Option<String>,
    pub reason: SnapSkipReason,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum SnapSkipReason {
    Unchanged,
    /// A stream is being received into it.
    Receiving,
    /// It is a replica of another dataset: a snapshot of its own would end that.
    Replica,
    /// The pool cannot be written to.
    NotWritable,
    NoSpace,
    /// There are as many as there may be, and none can go.
    SnapshotBudget {
        snapshots: u32,
        budget: u32,
    },
    /// After a failure, not before then.
    BackOff {
        until: i64,
        failures: u32,
    },
    /// After a failure that somebody has to look at.
    Stopped,
}

/// Why a service looks at something again, and when.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SnapNext {
    pub dataset: String,
    pub at: i64,
    pub reason: SnapNextReason,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum SnapNextReason {
    /// A level is due.
    Due { level: String },
    /// A snapshot of a level becomes too old.
    Expiry { level: String },
    /// A failure may be tried again.
    Retry,
    /// There is more to destroy, or a budget to look at again.
    Thinning,
    /// Nothing is due: it is looked at anyway.
    Review,
}

/// `plan` for the next days: what is made and destroyed if every dataset changes all the time,
/// space stays as it is, and nobody else does anything.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SnapForecast {
    /// Those in which something is made or destroyed, in the order of time.
    pub plans: Vec<SnapPlan>,
    /// Where it ends before the time that was asked for: it is as long as may be.
    pub ends_early: Option<i64>,
}
