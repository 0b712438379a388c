//! What the kernel asks: the bytes of one request, as values.
//!
//! Every length is checked: what is too short for its fields is [`Malformed`], never a panic.

use crate::abi;
use engine_api::{SetAttr, SetTime, Time};

/// A request that is not what its number promises.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed;

/// Who asks, and for which node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    pub opcode: u32,
    /// What the answer is to carry.
    pub unique: u64,
    pub node: u64,
    pub uid: u32,
    pub gid: u32,
    /// 0 where the process is not in the daemon's PID namespace.
    pub pid: u32,
}

/// One request. Names and data are borrowed from the buffer that it was read into.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Body<'a> {
    Lookup {
        name: &'a [u8],
    },
    Forget {
        lookups: u64,
    },
    BatchForget {
        all: &'a [u8],
    },
    GetAttr {
        fh: Option<u64>,
    },
    Statx {
        fh: Option<u64>,
    },
    /// Of an open file where `fh` is there.
    SetAttr {
        fh: Option<u64>,
        set: SetAttr,
    },
    ReadLink,
    Symlink {
        name: &'a [u8],
        target: &'a [u8],
    },
    MkNod {
        name: &'a [u8],
        mode: u32,
        umask: u32,
        rdev: u32,
    },
    MkDir {
        name: &'a [u8],
        mode: u32,
        umask: u32,
    },
    Unlink {
        name: &'a [u8],
    },
    RmDir {
        name: &'a [u8],
    },
    Rename {
        from: &'a [u8],
        dir: u64,
        to: &'a [u8],
        flags: u32,
    },
    Link {
        node: u64,
        name: &'a [u8],
    },
    Open {
        flags: i32,
    },
    Create {
        name: &'a [u8],
        mode: u32,
        umask: u32,
        flags: i32,
    },
    /// The directory is the header's node.
    TmpFile {
        mode: u32,
        umask: u32,
        flags: i32,
    },
    Read(Read),
    Write {
        fh: u64,
        offset: u64,
        flags: i32,
        write_flags: u32,
        data: &'a [u8],
    },
    StatFs,
    Release {
        fh: u64,
    },
    FSync {
        fh: u64,
    },
    SetXattr {
        name: &'a [u8],
        value: &'a [u8],
        flags: i32,
    },
    GetXattr {
        name: &'a [u8],
        size: u32,
    },
    ListXattr {
        size: u32,
    },
    RemoveXattr {
        name: &'a [u8],
    },
    Init {
        major: u32,
        minor: u32,
        max_readahead: u32,
        flags: u64,
    },
    OpenDir {
        flags: i32,
    },
    ReadDir(Read),
    ReadDirPlus(Read),
    Destroy,
    Ioctl {
        cmd: u32,
        given: &'a [u8],
    },
    FAllocate {
        fh: u64,
        offset: u64,
        len: u64,
        mode: i32,
    },
    Seek {
        fh: u64,
        offset: u64,
        whence: u32,
    },
    /// What is not served here.
    Other,
}

/// What is to be read of an open file or directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Read {
    pub fh: u64,
    pub offset: u64,
    pub size: u32,
    /// open(2)'s flags as they are now.
    pub flags: i32,
}

/// Reads fields in the machine's byte order, one after the other.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn bytes(&mut self, len: usize) -> Result<&'a [u8], Malformed> {
        let (taken, rest) = self.0.split_at_checked(len).ok_or(Malformed)?;
        self.0 = rest;
        Ok(taken)
    }

    fn u32(&mut self) -> Result<u32, Malformed> {
        let bytes = self.bytes(4)?.first_chunk().ok_or(Malformed)?;
        Ok(u32::from_ne_bytes(*bytes))
    }

    fn u64(&mut self) -> Result<u64, Malformed> {
        let bytes = self.bytes(8)?.first_chunk().ok_or(Malformed)?;
        Ok(u64::from_ne_bytes(*bytes))
    }

    /// A string that a NUL ends.
    fn name(&mut self) -> Result<&'a [u8], Malformed> {
        let len = self.0.iter().position(|byte| *byte == 0).ok_or(Malformed)?;
        let name = self.bytes(len)?;
        self.bytes(1)?;
        Ok(name)
    }
}

