//! `.zfs`: every file system's directory of its snapshots, which nobody has to mount, and of its
//! shares.
//!
//! ```text
//!   /            of the file system
//!   └── .zfs     ROOT: found by its name; listed with snapdir=visible only
//!       ├── snapshot      SNAPSHOTS
//!       │   └── monday    FIRST − its objset: the root of another file system, which `crossing` opens
//!       └── shares        a directory of the file system itself, to which no other name leads
//! ```
//! No entry of a root gets the name `.zfs` while that leads here: nobody would find it.
//!
//! This wraps a file system and adds nodes with numbers that no object can have. All of them can be
//! read by everybody and changed by nobody, but for the snapshots where an administrator wants that
//! (see `snapdir`). What is behind a snapshot's name is a file system with an id of its own:
//! protocols step over into it as they do where one is mounted on another.
//!
//! There is one of these for a dataset as long as its pool is open, and servers may keep it for as
//! long as they like: it leads to the open file system, which can be taken away for a moment, be it
//! for good or to be rolled back.
//!
//! Sources: module/os/linux/zfs/zfs_ctldir.c, zpl_ctldir.c, include/sys/zfs_ctldir.h.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, PoisonError, RwLock, Weak};

use engine_api::{
    Access, Attr, CreateMode, Created, Cred, DirChange, DirEntry, DirLimit, DirPage, Error, FileSystem, FsId,
    FsStat, Happened, NewNode, NodeFlags, NodeId, NodeKind, Origin, Project, Promise, ReadBuf, RenameMode,
    Result, Seek, SetAttr, Stable, Time, Verifier, Watcher, Written, XattrMode,
};

use super::super::activity::{About, FileCounting, FileOp};
use super::super::convert::api_error;
use super::LocalPool;
use super::snapdir::SnapDir;
use crate::zpl::{Watchers, Zpl};

const ROOT: u64 = 0x0000_ffff_ffff_ffff;
const SNAPSHOTS: u64 = 0x0000_ffff_ffff_fffd;
/// Of a snapshot: this, less the number of its dataset.
const FIRST: u64 = 0x0000_ffff_ffff_fffb;
/// Numbers above are ours: a pool has fewer datasets, and file systems fewer objects.
const LEAST: u64 = 0x0000_8000_0000_0000;

const ROOT_NAME: &[u8] = b".zfs";
const SNAPSHOTS_NAME: &[u8] = b"snapshot";
const SHARES_NAME: &[u8] = b"shares";
/// Where the listing of a root goes on behind `.zfs`: its own entries begin at any place up to
/// here.
const COOKIE: u64 = 3;
/// Everybody may list and search; and where snapshots can be made here, who may make them is
/// another question.
const MODE: u32 = 0o555;
const OPEN_MODE: u32 = 0o777;

/// Values of `snapdir`.
const VISIBLE: u64 = 1;
const DISABLED: u64 = 2;

/// See the module.
pub(super) struct Ctldir {
    pool: Weak<LocalPool>,
    /// The dataset.
    object: u64,
    id: FsId,
    lower: RwLock<Lower>,
    snapdir: AtomicU64,
    watchers: Arc<Watchers>,
    counting: Arc<FileCounting>,
}

/// What is wrapped.
struct Lower {
    /// `None`: taken away; whoever comes opens it again, if that can be.
    fs: Option<Arc<Zpl>>,
    /// It is another when a whole file system was received in place of this one.
    root: NodeId,
}

fn is_control(node: NodeId) -> bool {
    node.object >= LEAST
}

fn control(object: u64) -> NodeId {
    NodeId { object, generation: 0 }
}

impl Ctldir {
    pub fn new(pool: Weak<LocalPool>, object: u64, fs: Arc<Zpl>, counting: Arc<FileCounting>) -> Arc<Ctldir> {
        let (id, root) = (fs.id(), fs.root());
        let snapdir = AtomicU64::new(DISABLED);
        let lower = RwLock::new(Lower { fs: Some(fs), root });
        Arc::new(Ctldir { pool, object, id, lower, snapdir, watchers: Arc::default(), counting })
    }

