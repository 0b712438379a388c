//! Requests to the broker and its answers as bytes: one message each, of a socket that keeps
//! messages apart (`SOCK_SEQPACKET`). Numbers are little endian.
//!
//! ```text
//! request  version u8 │ what u8 │ flags u8 │ how u8 │ path bytes u16 │ source bytes u16 │ path │ source
//! answer   version u8 │ what u8 │ 0 u16    │ errno u32 │ major u32 │ minor u32 │ path
//! ```
//!
//! A request to cut has the major number as its path and the minor one as its source, of four bytes
//! each. Every message is exactly as long as it says. An answer that something is mounted carries
//! the descriptor of /dev/fuse. The first two bytes of an answer mean the same in every version.
//! Decoding is total: a value, or what to answer instead.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use stdx::cursor::{Endian, Reader};

use crate::answer::{Answer, Mounted};
use crate::device_id::DeviceId;
use crate::fault::{Fault, Silence};
use crate::flags::Flags;
use crate::request::{How, Request, Wanted};

pub const VERSION: u8 = 1;
/// Bytes of a path, as the kernel takes it without its NUL.
pub const PATH_MOST: usize = 4095;
/// Bytes of a source: a dataset's name.
const SOURCE_MOST: usize = 255;
const REQUEST_HEAD: usize = 8;
const ANSWER_HEAD: usize = 16;
/// Bytes of a request.
pub const REQUEST_MOST: usize = REQUEST_HEAD + PATH_MOST + SOURCE_MOST;
/// Bytes of an answer.
pub const ANSWER_MOST: usize = ANSWER_HEAD + PATH_MOST;

mod what {
    pub const HAS_ENTRIES: u8 = 1;
    pub const RESOLVE: u8 = 2;
    pub const REMOVE_DEAD: u8 = 3;
    pub const REMOVE_DIRECTORY: u8 = 4;
    pub const MOUNT: u8 = 5;
    pub const RAISE_READ_AHEAD: u8 = 6;
    pub const REMOUNT: u8 = 7;
    pub const UNMOUNT: u8 = 8;
    pub const CUT: u8 = 9;
}

mod said {
    pub const DONE: u8 = 0;
    pub const NO: u8 = 1;
    pub const YES: u8 = 2;
    pub const PATH: u8 = 3;
    pub const MOUNTED: u8 = 4;
    pub const ERRNO: u8 = 16;
    pub const NOT_EMPTY: u8 = 17;
    pub const NOT_OURS: u8 = 18;
    pub const KEPT: u8 = 19;
    pub const LINK: u8 = 20;
    pub const BUSY: u8 = 32;
    pub const STRANGER: u8 = 33;
    pub const VERSION: u8 = 34;
    pub const ODD: u8 = 35;
}

/// Why the broker does not look at a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    Busy,
    Stranger,
    /// It has another version.
    Version,
    /// It makes no sense.
    Odd,
}

/// # Errors
/// `EINVAL` or `ENAMETOOLONG` of the system, where it has no room in a message.
pub fn request(request: &Request) -> Result<Vec<u8>, Fault> {
    let path = |at: &Path| at.as_os_str().as_bytes().to_vec();
    let (what, flags, how, path, source) = match request {
        Request::HasEntries { at } => (what::HAS_ENTRIES, 0, 0, path(at), Vec::new()),
        Request::Resolve { at } => (what::RESOLVE, 0, 0, path(at), Vec::new()),
        Request::RemoveDead { at } => (what::REMOVE_DEAD, 0, 0, path(at), Vec::new()),
        Request::RemoveDirectory { at } => (what::REMOVE_DIRECTORY, 0, 0, path(at), Vec::new()),
        Request::Mount(Wanted { at, source, flags, overlay }) => {
            (what::MOUNT, flags.bits(), u8::from(*overlay), path(at), source.clone().into_bytes())
        }
        Request::RaiseReadAhead { at } => (what::RAISE_READ_AHEAD, 0, 0, path(at), Vec::new()),
        Request::Remount { at, flags } => (what::REMOUNT, flags.bits(), 0, path(at), Vec::new()),
        Request::Unmount { at, how } => {
            let how = match how {
                How::Gently => 0,
                How::Lazily => 1,
                How::ByForce => 2,
            };
            (what::UNMOUNT, 0, how, path(at), Vec::new())
        }
        Request::Cut { device } => {
            let (major, minor) = (device.major.to_le_bytes(), device.minor.to_le_bytes());
            (what::CUT, 0, 0, major.to_vec(), minor.to_vec())
        }
    };
    if path.len() > PATH_MOST || source.len() > SOURCE_MOST {
        return Err(io::Error::from_raw_os_error(libc::ENAMETOOLONG).into());
    }
    let lengths = [(path.len() as u16).to_le_bytes(), (source.len() as u16).to_le_bytes()];
    Ok([&[VERSION, what, flags, how][..], &lengths.concat(), &path, &source].concat())
}

