//! What is wrong with devices that are to be used, changed or let go of.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Why nothing is done with a vdev.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "fault", rename_all = "kebab-case")]
pub enum VdevFault {
    // What a pool may be made of.
    LogOnRaidz,
    /// Raidz of 0 or more than 3.
    Parity {
        parity: u64,
    },
    /// Groups of groups.
    Nested {
        group: String,
    },
    TooFew {
        group: String,
        least: u64,
    },
    TooMany {
        group: String,
        most: u64,
    },
    RaidzBesideRemoved,
    /// The device cannot be opened: what the operating system says.
    Device {
        path: String,
        message: String,
    },
    /// Of several devices one is smaller than `least`, in MiB.
    OneTooSmall {
        least: u64,
    },
    TooSmallForPool {
        least: u64,
    },
    /// One of them is listed twice.
    SameTwice,
    SameTwiceOrTaken,
    /// What is on the devices or uses them; `can_force`: `-f` overrides it.
    InUse {
        uses: Vec<Use>,
        can_force: bool,
    },

    // One that is, or becomes, part of a pool.
    IsSpare,
    IsCache,
    CacheNotExpandable,
    SpareBusy,
    NotMirror,
    RaidzExpansion,
    NeedsRebuildFeature,
    NotRebuildable,
    OnlyBySpare,
    LogBySpare,
    Replacing,
    InReplacement,
    DeviceBusy {
        path: String,
    },
    TooSmall,
    SectorSize,
    NotDetachable,
    NoReplicas,
    DataNotRemovable,
    Unavailable,
    LogsNotReplayed {
        datasets: Vec<String>,
    },
}

/// What a device is used for already.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "use", rename_all = "kebab-case")]
pub enum Use {
    /// A hot spare of this pool.
    Spare { path: String, pool: String },
    /// `state`: `active`, `potentially active`, `exported` or `unknown`.
    Part { path: String, pool: String, state: String },
    /// There is a file system on it, or something else that is no pool.
    Content { path: String, kind: String },
    /// It has a table of partitions, as the BIOS knows them.
    Mbr { path: String },
    /// It has a table of partitions, as EFI knows them.
    Gpt { path: String },
}
