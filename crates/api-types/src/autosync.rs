//! Replication by a service: what is kept where, what is planned, and how far it is.
//!
//! Times are in seconds since 1970, spans in seconds.

use std::num::NonZeroU16;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::autosnap::SnapTarget;
use crate::schedule::{Schedule, ScheduleFault, Window};

/// What is replicated, where from and to, when, and what is kept of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AutoSyncPolicy {
    /// Names are those of where it is.
    pub source: SnapTarget,
    /// Where the source is. One that is elsewhere is *pulled*: its replica is in a pool here.
    #[serde(default, skip_serializing_if = "SyncOrigin::is_here")]
    pub origin: SyncOrigin,
    pub target: SyncTarget,
    pub schedule: Schedule,
    /// Of the replica's snapshots that this service made.
    #[serde(default)]
    pub keep: SyncKeep,
    #[serde(default)]
    pub absence: SyncAbsence,
    /// How fast it sends: the lowest of those that are in force. Empty: as fast as may be.
    #[serde(default)]
    pub limits: Vec<SyncLimit>,
    /// An alert is raised for a replica that lags by more seconds. `None`: by none.
    #[serde(default)]
    pub lag: Option<u64>,
    /// A run that moves no byte for so long is broken off, from 10 to 86,400.
    #[serde(default = "stuck_after")]
    pub stuck_after: u32,
}

/// Seconds, unless a policy says otherwise.
pub(crate) fn stuck_after() -> u32 {
    600
}

/// Where a source is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum SyncOrigin {
    /// In a pool of this machine.
    #[default]
    Here,
    /// On a host that has OpenZFS's commands, by SSH.
    Ssh(SshHost),
    /// On another appliance, by its name here.
    Peer { peer: String },
}

impl SyncOrigin {
    pub fn is_here(&self) -> bool {
        *self == SyncOrigin::Here
    }
}

/// Where replicas are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum SyncTarget {
    /// In a pool of this machine. What is below the source goes below the target.
    Pool { dataset: String },
    /// On another appliance, by its name here.
    Peer { peer: String, dataset: String },
    /// On a host that has OpenZFS's commands, by SSH.
    Ssh(SshTarget),
}

impl SyncTarget {
    pub fn dataset(&self) -> &str {
        match self {
            SyncTarget::Pool { dataset } | SyncTarget::Peer { dataset, .. } => dataset,
            SyncTarget::Ssh(there) => &there.dataset,
        }
    }
}

/// A dataset of another host, and the way there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SshTarget {
    /// A name, or an address.
    pub host: String,
    /// `None`: of the same name as the one that the daemon runs as.
    #[serde(default)]
    pub user: Option<String>,
    /// `None`: 22.
    #[serde(default)]
    pub port: Option<NonZeroU16>,
    pub dataset: String,
    #[serde(default)]
    pub host_key: SshHostKey,
}

impl SshTarget {
    /// The way there.
    pub fn place(&self) -> SshHost {
        let SshTarget { host, user, port, host_key, .. } = self.clone();
        SshHost { host, user, port, host_key }
    }
}

/// Another host, and the way there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SshHost {
    /// A name, or an address.
    pub host: String,
    /// `None`: of the same name as the one that the daemon runs as.
    #[serde(default)]
    pub user: Option<String>,
    /// `None`: 22.
    #[serde(default)]
    pub port: Option<NonZeroU16>,
    #[serde(default)]
    pub host_key: SshHostKey,
}

/// Which key of a host is believed. One that is known is never replaced by another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SshHostKey {
    /// The one that a host shows at first is known from then on.
    #[default]
    AcceptNew,
    /// Only one that somebody has noted.
    Known,
}

/// How many of a replica's snapshots stay: those that either says. The newest stays in any case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SyncKeep {
    /// So many of the newest, from 1 to 10,000.
    pub count: u32,
    /// And those that are no older.
    pub age: Option<u64>,
}

impl Default for SyncKeep {
    fn default() -> SyncKeep {
        SyncKeep { count: 2, age: None }
    }
}

