//! Sessions of iSCSI initiators, and what they do to volumes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// `GET /v1/iscsi/sessions`
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IscsiSession {
    /// The initiator's port: `iqn.…,i,0x…`.
    pub initiator: String,
    pub target: String,
    /// Of the portals that it came through.
    pub group: u16,
    pub connections: u64,
    /// Units that it has asked for anything.
    pub units: Vec<IscsiUnit>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IscsiUnit {
    pub lun: u16,
    /// Empty where it is no more.
    pub volume: String,
    pub reads: IscsiTally,
    pub writes: IscsiTally,
    /// Commands that neither read nor write.
    pub others: IscsiTally,
    /// Commands that are under way, and the most that were.
    pub queue: u64,
    pub queue_most: u64,
}

/// Since the session began.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IscsiTally {
    pub commands: u64,
    pub bytes: u64,
    /// Nanoseconds, all together: each from when the whole command has come until its answer is
    /// known.
    pub time: u64,
    /// Bucket `i` counts nanoseconds in `2^i .. 2^(i+1)`.
    pub latencies: Vec<u64>,
}
