//! Local mounts and shares.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A file system mounted on the appliance itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Mount {
    pub dataset: String,
    pub mountpoint: String,
    /// As given to the kernel, comma-separated; may be empty.
    pub options: String,
}

/// `POST /v1/mounts`
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct MountRequest {
    /// A file system; ignored where `all` is set.
    pub dataset: String,
    /// Every file system whose `canmount` and `mountpoint` say so and that isn't mounted yet.
    pub all: bool,
    /// Where to mount one whose `mountpoint` is `legacy`, an absolute path; empty for all others,
    /// whose property says where.
    pub mountpoint: String,
    /// `-O`: mount over a directory that is not empty.
    pub overlay: bool,
    /// `-o`: temporary mount options, in zfs(8)'s words.
    pub options: Vec<String>,
}

/// `POST /v1/unmounts`. A file system in use stays mounted, as on Linux with `zfs unmount -f`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct UnmountRequest {
    /// A file system, or the path that it is mounted on; ignored where `all` is set.
    pub target: String,
    pub all: bool,
}

/// A file system offered to NFS clients.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Share {
    pub dataset: String,
    /// What clients mount.
    pub path: String,
    /// `sharenfs` as set.
    pub options: String,
}

/// `POST /v1/shares` and `POST /v1/unshares`
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ShareRequest {
    /// A file system, or its mount point; ignored where `all` is set.
    pub target: String,
    pub all: bool,
}

/// What was done, and for which file systems it could not be.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MountOutcome {
    /// Names of file systems.
    pub done: Vec<String>,
    /// Sentences such as "cannot mount 'tank/a': directory is not empty".
    pub failed: Vec<String>,
}
