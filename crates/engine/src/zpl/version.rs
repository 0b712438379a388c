//! The version of a file system: what it means for what is written, and growing out of it.
//!
//! A file system that gets system attributes keeps its znodes; each is turned into the new form
//! with its next change. Source: `zfs_set_version` in module/os/linux/zfs/zfs_vfsops.c.

use std::sync::atomic::Ordering;

use dmu::{Dnode, Holds, Tx, Zap};
use engine_api::{Error, Result};
use ondisk::object_type::ObjectType;
use ondisk::znode::{self, Dirent, master};

use super::Zpl;
use super::attrs::Change;
use super::error::api_error;

/// Blocks that an upgrade may dirty.
const META_BLOCKS: u64 = 8;

impl Zpl {
    pub fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    /// Makes it a file system of a newer version; on stable storage when this returns.
    pub fn upgrade(&self, version: u64) -> Result<()> {
        if version < self.version() || version > znode::VERSION {
            return Err(Error::Invalid(format!("file system version {version}")));
        }
        let txg = {
            let tx = self.begin(Holds::new(0, META_BLOCKS))?;
            let zap = Zap::open(&self.objset, znode::MASTER_NODE).map_err(api_error)?;
            zap.update(master::VERSION, version, &tx).map_err(api_error)?;
            if version >= znode::VERSION_SA && self.sa.is_old() {
                let attrs = self.sa.modernise(&self.objset, &tx).map_err(api_error)?;
                zap.add(master::SA_ATTRS, attrs, &tx).map_err(api_error)?;
            }
            self.version.store(version, Ordering::Release);
            tx.txg()
        };
        self.wait_synced(txg)
    }

    /// An entry as directories of this version have it.
    pub(super) fn as_stored(&self, entry: Dirent) -> Dirent {
        if self.version() < znode::VERSION_DIRENT_TYPE { Dirent { kind: 0, ..entry } } else { entry }
    }

    /// A change as a node takes it; what an old one's ACL had no room for is given up with the ACL.
    pub(super) fn as_of(&self, dnode: &Dnode, change: Change, tx: &Tx) -> Result<Change> {
        if dnode.bonus_type() != ObjectType::ZNODE {
            return Ok(change);
        }
        if change.has_acl() {
            self.free_further_entries(dnode, tx)?;
        }
        Ok(change.for_znode(self.version()))
    }

    /// Frees the object with entries of an old node's ACL, if it has one.
    pub(super) fn free_further_entries(&self, dnode: &Dnode, tx: &Tx) -> Result<()> {
        if dnode.bonus_type() != ObjectType::ZNODE {
            return Ok(());
        }
        let view = self.sa.read(dnode).map_err(api_error)?;
        let acl = self.sa.get(&view, &znode::attr::ZNODE_ACL).unwrap_or_default();
        match znode::acl::further_entries(&acl) {
            0 => Ok(()),
            object => self.free_object(object, tx),
        }
    }
}