/// A rate that is not exceeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SyncLimit {
    /// Bytes a second, 65,536 or more.
    pub bytes: u64,
    /// Of the day, in the time zone of the schedule. `None`: all of it.
    #[serde(default)]
    pub window: Option<Window>,
}

/// What the source keeps for a target that takes nothing: afterwards a bookmark takes the place of
/// its snapshots.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SyncAbsence {
    /// `None`: without end.
    #[serde(default)]
    pub seconds: Option<u64>,
    /// That would come free if the snapshots went, of each dataset.
    #[serde(default)]
    pub bytes: Option<u64>,
}

impl Default for SyncAbsence {
    fn default() -> SyncAbsence {
        SyncAbsence { seconds: Some(30 * 86_400), bytes: None }
    }
}

/// Why a policy is not taken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum SyncFault {
    Schedule {
        fault: ScheduleFault,
    },
    /// That is no dataset's name.
    Dataset {
        dataset: String,
    },
    /// The one lies in the other.
    Overlap,
    /// Neither the source nor the target is here.
    NothingHere,
    /// That is no name or address of a host.
    Host {
        host: String,
    },
    /// That is no name of a user.
    User {
        user: String,
    },
    /// That is no name of a peer.
    Peer {
        peer: String,
    },
    Keep {
        low: u32,
        high: u32,
    },
    /// An absence of no seconds.
    Absence,
    StuckAfter {
        low: u32,
        high: u32,
    },
    /// A limit is lower, there are more of them, or its window is none.
    Limit {
        low: u64,
        most: u32,
    },
    /// An alert after no seconds.
    Lag,
}

/// Why a dataset is not replicated until a person has changed something.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum SyncRefusal {
    /// The target is a dataset that is no replica.
    NoReplica,
    /// It is another's: of this service and source.
    OtherReplica { relation: String },
    /// It was there, and is not any more.
    ReplicaGone,
    /// Neither a snapshot nor a bookmark of the source is on the replica.
    NoCommonBase,
    /// The replica has a snapshot that is newer than all that both have.
    Diverged { snapshot: String },
    /// The replica may be written to.
    NotReadOnly,
}

/// One thing to be done for a dataset.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum SyncStep {
    /// Makes a snapshot of the source.
    Snapshot {
        snapshot: String,
    },
    /// Keeps one of the source from being destroyed.
    Hold {
        snapshot: String,
    },
    Release {
        snapshot: String,
    },
    /// `from`: of the source, with `@` or `#`; `None`: all of it.
    Send {
        snapshot: String,
        from: Option<String>,
    },
    /// Sends the rest of what was interrupted.
    Resume,
    /// Gives up what was received of something that the source has not any more.
    Abort,
    /// The replica's snapshot is known as this service's from now on.
    Stamp {
        snapshot: String,
        at: i64,
    },
    /// Of the source, in the place of a snapshot.
    Bookmark {
        snapshot: String,
    },
    /// Snapshots and bookmarks, with `@` or `#` before their names.
    Destroy {
        side: SyncSide,
        name: String,
        guid: u64,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SyncSide {
    Source,
    Replica,
}

/// What would be done for one dataset.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SyncPlan {
    pub dataset: String,
    /// Where its replica is.
    pub target: String,
    pub steps: Vec<SyncStep>,
    pub refusal: Option<SyncRefusal>,
    /// Why it is not known what is there.
    pub unreachable: Option<Box<crate::Problem>>,
}

/// How far replication is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SyncStatus {
    /// Of the datasets that lag most, at most 100, these first.
    pub replicas: Vec<SyncReplica>,
    /// What is being sent.
    pub sending: Option<SyncSending>,
}

/// A dataset and its replica.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SyncReplica {
    pub dataset: String,
    pub target: String,
    /// The newest one that is on the replica, without its dataset; `None`: none is.
    pub snapshot: Option<String>,
    /// All that the source had then is there.
    pub current: Option<i64>,
}

/// A stream under way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SyncSending {
    /// With its dataset.
    pub snapshot: String,
    pub since: i64,
    /// Bytes that were sent since then, and of how many, about.
    pub bytes: u64,
    pub size: u64,
    /// That it has taken.
    pub seconds: u64,
}
