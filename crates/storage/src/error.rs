//! What storage says when it cannot do what it was asked: one small enum a purpose.

use std::fmt;

use env::DiskError;

/// Why a block could not be read. All copies were tried.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReadError {
    /// Every copy that could be read has the wrong checksum.
    Checksum,
    /// No copy could be read from a disk.
    Io,
    /// The disks that have it are not there.
    Missing,
    /// Nor are they, and the pool waits for them, which the caller does not.
    Suspended,
    /// The pointer, or what it leads to, makes no sense: sizes, vdev numbers, gang headers,
    /// compressed bytes.
    Corrupt,
    /// A checksum or compression we cannot compute, or an encrypted block.
    Unsupported,
}

impl ReadError {
    /// Whether the block may be there all the same: it could not be read, so nothing is known of
    /// it.
    pub fn may_pass(self) -> bool {
        matches!(self, ReadError::Io | ReadError::Missing | ReadError::Suspended)
    }
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ReadError::Checksum => "checksum error",
            ReadError::Io => "input/output error",
            ReadError::Missing => "missing device",
            ReadError::Suspended => "pool is suspended",
            ReadError::Corrupt => "corrupt block",
            ReadError::Unsupported => "unsupported block",
        })
    }
}

impl std::error::Error for ReadError {}

/// Why something is not on disk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WriteError {
    /// No room, not even in pieces.
    NoSpace,
    /// Not one copy could be written, also not in a second place; or a flush failed beyond
    /// redundancy.
    Io,
    /// The pool has been suspended after such a failure.
    Suspended,
}

impl fmt::Display for WriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            WriteError::NoSpace => "no space left",
            WriteError::Io => "input/output error",
            WriteError::Suspended => "pool is suspended",
        })
    }
}

impl std::error::Error for WriteError {}

/// Why one I/O of a vdev failed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IoError {
    Disk(DiskError),
    /// Bytes came back that do not sum to what they should.
    Checksum,
    /// The disk is missing, offline or faulted.
    Unavailable,
}

impl From<IoError> for ReadError {
    fn from(error: IoError) -> ReadError {
        match error {
            IoError::Checksum => ReadError::Checksum,
            IoError::Disk(DiskError::OutOfRange) => ReadError::Corrupt,
            IoError::Disk(DiskError::Gone) | IoError::Unavailable => ReadError::Missing,
            IoError::Disk(_) => ReadError::Io,
        }
    }
}

/// Why a tree of vdevs cannot be used.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum OpenError {
    /// A kind of vdev that is not built: "raidz", "draid", ….
    Unsupported { kind: String },
    /// The configuration contradicts itself.
    Malformed(&'static str),
    /// A top-level vdev has too few disks left to be read.
    MissingTop { id: u32, guid: u64 },
    /// A top-level vdev that holds intent logs cannot be read, and nobody said that it may be
    /// missing.
    MissingLog { id: u32, guid: u64 },
    /// A new disk cannot be opened or is too small for a pool.
    BadDisk { path: String, why: DiskError },
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OpenError::Unsupported { kind } => write!(f, "vdevs of type {kind} are not supported"),
            OpenError::Malformed(what) => write!(f, "malformed vdev configuration: {what}"),
            OpenError::MissingTop { id, guid } => {
                write!(f, "top-level vdev {id} ({guid}) has too few devices")
            }
            OpenError::MissingLog { id, guid } => write!(f, "log device {id} ({guid}) is missing"),
            OpenError::BadDisk { path, why } => write!(f, "{path}: {why}"),
        }
    }
}

impl std::error::Error for OpenError {}
