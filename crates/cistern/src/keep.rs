//! Where the daemon keeps what volumes have answered and no group has yet, and what clients of file
//! systems were answered lately: a file in memory, one for each state folder.
//!
//! It stays when the program dies, and the next one finds it by its name; it goes with the power,
//! and with a clean stop, unless a client may ask again.

use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use engine::ANSWERS;
use env::MemoryFile;

/// Where Linux has a file system in memory.
pub const FOLDER: &str = "/dev/shm";
/// How often, and how long each time, a process that is just dying is waited for.
const LOOKS: u32 = 50;
const A_MOMENT: Duration = Duration::from_millis(100);
/// Bytes for volumes at least, so many that it takes as much as may be unwritten in memory, and at
/// most.
const LEAST: u64 = 16 << 20;
const EQUAL: u64 = 256 << 20;
const MOST: u64 = 1 << 30;

/// As much as may be unwritten, for more would only be written out later, and of much a half: the
/// cache gives way for both, and for what clients send. A group ends when it has a third of this,
/// so with much less the same blocks are written again and again.
fn size(dirty: u64) -> u64 {
    (dirty / 2).max(dirty.min(EQUAL)).clamp(LEAST, MOST)
}

/// The file of this state folder. None where no such file can be had, which is told: then what is
/// not flushed dies with the program. `Err`: another process has it.
pub fn open(folder: &Path, state: &Path, dirty: u64) -> Result<Option<Arc<MemoryFile>>, String> {
    let path = folder.join(name(state).map_err(|error| format!("{}: {error}", state.display()))?);
    let mut looks = 0;
    loop {
        match MemoryFile::open(&path, size(dirty) + ANSWERS) {
            Ok(file) => return Ok(Some(Arc::new(file))),
            Err(error) if error.kind() == ErrorKind::WouldBlock && looks < LOOKS => {
                looks += 1;
                thread::sleep(A_MOMENT);
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                return Err(format!("{}: another process uses it", path.display()));
            }
            Err(error) => {
                tracing::warn!(path = %path.display(), %error, "writes of volumes that are not flushed, and what clients were answered, die with the program");
                return Ok(None);
            }
        }
    }
}

fn name(state: &Path) -> io::Result<String> {
    let state = fs::metadata(state)?;
    Ok(format!("cistern-{:x}-{:x}", state.dev(), state.ino()))
}

#[cfg(test)]
mod tests;
