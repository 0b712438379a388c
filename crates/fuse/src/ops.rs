//! Each request, handed to [`Server`] and answered.

use crate::abi;
use crate::buffers::{Buffer, MAX_IO};
use crate::channel::Channel;
use crate::convert::new_node;
use crate::device::Device;
use crate::errno::{errno, seek_errno, xattr_errno};
use crate::file_flags;
use crate::handles::is_direct;
use crate::inodes::Mark;
use crate::notifier::Notifier;
use crate::reply::{self, Answer, Entries, Fields, Limits};
use crate::request::{self, Body, Header, Read};
use crate::ring;
use crate::server::{Opened, Server, WriteHow};
use crate::stats::{self, Requests};
use crate::trust::Trust;
use analytics::{Observer, Protocol};
use engine_api::{Attr, Changed, Error, NewNode, NodeId, NodeKind, ReadBuf, Result, Seek, Watcher};
use std::io;
use std::sync::Arc;
use std::time::Duration;
use stdx::trail;

/// Reads ahead and asynchronous writes that the kernel has under way at a time.
const BACKGROUND: u16 = 64;
const PAGE: usize = 4096;
/// How long the kernel may take to write what a mapping has changed.
const FLUSH: Duration = Duration::from_secs(1);
/// How long a write past the page cache waits until its readers' pages are dropped.
const DROP: Duration = Duration::from_millis(20);
/// Parts of one answer; writev(2) takes 1,024.
const PIECES: usize = 512;

/// What is asked of the kernel. Not among it: FUSE_ATOMIC_O_TRUNC. With it, opening a running
/// program with O_RDONLY | O_TRUNC empties it before the kernel finds that it must not (ETXTBSY);
/// without it, the kernel truncates by SETATTR, once it may.
///
/// With POSIX_ACL the kernel asks for the ACL of what it checks, and obeys it, as it does with file
/// systems of its own. That is asked of every mount, for `acltype` may be set at any time: under
/// other values it is told that there is none. With DONT_MASK the umask is ours to apply, because a
/// default ACL takes its place.
///
/// Besides it wants one of two, by [`Ops::drops`].
const WANTED: u64 = abi::init::ASYNC_READ
    | abi::init::BIG_WRITES
    | abi::init::DONT_MASK
    | abi::init::POSIX_ACL
    | abi::init::ASYNC_DIO
    | abi::init::DO_READDIRPLUS
    | abi::init::READDIRPLUS_AUTO
    | abi::init::PARALLEL_DIROPS
    | abi::init::MAX_PAGES
    | abi::init::CACHE_SYMLINKS
    | abi::init::HANDLE_KILLPRIV_V2
    | abi::init::INIT_EXT
    | abi::init::DIRECT_IO_ALLOW_MMAP;

/// What a connection asks of one file system.
pub struct Ops {
    server: Server,
    notifier: Arc<Notifier>,
    requests: Arc<Requests>,
    observer: Arc<Observer>,
    /// As who looks at requests sees whoever sends them.
    client: Arc<str>,
}

impl Ops {
    pub fn new(
        server: Server,
        notifier: Arc<Notifier>,
        requests: Arc<Requests>,
        observer: Arc<Observer>,
    ) -> Ops {
        Ops { server, notifier, requests, observer, client: "local".into() }
    }

    /// Answers INIT, which comes first and once. `rings`: requests may come through rings; whether
    /// they will, where all of them are there.
    ///
    /// # Errors
    /// `Unsupported` for a kernel that is too old; `InvalidData` where something else came first.
    pub fn begin(&self, device: &Device, rings: bool) -> io::Result<bool> {
        let mut buffer = Buffer::new()?;
        device.receive(&mut buffer)?;
        let (header, rest) = request::header(&buffer).map_err(|_| io::ErrorKind::InvalidData)?;
        let answer = Answer::new(device, header.unique);
        let Ok(Body::Init { major, minor, max_readahead, flags }) = request::body(header.opcode, rest) else {
            answer.error(libc::EIO);
            return Err(io::ErrorKind::InvalidData.into());
        };
        if major != abi::MAJOR || minor < abi::OLDEST_MINOR {
            answer.error(libc::EPROTO);
            return Err(io::Error::new(
                io::ErrorKind::Unsupported,
                format!("FUSE {major}.{minor} of this kernel"),
            ));
        }
        self.server.begin(minor.min(abi::MINOR));
        self.notifier.begin(minor);
        let over_io_uring = if rings { abi::init::OVER_IO_URING } else { 0 };
        let wanted = WANTED | self.drops() | over_io_uring;
        let over_rings = flags & wanted & abi::init::OVER_IO_URING != 0;
        let max_io = if over_rings { ring::MAX_IO } else { MAX_IO };
        let limits = Limits {
            max_readahead: max_readahead.min(MAX_IO as u32),
            max_background: BACKGROUND,
            max_write: max_io as u32,
            max_pages: (max_io / PAGE) as u16,
        };
        answer.bytes(reply::init(abi::MINOR, flags & wanted, &limits).bytes());
        Ok(over_rings)
    }

