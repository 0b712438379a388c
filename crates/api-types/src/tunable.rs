//! Numbers that may be turned while the daemon runs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// `GET /v1/tunables` gives all of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Tunable {
    /// As OpenZFS's module parameter is called.
    pub name: String,
    pub value: u64,
    pub default: u64,
    /// What it may be set to.
    pub min: u64,
    pub max: u64,
    /// In a few words, with the unit.
    pub about: String,
}

/// `POST /v1/tunables`: holds until the daemon ends.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TunableSet {
    pub name: String,
    pub value: u64,
}