    /// The file system is open.
    pub fn attach(&self, fs: Arc<Zpl>) {
        fs.watched_by(self.watchers.clone());
        *self.lower.write().unwrap_or_else(PoisonError::into_inner) = Lower { root: fs.root(), fs: Some(fs) };
        self.watchers.all_changed();
    }

    /// The file system is about to be taken away: calls under way keep it, later ones wait.
    pub fn detach(&self) {
        self.lower.write().unwrap_or_else(PoisonError::into_inner).fs = None;
    }

    pub fn set_snapdir(&self, number: u64) {
        if self.snapdir.swap(number, Relaxed) != number {
            self.watchers.all_changed();
        }
    }

    pub fn has_snapdir(&self) -> bool {
        self.snapdir.load(Relaxed) != DISABLED
    }

    fn fs(&self) -> Result<Arc<Zpl>> {
        let open = self.lower.read().unwrap_or_else(PoisonError::into_inner).fs.clone();
        match open {
            Some(fs) => Ok(fs),
            None => {
                let again = self.pool()?.mount_object(self.object).map_err(|_| Error::Stale)?.fs.clone();
                if again.id() == self.id { Ok(again) } else { Err(Error::Stale) }
            }
        }
    }

    fn pool(&self) -> Result<Arc<LocalPool>> {
        self.pool.upgrade().ok_or(Error::Stale)
    }

    /// The file system, for what changes a node of its own: the others cannot be changed.
    fn own(&self, node: NodeId) -> Result<Arc<Zpl>> {
        if is_control(node) { Err(Error::ReadOnly) } else { self.fs() }
    }

    fn is_control_name(&self, dir: NodeId, name: &[u8]) -> bool {
        name == ROOT_NAME && dir == self.root() && self.has_snapdir()
    }

    /// The file system, for a directory of its own in which the name may be given to something.
    fn free(&self, dir: NodeId, name: &[u8]) -> Result<Arc<Zpl>> {
        if self.is_control_name(dir, name) { Err(Error::Exists) } else { self.own(dir) }
    }

