//! Services that look after the data: how they are set, what became of them, and what they did
//! last.
//!
//! What a service is, its crate knows: here it is text that is kept and given back. A service and
//! the lines of its log are written in one transaction, so after a crash neither tells what the
//! other does not.
//!
//! Invariants: there are at most [`MOST_SERVICES`], and of each the newest [`LINES`] lines.

use rusqlite::{Connection, OptionalExtension, params};

use crate::Machine;
use crate::fault::Fault;

/// Services at a time.
const MOST_SERVICES: i64 = 256;
/// Lines of a service's log.
const LINES: i64 = 256;

/// A service, as text of whoever runs it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptService {
    pub id: String,
    /// What it is and how it stands.
    pub instance: String,
    /// What it remembers of its work.
    pub memory: String,
}

impl Machine {
    /// All services, by id.
    pub fn services(&self) -> Result<Vec<KeptService>, Fault> {
        self.store.read(|db| {
            let mut found = db.prepare("SELECT id, instance, memory FROM services ORDER BY id")?;
            let rows = found.query_map([], |row| {
                Ok(KeptService { id: row.get(0)?, instance: row.get(1)?, memory: row.get(2)? })
            })?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
    }

    /// Keeps what an administrator has changed, with what the log is to say of it. `false`: there
    /// are too many services already.
    pub fn set_service(&self, kept: &KeptService, lines: &[String]) -> Result<bool, Fault> {
        self.store.change_accounts(|db| {
            let others: i64 =
                db.query_row("SELECT count(*) FROM services WHERE id <> ?1", [&kept.id], |row| row.get(0))?;
            if others >= MOST_SERVICES {
                return Ok(false);
            }
            db.execute(
                "INSERT INTO services (id, changes, instance, memory) VALUES (?1, 1, ?2, ?3)
                    ON CONFLICT (id) DO UPDATE SET changes = changes + 1, instance = ?2, memory = ?3",
                params![kept.id, kept.instance, kept.memory],
            )?;
            add(db, &kept.id, lines)?;
            Ok(true)
        })
    }

    /// Keeps how a service stands now, with new lines of its log; nothing where it was removed.
    pub fn note_service(&self, kept: &KeptService, lines: &[String]) -> Result<(), Fault> {
        self.store.change(|db| {
            let there = db.execute(
                "UPDATE services SET instance = ?2, memory = ?3 WHERE id = ?1",
                params![kept.id, kept.instance, kept.memory],
            )?;
            if there > 0 { add(db, &kept.id, lines) } else { Ok(()) }
        })
    }

    /// Forgets a service with its log. Whether there was one.
    pub fn remove_service(&self, id: &str) -> Result<bool, Fault> {
        self.store.change_accounts(|db| {
            db.execute("DELETE FROM service_log WHERE service = ?1", [id])?;
            Ok(db.execute("DELETE FROM services WHERE id = ?1", [id])? > 0)
        })
    }

    /// The newest lines of a service's log, oldest first.
    pub fn service_log(&self, id: &str) -> Result<Vec<String>, Fault> {
        self.store.read(|db| {
            let mut found = db.prepare("SELECT line FROM service_log WHERE service = ?1 ORDER BY nth")?;
            let rows = found.query_map([id], |row| row.get(0))?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
    }

    /// What time it was believed to be.
    pub fn service_clock(&self) -> Result<Option<String>, Fault> {
        let sql = "SELECT clock FROM service_clock";
        self.store.read(|db| Ok(db.query_row(sql, [], |row| row.get(0)).optional()?))
    }

    /// Keeps what time it is believed to be.
    pub fn note_service_clock(&self, clock: &str) -> Result<(), Fault> {
        self.store.change(|db| {
            db.execute(
                "INSERT INTO service_clock (one, clock) VALUES (1, ?1)
                    ON CONFLICT (one) DO UPDATE SET clock = ?1",
                [clock],
            )?;
            Ok(())
        })
    }
}

/// Adds lines to a service's log. The oldest go.
fn add(db: &Connection, id: &str, lines: &[String]) -> Result<(), Fault> {
    for line in lines {
        db.execute(
            "INSERT INTO service_log (service, nth, line)
                SELECT ?1, coalesce(max(nth), 0) + 1, ?2 FROM service_log WHERE service = ?1",
            params![id, line],
        )?;
    }
    db.execute(
        "DELETE FROM service_log WHERE service = ?1
            AND nth <= (SELECT max(nth) FROM service_log WHERE service = ?1) - ?2",
        params![id, LINES],
    )?;
    Ok(())
}
