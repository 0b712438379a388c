//! Extended attributes as files: a directory without a name, found by the node's `ZPL_XATTR`, with
//! a file for each.
//!
//! Whoever changes them holds the node's `ops` lock and brings the transaction. Source:
//! `zfs_make_xattrdir` in module/os/linux/zfs/zfs_dir.c, `zpl_xattr_set_dir` in zpl_xattr.c.

use dmu::{Dnode, Tx, Zap};
use engine_api::{Cred, Error, Result};
use ondisk::znode::{Dirent, attr, flags, kind};
use std::sync::Arc;

use super::Zpl;
use super::attrs::{Attrs, Change};
use super::create::{Body, NewAttrs, new_object};
use super::error::api_error;
use super::node::Node;
use super::size::grow_block;

/// Mode of the directory, and of the files.
const DIR_MODE: u32 = 0o1777;
const FILE_MODE: u32 = 0o644;
/// More than any system lets an attribute have.
const READ_MAX: u64 = 16 << 20;

impl Zpl {
    pub(super) fn xattr_dir(&self, node: &Node) -> Result<Option<Zap>> {
        let object = self.sa.word(&self.whole_view(node)?, &attr::XATTR).unwrap_or(0);
        if object == 0 {
            return Ok(None);
        }
        let zap = Zap::open(&self.objset, object).map_err(api_error)?;
        Ok(Some(zap.with_normalize(self.names.normalize.clone())))
    }

    pub(super) fn find_xattr_file(&self, node: &Node, name: &[u8]) -> Result<Option<Arc<Dnode>>> {
        let Some(zap) = self.xattr_dir(node)? else { return Ok(None) };
        if name.is_empty() {
            return Ok(None);
        }
        match zap.find_u64(name).map_err(api_error)? {
            None => Ok(None),
            Some(entry) => self.objset.hold(Dirent::decode(entry).object).map(Some).map_err(api_error),
        }
    }

    pub(super) fn read_xattr_file(&self, node: &Node, name: &[u8]) -> Result<Vec<u8>> {
        let file = self.find_xattr_file(node, name)?.ok_or(Error::NotFound)?;
        let size = self.stored_attrs(&file)?.size;
        if size > READ_MAX {
            return Err(Error::FileTooLarge);
        }
        file.read_bytes(0, size as usize).map_err(api_error)
    }

    pub(super) fn xattr_file_names(&self, node: &Node) -> Result<Vec<Vec<u8>>> {
        let Some(zap) = self.xattr_dir(node)? else { return Ok(Vec::new()) };
        zap.iter().map(|entry| entry.map(|entry| entry.name).map_err(api_error)).collect()
    }

    pub(super) fn write_xattr_file(
        &self,
        cred: &Cred,
        node: &Arc<Node>,
        owner: &Attrs,
        name: &[u8],
        value: &[u8],
        tx: &Tx,
    ) -> Result<()> {
        let (file, is_new) = match self.find_xattr_file(node, name)? {
            Some(file) => (file, false),
            None => (self.new_xattr_file(cred, node, owner, name, tx)?, true),
        };
        let len = value.len() as u64;
        file.free_range(0, u64::MAX, tx).map_err(api_error)?;
        grow_block(&file, 0, len, self.settings().recordsize, tx).map_err(api_error)?;
        file.write(0, value, tx).map_err(api_error)?;
        self.touch_hidden(&file, len, tx)?;
        if owner.links > 0 {
            self.log_xattr_file(file.object(), is_new, value, tx);
        }
        Ok(())
    }

    fn new_xattr_file(
        &self,
        cred: &Cred,
        node: &Arc<Node>,
        owner: &Attrs,
        name: &[u8],
        tx: &Tx,
    ) -> Result<Arc<Dnode>> {
        let now = self.now();
        let project = self.inherited_project(node, owner)?;
        let make = |kind: u8, (uid, gid, mode): (u32, u32, u32), parent: u64, inherited: u64| {
            let new =
                NewAttrs { uid, gid, mode, atime: now, mtime: now, now, flags: flags::XATTR, born: None };
            let nodes = self.new_nodes(project);
            new_object(&nodes, &Body::plain(kind), &new, parent, inherited, tx).map_err(api_error)
        };
        self.check_more_nodes(Some(cred.uid.into()), Some(cred.gid.into()), project)?;
        let dir = match self.sa.word(&self.whole_view(node)?, &attr::XATTR).unwrap_or(0) {
            0 => {
                let its = (owner.uid as u32, owner.gid as u32, DIR_MODE);
                let dir = make(kind::DIR, its, node.object(), owner.flags)?;
                self.set(node, Change::default().word(&attr::XATTR, dir.object()), tx)?;
                if owner.links > 0 {
                    self.log_xattr_dir(node.object(), &dir, &self.stored_attrs(&dir)?, tx);
                }
                dir
            }
            object => self.objset.hold(object).map_err(api_error)?,
        };
        let attrs = self.stored_attrs(&dir)?;
        let file = make(kind::FILE, (cred.uid, cred.gid, FILE_MODE), dir.object(), attrs.flags)?;
        let entry = self.as_stored(Dirent { object: file.object(), kind: kind::FILE });
        let zap = Zap::of(dir.clone()).map_err(api_error)?.with_normalize(self.names.normalize.clone());
        if let Err(error) = zap.add(name, entry.encode(), tx) {
            self.objset.free(file.object(), tx).map_err(api_error)?;
            return Err(api_error(error));
        }
        self.touch_hidden(&dir, attrs.size + 1, tx)?;
        if owner.links > 0 {
            self.log_create(dir.object(), &file, &self.stored_attrs(&file)?, name, None, tx);
        }
        Ok(file)
    }

    /// `logged`: the node would be there after a crash.
    pub(super) fn remove_xattr_file(&self, node: &Node, name: &[u8], logged: bool, tx: &Tx) -> Result<()> {
        let Some(zap) = self.xattr_dir(node)? else { return Err(Error::NotFound) };
        let entry = zap.lookup_u64(name).map_err(api_error)?;
        zap.remove(name, tx).map_err(api_error)?;
        let object = Dirent::decode(entry).object;
        if logged {
            self.log_remove(zap.object(), name, object, false, true, tx);
        }
        self.free_object(object, tx)?;
        let size = self.stored_attrs(zap.dnode())?.size;
        self.touch_hidden(zap.dnode(), size.saturating_sub(1), tx)
    }

    /// What the hidden directory holds, or a file in it, is so large now.
    fn touch_hidden(&self, dir: &Dnode, size: u64, tx: &Tx) -> Result<()> {
        let now = self.now();
        let change =
            Change::default().word(&attr::SIZE, size).time(&attr::MTIME, now).time(&attr::CTIME, now);
        self.put(dir, change, tx)
    }
}