    /// When the kernel drops what it has of a file's data: when it is told to, or else when it sees
    /// another mtime or size. By mtime it would also drop what its own programs have just written.
    fn drops(&self) -> u64 {
        if self.server.is_told() { abi::init::EXPLICIT_INVAL_DATA } else { abi::init::AUTO_INVAL_DATA }
    }

    /// The connection is over.
    pub fn close(&self) {
        self.server.handles.close_all();
    }

    /// Serve one request; false where the kernel says good-bye.
    pub fn serve(&self, to: &dyn Channel, bytes: &[u8]) -> bool {
        let Ok((header, rest)) = request::header(bytes) else {
            tracing::error!(bytes = bytes.len(), "not a request of FUSE");
            return false;
        };
        self.requests.add(header.opcode);
        let answer = Answer::new(to, header.unique);
        match request::body(header.opcode, rest) {
            Ok(Body::Destroy) => {
                answer.ok();
                return false;
            }
            Ok(body @ (Body::Forget { .. } | Body::BatchForget { .. })) => {
                self.answer(&header, body, answer);
            }
            Ok(body) => self.observed(&header, body, answer),
            Err(request::Malformed) => answer.error(libc::EIO),
        }
        true
    }

    /// Answers what somebody has asked for, and not the kernel by itself, and shows it to who looks
    /// at requests. The answer is given to the kernel as a part of that.
    fn observed(&self, req: &Header, body: Body, answer: Answer) {
        let operation = || stats::operation(req.opcode);
        let mut live = self.observer.begin((Protocol::Local, operation), &self.client, None);
        analytics::working(&mut live, || {
            trail::note(|trail| trail.user = Some(req.uid));
            self.answer(req, body, answer);
        });
    }

    fn answer(&self, req: &Header, body: Body, answer: Answer) {
        let server = &self.server;
        let mark = server.inodes.mark();
        match body {
            Body::Lookup { name } => self.entry(mark, (req.node, name), server.lookup(req, name), answer),
            Body::Forget { lookups } => {
                server.inodes.forget(req.node, lookups);
                answer.none();
            }
            Body::BatchForget { all } => {
                request::forgotten(all).for_each(|(node, lookups)| server.inodes.forget(node, lookups));
                answer.none();
            }
            Body::GetAttr { fh } => {
                give(server.getattr(req.node, fh), answer, |attr| self.attributes(req.node, &attr));
            }
            Body::Statx { fh } => give(server.getattr(req.node, fh), answer, |attr| {
                reply::statx(req.node, &attr, server.trust(&attr))
            }),
            Body::SetAttr { fh, set } => {
                give(server.setattr(req, fh, &set), answer, |attr| self.attributes(req.node, &attr));
            }
            Body::ReadLink => self.read_link(req, answer),
            Body::Symlink { name, target } => {
                let what = NewNode::Symlink { target: target.to_vec() };
                self.entry(mark, (req.node, name), server.make(req, name, &what, 0o777, 0), answer);
            }
            Body::MkNod { name, mode, umask, rdev } => {
                let made = new_node(mode, rdev).and_then(|what| server.make(req, name, &what, mode, umask));
                self.entry(mark, (req.node, name), made, answer);
            }
            Body::MkDir { name, mode, umask } => {
                let made = server.make(req, name, &NewNode::Dir, mode, umask);
                self.entry(mark, (req.node, name), made, answer);
            }
            Body::Unlink { name } => done(server.unlink(req, name), answer),
            Body::RmDir { name } => done(server.rmdir(req, name), answer),
            Body::Rename { from, dir, to, flags } => {
                let renamed = server.rename(req, (req.node, from), (dir, to), flags);
                let moved = renamed.as_ref().ok().copied().flatten();
                done(renamed.map(drop), answer);
                self.notifier.recheck(mark, moved.as_slice());
            }
            Body::Link { node, name } => {
                self.entry(mark, (req.node, name), server.link(req, node, name), answer);
            }
            Body::Open { flags } => {
                let opened = server.open(req.node, flags);
                self.opened(req.node, opened, open_flags(flags), answer);
            }
            Body::Create { name, mode, umask, flags } => {
                let made = server.create(req, name, (mode, umask), flags);
                self.created(mark, Some((req.node, name)), made, flags, answer);
            }
            Body::TmpFile { mode, umask, flags } => {
                self.created(mark, None, server.create_unnamed(req, (mode, umask), flags), flags, answer);
            }
            Body::Read(asked) => read(server.read(&asked), answer),
            Body::Write { fh, offset, flags, write_flags, data } => {
                let how = WriteHow {
                    flags,
                    from_cache: write_flags & abi::WRITE_CACHE != 0,
                    kill_setid: write_flags & abi::WRITE_KILL_SUIDGID != 0,
                };
                self.written(server.write(req, fh, offset, data, &how), data.len(), answer);
            }
            Body::StatFs => give(server.statfs(req.node), answer, |stat| reply::statfs(&stat)),
            Body::Release { fh } => {
                server.handles.close(fh);
                answer.ok();
            }
            Body::FSync { fh } => done(server.commit(fh), answer),
            Body::SetXattr { name, value, flags } => {
                xattr_done(server.setxattr(req, name, value, flags), answer);
            }
            Body::GetXattr { name, size } => xattr(server.getxattr(req, name), size, answer),
            Body::ListXattr { size } => xattr(server.listxattr(req), size, answer),
            Body::RemoveXattr { name } => xattr_done(server.removexattr(req, name), answer),
            Body::OpenDir { flags } => {
                self.opened(req.node, server.open_dir(req.node, flags), 0, answer);
            }
            Body::ReadDir(asked) => self.list(&asked, false, answer),
            Body::ReadDirPlus(asked) => self.list(&asked, true, answer),
            Body::Ioctl { cmd, given } => self.ioctl(req, cmd, given, answer),
            Body::FAllocate { fh, offset, len, mode } => {
                done(server.fallocate(fh, offset, len, mode), answer);
            }
            Body::Seek { fh, offset, whence } => self.seek(req, fh, offset, whence, answer),
            // It came already.
            Body::Init { .. } | Body::Destroy => answer.error(libc::EIO),
            // Answered so once, the kernel does not ask again: it lets a flush and an interrupt be,
            // checks access by itself, and copies a range through its page cache.
            Body::Other => answer.error(libc::ENOSYS),
        }
    }

