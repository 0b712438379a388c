//! What each request means to the engine. Who asks and for which node is in its header.

use crate::abi;
use crate::caller::{as_caller, as_caller_with_mode};
use crate::flat::{At, Flat};
use crate::handles::{Handles, is_direct};
use crate::inodes::Inodes;
use crate::options::Current;
use crate::request::{Header, Read};
use crate::trust::Trust;
use engine_api::{
    Attr, CreateMode, Cred, Error, FsStat, NewNode, NodeId, NodeKind, Origin, ReadBuf, RenameMode, Result,
    Seek, SetAttr, Stable, XattrMode,
};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use stdx::posix;
use stdx::posix::acl::{ACCESS, DEFAULT};

const USER: &[u8] = b"user.";
const CAPABILITY: &[u8] = b"security.capability";

/// What is asked for and a tenth more must be free (`zfs_fallocate_reserve_percent`).
const RESERVE_PERCENT: u64 = 110;

/// How long the kernel may believe what others can change, where it is told of that: it could be
/// told too late, but not never.
const TOLD: Duration = Duration::from_secs(60);

pub struct Server {
    pub fs: Arc<Flat>,
    pub inodes: Arc<Inodes>,
    pub handles: Handles,
    /// What is changed here is marked with this.
    origin: Option<Origin>,
    /// How long the kernel may believe names and attributes that it is not told of, and those that
    /// it is.
    cache: Duration,
    told: OnceLock<Duration>,
    options: Arc<Current>,
    /// Grows whenever a file may have got capabilities (see `remove_capabilities`).
    capabilities_set: AtomicU64,
}

/// How a write came in.
pub struct WriteHow {
    /// open(2)'s flags as they are now.
    pub flags: i32,
    /// Dirty pages of a mapping, written by the kernel at its own time: never an append.
    pub from_cache: bool,
    /// The writer is one whose writes take setuid and setgid away.
    pub kill_setid: bool,
}

/// A file or directory that was opened.
pub struct Opened {
    pub fh: u64,
    /// For the kernel: what it may do with what it has of it.
    pub flags: u32,
    /// It has another access time now.
    pub is_accessed: bool,
}

impl Server {
    /// `origin`: the kernel is told what is changed with any other.
    pub fn new(
        fs: Arc<Flat>,
        inodes: Arc<Inodes>,
        origin: Option<Origin>,
        cache: Duration,
        options: Arc<Current>,
    ) -> Server {
        let handles = Handles::new(fs.clone());
        let (told, capabilities_set) = (OnceLock::new(), AtomicU64::new(1));
        Server { fs, inodes, handles, origin, cache, told, options, capabilities_set }
    }

    /// The kernel speaks this minor version. An older one cannot be told all: it believes
    /// everything for a moment only.
    pub fn begin(&self, minor: u32) {
        let is_told = self.origin.is_some() && minor >= abi::EXPIRE_MINOR && !self.cache.is_zero();
        self.told.get_or_init(|| if is_told { TOLD.max(self.cache) } else { self.cache });
    }

    /// The kernel is told of what others change.
    pub fn is_told(&self) -> bool {
        self.told() > self.cache
    }

    fn told(&self) -> Duration {
        self.told.get().copied().unwrap_or(self.cache)
    }

    fn origin(&self) -> Origin {
        self.origin.unwrap_or_default()
    }

    pub fn root(&self) -> Cred {
        Cred { origin: self.origin(), ..Cred::root() }
    }

    /// Attributes that are still to change by themselves, or that nobody tells of, are believed for
    /// a moment only.
    pub fn trust(&self, attr: &Attr) -> Duration {
        if attr.settled { self.told() } else { self.cache }
    }

    /// The kernel is given a node that it holds under this number, by a name in a directory. A
    /// snapshot's place is not believed at all, for it goes without the kernel being told.
    pub fn trust_by_name(&self, ino: u64, attr: &Attr, dir: u64, name: &[u8]) -> Trust {
        match self.fs.is_crossing(attr.node) {
            Ok(false) => {}
            Ok(true) | Err(_) => return Trust { name: Duration::ZERO, attr: Duration::ZERO },
        }
        let is_told = self.is_told() && self.inodes.remember_name(ino, dir, name);
        if !is_told {
            self.inodes.believes(self.cache);
        }
        Trust { name: if is_told { self.told() } else { self.cache }, attr: self.trust(attr) }
    }

    fn at(&self, ino: u64) -> Result<At> {
        self.fs.at(self.inodes.node(ino)?)
    }

