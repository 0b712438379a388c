//! Passwords: which are taken, how they are hashed, and how much work at a time.
//!
//! Invariants: argon2id with 19 MiB, two passes and one lane (OWASP's first choice), its
//! parameters in the PHC string. At most two are computed at a time for who is not known yet, and
//! one for who is: so at most 57 MiB are in use, and no flood of logins keeps an administrator from
//! changing a password.
//! A password of nobody costs the same work as one of somebody.

use std::hint::black_box;
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use argon2::password_hash::{self, PasswordHasher, PasswordVerifier, phc::PasswordHash};
use argon2::{Algorithm, Argon2, Params, Version};

use crate::Outside;
use crate::fault::{Denied, Fault, PasswordFault};

const LEAST_CHARS: usize = 10;
const MOST_BYTES: usize = 1_024;
/// How long one waits for its turn.
const PATIENCE: Duration = Duration::from_secs(3);
/// Of a hash in the database, in KiB and passes: more is no hash of ours, and would take the
/// machine's memory.
const MOST_MEMORY: u32 = 64 << 10;
const MOST_PASSES: u32 = 16;

/// Whose turn it is to compute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Whose {
    /// Of who wants to come in.
    Strangers,
    /// Of who is in.
    Known,
}

/// Turns of one kind.
struct Turns {
    running: Mutex<usize>,
    at_once: usize,
    freed: Condvar,
}

/// Hashes and checks passwords.
pub(crate) struct Passwords {
    params: Params,
    strangers: Turns,
    known: Turns,
}

/// A turn to compute; given back when dropped.
struct Turn<'a>(&'a Turns);

impl Passwords {
    pub(crate) fn new() -> Passwords {
        Passwords::with(Params::DEFAULT)
    }

    pub(crate) fn with(params: Params) -> Passwords {
        Passwords { params, strangers: Turns::new(2), known: Turns::new(1) }
    }

    /// The PHC string of a new password.
    pub(crate) fn hash(&self, password: &str, whose: Whose, outside: &dyn Outside) -> Result<String, Denied> {
        check(password).map_err(Denied::BadPassword)?;
        let mut salt = [0; 16];
        outside.fill(&mut salt);
        let _turn = self.turns(whose).take()?;
        let hashed: Result<PasswordHash, _> =
            self.argon2().hash_password_with_salt(password.as_bytes(), &salt);
        Ok(hashed.map_err(|error| Fault::Defect(format!("argon2: {error}")))?.to_string())
    }

    /// Whether a password is that of a PHC string. `None`, for nobody, is never right, and takes
    /// the same time.
    pub(crate) fn verify(&self, password: &str, hash: Option<&str>, whose: Whose) -> Result<bool, Denied> {
        let damaged =
            |error: password_hash::Error| Fault::Damaged(format!("the hash of a password: {error}"));
        let hash = hash.map(parse).transpose().map_err(damaged)?;
        let _turn = self.turns(whose).take()?;
        let Some(hash) = hash else {
            let mut out = [0; Params::DEFAULT_OUTPUT_LEN];
            let hashed = self.argon2().hash_password_into(password.as_bytes(), &[0; 16], &mut out);
            hashed.map_err(|error| Fault::Defect(format!("argon2: {error}")))?;
            let _ = black_box(out);
            return Ok(false);
        };
        match self.argon2().verify_password(password.as_bytes(), &hash) {
            Ok(()) => Ok(true),
            Err(password_hash::Error::PasswordInvalid) => Ok(false),
            Err(error) => Err(damaged(error).into()),
        }
    }

    /// Whether a PHC string was made with other parameters than those of today.
    pub(crate) fn is_outdated(&self, hash: &str) -> bool {
        let params = parse(hash).and_then(|hash| Params::try_from(&hash.params));
        params.is_ok_and(|params| params != self.params)
    }

    fn argon2(&self) -> Argon2<'_> {
        Argon2::new(Algorithm::Argon2id, Version::V0x13, self.params.clone())
    }

    fn turns(&self, whose: Whose) -> &Turns {
        match whose {
            Whose::Strangers => &self.strangers,
            Whose::Known => &self.known,
        }
    }
}

impl Turns {
    fn new(at_once: usize) -> Turns {
        Turns { running: Mutex::new(0), at_once, freed: Condvar::new() }
    }

    fn take(&self) -> Result<Turn<'_>, Denied> {
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.freed.wait_timeout_while(running, PATIENCE, |running| *running >= self.at_once);
        let (mut running, result) = waited.unwrap_or_else(PoisonError::into_inner);
        if result.timed_out() {
            return Err(Denied::TooBusy);
        }
        *running += 1;
        Ok(Turn(self))
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        *self.0.running.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        self.0.freed.notify_one();
    }
}

/// Whether a new password may be taken. There are no rules about which characters it has.
fn check(password: &str) -> Result<(), PasswordFault> {
    if password.len() > MOST_BYTES {
        return Err(PasswordFault::TooLong);
    }
    if password.contains('\0') {
        return Err(PasswordFault::Nul);
    }
    match password.chars().count() < LEAST_CHARS {
        true => Err(PasswordFault::TooShort),
        false => Ok(()),
    }
}

/// A PHC string whose work is within the bounds.
fn parse(hash: &str) -> Result<PasswordHash, password_hash::Error> {
    let hash = PasswordHash::new(hash)?;
    let params = Params::try_from(&hash.params)?;
    if params.m_cost() > MOST_MEMORY || params.t_cost() > MOST_PASSES {
        return Err(password_hash::Error::ParamsInvalid);
    }
    Ok(hash)
}

#[cfg(test)]
mod tests;
