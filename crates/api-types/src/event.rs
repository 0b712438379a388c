//! Events of pools, and the one stream of all that happens.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{AlertEvent, JobState, ServiceEvent};

/// Query of `GET /v1/events`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct EventsQuery {
    /// Only events with greater numbers.
    pub after: u64,
    /// How long to wait for one if there is none, at most 30 s.
    pub wait_ms: u64,
}

/// A value of an event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum ZeventValue {
    Number(u64),
    Text(String),
}

impl From<u64> for ZeventValue {
    fn from(number: u64) -> ZeventValue {
        ZeventValue::Number(number)
    }
}

impl From<&str> for ZeventValue {
    fn from(text: &str) -> ZeventValue {
        ZeventValue::Text(text.to_owned())
    }
}

/// One event, as `zpool events -v` shows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Zevent {
    /// Its number, from 1.
    pub eid: u64,
    /// Seconds since 1970, and nanoseconds.
    pub time: (i64, u32),
    /// `sysevent.fs.zfs.config_sync`, `ereport.fs.zfs.checksum`, …
    pub class: String,
    /// In order.
    pub payload: Vec<(String, ZeventValue)>,
}

/// `POST /v1/events/clear`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EventsCleared {
    pub cleared: u64,
}

/// Query of `GET /v1/events/stream`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct EventStreamQuery {
    /// The `id` of the last event that was taken; empty: none was.
    pub after: String,
}

/// One event of `GET /v1/events/stream`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Event {
    /// What has happened before is not all told: read anew what you want to know. It is the first
    /// event for who names none that he has taken.
    Resync { cause: ResyncCause },
    /// Something of a pool, its datasets or its devices.
    Pool(Zevent),
    /// A job has begun or ended.
    Job(JobEvent),
    /// A request that may have changed something was done. It is the only event of accounts, which
    /// administrators see, and of the daemon.
    Request(RequestEvent),
    /// A service came into another state.
    Service(ServiceEvent),
    /// An alert was raised, has become worse, or is over.
    Alert(AlertEvent),
}

/// Why events are missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ResyncCause {
    /// No event was named.
    Start,
    /// More has happened since the one that was named than is kept.
    Behind,
    /// The one that was named is of a program that has ended, or of none.
    Restarted,
}

/// What became of a job. `GET /v1/jobs/{id}` has the rest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct JobEvent {
    pub id: u64,
    /// As in `pool.create`.
    pub kind: String,
    pub target: String,
    pub state: JobState,
}

/// A request that was not a GET, and was not refused. Who has sent it, the audit log tells.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RequestEvent {
    /// Seconds since 1970.
    pub time: u64,
    pub verb: String,
    pub path: String,
    /// Of the answer.
    pub status: u16,
}