    /// What is done to a snapshot, and to their directory.
    fn change(&self, work: impl FnOnce(&SnapDir<'_>) -> Result<()>) -> Result<DirChange> {
        let pool = self.pool()?;
        let before = self.attr(control(SNAPSHOTS))?;
        work(&SnapDir { pool: &pool, dataset: self.object })?;
        Ok(DirChange { before, after: self.attr(control(SNAPSHOTS))? })
    }

    /// A snapshot's number by its name.
    fn number(&self, name: &[u8]) -> Result<u64> {
        let name = std::str::from_utf8(name).map_err(|_| Error::NotFound)?;
        let found = self.pool()?.inner().dsl.snapshot_named(self.object, name).map_err(api_error)?;
        found.ok_or(Error::NotFound)
    }

    fn attr(&self, node: NodeId) -> Result<Attr> {
        let pool = self.pool()?;
        let dsl = &pool.inner().dsl;
        let (count, node, since) = match node.object {
            ROOT => (2, control(ROOT), dsl.snapshots_changed_at(self.object)),
            SNAPSHOTS => {
                let count = dsl.snapshot_count(self.object).map_err(api_error)?;
                (count, control(SNAPSHOTS), dsl.snapshots_changed_at(self.object))
            }
            number => {
                let object = FIRST.checked_sub(number).ok_or(Error::Stale)?;
                let (guid, time) = dsl.snapshot_identity(object).map_err(|_| Error::Stale)?;
                if node.generation != 0 && node.generation != guid {
                    return Err(Error::Stale);
                }
                (0, NodeId { object: number, generation: guid }, Ok((time, 0)))
            }
        };
        let (secs, nanos) = since.map_err(api_error)?;
        let time = Time { secs: secs as i64, nanos };
        let is_open = node.object == SNAPSHOTS && SnapDir { pool: &pool, dataset: self.object }.is_open();
        let mode = if is_open { OPEN_MODE } else { MODE };
        Ok(Attr {
            node,
            kind: NodeKind::Dir,
            mode,
            withheld: 0,
            nlink: 2,
            uid: 0,
            gid: 0,
            size: count + 2,
            used: 0,
            blksize: 512,
            rdev: (0, 0),
            atime: time,
            mtime: time,
            ctime: time,
            crtime: time,
            change: dsl.generation(),
            // Snapshots come and go without a word.
            settled: false,
        })
    }

    fn look_up(&self, cred: &Cred, dir: NodeId, name: &[u8]) -> Result<Attr> {
        match (dir.object, name) {
            (_, b".") => self.attr(dir),
            (ROOT, b"..") => self.fs().and_then(|fs| fs.getattr(fs.root())),
            (ROOT, SNAPSHOTS_NAME) => self.attr(control(SNAPSHOTS)),
            (ROOT, SHARES_NAME) => {
                let fs = self.fs()?;
                fs.getattr(fs.shares()?.ok_or(Error::NotFound)?)
            }
            (ROOT, _) => Err(Error::NotFound),
            (SNAPSHOTS, b"..") => self.attr(control(ROOT)),
            (SNAPSHOTS, name) => self.attr(control(FIRST - self.number(name)?)),
            // Who asks a snapshot's place itself has not stepped over.
            (_, b"..") => self.attr(control(SNAPSHOTS)),
            _ => match self.crossing(dir)? {
                Some(fs) => fs.lookup(cred, fs.root(), name),
                None => Err(Error::NotFound),
            },
        }
    }

    /// `.zfs`, or the snapshots by number: that is where they stay, whatever comes and goes.
    fn list(&self, dir: NodeId, cookie: u64, limit: DirLimit) -> Result<DirPage> {
        let kind = NodeKind::Dir;
        if dir.object == ROOT {
            let named = [(SNAPSHOTS_NAME, Some(control(SNAPSHOTS))), (SHARES_NAME, self.fs()?.shares()?)];
            let entries =
                (COOKIE..).zip(named).filter(|(at, _)| *at > cookie).filter_map(|(cookie, (name, node))| {
                    Some(DirEntry { name: name.into(), node: node?, kind, cookie, attr: None })
                });
            return Ok(DirPage { entries: entries.collect(), eof: true });
        }
        if dir.object != SNAPSHOTS {
            return Ok(DirPage { entries: Vec::new(), eof: true });
        }
        let mut all = self.pool()?.inner().dsl.snapshots_of(self.object).map_err(api_error)?;
        all.sort_by_key(|(_, object)| *object);
        let mut page = DirPage { entries: Vec::new(), eof: true };
        let mut bytes = 0;
        for (name, object) in all.into_iter().filter(|(_, object)| object + COOKIE > cookie) {
            bytes += name.len();
            if !page.entries.is_empty() && (page.entries.len() >= limit.entries || bytes > limit.name_bytes) {
                page.eof = false;
                break;
            }
            let generation = self.pool()?.inner().dsl.snapshot_identity(object).map_or(0, |(guid, _)| guid);
            let (node, cookie) = (NodeId { object: FIRST - object, generation }, object + COOKIE);
            page.entries.push(DirEntry { name: name.into_bytes(), node, kind, cookie, attr: None });
        }
        Ok(page)
    }
}

impl FileSystem for Ctldir {
    fn id(&self) -> FsId {
        self.id
    }

    fn root(&self) -> NodeId {
        match self.fs() {
            Ok(fs) => fs.root(),
            Err(_) => self.lower.read().unwrap_or_else(PoisonError::into_inner).root,
        }
    }

    fn is_waiting(&self) -> bool {
        self.pool().is_ok_and(|pool| pool.inner().core().storage.suspension().makes_wait())
    }

    fn happened(&self, digest: &[u8; 32]) -> Result<Option<Happened>> {
        // Whoever opens it does again what its log says: before that nobody knows.
        self.fs()?;
        let pool = self.pool()?;
        let known = pool.inner().core().kept.get().and_then(|kept| kept.recall(self.id.dataset_guid, digest));
        Ok(known.map(|known| Happened { answer: known.answer }))
    }

    fn crossing(&self, node: NodeId) -> Result<Option<Arc<dyn FileSystem>>> {
        if !is_control(node) || matches!(node.object, ROOT | SNAPSHOTS) {
            return Ok(None);
        }
        let object = FIRST.checked_sub(node.object).ok_or(Error::Stale)?;
        Ok(Some(self.pool()?.mount_object(object)?.served()))
    }

