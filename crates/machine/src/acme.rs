//! What an administrator has set about certificates by ACME, the account at the certificate
//! authority, and when it is asked next.
//!
//! The account's key is in the database, and so in its copies, as the secrets of TOTP are: who
//! restores a copy goes on with the same account.
//!
//! Invariants: there is at most one setting. One that replaces another has another id, and what was
//! found out for the one before is not noted for it.

use api_types::{AcmeFailure, AcmeFault};
use rusqlite::types::Type;
use rusqlite::{OptionalExtension, Row, params};

use crate::Machine;
use crate::fault::Fault;
use crate::schema::number;

/// What an administrator has set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AcmeWanted {
    /// Names for the certificate, without blanks.
    pub domains: Vec<String>,
    pub email: Option<String>,
    /// URL of the directory of the certificate authority.
    pub directory: String,
    /// PEM: whose certificates the directory may show; `None`: those that this machine trusts.
    pub roots: Option<String>,
}

/// It, and what became of it.
#[derive(Clone, PartialEq, Eq)]
pub struct Acme {
    pub id: u64,
    pub wanted: AcmeWanted,
    /// The account and its key, once there is one.
    pub account: Option<String>,
    /// Tries since the last certificate came.
    pub tries: u32,
    /// When the next one is due, in seconds since 1970.
    pub next: i64,
    pub failure: Option<AcmeFailure>,
}

const SELECT: &str =
    "SELECT id, domains, email, directory, roots, account, tries, next, failed, fault, why FROM acme";

impl Machine {
    /// What is set; `None`: nothing.
    pub fn acme(&self) -> Result<Option<Acme>, Fault> {
        self.store.read(|db| Ok(db.query_row(SELECT, [], acme).optional()?))
    }

    /// Sets it, in place of what was set before, and gives it. It is due at once. Where it is the
    /// same authority and address, the account stays.
    pub fn set_acme(&self, wanted: &AcmeWanted) -> Result<Acme, Fault> {
        let AcmeWanted { domains, email, directory, roots } = wanted;
        self.store.change_accounts(|db| {
            let before = db.query_row(SELECT, [], acme).optional()?;
            let is_same = |old: &Acme| (&old.wanted.directory, &old.wanted.email) == (directory, email);
            let account = before.filter(is_same).and_then(|old| old.account);
            db.execute("DELETE FROM acme", [])?;
            db.execute(
                "INSERT INTO acme (domains, email, directory, roots, account) VALUES (?1, ?2, ?3, ?4, ?5)",
                params![domains.join(" "), email, directory, roots, account],
            )?;
            Ok(db.query_row(SELECT, [], acme)?)
        })
    }

    /// Forgets it, with the account. Whether there was anything.
    pub fn end_acme(&self) -> Result<bool, Fault> {
        self.store.change_accounts(|db| Ok(db.execute("DELETE FROM acme", [])? > 0))
    }

    /// Keeps the account of a setting; nothing where that was replaced.
    pub fn keep_acme_account(&self, id: u64, account: &str) -> Result<(), Fault> {
        self.store.change_accounts(|db| {
            db.execute("UPDATE acme SET account = ?2 WHERE id = ?1", params![key(id), account])?;
            Ok(())
        })
    }

    /// Notes how far it is with a setting; nothing where that was replaced.
    pub fn note_acme(
        &self,
        id: u64,
        tries: u32,
        next: i64,
        failure: Option<&AcmeFailure>,
    ) -> Result<(), Fault> {
        let (failed, fault) = (failure.map(|it| it.at), failure.map(|it| it.fault.word()));
        let why = failure.map(|it| it.why.as_str());
        self.store.change(|db| {
            db.execute(
                "UPDATE acme SET tries = ?2, next = ?3, failed = ?4, fault = ?5, why = ?6 WHERE id = ?1",
                params![key(id), tries, next, failed, fault, why],
            )?;
            Ok(())
        })
    }
}

/// An id as SQLite has it; one that it cannot have is of no setting.
fn key(id: u64) -> i64 {
    i64::try_from(id).unwrap_or(-1)
}

fn acme(row: &Row<'_>) -> rusqlite::Result<Acme> {
    let domains: String = row.get(1)?;
    let (failed, fault, why): (Option<i64>, Option<String>, Option<String>) =
        (row.get(8)?, row.get(9)?, row.get(10)?);
    let failure = match (failed, fault, why) {
        (Some(at), Some(word), Some(why)) => {
            let fault = AcmeFault::of_word(&word);
            let fault = fault.ok_or(rusqlite::Error::InvalidColumnType(9, word, Type::Text))?;
            Some(AcmeFailure { at, fault, why })
        }
        _ => None,
    };
    Ok(Acme {
        id: number(row, 0)?,
        wanted: AcmeWanted {
            domains: domains.split(' ').map(str::to_owned).collect(),
            email: row.get(2)?,
            directory: row.get(3)?,
            roots: row.get(4)?,
        },
        account: row.get(5)?,
        tries: row.get(6)?,
        next: row.get(7)?,
        failure,
    })
}
