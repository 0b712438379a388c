//! Disks of the machine, and what takes them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// `GET /v1/disks`: block devices, and files in the folders where pools are looked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Disk {
    /// For a pool: a name of the device that stays, where it has one.
    pub path: String,
    /// As the kernel calls it; of a file its name.
    pub name: String,
    /// Bytes.
    pub size: u64,
    pub kind: DiskKind,
    pub model: Option<String>,
    pub serial: Option<String>,
    /// `None`: nothing is known to use it. What was written on it before is not looked at here:
    /// making a pool does that.
    pub used: Option<DiskUse>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DiskKind {
    /// It turns.
    Rotating,
    SolidState,
    /// A file, or a device that shows one.
    File,
}

/// What a disk is used for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DiskUse {
    /// A pool that is imported has it, or a part of it.
    Pool { name: String },
    /// It, or a part of it, is mounted here.
    Mounted { at: String },
    /// The machine swaps to it.
    Swap,
    /// Another device is made of it.
    Held { by: String },
    /// So many partitions are on it, and nothing is known of their use.
    Partitions { count: u64 },
    /// It cannot be written to.
    ReadOnly,
}