    /// Where the node of an open file is.
    fn at_open(&self, fh: u64) -> Result<At> {
        self.fs.at(self.handles.get(fh)?.node)
    }

    pub fn lookup(&self, req: &Header, name: &[u8]) -> Result<Attr> {
        let dir = self.inodes.node(req.node)?;
        as_caller(req, self.origin(), |cred| self.fs.lookup(cred, dir, name))
    }

    /// An open file keeps its node even where the number went to another.
    pub fn getattr(&self, ino: u64, fh: Option<u64>) -> Result<Attr> {
        let node = match fh.and_then(|fh| self.handles.get(fh).ok()) {
            Some(handle) => handle.node,
            None => self.inodes.node(ino)?,
        };
        self.fs.getattr(node)
    }

    pub fn statfs(&self, ino: u64) -> Result<FsStat> {
        let at = self.at(ino)?;
        at.fs.statfs(at.node)
    }

    /// Gives the node where this has left it an access time.
    pub fn readlink(&self, req: &Header) -> Result<(Vec<u8>, Option<NodeId>)> {
        let node = self.inodes.node(req.node)?;
        let at = self.fs.at(node)?;
        let target = as_caller(req, self.origin(), |cred| {
            at.fs.readlink(&Cred { noatime: true, ..cred.clone() }, at.node)
        })?;
        let is_accessed = at.fs.accessed(&self.reader(0), at.node)?;
        Ok((target, is_accessed.then_some(node)))
    }

    pub fn unlink(&self, req: &Header, name: &[u8]) -> Result<()> {
        let dir = self.at(req.node)?;
        as_caller(req, self.origin(), |cred| dir.fs.remove(cred, dir.node, name))?;
        self.inodes.removed(req.node, name);
        Ok(())
    }

    pub fn rmdir(&self, req: &Header, name: &[u8]) -> Result<()> {
        let dir = self.at(req.node)?;
        as_caller(req, self.origin(), |cred| dir.fs.rmdir(cred, dir.node, name))?;
        self.inodes.removed(req.node, name);
        Ok(())
    }

    /// Another name, in the directory that is asked, for node `ino`.
    pub fn link(&self, req: &Header, ino: u64, name: &[u8]) -> Result<Attr> {
        let (at, dir) = self.fs.both(self.inodes.node(ino)?, self.inodes.node(req.node)?)?;
        let linked = as_caller(req, self.origin(), |cred| at.fs.link(cred, at.node, dir, name));
        linked.map(|(attr, _)| at.attr(attr))
    }

    pub fn read(&self, read: &Read) -> Result<ReadBuf> {
        let at = self.at_open(read.fh)?;
        at.fs.read(&self.reader(read.flags), at.node, read.offset, read.size as usize)
    }

    /// Who reads what is open with these flags.
    pub fn reader(&self, flags: i32) -> Cred {
        Cred { noatime: flags & libc::O_NOATIME != 0 || !self.options.has_atime(), ..self.root() }
    }

    pub fn commit(&self, fh: u64) -> Result<()> {
        let at = self.at_open(fh)?;
        at.fs.commit(at.node).map(drop)
    }

    /// The kernel may have changes of a mapped file that are not here yet.
    pub fn may_be_dirty(&self, fh: u64) -> bool {
        self.handles.get(fh).is_ok_and(|handle| self.handles.has_writers(handle.node))
    }

    pub fn seek(&self, fh: u64, offset: u64, what: Seek) -> Result<u64> {
        let at = self.at_open(fh)?;
        at.fs.seek(&self.root(), at.node, offset, what)
    }

    pub fn setattr(&self, req: &Header, fh: Option<u64>, set: &SetAttr) -> Result<Attr> {
        let changes_program = set.size.is_some() || set.uid.is_some() || set.gid.is_some();
        let (node, after) = match fh {
            // ftruncate: allowed because the file is open for writing, whatever its mode says now.
            Some(fh) if set.size.is_some() => {
                let node = self.handles.get(fh)?.node;
                let mut set = set.clone();
                if set.mode.is_none() {
                    set.mode = self.mode_without_setid(req, &self.fs.getattr(node)?);
                }
                (node, self.fs.setattr(&self.root(), node, &set)?)
            }
            _ => {
                let node = self.inodes.node(req.node)?;
                let call = |cred: &Cred| self.fs.setattr(cred, node, set);
                (node, as_caller_with_mode(req, self.origin(), set.mode, call)?)
            }
        };
        if changes_program && self.remove_capabilities(node)? {
            return self.fs.getattr(node);
        }
        Ok(after)
    }