/// The header of a request, and what comes behind it.
pub fn header(bytes: &[u8]) -> Result<(Header, &[u8]), Malformed> {
    let mut fields = Fields(bytes);
    let len = fields.u32()? as usize;
    let header = Header {
        opcode: fields.u32()?,
        unique: fields.u64()?,
        node: fields.u64()?,
        uid: fields.u32()?,
        gid: fields.u32()?,
        pid: fields.u32()?,
    };
    fields.u32()?;
    if len != bytes.len() { Err(Malformed) } else { Ok((header, fields.0)) }
}

/// What `opcode` asks by the bytes behind the header.
pub fn body(opcode: u32, bytes: &[u8]) -> Result<Body<'_>, Malformed> {
    let mut at = Fields(bytes);
    Ok(match opcode {
        abi::LOOKUP => Body::Lookup { name: at.name()? },
        abi::FORGET => Body::Forget { lookups: at.u64()? },
        abi::BATCH_FORGET => {
            let count = at.u64()? as u32;
            Body::BatchForget { all: at.bytes((count as usize).checked_mul(16).ok_or(Malformed)?)? }
        }
        abi::GETATTR => Body::GetAttr { fh: open_file(&mut at)? },
        abi::STATX => Body::Statx { fh: open_file(&mut at)? },
        abi::SETATTR => set_attr(&mut at)?,
        abi::READLINK => Body::ReadLink,
        abi::SYMLINK => Body::Symlink { name: at.name()?, target: at.name()? },
        abi::MKNOD => {
            let (mode, rdev, umask, _) = (at.u32()?, at.u32()?, at.u32()?, at.u32()?);
            Body::MkNod { name: at.name()?, mode, umask, rdev }
        }
        abi::MKDIR => {
            let (mode, umask) = (at.u32()?, at.u32()?);
            Body::MkDir { name: at.name()?, mode, umask }
        }
        abi::UNLINK => Body::Unlink { name: at.name()? },
        abi::RMDIR => Body::RmDir { name: at.name()? },
        abi::RENAME => {
            let dir = at.u64()?;
            Body::Rename { from: at.name()?, dir, to: at.name()?, flags: 0 }
        }
        abi::RENAME2 => {
            let (dir, flags, _) = (at.u64()?, at.u32()?, at.u32()?);
            Body::Rename { from: at.name()?, dir, to: at.name()?, flags }
        }
        abi::LINK => Body::Link { node: at.u64()?, name: at.name()? },
        abi::OPEN => Body::Open { flags: at.u32()? as i32 },
        abi::CREATE => {
            let (flags, mode, umask, _) = (at.u32()? as i32, at.u32()?, at.u32()?, at.u32()?);
            Body::Create { name: at.name()?, mode, umask, flags }
        }
        abi::TMPFILE => {
            let (flags, mode, umask) = (at.u32()? as i32, at.u32()?, at.u32()?);
            Body::TmpFile { mode, umask, flags }
        }
        abi::READ => Body::Read(read(&mut at)?),
        abi::READDIR => Body::ReadDir(read(&mut at)?),
        abi::READDIRPLUS => Body::ReadDirPlus(read(&mut at)?),
        abi::WRITE => {
            let (fh, offset, size, write_flags) = (at.u64()?, at.u64()?, at.u32()?, at.u32()?);
            let (_owner, flags, _) = (at.u64()?, at.u32()? as i32, at.u32()?);
            Body::Write { fh, offset, flags, write_flags, data: at.bytes(size as usize)? }
        }
        abi::STATFS => Body::StatFs,
        abi::RELEASE | abi::RELEASEDIR => Body::Release { fh: at.u64()? },
        abi::FSYNC | abi::FSYNCDIR => Body::FSync { fh: at.u64()? },
        abi::SETXATTR => {
            let (size, flags) = (at.u32()? as usize, at.u32()? as i32);
            Body::SetXattr { name: at.name()?, value: at.bytes(size)?, flags }
        }
        abi::GETXATTR => {
            let (size, _) = (at.u32()?, at.u32()?);
            Body::GetXattr { name: at.name()?, size }
        }
        abi::LISTXATTR => Body::ListXattr { size: at.u32()? },
        abi::REMOVEXATTR => Body::RemoveXattr { name: at.name()? },
        abi::INIT => {
            let (major, minor, max_readahead, low) = (at.u32()?, at.u32()?, at.u32()?, u64::from(at.u32()?));
            let more = low & abi::init::INIT_EXT != 0;
            let high = if more { u64::from(at.u32()?) } else { 0 };
            Body::Init { major, minor, max_readahead, flags: low | high << 32 }
        }
        abi::OPENDIR => Body::OpenDir { flags: at.u32()? as i32 },
        abi::DESTROY => Body::Destroy,
        abi::IOCTL => {
            let (_fh, _flags, cmd, _arg) = (at.u64()?, at.u32()?, at.u32()?, at.u64()?);
            let (in_size, _out_size) = (at.u32()?, at.u32()?);
            Body::Ioctl { cmd, given: at.bytes(in_size as usize)? }
        }
        abi::FALLOCATE => {
            Body::FAllocate { fh: at.u64()?, offset: at.u64()?, len: at.u64()?, mode: at.u32()? as i32 }
        }
        abi::LSEEK => Body::Seek { fh: at.u64()?, offset: at.u64()?, whence: at.u32()? },
        _ => Body::Other,
    })
}

