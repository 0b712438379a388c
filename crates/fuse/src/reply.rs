//! What the kernel is answered: values as bytes, and the one answer that each request gets.

use crate::abi;
use crate::channel::Channel;
use crate::convert::{BLOCK, encode_rdev, type_bits};
use crate::trust::Trust;
use engine_api::{Attr, FsStat, Time};
use std::io::IoSlice;
use std::time::Duration;

/// Bytes of an entry of READDIR before its name, and of the node before it in READDIRPLUS.
const DIRENT: usize = 24;
const ENTRY: usize = 128;
/// Bytes of what a file that was opened is answered by.
const OPENED: usize = 16;

/// Answers one request, once: dropped unused, it answers EIO, so that nobody waits for ever.
pub struct Answer<'a> {
    to: &'a dyn Channel,
    unique: u64,
    sent: bool,
}

impl<'a> Answer<'a> {
    pub fn new(to: &'a dyn Channel, unique: u64) -> Answer<'a> {
        Answer { to, unique, sent: false }
    }

    /// `parts`, one behind the other.
    pub fn parts<'b>(mut self, parts: impl ExactSizeIterator<Item = &'b [u8]>) {
        self.send(0, parts);
    }

    pub fn bytes(self, bytes: &[u8]) {
        self.parts([bytes].into_iter());
    }

    pub fn ok(self) {
        self.bytes(&[]);
    }

    /// `errno`: positive, as errno(3) has it.
    pub fn error(mut self, errno: i32) {
        self.send(-errno, [].into_iter());
    }

    /// For what the kernel expects no answer to.
    pub fn none(mut self) {
        self.sent = true;
    }

    fn send<'b>(&mut self, error: i32, parts: impl ExactSizeIterator<Item = &'b [u8]>) {
        self.sent = true;
        let mut head = [0; abi::OUT_HEADER];
        let mut all = Vec::with_capacity(parts.len() + 1);
        all.push(IoSlice::new(&[]));
        for part in parts {
            all.push(IoSlice::new(part));
        }
        let len = abi::OUT_HEADER + all.iter().map(|part| part.len()).sum::<usize>();
        head[..4].copy_from_slice(&(len as u32).to_ne_bytes());
        head[4..8].copy_from_slice(&error.to_ne_bytes());
        head[8..].copy_from_slice(&self.unique.to_ne_bytes());
        all[0] = IoSlice::new(&head);
        if let Err(error) = self.to.send(&all) {
            tracing::debug!(%error, "the kernel does not take an answer");
        }
    }
}

impl Drop for Answer<'_> {
    fn drop(&mut self) {
        if !self.sent {
            self.send(-libc::EIO, [].into_iter());
        }
    }
}

/// Fields in the machine's byte order, one behind the other.
#[derive(Default)]
pub struct Fields(Vec<u8>);

impl Fields {
    pub fn new(capacity: usize) -> Fields {
        Fields(Vec::with_capacity(capacity))
    }

    pub fn u16(mut self, value: u16) -> Fields {
        self.0.extend_from_slice(&value.to_ne_bytes());
        self
    }

    pub fn u32(mut self, value: u32) -> Fields {
        self.0.extend_from_slice(&value.to_ne_bytes());
        self
    }

    pub fn u64(mut self, value: u64) -> Fields {
        self.0.extend_from_slice(&value.to_ne_bytes());
        self
    }

    fn zeros(mut self, len: usize) -> Fields {
        self.0.resize(self.0.len() + len, 0);
        self
    }

    fn attr(self, ino: u64, attr: &Attr) -> Fields {
        let (rdev, blocks) = (encode_rdev(attr.rdev), attr.used.div_ceil(BLOCK));
        self.u64(ino)
            .u64(attr.size)
            .u64(blocks)
            .u64(attr.atime.secs as u64)
            .u64(attr.mtime.secs as u64)
            .u64(attr.ctime.secs as u64)
            .u32(attr.atime.nanos)
            .u32(attr.mtime.nanos)
            .u32(attr.ctime.nanos)
            .u32(mode(attr))
            .u32(links(attr))
            .u32(attr.uid)
            .u32(attr.gid)
            .u32(rdev)
            .u32(attr.blksize)
            .u32(0)
    }

    fn entry(self, ino: u64, attr: &Attr, trust: Trust) -> Fields {
        self.u64(ino)
            .u64(attr.node.generation)
            .u64(trust.name.as_secs())
            .u64(trust.attr.as_secs())
            .u32(trust.name.subsec_nanos())
            .u32(trust.attr.subsec_nanos())
            .attr(ino, attr)
    }

    fn opened(self, fh: u64, open_flags: u32) -> Fields {
        self.u64(fh).u32(open_flags).u32(0)
    }

    fn statx_time(self, time: Time) -> Fields {
        self.u64(time.secs as u64).u32(time.nanos).u32(0)
    }

    pub fn bytes(&self) -> &[u8] {
        &self.0
    }
}

/// Type and permissions. The kernel checks by what it is shown.
fn mode(attr: &Attr) -> u32 {
    type_bits(attr.kind) | (attr.mode & 0o7777 & !attr.withheld)
}

