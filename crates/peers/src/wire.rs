//! What peers say to each other: JSON in the bodies of POSTs. The body of [`RECEIVE`] is a line of
//! JSON and the stream behind it, the answer to [`SOURCE_SEND`] is frames.
//!
//! Whatever fails is answered by a [`Failed`], with the status of its problem.

use api_types::{FailureClass, Fingerprint, PeerGrant, PeerRead, Problem, PropertyChange, SyncStep};
use appliance::replication::{Claim, Content, ReadClaim};
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
/// [`Names`] → name and guid of each: what there is of a source that the one that asks pulls
pub const SOURCE_NAMES: &str = "/peer/source/names";
/// [`Read`] → [`appliance::replication::Offered`]
pub const SOURCE_READ: &str = "/peer/source/read";
/// [`Step`] → nothing
pub const SOURCE_CHANGE: &str = "/peer/source/change";
/// [`Make`] → nothing
pub const SOURCE_MAKE: &str = "/peer/source/make";
/// [`Rest`] → `bool`: whether it has the rest of what was received in part
pub const SOURCE_REST: &str = "/peer/source/rest";
/// [`Fetch`] → a stream, and [`Told`] beside it, in frames of `api_types::frame_head`
pub const SOURCE_SEND: &str = "/peer/source/send";
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
    /// What it may read there.
    #[serde(default)]
    pub reads: Vec<PeerRead>,
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

/// What is asked for of a source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Names {
    pub dataset: String,
    /// It may have another name by now.
    pub guid: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Read {
    pub claim: ReadClaim,
    /// What its snapshots keep is counted, too.
    pub counts: bool,
    /// What was just written counts.
    pub anew: bool,
}

/// To be done to a source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    pub claim: ReadClaim,
    pub step: SyncStep,
    /// For what is made.
    pub at: i64,
}

/// Snapshots to be made, of as many together as may be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Make {
    pub wanted: Vec<(ReadClaim, String)>,
    pub at: i64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rest {
    pub claim: ReadClaim,
    pub token: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fetch {
    pub claim: ReadClaim,
    pub content: Content,
}

/// What is told beside a stream.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Told {
    /// First: what it is of, and about how many bytes.
    Planned { snapshot: String, size: u64 },
    /// The end.
    Done,
    /// The end, too.
    Failed(Box<Failed>),
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
