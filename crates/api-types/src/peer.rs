//! Other appliances: who they are, what each may keep here, and what it may read.
//!
//! Times are in seconds since 1970.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::autosync::{SyncAbsence, SyncKeep, SyncReplica};
use crate::service::{NextRun, ServiceState, StateCause};
use crate::{Fingerprint, Secret};

/// Another appliance that this one knows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Peer {
    /// As it is called here.
    pub name: String,
    /// Of the certificate that it shows.
    pub fingerprint: Fingerprint,
    /// Where it listens, as `HOST:PORT`; `None`: it is never called from here.
    pub address: Option<String>,
    /// What it may send to this machine.
    pub grants: Vec<PeerGrant>,
    /// What it may read here. Empty: nothing.
    #[serde(default)]
    pub reads: Vec<PeerRead>,
    pub added: i64,
    /// Of this group: its members make each other known.
    #[serde(default)]
    pub group: Option<String>,
}

/// Where a peer may keep replicas here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PeerGrant {
    /// There and below.
    pub dataset: String,
    /// It may destroy nothing of what it has sent.
    #[serde(default)]
    pub append_only: bool,
    /// Which snapshots stay is decided here. `None`: by the peer, or all where it may only append.
    #[serde(default)]
    pub keep: Option<SyncKeep>,
}

/// What a peer may read here: which snapshots there are, and their content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PeerRead {
    /// It and all below.
    pub dataset: String,
    /// It may also make snapshots, and destroy those that it has made.
    #[serde(default)]
    pub snapshots: bool,
    /// What is kept for its services while they take nothing.
    #[serde(default)]
    pub absence: SyncAbsence,
}

/// This appliance, as others know it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PeerIdentity {
    pub fingerprint: Fingerprint,
    /// A code was given out, and nobody has typed it yet: until then it is good.
    pub invited_until: Option<i64>,
}

/// Makes another appliance known by its fingerprint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PeerAdd {
    pub name: String,
    pub fingerprint: Fingerprint,
    #[serde(default)]
    pub address: Option<String>,
    #[serde(default)]
    pub grants: Vec<PeerGrant>,
    #[serde(default)]
    pub group: Option<String>,
}

/// Sets what is given.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PeerChange {
    #[serde(default)]
    pub address: Option<String>,
    #[serde(default)]
    pub grants: Option<Vec<PeerGrant>>,
    #[serde(default)]
    pub reads: Option<Vec<PeerRead>>,
    /// An empty one: of no group any more.
    #[serde(default)]
    pub group: Option<String>,
}

/// Asks for a code by which another appliance becomes a peer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PeerInvite {
    /// What it will be called here.
    pub name: String,
    /// Where it listens, as `HOST:PORT`, if it is to be called from here.
    #[serde(default)]
    pub address: Option<String>,
    #[serde(default)]
    pub grants: Vec<PeerGrant>,
    #[serde(default)]
    pub group: Option<String>,
}

/// A code that is good once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PeerInvited {
    pub code: Secret,
    pub until: i64,
}

/// Becomes a peer of the appliance that has given out a code.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PeerJoin {
    /// What it will be called here.
    pub name: String,
    /// Where it listens, as `HOST:PORT`.
    pub address: String,
    pub code: Secret,
    #[serde(default)]
    pub grants: Vec<PeerGrant>,
    #[serde(default)]
    pub group: Option<String>,
}

/// What a peer says of itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PeerChecked {
    /// `None`: it answers.
    pub problem: Option<Box<crate::Problem>>,
    /// Of its program.
    pub version: Option<String>,
    /// By how many seconds its clock is ahead of the one here.
    pub ahead: Option<i64>,
    /// What this machine may send to it.
    pub grants: Vec<PeerGrant>,
    /// What this machine may read there.
    #[serde(default)]
    pub reads: Vec<PeerRead>,
}

/// A service of a peer that replicates to this machine, or from it, as the peer tells it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PeerRelation {
    pub service: String,
    /// Its sources are here, and its replicas there.
    #[serde(default)]
    pub pulls: bool,
    pub state: ServiceState,
    pub cause: StateCause,
    pub next: Option<NextRun>,
    /// Seconds by which a replica may be behind its source; `None`: nobody has said so.
    pub allowed: Option<u64>,
    /// When all this was so, by the clock there.
    pub at: i64,
    /// Those that lag most come first; at most 100.
    pub replicas: Vec<SyncReplica>,
}

/// Why a peer is not asked, or does not do what it is asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum PeerFault {
    /// No peer is called so.
    Unknown,
    /// It is known by its fingerprint, and nobody has said where it listens.
    NoAddress,
    /// There is no connection; why, for people.
    Unreachable { why: String },
    /// What listens there shows another certificate.
    OtherKey { fingerprint: Fingerprint },
    /// It does not know this machine.
    Stranger,
    /// It speaks other versions of the protocol.
    Version { theirs: u32 },
    /// It does not answer as it should.
    Garbled,
    /// It has not said anything for so many seconds.
    Silent { seconds: u64 },
    /// There is nothing here by which others know this machine.
    NoIdentity,
}

/// Why a peer may not do what it asks for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum ClaimFault {
    /// It may not keep replicas there.
    NotGranted { dataset: String },
    /// It may not read that.
    NotReadable { dataset: String },
    /// It may make no snapshots of that.
    MakesNone { dataset: String },
    /// What it may read has no snapshot.
    NothingMade { dataset: String },
    /// There is more of it than is listed at once: so many datasets, or snapshots and bookmarks.
    TooLong { dataset: String, most: u64 },
    /// It has made or holds as many snapshots of a dataset as a peer may, or as many bookmarks.
    TooMany { dataset: String, most: u32 },
    /// A service is not called so.
    Service,
    /// That is no name.
    Name { name: String },
    /// The dataset, or snapshot, is not one of this relation.
    NotOfRelation { name: String },
    /// It may only append.
    AppendOnly,
}
