//! Real disks: regular files and block devices, used whole and raw (partition tables are the
//! caller's affair).
//!
//! A disk has up to two descriptors of one inode. The *direct* one (O_DIRECT) serves whatever is
//! aligned in offset and length; memory that is not aligned is bounced through an [`AlignedBuf`],
//! parts of one write that are not are copied together. The *buffered* one serves the rest, and
//! everything on file systems without O_DIRECT. A batch goes through the calling thread's io_uring
//! ([`crate::uring`]), a batch of one by `preadv`/`pwritev`, which costs the same one system call;
//! so does everything where the kernel refuses io_uring.
//!
//! Invariants: a failed flush makes every later flush of this handle fail; no transfer leaves the
//! size last seen, which only grows.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};

use crate::aligned::{ALIGN, AlignedBuf, is_aligned};
use crate::disk::{Disk, DiskError, DiskIo, DiskOp, Disks, OpenMode, SectorSize};
use crate::quirk::{Quirk, Quirks};
use crate::uring::{self, Transfer};

mod sys;

/// Bytes of a gathered part at least: a page, which the kernel would have to note by itself anyway.
const PART_MIN: usize = 4096;

/// The machine's files and block devices, by path.
pub struct FileDisks {
    quirks: Quirks,
}

impl FileDisks {
    /// [`Quirk::NoDirect`] is looked at on open, [`Quirk::NoUring`] on every batch.
    pub fn new(quirks: Quirks) -> FileDisks {
        FileDisks { quirks }
    }
}

impl Disks for FileDisks {
    fn open(&self, path: &str, mode: OpenMode) -> Result<Arc<dyn Disk>, DiskError> {
        let disk = FileDisk::open(path, mode, self.quirks.clone()).map_err(|e| from_io(&e))?;
        Ok(Arc::new(disk))
    }

    fn is_block_device(&self, path: &str) -> bool {
        fs::metadata(path).is_ok_and(|meta| meta.file_type().is_block_device())
    }

    fn list(&self, dir: &str) -> Result<Vec<String>, DiskError> {
        let mut found = Vec::new();
        for entry in fs::read_dir(dir).map_err(|e| from_io(&e))? {
            let path = entry.map_err(|e| from_io(&e))?.path();
            // Follows links, since /dev/disk/by-id has nothing else. One that dangles is no disk.
            let Ok(meta) = fs::metadata(&path) else { continue };
            if (meta.is_file() || meta.file_type().is_block_device())
                && let Some(path) = path.to_str()
            {
                found.push(path.to_owned());
            }
        }
        found.sort();
        Ok(found)
    }
}

fn from_io(error: &io::Error) -> DiskError {
    error.raw_os_error().map_or(DiskError::Unsupported, from_errno)
}

fn from_errno(errno: i32) -> DiskError {
    match errno {
        libc::ENOENT | libc::ENOTDIR => DiskError::NotFound,
        libc::EACCES | libc::EPERM => DiskError::Denied,
        libc::EBUSY | libc::EWOULDBLOCK => DiskError::Busy,
        libc::EROFS => DiskError::ReadOnly,
        libc::ENODEV | libc::ENXIO | libc::ENOMEDIUM => DiskError::Gone,
        libc::EOPNOTSUPP | libc::ENOSYS | libc::ENOTTY => DiskError::Unsupported,
        errno => DiskError::Io(errno),
    }
}

struct FileDisk {
    buffered: File,
    direct: Option<Direct>,
    size: AtomicU64,
    sector: SectorSize,
    block_device: bool,
    /// A file of a file system that writes in place.
    in_place: bool,
    read_only: bool,
    /// The errno of the first failed flush, 0 while all went well.
    flush_failed: AtomicI32,
    quirks: Quirks,
}

/// The O_DIRECT descriptor, and the alignment it asks of offset and length, and of memory.
struct Direct {
    file: File,
    offset_align: usize,
    memory_align: usize,
}

