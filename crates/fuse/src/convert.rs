//! Between the engine's values and FUSE's.

use engine_api::{Attr, NewNode, NodeKind, SetTime, Time};
use fuser::{FileAttr, FileType, INodeNo, TimeOrNow};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Unit of `st_blocks`.
const BLOCK: u64 = 512;

pub fn file_type(kind: NodeKind) -> FileType {
    match kind {
        NodeKind::File => FileType::RegularFile,
        NodeKind::Dir => FileType::Directory,
        NodeKind::Symlink => FileType::Symlink,
        NodeKind::Fifo => FileType::NamedPipe,
        NodeKind::Socket => FileType::Socket,
        NodeKind::CharDev => FileType::CharDevice,
        NodeKind::BlockDev => FileType::BlockDevice,
    }
}

pub fn file_attr(ino: u64, attr: &Attr) -> FileAttr {
    FileAttr {
        ino: INodeNo(ino),
        size: attr.size,
        blocks: attr.used.div_ceil(BLOCK),
        atime: system_time(attr.atime),
        mtime: system_time(attr.mtime),
        ctime: system_time(attr.ctime),
        crtime: system_time(attr.crtime),
        kind: file_type(attr.kind),
        // The kernel checks by what it is shown.
        perm: (attr.mode & 0o7777 & !attr.withheld) as u16,
        nlink: u32::try_from(attr.nlink).unwrap_or(u32::MAX),
        uid: attr.uid,
        gid: attr.gid,
        rdev: encode_rdev(attr.rdev),
        blksize: attr.blksize,
        flags: 0,
    }
}

/// What mknod(2) asks for; `None` for a type that it cannot make. A regular file comes as `NewNode::File`.
pub fn new_node(mode: u32, rdev: u32) -> Option<NewNode> {
    let (major, minor) = decode_rdev(rdev);
    match mode & libc::S_IFMT {
        0 | libc::S_IFREG => Some(NewNode::File),
        libc::S_IFIFO => Some(NewNode::Fifo),
        libc::S_IFSOCK => Some(NewNode::Socket),
        libc::S_IFCHR => Some(NewNode::CharDev { major, minor }),
        libc::S_IFBLK => Some(NewNode::BlockDev { major, minor }),
        _ => None,
    }
}

/// The kernel's new_encode_dev: twelve bits of major between the low eight and high twelve of minor.
pub fn encode_rdev((major, minor): (u32, u32)) -> u32 {
    minor & 0xff | (major & 0xfff) << 8 | (minor & !0xff) << 12
}

pub fn decode_rdev(rdev: u32) -> (u32, u32) {
    (rdev >> 8 & 0xfff, rdev & 0xff | rdev >> 12 & 0xfff00)
}

pub fn set_time(time: TimeOrNow) -> SetTime {
    match time {
        TimeOrNow::Now => SetTime::Now,
        TimeOrNow::SpecificTime(time) => SetTime::To(received_time(time)),
    }
}

/// A time that fuser made from what the kernel sent. Before 1970 fuser takes the nanoseconds, which count forwards,
/// as counting backwards (`system_time_from_time` in its time.rs, 0.18); that is undone here.
fn received_time(time: SystemTime) -> Time {
    match time.duration_since(UNIX_EPOCH) {
        Ok(since) => Time { secs: since.as_secs() as i64, nanos: since.subsec_nanos() },
        Err(before) => {
            let before = before.duration();
            Time { secs: -(before.as_secs() as i64), nanos: before.subsec_nanos() }
        }
    }
}

/// To be sent; fuser gets this direction right.
fn system_time(time: Time) -> SystemTime {
    let nanos = Duration::from_nanos(u64::from(time.nanos));
    let whole = Duration::from_secs(time.secs.unsigned_abs());
    let at_second = match time.secs >= 0 {
        true => UNIX_EPOCH.checked_add(whole),
        false => UNIX_EPOCH.checked_sub(whole),
    };
    at_second.and_then(|at| at.checked_add(nanos)).unwrap_or(UNIX_EPOCH)
}

#[cfg(test)]
mod tests;