/// # Errors
/// What to answer instead.
pub fn read_request(message: &[u8]) -> Result<Request, Refusal> {
    match message.first() {
        Some(&VERSION) => fields(message).ok_or(Refusal::Odd),
        Some(_) => Err(Refusal::Version),
        None => Err(Refusal::Odd),
    }
}

fn fields(message: &[u8]) -> Option<Request> {
    let mut reader = Reader::new(message, Endian::Little);
    let [_, what, flags, how] = reader.array()?;
    let (path_len, source_len) = (reader.u16()? as usize, reader.u16()? as usize);
    let (path, source) = (reader.take(path_len)?, reader.take(source_len)?);
    if !reader.rest().is_empty() {
        return None;
    }
    if what == what::CUT {
        let number = |bytes: &[u8]| Some(u32::from_le_bytes(bytes.try_into().ok()?));
        let device = DeviceId { major: number(path)?, minor: number(source)? };
        return (flags == 0 && how == 0).then_some(Request::Cut { device });
    }
    let at = path_of(path)?;
    match (what, flags, how, source) {
        (what::MOUNT, flags, 0 | 1, source) => {
            let (flags, source) = (Flags::of_bits(flags)?, source_of(source)?);
            Some(Request::Mount(Wanted { at, source, flags, overlay: how == 1 }))
        }
        (what::REMOUNT, flags, 0, []) => Some(Request::Remount { at, flags: Flags::of_bits(flags)? }),
        (what::UNMOUNT, 0, 0, []) => Some(Request::Unmount { at, how: How::Gently }),
        (what::UNMOUNT, 0, 1, []) => Some(Request::Unmount { at, how: How::Lazily }),
        (what::UNMOUNT, 0, 2, []) => Some(Request::Unmount { at, how: How::ByForce }),
        (what::HAS_ENTRIES, 0, 0, []) => Some(Request::HasEntries { at }),
        (what::RESOLVE, 0, 0, []) => Some(Request::Resolve { at }),
        (what::REMOVE_DEAD, 0, 0, []) => Some(Request::RemoveDead { at }),
        (what::REMOVE_DIRECTORY, 0, 0, []) => Some(Request::RemoveDirectory { at }),
        (what::RAISE_READ_AHEAD, 0, 0, []) => Some(Request::RaiseReadAhead { at }),
        _ => None,
    }
}

/// Absolute, and as the kernel takes it.
fn path_of(bytes: &[u8]) -> Option<PathBuf> {
    let fits = bytes.starts_with(b"/") && bytes.len() <= PATH_MOST && !bytes.contains(&0);
    fits.then(|| PathBuf::from(OsStr::from_bytes(bytes)))
}

fn source_of(bytes: &[u8]) -> Option<String> {
    let text = str::from_utf8(bytes).ok()?;
    let fits = !text.is_empty() && text.len() <= SOURCE_MOST && !text.contains(char::is_control);
    fits.then(|| text.to_owned())
}