impl FileDisk {
    fn open(path: &str, mode: OpenMode, quirks: Quirks) -> io::Result<FileDisk> {
        let kind = fs::metadata(path)?.file_type();
        let block_device = kind.is_block_device();
        if !block_device && !kind.is_file() {
            return Err(io::Error::from_raw_os_error(libc::EOPNOTSUPP));
        }
        let write = mode == OpenMode::ReadWrite;
        // For a block device O_EXCL without O_CREAT claims it against mounts and other claimants.
        let flags = if write && block_device { libc::O_EXCL } else { 0 };
        let buffered = OpenOptions::new().read(true).write(write).custom_flags(flags).open(path)?;
        if write && !block_device {
            sys::lock_exclusively(&buffered)?;
        }
        let (size, sector) = if block_device {
            (sys::device_size(&buffered)?, sys::device_sectors(&buffered)?)
        } else {
            // Files have no sectors; below the usual page and file system block every write would
            // be a copy.
            (buffered.metadata()?.len(), SectorSize { logical: 512, physical: 4096 })
        };
        let direct =
            if quirks.is_on(Quirk::NoDirect) { None } else { Direct::open(&buffered, write, sector) };
        let flush_failed = AtomicI32::new(0);
        let size = AtomicU64::new(size);
        let in_place = !block_device && sys::writes_in_place(&buffered);
        Ok(FileDisk {
            buffered,
            direct,
            size,
            sector,
            block_device,
            in_place,
            read_only: !write,
            flush_failed,
            quirks,
        })
    }

    /// Direct descriptor, if the transfer's place allows it; memory is another question.
    fn direct_for(&self, io: &DiskIo<'_>) -> Option<&Direct> {
        let place = |d: &&Direct| {
            io.offset.is_multiple_of(d.offset_align as u64) && io.len().is_multiple_of(d.offset_align)
        };
        self.direct.as_ref().filter(place)
    }

    /// Turns an entry into a transfer, through `bounce` if its memory is not aligned.
    fn plan(&self, io: &mut DiskIo<'_>, bounce: &mut Option<AlignedBuf>) -> Transfer {
        let offset = io.offset;
        let (fd, align, len_align) = match self.direct_for(io) {
            Some(direct) => (direct.file.as_raw_fd(), direct.memory_align, direct.offset_align),
            None => (self.buffered.as_raw_fd(), 1, 1),
        };
        match &mut io.op {
            DiskOp::Read(buf) if is_aligned(buf, align) => Transfer::read(fd, offset, buf),
            DiskOp::Read(buf) => Transfer::read(fd, offset, bounce.insert(AlignedBuf::zeroed(buf.len()))),
            DiskOp::Write(data) if is_aligned(data, align) => Transfer::write(fd, offset, data),
            DiskOp::Write(data) => Transfer::write(fd, offset, bounce.insert(AlignedBuf::from_slice(data))),
            DiskOp::Gather(parts) if can_gather(parts, align, len_align) => {
                Transfer::gather(fd, offset, parts)
            }
            DiskOp::Gather(parts) => Transfer::write(fd, offset, bounce.insert(AlignedBuf::concat(parts))),
        }
    }
}

/// Whether parts are taken from where they are: all are aligned, and none so small that copying it
/// is quicker.
fn can_gather(parts: &[&[u8]], align: usize, len_align: usize) -> bool {
    let fits = |part: &&[u8]| {
        is_aligned(part, align) && part.len() >= PART_MIN && part.len().is_multiple_of(len_align)
    };
    parts.len() <= uring::PARTS_MAX && parts.iter().all(fits)
}

impl Drop for FileDisk {
    fn drop(&mut self) {
        if !self.read_only && !self.block_device {
            sys::unlock(&self.buffered);
        }
    }
}

