//! What belongs to the machine and to no pool: users, their second factors, sessions, API tokens,
//! what is set about certificates, services with their state, worksheets, the audit log, alerts
//! and the routes that they are told by, and answers to requests that may be sent again, in one
//! SQLite database; and the history of what the machine does, in a file of its own ([`history`]).
//!
//! Invariants:
//! - Nothing here reads a clock or draws randomness: both come from [`Outside`].
//! - A password, session secret, token secret, recovery code or first code is never kept, only its
//!   hash. The secret of TOTP, the key of an account for certificates and the secrets of routes are
//!   the exceptions: nothing can be computed from a hash.
//! - A change is one transaction. It is durable when the call returns, or it was not made.
//! - Every table, queue and wait has a bound.
//! - No answer tells a stranger whether an account exists.

mod acme;
mod alerts;
mod audit;
mod backup;
mod contents;
mod fault;
mod files;
pub mod findings;
mod first_code;
pub mod history;
mod identity;
mod keys;
mod login;
mod password;
mod peers;
mod places;
mod recovery;
mod repeats;
mod routes;
mod schema;
mod secret;
mod services;
mod sessions;
mod store;
mod tallies;
mod throttle;
mod tokens;
mod totp;
mod users;
pub mod version;
mod worksheets;

use std::path::Path;
use std::sync::Arc;

pub use acme::{Acme, AcmeWanted};
pub use alerts::{AlertPage, AlertTurned, KeptNote};
pub use audit::{AuditEntry, AuditFilter, Weight};
pub use contents::{Account, Contents};
pub use fault::{Denied, Fault, KeyFault, Limit, NameFault, PasswordFault};
pub use identity::{Credential, Identity};
pub use keys::RelyingParty;
pub use login::{LogIn, NewSession, Second};
pub use peers::PeerKey;
pub use repeats::{Claim, KeptAnswer, Keyed, LONGEST as LONGEST_ANSWER};
pub use routes::Route;
pub use services::KeptService;
pub use store::Found;
pub use tallies::Tally;
pub use tokens::NewToken;
pub use users::{NewUser, UserChange};

use first_code::FirstCode;
use keys::Challenges;
use password::Passwords;
use store::Store;
use throttle::Throttle;

/// Time and entropy, which the caller gives.
pub trait Outside: Send + Sync {
    /// Seconds since 1970, UTC.
    fn now(&self) -> i64;
    /// Fills all of `bytes` with numbers that nobody can foretell.
    fn fill(&self, bytes: &mut [u8]);
}

/// The open database, and what is kept in memory beside it: failed logins, the first code, and
/// challenges for security keys.
pub struct Machine {
    store: Store,
    outside: Arc<dyn Outside>,
    passwords: Passwords,
    throttle: Throttle,
    first_code: FirstCode,
    challenges: Challenges,
}

impl Machine {
    /// Opens `folder/machine.db`, or begins it. A damaged database is put aside and replaced by its
    /// last automatic backup, or by an empty one. Fails if another process has it open
    /// ([`Fault::Busy`]), if it is of a newer version, and if the folder cannot be read or written.
    pub fn open(folder: &Path, outside: Arc<dyn Outside>) -> Result<(Machine, Found), Fault> {
        Machine::open_with(folder, outside, schema::STEPS, Passwords::new())
    }

    fn open_with(
        folder: &Path,
        outside: Arc<dyn Outside>,
        steps: &[&str],
        passwords: Passwords,
    ) -> Result<(Machine, Found), Fault> {
        let (store, found) = Store::open(folder, steps)?;
        let (throttle, first_code) = (Throttle::new(&*outside), FirstCode::default());
        let challenges = Challenges::default();
        let machine = Machine { store, outside, passwords, throttle, first_code, challenges };
        // Who asks for one is told that it is under way, which is no reason to refuse all others.
        if let Err(fault) = machine.lose_answers() {
            tracing::warn!("requests that were under way when the program ended are not marked: {fault}");
        }
        Ok((machine, found))
    }

    /// Writes a consistent copy to `to`, mode 0600. It is written beside and renamed, so `to` is
    /// never half a copy. What is there is replaced.
    pub fn backup(&self, to: &Path) -> Result<(), Fault> {
        self.store.backup(to)
    }

    /// Replaces the database of a folder that no process has open by a backup, after it was
    /// checked: it must be ours, whole, and not of a newer version. The database that was there is
    /// kept as `machine.db.replaced-N`. All sessions end.
    pub fn restore(folder: &Path, from: &Path) -> Result<(), Fault> {
        backup::restore(folder, from, schema::STEPS)
    }

    /// Makes `to` of a backup, after it was checked as for [`Machine::restore`], with the tables of
    /// this version and without sessions. Tells what is in it.
    pub fn examine(from: &Path, to: &Path) -> Result<Contents, Fault> {
        backup::examine(from, to, schema::STEPS)
    }

    /// What is in the database, in short.
    pub fn contents(&self) -> Result<Contents, Fault> {
        self.store.look(contents::read)
    }

    /// Grows with each change of accounts or tokens, and at some other times; begins anew with the
    /// program.
    pub fn generation(&self) -> u64 {
        self.store.generation()
    }

    /// Writes the automatic backup, from which a damaged database is restored, where accounts or
    /// tokens were changed since the last one. To be called each minute, and when the program ends;
    /// [`Machine::open`] writes it, too.
    pub fn keep(&self) -> Result<(), Fault> {
        self.store.keep()
    }
}

#[cfg(test)]
mod tests;