    pub fn make(&self, req: &Header, name: &[u8], what: &NewNode, mode: u32, umask: u32) -> Result<Attr> {
        let dir = self.at(req.node)?;
        let attr = SetAttr { mode: Some(mode & posix::MODE_MASK), ..SetAttr::default() };
        let call = |cred: &Cred| dir.fs.make(&masked(cred, umask), dir.node, name, what, &attr);
        Ok(dir.attr(as_caller_with_mode(req, self.origin(), attr.mode, call)?.attr))
    }

    /// open(2) with O_CREAT where the kernel saw no such name, with a mode and a umask. Gives the
    /// attributes and a handle.
    pub fn create(
        &self,
        req: &Header,
        name: &[u8],
        (mode, umask): (u32, u32),
        flags: i32,
    ) -> Result<(Attr, u64)> {
        let dir = self.at(req.node)?;
        let how = if flags & libc::O_EXCL != 0 { CreateMode::Guarded } else { CreateMode::Unchecked };
        let size = (flags & libc::O_TRUNC != 0).then_some(0);
        let attr = SetAttr { mode: Some(mode & posix::MODE_MASK), size, ..SetAttr::default() };
        let call = |cred: &Cred| {
            let created = dir.fs.create(&masked(cred, umask), dir.node, name, how, &attr)?;
            let attr = dir.attr(created.attr);
            // It appeared since the kernel looked, so the kernel has not checked it.
            if !created.new {
                self.check_open(cred, attr.node, flags)?;
            }
            Ok(attr)
        };
        let attr = as_caller_with_mode(req, self.origin(), attr.mode, call)?;
        Ok((attr, self.handles.open(attr.node, flags)?))
    }

    /// open(2) with O_TMPFILE in a directory.
    pub fn create_unnamed(&self, req: &Header, (mode, umask): (u32, u32), flags: i32) -> Result<(Attr, u64)> {
        let dir = self.at(req.node)?;
        let attr = SetAttr { mode: Some(mode & posix::MODE_MASK), ..SetAttr::default() };
        let call = |cred: &Cred| dir.fs.create_unnamed(&masked(cred, umask), dir.node, &attr);
        let attr = dir.attr(as_caller_with_mode(req, self.origin(), attr.mode, call)?);
        Ok((attr, self.handles.take(attr.node, flags)))
    }

    fn check_open(&self, cred: &Cred, node: NodeId, flags: i32) -> Result<()> {
        let at = self.fs.at(node)?;
        let access = at.fs.access(cred, at.node)?;
        let wanted = match flags & libc::O_ACCMODE {
            libc::O_RDONLY => access.read,
            libc::O_WRONLY => access.modify,
            _ => access.read && access.modify,
        };
        if wanted { Ok(()) } else { Err(Error::Denied) }
    }

    /// The kernel has checked that the caller may, and truncates by itself.
    pub fn open(&self, ino: u64, flags: i32) -> Result<Opened> {
        let node = self.inodes.node(ino)?;
        let fh = self.handles.open(node, flags)?;
        let looked = self.accessed(node, flags).and_then(|is| Ok((is, self.fs.getattr(node)?)));
        let (is_accessed, attr) = looked.inspect_err(|_| self.handles.close(fh))?;
        let cache = if self.keeps_cache(&attr, flags) { abi::OPEN_KEEP_CACHE } else { 0 };
        Ok(Opened { fh, flags: cache, is_accessed })
    }

    /// Who opens a node to read it is taken to have read it, for the kernel may answer from its
    /// caches and tells nobody. Whether that has left an access time. What goes past its caches is
    /// read here.
    fn accessed(&self, node: NodeId, flags: i32) -> Result<bool> {
        let reads = matches!(flags & libc::O_ACCMODE, libc::O_RDONLY | libc::O_RDWR);
        if !reads || is_direct(flags) {
            return Ok(false);
        }
        let at = self.fs.at(node)?;
        at.fs.accessed(&self.reader(flags), at.node)
    }

    /// The node is opened: whether what the kernel has of its data is still right.
    pub fn keeps_cache(&self, attr: &Attr, flags: i32) -> bool {
        self.inodes.opened(attr.node, attr.change, self.is_told(), is_direct(flags))
    }

