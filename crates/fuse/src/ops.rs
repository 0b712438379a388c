//! The wire side: every FUSE request, unpacked, handed to [`Server`] and answered.

use crate::caller::as_caller;
use crate::convert::{file_attr, new_node, set_time};
use crate::errno::{errno, seek_errno, xattr_errno};
use crate::file_flags;
use crate::server::{Server, WriteHow};
use engine_api::{Attr, Cred, Error, NewNode, Result, Seek, SetAttr};
use fuser::{
    AccessFlags, BsdFileFlags, CopyFileRangeFlags, Errno, FileHandle, Filesystem, FopenFlags, Generation,
    INodeNo, InitFlags, IoctlFlags, KernelConfig, LockOwner, OpenFlags, RenameFlags, ReplyAttr, ReplyCreate,
    ReplyData, ReplyDirectory, ReplyDirectoryPlus, ReplyEmpty, ReplyEntry, ReplyIoctl, ReplyLseek, ReplyOpen,
    ReplyStatfs, ReplyWrite, ReplyXattr, Request, TimeOrNow, WriteFlags,
};
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::SystemTime;

/// Bytes of the largest read and write request.
const MAX_IO: u32 = 1 << 20;

/// What fuser drives.
pub struct Ops {
    pub server: Server,
}

impl Ops {
    /// The kernel is given a node: it holds one more reference.
    fn entry(&self, answer: Result<Attr>, reply: ReplyEntry) {
        match answer.and_then(|attr| Ok((self.server.inodes.remember(attr.node)?, attr))) {
            Ok((ino, attr)) => {
                let cache = self.server.cache_of(attr.node);
                reply.entry(&cache, &file_attr(ino, &attr), Generation(attr.node.generation))
            }
            Err(error) => reply.error(errno(&error)),
        }
    }

    fn attr(&self, ino: INodeNo, answer: Result<Attr>, reply: ReplyAttr) {
        match answer {
            Ok(attr) => reply.attr(&self.server.cache, &file_attr(ino.0, &attr)),
            Err(error) => reply.error(errno(&error)),
        }
    }

    fn opened(&self, answer: Result<u64>, flags: i32, reply: ReplyOpen) {
        match answer {
            Ok(fh) => reply.opened(FileHandle(fh), fopen_flags(flags)),
            Err(error) => reply.error(errno(&error)),
        }
    }
}

/// A file open for appending goes past the page cache: where its data ends up is known only once it is written, since
/// other clients append too, and the kernel would cache it where it thought the end was. So does one whose writes are
/// synchronous: through the page cache, the kernel writes with the whole file locked and asks for an fsync afterwards,
/// so that many writers would wait for one flush each, one behind the other.
fn fopen_flags(flags: i32) -> FopenFlags {
    if flags & libc::O_DSYNC != 0 {
        FopenFlags::FOPEN_DIRECT_IO | FopenFlags::FOPEN_PARALLEL_DIRECT_WRITES
    } else if flags & libc::O_APPEND != 0 {
        FopenFlags::FOPEN_DIRECT_IO
    } else {
        FopenFlags::empty()
    }
}

fn empty(answer: Result<()>, reply: ReplyEmpty) {
    match answer {
        Ok(()) => reply.ok(),
        Err(error) => reply.error(errno(&error)),
    }
}

/// getxattr and listxattr: a size of 0 asks how large a buffer to bring.
fn xattr(answer: Result<Vec<u8>>, size: u32, reply: ReplyXattr) {
    match answer {
        Ok(bytes) if size == 0 => reply.size(bytes.len() as u32),
        Ok(bytes) if bytes.len() > size as usize => reply.error(Errno::ERANGE),
        Ok(bytes) => reply.data(&bytes),
        Err(error) => reply.error(xattr_errno(&error)),
    }
}

impl Filesystem for Ops {
    /// Not among what is wanted: FUSE_ATOMIC_O_TRUNC. With it, opening a running program with O_RDONLY | O_TRUNC empties
    /// it before the kernel finds that it must not (ETXTBSY); without it, the kernel truncates by SETATTR, once it may.
    fn init(&mut self, _req: &Request, config: &mut KernelConfig) -> io::Result<()> {
        let wanted = [
            InitFlags::FUSE_AUTO_INVAL_DATA,
            InitFlags::FUSE_ASYNC_DIO,
            InitFlags::FUSE_DO_READDIRPLUS,
            InitFlags::FUSE_READDIRPLUS_AUTO,
            InitFlags::FUSE_PARALLEL_DIROPS,
            InitFlags::FUSE_CACHE_SYMLINKS,
            InitFlags::FUSE_HANDLE_KILLPRIV_V2,
            InitFlags::FUSE_DIRECT_IO_ALLOW_MMAP,
        ];
        for flag in wanted {
            if config.add_capabilities(flag).is_err() {
                tracing::debug!(?flag, "this kernel's FUSE does not know a flag");
            }
        }
        config.set_max_write(MAX_IO).map_err(|_| io::Error::other("a FUSE that cannot write 1 MiB"))?;
        if let Err(most) = config.set_max_readahead(MAX_IO) {
            let _ = config.set_max_readahead(most);
        }
        let _ = config.set_max_background(64);
        Ok(())
    }

