//! Changing the tree of vdevs while I/O goes on.
//!
//! Whoever does I/O holds the tree on which it began; a new tree shares the disks that stay with
//! the old one, and the old one goes with its last user. Blocks must not lie where the new tree
//! cannot find them: who removes or replaces a log has emptied it before, and has seen to it that
//! nothing more is put there ([`Storage::use_log`]); a disk that joins vdevs with data is behind
//! ([`OpenedLeaf::set_behind`]).

use std::collections::BTreeSet;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Weak};

use env::{DiskError, OpenMode};
use ondisk::label;

use super::{POISON, Storage};
use crate::OpenError;
use crate::labels::Device;
use crate::vdev::config::VdevConfig;
use crate::vdev::leaf::Leaf;
use crate::vdev::open::{self, AtHand};
use crate::vdev::status::VdevState;

/// A disk that is open for a tree to come.
pub struct OpenedLeaf(Arc<Leaf>);

impl OpenedLeaf {
    /// Bytes that can be allocated.
    pub fn asize(&self) -> u64 {
        self.0.asize()
    }

    /// log2 of the sector that suits it best.
    pub fn ashift(&self) -> u64 {
        self.0.ashift()
    }

    /// It lacks what the others have that hold the same bytes.
    pub fn set_behind(&self) {
        self.0.set_behind(true);
    }

    /// For its labels.
    pub fn device(&self) -> Device {
        self.0.device().expect("it was opened")
    }
}

/// See [`Storage::roll`].
pub struct Roll(Vec<Weak<Leaf>>);

impl Storage {
    /// Opens a disk for top-level vdev `top`, whatever its labels say. Its path and guid are the
    /// configuration's.
    pub fn open_leaf(&self, config: &VdevConfig, top: u32) -> Result<OpenedLeaf, DiskError> {
        let path = config.path.as_deref().unwrap_or_default();
        let device = Device::locate(self.env.disks.open(path, OpenMode::ReadWrite)?)?;
        if device.size < label::MIN_DEVICE {
            return Err(DiskError::OutOfRange);
        }
        Ok(OpenedLeaf(Arc::new(Leaf::open(&self.env, config.guid, path, top, device))))
    }

    /// Puts the tree of `root` in the place of the one that is open. Its disks are those of the old
    /// tree, some under new guids (`renamed`: old, new), and `opened` ones; others are absent. What
    /// is measured of new top-level vdevs is in [`Storage::config`] afterwards.
    pub fn swap_tree(
        &self,
        root: &VdevConfig,
        opened: &[OpenedLeaf],
        renamed: &[(u64, u64)],
    ) -> Result<(), OpenError> {
        let mut root = root.clone();
        let new: Vec<Arc<Leaf>> = opened.iter().map(|leaf| leaf.0.clone()).collect();
        let mut config = self.config.write().expect(POISON);
        let mut place = self.tree.write().expect(POISON);
        let at_hand = AtHand { old: &place, new: &new, renamed };
        let tree = open::rebuild(&self.env, self.pool_guid, &mut root, &at_hand)?;
        let old = std::mem::replace(&mut *place, Arc::new(tree));
        self.guids.write().expect(POISON).insert(root.guid);
        *config = root;
        drop((place, config));
        // Disks that go may wait for their threads: not while others want the tree.
        drop(old);
        Ok(())
    }

    /// The disks of the tree as it is now, to be asked later about those that have left it.
    pub fn roll(&self) -> Roll {
        Roll(self.tree().leaves.iter().map(Arc::downgrade).collect())
    }

    /// Whether somebody still works with a disk that is on a roll and no part of the tree any more:
    /// it is open until then.
    pub fn is_leaving(&self, roll: &Roll) -> bool {
        let tree = self.tree();
        let stays = |leaf: &Arc<Leaf>| tree.leaves.iter().any(|other| Arc::ptr_eq(leaf, other));
        roll.0.iter().filter_map(Weak::upgrade).any(|leaf| !stays(&leaf))
    }

