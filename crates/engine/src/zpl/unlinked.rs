//! Nodes without a name: freed at once, or after their last opener, or after a restart.
//!
//! A node whose last name goes is freed in the same transaction where that is little work.
//! Otherwise (it is open, or large, or has a directory of extended attributes) it enters the
//! *unlinked set*, a ZAP on disk, and is freed later in steps. What a crash leaves in the set is
//! freed by [`Zpl::drain_unlinked`]. Source: `zfs_rmnode`, `zfs_unlinked_drain` in
//! module/os/linux/zfs/zfs_dir.c.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use dmu::{DmuError, Holds, Tx, Zap};
use engine_api::{Error, NodeId, Result};
use ondisk::znode::{Dirent, attr};

use super::Zpl;
use super::attrs::Change;
use super::dir::is_dir;
use super::error::api_error;
use super::node::{Node, lock_all};
use super::size::FREE_STEP;

/// What is left to do for a node after the transaction that took a name away.
pub enum Fate {
    /// It has other names.
    Lives,
    /// It is freed with the transaction, or waits for its last opener.
    Settled,
    /// It is in the unlinked set and can be freed.
    Purge(Arc<Node>),
}

impl Zpl {
    fn unlinked_zap(&self) -> Result<Zap> {
        Zap::open(&self.objset, self.unlinked_set).map_err(api_error)
    }

    /// The object of a node's directory of extended attributes, or 0.
    pub(super) fn xattr_dir_of(&self, dnode: &dmu::Dnode) -> Result<u64> {
        let view = self.sa.read_all(dnode).map_err(api_error)?;
        Ok(self.sa.word(&view, &attr::XATTR).unwrap_or(0))
    }

    /// In the transaction that took the last name. The caller holds the node's `ops` lock and whole
    /// range.
    pub(super) fn bury(&self, node: &Arc<Node>, tx: &Tx) -> Result<Fate> {
        let simple = self.xattr_dir_of(node.dnode())? == 0;
        let small = node.dnode().used_bytes() <= FREE_STEP;
        if let Err(error) = node.dnode().check_reach(0) {
            // What cannot be freed stays in the set, as in OpenZFS.
            tracing::warn!(%error, object = node.object(), "a removed file cannot be freed");
            self.unlinked_zap()?.add_int(node.object(), tx).map_err(api_error)?;
            return Ok(Fate::Settled);
        }
        if !node.is_open() && simple && small {
            self.free_further_entries(node.dnode(), tx)?;
            self.objset.free(node.object(), tx).map_err(api_error)?;
            self.nodes.forget(node);
            return Ok(Fate::Settled);
        }
        self.unlinked_zap()?.add_int(node.object(), tx).map_err(api_error)?;
        Ok(if node.is_open() { Fate::Settled } else { Fate::Purge(node.clone()) })
    }

    /// A new node has no name.
    pub(super) fn put_in_set(&self, node: &Arc<Node>, tx: &Tx) -> Result<()> {
        self.set(node, Change::default().word(&attr::LINKS, 0), tx)?;
        self.unlinked_zap()?.add_int(node.object(), tx).map_err(api_error)
    }

    /// With nothing locked.
    pub(super) fn finish(&self, fate: Fate) -> Result<()> {
        match fate {
            Fate::Lives | Fate::Settled => Ok(()),
            // It is in the set: a failure leaves it for the next start.
            Fate::Purge(node) => self.purge(&node).or_else(|error| match error {
                Error::NoSpace | Error::Quota | Error::Corrupt { .. } => Ok(()),
                error => Err(error),
            }),
        }
    }

    /// Frees a node of the unlinked set that nobody has open, in steps.
    fn purge(&self, node: &Arc<Node>) -> Result<()> {
        let _ops = lock_all(&[node]);
        let _range = node.ranges().whole(&self.env);
        if node.is_open() || node.check_alive().is_err() || self.stored_attrs(node.dnode())?.links > 0 {
            return Ok(());
        }
        node.dnode().check_reach(0).map_err(api_error)?;
        if !is_dir(node) {
            self.free_most(node, 0)?;
        }
        let xattr_dir = self.xattr_dir_of(node.dnode())?;
        if xattr_dir != 0 {
            self.purge_xattr_dir(xattr_dir)?;
        }
        let tx = self.begin(Holds::freeing(8))?;
        if xattr_dir != 0 {
            self.free_object(xattr_dir, &tx)?;
        }
        self.free_further_entries(node.dnode(), &tx)?;
        self.free_object(node.object(), &tx)?;
        self.nodes.forget(node);
        self.take_from_set(node.object(), &tx)
    }

