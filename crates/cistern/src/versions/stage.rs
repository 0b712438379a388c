//! What the next start of the program puts in place of the machine's state.
//!
//! ```text
//!   restore.new/   is being filled and checked
//!   restore/       machine.db  tls/  keeping  version: whole; the next start takes it
//! ```
//! Invariants: the folder gets its name once all of it was checked and is on the disk. The start
//! takes one thing after the other out of it, and what was there before is kept beside: a kill in
//! between leaves the rest for the next start.

use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use api_types::StagedVersion;
use machine::Machine;

use super::choice;
use crate::state_file;

const STAGED: &str = "restore";
const NEW: &str = "restore.new";
/// Of both, and of the state folder.
pub const DATABASE: &str = "machine.db";
pub const CERTIFICATE: &str = "tls";
/// Says which version it is.
const VERSION: &str = "version";
/// Certificates that were replaced and are kept; after them the last one is replaced.
const KEPT: u32 = 16;

/// An empty folder, to be filled. What was begun before is gone.
pub fn begin(state: &Path) -> io::Result<PathBuf> {
    let new = state.join(NEW);
    remove(&new)?;
    DirBuilder::new().mode(0o700).create(&new)?;
    Ok(new)
}

/// A file of it, for its owner alone.
pub fn create(path: &Path) -> io::Result<File> {
    File::options().write(true).create_new(true).mode(0o600).open(path)
}

/// What was begun is not to be.
pub fn drop_new(state: &Path) -> io::Result<()> {
    remove(&state.join(NEW))
}

/// From now on the next start takes it.
pub fn commit(state: &Path, version: &StagedVersion) -> io::Result<()> {
    let (new, staged) = (state.join(NEW), state.join(STAGED));
    let (number, time) = (version.number.to_string(), version.time.to_string());
    let line = state_file::line([version.pool.as_str(), number.as_str(), time.as_str()]);
    state_file::replace(&new.join(VERSION), &line)?;
    remove(&staged)?;
    fs::rename(&new, &staged)?;
    File::open(state)?.sync_all()
}

/// What the next start takes.
pub fn staged(state: &Path) -> io::Result<Option<StagedVersion>> {
    let folder = state.join(STAGED);
    if !folder.try_exists()? {
        return Ok(None);
    }
    let text = state_file::read(&folder.join(VERSION))?;
    let mut fields = state_file::fields(text.trim_end());
    let pool = fields.next().unwrap_or_default();
    let (number, time) =
        (fields.next().and_then(|n| n.parse().ok()), fields.next().and_then(|n| n.parse().ok()));
    match (number, time) {
        (Some(number), Some(time)) => Ok(Some(StagedVersion { pool, number, time })),
        _ => Err(io::Error::new(io::ErrorKind::InvalidData, format!("{}: no version", folder.display()))),
    }
}

/// The next start takes nothing.
pub fn cancel(state: &Path) -> io::Result<()> {
    remove(&state.join(STAGED))?;
    File::open(state)?.sync_all()
}

/// Puts in place what was staged, before anything of it is open. Gives what was taken, for people;
/// an error says why it, or the rest of it, still waits.
pub fn take(state: &Path) -> Result<Option<String>, String> {
    let folder = state.join(STAGED);
    let failed = |error: io::Error| format!("{}: {error}", folder.display());
    let Some(version) = staged(state).map_err(failed)? else { return Ok(None) };
    let database = folder.join(DATABASE);
    if database.try_exists().map_err(failed)? {
        Machine::restore(state, &database).map_err(|fault| fault.to_string())?;
        fs::remove_file(&database).map_err(failed)?;
    }
    take_certificate(state, &folder).map_err(failed)?;
    let keeping = choice::file(&folder);
    if keeping.try_exists().map_err(failed)? {
        fs::rename(&keeping, choice::file(state)).map_err(failed)?;
    }
    cancel(state).map_err(failed)?;
    let StagedVersion { pool, number, .. } = version;
    Ok(Some(format!(
        "version {number} of pool {pool} was restored; what was there is kept in {}",
        state.display()
    )))
}

/// One folder takes the place of the other, which is kept.
fn take_certificate(state: &Path, staged: &Path) -> io::Result<()> {
    let (from, to) = (staged.join(CERTIFICATE), state.join(CERTIFICATE));
    if !from.try_exists()? {
        return Ok(());
    }
    if to.try_exists()? {
        let name = |number: u32| state.join(format!("{CERTIFICATE}.replaced-{number}"));
        let mut kept = name(KEPT);
        for number in 1..KEPT {
            if !name(number).try_exists()? {
                kept = name(number);
                break;
            }
        }
        remove(&kept)?;
        fs::rename(&to, &kept)?;
    }
    fs::rename(&from, &to)?;
    File::open(state)?.sync_all()
}

/// With all that is in it. That nothing is there is as good.
fn remove(folder: &Path) -> io::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests;
