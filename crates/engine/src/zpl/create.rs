//! New nodes: an object, its attributes in OpenZFS's order, and its first name.
//!
//! Source: `zfs_mknode` in module/os/linux/zfs/zfs_znode_os.c, `zfs_create`, `zfs_symlink` in
//! zfs_vnops_os.c.

use std::sync::Arc;

use dmu::zap::ZapParams;
use dmu::{Dnode, Holds, ObjectSpec, Tx, Zap};
use engine_api::{
    Attr, Changed, CreateMode, Created, Cred, DirChange, Error, NewNode, NodeId, Result, SetAttr, SetTime,
    Time,
};
use ondisk::dnode::{SLOTS_PER_BLOCK, bonus_for_slots};
use ondisk::object_type::ObjectType;
use ondisk::znode::{VERSION_SA, attr, encode_rdev, flags, kind, phys};
use stdx::posix;

use super::Zpl;
use super::acl_limits::AclLimits;
use super::attrs::{Attrs, Change, template};
use super::dir::entry_for;
use super::error::api_error;
use super::file::MAX_FILE_SIZE;
use super::log::Settled;
use super::node::{Node, lock_all};
use super::perm::{check, check_data, check_mutable, refused, rules, who};
use super::posix_acl::Inherited;
use super::size::grow_block;

/// Blocks a creation may dirty: two dnodes, directory head, pointers and leafs, layouts.
const META_BLOCKS: u64 = 10;
pub const LINK_MAX: u64 = (1 << 31) - 1;
const PATH_MAX: usize = 4096;

/// What makes a new node different from the rest.
#[derive(Clone)]
pub struct Body {
    pub kind: u8,
    pub rdev: u64,
    pub target: Option<Vec<u8>>,
    /// Of a regular file.
    pub size: u64,
}

impl Body {
    pub fn plain(kind: u8) -> Body {
        Body { kind, rdev: 0, target: None, size: 0 }
    }

    fn of(what: &NewNode) -> Result<Body> {
        Ok(match what {
            NewNode::File => Body::plain(kind::FILE),
            NewNode::Dir => Body::plain(kind::DIR),
            NewNode::Fifo => Body::plain(kind::FIFO),
            NewNode::Socket => Body::plain(kind::SOCKET),
            NewNode::CharDev { major, minor } => {
                Body { rdev: encode_rdev(*major, *minor), ..Body::plain(kind::CHAR) }
            }
            NewNode::BlockDev { major, minor } => {
                Body { rdev: encode_rdev(*major, *minor), ..Body::plain(kind::BLOCK) }
            }
            NewNode::Symlink { target } => {
                check_target(target)?;
                Body { target: Some(target.clone()), ..Body::plain(kind::SYMLINK) }
            }
        })
    }
}

/// Flags of a new node: `inherited` are its directory's.
fn new_flags(kind: u8, inherited: u64, projects: bool) -> u64 {
    let mut new = flags::ARCHIVE | flags::AV_MODIFIED | inherited & flags::XATTR;
    if projects {
        new |= flags::PROJID;
    }
    if kind == kind::DIR {
        new |= flags::ACL_AUTO_INHERIT;
    }
    if matches!(kind, kind::FILE | kind::DIR) {
        new |= inherited & flags::PROJINHERIT;
    }
    new
}

/// Owner, permissions and times of a new node.
pub struct NewAttrs {
    pub uid: u32,
    pub gid: u32,
    /// The low twelve bits.
    pub mode: u32,
    pub atime: Time,
    pub mtime: Time,
    pub now: Time,
    /// Further flags, `flags::XATTR` for one.
    pub flags: u64,
    /// The node existed before: which it was.
    pub born: Option<Born>,
}

/// What a node that is made once more had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Born {
    pub object: u64,
    /// Of its dnode.
    pub slots: u8,
    pub generation: u64,
}

/// Makes the object of a new node, which is found only once it is whole; `parent` 0 makes it its
/// own parent, as the root is.
pub fn new_object(
    fs: &NewNodes<'_>,
    body: &Body,
    new: &NewAttrs,
    parent: u64,
    inherited: u64,
    tx: &Tx,
) -> std::result::Result<Arc<Dnode>, dmu::DmuError> {
    let policy = fs.objset.policy();
    let is_dir = body.kind == kind::DIR;
    let object_type = if is_dir { ObjectType::DIRECTORY_CONTENTS } else { ObjectType::PLAIN_FILE_CONTENTS };
    let slots = new.born.map_or(policy.dnode_slots, |born| born.slots).clamp(1, SLOTS_PER_BLOCK as u8);
    let spec = ObjectSpec::new(object_type).with_slots(slots);
    let spec = match fs.is_old() {
        true => spec.with_bonus(ObjectType::ZNODE, phys::SIZE as u16),
        false => spec.with_bonus(ObjectType::SA, bonus_for_slots(slots.into()) as u16),
    };
    let make = |dnode: &Arc<Dnode>| {
        if is_dir {
            let params = ZapParams { salt: fs.salt, normflags: fs.normflags, flags: 0 };
            Zap::of(dnode.clone())?.format(params, tx)?;
        }
        fill(fs, dnode, body, new, (parent, inherited), tx)
    };
    let Some(born) = new.born else { return fs.objset.alloc_with(spec, tx, make) };
    let dnode = fs.objset.claim(born.object, spec, tx)?;
    match make(&dnode) {
        Ok(()) => Ok(dnode),
        Err(error) => {
            fs.objset.free(born.object, tx)?;
            Err(error)
        }
    }
}

