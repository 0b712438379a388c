//! Files of snapshots and file systems, as an administrator looks for one to bring back.
//!
//! Names are bytes, and need not be text: paths and names here are as [`crate::escape_path`] has
//! them. A path begins at the file system's root; `.`, `..` and links are not followed.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Most entries of a directory in one answer.
pub const FILES_MAX: u32 = 1_000;
/// Most snapshots that one request looks into for versions of a file.
pub const VERSIONS_MAX: u32 = 64;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FileKind {
    File,
    Directory,
    Symlink,
    Fifo,
    Socket,
    CharacterDevice,
    BlockDevice,
}

/// A file, directory, or whatever else has a name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FileNode {
    /// In its directory; empty for the root.
    pub name: String,
    pub kind: FileKind,
    /// With `generation`, which node it is: the same in every snapshot that has it.
    pub object: u64,
    pub generation: u64,
    /// Bytes; of a directory the number of its entries.
    pub size: u64,
    /// Bytes of disk taken.
    pub used: u64,
    /// The low twelve bits of its mode.
    pub mode: u32,
    pub uid: u32,
    pub gid: u32,
    pub links: u64,
    /// When its contents changed, in seconds since 1970, and nanoseconds of that second.
    pub modified: i64,
    pub modified_nanos: u32,
    /// When contents or attributes changed.
    pub changed: i64,
    pub changed_nanos: u32,
    pub created: i64,
    /// Where a symbolic link leads.
    pub target: Option<String>,
}

/// Query of `GET /v1/datasets/{name}/files`, of a snapshot or file system.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct FilesQuery {
    /// Of a directory.
    pub path: String,
    /// The `next` of the page before.
    pub after: String,
    /// Entries at the most; absent, or more than 1,000: 1,000.
    pub limit: Option<u32>,
}

/// A part of a directory, in the directory's own order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FilePage {
    pub directory: FileNode,
    pub entries: Vec<FileNode>,
    /// Where there are more: for `after`.
    pub next: Option<String>,
}

/// Query of `GET /v1/datasets/{name}/file`, of a snapshot.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct FileQuery {
    pub path: String,
}

/// Query of `GET /v1/datasets/{name}/file-versions`, of a file system.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct FileVersionsQuery {
    pub path: String,
    /// The `next` of the answer before.
    pub after: String,
    /// Snapshots to look into at the most; absent, or more than 64: 64.
    pub limit: Option<u32>,
}

/// What a path is in a snapshot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FileVersion {
    pub snapshot: String,
    /// When the snapshot was taken, in seconds since 1970.
    pub taken: u64,
    /// `null`: nothing is there.
    pub file: Option<FileNode>,
    /// It is not what it was in the snapshot before, by its node and the time of its last change.
    pub differs: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FileVersions {
    /// What is there now; `null`: nothing.
    pub now: Option<FileNode>,
    /// Of each snapshot that was looked into, the oldest first.
    pub versions: Vec<FileVersion>,
    /// Where there are more snapshots: for `after`.
    pub next: Option<String>,
}

/// `POST /v1/file-restores`: copies a regular file of a snapshot into the file system that the
/// snapshot is of.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct FileRestore {
    pub snapshot: String,
    pub path: String,
    /// Where to; empty: where it was. Its directory has to be there.
    pub to: String,
    /// A file that is there is replaced, in one step.
    pub replace: bool,
}
