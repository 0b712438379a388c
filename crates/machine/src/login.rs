//! A name, a password and a second factor become a session.
//!
//! Invariants: a try is counted before it is looked at (`throttle`). An account that is unknown or
//! disabled takes the work of one that is there. What was checked is checked again in the
//! transaction that begins the session: a password that was changed meanwhile lets nobody in.

use std::net::IpAddr;

use api_types::{Assertion, SecondFactors, User};
use rusqlite::{Connection, params};

use crate::fault::{Denied, Fault};
use crate::identity::Identity;
use crate::keys::RelyingParty;
use crate::password::Whose;
use crate::places::{self, Place};
use crate::throttle::Try;
use crate::users::{self, Account};
use crate::{Machine, keys, recovery, sessions, totp};

/// Who wants to come in.
pub struct LogIn<'a> {
    pub name: &'a str,
    pub password: &'a str,
    pub second: Option<Second<'a>>,
    pub address: IpAddr,
    /// This machine as the browser sees it; `None`: by an address, or it is no browser. Security
    /// keys are asked for by it.
    pub site: Option<&'a RelyingParty>,
}

/// A second factor.
#[derive(Clone, Copy)]
pub enum Second<'a> {
    /// A code of TOTP, or a recovery code.
    Code(&'a str),
    /// Of a security key.
    Key(&'a Assertion),
}

/// A second factor that is to be looked at once.
enum Shown<'a> {
    Code(&'a str),
    Key(keys::Answer<'a>),
}

/// A session that has begun.
pub struct NewSession {
    /// For [`Machine::session`]. Shown once.
    pub secret: String,
    pub identity: Identity,
}

impl Machine {
    /// Begins a session. [`Denied::Wrong`], [`Denied::SecondFactorNeeded`],
    /// [`Denied::CounterWentBack`], [`Denied::Throttled`] and [`Denied::TooBusy`] are the refusals.
    pub fn log_in(&self, attempt: &LogIn<'_>) -> Result<NewSession, Denied> {
        self.counted(attempt.name, attempt.address, |counted| self.let_in(attempt, counted))
    }

    /// Whether this is the password of the user, for who has to give it once more. Counted as a try
    /// to log in.
    pub fn confirm_password(&self, name: &str, password: &str, address: IpAddr) -> Result<(), Denied> {
        self.counted(name, address, |_| self.account(name, password, Whose::Known).map(drop))
    }

    /// The same with the second factor, where the user has one.
    pub fn confirm_both(&self, attempt: &LogIn<'_>) -> Result<(), Denied> {
        self.counted(attempt.name, attempt.address, |counted| {
            let account = self.account(attempt.name, attempt.password, Whose::Known)?;
            let shown = self.shown(&account, attempt, counted)?;
            let now = self.outside.now();
            self.store.change_accounts(|db| take(db, &account, shown.as_ref(), now))
        })
    }

    /// The second factor of who has given the right password. `None`: the account has none.
    fn shown<'a>(
        &self,
        account: &Account,
        attempt: &LogIn<'a>,
        counted: &mut Try,
    ) -> Result<Option<Shown<'a>>, Denied> {
        if !has_second(&account.user) {
            return Ok(None);
        }
        let Some(second) = attempt.second else {
            let key = self.question(account.id, attempt.site, attempt.address)?;
            let has = SecondFactors { totp: account.user.has_totp, key };
            return Err(Denied::SecondFactorNeeded(Box::new(has)));
        };
        let begun = self.throttle.begin_second(counted, self.outside.now());
        begun.map_err(|seconds| Denied::Throttled { seconds })?;
        Ok(Some(match second {
            Second::Code(code) => Shown::Code(code),
            Second::Key(assertion) => Shown::Key(self.answer(account.id, assertion)?),
        }))
    }

    fn counted<T>(
        &self,
        name: &str,
        address: IpAddr,
        look: impl FnOnce(&mut Try) -> Result<T, Denied>,
    ) -> Result<T, Denied> {
        // Names that nobody can have are counted together, so that they do not push others out.
        let account = if users::check_name(name).is_ok() { name } else { "" };
        let place = Place::of(address);
        let is_known = self.store.read(|db| places::is_known(db, account, place))?;
        let begun = self.throttle.begin(account, place, is_known, self.outside.now());
        let mut attempt = begun.map_err(|seconds| Denied::Throttled { seconds })?;
        let outcome = look(&mut attempt);
        match &outcome {
            Ok(_) => self.throttle.succeeded(&attempt),
            Err(Denied::Wrong) => {}
            Err(Denied::CounterWentBack { key, kept, shown }) => {
                self.note_copy(account, address, *key, (*kept, *shown));
            }
            // A right password without the second factor does not end a wait: else it would allow
            // any number of codes.
            Err(_) => self.throttle.take_back(&attempt),
        }
        outcome
    }

    /// The enabled account with this name and password.
    fn account(&self, name: &str, password: &str, whose: Whose) -> Result<Account, Denied> {
        let found: Result<Option<Account>, Fault> = self.store.read(|db| users::find(db, name));
        let account = found?.filter(|account| !account.user.disabled);
        let hash = account.as_ref().map(|account| account.hash.as_str());
        match (self.passwords.verify(password, hash, whose)?, account) {
            (true, Some(account)) => Ok(account),
            _ => Err(Denied::Wrong),
        }
    }

    fn let_in(&self, attempt: &LogIn<'_>, counted: &mut Try) -> Result<NewSession, Denied> {
        let checked = self.account(attempt.name, attempt.password, Whose::Strangers)?;
        let shown = self.shown(&checked, attempt, counted)?;
        let hash = self.hash_of_today(&checked, attempt.password)?;
        let now = self.outside.now();
        self.store.change_accounts(|db| {
            let still = users::find(db, attempt.name)?
                .filter(|still| still.id == checked.id && still.hash == checked.hash && !still.user.disabled);
            let account = still.ok_or(Denied::Wrong)?;
            take(db, &account, shown.as_ref(), now)?;
            let Account { id, user, .. } = account;
            db.execute(
                "UPDATE users SET last_login = ?2, password = ?3 WHERE id = ?1",
                params![id, now, hash],
            )?;
            places::note(db, id, Place::of(attempt.address), now)?;
            let (secret, by) = sessions::begin(db, id, attempt.address, now, &*self.outside)?;
            let identity = Identity { user: user.name, uid: user.uid, role: user.role, by, dataset: None };
            Ok(NewSession { secret, identity })
        })
    }

    /// The hash to keep: a new one where the parameters have changed since the old one was made.
    fn hash_of_today(&self, account: &Account, password: &str) -> Result<String, Denied> {
        if !self.passwords.is_outdated(&account.hash) {
            return Ok(account.hash.clone());
        }
        match self.passwords.hash(password, Whose::Strangers, &*self.outside) {
            // The password is right. The next login makes its hash anew.
            Err(Denied::TooBusy | Denied::BadPassword(_)) => Ok(account.hash.clone()),
            other => other,
        }
    }
}

fn has_second(user: &User) -> bool {
    user.has_totp || user.has_keys
}

/// Takes the second factor, where the account has one.
fn take(db: &Connection, account: &Account, shown: Option<&Shown<'_>>, now: i64) -> Result<(), Denied> {
    let is_right = match shown {
        // One that it has since the password was looked at was not asked for.
        None => !has_second(&account.user),
        Some(Shown::Code(code)) => {
            totp::take(db, account.id, code, now)? || recovery::take(db, account.id, code)?
        }
        Some(Shown::Key(answer)) => keys::take(db, account.id, answer, now)?,
    };
    match is_right {
        true => Ok(()),
        false => Err(Denied::Wrong),
    }
}
