//! The system calls of [`super`] that std does not wrap, each as a safe function.

use std::fs::File;
use std::io::{self, Seek, SeekFrom};
use std::mem::MaybeUninit;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;

use crate::disk::SectorSize;

// <linux/fs.h>: logical and physical sector size, discard.
const BLKSSZGET: libc::Ioctl = 0x1268;
const BLKPBSZGET: libc::Ioctl = 0x127b;
const BLKDISCARD: libc::Ioctl = 0x1277;

fn check(result: i32) -> io::Result<()> {
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Takes the whole-file lock, or fails at once with `EWOULDBLOCK`. Belongs to the open file, whose
/// descriptors a child process shares until it executes its program: closing ours alone may not
/// unlock it yet.
pub fn lock_exclusively(file: &File) -> io::Result<()> {
    // SAFETY: no memory is passed.
    check(unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) })
}

/// Gives the whole-file lock back at once, whoever else holds descriptors of this open file.
pub fn unlock(file: &File) {
    // SAFETY: no memory is passed. Cannot fail for an open file.
    unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_UN) };
}

/// In bytes.
pub fn device_size(file: &File) -> io::Result<u64> {
    let mut file = file;
    file.seek(SeekFrom::End(0))
}

pub fn device_sectors(file: &File) -> io::Result<SectorSize> {
    let mut logical: libc::c_int = 0;
    let mut physical: libc::c_uint = 0;
    // SAFETY: each request writes one int to the pointer it is given.
    check(unsafe { libc::ioctl(file.as_raw_fd(), BLKSSZGET, &raw mut logical) })?;
    // SAFETY: as above.
    check(unsafe { libc::ioctl(file.as_raw_fd(), BLKPBSZGET, &raw mut physical) })?;
    let logical = u32::try_from(logical).ok().filter(|n| n.is_power_of_two()).unwrap_or(512);
    let physical = if physical.is_power_of_two() { physical.max(logical) } else { logical };
    Ok(SectorSize { logical, physical })
}

/// What O_DIRECT wants: (alignment of memory, alignment of offset and length); (0, 0) means it is
/// not supported. `None` if the kernel does not know.
pub fn direct_alignment(file: &File) -> Option<(usize, usize)> {
    let stat = statx(file, libc::STATX_DIOALIGN).ok()?;
    let known = stat.stx_mask & libc::STATX_DIOALIGN != 0;
    known.then_some((stat.stx_dio_mem_align as usize, stat.stx_dio_offset_align as usize))
}

/// What `mask` asks for, and nothing else.
fn statx(file: &File, mask: libc::c_uint) -> io::Result<libc::statx> {
    let mut found = MaybeUninit::<libc::statx>::zeroed();
    let (path, flags) = (c"".as_ptr(), libc::AT_EMPTY_PATH);
    // SAFETY: the path is an empty C string, and `found` is writable and of the right type.
    check(unsafe { libc::statx(file.as_raw_fd(), path, flags, mask, found.as_mut_ptr()) })?;
    // SAFETY: all zeros are a valid statx, and the call has filled it.
    Ok(unsafe { found.assume_init() })
}

/// Whether a block device forgets what it is told to: the kernel's limit for that is above 0. That
/// of a partition is its disk's.
pub fn discards(device: &File) -> bool {
    let Ok(number) = device.metadata().map(|meta| meta.rdev()) else { return false };
    let place = format!("/sys/dev/block/{}:{}", libc::major(number), libc::minor(number));
    let limit = |queue: &str| std::fs::read_to_string(format!("{place}/{queue}/discard_max_bytes")).ok();
    let limit = limit("queue").or_else(|| limit("../queue"));
    limit.and_then(|text| text.trim().parse::<u64>().ok()).is_some_and(|bytes| bytes > 0)
}

/// Punches a hole into a file, or tells a device to forget the range.
pub fn discard(file: &File, block_device: bool, offset: u64, len: u64) -> io::Result<()> {
    let fd = file.as_raw_fd();
    if block_device {
        let range = [offset, len];
        // SAFETY: the request reads two u64 from the pointer.
        return check(unsafe { libc::ioctl(fd, BLKDISCARD, range.as_ptr()) });
    }
    let too_big = |_| io::Error::from_raw_os_error(libc::EFBIG);
    let (offset, len) = (i64::try_from(offset).map_err(too_big)?, i64::try_from(len).map_err(too_big)?);
    // SAFETY: no memory is passed.
    check(unsafe { libc::fallocate(fd, libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE, offset, len) })
}

/// How many names a file has. Nothing else is asked for: when a program asks for a file's times,
/// Linux (from 6.13 on) notes finer times with the writes that follow, and a write with its flush
/// took a fifth longer.
pub fn links(file: &File) -> io::Result<u32> {
    statx(file, libc::STATX_NLINK).map(|found| found.stx_nlink)
}

/// Whether a file's bytes keep the place that their first write gave them: file systems known for
/// it.
pub fn writes_in_place(file: &File) -> bool {
    let mut found = MaybeUninit::<libc::statfs>::zeroed();
    // SAFETY: `found` is writable and of the right type.
    let result = unsafe { libc::fstatfs(file.as_raw_fd(), found.as_mut_ptr()) };
    // SAFETY: all zeros are a valid statfs, whether or not the call has filled it.
    let kind = unsafe { found.assume_init() }.f_type;
    result == 0 && [libc::EXT4_SUPER_MAGIC, libc::XFS_SUPER_MAGIC].contains(&kind)
}

/// The first of a file's bytes from `offset` to `end` that have no place on the medium, and their
/// number.
pub fn hole(file: &File, offset: u64, end: u64) -> Option<(u64, u64)> {
    let seek = |from: u64, whence| {
        // SAFETY: no memory is passed. Nobody uses the position it leaves behind.
        let found = unsafe { libc::lseek(file.as_raw_fd(), i64::try_from(from).ok()?, whence) };
        u64::try_from(found).ok()
    };
    let start = seek(offset, libc::SEEK_HOLE).filter(|start| *start < end)?;
    // There is no data behind the last.
    let next = seek(start, libc::SEEK_DATA).unwrap_or(end).min(end);
    (next > start).then_some((start, next - start))
}