    fn destroy(&mut self) {
        self.server.handles.close_all();
    }

    fn lookup(&self, req: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let answer = self
            .server
            .inodes
            .node(parent.0)
            .and_then(|dir| as_caller(req, |cred| self.server.fs.lookup(cred, dir, name.as_bytes())));
        self.entry(answer, reply);
    }

    fn forget(&self, _req: &Request, ino: INodeNo, nlookup: u64) {
        self.server.inodes.forget(ino.0, nlookup);
    }

    fn getattr(&self, _req: &Request, ino: INodeNo, fh: Option<FileHandle>, reply: ReplyAttr) {
        // An open file keeps its node even where the number went to another.
        let node = match fh.and_then(|fh| self.server.handles.get(fh.0).ok()) {
            Some(handle) => Ok(handle.node),
            None => self.server.inodes.node(ino.0),
        };
        self.attr(ino, node.and_then(|node| self.server.fs.getattr(node)), reply);
    }

    fn setattr(
        &self,
        req: &Request,
        ino: INodeNo,
        mode: Option<u32>,
        uid: Option<u32>,
        gid: Option<u32>,
        size: Option<u64>,
        atime: Option<TimeOrNow>,
        mtime: Option<TimeOrNow>,
        _ctime: Option<SystemTime>,
        fh: Option<FileHandle>,
        _crtime: Option<SystemTime>,
        _chgtime: Option<SystemTime>,
        _bkuptime: Option<SystemTime>,
        _flags: Option<BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        let mode = mode.map(|mode| mode & stdx::posix::MODE_MASK);
        let (atime, mtime) = (atime.map(set_time), mtime.map(set_time));
        let set = SetAttr { mode, uid, gid, size, atime, mtime, guard_ctime: None };
        self.attr(ino, self.server.setattr(req, ino.0, fh.map(|fh| fh.0), &set), reply);
    }

    fn readlink(&self, req: &Request, ino: INodeNo, reply: ReplyData) {
        let node = self.server.inodes.node(ino.0);
        match node.and_then(|node| as_caller(req, |cred| self.server.fs.readlink(cred, node))) {
            Ok(target) => reply.data(&target),
            Err(error) => reply.error(errno(&error)),
        }
    }

    fn mknod(
        &self,
        req: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        _umask: u32,
        rdev: u32,
        reply: ReplyEntry,
    ) {
        let what = new_node(mode, rdev).ok_or_else(|| Error::Invalid("a node of no known kind".into()));
        let answer = what.and_then(|what| self.server.make(req, parent.0, name.as_bytes(), &what, mode));
        self.entry(answer, reply);
    }

    fn mkdir(&self, req: &Request, parent: INodeNo, name: &OsStr, mode: u32, _umask: u32, reply: ReplyEntry) {
        self.entry(self.server.make(req, parent.0, name.as_bytes(), &NewNode::Dir, mode), reply);
    }

    fn unlink(&self, req: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        let answer = self
            .server
            .inodes
            .node(parent.0)
            .and_then(|dir| as_caller(req, |cred| self.server.fs.remove(cred, dir, name.as_bytes())));
        empty(answer.map(drop), reply);
    }

    fn rmdir(&self, req: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        let answer = self
            .server
            .inodes
            .node(parent.0)
            .and_then(|dir| as_caller(req, |cred| self.server.fs.rmdir(cred, dir, name.as_bytes())));
        empty(answer.map(drop), reply);
    }

    fn symlink(&self, req: &Request, parent: INodeNo, name: &OsStr, target: &Path, reply: ReplyEntry) {
        let what = NewNode::Symlink { target: target.as_os_str().as_bytes().to_vec() };
        self.entry(self.server.make(req, parent.0, name.as_bytes(), &what, 0o777), reply);
    }

    fn rename(
        &self,
        req: &Request,
        parent: INodeNo,
        name: &OsStr,
        newparent: INodeNo,
        newname: &OsStr,
        flags: RenameFlags,
        reply: ReplyEmpty,
    ) {
        let (from, to) = ((parent.0, name.as_bytes()), (newparent.0, newname.as_bytes()));
        empty(self.server.rename(req, from, to, flags), reply);
    }

