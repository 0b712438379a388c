//! How a service knows its snapshots and replicas again.
//!
//! Both are user properties that were set on the snapshot, or dataset, itself: what a dataset hands
//! down, or a stream brought along, does not count.

use crate::time::{FIRST, LAST, Time};

/// Of a snapshot: whose it is. On disk: `ID AT`, as in `offsite 1795843462`.
pub const SNAPSHOT: &str = "org.cistern:sync";

/// Of a dataset that is a replica: of which service and source. On disk: `ID GUID`.
pub const REPLICA: &str = "org.cistern:replica";

/// The value of [`SNAPSHOT`], for one that this service made then.
pub fn written(service: &str, at: Time) -> String {
    format!("{service} {at}")
}

/// When this service made a snapshot that has this value; `None`: it is not this service's.
pub fn parse(value: &str, service: &str) -> Option<Time> {
    let at = value.strip_prefix(service)?.strip_prefix(' ')?.parse().ok()?;
    // One way of writing it: `+1` and `01` are not ours.
    ((FIRST..=LAST).contains(&at) && written(service, at) == value).then_some(at)
}

/// The value of [`REPLICA`], for a source of this guid.
pub fn relation(service: &str, source: u64) -> String {
    format!("{service} {source}")
}
