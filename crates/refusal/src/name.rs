//! What is wrong with a name.
//!
//! Source: module/zcommon/zfs_namecheck.c.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Why a name is none for a dataset, a snapshot, a bookmark or a pool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum NameFault {
    TooDeep,
    TooLong,
    LeadingSlash,
    TrailingSlash,
    EmptyComponent,
    SeveralDelimiters,
    /// `.`
    SelfReference,
    /// `..`
    ParentReference,
    /// `@` or `#`, where there may be none.
    Unexpected(char),
    /// `@` or `#`, which has to be there.
    Missing(char),
    Percent,
    Character(char),
    /// Of a pool.
    PoolMissing,
    PoolTooLong,
    PoolBegin,
    PoolCharacter(char),
    PoolReserved,
}