    fn link(&self, req: &Request, ino: INodeNo, newparent: INodeNo, newname: &OsStr, reply: ReplyEntry) {
        let nodes =
            self.server.inodes.node(ino.0).and_then(|node| Ok((node, self.server.inodes.node(newparent.0)?)));
        let answer = nodes.and_then(|(node, dir)| {
            as_caller(req, |cred| self.server.fs.link(cred, node, dir, newname.as_bytes()))
        });
        self.entry(answer.map(|(attr, _)| attr), reply);
    }

    fn open(&self, _req: &Request, ino: INodeNo, flags: OpenFlags, reply: ReplyOpen) {
        self.opened(self.server.open(ino.0), flags.0, reply);
    }

    fn create(
        &self,
        req: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        _umask: u32,
        flags: i32,
        reply: ReplyCreate,
    ) {
        let answer =
            self.server.create(req, parent.0, name.as_bytes(), mode, flags).and_then(|(attr, fh)| {
                let ino =
                    self.server.inodes.remember(attr.node).inspect_err(|_| self.server.handles.close(fh))?;
                Ok((ino, attr, fh))
            });
        match answer {
            Ok((ino, attr, fh)) => reply.created(
                &self.server.cache,
                &file_attr(ino, &attr),
                Generation(attr.node.generation),
                FileHandle(fh),
                fopen_flags(flags),
            ),
            Err(error) => reply.error(errno(&error)),
        }
    }

    fn read(
        &self,
        _req: &Request,
        _ino: INodeNo,
        fh: FileHandle,
        offset: u64,
        size: u32,
        _flags: OpenFlags,
        _lock_owner: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let handle = self.server.handles.get(fh.0);
        let read =
            handle.and_then(|handle| self.server.fs.read(&Cred::root(), handle.node, offset, size as usize));
        match read {
            Ok(buf) => match &buf.parts[..] {
                [] => reply.data(&[]),
                // Straight out of the cache.
                [one] => reply.data(one.bytes()),
                parts => {
                    let mut whole = Vec::with_capacity(buf.len());
                    parts.iter().for_each(|part| whole.extend_from_slice(part.bytes()));
                    reply.data(&whole);
                }
            },
            Err(error) => reply.error(errno(&error)),
        }
    }

    fn write(
        &self,
        req: &Request,
        _ino: INodeNo,
        fh: FileHandle,
        offset: u64,
        data: &[u8],
        write_flags: WriteFlags,
        flags: OpenFlags,
        _lock_owner: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        let how = WriteHow {
            flags: flags.0,
            from_cache: write_flags.contains(WriteFlags::FUSE_WRITE_CACHE),
            kill_setid: write_flags.contains(WriteFlags::FUSE_WRITE_KILL_SUIDGID),
        };
        match self.server.write(req, fh.0, offset, data, &how) {
            Ok(()) => reply.written(data.len() as u32),
            Err(error) => reply.error(errno(&error)),
        }
    }

    fn flush(&self, _req: &Request, _ino: INodeNo, _fh: FileHandle, _owner: LockOwner, reply: ReplyEmpty) {
        // Nothing waits here for a close; so answered once, the kernel does not ask again.
        reply.error(Errno::ENOSYS);
    }

    fn release(
        &self,
        _req: &Request,
        _ino: INodeNo,
        fh: FileHandle,
        _flags: OpenFlags,
        _lock_owner: Option<LockOwner>,
        _flush: bool,
        reply: ReplyEmpty,
    ) {
        self.server.handles.close(fh.0);
        reply.ok();
    }

    fn fsync(&self, _req: &Request, _ino: INodeNo, fh: FileHandle, _datasync: bool, reply: ReplyEmpty) {
        let handle = self.server.handles.get(fh.0);
        empty(handle.and_then(|handle| self.server.fs.commit(handle.node)).map(drop), reply);
    }

    fn opendir(&self, _req: &Request, ino: INodeNo, _flags: OpenFlags, reply: ReplyOpen) {
        let node = self.server.inodes.node(ino.0);
        self.opened(node.and_then(|node| self.server.handles.open(node)), 0, reply);
    }

    fn readdir(&self, _req: &Request, _ino: INodeNo, fh: FileHandle, offset: u64, reply: ReplyDirectory) {
        self.server.list(fh.0, offset, reply);
    }

    fn readdirplus(
        &self,
        _req: &Request,
        _ino: INodeNo,
        fh: FileHandle,
        offset: u64,
        reply: ReplyDirectoryPlus,
    ) {
        self.server.list_plus(fh.0, offset, reply);
    }

