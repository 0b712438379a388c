//! The file system itself: one lock around the state.

use crate::node::Body;
use crate::state::{State, refused, who};
use crate::{Clock, LINK_MAX, MAX_FILE_SIZE, attrs, data};
use engine_api::{
    Access, Attr, CreateMode, Created, Cred, DirChange, DirEntry, DirLimit, DirPage, Error, FileSystem, FsId,
    FsStat, NAME_MAX, NewNode, NodeFlags, NodeId, Project, Promise, ReadBuf, RenameMode, Result, Seek,
    SetAttr, Stable, Verifier, Written, XattrMode,
};
use std::sync::{Arc, Mutex, MutexGuard};
use stdx::posix;

const TOTAL_BYTES: u64 = 1 << 40;
const TOTAL_FILES: u64 = 1 << 32;

/// A file system in memory.
pub struct MemFs {
    id: FsId,
    verifier: Verifier,
    state: Mutex<State>,
}

impl MemFs {
    /// An empty file system, its root owned by root with mode 0755. `clock` is asked once or more
    /// per change.
    #[allow(clippy::new_ret_no_self, reason = "every user wants it shared")]
    pub fn new(clock: Clock) -> Arc<MemFs> {
        MemFs::with_id(FsId { pool_guid: 1, dataset_guid: 1 }, Verifier(1), clock)
    }

    /// The same with an identity, for more than one file system in a test, or one that "restarts".
    pub fn with_id(id: FsId, verifier: Verifier, clock: Clock) -> Arc<MemFs> {
        Arc::new(MemFs { id, verifier, state: Mutex::new(State::new(clock)) })
    }

    /// A copy as it would be found after a restart: nobody has anything open.
    pub fn fork(&self, clock: Clock) -> Arc<MemFs> {
        let state = self.state().restarted(clock);
        Arc::new(MemFs { id: self.id, verifier: self.verifier, state: Mutex::new(state) })
    }

    /// Nodes alive, open ones without a name included: what a test of leaks looks at.
    pub fn node_count(&self) -> usize {
        self.state().nodes.len()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("the oracle never panics half-way")
    }
}

impl FileSystem for MemFs {
    fn id(&self) -> FsId {
        self.id
    }

    fn root(&self) -> NodeId {
        self.state().root()
    }

    fn statfs(&self, _node: NodeId) -> Result<FsStat> {
        let state = self.state();
        let used: u64 = state.nodes.values().map(|node| node.attr().used).sum();
        let free = TOTAL_BYTES.saturating_sub(used);
        Ok(FsStat {
            total_bytes: TOTAL_BYTES,
            free_bytes: free,
            avail_bytes: free,
            total_files: TOTAL_FILES,
            free_files: TOTAL_FILES - state.nodes.len() as u64,
            blksize: 128 << 10,
            name_max: NAME_MAX as u32,
            link_max: LINK_MAX as u32,
            case_insensitive: false,
            case_preserving: true,
            read_only: false,
            max_file_size: MAX_FILE_SIZE,
        })
    }

    fn lookup(&self, cred: &Cred, dir: NodeId, name: &[u8]) -> Result<Attr> {
        self.state().lookup(cred, dir, name)
    }

    fn getattr(&self, node: NodeId) -> Result<Attr> {
        Ok(self.state().get(node)?.attr())
    }

    fn setattr(&self, cred: &Cred, node: NodeId, set: &SetAttr) -> Result<(Attr, Attr)> {
        self.state().setattr(cred, node, set)
    }

    fn access(&self, cred: &Cred, node: NodeId) -> Result<Access> {
        Ok(attrs::access(cred, self.state().get(node)?))
    }

    fn readdir(&self, cred: &Cred, dir: NodeId, cookie: u64, limit: DirLimit) -> Result<DirPage> {
        let mut state = self.state();
        let (node, entries) = state.dir(dir)?;
        posix::check(&who(cred), &node.rules(), posix::READ).map_err(refused)?;
        let mut page = DirPage { entries: Vec::new(), eof: true };
        let mut name_bytes = 0;
        for (cookie, name, object) in entries.after(cookie) {
            name_bytes += name.len();
            let full = page.entries.len() >= limit.entries || name_bytes > limit.name_bytes;
            if full && !page.entries.is_empty() {
                page.eof = false;
                break;
            }
            let node = state.object(object);
            page.entries.push(DirEntry {
                name: name.to_vec(),
                node: node.id,
                kind: node.kind(),
                cookie,
                attr: limit.with_attr.then(|| node.attr()),
            });
        }
        state.note_access(cred, dir)?;
        Ok(page)
    }

    fn readlink(&self, cred: &Cred, node: NodeId) -> Result<Vec<u8>> {
        let mut state = self.state();
        let Body::Symlink(target) = &state.get(node)?.body else {
            return Err(Error::Invalid("not a symbolic link".into()));
        };
        let target = target.clone();
        state.note_access(cred, node)?;
        Ok(target)
    }

    fn read(&self, cred: &Cred, node: NodeId, offset: u64, len: usize) -> Result<ReadBuf> {
        self.state().read(cred, node, offset, len)
    }

    fn accessed(&self, cred: &Cred, node: NodeId) -> Result<bool> {
        self.state().note_access(cred, node)
    }

