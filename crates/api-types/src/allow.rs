//! Delegated permissions: `zfs allow` and `unallow`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Whom permissions are for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Grantee {
    User(u64),
    Group(u64),
    Everyone,
    /// Who makes a dataset below gets them there.
    Creator,
    /// What a set has; its name begins with '@'.
    Set(String),
}

/// Permissions that somebody has, gets or loses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Grant {
    pub who: Grantee,
    /// Of users, groups and everyone: for the dataset itself, and for those below it.
    #[serde(default)]
    pub local: bool,
    #[serde(default)]
    pub descendent: bool,
    /// Names of permissions, and of sets with their '@'. Left out: all that there is to take back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub permissions: Option<Vec<String>>,
}

/// `GET /v1/datasets/{name}/permissions`: what is delegated at one dataset, the nearest first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Delegation {
    pub dataset: String,
    pub grants: Vec<Grant>,
}

/// `POST /v1/datasets/{name}/allow`
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Allow {
    pub grants: Vec<Grant>,
    pub history: String,
}

/// `POST /v1/datasets/{name}/unallow`
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Unallow {
    pub grants: Vec<Grant>,
    /// From all below, too.
    pub recursive: bool,
    pub history: String,
}
