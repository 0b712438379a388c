//! Worksheets: panes of analytics under a name, which all who may see them share.
//!
//! Invariants: there are at most [`MOST`], each of at most [`LONGEST`] bytes, and of all their
//! panes at most [`PANES_WATCHED`] have an alert or are kept, for the drill-downs of these always
//! run. A name is any text that an address can name: no control character is in it, and it is not
//! of dots alone.

use api_types::{PANES_WATCHED, WORKSHEET_NAME, WORKSHEET_PANES, Worksheet};
use rusqlite::types::Type;
use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::Machine;
use crate::fault::{Denied, Fault, Limit, NameFault};
use crate::schema::number;

const MOST: i64 = 64;
/// Bytes of its panes.
const LONGEST: usize = 16 << 10;

const SELECT: &str = "SELECT name, panes, changed, changed_by FROM worksheets";

impl Machine {
    /// In the order of names.
    pub fn worksheets(&self) -> Result<Vec<Worksheet>, Fault> {
        self.store.read(all)
    }

    pub fn worksheet(&self, name: &str) -> Result<Worksheet, Denied> {
        let sql = format!("{SELECT} WHERE name = ?1");
        self.store.read(|db| db.query_row(&sql, [name], worksheet).optional()?.ok_or(Denied::NotFound))
    }

    /// Refused where there is one of this name, or there are too many.
    pub fn add_worksheet(&self, new: &Worksheet) -> Result<(), Denied> {
        check_name(&new.name)?;
        let panes = panes(new)?;
        self.store.change_accounts(|db| {
            let sql = "SELECT count(*), coalesce(max(name = ?1), 0) FROM worksheets";
            let (count, is_taken): (i64, bool) =
                db.query_row(sql, [&new.name], |row| Ok((row.get(0)?, row.get(1)?)))?;
            match (is_taken, count >= MOST) {
                (true, _) => return Err(Denied::Exists),
                (false, true) => return Err(Denied::TooMany(Limit::Worksheets)),
                (false, false) => {}
            }
            check_watched(db, new)?;
            db.execute(
                "INSERT INTO worksheets (name, panes, changed, changed_by) VALUES (?1, ?2, ?3, ?4)",
                params![new.name, panes, new.changed as i64, new.by],
            )?;
            Ok(())
        })
    }

    /// Sets all of one that is there.
    pub fn change_worksheet(&self, worksheet: &Worksheet) -> Result<(), Denied> {
        let panes = panes(worksheet)?;
        self.store.change_accounts(|db| {
            check_watched(db, worksheet)?;
            let changed = db.execute(
                "UPDATE worksheets SET panes = ?2, changed = ?3, changed_by = ?4 WHERE name = ?1",
                params![worksheet.name, panes, worksheet.changed as i64, worksheet.by],
            )?;
            if changed == 0 { Err(Denied::NotFound) } else { Ok(()) }
        })
    }

    pub fn remove_worksheet(&self, name: &str) -> Result<(), Denied> {
        self.store.change_accounts(|db| {
            match db.execute("DELETE FROM worksheets WHERE name = ?1", [name])? {
                0 => Err(Denied::NotFound),
                _ => Ok(()),
            }
        })
    }
}

fn all(db: &Connection) -> Result<Vec<Worksheet>, Fault> {
    let mut found = db.prepare(&format!("{SELECT} ORDER BY name"))?;
    let rows = found.query_map([], worksheet)?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Refuses panes that always run where they are too many with those of the other worksheets.
fn check_watched(db: &Connection, new: &Worksheet) -> Result<(), Denied> {
    let watched = |one: &Worksheet| one.panes.iter().filter(|pane| pane.is_watched()).count();
    let others = all(db)?.iter().filter(|one| one.name != new.name).map(watched).sum::<usize>();
    match watched(new) == 0 || others + watched(new) <= PANES_WATCHED {
        true => Ok(()),
        false => Err(Denied::TooMany(Limit::PanesWatched)),
    }
}

fn check_name(name: &str) -> Result<(), NameFault> {
    match name {
        name if name.trim().is_empty() => Err(NameFault::Empty),
        name if name.len() > WORKSHEET_NAME => Err(NameFault::TooLong),
        name if name.chars().any(char::is_control) || name.chars().all(|it| it == '.') => {
            Err(NameFault::BadCharacter)
        }
        _ => Ok(()),
    }
}

fn panes(worksheet: &Worksheet) -> Result<String, Denied> {
    let panes = &worksheet.panes;
    let text = serde_json::to_string(panes).map_err(|error| Fault::Defect(error.to_string()))?;
    match panes.len() <= WORKSHEET_PANES && text.len() <= LONGEST {
        true => Ok(text),
        false => Err(Denied::TooMany(Limit::Panes)),
    }
}

fn worksheet(row: &Row<'_>) -> rusqlite::Result<Worksheet> {
    let panes: String = row.get(1)?;
    let unread = |error| rusqlite::Error::FromSqlConversionFailure(1, Type::Text, Box::new(error));
    Ok(Worksheet {
        name: row.get(0)?,
        panes: serde_json::from_str(&panes).map_err(unread)?,
        changed: number(row, 2)?,
        by: row.get(3)?,
    })
}
