//! Alerts as they are kept: those that are open, the last that are over, and notes of what a route
//! is still to be told.
//!
//! An alert is kept as the API tells it, words included: so one of a kind that is no more can still
//! be read.
//!
//! Invariants: a turn of an alert and the notes of it are one change. Of alerts that are over, the
//! newest [`MOST_OVER`] stay.

use api_types::{Alert, AlertSettings, AlertTurn, Severity};
use rusqlite::{Connection, OptionalExtension, Row, Transaction, params};

use crate::Machine;
use crate::fault::Fault;
use crate::schema::number;

/// Alerts that are kept when they are over.
const MOST_OVER: i64 = 10_000;
/// The name of [`AlertSettings`] among settings.
const SETTINGS: &str = "alerts";
/// The name of what is kept of the weekly report.
const REPORT: &str = "report";

/// What has become of an alert, and the routes that are to be told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AlertTurned {
    pub key: String,
    pub turn: AlertTurn,
    pub alert: Alert,
    pub routes: Vec<String>,
}

/// A note: what a route is still to be told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptNote {
    pub row: u64,
    pub route: String,
    pub key: String,
    pub turn: AlertTurn,
    pub alert: Alert,
}

/// A part of the list of alerts, the newest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AlertPage {
    pub alerts: Vec<Alert>,
    /// There may be more behind the last one.
    pub is_more: bool,
}

impl Machine {
    /// Those that are open, with their keys, and the number of the next alert.
    pub fn open_alerts(&self) -> Result<(Vec<(String, Alert)>, u64), Fault> {
        self.store.read(|db| {
            let mut found = db.prepare("SELECT key, body FROM alerts WHERE is_open = 1 ORDER BY id")?;
            let rows = found.query_map([], |row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?)))?;
            let mut open = Vec::new();
            for row in rows {
                let (key, body) = row?;
                open.push((key, read(&body)?));
            }
            let sql = "SELECT coalesce(max(id), 0) + 1 FROM alerts";
            let next = db.query_row(sql, [], |row| number(row, 0))?;
            Ok((open, next))
        })
    }

    /// Keeps turns and their notes. Gives the rows of the notes: for each turn, for each route in
    /// the order given; `None` where there is no such route.
    pub fn keep_turns(&self, turns: &[AlertTurned]) -> Result<Vec<Vec<Option<u64>>>, Fault> {
        self.store.change(|db| turns.iter().map(|turned| keep(db, turned)).collect())
    }

    /// Keeps alerts as they are now: how often and when they were seen, and by whom.
    pub fn keep_alerts(&self, alerts: &[(String, Alert)]) -> Result<(), Fault> {
        self.store.change(|db| {
            for (key, alert) in alerts {
                put(db, key, alert)?;
            }
            Ok(())
        })
    }

    /// Alerts with lower numbers than `before`, as many as `limit`; all, or those that are open.
    pub fn alerts(
        &self,
        all: bool,
        least: Severity,
        before: Option<u64>,
        limit: usize,
    ) -> Result<AlertPage, Fault> {
        let before = before.and_then(|id| i64::try_from(id).ok()).unwrap_or(i64::MAX);
        let most = i64::try_from(limit).unwrap_or(i64::MAX);
        self.store.look(|db| {
            let mut found = db.prepare(
                "SELECT body FROM alerts WHERE id < ?1 AND severity >= ?2 AND (?3 OR is_open = 1)
                    ORDER BY id DESC LIMIT ?4",
            )?;
            let rows =
                found.query_map(params![before, rank(least), all, most], |row| row.get::<_, String>(0))?;
            let mut alerts = Vec::new();
            for body in rows {
                alerts.push(read(&body?)?);
            }
            let is_more = alerts.len() == limit;
            Ok(AlertPage { alerts, is_more })
        })
    }

    /// `None`: there is none of this number, or no more.
    pub fn alert(&self, id: u64) -> Result<Option<Alert>, Fault> {
        let Ok(id) = i64::try_from(id) else { return Ok(None) };
        let body: Option<String> = self.store.read(|db| {
            let sql = "SELECT body FROM alerts WHERE id = ?1";
            db.query_row(sql, [id], |row| row.get(0)).optional().map_err(Fault::from)
        })?;
        body.map(|body| read(&body)).transpose()
    }

    /// All notes, in the order in which they came.
    pub fn notes(&self) -> Result<Vec<KeptNote>, Fault> {
        self.store.read(|db| {
            let mut found = db.prepare("SELECT id, route, turn, key, body FROM notes ORDER BY id")?;
            let rows = found.query_map([], raw)?;
            let mut notes = Vec::new();
            for row in rows {
                let (row, route, turn, key, body) = row?;
                let turn = AlertTurn::of_word(&turn)
                    .ok_or_else(|| Fault::Damaged(format!("'{turn}' is no turn of an alert")))?;
                notes.push(KeptNote { row, route, key, turn, alert: read(&body)? });
            }
            Ok(notes)
        })
    }

    /// These have arrived.
    pub fn drop_notes(&self, rows: &[u64]) -> Result<(), Fault> {
        self.store.change(|db| {
            let mut gone = db.prepare("DELETE FROM notes WHERE id = ?1")?;
            for row in rows.iter().filter_map(|row| i64::try_from(*row).ok()) {
                gone.execute([row])?;
            }
            Ok(())
        })
    }

    /// From where on something is an alert.
    pub fn alert_settings(&self) -> Result<AlertSettings, Fault> {
        let value = self.store.read(|db| setting(db, SETTINGS))?;
        value.map_or_else(|| Ok(AlertSettings::default()), |value| read(&value))
    }

    pub fn set_alert_settings(&self, settings: &AlertSettings) -> Result<(), Fault> {
        let value = written(settings)?;
        self.store.change_accounts(|db| set(db, SETTINGS, &value))
    }

    /// What is kept of the weekly report: text of whoever sends it.
    pub fn report_kept(&self) -> Result<Option<String>, Fault> {
        self.store.read(|db| setting(db, REPORT))
    }

    pub fn keep_report(&self, kept: &str) -> Result<(), Fault> {
        self.store.change(|db| set(db, REPORT, kept))
    }
}

