//! Why a pool is not imported.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "fault", rename_all = "kebab-case")]
pub enum ImportFault {
    /// None of that name or number.
    NotFound,
    Several,
    NameTaken,
    UnknownVersion,
    /// It cannot be read without these features, by guid.
    Features {
        guids: Vec<String>,
    },
    /// Of another host, which may be using it.
    Foreign {
        host: String,
        hostid: u64,
    },
    /// Another host does use it.
    Multihost {
        host: String,
        hostid: u64,
    },
    MultihostClaim,
    MultihostNoHostid,
    /// Another host may be silent for so long.
    MultihostDamaged {
        hours: u64,
    },
    Cancelled,
    /// What is on its devices cannot be read.
    Damaged,
    Unavailable,
    MissingLogs {
        logs: Vec<Member>,
    },
    VdevKind {
        kind: String,
    },
    /// How the configuration contradicts itself.
    Configuration {
        message: String,
    },
    /// What else went wrong while it was opened.
    Failed {
        message: String,
    },
    CorruptCachefile,
}

/// A top-level vdev that is missing, and its devices.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Member {
    pub name: String,
    pub is_log: bool,
    pub devices: Vec<String>,
}
