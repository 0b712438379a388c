//! Which pools were imported, so that the next start imports them again: guid, name and devices, a
//! line a pool.
//!
//! The file is replaced as a whole, and only by what an operator did: a clean stop exports the
//! pools but does not forget them.
//!
//! Names are unique in it, as among imported pools: one that is imported takes the place of one of
//! its name that is absent.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use engine_api::{Pool, VdevStatus};
use env::lock;

use crate::state_file;

/// A pool to import at start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remembered {
    pub guid: u64,
    pub name: String,
    pub devices: Vec<String>,
}

#[derive(Debug)]
pub struct Memory {
    file: PathBuf,
    /// Pools that are written down and not here: they are still to come, or could not be imported.
    /// They stay written down until they are here, or somebody exports them.
    absent: Mutex<Vec<Remembered>>,
    /// Lines that make no sense, to this version at least. They stay.
    strange: Vec<String>,
}

impl Memory {
    /// What is written down below a state directory; nothing where there is no file yet.
    ///
    /// Errors: see [`state_file::read`].
    pub fn load(state: &Path) -> io::Result<Memory> {
        let file = state.join("pools");
        let text = state_file::read(&file)?;
        let (mut absent, mut strange) = (Vec::new(), Vec::new());
        for line in text.lines() {
            match parse(line) {
                Some(pool) => {
                    absent.retain(|other: &Remembered| other.name != pool.name);
                    absent.push(pool);
                }
                None => {
                    tracing::error!(file = %file.display(), line, "this line names no pool");
                    strange.push(line.to_owned());
                }
            }
        }
        Ok(Memory { file, absent: Mutex::new(absent), strange })
    }

    /// See [`Memory::absent`].
    pub fn absent(&self) -> Vec<Remembered> {
        lock(&self.absent).clone()
    }

    /// A pool is here now.
    pub fn came(&self, guid: u64) {
        lock(&self.absent).retain(|pool| pool.guid != guid);
    }

    /// A pool is not to come any more.
    pub fn forget(&self, name: &str) {
        lock(&self.absent).retain(|pool| pool.name != name);
    }

    /// Writes down the pools that are imported now, and those that are absent. `imported` is asked
    /// under the lock: the last who writes knows of all changes.
    pub fn save(&self, imported: impl FnOnce() -> Vec<Arc<dyn Pool>>) {
        let mut absent = lock(&self.absent);
        let pools = imported();
        absent.retain(|absent| pools.iter().all(|pool| !takes_the_place(pool.as_ref(), absent)));
        let mut text: String = self.strange.iter().map(|line| format!("{line}\n")).collect();
        text.extend(absent.iter().map(format));
        for pool in pools {
            let mut devices = Vec::new();
            let status = pool.status();
            let vdevs = [&status.root].into_iter().chain(&status.spares).chain(&status.cache);
            vdevs.for_each(|vdev| collect(vdev, &mut devices));
            text += &format(&Remembered { guid: pool.guid(), name: pool.name(), devices });
        }
        if let Err(error) = state_file::replace(&self.file, &text) {
            tracing::error!(file = %self.file.display(), %error, "the list of pools cannot be kept");
        }
    }
}

/// Whether a pool that is imported is the absent one, or has its name.
fn takes_the_place(pool: &dyn Pool, absent: &Remembered) -> bool {
    if pool.guid() == absent.guid {
        return true;
    }
    let has_its_name = pool.name() == absent.name;
    if has_its_name {
        let (pool, guid, by) = (&absent.name, absent.guid, pool.guid());
        tracing::warn!(pool, guid, by, "is not imported at start any more: another pool has its name");
    }
    has_its_name
}

fn collect(vdev: &VdevStatus, into: &mut Vec<String>) {
    into.extend(vdev.path.clone());
    vdev.children.iter().for_each(|child| collect(child, into));
}

fn format(pool: &Remembered) -> String {
    let guid = pool.guid.to_string();
    let devices = pool.devices.iter().map(String::as_str);
    state_file::line([guid.as_str(), pool.name.as_str()].into_iter().chain(devices))
}

fn parse(line: &str) -> Option<Remembered> {
    let mut fields = state_file::fields(line);
    let guid = fields.next()?.parse().ok()?;
    let name = fields.next()?;
    Some(Remembered { guid, name, devices: fields.filter(|path| !path.is_empty()).collect() })
}

#[cfg(test)]
mod tests;
