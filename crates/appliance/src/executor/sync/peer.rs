//! Where replicas are: what a session asks of that side, whichever way leads there.

use std::collections::BTreeSet;
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use engine_api::{Adopted, Cancel, PropertyChange};
use serde::{Deserialize, Serialize};
use services::autosync::view::Snapshot;

use super::Fault;

/// What there is of a replica. `Default`: a dataset of which nothing is told.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Found {
    pub relation: Option<String>,
    pub readonly: bool,
    /// Which of its snapshots go is decided there.
    pub keeps: bool,
    /// Whether this service holds one is not looked at.
    pub snapshots: Vec<Snapshot>,
    /// What has the rest sent of what was received in part.
    pub token: Option<String>,
    /// The guids of pool and dataset that it keeps of what clients know its original by.
    pub known_as: Option<(u64, u64)>,
}

/// What was a replica, and was promoted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Live {
    pub guid: u64,
    /// guids of the snapshots that the service has sent, and that are still there.
    pub snapshots: BTreeSet<u64>,
}

/// What arrives.
pub struct Incoming<'a> {
    pub dataset: &'a str,
    /// To be set of a dataset that is new.
    pub props: Vec<PropertyChange>,
    /// What the snapshot is known by (`services::autosync::stamp::SNAPSHOT`); `None`: it is
    /// another's.
    pub stamp: Option<String>,
    /// Bytes that went there so far.
    pub bytes: Arc<AtomicU64>,
    /// The longest time without a byte.
    pub stuck: Duration,
    pub stop: Cancel,
}

/// Sends the stream. It fails where nobody takes it any more.
pub type Fill<'a> = &'a mut (dyn FnMut(&mut (dyn Write + Send)) -> Result<(), Fault> + Send);

/// The side of the replicas. Each call comes to an end: within the time that its [`Incoming`] says,
/// or within the peer's own.
pub trait Peer {
    /// `None`: there is no such dataset.
    fn look(&self, dataset: &str) -> Result<Option<Found>, Fault>;
    /// Takes a stream in, unmounted and never by force; what arrived of one that broke off is kept.
    fn receive(&self, incoming: &Incoming<'_>, fill: Fill<'_>) -> Result<(), Fault>;
    /// Sets what a snapshot is known by that came without.
    fn stamp(&self, snapshot: &str, value: &str) -> Result<(), Fault>;
    /// Gives up what was received in part.
    fn abort(&self, dataset: &str) -> Result<(), Fault>;
    fn destroy(&self, snapshot: &str, guid: u64) -> Result<(), Fault>;
    /// Has a replica keep what clients know its original by, until it is promoted. A peer that can
    /// keep no secret does nothing: handles of the original end with it then.
    fn adopt(&self, dataset: &str, identity: &Adopted) -> Result<(), Fault>;
    /// What became of a replica that was promoted; `None`: it was not.
    fn promoted(&self, dataset: &str) -> Result<Option<Live>, Fault>;
}
