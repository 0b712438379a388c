//! The one place where the engine's errors, and our own, become problems.

use api_types::{PROBLEM_MEDIA_TYPE, Problem, kind};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use engine_api::Error;
use engine_api::refusal::{ImportFault, Reason, Refused};
use std::fmt::Display;

/// Why a request was refused, as it is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal(pub Problem);

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.0.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut response = (status, axum::Json(self.0)).into_response();
        let media_type = HeaderValue::from_static(PROBLEM_MEDIA_TYPE);
        response.headers_mut().insert(header::CONTENT_TYPE, media_type);
        response
    }
}

/// A refusal of a kind, with what happened here.
pub fn refuse(kind: &str, detail: impl Into<String>) -> Refusal {
    let (title, status, exit) = describe(kind);
    Refusal(Problem {
        kind: kind.to_owned(),
        title: title.to_owned(),
        status,
        detail: detail.into(),
        refused: None,
        second_factors: None,
        service_fault: None,
        exit,
    })
}

/// A panic, or what else only a fault of ours explains. What it says is for the log: it may name
/// files, and whoever asked is told nothing of it.
pub fn defect(what: &dyn Display) -> Refusal {
    tracing::error!(%what, "a fault of ours");
    refuse(kind::INTERNAL, "a fault of ours; the log says more")
}

/// A refusal of a kind, with what was refused and why as data.
pub fn refused(kind: &str, why: Refused) -> Refusal {
    let Refusal(problem) = refuse(kind, why.to_string());
    Refusal(Problem { refused: Some(Box::new(why)), ..problem })
}

/// Title, HTTP status and exit status of a kind.
pub fn describe(kind: &str) -> (&'static str, u16, u8) {
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
        kind::CANCELLED => ("Cancelled", 409, 1),
        kind::INTERRUPTED => ("Interrupted", 500, 1),
        kind::BAD_REQUEST => ("Bad request", 400, 2),
        kind::UNAUTHENTICATED => ("Not logged in", 401, 1),
        kind::SECOND_FACTOR_NEEDED => ("Second factor needed", 401, 1),
        kind::CROSS_SITE => ("Cross-site request", 403, 1),
        kind::LAST_ADMINISTRATOR => ("Last administrator", 409, 1),
        kind::NO_FIRST_CODE => ("No first code", 409, 1),
        kind::TOO_MANY => ("Too many", 409, 1),
        kind::PRECONDITION_FAILED => ("Changed since", 412, 1),
        kind::KEY_REUSED => ("Key of another request", 422, 1),
        kind::IN_PROGRESS => ("Under way", 409, 1),
        kind::ANSWER_NOT_KEPT => ("Answer not kept", 409, 1),
        kind::MISDIRECTED => ("Misdirected request", 421, 1),
        kind::THROTTLED => ("Too many tries", 429, 1),
        kind::UNAVAILABLE => ("Not available", 503, 1),
        _ => ("Internal error", 500, 1),
    }
}

/// The kind of an engine error.
pub fn kind_of(error: &Error) -> &'static str {
    match error {
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
        | Error::TooSmall
        | Error::Invalid(_) => kind::INVALID,
        Error::Unsupported(_) => kind::UNSUPPORTED,
        Error::KeyNotLoaded => kind::KEY_NOT_LOADED,
        Error::Corrupt { .. } => kind::CORRUPT,
        Error::Suspended => kind::SUSPENDED,
        Error::Refused(why) if why.reason == Reason::Import(ImportFault::Cancelled) => kind::CANCELLED,
        Error::Refused(why) if why.reason == Reason::Outdated => kind::PRECONDITION_FAILED,
        // The enum is open to additions: what we can't name yet is still told in its own words.
        Error::Refused(_) | _ => kind::REFUSED,
    }
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Refusal {
        let kind = kind_of(&error);
        let detail = match error {
            Error::Refused(why) => return refused(kind, *why),
            Error::Invalid(what) => what,
            Error::Unsupported(what) => format!("{what}: not supported by this version of Cistern yet"),
            other => other.to_string(),
        };
        refuse(kind, detail)
    }
}

#[cfg(test)]
mod tests;
