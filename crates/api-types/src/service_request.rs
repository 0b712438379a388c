//! What is asked of services, and what is told of them.
//!
//! Times are in seconds since 1970.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::autosnap::{SnapFinding, SnapForecast, SnapNextReason, SnapSkipped};
use crate::autosync::{SyncPlan, SyncStatus};
use crate::autotier::{TierPlan, TierStatus};
use crate::service::{ClockDispute, LastRun, NextRun, ServiceCommand, ServiceSpec, ServiceState, StateCause};

/// `POST /v1/services`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ServiceCreate {
    /// Lower case letters, digits and `-`, at most 32.
    pub id: String,
    pub spec: ServiceSpec,
    /// It begins at once.
    #[serde(default)]
    pub enabled: bool,
}

/// `POST /v1/services/{name}/spec`: all of it anew.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ServiceSet {
    pub spec: ServiceSpec,
}

/// `POST /v1/service-policies/wake`: what came with a stream becomes the dataset's own, and begins.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PolicyWake {
    pub dataset: String,
    pub id: String,
}

/// `POST /v1/services/{name}/command`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ServiceAsk {
    pub command: ServiceCommand,
}

/// A service, how it stands, and what it does next.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Service {
    pub id: String,
    pub spec: ServiceSpec,
    pub state: ServiceState,
    pub cause: StateCause,
    /// When it came into this state.
    pub since: i64,
    pub last: Option<LastRun>,
    pub next: Option<NextRun>,
    /// What it does then, of an auto-snap service.
    #[serde(default)]
    pub next_look: Option<NextLook>,
    /// Datasets, or pools, that it looks after now.
    pub covers: u64,
    /// What is odd about it.
    #[serde(default)]
    pub findings: Vec<SnapFinding>,
    /// What was due at the last looks and was not made, but for datasets that have not changed.
    #[serde(default)]
    pub skipped: Vec<SnapSkipped>,
    /// Pools that do not answer it: their work waits.
    #[serde(default)]
    pub waits_for: Vec<SlowPool>,
    /// The clock is not believed.
    #[serde(default)]
    pub clock: Option<ClockDispute>,
    /// The dataset that keeps what it is set to do. `None`: this machine does.
    #[serde(default)]
    pub home: Option<String>,
    /// Its home is not here, or was not looked at yet.
    #[serde(default)]
    pub away: bool,
    /// Of an auto-sync service.
    #[serde(default)]
    pub sync: Option<SyncStatus>,
    /// Of an auto-tier service that runs.
    #[serde(default)]
    pub tier: Option<TierStatus>,
}

/// What is looked at next, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NextLook {
    pub dataset: String,
    pub reason: SnapNextReason,
}

/// A pool that has been at something for long.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SlowPool {
    pub pool: String,
    pub since: i64,
}

/// Query of `GET /v1/services/{name}/plan`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ServicePlanQuery {
    /// How many days ahead, at most 366; 0: what would be done now.
    pub days: u32,
}

/// What a service would do.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ServicePlan {
    pub now: i64,
    pub until: i64,
    /// Of an auto-snap service.
    #[serde(default)]
    pub snapshots: Option<SnapForecast>,
    /// Of an auto-sync service: what would be done now.
    #[serde(default)]
    pub syncs: Vec<SyncPlan>,
    /// Of an auto-tier service: what would be done now.
    #[serde(default)]
    pub tier: Option<TierPlan>,
    /// Of any other: when it runs, at most 1,000 times.
    #[serde(default)]
    pub runs: Vec<NextRun>,
    /// Datasets that were left out, for they have too many snapshots to be counted forward at once.
    #[serde(default)]
    pub left_out: u64,
}

/// `GET /v1/service-clock`: what time services go by.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ServiceClock {
    pub believed: i64,
    pub dispute: Option<ClockDispute>,
}

/// What became of a service. `GET /v1/services/{name}` has the rest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ServiceEvent {
    pub id: String,
    /// `None`: it was removed.
    pub state: Option<ServiceState>,
}
