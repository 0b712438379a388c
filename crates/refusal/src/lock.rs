//! Why a snapshot is not locked, or not let go of. Times are as in `2027-01-01T00:00:00Z`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum LockFault {
    /// It is locked until then, and its lock can only be prolonged.
    Locked { until: String },
    /// One of the pool's snapshots is locked.
    HasLocked { snapshot: String, until: String },
    /// The time of a lock is none, has passed, or is too far ahead.
    Time,
}
