//! Records of names: nodes made, linked, renamed and removed.

use std::sync::Arc;

use dmu::Holds;
use engine_api::{Error, Result};
use ondisk::zil::record::{Created, LoggedNode, LrCreate, LrLink, LrRemove, LrRename, RenameKind};
use ondisk::znode::{attr, flags, kind, kind_of_mode};

use super::META_BLOCKS;
use crate::zpl::Zpl;
use crate::zpl::attrs::{Attrs, Change, time};
use crate::zpl::create::{Body, Born, NewAttrs, new_object};
use crate::zpl::dir::entry_for;
use crate::zpl::error::api_error;
use crate::zpl::node::{Node, lock_all};
use crate::zpl::replay::{acl, set_optional};

impl Zpl {
    pub(super) fn replay_create(&self, create: &LrCreate<'_>) -> Result<()> {
        if !create.domains.is_empty() || create.acl.as_ref().is_some_and(|acl| !acl.fuids.is_empty()) {
            return Err(Error::Unsupported("replay of an owner of another domain".into()));
        }
        let dir = self.node_by_number(create.dir)?;
        let _ops = lock_all(&[&dir]);
        let parent = self.attrs(&dir)?;
        if create.what == Created::XattrDir {
            return self.replay_xattr_dir(create, &dir, &parent);
        }
        if self.find_entry(&dir, create.name)?.is_some() {
            return Err(Error::Exists);
        }
        let target = (create.what == Created::Symlink).then(|| create.target.to_vec());
        let body = Body { kind: kind_of_mode(create.node.mode), rdev: create.node.rdev, target, size: 0 };
        let new = born_again(&create.node, 0);
        let project = self.inherited_project(&dir, &parent)?;
        let tx = self.begin(Holds::freeing(META_BLOCKS))?;
        let dnode = new_object(&self.new_nodes(project), &body, &new, dir.object(), parent.flags, &tx);
        let node = self.adopt(dnode.map_err(api_error)?, create.node.generation, tx.txg());
        let attrs = self.attrs(&node)?;
        self.add_entry(&dir, create.name, entry_for(&node, &attrs), &tx)?;
        if create.xvattr.is_some() || create.acl.is_some() {
            let mut change = Change::default();
            let mut bits = attrs.flags;
            if let Some(xvattr) = &create.xvattr {
                (change, bits) = set_optional(change, bits, xvattr);
                change = change.word(&attr::FLAGS, bits);
            }
            if let Some(acl) = create.acl.as_ref().filter(|acl| !acl.entries.is_empty()) {
                change = acl::store(change, acl, &Attrs { flags: bits, ..attrs });
            }
            self.set(&node, change, &tx)?;
        }
        self.touch_dir(&dir, 1, i64::from(body.kind == kind::DIR), &tx)?;
        self.replayed(&tx);
        Ok(())
    }

    fn replay_xattr_dir(&self, create: &LrCreate<'_>, owner: &Arc<Node>, attrs: &Attrs) -> Result<()> {
        let new = born_again(&create.node, flags::XATTR);
        let project = self.inherited_project(owner, attrs)?;
        let tx = self.begin(Holds::freeing(META_BLOCKS))?;
        let body = Body::plain(kind::DIR);
        let dir = new_object(&self.new_nodes(project), &body, &new, owner.object(), attrs.flags, &tx);
        let dir = dir.map_err(api_error)?;
        self.set(owner, Change::default().word(&attr::XATTR, dir.object()), &tx)?;
        self.replayed(&tx);
        Ok(())
    }

    pub(super) fn replay_remove(&self, remove: &LrRemove<'_>) -> Result<()> {
        let dir = self.node_by_number(remove.dir)?;
        let found = self.find_entry(&dir, remove.name)?.ok_or(Error::NotFound)?;
        let victim = self.node_by_number(found.entry.object)?;
        let ops = lock_all(&[&dir, &victim]);
        let attrs = self.attrs(&victim)?;
        self.check_displaced(&victim, attrs.is_dir(), remove.is_dir)?;
        let range = victim.ranges().whole(&self.env);
        let tx = self.begin(Holds::freeing(META_BLOCKS))?;
        let fate = self.take_name(&dir, &found, &victim, attrs.is_dir(), &tx)?;
        self.replayed(&tx);
        drop((tx, range, ops));
        self.finish(fate)
    }

    pub(super) fn replay_link(&self, link: &LrLink<'_>) -> Result<()> {
        let dir = self.node_by_number(link.dir)?;
        let node = self.node_by_number(link.object)?;
        let _ops = lock_all(&[&dir, &node]);
        let attrs = self.attrs(&node)?;
        if attrs.is_dir() {
            return Err(Error::IsDir);
        }
        if self.find_entry(&dir, link.name)?.is_some() {
            return Err(Error::Exists);
        }
        let tx = self.begin(Holds::freeing(META_BLOCKS))?;
        self.give_name(&dir, link.name, &node, &attrs, &tx)?;
        self.replayed(&tx);
        Ok(())
    }

    pub(super) fn replay_rename(&self, rename: &LrRename<'_>) -> Result<()> {
        let from = self.node_by_number(rename.from_dir)?;
        let to = self.node_by_number(rename.to_dir)?;
        let plan = self.plan_rename((from, rename.from), (to, rename.to))?;
        let ops = lock_all(&plan.involved());
        let range = plan.target().map(|target| target.ranges().whole(&self.env));
        let tx = self.begin(Holds::freeing(META_BLOCKS))?;
        let fate = match &rename.kind {
            RenameKind::Exchange => self.exchange(&plan, &tx)?,
            RenameKind::Replace => self.move_name(&plan, &tx)?,
            RenameKind::Whiteout(whiteout) => {
                let fate = self.move_name(&plan, &tx)?;
                self.replay_whiteout(plan.source_dir(), rename.from, whiteout, &tx)?;
                fate
            }
        };
        self.replayed(&tx);
        drop((tx, range, ops));
        self.finish(fate)
    }

    /// The device that takes the place of a name that was moved away.
    fn replay_whiteout(
        &self,
        dir: &Arc<Node>,
        name: &[u8],
        whiteout: &LoggedNode,
        tx: &dmu::Tx,
    ) -> Result<()> {
        let parent = self.attrs(dir)?;
        let body = Body { rdev: whiteout.rdev, ..Body::plain(kind_of_mode(whiteout.mode)) };
        let new = born_again(whiteout, 0);
        let dnode = new_object(&self.new_nodes(None), &body, &new, dir.object(), parent.flags, tx);
        let node = self.adopt(dnode.map_err(api_error)?, whiteout.generation, tx.txg());
        let attrs = self.attrs(&node)?;
        self.add_entry(dir, name, entry_for(&node, &attrs), tx)?;
        self.touch_dir(dir, 1, 0, tx)
    }

    fn adopt(&self, dnode: Arc<dmu::Dnode>, generation: u64, txg: u64) -> Arc<Node> {
        self.nodes.insert(Arc::new(Node::new(dnode, generation, txg)), &self.changed)
    }
}

/// The attributes that a node was made with.
fn born_again(node: &LoggedNode, flags: u64) -> NewAttrs {
    let now = time(node.crtime);
    NewAttrs {
        uid: node.uid as u32,
        gid: node.gid as u32,
        mode: (node.mode & 0o7777) as u32,
        atime: now,
        mtime: now,
        now,
        flags,
        born: Some(Born {
            object: node.object,
            slots: node.slots.min(u8::MAX.into()) as u8,
            generation: node.generation,
        }),
    }
}
