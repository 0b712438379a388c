//! What `zpool status` explains of a pool: the first thing wrong that an operator should know, as
//! data; and what `zpool import` explains of one that is not imported. `words` has OpenZFS's
//! sentences about it, and what to do.
//!
//! Invariant: nobody reads a sentence to find out what it says.

mod import;
pub(crate) mod wire;
mod words;

pub use import::{ImportCondition, UnknownFeature};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Condition {
    Suspended {
        cause: SuspendCause,
        failmode: FailMode,
    },
    /// Their intent logs cannot be replayed: they are read-only.
    UnreplayableLogs {
        datasets: Vec<String>,
    },
    Resilvering,
    /// No scrub has ended since the last sequential resilver.
    UnverifiedRebuild,
    /// Their last synchronous writes may be lost: devices with intent logs were missing when the
    /// pool was imported.
    LostLogs {
        datasets: Vec<String>,
    },
    DataErrors,
    DeviceFaulted,
    DeviceUnavailable,
    /// A device has erred, and what it got wrong was put right.
    DeviceErrors,
    DeviceOffline,
    DeviceRemoved,
    Errata(Errata),
    /// Its version is older than feature flags.
    LegacyVersion,
    /// One that only a newer program knows, in that program's words. It is read, never made.
    #[schemars(skip)]
    Other {
        status: String,
        action: String,
        msgid: Option<String>,
    },
}

/// Why a pool is suspended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SuspendCause {
    /// I/O failed beyond redundancy.
    Io,
    /// Other hosts may take the pool for one that nobody uses.
    Multihost,
    /// A defect of this program.
    Fault,
}

/// The property `failmode`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FailMode {
    Wait,
    Continue,
    Panic,
}

/// What older programs have written wrongly, by OpenZFS's numbers (`zpool_errata_t`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Errata {
    /// Keys of encrypted datasets are of version 0.
    OldKeys = 3,
    /// Encrypted snapshots and bookmarks lack the guids of their IV sets.
    NoIvSets = 4,
}