fn links(attr: &Attr) -> u32 {
    u32::try_from(attr.nlink).unwrap_or(u32::MAX)
}

pub fn entry(ino: u64, attr: &Attr, trust: Trust) -> Fields {
    Fields::new(ENTRY).entry(ino, attr, trust)
}

pub fn attributes(ino: u64, attr: &Attr, cache: Duration) -> Fields {
    Fields::new(104).u64(cache.as_secs()).u32(cache.subsec_nanos()).u32(0).attr(ino, attr)
}

/// What statx(2) asks beyond stat(2): when the node was born.
pub fn statx(ino: u64, attr: &Attr, cache: Duration) -> Fields {
    Fields::new(288)
        .u64(cache.as_secs())
        .u32(cache.subsec_nanos())
        .u32(0)
        .zeros(16)
        .u32(abi::STATX_BASIC_STATS | abi::STATX_BTIME)
        .u32(attr.blksize)
        .u64(0)
        .u32(links(attr))
        .u32(attr.uid)
        .u32(attr.gid)
        .u16(mode(attr) as u16)
        .u16(0)
        .u64(ino)
        .u64(attr.size)
        .u64(attr.used.div_ceil(BLOCK))
        .u64(0)
        .statx_time(attr.atime)
        .statx_time(attr.crtime)
        .statx_time(attr.ctime)
        .statx_time(attr.mtime)
        .u32(attr.rdev.0)
        .u32(attr.rdev.1)
        .zeros(8)
        .zeros(14 * 8)
}

pub fn opened(fh: u64, open_flags: u32) -> Fields {
    Fields::new(OPENED).opened(fh, open_flags)
}

pub fn created(ino: u64, attr: &Attr, trust: Trust, fh: u64, open_flags: u32) -> Fields {
    Fields::new(ENTRY + OPENED).entry(ino, attr, trust).opened(fh, open_flags)
}

/// The one number of WRITE, GETXATTR and LISTXATTR.
pub fn size(bytes: u32) -> Fields {
    Fields::new(8).u32(bytes).u32(0)
}

/// Counted in sectors, as OpenZFS does: f_frsize 512.
pub fn statfs(stat: &FsStat) -> Fields {
    Fields::new(80)
        .u64(stat.total_bytes / BLOCK)
        .u64(stat.free_bytes / BLOCK)
        .u64(stat.avail_bytes / BLOCK)
        .u64(stat.total_files)
        .u64(stat.free_files)
        .u32(stat.blksize)
        .u32(stat.name_max)
        .u32(BLOCK as u32)
        .zeros(4 + 24)
}

/// What goes before the bytes that an ioctl gives back.
pub fn ioctl() -> Fields {
    Fields::new(16).zeros(16)
}

/// `limits` of FUSE_INIT.
pub struct Limits {
    pub max_readahead: u32,
    pub max_background: u16,
    pub max_write: u32,
    pub max_pages: u16,
}

pub fn init(minor: u32, flags: u64, limits: &Limits) -> Fields {
    Fields::new(64)
        .u32(abi::MAJOR)
        .u32(minor)
        .u32(limits.max_readahead)
        .u32(flags as u32)
        .u16(limits.max_background)
        .u16(limits.max_background / 4 * 3)
        .u32(limits.max_write)
        // Nanoseconds are kept.
        .u32(1)
        .u16(limits.max_pages)
        .u16(0)
        .u32((flags >> 32) as u32)
        .zeros(4 + 24)
}

/// The entries of a directory that one answer has room for.
pub struct Entries {
    fields: Fields,
    room: usize,
}

impl Entries {
    pub fn new(room: u32) -> Entries {
        Entries { fields: Fields::default(), room: room as usize }
    }

    /// False where it has no room, and was not taken.
    pub fn add(&mut self, ino: u64, offset: u64, kind: u32, name: &[u8]) -> bool {
        self.fits(0, name) && {
            self.push(ino, offset, kind, name);
            true
        }
    }

    /// The same with attributes.
    pub fn add_plus(&mut self, ino: u64, attr: &Attr, trust: Trust, offset: u64, name: &[u8]) -> bool {
        self.fits(ENTRY, name) && {
            self.fields = std::mem::take(&mut self.fields).entry(ino, attr, trust);
            self.push(ino, offset, type_bits(attr.kind), name);
            true
        }
    }

    fn fits(&self, before: usize, name: &[u8]) -> bool {
        self.fields.0.len() + before + (DIRENT + name.len()).next_multiple_of(8) <= self.room
    }

    fn push(&mut self, ino: u64, offset: u64, kind: u32, name: &[u8]) {
        let fields = std::mem::take(&mut self.fields);
        let mut fields = fields.u64(ino).u64(offset).u32(name.len() as u32).u32(kind >> 12);
        fields.0.extend_from_slice(name);
        let padded = fields.0.len().next_multiple_of(8);
        fields.0.resize(padded, 0);
        self.fields = fields;
    }

    pub fn into_bytes(self) -> Vec<u8> {
        self.fields.0
    }
}

#[cfg(test)]
mod tests;
