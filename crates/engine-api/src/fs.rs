//! A file system as every protocol sees it: POSIX semantics, no open files, no paths.
//!
//! A node is named by object number *and* generation, so a handle survives a restart, an export and
//! an import elsewhere, and never aliases a reused object. One call is one transaction: it happened
//! whole or not at all. Permission checks happen in here, against the [`Cred`] given; protocols
//! decide who somebody is, never what they may.

use crate::Result;
use crate::watch::{Origin, Watcher};
use std::sync::{Arc, Weak};

/// Longest name of a directory entry, in bytes.
pub const NAME_MAX: usize = 255;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId {
    pub object: u64,
    pub generation: u64,
}

/// Which file system, on whatever machine it is imported: part of every file handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FsId {
    pub pool_guid: u64,
    pub dataset_guid: u64,
}

/// Who asks. `uid` 0 is privileged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cred {
    pub uid: u32,
    pub gid: u32,
    /// Supplementary groups, unordered.
    pub groups: Vec<u32>,
    /// The owner may read and write data whatever the mode says: NFS clients checked at open, and
    /// only they know which of their files are open.
    pub owner_override: bool,
    /// Bits that the modes of new nodes do not get, unless their directory's default ACL says what
    /// they get (umask(2)). An NFS client has applied its user's.
    pub umask: u32,
    /// Which watcher is not told of what is changed with this.
    pub origin: Origin,
    /// What is read with this leaves no access time (open(2)'s O_NOATIME).
    pub noatime: bool,
}

impl Cred {
    pub const fn root() -> Cred {
        Cred::user(0, 0)
    }

    /// Without supplementary groups.
    pub const fn user(uid: u32, gid: u32) -> Cred {
        let (owner_override, origin) = (false, Origin::OTHERS);
        Cred { uid, gid, groups: Vec::new(), owner_override, umask: 0, origin, noatime: false }
    }

    pub fn in_group(&self, gid: u32) -> bool {
        self.gid == gid || self.groups.contains(&gid)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NodeKind {
    File,
    Dir,
    Symlink,
    Fifo,
    Socket,
    CharDev,
    BlockDev,
}

/// Seconds and nanoseconds since 1970; seconds may be negative.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Time {
    pub secs: i64,
    pub nanos: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attr {
    pub node: NodeId,
    pub kind: NodeKind,
    /// The low twelve bits: rwx for three, setuid, setgid, sticky.
    pub mode: u32,
    /// Bits of the mode, of group and others, that an ACL of NFSv4's kind takes from some of them,
    /// so that nobody has them here.
    pub withheld: u32,
    pub nlink: u64,
    pub uid: u32,
    pub gid: u32,
    /// Bytes; of a directory the number of its entries, as OpenZFS has it.
    pub size: u64,
    /// Bytes of disk taken.
    pub used: u64,
    /// Preferred I/O size in bytes: the record size.
    pub blksize: u32,
    /// Device number of a device node: (major, minor).
    pub rdev: (u32, u32),
    pub atime: Time,
    pub mtime: Time,
    pub ctime: Time,
    pub crtime: Time,
    /// Grows at every change of the node.
    pub change: u64,
    /// All of it, `used` too, stays as it is until watchers are told ([`crate::Watcher`]).
    pub settled: bool,
}

/// A time to set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetTime {
    Now,
    To(Time),
}

/// What to change; `None` leaves it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SetAttr {
    pub mode: Option<u32>,
    pub uid: Option<u32>,
    pub gid: Option<u32>,
    pub size: Option<u64>,
    pub atime: Option<SetTime>,
    pub mtime: Option<SetTime>,
    /// Refuse with `Error::Busy` unless the node's ctime is this (NFSv3 sattrguard3).
    pub guard_ctime: Option<Time>,
}

/// What to create.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NewNode {
    File,
    Dir,
    Symlink { target: Vec<u8> },
    Fifo,
    Socket,
    CharDev { major: u32, minor: u32 },
    BlockDev { major: u32, minor: u32 },
}

/// How a regular file is created when the name may exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CreateMode {
    /// An existing regular file is returned as it is, with `attr` applied where it says size 0
    /// (truncate).
    Unchecked,
    /// An existing name is `Error::Exists`.
    Guarded,
    /// Exclusive create: an existing file made with the same verifier is returned (a repeated
    /// request), any other is `Exists`. The verifier lives in atime and mtime until the first
    /// setattr, as NFS servers do.
    Exclusive { verifier: u64 },
}

