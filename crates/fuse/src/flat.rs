//! A file system with its snapshots as one tree: a kernel mount has one number for each node, and
//! file systems that lie within another ([`FileSystem::crossing`]) count their nodes for
//! themselves.
//!
//! ```text
//!   63      48 47                       0
//!   | which   | object                  |     0: the file system itself, else the n-th that was stepped into
//! ```
//! The root of one that lies within has the number of the place where it lies. The n-th is n for as
//! long as the mount lasts; nothing of this outlives it.

use crate::lock::lock;
use engine_api::{
    Access, Attr, CreateMode, Created, Cred, DirChange, DirLimit, DirPage, Error, FileSystem, FsId, FsStat,
    NewNode, NodeFlags, NodeId, Origin, Project, Promise, ReadBuf, RenameMode, Result, Seek, SetAttr, Stable,
    Verifier, Watcher, Written, XattrMode,
};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, Weak};

const SHIFT: u32 = 48;
const MOST: usize = 0xffff;

/// See the module.
pub struct Flat {
    fs: Arc<dyn FileSystem>,
    within: Mutex<Within>,
}

#[derive(Default)]
struct Within {
    all: Vec<(NodeId, Arc<dyn FileSystem>)>,
    by_place: HashMap<NodeId, usize>,
}

/// One of the file systems, and its number.
struct Part {
    which: u64,
    fs: Arc<dyn FileSystem>,
    /// Where its root is.
    place: NodeId,
}

impl Part {
    fn out(&self, node: NodeId) -> NodeId {
        match self.which {
            0 => node,
            _ if node == self.fs.root() => self.place,
            which => NodeId { object: node.object | which << SHIFT, generation: node.generation },
        }
    }

    fn attr(&self, attr: Attr) -> Attr {
        Attr { node: self.out(attr.node), ..attr }
    }

    fn dir(&self, change: DirChange) -> DirChange {
        DirChange { before: self.attr(change.before), after: self.attr(change.after) }
    }

    fn created(&self, created: Created) -> Created {
        Created { attr: self.attr(created.attr), dir: self.dir(created.dir), ..created }
    }

    fn written(&self, written: Written) -> Written {
        Written { before: self.attr(written.before), after: self.attr(written.after), ..written }
    }
}

impl Flat {
    pub fn new(fs: Arc<dyn FileSystem>) -> Arc<Flat> {
        Arc::new(Flat { fs, within: Mutex::default() })
    }

    fn within(&self) -> MutexGuard<'_, Within> {
        lock(&self.within)
    }

    /// Whose a node is, and its own number there.
    fn part(&self, node: NodeId) -> Result<(Part, NodeId)> {
        let which = node.object >> SHIFT;
        if which != 0 {
            let (place, fs) = self.within().all.get(which as usize - 1).cloned().ok_or(Error::Stale)?;
            let object = node.object & ((1 << SHIFT) - 1);
            return Ok((Part { which, fs, place }, NodeId { object, generation: node.generation }));
        }
        match self.fs.crossing(node)? {
            Some(fs) => {
                let root = fs.root();
                Ok((self.step_into(node, fs)?, root))
            }
            None => Ok((Part { which: 0, fs: self.fs.clone(), place: self.fs.root() }, node)),
        }
    }

    fn step_into(&self, place: NodeId, fs: Arc<dyn FileSystem>) -> Result<Part> {
        let mut within = self.within();
        let next = within.all.len();
        let at = *within.by_place.entry(place).or_insert(next);
        if at == next {
            if next >= MOST {
                within.by_place.remove(&place);
                return Err(Error::Unsupported("more snapshots in one mount".into()));
            }
            within.all.push((place, fs.clone()));
        }
        Ok(Part { which: at as u64 + 1, fs, place })
    }

    /// Nodes of a part as this tree has them; one that stands for another's root has that one's
    /// attributes.
    fn seen(&self, part: &Part, attr: Attr) -> Result<Attr> {
        if part.which == 0 && self.fs.crossing(attr.node)?.is_some() {
            return self.getattr(attr.node);
        }
        Ok(part.attr(attr))
    }
}

impl FileSystem for Flat {
    fn id(&self) -> FsId {
        self.fs.id()
    }

