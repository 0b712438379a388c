//! What was to be done, and with what.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What was refused. Names are as people call things.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "do", rename_all = "kebab-case")]
pub enum Action {
    /// A dataset or a pool.
    Create { name: String },
    /// One snapshot.
    CreateSnapshot { name: String },
    /// Several at once.
    CreateSnapshots,
    /// One bookmark.
    CreateBookmark { name: String },
    /// To look at a dataset or a pool.
    Open { name: String },
    /// A dataset or a pool.
    Destroy { name: String },
    /// One snapshot.
    DestroySnapshot { name: String },
    /// Which datasets depend on one that is to be destroyed.
    FindDependents,
    /// A dataset or a snapshot.
    Rename { name: String },
    /// A clone.
    Promote { name: String },
    /// A dataset, to its last snapshot.
    Rollback { name: String },
    /// To this snapshot.
    RollbackTo { snapshot: String },
    /// Several at once.
    HoldSnapshots,
    /// One snapshot.
    HoldSnapshot { name: String },
    /// Of this snapshot.
    ReleaseHold { name: String },
    /// Of a dataset or a pool.
    SetProperty { name: String },
    /// `zfs set` of a property whose value says how to share.
    SetTo { property: String, value: String },
    /// Of a dataset.
    InheritProperty { name: String },
    /// `zfs allow` and `zfs unallow`.
    SetPermissions { name: String },
    /// What each user, group or project uses.
    GetSpace { name: String },
    /// Who holds the space of a dataset.
    ExplainSpace { name: String },
    /// `zfs diff`.
    Diff,
    /// The snapshot of what is there now, for `zfs diff`.
    SnapshotForDiff { name: String },
    /// A snapshot.
    Send { name: String },
    /// By a token.
    ResumeSend,
    /// Into a dataset.
    Receive { stream: Stream },
    /// To look at a file of a snapshot or file system: `dataset:path`.
    OpenFile { name: String },
    /// To copy a file of a snapshot back.
    RestoreFile { name: String },
    /// To the name that a stream goes to.
    Restore { name: String },
    /// `zpool import`.
    Import { pool: String },
    /// `zpool export`.
    Export { pool: String },
    /// `zpool reguid`.
    Reguid { pool: String },
    /// `zpool checkpoint`.
    Checkpoint { pool: String },
    /// `zpool checkpoint -d`.
    DiscardCheckpoint { pool: String },
    /// To begin or to go on.
    Scrub { pool: String },
    /// `zpool scrub -p`.
    PauseScrub { pool: String },
    /// `zpool scrub -s`.
    CancelScrub { pool: String },
    /// `zpool resilver`.
    RestartResilver { pool: String },
    /// Of a device or a pool.
    ClearErrors { name: String },
    /// `zpool add`.
    AddVdevs { pool: String },
    /// Vdevs of a pool that is made or grows.
    UseVdevs,
    /// `zpool remove`.
    RemoveVdev { vdev: String },
    /// A device to another.
    Attach { device: String, to: String },
    /// A vdev by a device.
    Replace { vdev: String, with: String },
    /// `zpool detach`.
    Detach { vdev: String },
    /// `zpool online`.
    Online { vdev: String },
    /// `zpool online -e`.
    Expand { vdev: String },
    /// `zpool offline`.
    Offline { vdev: String },
    /// `zpool trim`.
    Trim { device: String },
    /// `zpool initialize`.
    Initialize { device: String },
    /// `zpool labelclear`.
    ClearLabel { path: String },
    /// `zpool import -c`.
    OpenCachefile,
    /// Long work.
    CancelJob { job: u64 },
    /// For tests of the appliance (`zinject`).
    AddFault,
    /// A folder of the host.
    Use { path: String },
    /// A file system, or the directory that it would be in.
    Mount { name: String },
    /// A mounted file system, with other options.
    Remount { path: String },
    /// The root of a new pool would be mounted there.
    UseMountpoint { path: String },
    /// Whatever is mounted there.
    Unmount { path: String },
    /// A file system, or where it is mounted.
    UnmountFilesystem { name: String },
    /// A file system.
    Share { name: String },
    /// A file system.
    Unshare { name: String },
    /// The machine's state is to be written into a pool.
    KeepState { pool: String },
    /// The machine's state is to be what a pool has of it.
    RestoreState { pool: String },
}

/// What a stream is to become.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Stream {
    /// Not known, or of several datasets.
    Any,
    New,
    Incremental,
    Resumed,
}