    /// So many bytes were written, of the node past pages that the kernel may hold.
    fn written(&self, written: Result<Option<NodeId>>, bytes: usize, answer: Answer) {
        if let Ok(Some(node)) = written {
            self.notifier.changed(node, Changed::DATA);
            self.notifier.wait(DROP);
        }
        give(written, answer, |_| reply::size(bytes as u32));
    }

    /// A node was opened; `flags` are more for the kernel. It is to show the access time at once.
    fn opened(&self, ino: u64, opened: Result<Opened>, flags: u32, answer: Answer) {
        if opened.as_ref().is_ok_and(|opened| opened.is_accessed) {
            self.notifier.attributes(ino);
        }
        give(opened, answer, |opened| reply::opened(opened.fh, opened.flags | flags));
    }

    /// The kernel would keep the target for good. Where reading it left an access time, the next
    /// reading may leave another one, so the kernel is to ask again.
    fn read_link(&self, req: &Header, answer: Answer) {
        let (target, accessed) = self
            .server
            .readlink(req)
            .map_or_else(|error| (Err(error), None), |(target, accessed)| (Ok(target), accessed));
        give_bytes(target, answer);
        if let Some(node) = accessed {
            self.notifier.changed(node, Changed::DATA);
        }
    }

    fn list(&self, asked: &Read, plus: bool, answer: Answer) {
        let mut entries = Entries::new(asked.size);
        let (given, listed) = self.server.list(asked, plus, &mut entries);
        give_bytes(listed.map(|()| entries.into_bytes()), answer);
        self.notifier.recheck(given.mark, &given.nodes);
    }

    fn attributes(&self, ino: u64, attr: &Attr) -> Fields {
        reply::attributes(ino, attr, self.server.trust(attr))
    }

    /// The kernel is given a node by a name in a directory: it holds one more reference.
    fn entry(&self, mark: Mark, (dir, name): (u64, &[u8]), found: Result<Attr>, answer: Answer) {
        let server = &self.server;
        let remembered =
            found.and_then(|attr| Ok((server.inodes.remember(attr.node, attr.kind == NodeKind::Dir)?, attr)));
        let given = remembered.as_ref().ok().map(|(ino, _)| *ino);
        give(remembered, answer, |(ino, attr)| {
            reply::entry(ino, &attr, server.trust_by_name(ino, &attr, dir, name))
        });
        self.notifier.recheck(mark, given.as_slice());
    }

