//! Routes that alerts are told by, with the secrets that they take.
//!
//! Invariant: there are at most [`MOST`].

use api_types::{RouteTarget, Severity};
use rusqlite::types::Type;
use rusqlite::{OptionalExtension, Row, params};

use crate::Machine;
use crate::fault::{Denied, Fault, Limit, NameFault};

/// Each has a lane, and sends by a thread of its own.
const MOST: i64 = 32;
/// Bytes.
const LONGEST_NAME: usize = 64;

/// A route, all of it.
#[derive(Clone, PartialEq, Eq)]
pub struct Route {
    pub name: String,
    pub target: RouteTarget,
    pub least: Severity,
    pub disabled: bool,
    pub secret: Option<String>,
}

const SELECT: &str = "SELECT name, target, least, disabled, secret FROM routes";

impl Machine {
    /// In the order of names.
    pub fn routes(&self) -> Result<Vec<Route>, Fault> {
        self.store.read(|db| {
            let mut found = db.prepare(&format!("{SELECT} ORDER BY name"))?;
            let rows = found.query_map([], route)?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
    }

    pub fn route(&self, name: &str) -> Result<Option<Route>, Fault> {
        let sql = format!("{SELECT} WHERE name = ?1");
        self.store.read(|db| Ok(db.query_row(&sql, [name], route).optional()?))
    }

    /// Refused where there is one of this name, or there are too many.
    pub fn add_route(&self, new: &Route) -> Result<(), Denied> {
        check_name(&new.name)?;
        self.store.change_accounts(|db| {
            let sql = "SELECT count(*), coalesce(max(name = ?1), 0) FROM routes";
            let (count, is_taken): (i64, bool) =
                db.query_row(sql, [&new.name], |row| Ok((row.get(0)?, row.get(1)?)))?;
            match (is_taken, count >= MOST) {
                (true, _) => return Err(Denied::Exists),
                (false, true) => return Err(Denied::TooMany(Limit::Routes)),
                (false, false) => {}
            }
            db.execute(
                "INSERT INTO routes (name, target, least, disabled, secret) VALUES (?1, ?2, ?3, ?4, ?5)",
                params![new.name, target(new)?, new.least.word(), new.disabled, new.secret],
            )?;
            Ok(())
        })
    }

    /// Sets all of one that is there.
    pub fn change_route(&self, route: &Route) -> Result<(), Denied> {
        self.store.change_accounts(|db| {
            let changed = db.execute(
                "UPDATE routes SET target = ?2, least = ?3, disabled = ?4, secret = ?5 WHERE name = ?1",
                params![route.name, target(route)?, route.least.word(), route.disabled, route.secret],
            )?;
            if changed == 0 { Err(Denied::NotFound) } else { Ok(()) }
        })
    }

    /// With its notes.
    pub fn remove_route(&self, name: &str) -> Result<(), Denied> {
        self.store.change_accounts(|db| match db.execute("DELETE FROM routes WHERE name = ?1", [name])? {
            0 => Err(Denied::NotFound),
            _ => Ok(()),
        })
    }
}

fn check_name(name: &str) -> Result<(), NameFault> {
    match name {
        "" => Err(NameFault::Empty),
        name if name.len() > LONGEST_NAME => Err(NameFault::TooLong),
        name if !name.bytes().all(|it| it.is_ascii_alphanumeric() || b"-_.".contains(&it)) => {
            Err(NameFault::BadCharacter)
        }
        _ => Ok(()),
    }
}

fn target(route: &Route) -> Result<String, Fault> {
    serde_json::to_string(&route.target).map_err(|error| Fault::Defect(error.to_string()))
}

fn route(row: &Row<'_>) -> rusqlite::Result<Route> {
    let (target, least): (String, String) = (row.get(1)?, row.get(2)?);
    let unread = |error| rusqlite::Error::FromSqlConversionFailure(1, Type::Text, Box::new(error));
    Ok(Route {
        name: row.get(0)?,
        target: serde_json::from_str(&target).map_err(unread)?,
        least: Severity::of_word(&least).ok_or(rusqlite::Error::InvalidColumnType(2, least, Type::Text))?,
        disabled: row.get(3)?,
        secret: row.get(4)?,
    })
}
