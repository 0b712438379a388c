//! What `zpool import` explains of a pool that is not imported.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ImportCondition {
    Ready,
    /// It was last in use on another host.
    Foreign,
    /// Devices are missing that it can do without.
    Degraded,
    /// What is on its devices cannot be read.
    Damaged,
    /// Devices are missing that it cannot do without.
    Unavailable,
    UnknownVersion,
    UnknownFeatures {
        features: Vec<UnknownFeature>,
    },
    /// One that only a newer program knows, in that program's words. It is read, never made.
    #[schemars(skip)]
    Other {
        status: Option<String>,
        action: String,
    },
}

/// A feature of a pool that this program cannot read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UnknownFeature {
    pub guid: String,
    /// What it does, where it is known.
    pub description: Option<String>,
}