    fn write(&self, cred: &Cred, node: NodeId, offset: u64, data: &[u8], _stable: Stable) -> Result<Written> {
        self.state().write(cred, node, offset, data, self.verifier)
    }

    fn append(&self, cred: &Cred, node: NodeId, data: &[u8], _stable: Stable) -> Result<(u64, Written)> {
        let mut state = self.state();
        let offset = data::content(state.get(node)?)?.size();
        Ok((offset, state.write(cred, node, offset, data, self.verifier)?))
    }

    fn write_promised(
        &self,
        cred: &Cred,
        node: NodeId,
        offset: u64,
        data: &[u8],
    ) -> Result<(Written, Promise)> {
        Ok((self.write(cred, node, offset, data, Stable::FileSync)?, Box::new(|| Ok(()))))
    }

    fn promise(&self, node: NodeId) -> Result<Promise> {
        self.commit(node)?;
        Ok(Box::new(|| Ok(())))
    }

    fn commit(&self, node: NodeId) -> Result<Verifier> {
        self.state().get(node)?;
        Ok(self.verifier)
    }

    fn sync(&self) -> Result<()> {
        Ok(())
    }

    fn verifier(&self) -> Verifier {
        self.verifier
    }

    fn create(
        &self,
        cred: &Cred,
        dir: NodeId,
        name: &[u8],
        mode: CreateMode,
        attr: &SetAttr,
    ) -> Result<Created> {
        self.state().create(cred, dir, name, mode, attr)
    }

    fn make(&self, cred: &Cred, dir: NodeId, name: &[u8], what: &NewNode, attr: &SetAttr) -> Result<Created> {
        self.state().make(cred, dir, name, what, attr)
    }

    fn link(&self, cred: &Cred, node: NodeId, dir: NodeId, name: &[u8]) -> Result<(Attr, DirChange)> {
        self.state().link(cred, node, dir, name)
    }

    fn remove(&self, cred: &Cred, dir: NodeId, name: &[u8]) -> Result<DirChange> {
        self.state().remove(cred, dir, name)
    }

    fn remove_unchanged(&self, cred: &Cred, dir: NodeId, name: &[u8], seen: &Attr) -> Result<DirChange> {
        let mut state = self.state();
        let now = state.lookup(cred, dir, name)?;
        let is_same =
            (now.node, now.size, now.mtime, now.ctime) == (seen.node, seen.size, seen.mtime, seen.ctime);
        if is_same { state.remove(cred, dir, name) } else { Err(Error::Stale) }
    }

    fn rmdir(&self, cred: &Cred, dir: NodeId, name: &[u8]) -> Result<DirChange> {
        self.state().rmdir(cred, dir, name)
    }

    fn rename(
        &self,
        cred: &Cred,
        from: (NodeId, &[u8]),
        to: (NodeId, &[u8]),
        mode: RenameMode,
    ) -> Result<(DirChange, DirChange)> {
        self.state().rename(cred, from, to, mode)
    }

    fn seek(&self, cred: &Cred, node: NodeId, offset: u64, what: Seek) -> Result<u64> {
        self.state().seek(cred, node, offset, what)
    }

    fn punch(&self, cred: &Cred, node: NodeId, offset: u64, len: u64) -> Result<()> {
        self.state().punch(cred, node, offset, len)
    }

    fn open(&self, node: NodeId) -> Result<()> {
        self.state().get_mut(node)?.opens += 1;
        Ok(())
    }

    fn close(&self, node: NodeId) {
        let mut state = self.state();
        let open = state.get_mut(node).expect("an open node stays");
        open.opens = open.opens.checked_sub(1).expect("one close for each open");
        state.forget_if_unused(node.object);
    }

    fn getxattr(&self, cred: &Cred, node: NodeId, name: &[u8]) -> Result<Vec<u8>> {
        self.state().getxattr(cred, node, name)
    }

    fn setxattr(&self, cred: &Cred, node: NodeId, name: &[u8], value: &[u8], mode: XattrMode) -> Result<()> {
        self.state().setxattr(cred, node, name, value, mode)
    }

    fn listxattr(&self, cred: &Cred, node: NodeId) -> Result<Vec<Vec<u8>>> {
        self.state().listxattr(cred, node)
    }

    fn removexattr(&self, cred: &Cred, node: NodeId, name: &[u8]) -> Result<()> {
        self.state().removexattr(cred, node, name)
    }

    fn project(&self, node: NodeId) -> Result<Project> {
        self.state().get(node)?;
        Err(Error::Unsupported("projects in a file system in memory".into()))
    }

    fn flags(&self, _node: NodeId) -> Result<NodeFlags> {
        Ok(NodeFlags::default())
    }

    fn set_flags(&self, _cred: &Cred, _node: NodeId, _flags: NodeFlags) -> Result<()> {
        Err(Error::Unsupported("flags of files in a file system in memory".into()))
    }

    fn create_unnamed(&self, _cred: &Cred, _dir: NodeId, _attr: &SetAttr) -> Result<Attr> {
        Err(Error::Unsupported("files without a name in a file system in memory".into()))
    }

    fn set_project(&self, _cred: &Cred, node: NodeId, _project: Project) -> Result<()> {
        self.project(node).map(drop)
    }
}
