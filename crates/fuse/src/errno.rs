//! The one place where the engine's errors become numbers.

use engine_api::Error;

pub fn errno(error: &Error) -> i32 {
    match error {
        Error::NotFound => libc::ENOENT,
        Error::Exists => libc::EEXIST,
        Error::NotEmpty => libc::ENOTEMPTY,
        Error::NotDir => libc::ENOTDIR,
        Error::IsDir => libc::EISDIR,
        Error::Denied => libc::EACCES,
        Error::NotPermitted | Error::Refused(_) => libc::EPERM,
        Error::ReadOnly => libc::EROFS,
        Error::Busy => libc::EBUSY,
        Error::Stale => libc::ESTALE,
        Error::NameTooLong => libc::ENAMETOOLONG,
        Error::NoSpace => libc::ENOSPC,
        Error::Quota => libc::EDQUOT,
        Error::FileTooLarge => libc::EFBIG,
        Error::TooManyLinks => libc::EMLINK,
        Error::CrossDevice => libc::EXDEV,
        Error::TooSmall => libc::ERANGE,
        Error::Invalid(_) => libc::EINVAL,
        Error::Unsupported(_) => libc::EOPNOTSUPP,
        // What OpenZFS answers on a dataset without its key.
        Error::KeyNotLoaded => libc::EACCES,
        Error::Corrupt { .. } | Error::Suspended => libc::EIO,
        // The enum may grow in its own crate; an unknown refusal is still a refusal.
        _ => libc::EIO,
    }
}

/// As `errno`, where a missing extended attribute was asked for.
pub fn xattr_errno(error: &Error) -> i32 {
    match error {
        Error::NotFound => libc::ENODATA,
        other => errno(other),
    }
}

/// As `errno`, where neither data nor a hole follows.
pub fn seek_errno(error: &Error) -> i32 {
    match error {
        Error::NotFound => libc::ENXIO,
        other => errno(other),
    }
}
