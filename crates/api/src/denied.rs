//! The one place where what the machine's database refuses, and its faults, become problems.

use crate::desk::DeskFault;
use crate::problem::{Refusal, refuse};
use api_types::{Problem, SecondFactors, kind};
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use machine::{Denied, Fault, KeyFault, Limit, NameFault, PasswordFault};

/// Seconds after which a client may try again that found no room.
const SOON: u64 = 3;

/// A refusal, perhaps with the time to wait before the next try.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unserved {
    why: Refusal,
    retry_after: Option<u64>,
}

impl Unserved {
    /// The refusal alone.
    pub fn refusal(self) -> Refusal {
        self.why
    }

    /// There is no room at the moment.
    pub fn no_room(detail: &str) -> Unserved {
        Unserved { why: refuse(kind::UNAVAILABLE, detail), retry_after: Some(SOON) }
    }
}

/// Nobody is logged in, or what was shown lets nobody in.
pub fn unauthenticated() -> Unserved {
    refuse(kind::UNAUTHENTICATED, "log in first, or show a token that is valid").into()
}

impl From<Refusal> for Unserved {
    fn from(why: Refusal) -> Unserved {
        Unserved { why, retry_after: None }
    }
}

impl From<Fault> for Unserved {
    fn from(fault: Fault) -> Unserved {
        let kind = match &fault {
            Fault::Full => kind::NO_SPACE,
            Fault::Defect(_) => kind::INTERNAL,
            Fault::Io(_) | Fault::Damaged(_) | Fault::Busy | Fault::NewerVersion { .. } => kind::UNAVAILABLE,
        };
        // Its text names files and statements, and is not for whoever comes by.
        tracing::error!(%fault, "the machine's database");
        refuse(kind, "the machine's database refuses it; the log says more").into()
    }
}

impl From<Denied> for Unserved {
    fn from(why: Denied) -> Unserved {
        let refused = |kind: &str, detail: &str| Unserved::from(refuse(kind, detail));
        match why {
            Denied::Wrong => refused(kind::UNAUTHENTICATED, "name, password, second factor or code is wrong"),
            Denied::SecondFactorNeeded(has) => second_factor(has),
            Denied::CounterWentBack { .. } => refused(
                kind::UNAUTHENTICATED,
                "the counter of this security key went back: there may be a copy of it; have it removed",
            ),
            Denied::Throttled { seconds } => {
                let detail = format!("too many tries failed; the next is looked at in {seconds} s");
                Unserved { why: refuse(kind::THROTTLED, detail), retry_after: Some(seconds) }
            }
            Denied::TooBusy => Unserved::no_room("too many passwords are being checked"),
            Denied::Exists => refused(kind::EXISTS, "there is one of this name already"),
            Denied::NotFound => refused(kind::NOT_FOUND, "there is none of this name or number"),
            Denied::BadName(fault) => refused(kind::INVALID, name(fault)),
            Denied::BadPassword(fault) => refused(kind::INVALID, password(fault)),
            Denied::OutlivesMaker => {
                refused(kind::INVALID, "a token makes none that ends after it, or never")
            }
            Denied::BadKey(fault) => refused(kind::INVALID, key(fault)),
            Denied::BadUid => refused(kind::INVALID, "no account may have this number"),
            Denied::UidTaken => refused(kind::EXISTS, "another account has this number, or had it"),
            Denied::BadExpiry => refused(kind::INVALID, "a token cannot expire in the past"),
            Denied::AboveUser => {
                refused(kind::INVALID, "the role of a token cannot be above that of its user")
            }
            Denied::LastAdministrator => {
                refused(kind::LAST_ADMINISTRATOR, "no administrator who can log in would be left")
            }
            Denied::NoFirstCode => refused(
                kind::NO_FIRST_CODE,
                "there is no code: an administrator is there already, or none was made",
            ),
            Denied::TooMany(limit) => refused(kind::TOO_MANY, most(limit)),
            Denied::Fault(fault) => fault.into(),
        }
    }
}

impl From<DeskFault> for Unserved {
    fn from(why: DeskFault) -> Unserved {
        match why {
            DeskFault::Denied(why) => why.into(),
            DeskFault::Invalid(why) => refuse(kind::INVALID, why).into(),
        }
    }
}

