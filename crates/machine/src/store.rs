//! The open database: found, migrated or replaced when it is opened; read and changed afterwards.
//!
//! Invariants: one process has the database open (`machine.lock`). One connection changes it and
//! answers what is answered at once; another one only reads, what takes long: nobody who comes in
//! waits for a copy or for a search. A change is an immediate transaction, which is durable when it
//! is committed (WAL, synchronous=FULL) and rolled back otherwise. The automatic backup is only
//! replaced by a copy of a database that was found whole.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rusqlite::{Connection, Transaction, TransactionBehavior};

use crate::backup;
use crate::fault::Fault;
use crate::files::{self, BACKUP, DATABASE, NEXT};
use crate::schema::{self, Seen};

/// The log is cut to this length when it has been written back: 4 MiB.
const LOG_BYTES: i64 = 4 << 20;

/// How the database was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// There was none. An empty one was begun.
    New,
    AsItWas,
    /// An older version was brought to the newest. `copy` is how it was before.
    Migrated {
        from: u32,
        copy: PathBuf,
    },
    /// It was damaged, and is kept under another name. The automatic backup took its place, or an
    /// empty database where there was no whole backup.
    Damaged {
        kept: PathBuf,
        restored_from: Option<PathBuf>,
    },
    /// It was gone, and its automatic backup was there and took its place.
    Lost {
        restored_from: PathBuf,
    },
}

/// The database, open.
pub(crate) struct Store {
    connection: Mutex<Connection>,
    /// Only reads.
    reader: Mutex<Connection>,
    /// Accounts were changed since the automatic backup was written.
    is_ahead: AtomicBool,
    /// How often accounts were changed since it was opened.
    generation: AtomicU64,
    folder: PathBuf,
    /// Nobody else opens the database while this is held.
    _lock: File,
}

impl Store {
    /// See [`crate::Machine::open`].
    pub(crate) fn open(folder: &Path, steps: &[&str]) -> Result<(Store, Found), Fault> {
        let lock = files::lock(folder)?;
        let (mut db, version, mut found) = find(folder, steps)?;
        if 0 < version && version < schema::known(steps) {
            let copy = folder.join(format!("{DATABASE}.v{version}"));
            backup::copy(&db, &copy)?;
            if found == Found::AsItWas {
                found = Found::Migrated { from: version, copy };
            }
        }
        db.pragma_update(None, "journal_mode", "WAL")?;
        db.pragma_update(None, "synchronous", "FULL")?;
        db.pragma_update(None, "journal_size_limit", LOG_BYTES)?;
        schema::migrate(&mut db, steps, version)?;
        let reader = backup::connect(&folder.join(DATABASE))?;
        reader.pragma_update(None, "query_only", true)?;
        let store = Store {
            connection: Mutex::new(db),
            reader: Mutex::new(reader),
            is_ahead: AtomicBool::new(true),
            generation: AtomicU64::new(0),
            folder: folder.to_owned(),
            _lock: lock,
        };
        // The backup before it is still there, and the database is whole: no reason not to open it.
        if let Err(fault) = store.keep() {
            tracing::warn!("{BACKUP} was not written: {fault}");
        }
        Ok((store, found))
    }

    /// Writes a copy.
    pub(crate) fn backup(&self, to: &Path) -> Result<(), Fault> {
        self.look(|db| backup::copy(db, to))
    }

    /// Writes the automatic backup, where it is behind.
    pub(crate) fn keep(&self) -> Result<(), Fault> {
        if !self.is_ahead.swap(false, Ordering::AcqRel) {
            return Ok(());
        }
        let kept = self.backup(&self.folder.join(BACKUP));
        if kept.is_err() {
            self.is_ahead.store(true, Ordering::Release);
        }
        kept
    }

    /// Asks the database what is answered at once.
    pub(crate) fn read<T, E>(&self, ask: impl FnOnce(&Connection) -> Result<T, E>) -> Result<T, E> {
        ask(&self.lock())
    }

