//! Why a file of a snapshot is not looked at or restored.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// See the module. `at` is a path from the file system's root on, as `api_types::escape_path` has
/// it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FileFault {
    /// A name is empty, `.`, `..`, too long, or has a slash or a NUL in it.
    Name,
    /// Nothing is there.
    Missing { at: String },
    /// A symbolic link stands on the way. None is followed.
    Link { at: String },
    /// What is there has to be a directory, and is none.
    NotDirectory { at: String },
    /// What is there has to be a regular file, and is none.
    NotFile { at: String },
    /// There is a file already, which nobody said is to be replaced.
    Exists { at: String },
    /// Only files of snapshots are read and restored.
    NotSnapshot,
}