    fn snapshot(&self, id: FsId) -> Result<Option<Arc<dyn FileSystem>>> {
        if !self.has_snapdir() || id.pool_guid != self.id.pool_guid {
            return Ok(None);
        }
        let pool = self.pool()?;
        match pool.snapshot_by_guid(self.object, id.dataset_guid)? {
            Some(object) => Ok(Some(pool.mount_object(object)?.served())),
            None => Ok(None),
        }
    }

    fn watch(&self, watcher: Weak<dyn Watcher>) -> Option<Origin> {
        Some(self.watchers.add(watcher))
    }

    fn statfs(&self, node: NodeId) -> Result<FsStat> {
        let _call = self.counting.call(FileOp::Other, About::node(node));
        self.fs()?.statfs(if is_control(node) { self.root() } else { node })
    }

    fn lookup(&self, cred: &Cred, dir: NodeId, name: &[u8]) -> Result<Attr> {
        let _call = self.counting.call(FileOp::Lookup, About::name(dir, name).by(cred));
        if is_control(dir) {
            return self.look_up(cred, dir, name);
        }
        if self.is_control_name(dir, name) {
            return self.attr(control(ROOT));
        }
        self.fs()?.lookup(cred, dir, name)
    }

    fn getattr(&self, node: NodeId) -> Result<Attr> {
        let _call = self.counting.call(FileOp::AttrRead, About::node(node));
        if is_control(node) {
            return self.attr(node);
        }
        let attr = self.fs()?.getattr(node)?;
        // Where it is to be seen, it counts.
        let links = u64::from(self.snapdir.load(Relaxed) == VISIBLE && node == self.root());
        Ok(Attr { nlink: attr.nlink + links, ..attr })
    }

    fn setattr(&self, cred: &Cred, node: NodeId, set: &SetAttr) -> Result<(Attr, Attr)> {
        let _call = self.counting.call(FileOp::AttrSet, About::node(node).by(cred));
        self.own(node)?.setattr(cred, node, set)
    }

    fn access(&self, cred: &Cred, node: NodeId) -> Result<Access> {
        let _call = self.counting.call(FileOp::Other, About::node(node).by(cred));
        if is_control(node) {
            return Ok(Access { read: true, lookup: true, execute: true, ..Access::default() });
        }
        self.fs()?.access(cred, node)
    }

    fn readdir(&self, cred: &Cred, dir: NodeId, cookie: u64, limit: DirLimit) -> Result<DirPage> {
        let _call = self.counting.call(FileOp::DirRead, About::node(dir).by(cred));
        if is_control(dir) {
            return self.list(dir, cookie, limit);
        }
        let page = self.fs()?.readdir(cred, dir, cookie, limit)?;
        if cookie >= COOKIE || self.snapdir.load(Relaxed) != VISIBLE || dir != self.root() {
            return Ok(page);
        }
        // One more may be more than fits: what does not is asked for again.
        let DirPage { mut entries, mut eof } = page;
        if entries.len() >= limit.entries.max(1) {
            entries.truncate(limit.entries.saturating_sub(1));
            eof = false;
        }
        let (node, kind) = (control(ROOT), NodeKind::Dir);
        entries.insert(0, DirEntry { name: ROOT_NAME.into(), node, kind, cookie: COOKIE, attr: None });
        Ok(DirPage { entries, eof })
    }

    fn readlink(&self, cred: &Cred, node: NodeId) -> Result<Vec<u8>> {
        let _call = self.counting.call(FileOp::Other, About::node(node).by(cred));
        if is_control(node) {
            Err(Error::Invalid("not a link".into()))
        } else {
            self.fs()?.readlink(cred, node)
        }
    }

    fn read(&self, cred: &Cred, node: NodeId, offset: u64, len: usize) -> Result<ReadBuf> {
        if is_control(node) {
            return Err(Error::IsDir);
        }
        let about = About::node(node).by(cred).range(offset, len as u64);
        self.counting.read(about, || self.fs()?.read(cred, node, offset, len))
    }

    fn accessed(&self, cred: &Cred, node: NodeId) -> Result<bool> {
        if is_control(node) { Ok(false) } else { self.fs()?.accessed(cred, node) }
    }