/// Node numbers with the references that go, from the body of a BATCH_FORGET.
pub fn forgotten(all: &[u8]) -> impl Iterator<Item = (u64, u64)> + '_ {
    all.chunks_exact(16).filter_map(|one| {
        let mut fields = Fields(one);
        Some((fields.u64().ok()?, fields.u64().ok()?))
    })
}

fn read(at: &mut Fields) -> Result<Read, Malformed> {
    let (fh, offset, size) = (at.u64()?, at.u64()?, at.u32()?);
    let (_read_flags, _lock_owner) = (at.u32()?, at.u64()?);
    Ok(Read { fh, offset, size, flags: at.u32()? as i32 })
}

fn open_file(at: &mut Fields) -> Result<Option<u64>, Malformed> {
    let (flags, _, fh) = (at.u32()?, at.u32()?, at.u64()?);
    Ok((flags & abi::GETATTR_FH != 0).then_some(fh))
}

fn set_attr<'a>(at: &mut Fields) -> Result<Body<'a>, Malformed> {
    use abi::setattr::{ATIME, ATIME_NOW, FH, GID, MODE, MTIME, MTIME_NOW, SIZE, UID};
    let (valid, _, fh, size, _owner) = (at.u32()?, at.u32()?, at.u64()?, at.u64()?, at.u64()?);
    let (atime, mtime, _ctime) = (at.u64()? as i64, at.u64()? as i64, at.u64()?);
    let (atime_nanos, mtime_nanos, _) = (at.u32()?, at.u32()?, at.u32()?);
    let (mode, _, uid, gid) = (at.u32()?, at.u32()?, at.u32()?, at.u32()?);
    let has = |bit: u32| valid & bit != 0;
    let time = |bit: u32, now: u32, secs: i64, nanos: u32| match () {
        () if has(now) => Some(SetTime::Now),
        () if has(bit) => Some(SetTime::To(Time { secs, nanos })),
        () => None,
    };
    let set = SetAttr {
        mode: has(MODE).then_some(mode & stdx::posix::MODE_MASK),
        uid: has(UID).then_some(uid),
        gid: has(GID).then_some(gid),
        size: has(SIZE).then_some(size),
        atime: time(ATIME, ATIME_NOW, atime, atime_nanos),
        mtime: time(MTIME, MTIME_NOW, mtime, mtime_nanos),
        guard_ctime: None,
    };
    Ok(Body::SetAttr { fh: has(FH).then_some(fh), set })
}

#[cfg(test)]
mod tests;
