//! What drill-downs of worksheets have found, where a pane is kept: rows of a minute for a day, of
//! an hour for a month, and of a day for a year, in a database of their own.
//!
//! ```text
//!   seconds of a drill-down ──add──▶ row of their minute   goes after a day
//!                                 ├▶ row of their hour     goes after 31 days
//!                                 └▶ row of their day      goes after 366 days
//! ```
//! Each row has the exact total of its time, and the heaviest keys as text: a file may be gone when
//! somebody reads the row a year later, so the row has the file's name of then. The rest of the
//! total is of other keys.
//!
//! Invariants: a row has [`KEYS`] keys at the most, of [`TEXT`] bytes together. There are
//! [`PANES`] panes at the most. So the file has a bound, some 10 MiB for each pane at the most.
//! What is added is there whole or not at all, whenever the program dies. A file that is damaged is
//! kept beside it, and costs what it had.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use api_types::{PANES_WATCHED, RequestSum};
use rusqlite::{Connection, OptionalExtension, Transaction, params};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::fault::Fault;
use crate::files;
use crate::history::Opened;

/// Panes that have rows at the most.
pub const PANES: usize = PANES_WATCHED;
/// Keys of a row at the most, and bytes of their text.
pub const KEYS: usize = 24;
pub const TEXT: usize = 3 << 10;
const DAY: u64 = 86_400;
/// Seconds of a row, and how long it is kept.
const STEPS: [(u64, u64); 3] = [(60, DAY), (3_600, 31 * DAY), (DAY, 366 * DAY)];
/// Rows that are read at once at the most.
const MOST: u64 = 1_500;
/// The log is cut to this length when it has been written back.
const LOG_BYTES: i64 = 1 << 20;

const TABLE: &str = "
CREATE TABLE IF NOT EXISTS rows (
    pane BLOB NOT NULL,
    seconds INTEGER NOT NULL,
    second INTEGER NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (pane, seconds, second)
) WITHOUT ROWID";

/// What requests of one key came to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// As a drill-down shows them, one for each dimension; and where those begin that are ranges.
    pub values: Vec<String>,
    pub begins: Vec<Option<u64>>,
    pub sum: RequestSum,
}

/// What came in a time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Row {
    /// When it begins, in seconds since 1970, and how long it is.
    pub second: u64,
    pub seconds: u64,
    pub total: RequestSum,
    /// The heaviest first.
    pub parts: Vec<Part>,
    /// Requests by bucket of latency.
    pub latencies: Vec<(u8, u64)>,
}

impl Row {
    /// Takes in what came in a part of its time.
    fn absorb(&mut self, more: &Row) {
        self.total.add(&more.total);
        for part in &more.parts {
            match self.parts.iter_mut().find(|known| known.values == part.values) {
                Some(known) => known.sum.add(&part.sum),
                None => self.parts.push(part.clone()),
            }
        }
        for (bucket, count) in &more.latencies {
            match self.latencies.iter_mut().find(|(known, _)| known == bucket) {
                Some((_, known)) => *known = known.saturating_add(*count),
                None => self.latencies.push((*bucket, *count)),
            }
        }
        let (mut left, mut text) = (KEYS, 0);
        self.parts.sort_by_key(|part| std::cmp::Reverse((part.sum.operations, part.sum.bytes)));
        self.parts.retain(|part| {
            let own: usize = part.values.iter().map(String::len).sum();
            let fits = left > 0 && text + own <= TEXT;
            (left, text) = if fits { (left - 1, text + own) } else { (left, text) };
            fits
        });
    }
}

/// See the module.
pub struct Findings {
    db: Mutex<Connection>,
}

/// By what rows of a pane are known: what is said of it, which no other says.
fn known(pane: &str) -> Vec<u8> {
    Sha256::digest(pane).to_vec()
}

fn connect(path: &Path) -> Result<Connection, Fault> {
    let db = Connection::open(path)?;
    db.pragma_update(None, "journal_mode", "WAL")?;
    // What the last minute found may be lost with the power.
    db.pragma_update(None, "synchronous", "NORMAL")?;
    db.pragma_update(None, "journal_size_limit", LOG_BYTES)?;
    db.execute_batch(TABLE)?;
    let told: String = db.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
    if told == "ok" { Ok(db) } else { Err(Fault::Damaged(told)) }
}

