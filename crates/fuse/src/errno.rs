//! The one place where the engine's errors become numbers.

use engine_api::Error;
use fuser::Errno;

pub fn errno(error: &Error) -> Errno {
    match error {
        Error::NotFound => Errno::ENOENT,
        Error::Exists => Errno::EEXIST,
        Error::NotEmpty => Errno::ENOTEMPTY,
        Error::NotDir => Errno::ENOTDIR,
        Error::IsDir => Errno::EISDIR,
        Error::Denied => Errno::EACCES,
        Error::NotPermitted | Error::Refused(_) => Errno::EPERM,
        Error::ReadOnly => Errno::EROFS,
        Error::Busy => Errno::EBUSY,
        Error::Stale => Errno::ESTALE,
        Error::NameTooLong => Errno::ENAMETOOLONG,
        Error::NoSpace => Errno::ENOSPC,
        Error::Quota => Errno::EDQUOT,
        Error::FileTooLarge => Errno::EFBIG,
        Error::TooManyLinks => Errno::EMLINK,
        Error::CrossDevice => Errno::EXDEV,
        Error::TooSmall => Errno::ERANGE,
        Error::Invalid(_) => Errno::EINVAL,
        Error::Unsupported(_) => Errno::EOPNOTSUPP,
        // What OpenZFS answers on a dataset without its key.
        Error::KeyNotLoaded => Errno::EACCES,
        Error::Corrupt { .. } | Error::Suspended => Errno::EIO,
        // The enum may grow in its own crate; an unknown refusal is still a refusal.
        _ => Errno::EIO,
    }
}

/// As `errno`, where a missing extended attribute was asked for.
pub fn xattr_errno(error: &Error) -> Errno {
    match error {
        Error::NotFound => Errno::from_i32(libc::ENODATA),
        other => errno(other),
    }
}

/// As `errno`, where neither data nor a hole follows.
pub fn seek_errno(error: &Error) -> Errno {
    match error {
        Error::NotFound => Errno::ENXIO,
        other => errno(other),
    }
}