    fn root(&self) -> NodeId {
        self.fs.root()
    }

    fn is_waiting(&self) -> bool {
        self.fs.is_waiting()
    }

    fn crossing(&self, node: NodeId) -> Result<Option<Arc<dyn FileSystem>>> {
        if node.object >> SHIFT == 0 { self.fs.crossing(node) } else { Ok(None) }
    }

    fn watch(&self, watcher: Weak<dyn Watcher>) -> Option<Origin> {
        self.fs.watch(watcher)
    }

    fn statfs(&self, node: NodeId) -> Result<FsStat> {
        let (part, node) = self.part(node)?;
        part.fs.statfs(node)
    }

    fn lookup(&self, cred: &Cred, dir: NodeId, name: &[u8]) -> Result<Attr> {
        let (part, dir) = self.part(dir)?;
        self.seen(&part, part.fs.lookup(cred, dir, name)?)
    }

    fn getattr(&self, node: NodeId) -> Result<Attr> {
        let (part, node) = self.part(node)?;
        Ok(part.attr(part.fs.getattr(node)?))
    }

    fn setattr(&self, cred: &Cred, node: NodeId, set: &SetAttr) -> Result<(Attr, Attr)> {
        let (part, node) = self.part(node)?;
        let (before, after) = part.fs.setattr(cred, node, set)?;
        Ok((part.attr(before), part.attr(after)))
    }

    fn access(&self, cred: &Cred, node: NodeId) -> Result<Access> {
        let (part, node) = self.part(node)?;
        part.fs.access(cred, node)
    }

    fn readdir(&self, cred: &Cred, dir: NodeId, cookie: u64, limit: DirLimit) -> Result<DirPage> {
        let (part, dir) = self.part(dir)?;
        let mut page = part.fs.readdir(cred, dir, cookie, limit)?;
        for entry in &mut page.entries {
            entry.node = part.out(entry.node);
            entry.attr = entry.attr.map(|attr| part.attr(attr));
        }
        Ok(page)
    }

    fn readlink(&self, cred: &Cred, node: NodeId) -> Result<Vec<u8>> {
        let (part, node) = self.part(node)?;
        part.fs.readlink(cred, node)
    }

    fn read(&self, cred: &Cred, node: NodeId, offset: u64, len: usize) -> Result<ReadBuf> {
        let (part, node) = self.part(node)?;
        part.fs.read(cred, node, offset, len)
    }

    fn write(&self, cred: &Cred, node: NodeId, offset: u64, data: &[u8], stable: Stable) -> Result<Written> {
        let (part, node) = self.part(node)?;
        Ok(part.written(part.fs.write(cred, node, offset, data, stable)?))
    }

    fn append(&self, cred: &Cred, node: NodeId, data: &[u8], stable: Stable) -> Result<(u64, Written)> {
        let (part, node) = self.part(node)?;
        let (offset, written) = part.fs.append(cred, node, data, stable)?;
        Ok((offset, part.written(written)))
    }

    fn write_promised(
        &self,
        cred: &Cred,
        node: NodeId,
        offset: u64,
        data: &[u8],
    ) -> Result<(Written, Promise)> {
        let (part, node) = self.part(node)?;
        let (written, promise) = part.fs.write_promised(cred, node, offset, data)?;
        Ok((part.written(written), promise))
    }

    fn promise(&self, node: NodeId) -> Result<Promise> {
        let (part, node) = self.part(node)?;
        part.fs.promise(node)
    }

    fn commit(&self, node: NodeId) -> Result<Verifier> {
        let (part, node) = self.part(node)?;
        part.fs.commit(node)
    }

    fn sync(&self) -> Result<()> {
        self.fs.sync()
    }

    fn verifier(&self) -> Verifier {
        self.fs.verifier()
    }

    fn create(
        &self,
        cred: &Cred,
        dir: NodeId,
        name: &[u8],
        mode: CreateMode,
        attr: &SetAttr,
    ) -> Result<Created> {
        let (part, dir) = self.part(dir)?;
        Ok(part.created(part.fs.create(cred, dir, name, mode, attr)?))
    }

