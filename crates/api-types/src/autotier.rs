//! Files that a service copies or moves to another place by rsync(1): which, where to, and how far
//! it is.
//!
//! Times are in seconds since 1970, spans in seconds. Names of files are shown, and nothing is
//! found by them: bytes that are no text are replaced.

use std::num::NonZeroU16;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::autosnap::SnapTarget;
use crate::schedule::{Schedule, ScheduleFault};

/// Which files go where, when, and whether they stay.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AutoTierPolicy {
    /// One file system, without what is below it.
    pub source: SnapTarget,
    /// In the source: only what is below it. Empty: all.
    #[serde(default)]
    pub folder: String,
    pub target: TierTarget,
    pub schedule: Schedule,
    #[serde(default)]
    pub action: TierAction,
    #[serde(default)]
    pub choose: TierChoice,
    /// Bytes a second at most. `None`: as fast as it goes.
    #[serde(default)]
    pub rate: Option<u64>,
    /// Owners, modes and times only: neither ACLs nor extended attributes, which some targets do
    /// not take.
    #[serde(default)]
    pub plain: bool,
    /// An rsync that moves no byte for so long is ended, from 10 to 86,400.
    #[serde(default = "crate::autosync::stuck_after")]
    pub stuck_after: u32,
}

/// Where files go. It has to be there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum TierTarget {
    /// A file system of a pool of this machine, which is mounted.
    Dataset { dataset: String },
    /// A folder of this machine, by its absolute path.
    Folder { path: String },
    /// A folder of a host that has rsync, by SSH.
    Ssh {
        /// A name, or an address.
        host: String,
        /// `None`: of the same name as the one that the daemon runs as.
        #[serde(default)]
        user: Option<String>,
        /// `None`: 22.
        #[serde(default)]
        port: Option<NonZeroU16>,
        /// An absolute path.
        path: String,
    },
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum TierAction {
    /// What is chosen stays where it is.
    #[default]
    Copy,
    /// What is chosen is copied at once, and removed from the source when it is at the target and
    /// has not changed for `keep`.
    Move {
        #[serde(default)]
        keep: u64,
    },
}

/// Which files and symbolic links: those that all of it says.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct TierChoice {
    /// What was last modified so long ago, or longer.
    pub older_than: Option<u64>,
    /// And not so long ago.
    pub newer_than: Option<u64>,
    /// Bytes, at least and at most.
    pub min_size: Option<u64>,
    pub max_size: Option<u64>,
    /// 1: what lies in the folder itself; 2: and in folders there; and so on.
    pub max_depth: Option<u32>,
    /// Patterns, at most 1,000 of both kinds. Empty: all names. A pattern without a slash is about
    /// the last name of a path, one with a slash about the path from the folder on.
    pub include: Vec<String>,
    /// Also of folders: what is below them does not go.
    pub exclude: Vec<String>,
}

/// Why a policy is not taken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum TierFault {
    Schedule {
        fault: ScheduleFault,
    },
    /// That is no dataset's name.
    Dataset {
        dataset: String,
    },
    /// Of one file system alone files are moved: not of all that is below it.
    Recursive,
    /// That is no path of a folder: it is absolute for a target, relative in a source, and has
    /// neither `.` nor `..`.
    Path {
        path: String,
    },
    /// That is no name or address of a host.
    Host {
        host: String,
    },
    /// That is no name of a user.
    User {
        user: String,
    },
    /// The target is the source.
    Same,
    /// That is no pattern.
    Pattern {
        pattern: String,
    },
    TooManyPatterns {
        limit: u64,
    },
    /// Nothing is of such an age, size or depth.
    ChoosesNothing,
    /// Bytes a second.
    Rate {
        low: u64,
    },
    StuckAfter {
        low: u32,
        high: u32,
    },
}

/// Why nothing is copied until a person has changed something.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum TierRefusal {
    /// rsync sees files where they are mounted.
    NotMounted { dataset: String },
    /// `snapdir=disabled`: no path leads to a snapshot.
    NoSnapshotFolder { dataset: String },
    /// A replica with a snapshot of its own would take no stream any more.
    SourceIsReplica { dataset: String },
    /// A replica refuses writes.
    TargetIsReplica { dataset: String },
    /// It is not there, or it is no folder, or a symbolic link leads there.
    NoFolder { path: String },
    /// The target is in the source.
    Inside { path: String },
}

/// How rsync ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum RsyncEnd {
    /// rsync(1) says what statuses mean.
    Exited {
        status: i32,
    },
    Signal {
        signal: i32,
    },
    /// No byte moved for so long.
    Stuck {
        seconds: u32,
    },
    /// The service was disabled, or the daemon ended.
    Stopped,
    /// There is no rsync, or it may not be run.
    NotStarted {
        message: String,
    },
}

/// How far a service is, while it runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TierStatus {
    pub stage: TierStage,
    /// Of what was chosen: what is at the target by now, and how much there is.
    pub files: u64,
    pub of_files: u64,
    pub bytes: u64,
    pub of_bytes: u64,
    /// Files that a move has removed at the source.
    pub removed: u64,
    /// That it has taken.
    pub seconds: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TierStage {
    /// The snapshot is walked through.
    #[default]
    Choosing,
    Copying,
    /// What is to be removed is compared with what is at the target.
    Comparing,
    Removing,
}

/// What would be copied now, or moved. What is at the target already is not sent again.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TierPlan {
    pub files: u64,
    pub bytes: u64,
    /// Of a move: what has not changed for long enough to be removed from the source.
    pub removable: u64,
    /// The first ones, at most 100.
    pub first: Vec<TierFile>,
    /// More would have to be looked at than a plan does: there may be more.
    pub is_cut: bool,
    pub refusal: Option<TierRefusal>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TierFile {
    /// From the folder on.
    pub path: String,
    pub size: u64,
    pub modified: i64,
}