fn name(fault: NameFault) -> &'static str {
    match fault {
        NameFault::Empty => "a name is wanted",
        NameFault::TooLong => "the name is too long",
        NameFault::BadStart => "the name of a user begins with a small letter or '_'",
        NameFault::BadCharacter => "the name has a character that names have not",
    }
}

fn password(fault: PasswordFault) -> &'static str {
    match fault {
        PasswordFault::TooShort => "a password has at least 10 characters",
        PasswordFault::TooLong => "a password has at most 1,024 bytes",
        PasswordFault::Nul => "a password has no character NUL",
    }
}

fn key(fault: KeyFault) -> &'static str {
    match fault {
        KeyFault::Unreadable => "that is not what a browser gives of a new security key",
        KeyFault::NoChallenge => "no security key is waited for: five minutes have passed, or it was kept",
        KeyFault::OtherSite => "the security key was made for another site",
        KeyFault::NobodyThere => "nobody has touched the security key",
        KeyFault::Algorithm => "the security key signs by neither ES256 nor EdDSA",
        KeyFault::Signature => "another security key has signed",
    }
}

/// With what the account has, which only who knows its password is told.
fn second_factor(has: Box<SecondFactors>) -> Unserved {
    let detail = match (has.totp, &has.key) {
        (_, Some(_)) => "this account wants a second factor: a security key, or a code",
        (true, None) => "this account wants a second factor: a code",
        (false, None) => {
            "the security keys of this account do not count for this name or address; give a recovery code, \
             or come by the name that they were made for"
        }
    };
    let Refusal(problem) = refuse(kind::SECOND_FACTOR_NEEDED, detail);
    Refusal(Problem { second_factors: Some(has), ..problem }).into()
}

fn most(limit: Limit) -> &'static str {
    match limit {
        Limit::Users => "there are as many users as there may be",
        Limit::Tokens => "the user has as many tokens as one may have",
        Limit::Keys => "the user has as many security keys as one may have",
        Limit::Uids => "no number for a user is left",
        Limit::Routes => "there are as many routes as there may be",
        Limit::Peers => "there are as many peers as there may be",
        Limit::Worksheets => "there are as many worksheets as there may be",
        Limit::PanesWatched => "as many panes of worksheets have an alert or are kept as may: eight",
        Limit::Panes => "a worksheet has at most eight panes, and 16 KiB of them",
    }
}

impl IntoResponse for Unserved {
    fn into_response(self) -> Response {
        let is_unauthenticated = self.why.0.status == 401;
        let mut response = self.why.into_response();
        if let Some(seconds) = self.retry_after {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        if is_unauthenticated {
            response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(why: Denied) -> (u16, String) {
        let response = Unserved::from(why).into_response();
        let header = |name: header::HeaderName| {
            let value = response.headers().get(name)?;
            value.to_str().ok().map(str::to_owned)
        };
        let told = header(header::RETRY_AFTER).or_else(|| header(header::WWW_AUTHENTICATE));
        (response.status().as_u16(), told.unwrap_or_default())
    }

    #[test]
    fn a_refusal_says_what_to_do_in_its_headers() {
        assert_eq!(told(Denied::Wrong), (401, "Bearer".into()));
        let has = SecondFactors { totp: true, key: None };
        assert_eq!(told(Denied::SecondFactorNeeded(Box::new(has))), (401, "Bearer".into()));
        let copied = Denied::CounterWentBack { key: 1, kept: 7, shown: 5 };
        assert_eq!(told(copied), (401, "Bearer".into()));
        assert_eq!(told(Denied::BadKey(KeyFault::OtherSite)), (422, String::new()));
        assert_eq!(told(Denied::Throttled { seconds: 8 }), (429, "8".into()));
        assert_eq!(told(Denied::TooBusy), (503, "3".into()));
        assert_eq!(told(Denied::LastAdministrator), (409, String::new()));
        assert_eq!(told(Denied::Fault(Fault::Full)), (507, String::new()));
        let damaged = Unserved::from(Fault::Damaged("/var/lib/secret: near \"SELECT\"".into()));
        assert!(!format!("{damaged:?}").contains("secret"), "{damaged:?}");
        assert_eq!(told(Denied::BadPassword(PasswordFault::TooShort)), (422, String::new()));
    }
}
