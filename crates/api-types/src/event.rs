//! Events of pools.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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