/// The message, and whether the descriptor of a mount goes with it.
pub fn answer(answer: &Result<Answer, Fault>) -> Vec<u8> {
    match answer {
        Ok(Answer::Done) => message(said::DONE, 0, None, Path::new("")),
        Ok(Answer::Is(is)) => message(if *is { said::YES } else { said::NO }, 0, None, Path::new("")),
        Ok(Answer::Path(path)) => message(said::PATH, 0, None, path),
        Ok(Answer::Mounted(mounted)) => message(said::MOUNTED, 0, mounted.id, &mounted.at),
        // What is no number of the system is a mistake of ours.
        Err(Fault::Os(error)) => {
            message(said::ERRNO, error.raw_os_error().unwrap_or(libc::EIO), None, Path::new(""))
        }
        Err(Fault::NotEmpty) => message(said::NOT_EMPTY, 0, None, Path::new("")),
        Err(Fault::NotOurs) => message(said::NOT_OURS, 0, None, Path::new("")),
        Err(Fault::Kept) => message(said::KEPT, 0, None, Path::new("")),
        Err(Fault::Link) => message(said::LINK, 0, None, Path::new("")),
        // The broker mounts by itself.
        Err(Fault::NoHelper | Fault::NotForAll | Fault::RootAlone | Fault::Broker(_)) => {
            refusal(Refusal::Odd)
        }
    }
}

pub fn refusal(refusal: Refusal) -> Vec<u8> {
    let said = match refusal {
        Refusal::Busy => said::BUSY,
        Refusal::Stranger => said::STRANGER,
        Refusal::Version => said::VERSION,
        Refusal::Odd => said::ODD,
    };
    message(said, 0, None, Path::new(""))
}

/// Device numbers are 0 where there are none: no mount has these.
fn message(said: u8, errno: i32, device: Option<DeviceId>, path: &Path) -> Vec<u8> {
    let DeviceId { major, minor } = device.unwrap_or(DeviceId { major: 0, minor: 0 });
    let numbers = [errno.to_le_bytes(), major.to_le_bytes(), minor.to_le_bytes()];
    [&[VERSION, said, 0, 0][..], &numbers.concat(), path.as_os_str().as_bytes()].concat()
}

/// What the broker says, with the descriptor that it sent.
///
/// # Errors
/// The broker's, and `Broker` where what it says makes no sense.
pub fn read_answer(message: &[u8], device: Option<OwnedFd>) -> Result<Answer, Fault> {
    let odd = Fault::Broker(Silence::Odd);
    match message {
        [_, said::VERSION, ..] => Err(Fault::Broker(Silence::Version)),
        [VERSION, ..] => said(message, device).unwrap_or(Err(odd)),
        [_, ..] => Err(Fault::Broker(Silence::Version)),
        [] => Err(odd),
    }
}

/// `None`: it makes no sense.
fn said(message: &[u8], device: Option<OwnedFd>) -> Option<Result<Answer, Fault>> {
    let mut reader = Reader::new(message, Endian::Little);
    let [_, said, _, _] = reader.array()?;
    let (errno, major, minor) = (reader.u32()?, reader.u32()?, reader.u32()?);
    let path = reader.rest();
    Some(match said {
        said::DONE => Ok(Answer::Done),
        said::NO => Ok(Answer::Is(false)),
        said::YES => Ok(Answer::Is(true)),
        said::PATH => Ok(Answer::Path(path_of(path)?)),
        said::MOUNTED => {
            let id = (minor != 0).then_some(DeviceId { major, minor });
            Ok(Answer::Mounted(Mounted { device: File::from(device?), at: path_of(path)?, id }))
        }
        said::ERRNO => Err(Fault::Os(io::Error::from_raw_os_error(i32::try_from(errno).ok()?))),
        said::NOT_EMPTY => Err(Fault::NotEmpty),
        said::NOT_OURS => Err(Fault::NotOurs),
        said::KEPT => Err(Fault::Kept),
        said::LINK => Err(Fault::Link),
        said::BUSY => Err(Fault::Broker(Silence::Busy)),
        said::STRANGER => Err(Fault::Broker(Silence::Stranger)),
        _ => return None,
    })
}

#[cfg(test)]
mod tests;