/// A directory before and after a change, for weak cache consistency.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DirChange {
    pub before: Attr,
    pub after: Attr,
}

/// Result of create, mkdir, symlink, mknod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Created {
    pub attr: Attr,
    pub dir: DirChange,
    /// False where `Unchecked` or a repeated `Exclusive` found the file there.
    pub new: bool,
}

/// Result of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Written {
    pub before: Attr,
    pub after: Attr,
    /// What the data is now: at least as stable as was asked for.
    pub stable: Stable,
    pub verifier: Verifier,
}

/// How stable data must be when the call returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stable {
    Unstable,
    DataSync,
    FileSync,
}

/// Changes whenever unstable data may have been lost, that is, at every start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verifier(pub u64);

/// Access bits, as in NFSv3 ACCESS and access(2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Access {
    pub read: bool,
    /// Write data of a file; add and rename entries of a directory.
    pub modify: bool,
    /// Grow a file; add entries to a directory.
    pub extend: bool,
    /// Remove an entry from a directory.
    pub delete: bool,
    /// Search a directory.
    pub lookup: bool,
    /// Execute a file.
    pub execute: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DirEntry {
    pub name: Vec<u8>,
    pub node: NodeId,
    pub kind: NodeKind,
    /// Where to go on after this entry. Stable for as long as the directory lives, whatever is
    /// added or removed. Never 0 (the beginning), 1 or 2 (kept by protocols for `.` and `..`).
    pub cookie: u64,
    /// Present where `readdir` was asked for attributes and the node could be read.
    pub attr: Option<Attr>,
}

/// One page of a directory, without `.` and `..`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DirPage {
    pub entries: Vec<DirEntry>,
    pub eof: bool,
}

/// What readdir gives back at the most. The first entry is given whatever it costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DirLimit {
    pub entries: usize,
    /// Names' bytes added up.
    pub name_bytes: usize,
    pub with_attr: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FsStat {
    pub total_bytes: u64,
    pub free_bytes: u64,
    /// Free to a caller without privileges.
    pub avail_bytes: u64,
    pub total_files: u64,
    pub free_files: u64,
    /// Record size in bytes.
    pub blksize: u32,
    pub name_max: u32,
    pub link_max: u32,
    pub case_insensitive: bool,
    pub case_preserving: bool,
    pub read_only: bool,
    pub max_file_size: u64,
}

/// What a node's space is counted for beside its user and group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Project {
    /// 0 is what nobody was given another for: it has no limit. `u32::MAX` is none.
    pub id: u32,
    /// What is made in the directory belongs to it too, and nothing of another project is moved
    /// there.
    pub inherit: bool,
}

/// What may be done to a node whoever asks, as chattr(1) sets it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NodeFlags {
    /// It changes in no way.
    pub immutable: bool,
    /// It only grows, and keeps its names.
    pub append_only: bool,
    /// For dump(8): kept and shown.
    pub no_dump: bool,
}

/// A run of bytes owned by a cached block: shared, never copied.
#[derive(Clone)]
pub struct Slice {
    owner: Arc<dyn AsRef<[u8]> + Send + Sync>,
    start: usize,
    len: usize,
}

impl Slice {
    /// # Panics
    /// When the range is outside the owner's bytes.
    pub fn new(owner: Arc<dyn AsRef<[u8]> + Send + Sync>, start: usize, len: usize) -> Slice {
        let whole = (*owner).as_ref().len();
        assert!(start <= whole && len <= whole - start, "slice {start}+{len} of {whole} bytes");
        Slice { owner, start, len }
    }
    pub fn bytes(&self) -> &[u8] {
        &(*self.owner).as_ref()[self.start..self.start + self.len]
    }
    /// Bytes that it keeps from being freed: all of the owner's.
    pub fn whole(&self) -> usize {
        (*self.owner).as_ref().len()
    }
}

impl std::fmt::Debug for Slice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Slice({} bytes)", self.len)
    }
}

/// What a read gives: slices in order, and whether the file ends behind them.
#[derive(Clone, Debug, Default)]
pub struct ReadBuf {
    pub parts: Vec<Slice>,
    pub eof: bool,
}

