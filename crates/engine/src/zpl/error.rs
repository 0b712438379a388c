//! Errors of the object layer, as the engine's callers know them.

use dmu::DmuError;
use engine_api::Error;

/// One mapping, for every operation.
pub fn api_error(error: DmuError) -> Error {
    match error {
        DmuError::NotFound => Error::NotFound,
        DmuError::Exists => Error::Exists,
        DmuError::Corrupt { object, block } => Error::Corrupt { object, block },
        // Which block it was is in the pool's error log; the caller learns that the data is not to
        // be had.
        DmuError::Io => Error::Corrupt { object: 0, block: 0 },
        DmuError::NoSpace => Error::NoSpace,
        DmuError::Quota => Error::Quota,
        DmuError::Busy => Error::Busy,
        DmuError::TooBig => Error::FileTooLarge,
        DmuError::ReadOnly => Error::ReadOnly,
        DmuError::Suspended => Error::Suspended,
        DmuError::Invalid(what) => Error::Invalid(what.into()),
        DmuError::Unsupported(what) => Error::Unsupported(what.into()),
    }
}
