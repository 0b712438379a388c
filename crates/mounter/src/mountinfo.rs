//! What is mounted, and in whose mount namespaces, as /proc/PID/mountinfo has it.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use stdx::octal;

use crate::device_id::DeviceId;

/// A mount.
#[derive(Debug, PartialEq, Eq)]
pub struct Entry {
    pub id: DeviceId,
    /// Its type.
    pub kind: String,
    /// The user who serves it, where FUSE does (`user_id`).
    pub user: Option<u32>,
}

#[derive(Debug, PartialEq, Eq)]
struct Line<'a> {
    /// The mount's own number.
    number: &'a str,
    /// `major:minor`
    device: &'a str,
    path: Vec<u8>,
    kind: &'a str,
    /// Options of the file system, with commas.
    options: &'a str,
}

/// A line, whose path has spaces as octal numbers (proc(5)) and may be of any bytes.
fn line(text: &[u8]) -> Option<Line<'_>> {
    let mut fields = text.split(|byte| *byte == b' ');
    let (number, device, at) = (fields.next()?, fields.nth(1)?, fields.nth(1)?);
    fields.find(|field| field == b"-")?;
    let (kind, options) = (fields.next()?, fields.nth(1).unwrap_or_default());
    let (number, device) = (str::from_utf8(number).ok()?, str::from_utf8(device).ok()?);
    let (kind, options) = (str::from_utf8(kind).ok()?, str::from_utf8(options).unwrap_or_default());
    Some(Line { number, device, path: octal::unescape(at), kind, options })
}

fn lines(all: &[u8]) -> impl DoubleEndedIterator<Item = Line<'_>> {
    all.split(|byte| *byte == b'\n').filter_map(line)
}

fn entry(line: &Line<'_>) -> Option<Entry> {
    let mut options = line.options.split(',');
    let user = options.find_map(|option| option.strip_prefix("user_id=")?.parse().ok());
    Some(Entry { id: line.device.parse().ok()?, kind: line.kind.to_owned(), user })
}

/// What was mounted last at a path without symbolic links, without asking the path.
///
/// # Errors
/// The operating system's.
pub fn mounted_at(at: &Path) -> io::Result<Option<Entry>> {
    let all = std::fs::read("/proc/self/mountinfo")?;
    let found = lines(&all).rev().find(|line| Path::new(OsStr::from_bytes(&line.path)) == at);
    Ok(found.and_then(|line| entry(&line)))
}

/// The mount of this number (`mnt_id` of /proc/PID/fdinfo).
///
/// # Errors
/// The operating system's.
pub fn numbered(number: &str) -> io::Result<Option<Entry>> {
    let all = std::fs::read("/proc/self/mountinfo")?;
    let found = lines(&all).find(|line| line.number == number);
    Ok(found.and_then(|line| entry(&line)))
}

/// Who has a device mounted in a mount namespace of his own: `name (PID n)`, as far as this process
/// may see.
pub fn holders(device: DeviceId) -> Vec<String> {
    let device = device.to_string();
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

#[cfg(test)]
mod tests;
