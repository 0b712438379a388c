//! The engine's interface, operation by operation.

use dmu::Holds;
use engine_api::{
    Access, Attr, Changed, CreateMode, Created, Cred, DirChange, DirLimit, DirPage, FileSystem, FsId, FsStat,
    NAME_MAX, NewNode, NodeFlags, NodeId, Project, Promise, ReadBuf, RenameMode, Result, Seek, SetAttr,
    Stable, Verifier, Written, XattrMode,
};

use super::Zpl;
use super::create::LINK_MAX;
use super::file::MAX_FILE_SIZE;
use super::link::Victim;

/// Bytes that every object takes at least: a dnode.
const OBJECT_BYTES: u64 = 512;

impl FileSystem for Zpl {
    fn id(&self) -> FsId {
        self.id
    }

    fn root(&self) -> NodeId {
        self.root
    }

    fn is_waiting(&self) -> bool {
        self.host.is_suspended()
    }

    fn statfs(&self, node: NodeId) -> Result<FsStat> {
        let space = self.host.space();
        let objects = self.objset.object_count();
        let free_files = space.available / OBJECT_BYTES;
        let stat = FsStat {
            total_bytes: space.referenced.saturating_add(space.available),
            free_bytes: space.available,
            avail_bytes: space.available,
            total_files: free_files.saturating_add(objects),
            free_files,
            blksize: self.settings().recordsize,
            name_max: NAME_MAX as u32,
            link_max: LINK_MAX as u32,
            case_insensitive: self.names.case_insensitive(),
            case_preserving: true,
            read_only: self.is_readonly(),
            max_file_size: MAX_FILE_SIZE,
        };
        self.room_of_project(node, stat)
    }

    fn lookup(&self, cred: &Cred, dir: NodeId, name: &[u8]) -> Result<Attr> {
        self.lookup_name(cred, dir, name)
    }

    fn getattr(&self, node: NodeId) -> Result<Attr> {
        let node = self.node(node)?;
        self.show_now(&node)
    }

    fn setattr(&self, cred: &Cred, node: NodeId, set: &SetAttr) -> Result<(Attr, Attr)> {
        let what = Changed { data: set.size.is_some(), ..Changed::ATTRIBUTES };
        self.told(cred, node, what, self.settled(self.set_attributes(cred, node, set)))
    }

    fn access(&self, cred: &Cred, node: NodeId) -> Result<Access> {
        self.access_bits(cred, node)
    }

    fn readdir(&self, cred: &Cred, dir: NodeId, cookie: u64, limit: DirLimit) -> Result<DirPage> {
        self.list(cred, dir, cookie, limit)
    }

    fn readlink(&self, cred: &Cred, node: NodeId) -> Result<Vec<u8>> {
        self.read_link(cred, node)
    }

    fn read(&self, cred: &Cred, node: NodeId, offset: u64, len: usize) -> Result<ReadBuf> {
        self.read_file(cred, node, offset, len)
    }

    fn accessed(&self, cred: &Cred, node: NodeId) -> Result<bool> {
        self.note_access(cred, node)
    }

    fn write(&self, cred: &Cred, node: NodeId, offset: u64, data: &[u8], stable: Stable) -> Result<Written> {
        let written = self.write_at(cred, node, Some(offset), data, stable);
        self.told(cred, node, Changed::DATA, written.map(|(_, written)| written))
    }

    fn append(&self, cred: &Cred, node: NodeId, data: &[u8], stable: Stable) -> Result<(u64, Written)> {
        self.told(cred, node, Changed::DATA, self.write_at(cred, node, None, data, stable))
    }

    fn write_promised(
        &self,
        cred: &Cred,
        node: NodeId,
        offset: u64,
        data: &[u8],
    ) -> Result<(Written, Promise)> {
        self.told(cred, node, Changed::DATA, self.write_promised_at(cred, node, offset, data))
    }

    fn promise(&self, node: NodeId) -> Result<Promise> {
        let node = self.node(node)?;
        self.promise_durable(&node)
    }

    fn commit(&self, node: NodeId) -> Result<Verifier> {
        let node = self.node(node)?;
        self.make_durable(Some(&node))?;
        Ok(self.verifier)
    }