    /// The kernel may keep the listing where it is told of all that others change in the directory.
    /// Of snapshots' places it is not, nor of the directory that they are in.
    pub fn open_dir(&self, ino: u64, flags: i32) -> Result<Opened> {
        let node = self.inodes.node(ino)?;
        let is_told = self.is_told() && self.fs.getattr(node)?.settled && !self.fs.is_crossing(node)?;
        let keeps = is_told && self.inodes.is_listing_right(ino);
        let is_accessed = keeps && self.accessed(node, flags)?;
        let flags = match is_told {
            true if keeps => abi::OPEN_CACHE_DIR | abi::OPEN_KEEP_CACHE,
            true => abi::OPEN_CACHE_DIR,
            false => 0,
        };
        Ok(Opened { fh: self.handles.open(node, libc::O_RDONLY)?, flags, is_accessed })
    }

    /// Where the file is open for appending, `offset` is the kernel's guess and the engine knows
    /// better. Gives the node where it went past pages that the kernel may hold.
    pub fn write(
        &self,
        req: &Header,
        fh: u64,
        offset: u64,
        data: &[u8],
        how: &WriteHow,
    ) -> Result<Option<NodeId>> {
        let handle = self.handles.get(fh)?;
        let set = self.capabilities_set.load(Ordering::Acquire);
        if handle.capabilities_seen.swap(set, Ordering::AcqRel) != set {
            self.remove_capabilities(handle.node)?;
        }
        let stable = match how.flags {
            flags if flags & libc::O_SYNC == libc::O_SYNC => Stable::FileSync,
            flags if flags & libc::O_DSYNC != 0 => Stable::DataSync,
            _ => Stable::Unstable,
        };
        let (root, at) = (self.root(), self.fs.at(handle.node)?);
        let written = if how.flags & libc::O_APPEND != 0 && !how.from_cache {
            at.fs.append(&root, at.node, data, stable)?.1
        } else {
            at.fs.write(&root, at.node, offset, data, stable)?
        };
        if how.kill_setid
            && let Some(mode) = self.mode_without_setid(req, &written.after)
        {
            let set = SetAttr { mode: Some(mode), ..SetAttr::default() };
            // The kernel leaves that to us, and is told of it as of others' changes.
            self.fs.setattr(&Cred::root(), handle.node, &set)?;
        }
        let is_passed = handle.is_direct && self.is_told() && self.handles.has_cached(handle.node);
        Ok(is_passed.then_some(handle.node))
    }

    /// The mode that a write or truncation by the caller leaves, where it is not the one there is.
    fn mode_without_setid(&self, req: &Header, attr: &Attr) -> Option<u32> {
        let who = posix::Who { uid: req.uid, gid: req.gid, groups: &[] };
        let kind = if attr.kind == NodeKind::File { posix::Kind::File } else { posix::Kind::Other };
        let rules = posix::Node {
            uid: attr.uid,
            gid: attr.gid,
            mode: attr.mode,
            withheld: attr.withheld,
            acl: None,
            kind,
        };
        let mode = posix::mode_after_write(&who, &rules);
        (mode != attr.mode).then_some(mode)
    }

