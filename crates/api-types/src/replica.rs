//! Replicas, and what becomes of them when their original is lost: what an operator sees and asks.
//!
//! Times are in seconds since 1970.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::service_request::Service;
use crate::warning::Warnings;

/// Set on a dataset itself while it is a replica: of which service and source. On disk: `ID GUID`.
pub const REPLICA: &str = "org.cistern:replica";

/// Set on a dataset itself: what clients knew its original by, and know it by once it is promoted.
pub const IDENTITY: &str = "org.cistern:identity";

/// A dataset that is a replica.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Replica {
    pub dataset: String,
    /// The service that made it.
    pub service: String,
    pub source_guid: u64,
    /// What the source is called, where it is on this machine.
    pub source: Option<String>,
    /// The newest snapshot that it has, without its dataset, and when that was made.
    pub snapshot: Option<String>,
    pub at: Option<i64>,
    /// Clients that know the source go on with their handles and disks once this is promoted.
    pub keeps_clients: bool,
}

/// Query of `GET /v1/replicas/losses`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ReplicaQuery {
    /// A replica: it, and those below it.
    pub dataset: String,
}

/// What would be lost of a source if its replica took its place now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReplicaLoss {
    pub dataset: String,
    /// `None`: it is not here, and what it has is not known.
    pub source: Option<String>,
    /// The newest snapshot that both have, or that the replica has where the source is not here.
    pub snapshot: Option<String>,
    pub at: Option<i64>,
    /// Bytes that were written to the source since then.
    pub written: Option<u64>,
    /// Snapshots of the source that are newer, the newest 100, newest last.
    pub newer: Vec<String>,
}

/// `POST /v1/replicas/promote`: a replica, and those below it, take the place of their sources.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReplicaPromote {
    pub dataset: String,
    /// A source that is here and in use is taken out first: it is read-only from then on.
    #[serde(default)]
    pub force: bool,
}

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReplicaPromoted {
    /// What was promoted, and by what clients know it.
    pub promoted: Vec<ReplicaLive>,
    /// Sources that were taken out.
    pub taken_out: Vec<String>,
    /// A service that was disabled, for it would replicate over what was promoted.
    pub disabled: Option<String>,
    #[serde(flatten)]
    pub warnings: Warnings,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReplicaLive {
    pub dataset: String,
    /// Clients that knew the source go on with their handles and disks.
    pub keeps_clients: bool,
}

/// `POST /v1/replicas/test`: clones of the newest snapshots of a replica and those below it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReplicaTest {
    pub dataset: String,
    /// What the clone is called, in the same pool. `zfs destroy -r` takes it away.
    pub name: String,
}

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReplicaTested {
    /// What was cloned, parents first.
    pub clones: Vec<String>,
    #[serde(flatten)]
    pub warnings: Warnings,
}

/// `POST /v1/services/{name}/reverse`: what was promoted is the source from now on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ServiceReverse {
    /// What the former source has and the promoted one has not is given up.
    pub discard: bool,
}

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ServiceReversed {
    pub service: Service,
    #[serde(flatten)]
    pub warnings: Warnings,
}