    fn create_unnamed(&self, cred: &Cred, dir: NodeId, attr: &SetAttr) -> Result<Attr> {
        let (part, dir) = self.part(dir)?;
        Ok(part.attr(part.fs.create_unnamed(cred, dir, attr)?))
    }

    fn make(&self, cred: &Cred, dir: NodeId, name: &[u8], what: &NewNode, attr: &SetAttr) -> Result<Created> {
        let (part, dir) = self.part(dir)?;
        Ok(part.created(part.fs.make(cred, dir, name, what, attr)?))
    }

    fn link(&self, cred: &Cred, node: NodeId, dir: NodeId, name: &[u8]) -> Result<(Attr, DirChange)> {
        let ((part, node), (other, dir)) = (self.part(node)?, self.part(dir)?);
        if part.which != other.which {
            return Err(Error::CrossDevice);
        }
        let (attr, change) = part.fs.link(cred, node, dir, name)?;
        Ok((part.attr(attr), part.dir(change)))
    }

    fn remove(&self, cred: &Cred, dir: NodeId, name: &[u8]) -> Result<DirChange> {
        let (part, dir) = self.part(dir)?;
        Ok(part.dir(part.fs.remove(cred, dir, name)?))
    }

    fn rmdir(&self, cred: &Cred, dir: NodeId, name: &[u8]) -> Result<DirChange> {
        let (part, dir) = self.part(dir)?;
        Ok(part.dir(part.fs.rmdir(cred, dir, name)?))
    }

    fn rename(
        &self,
        cred: &Cred,
        from: (NodeId, &[u8]),
        to: (NodeId, &[u8]),
        mode: RenameMode,
    ) -> Result<(DirChange, DirChange)> {
        let ((part, source), (other, target)) = (self.part(from.0)?, self.part(to.0)?);
        if part.which != other.which {
            return Err(Error::CrossDevice);
        }
        let (before, after) = part.fs.rename(cred, (source, from.1), (target, to.1), mode)?;
        Ok((part.dir(before), part.dir(after)))
    }

    fn seek(&self, cred: &Cred, node: NodeId, offset: u64, what: Seek) -> Result<u64> {
        let (part, node) = self.part(node)?;
        part.fs.seek(cred, node, offset, what)
    }

    fn punch(&self, cred: &Cred, node: NodeId, offset: u64, len: u64) -> Result<()> {
        let (part, node) = self.part(node)?;
        part.fs.punch(cred, node, offset, len)
    }

    fn open(&self, node: NodeId) -> Result<()> {
        let (part, node) = self.part(node)?;
        part.fs.open(node)
    }

    fn close(&self, node: NodeId) {
        if let Ok((part, node)) = self.part(node) {
            part.fs.close(node);
        }
    }

    fn getxattr(&self, cred: &Cred, node: NodeId, name: &[u8]) -> Result<Vec<u8>> {
        let (part, node) = self.part(node)?;
        part.fs.getxattr(cred, node, name)
    }

    fn setxattr(&self, cred: &Cred, node: NodeId, name: &[u8], value: &[u8], mode: XattrMode) -> Result<()> {
        let (part, node) = self.part(node)?;
        part.fs.setxattr(cred, node, name, value, mode)
    }

    fn listxattr(&self, cred: &Cred, node: NodeId) -> Result<Vec<Vec<u8>>> {
        let (part, node) = self.part(node)?;
        part.fs.listxattr(cred, node)
    }

    fn removexattr(&self, cred: &Cred, node: NodeId, name: &[u8]) -> Result<()> {
        let (part, node) = self.part(node)?;
        part.fs.removexattr(cred, node, name)
    }

    fn project(&self, node: NodeId) -> Result<Project> {
        let (part, node) = self.part(node)?;
        part.fs.project(node)
    }

    fn set_project(&self, cred: &Cred, node: NodeId, project: Project) -> Result<()> {
        let (part, node) = self.part(node)?;
        part.fs.set_project(cred, node, project)
    }

    fn flags(&self, node: NodeId) -> Result<NodeFlags> {
        let (part, node) = self.part(node)?;
        part.fs.flags(node)
    }

    fn set_flags(&self, cred: &Cred, node: NodeId, flags: NodeFlags) -> Result<()> {
        let (part, node) = self.part(node)?;
        part.fs.set_flags(cred, node, flags)
    }
}