    /// The same with an open file; `None` for one without a name.
    fn created(
        &self,
        mark: Mark,
        place: Option<(u64, &[u8])>,
        made: Result<(Attr, u64)>,
        flags: i32,
        answer: Answer,
    ) {
        let server = &self.server;
        let created = made.and_then(|(attr, fh)| {
            let is_dir = attr.kind == NodeKind::Dir;
            let ino = server.inodes.remember(attr.node, is_dir).inspect_err(|_| server.handles.close(fh))?;
            Ok((ino, attr, fh))
        });
        let given = created.as_ref().ok().map(|(ino, ..)| *ino);
        give(created, answer, |(ino, attr, fh)| {
            server.keeps_cache(&attr, flags);
            let trust = match place {
                Some((dir, name)) => server.trust_by_name(ino, &attr, dir, name),
                None => Trust { name: Duration::ZERO, attr: server.trust(&attr) },
            };
            reply::created(ino, &attr, trust, fh, open_flags(flags))
        });
        self.notifier.recheck(mark, given.as_slice());
    }

    fn ioctl(&self, req: &Header, cmd: u32, given: &[u8], answer: Answer) {
        let node = self.server.inodes.node(req.node);
        match node.and_then(|node| file_flags::answer(&self.server, req, node, cmd, given)) {
            Ok(Some(back)) => answer.parts([reply::ioctl().bytes(), &back].into_iter()),
            Ok(None) => answer.error(libc::ENOTTY),
            Err(error) => answer.error(errno(&error)),
        }
    }

    /// What a mapping has changed counts (`zn_flush_cached_data` in
    /// module/os/linux/zfs/zfs_vnops_os.c). Where the kernel cannot write it now, all of the file
    /// is said to be data, as lseek(2) allows: a copy then has zeros instead of holes.
    fn seek(&self, req: &Header, fh: u64, offset: u64, whence: u32, answer: Answer) {
        let what = match whence as i32 {
            libc::SEEK_DATA => Seek::Data,
            libc::SEEK_HOLE => Seek::Hole,
            _ => return answer.error(libc::EINVAL),
        };
        if i64::try_from(offset).is_err() {
            return answer.error(libc::ENXIO);
        }
        let is_written = !self.server.may_be_dirty(fh)
            || self.notifier.flush(req.node, FLUSH).unwrap_or_else(|error| {
                tracing::warn!(%error, ino = req.node, "what a mapping has changed is not written");
                false
            });
        let found = match is_written {
            true => self.server.seek(fh, offset, what),
            false => {
                self.server.getattr(req.node, Some(fh)).and_then(|attr| all_is_data(attr.size, offset, what))
            }
        };
        match found {
            Ok(found) => answer.bytes(Fields::new(8).u64(found).bytes()),
            Err(error) => answer.error(seek_errno(&error)),
        }
    }
}

fn open_flags(flags: i32) -> u32 {
    let parallel = if flags & libc::O_DSYNC != 0 { abi::OPEN_PARALLEL_DIRECT_WRITES } else { 0 };
    if is_direct(flags) { abi::OPEN_DIRECT_IO | parallel } else { 0 }
}

fn give<T>(result: Result<T>, answer: Answer, fields: impl FnOnce(T) -> Fields) {
    match result {
        Ok(value) => answer.bytes(fields(value).bytes()),
        Err(error) => answer.error(errno(&error)),
    }
}

fn give_bytes(result: Result<Vec<u8>>, answer: Answer) {
    match result {
        Ok(bytes) => answer.bytes(&bytes),
        Err(error) => answer.error(errno(&error)),
    }
}

fn done(result: Result<()>, answer: Answer) {
    match result {
        Ok(()) => answer.ok(),
        Err(error) => answer.error(errno(&error)),
    }
}

fn xattr_done(result: Result<()>, answer: Answer) {
    match result {
        Ok(()) => answer.ok(),
        Err(error) => answer.error(xattr_errno(&error)),
    }
}

/// Straight out of the cache, unless it is in more pieces than one call takes.
fn read(result: Result<ReadBuf>, answer: Answer) {
    match result {
        Ok(buf) if buf.parts.len() > PIECES => {
            let mut whole = Vec::with_capacity(buf.len());
            buf.parts.iter().for_each(|part| whole.extend_from_slice(part.bytes()));
            answer.bytes(&whole);
        }
        Ok(buf) => answer.parts(buf.parts.iter().map(engine_api::Slice::bytes)),
        Err(error) => answer.error(errno(&error)),
    }
}

/// getxattr and listxattr: a size of 0 asks how large a buffer to bring.
fn xattr(result: Result<Vec<u8>>, size: u32, answer: Answer) {
    match result {
        Ok(bytes) if size == 0 => answer.bytes(reply::size(bytes.len() as u32).bytes()),
        Ok(bytes) if bytes.len() > size as usize => answer.error(libc::ERANGE),
        Ok(bytes) => answer.bytes(&bytes),
        Err(error) => answer.error(xattr_errno(&error)),
    }
}

/// As the engine seeks, in a file of `size` bytes without holes.
fn all_is_data(size: u64, offset: u64, what: Seek) -> Result<u64> {
    match what {
        _ if offset >= size => Err(Error::NotFound),
        Seek::Data => Ok(offset),
        Seek::Hole => Ok(size),
    }
}
