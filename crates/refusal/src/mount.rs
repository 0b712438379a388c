//! Why a file system is not mounted, unmounted or shared.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "fault", rename_all = "kebab-case")]
pub enum MountFault {
    // What its properties say.
    LegacyMountpoint,
    NoMountpoint,
    CanmountOff,
    LegacyShare,
    /// mount(8) is to mount it elsewhere than its mount point.
    NotLegacy {
        mountpoint: String,
    },

    // The mount.
    AlreadyMounted,
    NotMounted,
    PartlyReceived,
    NotAbsolute {
        path: String,
    },
    /// The directory.
    NotEmpty,
    NotMountpoint,
    InUse,
    Privileges,
    /// Somebody else mounts or unmounts it.
    UnderWay,
    /// The program ends.
    Ending,
    NoAnswer {
        path: String,
    },
    /// Who is not root may mount for all users only where /etc/fuse.conf says so.
    NotForAll,
    /// Who is not root mounts through fusermount3, which is not there.
    NoHelper,
    /// A mount gets other options by root alone.
    RemountByRoot,
    /// The mount broker does not answer.
    NoBroker {
        socket: String,
        /// The operating system's.
        message: String,
    },
    /// The mount broker has as many requests as it takes.
    BrokerBusy,
    /// The mount broker serves another user.
    BrokerOfOther,
    /// The mount broker is of another version of the program.
    BrokerVersion,
    /// The mount broker changes nothing there.
    Kept,
    /// The mount broker follows no symbolic link.
    SymbolicLink,
    /// Datasets of a pool that is to be destroyed.
    StayMounted,

    // The share.
    AlreadyShared,
    NotShared,
}
