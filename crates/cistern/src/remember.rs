//! Which pools were imported, so that the next start imports them again: guid, name and devices, a
//! line a pool.
//!
//! The file is replaced as a whole, and only by what an operator did: a clean stop exports the
//! pools but does not forget them.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use engine_api::{Engine, VdevStatus};

use crate::state_file;

/// A pool to import at start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remembered {
    pub guid: u64,
    pub name: String,
    pub devices: Vec<String>,
}

pub struct Memory {
    file: PathBuf,
    /// Those that could not be imported this time: they are written down until they are.
    missed: Mutex<Vec<Remembered>>,
}

impl Memory {
    pub fn in_state(state: &Path) -> Memory {
        Memory { file: state.join("pools"), missed: Mutex::default() }
    }

    /// Nothing where there is no file yet. Lines that make no sense are passed over.
    pub fn load(&self) -> Vec<Remembered> {
        let text = fs::read_to_string(&self.file).unwrap_or_default();
        text.lines().filter_map(parse).collect()
    }

    /// Whether a pool of that name could not be imported.
    pub fn is_missed(&self, name: &str) -> bool {
        self.missed().iter().any(|pool| pool.name == name)
    }

    /// A pool could not be imported.
    pub fn miss(&self, pool: Remembered) {
        self.missed().push(pool);
    }

    fn missed(&self) -> MutexGuard<'_, Vec<Remembered>> {
        self.missed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes down the pools that are imported now, and those that could not be.
    pub fn save(&self, engine: &dyn Engine) {
        let pools = engine.pools();
        let mut missed = self.missed();
        missed.retain(|missed| pools.iter().all(|pool| pool.guid() != missed.guid));
        let mut text: String = missed.iter().map(format).collect();
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

fn collect(vdev: &VdevStatus, into: &mut Vec<String>) {
    into.extend(vdev.path.clone());
    vdev.children.iter().for_each(|child| collect(child, into));
}

/// Tabs separate; a path with a tab or a line feed cannot be remembered and is left out.
fn format(pool: &Remembered) -> String {
    let plain = |path: &&String| !path.contains(['\t', '\n']);
    let devices: Vec<&str> = pool.devices.iter().filter(plain).map(String::as_str).collect();
    format!("{}\t{}\t{}\n", pool.guid, pool.name, devices.join("\t"))
}

fn parse(line: &str) -> Option<Remembered> {
    let mut parts = line.split('\t');
    let guid = parts.next()?.parse().ok()?;
    let name = parts.next()?.to_owned();
    Some(Remembered {
        guid,
        name,
        devices: parts.map(str::to_owned).filter(|path| !path.is_empty()).collect(),
    })
}

#[cfg(test)]
mod tests;