    /// Whether new log blocks may be placed on a top-level vdev that holds logs. They may from the
    /// start.
    pub fn use_log(&self, vdev: u32, wanted: bool) {
        self.classes.log.set_wanted(vdev, wanted);
    }

    /// Disks of logs that are out of use because of errors, by guid.
    pub fn failed_logs(&self) -> BTreeSet<u64> {
        let tree = self.tree();
        let logs = tree.tops.iter().filter(|top| top.is_log).flat_map(|top| top.vdev.leaves());
        let leaves = logs.map(|leaf| &tree.leaves[leaf]);
        leaves.filter(|leaf| leaf.state() == VdevState::Faulted).map(|leaf| leaf.guid).collect()
    }

    /// Whether a disk of the tree works and has missed nothing.
    pub fn is_working(&self, guid: u64) -> bool {
        self.tree().leaf(guid).is_some_and(|leaf| leaf.is_whole())
    }

    /// How a disk of the tree is.
    pub fn leaf_state(&self, guid: u64) -> Option<VdevState> {
        self.tree().leaf(guid).map(|leaf| leaf.state())
    }

    /// What an operator sees of the disks of the tree, by guid.
    pub fn leaf_states(&self) -> Vec<(u64, VdevState)> {
        self.tree().leaves.iter().map(|leaf| (leaf.guid, leaf.shown_state())).collect()
    }

    /// Whether a disk of the tree could not be opened, or is gone.
    pub fn has_vanished(&self, guid: u64) -> bool {
        let tree = self.tree();
        tree.leaf(guid).is_some_and(|leaf| match leaf.state() {
            VdevState::Unavail | VdevState::Removed => true,
            VdevState::Faulted => leaf.counters.gone.load(Relaxed),
            VdevState::Offline | VdevState::Degraded | VdevState::Online => false,
        })
    }

    /// Whether a disk of the tree works, be it behind or not.
    pub fn is_usable(&self, guid: u64) -> bool {
        self.tree().leaf(guid).is_some_and(|leaf| leaf.is_usable())
    }

    /// Whether all that a top-level vdev holds can be had from disks, other than `without`, that
    /// work and missed nothing.
    pub fn is_whole_without(&self, vdev: u32, without: u64) -> bool {
        let tree = self.tree();
        let Some(top) = tree.top(vdev) else { return false };
        top.vdev.is_whole(&tree.leaves, tree.leaves.iter().position(|leaf| leaf.guid == without))
    }

    /// Nothing is allocated on this top-level vdev any more, and what was is forgotten with its
    /// space maps.
    pub fn drop_metaslabs(&self, vdev: u32) {
        self.classes.log.remove_group(vdev);
    }

    /// Looks which disks of a top-level vdev have grown, and gives them blank labels at their new
    /// ends. To be called in syncing context, in a group that writes the pool's labels.
    pub fn refresh_sizes(&self, vdev: u32) {
        let tree = self.tree();
        let leaves = tree.leaves.iter().filter(|leaf| leaf.top == vdev && leaf.is_usable() && leaf.refresh());
        for device in leaves.filter_map(|leaf| leaf.device()) {
            if let Err(error) = device.init_end() {
                tracing::warn!(%error, "no labels at the new end of a disk");
            }
        }
    }

    /// Lets blocks be placed on new metaslabs at the end of a top-level vdev, which has so many
    /// now.
    pub fn grow_metaslabs(&self, vdev: u32, count: u64) {
        self.classes.grow(vdev, count);
    }

    /// Bytes that could be allocated on each top-level vdev, as far as its disks that are open
    /// tell; 0 if they don't.
    pub fn measured(&self) -> Vec<(u32, u64)> {
        let tree = self.tree();
        tree.tops.iter().map(|top| (top.id, open::room(&top.vdev, &tree.leaves).unwrap_or(0))).collect()
    }
}

#[cfg(test)]
mod tests;
