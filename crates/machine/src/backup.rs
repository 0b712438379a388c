//! Copies of the database: connecting, copying, restoring.
//!
//! Invariants: a copy is one file, without a log beside it. It is written under another name,
//! flushed and renamed. What is restored is a copy that was examined, not the file that was given:
//! nobody can change it in between.

use std::path::Path;
use std::time::Duration;

use rusqlite::backup::{Backup, StepResult};
use rusqlite::{Connection, OpenFlags};

use crate::contents::{self, Contents};
use crate::fault::Fault;
use crate::files::{self, DATABASE, NEXT};
use crate::schema::{self, Seen};

/// How long a statement waits for another program that looks into the database.
const PATIENCE: Duration = Duration::from_secs(2);

/// Opens a file that exists.
pub(crate) fn connect(path: &Path) -> Result<Connection, Fault> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let db = Connection::open_with_flags(path, flags)?;
    db.busy_timeout(PATIENCE)?;
    db.pragma_update(None, "foreign_keys", true)?;
    db.pragma_update(None, "trusted_schema", false)?;
    db.pragma_update(None, "cell_size_check", true)?;
    Ok(db)
}

/// Writes a copy beside `to`, and renames it.
pub(crate) fn copy(from: &Connection, to: &Path) -> Result<(), Fault> {
    let beside = files::with_suffix(to, ".part");
    write(from, &beside)?;
    files::install(&beside, to)
}

/// Writes a copy.
fn write(from: &Connection, to: &Path) -> Result<(), Fault> {
    files::create(to)?;
    let mut db = connect(to)?;
    {
        let backup = Backup::new(from, &mut db)?;
        if backup.step(-1)? != StepResult::Done {
            return Err(Fault::Busy);
        }
    }
    // The mode comes with the pages; a copy has no log.
    db.pragma_update(None, "journal_mode", "DELETE")?;
    Ok(())
}

/// Makes `machine.db.next` of a backup, as [`examined_copy`] does.
pub(crate) fn prepare(folder: &Path, from: &Path, steps: &[&str]) -> Result<(), Fault> {
    examined_copy(from, &folder.join(NEXT), steps).map(drop)
}

/// Makes `to` of a backup, and opens it; with its version. What is no database of ours is
/// [`Fault::Damaged`]. Sessions are not restored: they may have been ended since.
fn examined_copy(from: &Path, to: &Path, steps: &[&str]) -> Result<(Connection, u32), Fault> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    write(&Connection::open_with_flags(from, flags)?, to)?;
    let db = connect(to)?;
    match schema::examine(&db, steps)? {
        Seen::Empty => Err(Fault::Damaged(format!("{}: nothing is in it", from.display()))),
        Seen::Ours { version } => {
            db.execute("DELETE FROM sessions", [])?;
            Ok((db, version))
        }
    }
}

/// See [`crate::Machine::examine`].
pub(crate) fn examine(from: &Path, to: &Path, steps: &[&str]) -> Result<Contents, Fault> {
    let (mut db, version) = examined_copy(from, to, steps)?;
    schema::migrate(&mut db, steps, version)?;
    let contents = contents::read(&db)?;
    drop(db);
    files::flush(to)?;
    Ok(contents)
}

/// See [`crate::Machine::restore`].
pub(crate) fn restore(folder: &Path, from: &Path, steps: &[&str]) -> Result<(), Fault> {
    let _lock = files::lock(folder)?;
    prepare(folder, from, steps)?;
    let database = folder.join(DATABASE);
    if files::exists(&database)? {
        let kept = files::put_aside(folder, "replaced")?;
        tracing::info!("the database before the restoration is kept as {}", kept.display());
    }
    files::install(&folder.join(NEXT), &database)
}
