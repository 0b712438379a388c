//! Where replicas are: what a session asks of that side, whichever way leads there.

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use engine_api::{Cancel, PropertyChange, Result};
use services::autosync::view::Snapshot;

use super::Fault;

/// What there is of a replica.
pub struct Found {
    pub relation: Option<String>,
    pub readonly: bool,
    /// Whether this service holds one is not looked at.
    pub snapshots: Vec<Snapshot>,
    /// What has the rest sent of what was received in part.
    pub token: Option<String>,
}

/// What arrives.
pub struct Incoming<'a> {
    pub dataset: &'a str,
    /// To be set of a dataset that is new.
    pub props: Vec<PropertyChange>,
    /// Bytes that went there so far.
    pub bytes: Arc<AtomicU64>,
    /// The longest time without a byte.
    pub stuck: Duration,
    pub stop: Cancel,
}

/// Sends the stream. It fails where nobody takes it any more.
pub type Fill<'a> = &'a mut (dyn FnMut(&mut dyn Write) -> Result<()> + Send);

/// The side of the replicas. Each call comes to an end: within the time that its [`Incoming`] says,
/// or within the peer's own.
pub trait Peer {
    /// `None`: there is no such dataset.
    fn look(&self, dataset: &str) -> std::result::Result<Option<Found>, Fault>;
    /// Takes a stream in, unmounted and never by force; what arrived of one that broke off is kept.
    fn receive(&self, incoming: &Incoming<'_>, fill: Fill<'_>) -> std::result::Result<(), Fault>;
    /// Sets what a snapshot is known by.
    fn stamp(&self, snapshot: &str, value: &str) -> std::result::Result<(), Fault>;
    /// Gives up what was received in part.
    fn abort(&self, dataset: &str) -> std::result::Result<(), Fault>;
    fn destroy(&self, snapshot: &str, guid: u64) -> std::result::Result<(), Fault>;
}
