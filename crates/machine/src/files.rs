//! The files in the state folder: their names, who may read them, and how one takes the place of
//! another.
//!
//! Invariants: every file is created with mode 0600. A file that takes the place of `machine.db` is
//! complete and flushed before it is renamed, so a kill leaves the old one or the new one.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions, Permissions, TryLockError};
use std::io;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use crate::fault::Fault;

/// The database.
pub(crate) const DATABASE: &str = "machine.db";
/// The automatic backup.
pub(crate) const BACKUP: &str = "machine.db.backup";
/// What will take the database's place.
pub(crate) const NEXT: &str = "machine.db.next";
/// Held by the process that has the database open.
const LOCK: &str = "machine.lock";
/// Databases that are kept under one label: enough to see how a series of damages began. After
/// them the last one is replaced.
const KEPT: u32 = 16;

/// Takes the folder for this process, until the file is dropped.
pub(crate) fn lock(folder: &Path) -> Result<File, Fault> {
    let path = folder.join(LOCK);
    let opened = OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(&path);
    let file = opened.map_err(|error| Fault::io(&path, &error))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(Fault::Busy),
        Err(TryLockError::Error(error)) => Err(Fault::io(&path, &error)),
    }
}

/// An empty file that only its owner may read. What was there is gone, SQLite's files beside it
/// too: they would be taken for those of the new one.
pub(crate) fn create(path: &Path) -> Result<(), Fault> {
    for suffix in ["", "-journal", "-wal", "-shm"] {
        remove(&with_suffix(path, suffix))?;
    }
    let created = OpenOptions::new().create_new(true).write(true).mode(0o600).open(path);
    created.map(drop).map_err(|error| Fault::io(path, &error))
}

/// Takes the rights of all others away.
pub(crate) fn protect(path: &Path) -> Result<(), Fault> {
    fs::set_permissions(path, Permissions::from_mode(0o600)).map_err(|error| Fault::io(path, &error))
}

/// Whether anything is there.
pub(crate) fn exists(path: &Path) -> Result<bool, Fault> {
    path.try_exists().map_err(|error| Fault::io(path, &error))
}

/// Gives `from` the name `to`, durably. A file `to` is replaced.
pub(crate) fn install(from: &Path, to: &Path) -> Result<(), Fault> {
    flush(from)?;
    fs::rename(from, to).map_err(|error| Fault::io(to, &error))?;
    flush(match to.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    })
}

/// Waits until a file, or the names in a folder, are on the disk.
pub(crate) fn flush(path: &Path) -> Result<(), Fault> {
    let flushed = File::open(path).and_then(|file| file.sync_all());
    flushed.map_err(|error| Fault::io(path, &error))
}

/// Keeps the database under another name, `machine.db.LABEL-N`, with its log. It keeps its old name
/// as well where the file system has hard links, so that there is always a database.
pub(crate) fn put_aside(folder: &Path, label: &str) -> Result<PathBuf, Fault> {
    let path = folder.join(DATABASE);
    let name = |number: u32| folder.join(format!("{DATABASE}.{label}-{number}"));
    let mut kept = name(KEPT);
    for number in 1..KEPT {
        if !exists(&name(number))? {
            kept = name(number);
            break;
        }
    }
    remove(&kept)?;
    remove(&with_suffix(&kept, "-wal"))?;
    let log = with_suffix(&path, "-wal");
    if exists(&log)? {
        fs::rename(&log, with_suffix(&kept, "-wal")).map_err(|error| Fault::io(&log, &error))?;
    }
    remove(&with_suffix(&path, "-shm"))?;
    // A folder in its place has no second name: it is renamed.
    let moved = fs::hard_link(&path, &kept).or_else(|_| fs::rename(&path, &kept));
    moved.map_err(|error| Fault::io(&path, &error))?;
    Ok(kept)
}

/// A path with something after its last name.
pub(crate) fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    PathBuf::from(name)
}

/// Removes a file, or a folder with all that is in it. That nothing is there is as good.
fn remove(path: &Path) -> Result<(), Fault> {
    let removed = match fs::symlink_metadata(path) {
        Ok(found) if found.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(error) => Err(error),
    };
    match removed {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(Fault::io(path, &error)),
        _ => Ok(()),
    }
}
