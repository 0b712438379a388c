//! What was to be done, and with what.

use serde::{Deserialize, Serialize};

/// What was refused. Names are as people call things.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "kebab-case")]
pub enum Action {
    /// A dataset or a pool.
    Create {
        name: String,
    },
    CreateSnapshot {
        name: String,
    },
    /// Several at once.
    CreateSnapshots,
    CreateBookmark {
        name: String,
    },
    /// To look at a dataset or a pool.
    Open {
        name: String,
    },
    /// A dataset or a pool.
    Destroy {
        name: String,
    },
    DestroySnapshot {
        name: String,
    },
    /// Which datasets depend on one that is to be destroyed.
    FindDependents,
    Rename {
        name: String,
    },
    Promote {
        name: String,
    },
    Rollback {
        name: String,
    },
    RollbackTo {
        snapshot: String,
    },
    HoldSnapshots,
    HoldSnapshot {
        name: String,
    },
    ReleaseHold {
        name: String,
    },
    SetProperty {
        name: String,
    },
    /// `zfs set` of a property whose value says how to share.
    SetTo {
        property: String,
        value: String,
    },
    InheritProperty {
        name: String,
    },
    SetPermissions {
        name: String,
    },
    GetSpace {
        name: String,
    },
    ExplainSpace {
        name: String,
    },
    Diff,
    /// The snapshot of what is there now, for `zfs diff`.
    SnapshotForDiff {
        name: String,
    },
    Send {
        name: String,
    },
    ResumeSend,
    Receive {
        stream: Stream,
    },
    /// To the name that a stream goes to.
    Restore {
        name: String,
    },
    Import {
        pool: String,
    },
    Export {
        pool: String,
    },
    Reguid {
        pool: String,
    },
    Checkpoint {
        pool: String,
    },
    DiscardCheckpoint {
        pool: String,
    },
    Scrub {
        pool: String,
    },
    PauseScrub {
        pool: String,
    },
    CancelScrub {
        pool: String,
    },
    RestartResilver {
        pool: String,
    },
    /// Of a device or a pool.
    ClearErrors {
        name: String,
    },
    AddVdevs {
        pool: String,
    },
    /// Vdevs of a pool that is made or grows.
    UseVdevs,
    RemoveVdev {
        vdev: String,
    },
    Attach {
        device: String,
        to: String,
    },
    Replace {
        vdev: String,
        with: String,
    },
    Detach {
        vdev: String,
    },
    Online {
        vdev: String,
    },
    Expand {
        vdev: String,
    },
    Offline {
        vdev: String,
    },
    Trim {
        device: String,
    },
    Initialize {
        device: String,
    },
    ClearLabel {
        path: String,
    },
    OpenCachefile,
    CancelJob {
        job: u64,
    },
    /// For tests of the appliance (`zinject`).
    AddFault,
    /// A folder of the host.
    Use {
        path: String,
    },
    /// A file system, or the directory that it would be in.
    Mount {
        name: String,
    },
    Remount {
        path: String,
    },
    /// The root of a new pool would be mounted there.
    UseMountpoint {
        path: String,
    },
    Unmount {
        path: String,
    },
    /// A file system, or where it is mounted.
    UnmountFilesystem {
        name: String,
    },
    Share {
        name: String,
    },
    Unshare {
        name: String,
    },
}

/// What a stream is to become.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stream {
    /// Not known, or of several datasets.
    Any,
    New,
    Incremental,
    Resumed,
}