impl Direct {
    /// `None` where the file system does not support O_DIRECT.
    fn open(buffered: &File, write: bool, sector: SectorSize) -> Option<Direct> {
        // Through /proc: the same inode even if the path has changed meanwhile, and no second
        // O_EXCL claim.
        let path = format!("/proc/self/fd/{}", buffered.as_raw_fd());
        let file = OpenOptions::new().read(true).write(write).custom_flags(libc::O_DIRECT).open(path).ok()?;
        let (memory_align, offset_align) = {
            // Kernels before 6.1 do not tell; the logical sector is what they check.
            let sector = sector.logical as usize;
            sys::direct_alignment(&file).unwrap_or((sector, sector))
        };
        let usable = offset_align > 0 && offset_align <= ALIGN && memory_align <= ALIGN;
        usable.then_some(Direct { file, offset_align, memory_align: memory_align.max(1) })
    }
}

impl Disk for FileDisk {
    fn size(&self) -> u64 {
        self.size.load(Ordering::Relaxed)
    }

    fn refresh(&self) -> u64 {
        let now = match self.block_device {
            true => sys::device_size(&self.buffered).ok(),
            false => self.buffered.metadata().ok().map(|meta| meta.len()),
        };
        let now = now.unwrap_or(0);
        self.size.fetch_max(now, Ordering::Relaxed).max(now)
    }

    fn is_there(&self) -> bool {
        self.block_device || sys::links(&self.buffered).map_or(true, |links| links > 0)
    }

    fn sector_size(&self) -> SectorSize {
        self.sector
    }

    fn submit(&self, batch: &mut [DiskIo<'_>]) {
        let mut bounces: Vec<Option<AlignedBuf>> = Vec::new();
        bounces.resize_with(batch.len(), || None);
        let mut owners = Vec::with_capacity(batch.len());
        let mut transfers = Vec::with_capacity(batch.len());
        for (i, (io, bounce)) in batch.iter_mut().zip(&mut bounces).enumerate() {
            io.result = io.check(self.size(), self.read_only);
            if io.result.is_ok() && !io.is_empty() {
                owners.push(i);
                transfers.push(self.plan(io, bounce));
            }
        }
        // SAFETY: every transfer points into a buffer of `batch` or of `bounces`, which stay
        // borrowed or owned, and are not touched, until this returns.
        unsafe { uring::run(&mut transfers, self.quirks.is_on(Quirk::NoUring)) };
        for (i, transfer) in owners.into_iter().zip(transfers) {
            let io = &mut batch[i];
            io.result = transfer.result().map_err(from_errno);
            if let (Ok(()), DiskOp::Read(buf), Some(bounce)) = (io.result, &mut io.op, &bounces[i]) {
                buf.copy_from_slice(bounce);
            }
        }
    }

    fn flush(&self) -> Result<(), DiskError> {
        if self.read_only {
            return Err(DiskError::ReadOnly);
        }
        let failed = self.flush_failed.load(Ordering::Acquire);
        if failed != 0 {
            return Err(from_errno(failed));
        }
        // What is written to a deleted file ends with this handle: nothing of it is durable.
        if !self.is_there() {
            return Err(DiskError::Gone);
        }
        self.buffered.sync_data().map_err(|error| {
            // The kernel reports a lost write once and then forgets it; we must not.
            let errno = error.raw_os_error().unwrap_or(libc::EIO);
            let _ = self.flush_failed.compare_exchange(0, errno, Ordering::AcqRel, Ordering::Acquire);
            from_errno(errno)
        })
    }

    fn places_on_write(&self) -> bool {
        self.in_place
    }

    fn hole(&self, offset: u64, len: u64) -> Option<(u64, u64)> {
        let end = offset.checked_add(len)?.min(self.size());
        sys::hole(&self.buffered, offset, end).filter(|_| self.in_place)
    }

    fn can_discard(&self) -> bool {
        !self.block_device || sys::discards(&self.buffered)
    }

    fn discard(&self, offset: u64, len: u64) -> Result<(), DiskError> {
        if self.read_only {
            return Err(DiskError::ReadOnly);
        }
        if offset.checked_add(len).is_none_or(|end| end > self.size()) {
            return Err(DiskError::OutOfRange);
        }
        if len == 0 {
            return Ok(());
        }
        sys::discard(&self.buffered, self.block_device, offset, len).map_err(|e| from_io(&e))
    }
}

#[cfg(test)]
mod tests;
