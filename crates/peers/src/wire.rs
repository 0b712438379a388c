//! What peers say to each other: JSON in the bodies of POSTs. The body of [`RECEIVE`] is a line of
//! JSON and the stream behind it.
//!
//! Whatever fails is answered by a [`Failed`], with the status of its problem.

use api_types::{FailureClass, Fingerprint, PeerGrant, Problem, PropertyChange};
use appliance::replication::Claim;
use serde::{Deserialize, Serialize};

/// Of this protocol. Another number is another language.
pub const VERSION: u32 = 1;

/// [`Hello`] → [`Hello`]
pub const HELLO: &str = "/peer/hello";
/// [`Claim`] → `Option<appliance::replication::Found>`
pub const LOOK: &str = "/peer/look";
/// [`Receive`] and a stream → nothing
pub const RECEIVE: &str = "/peer/receive";
/// [`Claim`] → nothing
pub const ABORT: &str = "/peer/abort";
/// [`Destroy`] → nothing
pub const DESTROY: &str = "/peer/destroy";
/// [`Adopt`] → nothing
pub const ADOPT: &str = "/peer/adopt";
/// [`Claim`] → `Option<appliance::replication::Live>`
pub const PROMOTED: &str = "/peer/promoted";
/// [`Original`] → `bool`: whether it is here and in use
pub const ORIGINAL: &str = "/peer/original";
/// Nothing → every `api_types::PeerRelation` with the one that asks
pub const RELATIONS: &str = "/peer/relations";
/// [`Pair`] → [`Pair`]: the only ones for strangers
pub const PAIR: &str = "/peer/pair";
/// [`Confirm`] → [`Confirm`]
pub const CONFIRM: &str = "/peer/confirm";

/// The longest line before a stream, and the longest other request, in bytes.
pub const REQUEST_MAX: usize = 64 << 10;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    pub version: u32,
    /// Of the program.
    pub program: String,
    /// By its clock, in seconds since 1970.
    pub time: i64,
    /// What the one that is asked may be sent by the one that asks.
    #[serde(default)]
    pub grants: Vec<PeerGrant>,
    /// The others of the group that both are in, as the one that is asked knows them.
    #[serde(default)]
    pub members: Vec<Member>,
}

/// An appliance of a group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Member {
    pub group: String,
    /// As it is called where it is told of.
    pub name: String,
    pub fingerprint: Fingerprint,
    pub address: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receive {
    pub claim: Claim,
    /// Of a replica that is new.
    pub props: Vec<PropertyChange>,
    /// When the service made the snapshot, if it did.
    pub at: Option<i64>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Destroy {
    pub claim: Claim,
    /// Without its dataset.
    pub snapshot: String,
    pub guid: u64,
}

/// A dataset that is replicated to the one that asks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Original {
    /// That replicates it, of the one that is asked.
    pub service: String,
    pub guid: u64,
}

/// What clients know a replica's original by.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Adopt {
    pub claim: Claim,
    pub pool_guid: u64,
    pub dataset_guid: u64,
    /// What seals the handles of the original.
    pub key: Option<[u8; 32]>,
}

/// A message of SPAKE2.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pair {
    pub message: Vec<u8>,
}

/// What shows that one has come to the same key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Confirm {
    pub proof: [u8; 32],
}

/// Why something was not done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failed {
    pub class: FailureClass,
    pub problem: Problem,
}
