//! Sessions of people: begun by a login, ended by a logout or by time.
//!
//! Invariants: a session ends after 30 minutes without a request, and after 12 hours at most. A
//! user has 50 at most; the oldest ends. A session of a user who is disabled or gone lets nobody
//! in.

use std::net::IpAddr;

use api_types::UserSession;
use rusqlite::{Connection, OptionalExtension, params};

use crate::fault::{Denied, Fault};
use crate::identity::{Credential, Identity};
use crate::schema::{number, role};
use crate::{Machine, Outside, secret};

const KIND: &str = "session";
const MOST_OF_USER: i64 = 50;
/// Seconds.
const IDLE: i64 = 30 * 60;
const LONGEST: i64 = 12 * 60 * 60;
/// A use is written down when the last one is older: each is a flush of the disk.
const NOTED_AFTER: i64 = 60;
/// How far in the future a session may have begun: a clock is corrected by that much and not more.
const SLACK: i64 = 60;

impl Machine {
    /// Whose session a secret is; `None` for none that lasts.
    pub fn session(&self, secret: &str) -> Result<Option<Identity>, Fault> {
        let Some((id, given)) = secret::split(KIND, secret) else { return Ok(None) };
        let now = self.outside.now();
        let sql = "SELECT s.hash, s.created, s.seen, s.id, u.name, u.uid, u.role FROM sessions s
            JOIN users u ON u.id = s.user WHERE s.id = ?1 AND u.disabled = 0";
        let found: Option<(secret::Hash, i64, i64, Identity)> = self.store.read(|db| {
            let row = db.query_row(sql, [id], |row| {
                let by = Credential::Session { id: number(row, 3)?, csrf: secret::csrf(given) };
                let identity =
                    Identity { user: row.get(4)?, uid: row.get(5)?, role: role(row, 6)?, by, dataset: None };
                Ok((row.get(0)?, row.get(1)?, row.get(2)?, identity))
            });
            row.optional().map_err(Fault::from)
        })?;
        let Some((hash, created, seen, identity)) = found else { return Ok(None) };
        if !secret::equal(&secret::hash(given), &hash) || !lasts(created, seen, now) {
            return Ok(None);
        }
        if now.saturating_sub(seen).saturating_abs() >= NOTED_AFTER {
            let noted: Result<usize, Fault> = self.store.change(|db| {
                let sql = "UPDATE sessions SET seen = ?2 WHERE id = ?1";
                db.execute(sql, [id, now]).map_err(Fault::from)
            });
            // Whatever its disk does, people and programs can still look.
            if let Err(fault) = noted {
                tracing::warn!(%fault, "the use of a session was not noted");
            }
        }
        Ok(Some(identity))
    }

    /// Whose session a number is, for a shell that was opened in it; `None` for none that lasts. It
    /// lasts no longer by being asked about.
    pub fn of_shell(&self, session: u64) -> Result<Option<Identity>, Fault> {
        let Ok(id) = i64::try_from(session) else { return Ok(None) }; // No session has such an id.
        let now = self.outside.now();
        let sql = "SELECT s.created, s.seen, u.name, u.uid, u.role FROM sessions s
            JOIN users u ON u.id = s.user WHERE s.id = ?1 AND u.disabled = 0";
        let found: Option<(i64, i64, Identity)> = self.store.read(|db| {
            let row = db.query_row(sql, [id], |row| {
                let by = Credential::Shell { session };
                let (user, uid, role) = (row.get(2)?, row.get(3)?, role(row, 4)?);
                Ok((row.get(0)?, row.get(1)?, Identity { user, uid, role, by, dataset: None }))
            });
            row.optional().map_err(Fault::from)
        })?;
        Ok(found.filter(|(created, seen, _)| lasts(*created, *seen, now)).map(|(_, _, identity)| identity))
    }

    /// Ends a session. One that has ended is fine.
    pub fn log_out(&self, session: u64) -> Result<(), Fault> {
        let Ok(id) = i64::try_from(session) else { return Ok(()) }; // No session has such an id.
        self.store.change(|db| {
            db.execute("DELETE FROM sessions WHERE id = ?1", [id])?;
            Ok(())
        })
    }

    /// The sessions that last, of one user or of all, the newest first.
    pub fn sessions(&self, user: Option<&str>) -> Result<Vec<UserSession>, Fault> {
        let now = self.outside.now();
        let sql = "SELECT s.id, u.name, s.address, s.created, s.seen FROM sessions s
            JOIN users u ON u.id = s.user WHERE u.disabled = 0 AND (?1 IS NULL OR u.name = ?1)
            ORDER BY s.id DESC";
        self.store.read(|db| {
            let mut found = db.prepare(sql)?;
            let rows = found.query_map([user], |row| {
                Ok(UserSession {
                    id: number(row, 0)?,
                    user: row.get(1)?,
                    address: row.get(2)?,
                    created: row.get(3)?,
                    seen: row.get(4)?,
                })
            })?;
            let mut sessions = rows.collect::<Result<Vec<_>, _>>()?;
            sessions.retain(|session| lasts(session.created, session.seen, now));
            Ok(sessions)
        })
    }
}

fn lasts(created: i64, seen: i64, now: i64) -> bool {
    (created.saturating_sub(SLACK)..created.saturating_add(LONGEST)).contains(&now)
        && now < seen.saturating_add(IDLE)
}

/// Begins a session of a user who was let in. Gives its secret.
pub(crate) fn begin(
    db: &Connection,
    user: i64,
    address: IpAddr,
    now: i64,
    outside: &dyn Outside,
) -> Result<(String, Credential), Denied> {
    // One that begins in the future would come alive then.
    let (idle, old, future) = (now - IDLE, now - LONGEST, now + SLACK);
    let sql = "DELETE FROM sessions WHERE seen <= ?1 OR created <= ?2 OR created > ?3";
    db.execute(sql, [idle, old, future])?;
    db.execute(
        "DELETE FROM sessions WHERE user = ?1 AND id NOT IN
            (SELECT id FROM sessions WHERE user = ?1 ORDER BY id DESC LIMIT ?2)",
        [user, MOST_OF_USER - 1],
    )?;
    let random = secret::random(outside);
    db.execute(
        "INSERT INTO sessions (user, hash, address, created, seen) VALUES (?1, ?2, ?3, ?4, ?4)",
        params![user, secret::hash(&random), address.to_string(), now],
    )?;
    let id = db.last_insert_rowid();
    let by = Credential::Session { id: id.unsigned_abs(), csrf: secret::csrf(&random) };
    Ok((secret::join(KIND, id, &random), by))
}