impl ReadBuf {
    pub fn len(&self) -> usize {
        self.parts.iter().map(|part| part.len).sum()
    }
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    pub fn to_vec(&self) -> Vec<u8> {
        let mut all = Vec::with_capacity(self.len());
        self.parts.iter().for_each(|part| all.extend_from_slice(part.bytes()));
        all
    }
}

/// A call that an earlier program has done, of which the file system has what it changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Happened {
    /// None where that program died before it had one.
    pub answer: Option<Vec<u8>>,
}

/// Which side of a hole to look for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seek {
    Data,
    Hole,
}

/// rename(2)'s flags.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum RenameMode {
    /// An existing target is replaced.
    #[default]
    Replace,
    /// An existing target is `Error::Exists`.
    NoReplace,
    /// Both names must exist and change places.
    Exchange,
}

/// How an extended attribute is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum XattrMode {
    Either,
    /// It must not exist.
    Create,
    /// It must exist.
    Replace,
}

/// A change that is done and not yet on stable storage: the call waits until it is. No lock may be
/// held.
pub type Promise = Box<dyn FnOnce() -> Result<()> + Send>;

/// A file system. Names are bytes without NUL and slash, 1 to 255 of them, not `.` or `..` where
/// one is made or removed (`Error::Invalid`, `Error::NameTooLong`); `lookup` takes `.` and `..`.
pub trait FileSystem: Send + Sync {
    fn id(&self) -> FsId;
    /// It is another one when a whole file system was received in place of this one.
    fn root(&self) -> NodeId;
    /// Whether the pool waits for lost devices: any call may last until an operator brings them
    /// back, but on threads that do not wait for operators (`stdx::patience`); there it ends with
    /// `Error::Suspended`.
    fn is_waiting(&self) -> bool {
        false
    }
    /// The file system whose root stands for this node, where that is one of another: a snapshot in
    /// `.zfs/snapshot`.
    fn crossing(&self, _node: NodeId) -> Result<Option<Arc<dyn FileSystem>>> {
        Ok(None)
    }
    /// From now on the watcher is told what is changed with another origin than the one given.
    /// `None`: nobody is told here.
    fn watch(&self, _watcher: Weak<dyn Watcher>) -> Option<Origin> {
        None
    }
    /// One of its snapshots, by the id that file handles have; `None` for any other.
    fn snapshot(&self, _id: FsId) -> Result<Option<Arc<dyn FileSystem>>> {
        Ok(None)
    }
    /// What is known of a call with this digest (`stdx::call`), where an earlier program has done
    /// it.
    fn happened(&self, _digest: &[u8; 32]) -> Result<Option<Happened>> {
        Ok(None)
    }
    /// The file system's space; at a directory that hands on a project with a limit, what that one
    /// leaves.
    fn statfs(&self, node: NodeId) -> Result<FsStat>;
    fn lookup(&self, cred: &Cred, dir: NodeId, name: &[u8]) -> Result<Attr>;
    /// Needs no permission, as stat(2) of an open file does not.
    fn getattr(&self, node: NodeId) -> Result<Attr>;
    /// Gives the attributes before and after.
    fn setattr(&self, cred: &Cred, node: NodeId, set: &SetAttr) -> Result<(Attr, Attr)>;
    /// The subset of all access bits that the caller has.
    fn access(&self, cred: &Cred, node: NodeId) -> Result<Access>;
    fn readdir(&self, cred: &Cred, dir: NodeId, cookie: u64, limit: DirLimit) -> Result<DirPage>;
    fn readlink(&self, cred: &Cred, node: NodeId) -> Result<Vec<u8>>;
    /// At most `len` bytes; fewer only at the end of the file. Holes come as zeroes.
    fn read(&self, cred: &Cred, node: NodeId, offset: u64, len: usize) -> Result<ReadBuf>;
    /// What the node holds is read from somebody's own cache: that leaves an access time where a
    /// read here would. Says whether it is another one now.
    fn accessed(&self, cred: &Cred, node: NodeId) -> Result<bool>;
    fn write(&self, cred: &Cred, node: NodeId, offset: u64, data: &[u8], stable: Stable) -> Result<Written>;
    /// At the end of the file, whatever it is when the write happens. Gives the offset too.
    fn append(&self, cred: &Cred, node: NodeId, data: &[u8], stable: Stable) -> Result<(u64, Written)>;
    /// As `write` with `FileSync`, but the waiting is left to the caller: one who has many to wait
    /// for waits once.
    fn write_promised(
        &self,
        cred: &Cred,
        node: NodeId,
        offset: u64,
        data: &[u8],
    ) -> Result<(Written, Promise)>;
    /// Make everything written so far to the node stable.
    fn commit(&self, node: NodeId) -> Result<Verifier>;
    /// As `commit`, but the waiting is left to the caller.
    fn promise(&self, node: NodeId) -> Result<Promise>;
    /// Make everything written so far to the file system stable.
    fn sync(&self) -> Result<()>;
    fn verifier(&self) -> Verifier;
    /// A regular file by `mode`.
    fn create(
        &self,
        cred: &Cred,
        dir: NodeId,
        name: &[u8],
        mode: CreateMode,
        attr: &SetAttr,
    ) -> Result<Created>;
    /// A regular file that has no name, opened once for the caller (O_TMPFILE): closed without
    /// `link` having given it one, it is gone, and so it is after a crash.
    fn create_unnamed(&self, cred: &Cred, dir: NodeId, attr: &SetAttr) -> Result<Attr>;
    /// Anything else; an existing name is `Error::Exists`. (`NewNode::File` is `create` with
    /// `Guarded`.)
    fn make(&self, cred: &Cred, dir: NodeId, name: &[u8], what: &NewNode, attr: &SetAttr) -> Result<Created>;
    /// Gives the node's attributes after, and the directory's change.
    fn link(&self, cred: &Cred, node: NodeId, dir: NodeId, name: &[u8]) -> Result<(Attr, DirChange)>;
    /// Anything but a directory (`Error::IsDir`).
    fn remove(&self, cred: &Cred, dir: NodeId, name: &[u8]) -> Result<DirChange>;
    /// As `remove`, where the name is still that of the node that was seen, and neither its data
    /// nor its attributes have changed since; else `Error::Stale`. Compared in one step with it.
    fn remove_unchanged(&self, cred: &Cred, dir: NodeId, name: &[u8], seen: &Attr) -> Result<DirChange>;
    fn rmdir(&self, cred: &Cred, dir: NodeId, name: &[u8]) -> Result<DirChange>;
    /// Gives the changes of the source and of the target directory.
    fn rename(
        &self,
        cred: &Cred,
        from: (NodeId, &[u8]),
        to: (NodeId, &[u8]),
        mode: RenameMode,
    ) -> Result<(DirChange, DirChange)>;
    /// The next data or hole at or after `offset`; `Error::NotFound` where there is none (ENXIO).
    fn seek(&self, cred: &Cred, node: NodeId, offset: u64, what: Seek) -> Result<u64>;
    /// Free the blocks of a range, which reads as zeroes afterwards; the size stays.
    fn punch(&self, cred: &Cred, node: NodeId, offset: u64, len: u64) -> Result<()>;
    /// Keep the node's contents after its last name goes, until as many `close` calls came (FUSE
    /// open files).
    fn open(&self, node: NodeId) -> Result<()>;
    fn close(&self, node: NodeId);
    fn getxattr(&self, cred: &Cred, node: NodeId, name: &[u8]) -> Result<Vec<u8>>;
    fn setxattr(&self, cred: &Cred, node: NodeId, name: &[u8], value: &[u8], mode: XattrMode) -> Result<()>;
    fn listxattr(&self, cred: &Cred, node: NodeId) -> Result<Vec<Vec<u8>>>;
    fn removexattr(&self, cred: &Cred, node: NodeId, name: &[u8]) -> Result<()>;
    /// Of a regular file or directory. Needs no permission, as `getattr` does not.
    fn project(&self, node: NodeId) -> Result<Project>;
    /// For the node's owner and root.
    fn set_project(&self, cred: &Cred, node: NodeId, project: Project) -> Result<()>;
    /// Needs no permission, as `getattr` does not.
    fn flags(&self, node: NodeId) -> Result<NodeFlags>;
    /// For the node's owner and root; `immutable` and `append_only` are root's
    /// (`Error::NotPermitted`).
    fn set_flags(&self, cred: &Cred, node: NodeId, flags: NodeFlags) -> Result<()>;
}