    /// Asks the database what takes long.
    pub(crate) fn look<T, E>(&self, ask: impl FnOnce(&Connection) -> Result<T, E>) -> Result<T, E> {
        ask(&self.reader.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// As [`Store::change`], of what should not be lost with the database.
    pub(crate) fn change_accounts<T, E: From<Fault>>(
        &self,
        change: impl FnOnce(&Transaction<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        let done = self.change(change)?;
        self.is_ahead.store(true, Ordering::Release);
        self.generation.fetch_add(1, Ordering::AcqRel);
        Ok(done)
    }

    /// See [`crate::Machine::generation`].
    pub(crate) fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    /// Makes a change: all of it, or nothing where it fails.
    pub(crate) fn change<T, E: From<Fault>>(
        &self,
        change: impl FnOnce(&Transaction<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        let mut db = self.lock();
        let begun = db.transaction_with_behavior(TransactionBehavior::Immediate);
        let transaction = begun.map_err(Fault::from)?;
        let done = change(&transaction)?;
        transaction.commit().map_err(Fault::from)?;
        Ok(done)
    }

    /// A panic inside a change has rolled it back, so the connection is good.
    fn lock(&self) -> MutexGuard<'_, Connection> {
        self.connection.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What is there in the database's place.
enum Present {
    Nothing,
    /// A database to which nothing was written: the program was killed when it began it, or
    /// somebody cut it.
    Empty,
    Damaged(String),
    Whole(Connection, u32),
}

/// The database with its version, 0 for an empty one.
fn find(folder: &Path, steps: &[&str]) -> Result<(Connection, u32, Found), Fault> {
    let (path, saved) = (folder.join(DATABASE), folder.join(BACKUP));
    let why = match look(&path, steps)? {
        Present::Whole(db, version) => return Ok((db, version, Found::AsItWas)),
        Present::Nothing | Present::Empty if !files::exists(&saved)? => {
            files::create(&path)?;
            return Ok((backup::connect(&path)?, 0, Found::New));
        }
        Present::Nothing => None,
        Present::Empty => Some("it is empty".to_owned()),
        Present::Damaged(why) => Some(why),
    };
    let restored_from = match files::exists(&saved)? {
        true => prepared(folder, &saved, steps)?.then_some(saved),
        false => None,
    };
    if restored_from.is_none() {
        files::create(&folder.join(NEXT))?;
    }
    let found = match (why, restored_from) {
        (Some(why), restored_from) => {
            let kept = files::put_aside(folder, "damaged")?;
            tracing::error!("{DATABASE} was damaged and is kept as {}: {why}", kept.display());
            Found::Damaged { kept, restored_from }
        }
        (None, Some(restored_from)) => Found::Lost { restored_from },
        (None, None) => Found::New,
    };
    files::install(&folder.join(NEXT), &path)?;
    match look(&path, steps)? {
        Present::Whole(db, version) => Ok((db, version, found)),
        Present::Empty => Ok((backup::connect(&path)?, 0, found)),
        Present::Nothing => Err(Fault::Io(format!("{}: it is gone again", path.display()))),
        Present::Damaged(why) => Err(Fault::Damaged(why)),
    }
}

/// Whether the automatic backup was whole and is ready to take the database's place.
fn prepared(folder: &Path, saved: &Path, steps: &[&str]) -> Result<bool, Fault> {
    match backup::prepare(folder, saved, steps) {
        Ok(()) => Ok(true),
        Err(Fault::Damaged(why)) => {
            tracing::error!("{BACKUP} is damaged, too: {why}");
            Ok(false)
        }
        Err(fault) => Err(fault),
    }
}

fn look(path: &Path, steps: &[&str]) -> Result<Present, Fault> {
    match fs::metadata(path) {
        Ok(found) if !found.is_file() => return Ok(Present::Damaged("it is no file".to_owned())),
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Present::Nothing),
        Err(error) => return Err(Fault::io(path, &error)),
    }
    files::protect(path)?;
    let examined = backup::connect(path).and_then(|db| {
        let seen = schema::examine(&db, steps)?;
        Ok((db, seen))
    });
    match examined {
        Ok((_, Seen::Empty)) => Ok(Present::Empty),
        Ok((db, Seen::Ours { version })) => Ok(Present::Whole(db, version)),
        Err(Fault::Damaged(why)) => Ok(Present::Damaged(why)),
        Err(fault) => Err(fault),
    }
}