    fn write(&self, cred: &Cred, node: NodeId, offset: u64, data: &[u8], stable: Stable) -> Result<Written> {
        let about = About::node(node).by(cred).range(offset, data.len() as u64);
        self.counting.write(about, data.len(), || self.own(node)?.write(cred, node, offset, data, stable))
    }

    fn append(&self, cred: &Cred, node: NodeId, data: &[u8], stable: Stable) -> Result<(u64, Written)> {
        let about = About::node(node).by(cred);
        self.counting.write(about, data.len(), || self.own(node)?.append(cred, node, data, stable))
    }

    fn write_promised(
        &self,
        cred: &Cred,
        node: NodeId,
        offset: u64,
        data: &[u8],
    ) -> Result<(Written, Promise)> {
        let write = || self.own(node)?.write_promised(cred, node, offset, data);
        let about = About::node(node).by(cred).range(offset, data.len() as u64);
        self.counting.write_promised(about, data.len(), write)
    }

    fn promise(&self, node: NodeId) -> Result<Promise> {
        let _call = self.counting.call(FileOp::Sync, About::node(node));
        if is_control(node) { Ok(Box::new(|| Ok(()))) } else { self.fs()?.promise(node) }
    }

    fn commit(&self, node: NodeId) -> Result<Verifier> {
        let _call = self.counting.call(FileOp::Sync, About::node(node));
        if is_control(node) { Ok(self.verifier()) } else { self.fs()?.commit(node) }
    }

    fn sync(&self) -> Result<()> {
        let _call = self.counting.call(FileOp::Sync, About::default());
        self.fs()?.sync()
    }

    fn verifier(&self) -> Verifier {
        self.fs().map_or(Verifier(0), |fs| fs.verifier())
    }

    fn create(
        &self,
        cred: &Cred,
        dir: NodeId,
        name: &[u8],
        mode: CreateMode,
        attr: &SetAttr,
    ) -> Result<Created> {
        let _call = self.counting.call(FileOp::NewFile, About::name(dir, name).by(cred));
        self.free(dir, name)?.create(cred, dir, name, mode, attr)
    }

    fn create_unnamed(&self, cred: &Cred, dir: NodeId, attr: &SetAttr) -> Result<Attr> {
        let _call = self.counting.call(FileOp::NewFile, About::node(dir).by(cred));
        self.own(dir)?.create_unnamed(cred, dir, attr)
    }

    fn make(&self, cred: &Cred, dir: NodeId, name: &[u8], what: &NewNode, attr: &SetAttr) -> Result<Created> {
        let _call = self.counting.call(FileOp::NewFile, About::name(dir, name).by(cred));
        if dir.object == SNAPSHOTS && *what == NewNode::Dir {
            if self.number(name).is_ok() {
                return Err(Error::Exists);
            }
            let dir = self.change(|snapshots| snapshots.make(cred, name))?;
            let attr = self.attr(control(FIRST - self.number(name)?))?;
            return Ok(Created { attr, dir, new: true });
        }
        self.free(dir, name)?.make(cred, dir, name, what, attr)
    }

    fn link(&self, cred: &Cred, node: NodeId, dir: NodeId, name: &[u8]) -> Result<(Attr, DirChange)> {
        let _call = self.counting.call(FileOp::NameChanged, About::node(node).by(cred));
        if is_control(node) {
            return Err(Error::ReadOnly);
        }
        self.free(dir, name)?.link(cred, node, dir, name)
    }

    fn remove(&self, cred: &Cred, dir: NodeId, name: &[u8]) -> Result<DirChange> {
        let _call = self.counting.call(FileOp::NameRemoved, About::name(dir, name).by(cred));
        self.own(dir)?.remove(cred, dir, name)
    }

    fn remove_unchanged(&self, cred: &Cred, dir: NodeId, name: &[u8], seen: &Attr) -> Result<DirChange> {
        let _call = self.counting.call(FileOp::NameRemoved, About::name(dir, name).by(cred));
        self.own(dir)?.remove_unchanged(cred, dir, name, seen)
    }

    fn rmdir(&self, cred: &Cred, dir: NodeId, name: &[u8]) -> Result<DirChange> {
        let _call = self.counting.call(FileOp::NameRemoved, About::name(dir, name).by(cred));
        if dir.object == SNAPSHOTS {
            self.number(name)?;
            return self.change(|snapshots| snapshots.remove(cred, name));
        }
        self.own(dir)?.rmdir(cred, dir, name)
    }