/// Gives a new node its attributes. `family`: its parent, and that one's flags.
fn fill(
    fs: &NewNodes<'_>,
    dnode: &Dnode,
    body: &Body,
    new: &NewAttrs,
    family: (u64, u64),
    tx: &Tx,
) -> std::result::Result<(), dmu::DmuError> {
    let (parent, inherited) = family;
    let is_dir = body.kind == kind::DIR;
    let projects = fs.objset.policy().account_projects;
    let target_len = body.target.as_ref().map_or(0, Vec::len) as u64;
    let attrs = Attrs {
        mode: u64::from(body.kind) << 12 | u64::from(new.mode),
        size: if is_dir { 2 } else { body.size.max(target_len) },
        generation: new.born.map_or(tx.txg(), |born| born.generation),
        uid: new.uid.into(),
        gid: new.gid.into(),
        parent: if parent == 0 { dnode.object() } else { parent },
        flags: new_flags(body.kind, inherited, projects) | new.flags,
        atime: new.atime,
        mtime: new.mtime,
        ctime: new.now,
        crtime: new.now,
        links: if is_dir { 2 } else { 1 },
        rdev: body.rdev,
        acl: AclLimits::default(),
        posix_acl: None,
    };
    let project = fs.project.filter(|_| projects).or(projects.then_some(0));
    let mut values = template(&attrs, project);
    if fs.is_old() {
        return fill_znode(fs, dnode, Change::of(values), body.target.as_deref(), tx);
    }
    values.extend(body.target.iter().map(|target| (&attr::SYMLINK, target.clone())));
    let values: Vec<_> = values.iter().map(|(attr, value)| (*attr, &value[..])).collect();
    fs.sa.replace_all(fs.objset, dnode, &values, tx)
}

/// The same in an old file system; the target of a link lies behind the znode, or where it is too
/// long, in the object.
fn fill_znode(
    fs: &NewNodes<'_>,
    dnode: &Dnode,
    values: Change,
    target: Option<&[u8]>,
    tx: &Tx,
) -> std::result::Result<(), dmu::DmuError> {
    let mut change = values.for_znode(fs.version);
    match target {
        Some(target) if phys::SIZE + target.len() <= dnode.bonus_capacity() => {
            change = change.bytes(&attr::SYMLINK, target.to_vec());
        }
        Some(target) => {
            grow_block(dnode, 0, target.len() as u64, fs.objset.policy().recordsize, tx)?;
            dnode.write(0, target, tx)?;
        }
        None => {}
    }
    fs.sa.replace_znode(dnode, &change.values(), tx)
}

/// What making an object takes; the file system itself may not be open yet.
pub struct NewNodes<'a> {
    pub objset: &'a Arc<dmu::Objset>,
    pub sa: &'a dmu::sa::Sa,
    /// Of the file system.
    pub version: u64,
    pub normflags: u64,
    pub salt: u64,
    /// Handed on by the directory.
    pub project: Option<u64>,
}

impl NewNodes<'_> {
    fn is_old(&self) -> bool {
        self.version < VERSION_SA
    }
}

