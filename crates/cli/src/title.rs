//! What this process is called in lists of processes.
//!
//! The kernel shows the bytes where the arguments were given to the process, and goes on into the
//! environment behind them when the last byte of the arguments is no zero any more; so a title has
//! both for room, as in setproctitle(3). Nothing looks for variables there later: what the commands
//! want of the environment they have read before they work, and the time zone is asked for first of
//! all. Where this fails the process keeps its name.
//!
//! Sources: lib/libzutil/os/linux/zutil_setproctitle.c; proc(5), `/proc/self/stat` and
//! `/proc/self/mem`.

use std::fs::{File, OpenOptions, read_to_string};
use std::io::{self, Error, ErrorKind};
use std::ops::Range;
use std::os::unix::fs::FileExt;

/// Calls this process so.
pub fn set(title: &str) {
    // A name is not worth failing for.
    let _ = write(title);
}

fn write(title: &str) -> io::Result<()> {
    let _zone_is_known = crate::clock::time();
    let room = room(&read_to_string("/proc/self/stat")?).ok_or(Error::from(ErrorKind::InvalidData))?;
    let memory: File = OpenOptions::new().write(true).open("/proc/self/mem")?;
    memory.write_all_at(&padded(title, (room.end - room.start) as usize), room.start)
}

/// Addresses of arguments and environment, from a line of `stat`.
fn room(stat: &str) -> Option<Range<u64>> {
    // The second field is a name that may contain anything; fields are counted from one.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let field = |number: usize| fields.get(number - 3)?.parse::<u64>().ok();
    let (start, end, env_start, env_end) = (field(48)?, field(49)?, field(50)?, field(51)?);
    let end = if env_start == end { env_end } else { end };
    (start != 0 && start < end).then_some(start..end)
}

/// As much of a title as fits, and zeros, of which there is one at least.
fn padded(title: &str, room: usize) -> Vec<u8> {
    let mut bytes = title.as_bytes().to_vec();
    bytes.truncate(room.saturating_sub(1));
    bytes.resize(room, 0);
    bytes
}

#[cfg(test)]
mod tests;
