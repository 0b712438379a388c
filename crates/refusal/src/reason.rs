//! Why something is refused.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    FileFault, ImportFault, JobFault, LockFault, MountFault, NameFault, PropertyFault, ReceiveFault, Refused,
    ScanFault, SendFault, StateFault, SweepFault, VdevFault,
};

/// See the module. Faults of one subject are in an enum of their own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Reason {
    NoDataset,
    NoPool,
    NoPoolNamed {
        pool: String,
    },
    /// Of this name.
    NoBookmark {
        name: String,
    },
    DatasetExists,
    PoolExists,
    BookmarkExists,
    DatasetBusy,
    PoolBusy,
    Importing,
    /// Every request for a pool, until it is there.
    ImportingWait,
    /// It is not as whoever asks for the change knows it.
    Outdated,
    Suspended,
    KeyNotLoaded,
    NoSpace,
    NameTooLong,
    NameMissing,
    NoParent,
    ParentNotFilesystem,
    /// A reservation.
    TooLarge,
    /// A quota.
    TooSmall,
    NotOfThisType,
    NotOfPoolRoot,
    /// `zfs destroy` of a pool.
    IsPool,
    NotByThisPool,
    /// A clone would be.
    OtherPool,
    /// A dataset would move.
    LeavesPool,
    BelowItself,
    OtherDataset,
    NoSnapshotsNamed,
    SeveralPools,
    NewNameTaken,
    SeveralSnapshotsOfOne,
    SnapshotNotPromoted,
    NoClone,
    Conflict {
        snapshot: String,
        parent: String,
    },
    MoreRecent {
        than: String,
    },
    /// A rollback would destroy these snapshots and bookmarks; `more`: the list is full, and there
    /// may be others.
    YoungerExist {
        names: Vec<String>,
        more: bool,
    },
    /// A rollback would destroy these clones.
    ClonesExist {
        names: Vec<String>,
    },
    NoAncestor {
        txg: u64,
    },
    InvalidPermission,
    Held {
        name: String,
    },
    Cloned,
    HasChildren,
    Depend(Dependents),
    DependInCircle {
        at: String,
    },
    NoSnapshotsFound,
    TagExists,
    NoTag,
    TagTooLong,
    InvalidTag,
    PoolTooOld(Upgrade),
    /// The pool has too old a version to mount a file system of this one.
    FileSystemTooNew {
        version: u64,
        pool: u64,
    },
    HasCheckpoint,
    DiscardingCheckpoint,
    NoCheckpoint,
    DeviceTooLarge,
    NotApplicable,
    NotOfFilesystems,
    NotCounted,
    NotEarlier,
    GuidZero,
    SharedSpare {
        pool: String,
    },
    NoLabel,
    NotClearable {
        path: String,
        state: String,
        pool: String,
        can_force: bool,
    },
    NoSuchDevice,
    NoSuchBlock,
    Damaged {
        message: String,
    },
    Io,
    /// What the operating system says.
    Os {
        message: String,
    },
    /// What was begun has failed, and not been refused: the words for that.
    Failed {
        message: String,
    },
    /// A part of it was refused.
    Because(Box<Refused>),
    Name(NameFault),
    File(FileFault),
    Property(PropertyFault),
    Vdev(VdevFault),
    Scan(ScanFault),
    Sweep(SweepFault),
    Import(ImportFault),
    Send(SendFault),
    Receive(ReceiveFault),
    Mount(MountFault),
    Job(JobFault),
    Lock(LockFault),
    State(StateFault),
    /// Each of several.
    Several(Vec<Refused>),
}

/// What has to be destroyed, too.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Dependents {
    /// `filesystem`, `volume` or `snapshot`.
    pub of: String,
    /// They are clones; otherwise children.
    pub are_clones: bool,
    pub names: Vec<String>,
}

/// What a pool of a newer version, or with a feature, could do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Upgrade {
    This,
    Bookmarks,
    Bootfs,
    LogRemoval,
    AddSpares,
    AddCaches,
    AddVdevs,
    CreateVdevs,
}

macro_rules! from_fault {
    ($($fault:ident => $variant:ident),* $(,)?) => {
        $(impl From<$fault> for Reason {
            fn from(fault: $fault) -> Reason {
                Reason::$variant(fault)
            }
        })*
    };
}

from_fault! {
    NameFault => Name,
    FileFault => File,
    PropertyFault => Property,
    VdevFault => Vdev,
    ScanFault => Scan,
    SweepFault => Sweep,
    ImportFault => Import,
    SendFault => Send,
    ReceiveFault => Receive,
    MountFault => Mount,
    JobFault => Job,
    LockFault => Lock,
    StateFault => State,
}