    /// Takes an object that may be gone already out of the unlinked set.
    pub(super) fn take_from_set(&self, object: u64, tx: &Tx) -> Result<()> {
        match self.unlinked_zap()?.remove_int(object, tx) {
            Ok(()) | Err(DmuError::NotFound) => Ok(()),
            Err(error) => Err(api_error(error)),
        }
    }

    /// A node with a name does not belong in the unlinked set.
    fn take_from_set_if_named(&self, node: &Arc<Node>) -> Result<()> {
        let _ops = lock_all(&[node]);
        if node.check_alive().is_err() || self.stored_attrs(node.dnode())?.links == 0 {
            return Ok(());
        }
        self.take_from_set(node.object(), &self.begin(Holds::freeing(4))?)
    }

    /// Frees the files in a directory of extended attributes.
    fn purge_xattr_dir(&self, object: u64) -> Result<()> {
        let dnode = match self.objset.hold(object) {
            Err(DmuError::NotFound) => return Ok(()),
            dnode => dnode.map_err(api_error)?,
        };
        let zap = Zap::of(dnode).map_err(api_error)?.with_normalize(self.names.normalize.clone());
        loop {
            let page = zap.page(0, 64).map_err(api_error)?;
            if page.entries.is_empty() {
                return Ok(());
            }
            for entry in page.entries {
                let child = Dirent::decode(entry.value.first()).object;
                let tx = self.begin(Holds::freeing(8))?;
                zap.remove(&entry.name, &tx).map_err(api_error)?;
                self.free_object(child, &tx)?;
            }
        }
    }

    /// Frees an object that may be gone already.
    pub(super) fn free_object(&self, object: u64, tx: &Tx) -> Result<()> {
        match self.objset.free(object, tx) {
            Ok(()) | Err(DmuError::NotFound) => Ok(()),
            Err(error) => Err(api_error(error)),
        }
    }

    /// Frees what was left unlinked when the file system was last in use. Once after opening; a
    /// worker's task, for it may take long. Nodes that lose their last name meanwhile are not its
    /// affair.
    pub fn drain_unlinked(&self) -> Result<()> {
        if self.is_readonly() || !self.drain_pending.swap(false, Ordering::SeqCst) {
            return Ok(());
        }
        let zap = self.unlinked_zap()?;
        for entry in zap.iter() {
            let object = entry.map_err(api_error)?.value.first();
            // In the table: unlinked since the start, by somebody who frees it.
            if self.nodes.contains(object) {
                continue;
            }
            match self.objset.hold(object) {
                Ok(dnode) => {
                    let attrs = self.stored_attrs(&dnode)?;
                    let node = Arc::new(Node::new(dnode, attrs.generation, 0));
                    let node = self.nodes.insert(node, &self.changed);
                    match self.purge(&node) {
                        Ok(()) => self.take_from_set_if_named(&node)?,
                        Err(error @ Error::Corrupt { .. }) => {
                            tracing::warn!(%error, object, "a removed file cannot be freed");
                        }
                        Err(error) => return Err(error),
                    }
                }
                Err(DmuError::NotFound) => {
                    let tx = self.begin(Holds::freeing(4))?;
                    self.take_from_set(object, &tx)?;
                }
                Err(error) => return Err(api_error(error)),
            }
        }
        Ok(())
    }

    pub(super) fn open_node(&self, id: NodeId) -> Result<()> {
        let node = self.node(id)?;
        let _ops = lock_all(&[&node]);
        node.check_alive()?;
        // Without a name it can be opened only by who has it open already.
        if !node.is_open() && self.stored_attrs(node.dnode())?.links == 0 {
            return Err(Error::Stale);
        }
        node.open();
        Ok(())
    }

    pub(super) fn close_node(&self, id: NodeId) {
        let Ok(node) = self.node(id) else { return };
        if !node.close() {
            return;
        }
        let unlinked = self.stored_attrs(node.dnode()).is_ok_and(|attrs| attrs.links == 0);
        if !unlinked || self.is_readonly() {
            return;
        }
        if let Err(error) = self.finish(Fate::Purge(node)) {
            tracing::warn!(%error, object = id.object, "an unlinked file stays until the next start");
        }
    }
}
