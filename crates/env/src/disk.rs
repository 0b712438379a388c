//! Disks as the engine sees them: a size, batches of reads and writes, a flush.
//!
//! I/O is *batch in, batch out*: [`Disk::submit`] issues all entries at once and returns when each
//! has its own result. Entries of a batch are unordered; two that overlap have an undefined
//! outcome. What [`Disk::submit`] wrote is durable only after a later [`Disk::flush`] returned
//! `Ok`. A flush that failed says nothing about what was lost, so every later flush of that handle
//! fails too; only reopening clears it.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

/// How a disk is opened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OpenMode {
    /// No lock is taken, so disks in use can be looked at. Writes, flush and discard fail with
    /// `ReadOnly`.
    ReadOnly,
    /// Exclusive: a second exclusive open, also by another process, fails with `Busy`.
    ReadWrite,
}

/// Sector sizes in bytes, powers of two; `physical` (≥ `logical`) is what ashift should follow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SectorSize {
    pub logical: u32,
    pub physical: u32,
}

/// Why an I/O is done; schedulers above order by it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum IoClass {
    SyncRead,
    SyncWrite,
    AsyncRead,
    AsyncWrite,
    Scrub,
    Trim,
}

/// What a disk says when it says no.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DiskError {
    /// The device failed with this `errno`; the transfer may be partial.
    Io(i32),
    /// The device has vanished; nothing on this handle will succeed again.
    Gone,
    /// Opened, or exported by the system, read-only.
    ReadOnly,
    /// Beyond the end of the disk.
    OutOfRange,
    /// Somebody else holds it exclusively.
    Busy,
    /// No such path.
    NotFound,
    /// Permission denied.
    Denied,
    /// The device cannot do this.
    Unsupported,
}

impl fmt::Display for DiskError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DiskError::Io(errno) => write!(f, "input/output error {errno}"),
            DiskError::Gone => f.write_str("device is gone"),
            DiskError::ReadOnly => f.write_str("device is read-only"),
            DiskError::OutOfRange => f.write_str("beyond the end of the device"),
            DiskError::Busy => f.write_str("device is in use"),
            DiskError::NotFound => f.write_str("no such device"),
            DiskError::Denied => f.write_str("permission denied"),
            DiskError::Unsupported => f.write_str("not supported by the device"),
        }
    }
}

impl std::error::Error for DiskError {}

/// The transfer of one I/O: the whole buffer or an error.
pub enum DiskOp<'a> {
    Read(&'a mut [u8]),
    Write(&'a [u8]),
    /// One write of parts that lie in several places of memory, one behind the other on disk.
    Gather(&'a [&'a [u8]]),
}

impl DiskOp<'_> {
    /// What a write brings, in one piece; a read brings nothing.
    pub fn payload(&self) -> Cow<'_, [u8]> {
        match self {
            DiskOp::Read(_) => Cow::Borrowed(&[]),
            DiskOp::Write(data) => Cow::Borrowed(data),
            DiskOp::Gather(parts) => Cow::Owned(parts.concat()),
        }
    }
}

/// One entry of a batch. `result` is set by [`Disk::submit`]; before, it is an error.
pub struct DiskIo<'a> {
    pub op: DiskOp<'a>,
    /// In bytes.
    pub offset: u64,
    pub class: IoClass,
    pub result: Result<(), DiskError>,
}

impl<'a> DiskIo<'a> {
    /// A read that fills `buf`.
    pub fn read(offset: u64, buf: &'a mut [u8], class: IoClass) -> DiskIo<'a> {
        DiskIo { op: DiskOp::Read(buf), offset, class, result: Err(DiskError::Unsupported) }
    }

    /// A write of all of `data`.
    pub fn write(offset: u64, data: &'a [u8], class: IoClass) -> DiskIo<'a> {
        DiskIo { op: DiskOp::Write(data), offset, class, result: Err(DiskError::Unsupported) }
    }

    /// One write of all parts, one behind the other.
    pub fn gather(offset: u64, parts: &'a [&'a [u8]], class: IoClass) -> DiskIo<'a> {
        DiskIo { op: DiskOp::Gather(parts), offset, class, result: Err(DiskError::Unsupported) }
    }

    /// Bytes to transfer.
    pub fn len(&self) -> usize {
        match &self.op {
            DiskOp::Read(buf) => buf.len(),
            DiskOp::Write(data) => data.len(),
            DiskOp::Gather(parts) => parts.iter().map(|part| part.len()).sum(),
        }
    }

    /// True if there is nothing to transfer.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn is_write(&self) -> bool {
        !matches!(self.op, DiskOp::Read(_))
    }

    /// Refuses what leaves a disk of `size` bytes, and writes to one that is `read_only`.
    pub fn check(&self, size: u64, read_only: bool) -> Result<(), DiskError> {
        if read_only && self.is_write() {
            return Err(DiskError::ReadOnly);
        }
        match self.offset.checked_add(self.len() as u64) {
            Some(end) if end <= size => Ok(()),
            _ => Err(DiskError::OutOfRange),
        }
    }
}

/// An open disk. Closed, and its exclusive lock released, on drop of the last reference.
pub trait Disk: Send + Sync {
    /// In bytes, as of the open or the last [`Disk::refresh`].
    fn size(&self) -> u64;

    /// Takes note that the device has grown; gives its size now. Not every disk can grow while it
    /// is open.
    fn refresh(&self) -> u64 {
        self.size()
    }

    /// False once nobody else can find the disk any more, though this handle may still be served: a
    /// file that was deleted.
    fn is_there(&self) -> bool {
        true
    }

    fn sector_size(&self) -> SectorSize;

    /// Issues all entries at once, returns when each has its result.
    fn submit(&self, batch: &mut [DiskIo<'_>]);

    /// Makes durable all writes whose `submit` returned before this call. A failure is remembered:
    /// see the module.
    fn flush(&self) -> Result<(), DiskError>;

    /// Whether bytes are given their place on the medium when they are first written, and keep it:
    /// files of a file system that writes in place. The flush behind such a write takes longer, for
    /// the place has to be noted.
    fn places_on_write(&self) -> bool {
        false
    }

    /// The first of these bytes that have no place yet, and their number; `None` where all have one
    /// or nobody knows.
    fn hole(&self, _offset: u64, _len: u64) -> Option<(u64, u64)> {
        None
    }

    /// Whether the device can be told so, as far as is known.
    fn can_discard(&self) -> bool {
        true
    }

    /// Tells the device that these bytes are not needed. They read as anything afterwards.
    fn discard(&self, offset: u64, len: u64) -> Result<(), DiskError>;

    /// A batch of one read.
    fn read_at(&self, offset: u64, buf: &mut [u8], class: IoClass) -> Result<(), DiskError> {
        let mut batch = [DiskIo::read(offset, buf, class)];
        self.submit(&mut batch);
        batch[0].result
    }

    /// A batch of one write.
    fn write_at(&self, offset: u64, data: &[u8], class: IoClass) -> Result<(), DiskError> {
        let mut batch = [DiskIo::write(offset, data, class)];
        self.submit(&mut batch);
        batch[0].result
    }
}

/// From names to disks.
pub trait Disks: Send + Sync {
    fn open(&self, path: &str, mode: OpenMode) -> Result<Arc<dyn Disk>, DiskError>;

    /// Whether the path leads to a block device; else it is a file. Simulated disks are files.
    fn is_block_device(&self, _path: &str) -> bool {
        false
    }

    /// Paths of everything in the folder that may be a disk (regular files, block devices), sorted.
    fn list(&self, dir: &str) -> Result<Vec<String>, DiskError>;
}
