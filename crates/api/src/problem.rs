//! The one place where the engine's errors, and our own, become problems.

use api_types::{Problem, kind};
use engine_api::Error;

/// A problem of a kind, with what happened here.
pub fn problem(kind: &str, detail: impl Into<String>) -> Problem {
    let (title, status, exit) = describe(kind);
    Problem { kind: kind.to_owned(), title: title.to_owned(), status, detail: detail.into(), exit }
}

/// Title, HTTP status and exit status of a kind.
fn describe(kind: &str) -> (&'static str, u16, u8) {
    match kind {
        kind::NOT_FOUND => ("Not found", 404, 1),
        kind::EXISTS => ("Already exists", 409, 1),
        kind::NOT_EMPTY => ("Not empty", 409, 1),
        kind::DENIED => ("Permission denied", 403, 1),
        kind::READ_ONLY => ("Read-only", 409, 1),
        kind::BUSY => ("Busy", 409, 1),
        kind::NAME_TOO_LONG => ("Name too long", 422, 1),
        kind::NO_SPACE => ("Out of space", 507, 1),
        kind::QUOTA => ("Quota exceeded", 507, 1),
        kind::INVALID => ("Invalid", 422, 1),
        kind::UNSUPPORTED => ("Not supported", 501, 1),
        kind::REFUSED => ("Refused", 409, 1),
        kind::KEY_NOT_LOADED => ("Encryption key not loaded", 409, 1),
        kind::CORRUPT => ("Damaged data", 500, 1),
        kind::SUSPENDED => ("Pool suspended", 503, 1),
        kind::BAD_REQUEST => ("Bad request", 400, 2),
        _ => ("Internal error", 500, 1),
    }
}

/// What an engine error is to a client.
pub fn of_error(error: &Error) -> Problem {
    let kind = match error {
        Error::NotFound | Error::Stale => kind::NOT_FOUND,
        Error::Exists => kind::EXISTS,
        Error::NotEmpty => kind::NOT_EMPTY,
        Error::Denied | Error::NotPermitted => kind::DENIED,
        Error::ReadOnly => kind::READ_ONLY,
        Error::Busy => kind::BUSY,
        Error::NameTooLong => kind::NAME_TOO_LONG,
        Error::NoSpace => kind::NO_SPACE,
        Error::Quota => kind::QUOTA,
        Error::NotDir
        | Error::IsDir
        | Error::FileTooLarge
        | Error::TooManyLinks
        | Error::CrossDevice
        | Error::TooSmall => kind::INVALID,
        Error::Invalid(what) => return problem(kind::INVALID, what.clone()),
        Error::Unsupported(what) => {
            return problem(
                kind::UNSUPPORTED,
                format!("{what}: not supported by this version of Cistern yet"),
            );
        }
        Error::Refused(why) => return problem(kind::REFUSED, why.clone()),
        Error::KeyNotLoaded => kind::KEY_NOT_LOADED,
        Error::Corrupt { .. } => kind::CORRUPT,
        Error::Suspended => kind::SUSPENDED,
        // The enum is open to additions: what we can't name yet is still told in its own words.
        other => return problem(kind::REFUSED, other.to_string()),
    };
    problem(kind, error.to_string())
}

#[cfg(test)]
mod tests;
