//! Projects: which one a node counts for, who hands his on, and giving a node another.
//!
//! A node's project is an attribute that accounting finds at a fixed place, so nodes of older
//! software, which have none, are packed anew when they get one. A directory with the flag
//! `PROJINHERIT` hands its project on to all that is made in it, and takes no names of nodes of
//! another project. Extended attributes that are files follow their node, also when it gets another
//! owner.
//!
//! Sources: `zfs_setattr`, `zfs_setattr_dir`, `zfs_link` and `zfs_rename` in
//! module/os/linux/zfs/zfs_vnops_os.c, `zfs_statfs_project` in zfs_vfsops.c, `zpl_ioctl_setxattr`
//! in zpl_file.c, include/sys/zfs_project.h.

use dmu::Holds;
use engine_api::{Cred, Error, FsStat, NodeId, Project, Result};
use ondisk::prop::Spender;
use ondisk::znode::{self, Dirent, attr, flags, kind};

use super::Zpl;
use super::attrs::{Attrs, Change};
use super::error::api_error;
use super::log::Settled;
use super::node::{Node, lock_all};
use super::perm::who;

/// What nobody was given another for: it has no limit.
pub(super) const DEFAULT_PROJECT: u64 = 0;
/// The number that means none.
const NO_PROJECT: u32 = u32::MAX;
/// Blocks that a node's new attributes may dirty.
const META_BLOCKS: u64 = 4;

/// Whose a node is to be, as far as that changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Owner {
    pub uid: Option<u64>,
    pub gid: Option<u64>,
    pub project: Option<u64>,
}

impl Zpl {
    /// The project that a node is counted for.
    pub(super) fn project_of(&self, node: &Node, attrs: &Attrs) -> Result<u64> {
        if attrs.flags & flags::PROJID == 0 {
            return Ok(DEFAULT_PROJECT);
        }
        let view = self.whole_view(node)?;
        Ok(self.sa.word(&view, &attr::PROJID).unwrap_or(DEFAULT_PROJECT))
    }

    /// The project that new nodes of a directory belong to, where it hands one on.
    pub(super) fn inherited_project(&self, dir: &Node, attrs: &Attrs) -> Result<Option<u64>> {
        let hands_on = attrs.flags & flags::PROJINHERIT != 0;
        if hands_on { self.project_of(dir, attrs).map(Some) } else { Ok(None) }
    }

    /// A directory that hands its project on takes no names of nodes of another.
    pub(super) fn check_same_project(&self, dir: (&Node, &Attrs), node: (&Node, &Attrs)) -> Result<()> {
        match self.inherited_project(dir.0, dir.1)? {
            Some(project) if project != self.project_of(node.0, node.1)? => Err(Error::CrossDevice),
            _ => Ok(()),
        }
    }

    pub(super) fn node_project(&self, id: NodeId) -> Result<Project> {
        let node = self.node(id)?;
        let attrs = self.attrs(&node)?;
        let id = self.project_of(&node, &attrs)? as u32;
        Ok(Project { id, inherit: attrs.flags & flags::PROJINHERIT != 0 })
    }

    pub(super) fn set_node_project(&self, cred: &Cred, id: NodeId, to: Project) -> Result<()> {
        let node = self.node(id)?;
        let _ops = lock_all(&[&node]);
        node.check_alive()?;
        let attrs = self.attrs(&node)?;
        let has_projects = self.objset.policy().account_projects && self.version() >= znode::VERSION_SA;
        if !has_projects || !matches!(attrs.kind(), kind::FILE | kind::DIR) {
            return Err(Error::Unsupported("projects of such nodes, or in this file system".into()));
        }
        if to.id == NO_PROJECT {
            return Err(Error::Invalid("no project has this number".into()));
        }
        if !who(cred).is_privileged() && u64::from(cred.uid) != attrs.uid {
            return Err(Error::Denied);
        }
        let project = u64::from(to.id);
        let moves = self.project_of(&node, &attrs)? != project || attrs.flags & flags::PROJID == 0;
        if !moves && to.inherit == (attrs.flags & flags::PROJINHERIT != 0) {
            return Ok(());
        }
        if moves {
            if self.lacks_accounting() {
                self.host.count();
            }
            self.check_more_nodes(None, None, Some(project))?;
            self.move_xattrs(&node, Owner { project: Some(project), ..Owner::default() })?;
        }
        let tx = self.begin(Holds::new(0, META_BLOCKS))?;
        let change = |old: &Attrs, _| {
            let hands_on = if to.inherit { flags::PROJINHERIT } else { 0 };
            let flags = old.flags & !flags::PROJINHERIT | flags::PROJID | hands_on;
            Change::default().word(&attr::FLAGS, flags).word(&attr::PROJID, project)
        };
        let set = Settled { project: Some(to), ..Settled::default() };
        self.update_and(&node, &tx, change, |_, _| self.log_setattr(node.object(), set, &tx)).map(drop)
    }

    /// A node's extended attributes that are files, each in a transaction of its own: there may be
    /// many. It is done before the node itself, so who is interrupted does it again. The caller
    /// holds the node's `ops` lock.
    pub(super) fn move_xattrs(&self, node: &Node, to: Owner) -> Result<()> {
        if to == Owner::default() {
            return Ok(());
        }
        let Some(dir) = self.xattr_dir(node)? else { return Ok(()) };
        let mut hidden = vec![dir.dnode().clone()];
        for entry in dir.iter() {
            let object = Dirent::decode(entry.map_err(api_error)?.value.first()).object;
            hidden.push(self.objset.hold(object).map_err(api_error)?);
        }
        for dnode in hidden {
            let mut change = Change::default().maybe_word(&attr::UID, to.uid).maybe_word(&attr::GID, to.gid);
            if let Some(project) = to.project {
                let flags = self.stored_attrs(&dnode)?.flags | flags::PROJID;
                change = change.word(&attr::FLAGS, flags).word(&attr::PROJID, project);
            }
            let tx = self.begin(Holds::freeing(META_BLOCKS))?;
            self.put(&dnode, change, &tx)?;
        }
        Ok(())
    }

    /// What a directory's project may still have, where it hands on one with a limit.
    pub(super) fn room_of_project(&self, id: NodeId, mut stat: FsStat) -> Result<FsStat> {
        let node = self.node(id)?;
        let attrs = self.attrs(&node)?;
        let project = self.inherited_project(&node, &attrs)?.filter(|project| *project != DEFAULT_PROJECT);
        let Some(project) = project else { return Ok(stat) };
        if let Some((used, limit)) = self.used_of_limit(Spender::Project, false, project)? {
            let left = limit.saturating_sub(used);
            (stat.total_bytes, stat.free_bytes, stat.avail_bytes) = (limit, left, left);
        }
        if let Some((used, limit)) = self.used_of_limit(Spender::Project, true, project)? {
            // The directory itself, where it was not counted yet.
            (stat.total_files, stat.free_files) = (limit, limit.saturating_sub(used.max(1)));
        }
        Ok(stat)
    }
}
