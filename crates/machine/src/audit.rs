//! The audit log: who did what, from where, and how it ended.
//!
//! Invariants: a record is one line wherever it is shown: control characters, and characters that
//! turn the direction of text, are escaped when it is written. Each text has a bound. Each kind of
//! records ([`Weight`]) has a bound of its own, after which the oldest of this kind go: so nobody
//! pushes out what somebody above him did, and refusals push out nothing that was done.

use api_types::{AuditRecord, By};
use rusqlite::{Row, Transaction, params};

use crate::Machine;
use crate::fault::Fault;
use crate::schema::number;

/// Bytes, as they are written: of the name of a user, of a method, of a path, and of what it was
/// done to (two names at most).
const LONGEST_NAME: usize = 64;
const LONGEST_VERB: usize = 32;
const LONGEST_PATH: usize = 1_024;
const LONGEST_TARGET: usize = 512;
/// Records of one answer.
const MOST_AT_ONCE: usize = 1_000;

/// How much a record weighs: records are pushed out by those of the same weight alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weight {
    /// An administrator did something.
    Administrator,
    Operator,
    /// Somebody else did something.
    Guest,
    /// Another appliance did.
    Peer,
    /// Nothing was done, whoever asked.
    Refused,
}

impl Weight {
    /// As it is kept, and how many records of it are.
    fn kept(self) -> (i64, i64) {
        match self {
            Weight::Administrator => (0, 100_000),
            Weight::Operator => (1, 50_000),
            Weight::Guest => (2, 25_000),
            Weight::Refused => (3, 25_000),
            Weight::Peer => (4, 25_000),
        }
    }
}

/// Something that was asked, to be written down. It holds no secret: neither bodies nor codes.
pub struct AuditEntry<'a> {
    pub weight: Weight,
    /// When it was answered, in seconds since 1970.
    pub time: i64,
    /// The user, or the name that was tried.
    pub who: &'a str,
    pub by: By,
    /// `None` for the Unix socket.
    pub address: Option<&'a str>,
    pub verb: &'a str,
    pub path: &'a str,
    /// What it was done to, where the path does not say it.
    pub target: Option<&'a str>,
    /// Of the answer, as HTTP has it.
    pub status: u16,
}

/// Which records are asked for; what is `None` does not choose.
#[derive(Clone, Debug, Default)]
pub struct AuditFilter {
    pub user: Option<String>,
    pub verb: Option<String>,
}

impl Machine {
    /// Writes records, durably: all of them, or none where it fails.
    pub fn note(&self, entries: &[AuditEntry<'_>]) -> Result<(), Fault> {
        self.store.change(|db| entries.iter().try_for_each(|entry| insert(db, entry)))
    }

    /// Records with ids below `before`, the newest first; 1,000 at most. The id of the last one is
    /// the next `before`.
    pub fn audit(
        &self,
        before: Option<u64>,
        limit: usize,
        filter: &AuditFilter,
    ) -> Result<Vec<AuditRecord>, Fault> {
        // No id is above.
        let before = before.map_or(i64::MAX, |id| i64::try_from(id).unwrap_or(i64::MAX));
        let limit = i64::try_from(limit.min(MOST_AT_ONCE)).expect("it is small");
        // Said so that the index of names is used.
        let of_user = if filter.user.is_some() { "who = ?2" } else { "?2 IS NULL" };
        let sql = format!(
            "SELECT id, time, who, way, way_number, address, verb, path, target, status FROM audit
                WHERE id < ?1 AND {of_user} AND (?3 IS NULL OR verb = ?3) ORDER BY id DESC LIMIT ?4"
        );
        // What is sought is written as it was escaped.
        let user = filter.user.as_deref().map(|user| escaped(user, LONGEST_NAME));
        let verb = filter.verb.as_deref().map(|verb| escaped(verb, LONGEST_VERB));
        self.store.look(|db| {
            let mut found = db.prepare(&sql)?;
            let records = found.query_map(params![before, user, verb, limit], record)?;
            Ok(records.collect::<Result<_, _>>()?)
        })
    }
}

fn insert(db: &Transaction<'_>, entry: &AuditEntry<'_>) -> Result<(), Fault> {
    let (way, way_number) = match entry.by {
        By::Nobody => ("nobody", None),
        By::Socket { uid } => ("socket", Some(i64::from(uid))),
        // Ids come from SQLite, where they have 63 bits.
        By::Session { id } => ("session", Some(id.cast_signed())),
        By::Token { id } => ("token", Some(id.cast_signed())),
        By::Peer => ("peer", None),
    };
    let (weight, most) = entry.weight.kept();
    let sql = "SELECT coalesce(max(nth), 0) + 1 FROM audit WHERE weight = ?1";
    let nth: i64 = db.query_row(sql, [weight], |row| row.get(0))?;
    db.execute(
        "INSERT INTO audit
            (weight, nth, time, who, way, way_number, address, verb, path, target, status)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
        params![
            weight,
            nth,
            entry.time,
            escaped(entry.who, LONGEST_NAME),
            way,
            way_number,
            entry.address.map(|address| escaped(address, LONGEST_NAME)),
            escaped(entry.verb, LONGEST_VERB),
            escaped(entry.path, LONGEST_PATH),
            entry.target.map(|target| escaped(target, LONGEST_TARGET)),
            entry.status
        ],
    )?;
    db.execute("DELETE FROM audit WHERE weight = ?1 AND nth <= ?2", [weight, nth - most])?;
    Ok(())
}

fn record(row: &Row<'_>) -> rusqlite::Result<AuditRecord> {
    let way: String = row.get(3)?;
    let by = match way.as_str() {
        "nobody" => By::Nobody,
        "socket" => By::Socket { uid: row.get(4)? },
        "session" => By::Session { id: number(row, 4)? },
        "token" => By::Token { id: number(row, 4)? },
        "peer" => By::Peer,
        _ => return Err(rusqlite::Error::InvalidColumnType(3, way, rusqlite::types::Type::Text)),
    };
    Ok(AuditRecord {
        id: number(row, 0)?,
        time: row.get(1)?,
        who: row.get(2)?,
        by,
        address: row.get(5)?,
        verb: row.get(6)?,
        path: row.get(7)?,
        target: row.get(8)?,
        status: row.get(9)?,
    })
}

/// A text on one line, of so many bytes at most. A backslash is doubled, so nobody can write what
/// looks like an escape.
fn escaped(text: &str, longest: usize) -> String {
    let mut line = String::new();
    for c in text.chars() {
        let shown = match c {
            '\\' => "\\\\".to_owned(),
            _ if c.is_control() || is_turning(c) => c.escape_unicode().to_string(),
            _ => c.to_string(),
        };
        if line.len() + shown.len() > longest {
            break;
        }
        line.push_str(&shown);
    }
    line
}

/// Separators of lines and paragraphs, and what changes the direction of text (Unicode UAX 9).
fn is_turning(c: char) -> bool {
    matches!(c, '\u{2028}' | '\u{2029}' | '\u{200e}' | '\u{200f}' | '\u{61c}')
        || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests;