    fn releasedir(
        &self,
        _req: &Request,
        _ino: INodeNo,
        fh: FileHandle,
        _flags: OpenFlags,
        reply: ReplyEmpty,
    ) {
        self.server.handles.close(fh.0);
        reply.ok();
    }

    fn fsyncdir(&self, req: &Request, ino: INodeNo, fh: FileHandle, datasync: bool, reply: ReplyEmpty) {
        self.fsync(req, ino, fh, datasync, reply);
    }

    fn statfs(&self, _req: &Request, ino: INodeNo, reply: ReplyStatfs) {
        // Counted in sectors, as OpenZFS does: f_frsize 512.
        const UNIT: u64 = 512;
        match self.server.inodes.node(ino.0).and_then(|node| self.server.fs.statfs(node)) {
            Ok(stat) => reply.statfs(
                stat.total_bytes / UNIT,
                stat.free_bytes / UNIT,
                stat.avail_bytes / UNIT,
                stat.total_files,
                stat.free_files,
                stat.blksize,
                stat.name_max,
                UNIT as u32,
            ),
            Err(error) => reply.error(errno(&error)),
        }
    }

    fn setxattr(
        &self,
        req: &Request,
        ino: INodeNo,
        name: &OsStr,
        value: &[u8],
        flags: i32,
        _position: u32,
        reply: ReplyEmpty,
    ) {
        match self.server.setxattr(req, ino.0, name.as_bytes(), value, flags) {
            Ok(()) => reply.ok(),
            Err(error) => reply.error(xattr_errno(&error)),
        }
    }

    fn getxattr(&self, req: &Request, ino: INodeNo, name: &OsStr, size: u32, reply: ReplyXattr) {
        xattr(self.server.getxattr(req, ino.0, name.as_bytes()), size, reply);
    }

    fn listxattr(&self, req: &Request, ino: INodeNo, size: u32, reply: ReplyXattr) {
        xattr(self.server.listxattr(req, ino.0), size, reply);
    }

    fn removexattr(&self, req: &Request, ino: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        match self.server.removexattr(req, ino.0, name.as_bytes()) {
            Ok(()) => reply.ok(),
            Err(error) => reply.error(xattr_errno(&error)),
        }
    }

    fn access(&self, _req: &Request, _ino: INodeNo, _mask: AccessFlags, reply: ReplyEmpty) {
        // The kernel answers by itself.
        reply.error(Errno::ENOSYS);
    }

    fn ioctl(
        &self,
        req: &Request,
        ino: INodeNo,
        _fh: FileHandle,
        _flags: IoctlFlags,
        cmd: u32,
        in_data: &[u8],
        _out_size: u32,
        reply: ReplyIoctl,
    ) {
        let node = self.server.inodes.node(ino.0);
        match node.and_then(|node| file_flags::answer(&self.server, req, node, cmd, in_data)) {
            Ok(Some(answer)) => reply.ioctl(0, &answer),
            Ok(None) => reply.error(Errno::ENOTTY),
            Err(error) => reply.error(errno(&error)),
        }
    }

    fn fallocate(
        &self,
        _req: &Request,
        _ino: INodeNo,
        fh: FileHandle,
        offset: u64,
        length: u64,
        mode: i32,
        reply: ReplyEmpty,
    ) {
        empty(self.server.fallocate(fh.0, offset, length, mode), reply);
    }

    fn lseek(
        &self,
        _req: &Request,
        _ino: INodeNo,
        fh: FileHandle,
        offset: i64,
        whence: i32,
        reply: ReplyLseek,
    ) {
        let what = match whence {
            libc::SEEK_DATA => Seek::Data,
            libc::SEEK_HOLE => Seek::Hole,
            _ => return reply.error(Errno::EINVAL),
        };
        let Ok(offset) = u64::try_from(offset) else { return reply.error(Errno::ENXIO) };
        let handle = self.server.handles.get(fh.0);
        match handle.and_then(|handle| self.server.fs.seek(&Cred::root(), handle.node, offset, what)) {
            Ok(found) => reply.offset(found as i64),
            Err(error) => reply.error(seek_errno(&error)),
        }
    }

    fn copy_file_range(
        &self,
        _req: &Request,
        _ino_in: INodeNo,
        _fh_in: FileHandle,
        _offset_in: u64,
        _ino_out: INodeNo,
        _fh_out: FileHandle,
        _offset_out: u64,
        _len: u64,
        _flags: CopyFileRangeFlags,
        reply: ReplyWrite,
    ) {
        // The kernel copies through its page cache then.
        reply.error(Errno::ENOSYS);
    }
}
