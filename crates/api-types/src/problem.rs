//! RFC 9457 problem details: the one form of every refusal.

use refusal::Refused;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use crate::known::Known;
use crate::{SecondFactors, ServiceFault};

/// Media type of a problem.
pub const MEDIA_TYPE: &str = "application/problem+json";

/// The values of [`Problem::kind`]. A client decides by these, never by the text.
pub mod kind {
    pub const NOT_FOUND: &str = "/problems/not-found";
    pub const EXISTS: &str = "/problems/exists";
    pub const NOT_EMPTY: &str = "/problems/not-empty";
    pub const DENIED: &str = "/problems/denied";
    pub const READ_ONLY: &str = "/problems/read-only";
    pub const BUSY: &str = "/problems/busy";
    pub const NAME_TOO_LONG: &str = "/problems/name-too-long";
    pub const NO_SPACE: &str = "/problems/no-space";
    pub const QUOTA: &str = "/problems/quota";
    pub const INVALID: &str = "/problems/invalid";
    pub const UNSUPPORTED: &str = "/problems/unsupported";
    pub const REFUSED: &str = "/problems/refused";
    pub const KEY_NOT_LOADED: &str = "/problems/key-not-loaded";
    pub const CORRUPT: &str = "/problems/corrupt";
    pub const SUSPENDED: &str = "/problems/suspended";
    /// Somebody asked for an end of it.
    pub const CANCELLED: &str = "/problems/cancelled";
    /// The program ended while the job ran.
    pub const INTERRUPTED: &str = "/problems/interrupted";
    /// The request itself can't be read: no such route, bad JSON, too large.
    pub const BAD_REQUEST: &str = "/problems/bad-request";
    /// Nobody is logged in, or name, password, code or token is wrong; which of them is not told.
    pub const UNAUTHENTICATED: &str = "/problems/unauthenticated";
    /// The password is right, and the account wants a second factor.
    pub const SECOND_FACTOR_NEEDED: &str = "/problems/second-factor-needed";
    /// Too many tries: header `Retry-After` says when the next one is looked at.
    pub const THROTTLED: &str = "/problems/throttled";
    /// A request that another web site had a browser send, or that cannot be told from one.
    pub const CROSS_SITE: &str = "/problems/cross-site";
    /// What header `If-Match` names was changed since.
    pub const PRECONDITION_FAILED: &str = "/problems/precondition-failed";
    /// Another request had this `Idempotency-Key`.
    pub const KEY_REUSED: &str = "/problems/key-reused";
    /// The request with this `Idempotency-Key` is still under way.
    pub const IN_PROGRESS: &str = "/problems/in-progress";
    /// The request with this `Idempotency-Key` was answered; the answer was too long to be kept.
    pub const ANSWER_NOT_KEPT: &str = "/problems/answer-not-kept";
    /// Header `Host` names another machine.
    pub const MISDIRECTED: &str = "/problems/misdirected";
    /// No administrator who can log in would be left.
    pub const LAST_ADMINISTRATOR: &str = "/problems/last-administrator";
    /// There is an administrator, or no code was made.
    pub const NO_FIRST_CODE: &str = "/problems/no-first-code";
    /// A bound is reached.
    pub const TOO_MANY: &str = "/problems/too-many";
    /// A part of the daemon that it takes is not there, or has no room at the moment.
    pub const UNAVAILABLE: &str = "/problems/unavailable";
    /// A fault of ours.
    pub const INTERNAL: &str = "/problems/internal";

    /// All of them.
    pub const ALL: &[&str] = &[
        NOT_FOUND,
        EXISTS,
        NOT_EMPTY,
        DENIED,
        READ_ONLY,
        BUSY,
        NAME_TOO_LONG,
        NO_SPACE,
        QUOTA,
        INVALID,
        UNSUPPORTED,
        REFUSED,
        KEY_NOT_LOADED,
        CORRUPT,
        SUSPENDED,
        CANCELLED,
        INTERRUPTED,
        BAD_REQUEST,
        UNAUTHENTICATED,
        SECOND_FACTOR_NEEDED,
        THROTTLED,
        CROSS_SITE,
        PRECONDITION_FAILED,
        KEY_REUSED,
        IN_PROGRESS,
        ANSWER_NOT_KEPT,
        MISDIRECTED,
        LAST_ADMINISTRATOR,
        NO_FIRST_CODE,
        TOO_MANY,
        UNAVAILABLE,
        INTERNAL,
    ];
}

/// Why a request was refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Problem {
    /// One of [`kind`].
    #[serde(rename = "type")]
    pub kind: String,
    /// The kind in words, the same for every problem of it.
    pub title: String,
    /// HTTP status.
    pub status: u16,
    /// What happened here, for people; may have several lines.
    pub detail: String,
    /// What was refused and why, as data; `None` where it is no refusal but a failure, or one that
    /// only a newer program understands.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "known")]
    pub refused: Option<Box<Refused>>,
    /// Of [`kind::SECOND_FACTOR_NEEDED`]: which the account has.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "known")]
    pub second_factors: Option<Box<SecondFactors>>,
    /// What is wrong with what a service was to do, as data.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "known")]
    pub service_fault: Option<Box<ServiceFault>>,
    /// Exit status that a command should end with: 1 for a refusal, 2 for a request that makes no
    /// sense.
    pub exit: u8,
}

/// What is not understood is none: `detail` says it.
fn known<'de, T: Deserialize<'de>, D: Deserializer<'de>>(from: D) -> Result<Option<T>, D::Error> {
    Ok(Known::deserialize(from)?.value())
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.detail.is_empty() { &self.title } else { &self.detail })
    }
}

impl std::error::Error for Problem {}

#[cfg(test)]
mod tests {
    use super::kind;

    #[test]
    fn the_list_of_kinds_has_each_of_them_once() {
        let source = include_str!("problem.rs");
        let mut kinds: Vec<&str> =
            source.lines().filter_map(|line| line.trim().strip_prefix("pub const ")).collect();
        kinds.retain(|line| line.contains("= \"/problems/"));
        let texts = kinds.iter().filter_map(|line| line.split('"').nth(1));
        assert_eq!(texts.collect::<Vec<_>>(), kind::ALL);
    }
}
