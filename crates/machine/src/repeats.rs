//! Answers to requests that were sent with a key: who sends one again is answered as the first
//! time, and it is not done twice, in another run of the program either.
//!
//! A key is claimed, durably, before its request is carried out, and its answer is kept afterwards.
//! Where the program ended in between, nobody knows what came of it, and whoever comes again is
//! told that.
//!
//! Invariants: of keys and requests only hashes are kept, of answers what their sender was told.
//! Keys of one do not meet those of another. Each is kept for [`LASTS`] seconds at most, and there
//! are so many of one and of all; then the oldest go.

use rusqlite::{OptionalExtension, Row, Transaction, params};

use crate::Machine;
use crate::fault::Fault;

/// Seconds that an answer is kept for: a day.
pub(crate) const LASTS: i64 = 24 * 60 * 60;
/// Keys of one, and of all.
pub(crate) const OF_ONE: i64 = 1_024;
const OF_ALL: i64 = 32_768;
/// Bytes of an answer that are kept.
pub const LONGEST: usize = 16 << 10;

/// A request with a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Keyed {
    /// Who sends it, whatever he shows for it.
    pub who: String,
    /// Hash of the key.
    pub key: [u8; 32],
    /// Hash of all that the request says.
    pub request: [u8; 32],
}

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptAnswer {
    /// As HTTP has it.
    pub status: u16,
    /// `None`: it was too long to be kept.
    pub body: Option<Vec<u8>>,
}

/// What there is of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Claim {
    /// Nothing was: it is this request's now, whose answer is to be kept or the key given back.
    New,
    Answered(KeptAnswer),
    /// Another request has it.
    Taken,
    /// The request is under way.
    Running,
    /// The program ended while it was under way.
    Interrupted,
}

impl Machine {
    /// Takes a key for a request, or says what became of it.
    pub fn claim(&self, keyed: &Keyed) -> Result<Claim, Fault> {
        let now = self.outside.now();
        self.store.change(|db| claim(db, keyed, now))
    }

    /// Keeps the answer.
    pub fn keep_answer(&self, keyed: &Keyed, answer: &KeptAnswer) -> Result<(), Fault> {
        let body = answer.body.as_ref().filter(|body| body.len() <= LONGEST);
        let sql = "UPDATE answers SET state = 'answered', status = ?3, body = ?4 WHERE who = ?1 AND key = ?2";
        self.store.change(|db| {
            db.execute(sql, params![keyed.who, keyed.key, answer.status, body])?;
            Ok(())
        })
    }

    /// Gives the key back: nothing was done, and it may be tried again.
    pub fn give_back(&self, keyed: &Keyed) -> Result<(), Fault> {
        self.store.change(|db| {
            db.execute("DELETE FROM answers WHERE who = ?1 AND key = ?2", params![keyed.who, keyed.key])?;
            Ok(())
        })
    }

    /// Nobody knows what came of the request.
    pub fn lose_answer(&self, keyed: &Keyed) -> Result<(), Fault> {
        let sql = "UPDATE answers SET state = 'lost' WHERE who = ?1 AND key = ?2";
        self.store.change(|db| {
            db.execute(sql, params![keyed.who, keyed.key])?;
            Ok(())
        })
    }

    /// The program begins: what was under way in the one before is not any more.
    pub(crate) fn lose_answers(&self) -> Result<(), Fault> {
        self.store.change(|db| {
            db.execute("UPDATE answers SET state = 'lost' WHERE state = 'running'", [])?;
            Ok(())
        })
    }
}

fn claim(db: &Transaction<'_>, keyed: &Keyed, now: i64) -> Result<Claim, Fault> {
    let Keyed { who, key, request } = keyed;
    // A clock that was put back a little is no reason to forget any.
    db.execute("DELETE FROM answers WHERE began <= ?1 OR began > ?2", [now - LASTS, now + LASTS])?;
    let sql = "SELECT request, state, status, body FROM answers WHERE who = ?1 AND key = ?2";
    let found = db.query_row(sql, params![who, key], known).optional()?;
    let Some(Known { request: known, state, status, body }) = found else {
        let sql = "INSERT INTO answers (who, key, request, began, state) VALUES (?1, ?2, ?3, ?4, 'running')";
        db.execute(sql, params![who, key, request, now])?;
        make_room(db, who)?;
        return Ok(Claim::New);
    };
    Ok(match (state.as_str(), status) {
        _ if known != *request => Claim::Taken,
        ("running", _) => Claim::Running,
        ("answered", Some(status)) => Claim::Answered(KeptAnswer { status, body }),
        _ => Claim::Interrupted,
    })
}

/// What is kept of a key.
struct Known {
    request: [u8; 32],
    state: String,
    status: Option<u16>,
    body: Option<Vec<u8>>,
}

fn known(row: &Row<'_>) -> rusqlite::Result<Known> {
    Ok(Known { request: row.get(0)?, state: row.get(1)?, status: row.get(2)?, body: row.get(3)? })
}

/// The oldest go where there are too many; the newest was put in just now.
fn make_room(db: &Transaction<'_>, who: &str) -> Result<(), Fault> {
    let of_one = "DELETE FROM answers WHERE nth IN
        (SELECT nth FROM answers WHERE who = ?1 ORDER BY nth DESC LIMIT -1 OFFSET ?2)";
    db.execute(of_one, params![who, OF_ONE])?;
    let of_all = "DELETE FROM answers WHERE nth IN
        (SELECT nth FROM answers ORDER BY nth DESC LIMIT -1 OFFSET ?1)";
    db.execute(of_all, [OF_ALL])?;
    Ok(())
}
