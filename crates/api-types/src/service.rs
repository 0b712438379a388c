//! Services that look after the data: each an instance with properties, a state with its cause, a
//! last and a next run, and the reason for that.
//!
//! Times are in seconds since 1970.

mod words;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::autosnap::{AutoSnapPolicy, SnapFault};
use crate::autosync::{AutoSyncPolicy, SyncFault};
use crate::autotier::{AutoTierPolicy, TierFault};
use crate::schedule::{Schedule, ScheduleFault, Window};

/// What a service does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum ServiceSpec {
    AutoSnap(AutoSnapPolicy),
    AutoScrub(UpkeepPolicy),
    AutoTrim(UpkeepPolicy),
    AutoSync(AutoSyncPolicy),
    AutoTier(AutoTierPolicy),
    Script(ScriptPolicy),
}

/// Scrubs or trims.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UpkeepPolicy {
    /// Empty: all pools that are imported.
    #[serde(default)]
    pub pools: Vec<String>,
    pub schedule: Schedule,
    /// `None`: at any time of the day.
    #[serde(default)]
    pub window: Option<Window>,
}

/// A program of the user's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ScriptPolicy {
    /// An absolute path.
    pub program: String,
    #[serde(default)]
    pub arguments: Vec<String>,
    pub schedule: Schedule,
    #[serde(default)]
    pub limits: ScriptLimits,
}

/// What a script may take before it is ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ScriptLimits {
    /// From 1 to 86,400.
    pub seconds: u32,
    /// Bytes, from 16 MiB to 64 GiB.
    pub memory: u64,
    /// Bytes of output that are kept, the last ones; at most 1 MiB.
    pub output: u32,
    /// Processes at once, from 1 to 4,096.
    pub processes: u32,
}

impl Default for ScriptLimits {
    fn default() -> ScriptLimits {
        ScriptLimits { seconds: 3_600, memory: 1 << 30, output: 64 << 10, processes: 64 }
    }
}

/// Why a service's properties are not taken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum ServiceFault {
    Snap {
        faults: Vec<SnapFault>,
    },
    Sync {
        faults: Vec<SyncFault>,
    },
    Tier {
        faults: Vec<TierFault>,
    },
    Schedule {
        fault: ScheduleFault,
    },
    Window,
    /// No absolute path, or an argument with a byte 0.
    Program,
    Limits,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServiceKind {
    AutoSnap,
    AutoScrub,
    AutoTrim,
    AutoSync,
    AutoTier,
    Script,
}

impl ServiceSpec {
    pub fn kind(&self) -> ServiceKind {
        match self {
            ServiceSpec::AutoSnap(_) => ServiceKind::AutoSnap,
            ServiceSpec::AutoScrub(_) => ServiceKind::AutoScrub,
            ServiceSpec::AutoTrim(_) => ServiceKind::AutoTrim,
            ServiceSpec::AutoSync(_) => ServiceKind::AutoSync,
            ServiceSpec::AutoTier(_) => ServiceKind::AutoTier,
            ServiceSpec::Script(_) => ServiceKind::Script,
        }
    }
}

impl ServiceKind {
    /// As it is written and typed.
    pub fn word(self) -> &'static str {
        match self {
            ServiceKind::AutoSnap => "auto-snap",
            ServiceKind::AutoScrub => "auto-scrub",
            ServiceKind::AutoTrim => "auto-trim",
            ServiceKind::AutoSync => "auto-sync",
            ServiceKind::AutoTier => "auto-tier",
            ServiceKind::Script => "script",
        }
    }
}

/// What is wrong with the property by which a dataset keeps services.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum PolicyFault {
    TooLong {
        bytes: u64,
        limit: u64,
    },
    /// It is no JSON of this form; where, for a person.
    Form {
        why: String,
    },
    /// Another program has written it.
    Version {
        found: u32,
        known: u32,
    },
    Id {
        id: String,
    },
    /// A program, or a scrub or trim of other pools: datasets keep neither.
    NotOfData {
        id: String,
    },
    /// A name that no dataset below can have.
    Name {
        id: String,
        name: String,
    },
    /// The service is none that could be made.
    Service {
        id: String,
        fault: ServiceFault,
    },
}

