//! What is mounted, and in whose mount namespaces, as /proc/PID/mountinfo has it; and the mounts of
//! a daemon that is dead.
//!
//! Such a mount stays: everybody who looks at it gets ENOTCONN, and nothing can be mounted in its
//! place. What lies below it can be reached by nobody, so it goes with it.

use crate::apart::within;
use crate::device::{self, TYPE};
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use stdx::octal;

/// How long a mount may take to say that it is dead. One that lives may take for ever.
const PATIENCE: Duration = Duration::from_secs(2);
/// Symbolic links that are followed, one after the other, as by the kernel.
const LINKS: u32 = 40;

#[derive(Debug, PartialEq, Eq)]
struct Line<'a> {
    /// `major:minor`
    device: &'a str,
    path: Vec<u8>,
    kind: &'a str,
}

/// A line, whose path has spaces as octal numbers (proc(5)) and may be of any bytes.
fn line(text: &[u8]) -> Option<Line<'_>> {
    let mut fields = text.split(|byte| *byte == b' ');
    let (device, at) = (fields.nth(2)?, fields.nth(1)?);
    fields.find(|field| field == b"-")?;
    let kind = fields.next()?;
    let (device, kind) = (str::from_utf8(device).ok()?, str::from_utf8(kind).ok()?);
    Some(Line { device, path: octal::unescape(at), kind })
}

fn lines(all: &[u8]) -> impl DoubleEndedIterator<Item = Line<'_>> {
    all.split(|byte| *byte == b'\n').filter_map(line)
}

/// Device and type of what was mounted last at a path, without asking the path.
fn mounted_at(at: &Path) -> Option<(String, String)> {
    let all = std::fs::read("/proc/self/mountinfo").ok()?;
    let found = lines(&all).rev().find(|line| Path::new(OsStr::from_bytes(&line.path)) == at)?;
    Some((found.device.to_owned(), found.kind.to_owned()))
}

/// The device of what was mounted last at a path.
pub fn device_of(at: &Path) -> Option<String> {
    mounted_at(at).map(|(device, _)| device)
}

/// Who has a device mounted in a mount namespace of his own: `name (PID n)`, as far as this process
/// may see.
pub fn holders(device: &str) -> Vec<String> {
    let own = std::fs::read_link("/proc/self/ns/mnt").ok();
    let all = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = all.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let holds = |pid: &u32| {
        let elsewhere = std::fs::read_link(format!("/proc/{pid}/ns/mnt")).ok() != own;
        let mounts = || std::fs::read(format!("/proc/{pid}/mountinfo")).unwrap_or_default();
        elsewhere && lines(&mounts()).any(|found| found.device == device)
    };
    let name = |pid: u32| {
        let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
        format!("{} (PID {pid})", name.trim_end())
    };
    pids.filter(holds).map(name).take(8).collect()
}

/// Takes a mount of a daemon that is dead away, with all below it. Whether there was one.
///
/// # Errors
/// The operating system's.
pub fn remove_dead(at: &Path) -> io::Result<bool> {
    let at = match place(at) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        found => found?,
    };
    let mut removed = false;
    while mounted_at(&at).is_some_and(|(_, kind)| kind == TYPE) && is_dead(&at)? {
        device::unmount(&at, libc::MNT_DETACH)?;
        removed = true;
    }
    Ok(removed)
}

/// Where a path leads, as mountinfo calls it. What is mounted there is not asked, as `canonicalize`
/// would; what is above it is, and may take its time.
///
/// # Errors
/// The operating system's.
pub fn place(at: &Path) -> io::Result<PathBuf> {
    let mut at = at.to_owned();
    for _ in 0..LINKS {
        let (Some(above), Some(name)) = (at.parent(), at.file_name()) else { return at.canonicalize() };
        let above = above.canonicalize()?;
        at = above.join(name);
        match std::fs::read_link(&at) {
            Ok(target) => at = above.join(target),
            Err(_) => return Ok(at),
        }
    }
    Err(io::Error::from_raw_os_error(libc::ELOOP))
}

/// Asked in a thread of its own, which a daemon that lives and does not answer may keep.
fn is_dead(at: &Path) -> io::Result<bool> {
    let (path, end) = (at.to_owned(), Instant::now() + PATIENCE);
    let look = move || std::fs::symlink_metadata(&path).err().and_then(|error| error.raw_os_error());
    let ask = move || {
        let mut said = look();
        // It is ending just now.
        while matches!(said, Some(libc::ECONNABORTED | libc::ECANCELED)) && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(10));
            said = look();
        }
        said
    };
    match within("fuse-look", PATIENCE, ask) {
        Err(error) if error.kind() == io::ErrorKind::TimedOut => Ok(false),
        said => Ok(said? == Some(libc::ENOTCONN)),
    }
}

#[cfg(test)]
mod tests;