fn setting(db: &Connection, name: &str) -> Result<Option<String>, Fault> {
    let sql = "SELECT value FROM settings WHERE name = ?1";
    db.query_row(sql, [name], |row| row.get(0)).optional().map_err(Fault::from)
}

fn set(db: &Transaction<'_>, name: &str, value: &str) -> Result<(), Fault> {
    let sql = "INSERT INTO settings (name, value) VALUES (?1, ?2)
        ON CONFLICT (name) DO UPDATE SET value = excluded.value";
    db.execute(sql, [name, value])?;
    Ok(())
}

type Raw = (u64, String, String, String, String);

fn raw(row: &Row<'_>) -> rusqlite::Result<Raw> {
    Ok((number(row, 0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?))
}

fn keep(db: &Transaction<'_>, turned: &AlertTurned) -> Result<Vec<Option<u64>>, Fault> {
    put(db, &turned.key, &turned.alert)?;
    let body = written(&turned.alert)?;
    let note = |route: &String| {
        let is_there =
            db.query_row("SELECT 1 FROM routes WHERE name = ?1", [route], |_| Ok(())).optional()?;
        if is_there.is_none() {
            return Ok(None);
        }
        let sql = "INSERT INTO notes (route, turn, key, body) VALUES (?1, ?2, ?3, ?4)";
        db.execute(sql, params![route, turned.turn.word(), turned.key, body])?;
        Ok(u64::try_from(db.last_insert_rowid()).ok())
    };
    turned.routes.iter().map(note).collect()
}

fn put(db: &Transaction<'_>, key: &str, alert: &Alert) -> Result<(), Fault> {
    let id = i64::try_from(alert.id).map_err(|_| Fault::Defect("an alert's number is too high".into()))?;
    let is_open = alert.cleared.is_none();
    db.execute(
        "INSERT INTO alerts (id, key, severity, is_open, body) VALUES (?1, ?2, ?3, ?4, ?5)
            ON CONFLICT (id) DO UPDATE SET severity = excluded.severity, is_open = excluded.is_open,
                body = excluded.body",
        params![id, key, rank(alert.severity), is_open, written(alert)?],
    )?;
    if !is_open {
        db.execute(
            "DELETE FROM alerts WHERE is_open = 0 AND id <=
                (SELECT id FROM alerts WHERE is_open = 0 ORDER BY id DESC LIMIT 1 OFFSET ?1)",
            [MOST_OVER],
        )?;
    }
    Ok(())
}

fn rank(severity: Severity) -> i64 {
    match severity {
        Severity::Warning => 0,
        Severity::Error => 1,
        Severity::Critical => 2,
    }
}

fn read<T: serde::de::DeserializeOwned>(body: &str) -> Result<T, Fault> {
    serde_json::from_str(body).map_err(|error| Fault::Damaged(error.to_string()))
}

fn written<T: serde::Serialize>(value: &T) -> Result<String, Fault> {
    serde_json::to_string(value).map_err(|error| Fault::Defect(error.to_string()))
}
