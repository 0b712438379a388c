//! What can go wrong with objects, for operators and callers rather than for this crate.

use std::fmt;

use crate::store::{ReadError, WriteError};

/// An operation on objects that could not be done. Nothing was changed by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DmuError {
    /// No such object, attribute or name.
    NotFound,
    /// The object number or name is taken.
    Exists,
    /// A block's content cannot be what it should be. `block` is a block number of the object (or
    /// 0).
    Corrupt {
        object: u64,
        block: u64,
    },
    /// No disk could give the block, or no copy of it had the right checksum.
    Io,
    NoSpace,
    Quota,
    /// Not in this state: the object has more than one block, say.
    Busy,
    /// Beyond what the format can address or a block can hold.
    TooBig,
    ReadOnly,
    /// The pool has stopped writing.
    Suspended,
    /// The caller asked for something that has no meaning here.
    Invalid(&'static str),
    /// The format has it, this program has not.
    Unsupported(&'static str),
}

impl fmt::Display for DmuError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DmuError::NotFound => f.write_str("no such object"),
            DmuError::Exists => f.write_str("object exists"),
            DmuError::Corrupt { object, block } => write!(f, "corrupt block {block} of object {object}"),
            DmuError::Io => f.write_str("input/output error"),
            DmuError::NoSpace => f.write_str("out of space"),
            DmuError::Quota => f.write_str("quota exceeded"),
            DmuError::Busy => f.write_str("object is busy"),
            DmuError::TooBig => f.write_str("too big"),
            DmuError::ReadOnly => f.write_str("read-only"),
            DmuError::Suspended => f.write_str("pool is suspended"),
            DmuError::Invalid(what) => write!(f, "invalid: {what}"),
            DmuError::Unsupported(what) => write!(f, "not supported: {what}"),
        }
    }
}

impl std::error::Error for DmuError {}

/// Why a transaction group could not be written. Whatever of it was written is unreachable; the
/// pool must not sync this group again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SyncError {
    /// A block on the way to a dirty one could not be read.
    Read(DmuError),
    /// Space that admission had promised is not there, or disks fail.
    Write(WriteError),
}

impl fmt::Display for SyncError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SyncError::Read(error) => write!(f, "while reading for a sync: {error}"),
            SyncError::Write(error) => write!(f, "while writing a sync: {error:?}"),
        }
    }
}

impl std::error::Error for SyncError {}

impl From<DmuError> for SyncError {
    fn from(error: DmuError) -> SyncError {
        SyncError::Read(error)
    }
}

impl From<WriteError> for SyncError {
    fn from(error: WriteError) -> SyncError {
        SyncError::Write(error)
    }
}

/// What a failed read of `block` of `object` means to a caller.
pub(crate) fn read_failed(error: ReadError, object: u64, block: u64) -> DmuError {
    match error {
        ReadError::Suspended => DmuError::Suspended,
        ReadError::Corrupt => DmuError::Corrupt { object, block },
        ReadError::Unsupported => DmuError::Unsupported("a block pointer of an unknown kind"),
        _ => DmuError::Io,
    }
}
