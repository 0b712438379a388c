//! What can go wrong with a pool, for the layer above.

use std::fmt;

use dmu::{DmuError, SyncError};
use refusal::Refused;

use crate::stream::StreamError;

/// An operation on a pool or dataset that was not done. Nothing was changed by it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PoolError {
    NotFound,
    Exists,
    Busy,
    ReadOnly,
    NoSpace,
    Quota,
    NameTooLong,
    /// Damage: what could not be understood or read.
    Corrupt(String),
    Io,
    Suspended,
    /// Cannot be in this transaction group, and will be possible in the next: whoever asked asks
    /// again.
    Again,
    /// Makes no sense; says what.
    Invalid(String),
    /// Known but not built.
    Unsupported(String),
    /// A stream is not received.
    Receive(ReceiveFailure),
    /// What an administrator asked for is refused.
    Refused(Box<Refused>),
}

/// Why a stream is not received; the target is as it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReceiveFailure {
    /// The target has not got the snapshot that the stream starts from.
    NoSource,
    /// It was changed since.
    Modified,
    /// Dataset or snapshot.
    Exists,
    /// The target, or its parent.
    NotFound,
    /// Another receive into it has not ended.
    Busy,
    /// A full stream into a dataset that exists goes on only if that may be given up.
    ResumeExists,
    /// The pool has not got the features that the stream needs.
    Features,
    /// Earlier streams had large blocks, this one has them cut up.
    LargeBlocks,
    WrongParent,
    /// It is not of the snapshot that is to be healed, or has its blocks in other sizes.
    Unlike,
    /// What it has of a block is not what was lost.
    NotHealed,
    /// The stream makes no sense, at least not here.
    Invalid(String),
    Stream(StreamError),
}

impl fmt::Display for ReceiveFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ReceiveFailure::NoSource => "most recent snapshot does not match incremental source",
            ReceiveFailure::Modified => "destination has been modified since most recent snapshot",
            ReceiveFailure::Exists => "destination already exists",
            ReceiveFailure::NotFound => "destination does not exist",
            ReceiveFailure::Busy => "destination has an unfinished receive",
            ReceiveFailure::ResumeExists => "resuming into an existing destination without force",
            ReceiveFailure::Features => "pool must be upgraded to receive this stream",
            ReceiveFailure::LargeBlocks => "incremental send stream requires -L",
            ReceiveFailure::WrongParent => "parent is not a filesystem",
            ReceiveFailure::Unlike => "stream is not compatible with the data in the pool",
            ReceiveFailure::NotHealed => "what is needed for healing is not in the stream",
            ReceiveFailure::Invalid(why) => return write!(f, "invalid stream: {why}"),
            ReceiveFailure::Stream(error) => return error.fmt(f),
        })
    }
}

/// Result of pool operations.
pub type Result<T> = std::result::Result<T, PoolError>;

/// `None` for what is not there.
pub(crate) fn if_there<T>(found: Result<T>) -> Result<Option<T>> {
    match found {
        Err(PoolError::NotFound) => Ok(None),
        found => found.map(Some),
    }
}

impl fmt::Display for PoolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PoolError::NotFound => f.write_str("no such pool or dataset"),
            PoolError::Exists => f.write_str("already exists"),
            PoolError::Busy => f.write_str("busy"),
            PoolError::ReadOnly => f.write_str("read-only"),
            PoolError::NoSpace => f.write_str("out of space"),
            PoolError::Quota => f.write_str("quota exceeded"),
            PoolError::NameTooLong => f.write_str("name is too long"),
            PoolError::Corrupt(what) => write!(f, "damaged: {what}"),
            PoolError::Io => f.write_str("I/O error"),
            PoolError::Suspended => f.write_str("pool I/O is currently suspended"),
            PoolError::Again => f.write_str("try again"),
            PoolError::Invalid(what) => f.write_str(what),
            PoolError::Unsupported(what) => write!(f, "not supported: {what}"),
            PoolError::Receive(failure) => failure.fmt(f),
            PoolError::Refused(refused) => refused.fmt(f),
        }
    }
}

impl std::error::Error for PoolError {}

impl From<DmuError> for PoolError {
    fn from(error: DmuError) -> PoolError {
        match error {
            DmuError::NotFound => PoolError::NotFound,
            DmuError::Exists => PoolError::Exists,
            DmuError::Corrupt { .. } => PoolError::Corrupt(error.to_string()),
            DmuError::Io => PoolError::Io,
            DmuError::NoSpace => PoolError::NoSpace,
            DmuError::Quota => PoolError::Quota,
            DmuError::Busy => PoolError::Busy,
            DmuError::TooBig => PoolError::Invalid("too large".into()),
            DmuError::ReadOnly => PoolError::ReadOnly,
            DmuError::Suspended => PoolError::Suspended,
            DmuError::Invalid(what) => PoolError::Invalid(what.into()),
            DmuError::Unsupported(what) => PoolError::Unsupported(what.into()),
        }
    }
}

impl From<SyncError> for PoolError {
    fn from(error: SyncError) -> PoolError {
        match error {
            SyncError::Read(error) => error.into(),
            SyncError::Write(storage::WriteError::NoSpace) => PoolError::NoSpace,
            SyncError::Write(_) => PoolError::Suspended,
        }
    }
}

impl From<ondisk::Malformed> for PoolError {
    fn from(error: ondisk::Malformed) -> PoolError {
        PoolError::Corrupt(error.to_string())
    }
}

impl From<Refused> for PoolError {
    fn from(refused: Refused) -> PoolError {
        PoolError::Refused(Box::new(refused))
    }
}

impl From<ReceiveFailure> for PoolError {
    fn from(failure: ReceiveFailure) -> PoolError {
        PoolError::Receive(failure)
    }
}

impl From<StreamError> for PoolError {
    fn from(error: StreamError) -> PoolError {
        PoolError::Receive(ReceiveFailure::Stream(error))
    }
}
