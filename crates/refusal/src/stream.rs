//! Why a stream is not sent or not received.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Why nothing is sent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "fault", rename_all = "kebab-case")]
pub enum SendFault {
    NoSource {
        from: String,
    },
    SourceElsewhere,
    NotEarlier,
    InUse,
    NoObject,
    /// The stream goes nowhere any more.
    Broken {
        message: String,
    },
    Io,
    /// Clones of each other.
    Circle,
    /// A member of what is sent has not got the snapshot; `is_tree`: with what is below.
    NoSnapshot {
        snapshot: String,
        is_tree: bool,
    },
    NothingSaved {
        dataset: String,
    },
    /// To be sent again.
    TokenOf {
        name: String,
        exists: bool,
    },
    NoTokenSource {
        guid: u64,
    },
    Token {
        message: String,
    },
}

/// Why nothing is received; what was there is as it was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "fault", rename_all = "kebab-case")]
pub enum ReceiveFault {
    // The request.
    SnapshotNamed,
    /// With this option.
    SnapshotWith {
        option: String,
    },
    Property {
        property: String,
    },
    NotOfThisType {
        property: String,
    },
    NoTarget {
        target: String,
    },
    NoOrigin {
        origin: String,
    },
    NoLocalOrigin {
        clone: String,
    },
    InvalidName,
    HealsAlone,
    NothingToHeal,
    OtherSnapshot,

    // The stream.
    Unreadable,
    Magic,
    SnapshotName,
    RecordLength,
    HeaderChecksum,
    Checksum,
    Incomplete,
    Invalid,
    Deduplicated,
    /// It is of several snapshots, or has properties with it.
    Several,
    Features {
        flags: u64,
        unknown: u64,
    },
    NewerProgram,
    /// With what was received kept; `token` has the rest sent.
    Interrupted {
        token: String,
    },

    // The target.
    NoDestination {
        dataset: String,
    },
    ParentNotFilesystem {
        parent: String,
    },
    TargetNotFilesystem,
    Exists,
    DatasetExists {
        dataset: String,
    },
    HasSnapshots {
        dataset: String,
        snapshot: String,
    },
    IsClone {
        dataset: String,
    },
    VolumeOverRoot {
        dataset: String,
    },
    VolumeOverChildren {
        child: String,
    },
    NotMade,
    NoMatchingSource {
        dataset: String,
    },
    Modified {
        dataset: String,
    },
    ResumeExists {
        dataset: String,
    },
    PartlyReceived {
        dataset: String,
    },
    NothingToAbort {
        dataset: String,
    },
    PoolTooOld,
    LargeBlocks,
    Unlike,
    NotHealed,
    Quota {
        dataset: String,
    },
}
