//! Why the machine's state is not kept in a pool, or not restored from there.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum StateFault {
    /// It is kept nowhere, and no pool was named.
    NotChosen,
    /// The pool is not imported.
    Away,
    /// The file system for versions is not there any more.
    NoFileSystem {
        dataset: String,
    },
    NoVersion,
    /// Than the one that was shown before.
    OtherVersion,
    NewerFormat {
        found: u32,
        known: u32,
    },
    NewerDatabase {
        found: u32,
        known: u32,
    },
    Damaged {
        message: String,
    },
    TooLarge {
        bytes: u64,
        most: u64,
    },
    NoNumber,
    /// The machine's database is not open.
    NoDatabase,
    /// Somebody else is restoring.
    UnderWay,
}
