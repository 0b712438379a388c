//! Faults that an operator asks for.

use serde::{Deserialize, Serialize};

/// Which I/O of a device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FaultIo {
    Read,
    Write,
    Flush,
    Trim,
    #[default]
    All,
}

/// What becomes of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FaultEffect {
    /// EIO.
    Io,
    /// ENXIO.
    #[default]
    Missing,
    /// Wrong bytes.
    Corrupt,
    /// Answered as done, and not done.
    Ignore,
    /// Nanoseconds that it takes longer.
    Delay(u64),
}

/// `POST /v1/faults`
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DeviceFault {
    pub pool: String,
    /// Of the leaf.
    pub guid: u64,
    pub io: FaultIo,
    pub effect: FaultEffect,
    /// Of a million I/Os so many are hit.
    pub rate: u32,
}

/// `GET /v1/faults`: one in force.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ActiveFault {
    pub id: u64,
    pub fault: DeviceFault,
    /// I/Os that it looked at, and those that it hit.
    pub matched: u64,
    pub injected: u64,
}

/// `POST /v1/faults/cancel`: that the fault is in force no more. Answers as `GET /v1/faults`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FaultCancel {
    pub id: u64,
}

/// `POST /v1/pools/{name}/condemn`: a device is thought of as if it had erred too often. Answers with nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Condemn {
    /// Of the leaf.
    pub guid: u64,
    /// Faulted; else degraded.
    pub fault: bool,
}