impl Zpl {
    pub(super) fn new_nodes(&self, project: Option<u64>) -> NewNodes<'_> {
        NewNodes {
            objset: &self.objset,
            sa: &self.sa,
            version: self.version(),
            normflags: self.names.normflags,
            salt: self.env.entropy.u64(),
            project,
        }
    }

    pub(super) fn create_file(
        &self,
        cred: &Cred,
        dir: NodeId,
        name: &[u8],
        mode: CreateMode,
        attr: &SetAttr,
    ) -> Result<Created> {
        self.names.check_entry(name)?;
        let size = attr.size.unwrap_or(0);
        if size > MAX_FILE_SIZE {
            return Err(Error::FileTooLarge);
        }
        let dir = self.dir_node(dir)?;
        check(cred, &self.attrs(&dir)?, posix::EXEC)?;
        let mut attr = attr.clone();
        if let CreateMode::Exclusive { verifier } = mode {
            let (atime, mtime) = verifier_times(verifier);
            (attr.atime, attr.mtime) = (Some(SetTime::To(atime)), Some(SetTime::To(mtime)));
        }
        loop {
            if let Some((found, node)) = self.find_node(&dir, name)? {
                match self.create_over(cred, &dir, &node, mode, &attr) {
                    // Removed in between: it can be made after all.
                    Err(Error::Stale) if self.find_entry(&dir, name)? != Some(found) => continue,
                    answer => return answer,
                }
            }
            let body = Body { size, ..Body::plain(kind::FILE) };
            match self.add_node(cred, &dir, name, &body, &attr) {
                // Made in between by somebody else.
                Err(Error::Exists)
                    if mode != CreateMode::Guarded && self.find_entry(&dir, name)?.is_some() => {}
                answer => return answer,
            }
        }
    }

    /// The name exists: it is the answer, or in the way.
    fn create_over(
        &self,
        cred: &Cred,
        dir: &Arc<Node>,
        node: &Node,
        mode: CreateMode,
        attr: &SetAttr,
    ) -> Result<Created> {
        let attrs = self.attrs(node)?;
        let is_file = attrs.kind() == kind::FILE;
        match mode {
            CreateMode::Unchecked if is_file => {
                if attr.size == Some(0) {
                    check_data(cred, &attrs, posix::WRITE)?;
                    let truncate = SetAttr { size: Some(0), ..SetAttr::default() };
                    self.set_attributes(cred, node.id(), &truncate)?;
                    self.tell(cred, node.id(), Changed::DATA);
                }
            }
            CreateMode::Exclusive { verifier }
                if is_file && (attrs.atime, attrs.mtime) == verifier_times(verifier) => {}
            CreateMode::Unchecked | CreateMode::Guarded | CreateMode::Exclusive { .. } => {
                return Err(Error::Exists);
            }
        }
        let parent = self.show_now(dir)?;
        let dir = DirChange { before: parent, after: parent };
        Ok(Created { attr: self.show_now(node)?, dir, new: false })
    }

    pub(super) fn make_node(
        &self,
        cred: &Cred,
        dir: NodeId,
        name: &[u8],
        what: &NewNode,
        attr: &SetAttr,
    ) -> Result<Created> {
        if *what == NewNode::File {
            return self.create_file(cred, dir, name, CreateMode::Guarded, attr);
        }
        let body = Body::of(what)?;
        self.names.check_entry(name)?;
        let dir = self.dir_node(dir)?;
        check(cred, &self.attrs(&dir)?, posix::EXEC)?;
        if self.find_entry(&dir, name)?.is_some() {
            return Err(Error::Exists);
        }
        if matches!(body.kind, kind::CHAR | kind::BLOCK) && !who(cred).is_privileged() {
            return Err(Error::NotPermitted);
        }
        self.add_node(cred, &dir, name, &body, attr)
    }

    /// A new node under a name that is free, or `Exists`.
    fn add_node(
        &self,
        cred: &Cred,
        dir: &Arc<Node>,
        name: &[u8],
        body: &Body,
        attr: &SetAttr,
    ) -> Result<Created> {
        let locked = lock_all(&[dir]);
        dir.check_alive()?;
        let parent = self.attrs(dir)?;
        if parent.links == 0 {
            return Err(Error::NotFound);
        }
        let (new, inherited) = self.new_attrs(cred, dir, &parent, body, attr)?;
        if self.find_entry(dir, name)?.is_some() {
            return Err(Error::Exists);
        }
        let before = self.show(dir, &parent);
        let project = self.inherited_project(dir, &parent)?;
        self.check_more_nodes(Some(new.uid.into()), Some(new.gid.into()), project)?;
        let (acl_bytes, acl_blocks) = inherited.holds();
        let tx = self.begin(Holds::new(acl_bytes, META_BLOCKS + acl_blocks))?;
        let dnode = new_object(&self.new_nodes(project), body, &new, dir.object(), parent.flags, &tx)
            .map_err(api_error)?;
        let node = Arc::new(Node::new(dnode, tx.txg(), tx.txg()));
        let named = self
            .store_inherited(cred, &node, &inherited, &tx)
            .and_then(|()| self.stored_attrs(node.dnode()))
            .and_then(|attrs| self.add_entry(dir, name, entry_for(&node, &attrs), &tx).map(|()| attrs));
        let attrs = match named {
            Ok(attrs) => attrs,
            Err(error) => {
                self.undo_new(&node, &tx)?;
                return Err(error);
            }
        };
        if body.size > 0 {
            let recordsize = self.settings().recordsize;
            grow_block(node.dnode(), 0, body.size, recordsize, &tx).map_err(api_error)?;
        }
        let node = self.nodes.insert(node, &self.changed);
        self.touch_dir(dir, 1, i64::from(attrs.is_dir()), &tx)?;
        let asked = |time: Option<SetTime>, is: Time| time.map(|_| is);
        let set = Settled {
            size: Some(body.size).filter(|size| *size > 0),
            atime: asked(attr.atime, new.atime),
            mtime: asked(attr.mtime, new.mtime).or((body.size > 0).then_some(new.mtime)),
            ..Settled::default()
        };
        self.log_create(dir.object(), node.dnode(), &attrs, name, body.target.as_deref(), &tx);
        self.log_inherited(&node, &inherited, &tx)?;
        self.log_new_attrs(node.object(), set, &tx);
        let after = self.show_now(dir)?;
        let attr = self.show(&node, &attrs);
        drop((tx, locked));
        // Who may have a limit of nodes is counted from the first on (`zfs_id_overobjquota` in
        // module/zfs/zfs_quota.c).
        if self.lacks_accounting() {
            self.host.count();
        }
        Ok(Created { attr, dir: DirChange { before, after }, new: true })
    }

    /// A file without a name, open for the caller; until it has one it is in the unlinked set. No
    /// record of the log tells of it or of the ACL it inherits: its first name waits for the group
    /// (`zfs_tmpfile` in module/os/linux/zfs/zfs_vnops_os.c).
    pub(super) fn make_unnamed(&self, cred: &Cred, dir: NodeId, attr: &SetAttr) -> Result<Attr> {
        let dir = self.dir_node(dir)?;
        let _ops = lock_all(&[&dir]);
        dir.check_alive()?;
        let parent = self.attrs(&dir)?;
        check(cred, &parent, posix::EXEC)?;
        let body = Body::plain(kind::FILE);
        let (new, inherited) = self.new_attrs(cred, &dir, &parent, &body, attr)?;
        let project = self.inherited_project(&dir, &parent)?;
        self.check_more_nodes(Some(new.uid.into()), Some(new.gid.into()), project)?;
        let (acl_bytes, acl_blocks) = inherited.holds();
        let tx = self.begin(Holds::new(acl_bytes, META_BLOCKS + acl_blocks))?;
        let dnode = new_object(&self.new_nodes(project), &body, &new, dir.object(), parent.flags, &tx)
            .map_err(api_error)?;
        let node = Arc::new(Node::new(dnode, tx.txg(), tx.txg()));
        node.open();
        node.set_unnamed(true);
        let stored =
            self.store_inherited(cred, &node, &inherited, &tx).and_then(|()| self.put_in_set(&node, &tx));
        if let Err(error) = stored {
            self.undo_new(&node, &tx)?;
            return Err(error);
        }
        let node = self.nodes.insert(node, &self.changed);
        self.show_now(&node)
    }

    /// Checks what a creation needs, and says what the node will be.
    fn new_attrs(
        &self,
        cred: &Cred,
        dir: &Node,
        parent: &Attrs,
        body: &Body,
        attr: &SetAttr,
    ) -> Result<(NewAttrs, Inherited)> {
        let (caller, rules) = (who(cred), rules(parent));
        posix::check_add(&caller, &rules).map_err(refused)?;
        check_mutable(parent)?;
        if body.kind == kind::DIR && parent.links >= LINK_MAX {
            return Err(Error::TooManyLinks);
        }
        let gid = posix::new_gid(&caller, &rules);
        posix::check_new_owner(&caller, gid, attr.uid, attr.gid).map_err(refused)?;
        let kind = if body.kind == kind::DIR { posix::Kind::Dir } else { posix::Kind::File };
        let asked = match body.kind {
            kind::SYMLINK => 0o777,
            _ => parent.acl.of_new(posix::new_mode(&caller, &rules, kind, attr.mode.unwrap_or(0))),
        };
        let inherited = self.inherited_acl(cred, dir, body.kind, asked)?;
        let now = self.now();
        let at = |time: Option<SetTime>| match time {
            Some(SetTime::To(time)) => time,
            Some(SetTime::Now) | None => now,
        };
        let new = NewAttrs {
            uid: attr.uid.unwrap_or(cred.uid),
            gid: attr.gid.unwrap_or(gid),
            mode: inherited.mode,
            atime: at(attr.atime),
            mtime: at(attr.mtime),
            now,
            flags: 0,
            born: None,
        };
        Ok((new, inherited))
    }
}

/// Where an exclusive create keeps its verifier.
fn verifier_times(verifier: u64) -> (Time, Time) {
    let time = |half: u64| Time { secs: i64::from(half as u32), nanos: 0 };
    (time(verifier >> 32), time(verifier))
}

fn check_target(target: &[u8]) -> Result<()> {
    if target.is_empty() || target.contains(&0) {
        return Err(Error::Invalid("a symbolic link needs a target without NUL".into()));
    }
    if target.len() >= PATH_MAX { Err(Error::NameTooLong) } else { Ok(()) }
}