    /// Whatever changes a program takes its capabilities; the kernel leaves that to us
    /// (FUSE_HANDLE_KILLPRIV_V2). Looking at every write would double its cost: a handle looks at
    /// its first one, and again only after somebody has given capabilities to any file of this
    /// mount. Says whether there were any.
    fn remove_capabilities(&self, node: NodeId) -> Result<bool> {
        let remove = |at: At| at.fs.removexattr(&self.root(), at.node, CAPABILITY);
        match self.fs.at(node).and_then(remove) {
            Ok(()) => Ok(true),
            Err(Error::NotFound | Error::Unsupported(_)) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Gives the number of what was renamed, as far as its name is remembered.
    pub fn rename(
        &self,
        req: &Header,
        from: (u64, &[u8]),
        to: (u64, &[u8]),
        flags: u32,
    ) -> Result<Option<u64>> {
        let mode = match flags {
            0 => RenameMode::Replace,
            libc::RENAME_NOREPLACE => RenameMode::NoReplace,
            libc::RENAME_EXCHANGE => RenameMode::Exchange,
            _ => return Err(Error::Invalid("rename flags".into())),
        };
        let (at, target) = self.fs.both(self.inodes.node(from.0)?, self.inodes.node(to.0)?)?;
        let ends = ((at.node, from.1), (target, to.1));
        as_caller(req, self.origin(), |cred| at.fs.rename(cred, ends.0, ends.1, mode))?;
        Ok(self.inodes.renamed(from, to, mode == RenameMode::Exchange))
    }

    /// Nothing is set aside, for what is written later goes elsewhere; it is asked whether there is
    /// room (`zpl_fallocate_common` in module/os/linux/zfs/zpl_file.c).
    pub fn fallocate(&self, fh: u64, offset: u64, len: u64, mode: i32) -> Result<()> {
        const KEEP: i32 = libc::FALLOC_FL_KEEP_SIZE;
        const PUNCH: i32 = libc::FALLOC_FL_PUNCH_HOLE | KEEP;
        const ZERO: i32 = libc::FALLOC_FL_ZERO_RANGE;
        const ZERO_AND_KEEP: i32 = ZERO | KEEP;
        let (root, node) = (self.root(), self.handles.get(fh)?.node);
        let at = self.fs.at(node)?;
        let end = offset.checked_add(len).ok_or(Error::FileTooLarge)?;
        match mode {
            PUNCH | ZERO | ZERO_AND_KEEP => at.fs.punch(&root, at.node, offset, len)?,
            0 | KEEP if len > at.fs.statfs(at.node)?.avail_bytes / RESERVE_PERCENT * 100 => {
                return Err(Error::NoSpace);
            }
            0 | KEEP => {}
            _ => return Err(Error::Unsupported("this mode of fallocate".into())),
        }
        if mode & KEEP == 0 && end > self.fs.getattr(node)?.size {
            self.fs.setattr(&root, node, &SetAttr { size: Some(end), ..SetAttr::default() })?;
        }
        Ok(())
    }

    pub fn setxattr(&self, req: &Header, name: &[u8], value: &[u8], flags: i32) -> Result<()> {
        self.check_xattr_name(name)?;
        let mode = match flags {
            0 => XattrMode::Either,
            libc::XATTR_CREATE => XattrMode::Create,
            libc::XATTR_REPLACE => XattrMode::Replace,
            _ => return Err(Error::Invalid("setxattr flags".into())),
        };
        let at = self.at(req.node)?;
        // An ACL takes setgid away where its setter is not in the file's group.
        let groups_matter = (name == ACCESS).then_some(posix::SETGID);
        as_caller_with_mode(req, self.origin(), groups_matter, |cred| {
            at.fs.setxattr(cred, at.node, name, value, mode)
        })?;
        if name == CAPABILITY {
            self.capabilities_set.fetch_add(1, Ordering::AcqRel);
        }
        Ok(())
    }

    pub fn getxattr(&self, req: &Header, name: &[u8]) -> Result<Vec<u8>> {
        self.check_xattr_name(name)?;
        let at = self.at(req.node)?;
        match as_caller(req, self.origin(), |cred| at.fs.getxattr(cred, at.node, name)) {
            // The kernel asks before it lets anybody in: where ACLs are off there is none.
            Err(Error::Unsupported(_)) if name == ACCESS || name == DEFAULT => Err(Error::NotFound),
            answer => answer,
        }
    }

    /// Names, each ended by a NUL.
    pub fn listxattr(&self, req: &Header) -> Result<Vec<u8>> {
        let at = self.at(req.node)?;
        let mut names = as_caller(req, self.origin(), |cred| at.fs.listxattr(cred, at.node))?;
        names.retain(|name| !name.starts_with(USER) || self.options.has_xattr());
        Ok(names.into_iter().flat_map(|name| name.into_iter().chain([0])).collect())
    }

    pub fn removexattr(&self, req: &Header, name: &[u8]) -> Result<()> {
        self.check_xattr_name(name)?;
        let at = self.at(req.node)?;
        if name == CAPABILITY {
            // The kernel asks a user for CAP_SETFCAP; by itself it takes capabilities away in the
            // name of whoever truncates the program.
            return at.fs.removexattr(&self.root(), at.node, name);
        }
        as_caller(req, self.origin(), |cred| at.fs.removexattr(cred, at.node, name))
    }

    /// Attributes of users are refused without xattr (`zpl_xattr_user_get` in
    /// module/os/linux/zfs/zpl_xattr.c).
    fn check_xattr_name(&self, name: &[u8]) -> Result<()> {
        if name.starts_with(USER) && !self.options.has_xattr() {
            return Err(Error::Unsupported("extended attributes (xattr is off)".into()));
        }
        Ok(())
    }
}

fn masked(cred: &Cred, umask: u32) -> Cred {
    Cred { umask, ..cred.clone() }
}
