//! The audit log: who did what, from where, and how it ended.
//!
//! Invariants: a record is one line wherever it is shown: control characters, and characters that
//! turn the direction of text, are escaped when it is written. A text has 1 KiB at most. The log
//! has 200,000 records at most; the oldest go.

use rusqlite::{Row, params};

use crate::Machine;
use crate::fault::Fault;
use crate::schema::number;

const MOST_RECORDS: i64 = 200_000;
const LONGEST_TEXT: usize = 1_024;
/// Records of one answer.
const MOST_AT_ONCE: usize = 1_000;

/// By what a request was let in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// It was not, or did not have to be.
    Nobody,
    /// The Unix socket, whose peer has this number.
    Socket {
        uid: u32,
    },
    Session {
        id: u64,
    },
    Token {
        id: u64,
    },
}

/// Something that was asked, to be written down. It holds no secret: neither bodies nor codes.
pub struct AuditEntry<'a> {
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

/// A record of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditRecord {
    pub id: u64,
    pub time: i64,
    pub who: String,
    pub by: By,
    pub address: Option<String>,
    pub verb: String,
    pub path: String,
    pub target: Option<String>,
    pub status: u16,
}

/// Which records are asked for; what is `None` does not choose.
#[derive(Clone, Debug, Default)]
pub struct AuditFilter {
    pub user: Option<String>,
    pub verb: Option<String>,
}

impl Machine {
    /// Writes a record, durably.
    pub fn note(&self, entry: &AuditEntry<'_>) -> Result<(), Fault> {
        let (way, way_number) = match entry.by {
            By::Nobody => ("nobody", None),
            By::Socket { uid } => ("socket", Some(i64::from(uid))),
            // Ids come from SQLite, where they have 63 bits.
            By::Session { id } => ("session", Some(id.cast_signed())),
            By::Token { id } => ("token", Some(id.cast_signed())),
        };
        self.store.change(|db| {
            db.execute(
                "INSERT INTO audit (time, who, way, way_number, address, verb, path, target, status)
                    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
                params![
                    entry.time,
                    escaped(entry.who),
                    way,
                    way_number,
                    entry.address.map(escaped),
                    escaped(entry.verb),
                    escaped(entry.path),
                    entry.target.map(escaped),
                    entry.status
                ],
            )?;
            let newest = db.last_insert_rowid();
            db.execute("DELETE FROM audit WHERE id <= ?1", [newest - MOST_RECORDS])?;
            Ok(())
        })
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
        let sql = "SELECT id, time, who, way, way_number, address, verb, path, target, status FROM audit
            WHERE id < ?1 AND (?2 IS NULL OR who = ?2) AND (?3 IS NULL OR verb = ?3)
            ORDER BY id DESC LIMIT ?4";
        // What is sought is written as it was escaped.
        let (user, verb) = (filter.user.as_deref().map(escaped), filter.verb.as_deref().map(escaped));
        self.store.read(|db| {
            let mut found = db.prepare(sql)?;
            let records = found.query_map(params![before, user, verb, limit], record)?;
            Ok(records.collect::<Result<_, _>>()?)
        })
    }
}

fn record(row: &Row<'_>) -> rusqlite::Result<AuditRecord> {
    let way: String = row.get(3)?;
    let by = match way.as_str() {
        "nobody" => By::Nobody,
        "socket" => By::Socket { uid: row.get(4)? },
        "session" => By::Session { id: number(row, 4)? },
        "token" => By::Token { id: number(row, 4)? },
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

/// A text on one line, cut to its bound. A backslash is doubled, so nobody can write what looks
/// like an escape.
fn escaped(text: &str) -> String {
    let mut line = String::new();
    for c in text.chars() {
        let shown = match c {
            '\\' => "\\\\".to_owned(),
            _ if c.is_control() || is_turning(c) => c.escape_unicode().to_string(),
            _ => c.to_string(),
        };
        if line.len() + shown.len() > LONGEST_TEXT {
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