/// Why a policy that a dataset keeps is not at work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum PolicySleeps {
    /// It came with a stream: this is a replica until somebody says otherwise.
    Replica,
    /// Another service has this id.
    IdTaken,
    /// There are too many services.
    TooMany,
    /// It makes no sense, and needs a person.
    Malformed { fault: PolicyFault },
    /// The machine's database does not take it.
    NotKept { why: String },
}

/// `GET /v1/service-policies`: one that a dataset keeps, and that is not at work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SleepingPolicy {
    pub dataset: String,
    /// `None`: of all that the dataset keeps, for it cannot be read.
    pub id: Option<String>,
    /// With the names that it would have here.
    pub spec: Option<ServiceSpec>,
    pub why: PolicySleeps,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ServiceState {
    Disabled,
    /// It waits for its next run.
    Online,
    Running,
    /// It goes on, but not with all that it should do.
    Degraded,
    /// It does nothing until somebody has looked and clears it.
    Maintenance,
}

impl ServiceState {
    /// As it is written.
    pub fn word(self) -> &'static str {
        match self {
            ServiceState::Disabled => "disabled",
            ServiceState::Online => "online",
            ServiceState::Running => "running",
            ServiceState::Degraded => "degraded",
            ServiceState::Maintenance => "maintenance",
        }
    }
}

/// What a failure asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FailureClass {
    /// The same may succeed later.
    Retriable,
    /// The same fails until somebody has changed something.
    NeedsPerson,
    /// Going on may do harm.
    Fatal,
}

/// A failure of a service, or of a part of its work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ServiceFailure {
    pub class: FailureClass,
    /// What it was about: a dataset, a pool, a program.
    pub subject: String,
    pub problem: Box<crate::Problem>,
}

/// Why a service runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum RunReason {
    Scheduled,
    /// Times were missed while the machine or the service was off.
    CatchUp {
        missed: u64,
    },
    Retry {
        failures: u32,
    },
    Asked,
}

/// What is done next, and why then.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NextRun {
    pub at: i64,
    pub reason: RunReason,
}

/// A run that has ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LastRun {
    pub began: i64,
    pub ended: i64,
    pub reason: RunReason,
    /// Snapshots made, or sent to their replicas; files copied; pools begun, programs run.
    pub done: u64,
    /// Snapshots destroyed; files that a move removed at their source.
    pub destroyed: u64,
    /// The first ones, at most 16.
    pub failures: Vec<ServiceFailure>,
    /// How many there were.
    pub failed: u64,
}

/// Why a service is in its state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum StateCause {
    /// An administrator said so.
    Asked,
    /// It began by itself.
    Began {
        reason: RunReason,
    },
    /// The last run ended well.
    Ended,
    Failed {
        failure: ServiceFailure,
        failed: u64,
    },
    /// The program ended while it ran.
    Interrupted,
}

/// What can be asked of a service.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ServiceCommand {
    Enable,
    Disable,
    Run,
    Clear,
}

/// A command that a service's state does not allow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NotNow {
    pub state: ServiceState,
    pub command: ServiceCommand,
}

/// The clock of the machine is not believed; services go on by the time that has passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ClockDispute {
    /// What the clock says.
    pub wall: i64,
    /// What is believed.
    pub believed: i64,
    /// Since when, in believed time.
    pub since: i64,
    /// When the clock will be believed if it does not leap again. `None`: when an administrator
    /// says so.
    pub agrees_at: Option<i64>,
}

/// How a program ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum ScriptEnd {
    Exited {
        status: i32,
    },
    /// By itself, or for want of memory.
    Signal {
        signal: i32,
    },
    /// It took longer than it may.
    TimedOut {
        seconds: u32,
    },
    /// It had more processes than it may.
    TooManyProcesses {
        processes: u32,
    },
    /// The service was disabled, or the daemon ended.
    Stopped,
    /// There is no such program, or it may not be run.
    NotStarted {
        message: String,
    },
}

/// A line of a service's log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ServiceLog {
    pub at: i64,
    pub entry: ServiceLogEntry,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum ServiceLogEntry {
    /// It came into this state.
    State {
        state: ServiceState,
        cause: StateCause,
    },
    Ended {
        run: LastRun,
    },
    /// A program ended; the last of what it wrote.
    Program {
        end: ScriptEnd,
        output: String,
    },
    /// Its properties were set.
    Set,
    Clock {
        dispute: Option<ClockDispute>,
    },
}