    fn rename(
        &self,
        cred: &Cred,
        from: (NodeId, &[u8]),
        to: (NodeId, &[u8]),
        mode: RenameMode,
    ) -> Result<(DirChange, DirChange)> {
        let _call = self.counting.call(FileOp::NameChanged, About::name(from.0, from.1).by(cred));
        if from.0.object == SNAPSHOTS && to.0.object == SNAPSHOTS && mode != RenameMode::Exchange {
            self.number(from.1)?;
            if from.1 != to.1 && self.number(to.1).is_ok() {
                return Err(Error::Exists);
            }
            let change = self.change(|snapshots| snapshots.rename(cred, from.1, to.1))?;
            return Ok((change, change));
        }
        if is_control(from.0) {
            return Err(Error::ReadOnly);
        }
        self.free(to.0, to.1)?.rename(cred, from, to, mode)
    }

    fn seek(&self, cred: &Cred, node: NodeId, offset: u64, what: Seek) -> Result<u64> {
        let _call = self.counting.call(FileOp::Other, About::node(node).by(cred).range(offset, 0));
        if is_control(node) { Err(Error::IsDir) } else { self.fs()?.seek(cred, node, offset, what) }
    }

    fn punch(&self, cred: &Cred, node: NodeId, offset: u64, len: u64) -> Result<()> {
        let _call = self.counting.call(FileOp::Other, About::node(node).by(cred).range(offset, len));
        self.own(node)?.punch(cred, node, offset, len)
    }

    fn open(&self, node: NodeId) -> Result<()> {
        if is_control(node) { Ok(()) } else { self.fs()?.open(node) }
    }

    fn close(&self, node: NodeId) {
        if let (false, Ok(fs)) = (is_control(node), self.fs()) {
            fs.close(node);
        }
    }

    fn getxattr(&self, cred: &Cred, node: NodeId, name: &[u8]) -> Result<Vec<u8>> {
        let _call = self.counting.call(FileOp::Other, About::node(node).by(cred));
        if is_control(node) { Err(Error::NotFound) } else { self.fs()?.getxattr(cred, node, name) }
    }

    fn setxattr(&self, cred: &Cred, node: NodeId, name: &[u8], value: &[u8], mode: XattrMode) -> Result<()> {
        let _call = self.counting.call(FileOp::Other, About::node(node).by(cred));
        self.own(node)?.setxattr(cred, node, name, value, mode)
    }

    fn listxattr(&self, cred: &Cred, node: NodeId) -> Result<Vec<Vec<u8>>> {
        let _call = self.counting.call(FileOp::Other, About::node(node).by(cred));
        if is_control(node) { Ok(Vec::new()) } else { self.fs()?.listxattr(cred, node) }
    }

    fn removexattr(&self, cred: &Cred, node: NodeId, name: &[u8]) -> Result<()> {
        let _call = self.counting.call(FileOp::Other, About::node(node).by(cred));
        self.own(node)?.removexattr(cred, node, name)
    }

    fn project(&self, node: NodeId) -> Result<Project> {
        let _call = self.counting.call(FileOp::Other, About::node(node));
        if is_control(node) {
            return Err(Error::Unsupported("projects of snapshots' directories".into()));
        }
        self.fs()?.project(node)
    }

    fn set_project(&self, cred: &Cred, node: NodeId, project: Project) -> Result<()> {
        let _call = self.counting.call(FileOp::Other, About::node(node).by(cred));
        self.own(node)?.set_project(cred, node, project)
    }

    fn flags(&self, node: NodeId) -> Result<NodeFlags> {
        let _call = self.counting.call(FileOp::Other, About::node(node));
        if is_control(node) { Ok(NodeFlags::default()) } else { self.fs()?.flags(node) }
    }

    fn set_flags(&self, cred: &Cred, node: NodeId, flags: NodeFlags) -> Result<()> {
        let _call = self.counting.call(FileOp::Other, About::node(node).by(cred));
        self.own(node)?.set_flags(cred, node, flags)
    }
}