    fn sync(&self) -> Result<()> {
        if !self.is_readonly() {
            for node in self.nodes.with_pending_atime() {
                let tx = self.begin(Holds::new(0, 1))?;
                if let (Some(atime), true) = (node.pending_atime(), node.check_alive().is_ok()) {
                    self.store_atime(&node, atime, &tx);
                }
            }
        }
        self.make_durable(None)
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
        self.told(cred, dir, Changed::ATTRIBUTES, self.settled(self.create_file(cred, dir, name, mode, attr)))
    }

    fn create_unnamed(&self, cred: &Cred, dir: NodeId, attr: &SetAttr) -> Result<Attr> {
        self.make_unnamed(cred, dir, attr)
    }

    fn make(&self, cred: &Cred, dir: NodeId, name: &[u8], what: &NewNode, attr: &SetAttr) -> Result<Created> {
        self.told(cred, dir, Changed::ATTRIBUTES, self.settled(self.make_node(cred, dir, name, what, attr)))
    }

    fn link(&self, cred: &Cred, node: NodeId, dir: NodeId, name: &[u8]) -> Result<(Attr, DirChange)> {
        let linked = self.settled(self.link_node(cred, node, dir, name));
        self.tell(cred, node, Changed::ATTRIBUTES);
        self.told(cred, dir, Changed::ATTRIBUTES, linked)
    }

    fn remove(&self, cred: &Cred, dir: NodeId, name: &[u8]) -> Result<DirChange> {
        self.settled(self.remove_name(cred, dir, name, Victim::File(None)))
    }

    fn remove_unchanged(&self, cred: &Cred, dir: NodeId, name: &[u8], seen: &Attr) -> Result<DirChange> {
        self.settled(self.remove_name(cred, dir, name, Victim::File(Some(seen))))
    }

    fn rmdir(&self, cred: &Cred, dir: NodeId, name: &[u8]) -> Result<DirChange> {
        self.settled(self.remove_name(cred, dir, name, Victim::Dir))
    }

    fn rename(
        &self,
        cred: &Cred,
        from: (NodeId, &[u8]),
        to: (NodeId, &[u8]),
        mode: RenameMode,
    ) -> Result<(DirChange, DirChange)> {
        self.settled(self.rename_node(cred, from, to, mode))
    }

    fn seek(&self, cred: &Cred, node: NodeId, offset: u64, what: Seek) -> Result<u64> {
        self.seek_file(cred, node, offset, what)
    }

    fn punch(&self, cred: &Cred, node: NodeId, offset: u64, len: u64) -> Result<()> {
        self.told(cred, node, Changed::DATA, self.settled(self.punch_file(cred, node, offset, len)))
    }

    fn open(&self, node: NodeId) -> Result<()> {
        self.open_node(node)
    }

    fn close(&self, node: NodeId) {
        self.close_node(node);
    }

    fn getxattr(&self, cred: &Cred, node: NodeId, name: &[u8]) -> Result<Vec<u8>> {
        self.get_xattr(cred, node, name)
    }

    fn setxattr(&self, cred: &Cred, node: NodeId, name: &[u8], value: &[u8], mode: XattrMode) -> Result<()> {
        let set = self.settled(self.set_xattr(cred, node, name, value, mode));
        self.told(cred, node, Changed::ATTRIBUTES, set)
    }

    fn listxattr(&self, cred: &Cred, node: NodeId) -> Result<Vec<Vec<u8>>> {
        self.list_xattrs(cred, node)
    }

    fn removexattr(&self, cred: &Cred, node: NodeId, name: &[u8]) -> Result<()> {
        self.told(cred, node, Changed::ATTRIBUTES, self.settled(self.remove_xattr(cred, node, name)))
    }

    fn project(&self, node: NodeId) -> Result<Project> {
        self.node_project(node)
    }

    fn set_project(&self, cred: &Cred, node: NodeId, project: Project) -> Result<()> {
        self.told(cred, node, Changed::ATTRIBUTES, self.settled(self.set_node_project(cred, node, project)))
    }

    fn flags(&self, node: NodeId) -> Result<NodeFlags> {
        self.node_flags(node)
    }

    fn set_flags(&self, cred: &Cred, node: NodeId, flags: NodeFlags) -> Result<()> {
        self.told(cred, node, Changed::ATTRIBUTES, self.settled(self.set_node_flags(cred, node, flags)))
    }
}