impl Findings {
    /// Opens the file, or begins one.
    pub fn open(path: &Path) -> Result<(Findings, Opened), Fault> {
        let was_there = files::exists(path)?;
        if !was_there {
            files::create(path)?;
        }
        let (db, opened) = match connect(path) {
            Ok(db) if was_there => (db, Opened::AsItWas),
            Ok(db) => (db, Opened::New),
            Err(Fault::Damaged(_) | Fault::Defect(_)) if was_there => {
                let kept = PathBuf::from(format!("{}.damaged", path.display()));
                files::install(path, &kept)?;
                files::create(path)?;
                (connect(path)?, Opened::Damaged { kept })
            }
            Err(fault) => return Err(fault),
        };
        Ok((Findings { db: Mutex::new(db) }, opened))
    }

    /// A panic under it was rolled back.
    fn db(&self) -> MutexGuard<'_, Connection> {
        self.db.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds what panes found since it was added last, each in rows of a minute at the most; and
    /// lets go what is too old, and what is of no pane any more: `all` are there.
    pub fn add(&self, now: u64, all: &[String], found: &[(String, Vec<Row>)]) -> Result<(), Fault> {
        let mut db = self.db();
        let change = db.transaction()?;
        for (pane, rows) in found {
            for (seconds, _) in STEPS {
                for row in rows_of(rows, seconds) {
                    put(&change, &known(pane), row)?;
                }
            }
        }
        for (seconds, kept) in STEPS {
            let oldest = now.saturating_sub(kept);
            change.execute(
                "DELETE FROM rows WHERE seconds = ?1 AND second < ?2",
                params![seconds as i64, oldest as i64],
            )?;
        }
        let there: Vec<Vec<u8>> = all.iter().take(PANES).map(|pane| known(pane)).collect();
        let kept: Vec<Vec<u8>> = {
            let mut listed = change.prepare("SELECT DISTINCT pane FROM rows")?;
            listed.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?
        };
        for pane in kept.iter().filter(|pane| !there.contains(pane)) {
            change.execute("DELETE FROM rows WHERE pane = ?1", [pane])?;
        }
        Ok(change.commit()?)
    }

    /// What a pane found from one time to another, oldest first, as fine as it is kept for that and
    /// makes no more than [`MOST`] rows.
    pub fn read(&self, pane: &str, (from, to): (u64, u64), now: u64) -> Result<Vec<Row>, Fault> {
        let fits = |(seconds, kept): &&(u64, u64)| {
            (to.saturating_sub(from)) / seconds < MOST && from.saturating_add(*kept) >= now
        };
        let (seconds, _) = STEPS.iter().find(fits).unwrap_or(&STEPS[STEPS.len() - 1]);
        let db = self.db();
        let sql = "SELECT body FROM rows WHERE pane = ?1 AND seconds = ?2 AND second > ?3 AND second < ?4
                   ORDER BY second LIMIT ?5";
        let mut found = db.prepare(sql)?;
        let after = i64::try_from(from).unwrap_or(i64::MAX).saturating_sub(*seconds as i64);
        let before = i64::try_from(to).unwrap_or(i64::MAX);
        let texts = found
            .query_map(params![known(pane), *seconds as i64, after, before, MOST as i64], |row| {
                row.get::<_, String>(0)
            })?
            .collect::<Result<Vec<_>, _>>()?;
        texts.iter().map(|text| decoded(text)).collect()
    }
}

fn decoded(text: &str) -> Result<Row, Fault> {
    serde_json::from_str(text).map_err(|error| Fault::Defect(error.to_string()))
}

/// The same in rows that are so many seconds long.
fn rows_of(rows: &[Row], seconds: u64) -> Vec<Row> {
    let mut longer: BTreeMap<u64, Row> = BTreeMap::new();
    for row in rows {
        let second = row.second / seconds * seconds;
        longer.entry(second).or_insert_with(|| Row { second, seconds, ..Row::default() }).absorb(row);
    }
    longer.into_values().collect()
}

/// Adds a row to what is there of its time.
fn put(change: &Transaction<'_>, pane: &[u8], mut row: Row) -> Result<(), Fault> {
    let (seconds, second) = (row.seconds as i64, row.second as i64);
    let sql = "SELECT body FROM rows WHERE pane = ?1 AND seconds = ?2 AND second = ?3";
    let read = |row: &rusqlite::Row<'_>| row.get::<_, String>(0);
    let before = change.query_row(sql, params![pane, seconds, second], read).optional()?;
    if let Some(text) = before {
        row.absorb(&decoded(&text)?);
    }
    let text = serde_json::to_string(&row).map_err(|error| Fault::Defect(error.to_string()))?;
    let sql = "INSERT OR REPLACE INTO rows (pane, seconds, second, body) VALUES (?1, ?2, ?3, ?4)";
    change.execute(sql, params![pane, seconds, second, text])?;
    Ok(())
}

#[cfg(test)]
mod tests;
