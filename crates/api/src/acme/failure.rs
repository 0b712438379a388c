//! Why no certificate came, as data, whoever noticed it.
//!
//! Invariant: what the authority says is kept short and on one line; nothing is decided by it, but
//! by the types of its problems (RFC 8555, section 6.7).

use super::http::Trouble;
use api_types::AcmeFault;
use instant_acme::{Error, Problem};

/// Characters of a reason.
const LONGEST: usize = 1_000;
/// Type of a problem: the authority does not know the account.
const NO_ACCOUNT: &str = "urn:ietf:params:acme:error:accountDoesNotExist";

/// Why no certificate came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    pub fault: AcmeFault,
    pub why: String,
    /// The authority does not know the account, so another one may help.
    pub has_no_account: bool,
    /// Seconds for which the authority wants to be left alone.
    pub later: Option<i64>,
}

impl Failure {
    pub fn new(fault: AcmeFault, why: impl AsRef<str>) -> Failure {
        let one_line = why.as_ref().chars().map(|c| if c.is_control() { ' ' } else { c });
        let why = one_line.take(LONGEST).collect();
        Failure { fault, why, has_no_account: false, later: None }
    }
}

impl From<&Problem> for Failure {
    fn from(problem: &Problem) -> Failure {
        let mut why = vec![problem.detail.clone().or_else(|| problem.r#type.clone())];
        why.extend(problem.subproblems.iter().map(|part| part.detail.clone()));
        let why: Vec<String> = why.into_iter().flatten().collect();
        let has_no_account = problem.r#type.as_deref() == Some(NO_ACCOUNT);
        Failure { has_no_account, ..Failure::new(AcmeFault::Refused, why.join("; ")) }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        match error {
            Error::Api(problem) => Failure::from(&problem),
            Error::Other(inner) => match inner.downcast::<Trouble>() {
                Ok(trouble) => Failure::from(*trouble),
                Err(other) => Failure::new(AcmeFault::BadAnswer, other.to_string()),
            },
            Error::Crypto | Error::KeyRejected => {
                Failure::new(AcmeFault::Here, "the key of the account cannot be used")
            }
            error => Failure::new(AcmeFault::BadAnswer, error.to_string()),
        }
    }
}

impl From<Trouble> for Failure {
    fn from(trouble: Trouble) -> Failure {
        let fault = match &trouble {
            Trouble::BadUrl(_)
            | Trouble::Redirected
            | Trouble::TooLarge(_)
            | Trouble::Status(_)
            | Trouble::NoDirectory => AcmeFault::BadAnswer,
            Trouble::Unreachable(..) | Trouble::NoTls(..) | Trouble::Broken(..) | Trouble::Silent(_) => {
                AcmeFault::Unreachable
            }
            Trouble::BadRoots | Trouble::NoRoots => AcmeFault::Here,
        };
        Failure::new(fault, trouble.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_authority_says_is_kept_short_and_its_kind_is_known() {
        let told = |json: &str| Failure::from(&serde_json::from_str::<Problem>(json).expect("a problem"));
        let gone = told(&format!(r#"{{"type":"{NO_ACCOUNT}","detail":"who\u001b[2J\nare you"}}"#));
        assert_eq!((gone.why.as_str(), gone.has_no_account), ("who [2J are you", true));
        let long = "x".repeat(5_000);
        let other =
            told(&format!(r#"{{"type":"urn:x","detail":"{long}","subproblems":[{{"detail":"y"}}]}}"#));
        assert_eq!(
            (other.why.len(), other.has_no_account, other.fault),
            (LONGEST, false, AcmeFault::Refused)
        );
        assert_eq!(told(r#"{"type":"urn:x"}"#).why, "urn:x");
    }
}
