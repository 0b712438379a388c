//! Disks on their way into a pool that runs, and out of it.
//!
//! A new disk gets a blank label first and belongs to the pool with the next group. One that goes
//! gets another when the group is durable that does not list it: a crash between leaves a label
//! that the pool does not know of. A hot spare is given the label of one again. Source:
//! module/zfs/vdev_label.c (`vdev_label_init`).

use env::{DiskError, lock};
use ondisk::label::config::{PoolState, key};
use ondisk::nvlist::NvList;
use ondisk::version;
use storage::labels::Device;
use storage::{OpenedLeaf, VdevConfig, VdevState};

use super::Core;
use super::place::edit;
use crate::{PoolError, Result};

/// Groups that are waited for a disk which is still open elsewhere in this program.
const OPENING_GROUPS: usize = 8;

/// A disk whose labels say that it is in the pool, until the group is durable that does not list
/// it.
pub(super) struct Leaving {
    pub device: Device,
    pub guid: u64,
    /// Its guid as a hot spare, which it is again.
    pub spare: Option<u64>,
}

impl Leaving {
    /// A disk that cannot be written keeps a label older than the pool's.
    fn relabel(&self) {
        let done = match self.spare {
            Some(guid) => self.device.init(&spare_label(guid)),
            None => self.device.init(&left_label(self.guid)),
        };
        if let Err(error) = done {
            tracing::warn!(%error, "the label of a device that left the pool could not be written");
        }
    }
}

/// The label of a disk that has left its pool: nobody takes one of group 0 for a part of anything,
/// and `zpool labelclear` finds something to clear, as behind OpenZFS (module/zfs/vdev_label.c,
/// VDEV_LABEL_REMOVE).
fn left_label(guid: u64) -> NvList {
    NvList::new()
        .with(key::VERSION, version::FEATURES)
        .with(key::POOL_STATE, PoolState::Destroyed as u64)
        .with(key::POOL_TXG, 0u64)
        .with(key::GUID, guid)
}

/// The label of a hot spare that waits: it may do so for several pools, so it names none.
pub(super) fn spare_label(guid: u64) -> NvList {
    NvList::new()
        .with(key::VERSION, version::FEATURES)
        .with(key::POOL_STATE, PoolState::Spare as u64)
        .with(key::GUID, guid)
}

impl Core {
    /// Opens a disk that is to join top-level vdev `id`, and makes it a member of nothing.
    pub(super) fn open_new(
        &self,
        config: &VdevConfig,
        id: u32,
    ) -> std::result::Result<OpenedLeaf, DiskError> {
        let opened = self.open_patiently(config, id)?;
        let blank =
            NvList::new().with(key::POOL_TXG, 0u64).with(key::POOL_STATE, PoolState::Destroyed as u64);
        opened.device().init(&blank)?;
        Ok(opened)
    }

    /// Opens a disk; one that the pool has just let go may be in use by an I/O under way.
    fn open_patiently(&self, config: &VdevConfig, id: u32) -> std::result::Result<OpenedLeaf, DiskError> {
        let mut opened = self.storage.open_leaf(config, id);
        for _ in 0..OPENING_GROUPS {
            if !matches!(opened, Err(DiskError::Busy)) || self.txgs.sync_empty().is_err() {
                break;
            }
            opened = self.storage.open_leaf(config, id);
        }
        opened
    }

    /// Opens the disk of a leaf, if the one at its path is it and has room for `least` bytes.
    pub(super) fn open_known(
        &self,
        config: &VdevConfig,
        id: u32,
        least: u64,
    ) -> std::result::Result<OpenedLeaf, DiskError> {
        let disk = self.open_patiently(config, id)?;
        if !self.is_said_by(&disk.device(), config.guid) {
            return Err(DiskError::NotFound);
        }
        if disk.asize() < least { Err(DiskError::OutOfRange) } else { Ok(disk) }
    }

    /// Whether a device's labels say that it is this leaf of the pool.
    pub(super) fn is_said_by(&self, device: &Device, guid: u64) -> bool {
        let pool = lock(&self.config).guid;
        // A mirror's last side has the mirror's guid: its label may be older than that.
        let is_it = |label: &NvList| {
            label.u64(key::POOL_GUID) == Some(pool)
                && [label.u64(key::GUID), label.u64(key::TOP_GUID)].contains(&Some(guid))
        };
        device.read_labels().configs.iter().flatten().any(is_it)
    }

    /// Lets go of a disk that does not work and is to be opened anew, without a change of the
    /// configuration. Its state stays.
    pub(super) fn release(&self, guid: u64) -> Result<()> {
        let state = self.storage.leaf_state(guid).unwrap_or(VdevState::Unavail);
        let mut without = lock(&self.config).tree.clone();
        edit(&mut without, guid, &mut |vdev| vdev.offline = true);
        let swapped = self.storage.swap_tree(&without, &[], &[]);
        swapped.map_err(|error| PoolError::Invalid(error.to_string()))?;
        self.storage.set_leaf_state(guid, state);
        Ok(())
    }

    /// The disk of a leaf that the group being synced takes out of the tree.
    pub(super) fn see_off(&self, guid: u64, spare: Option<u64>) {
        let open = self.storage.leaves().into_iter().find(|leaf| leaf.guid == guid);
        if let Some(leaf) = open {
            lock(&self.topology.leaving).push(Leaving { device: leaf.device, guid, spare });
        }
    }

    /// The group is durable: nothing takes for a part of the pool any more what it does not list.
    pub(crate) fn part_with_disks(&self) {
        let left = std::mem::take(&mut *lock(&self.topology.leaving));
        left.iter().for_each(Leaving::relabel);
        let has_spares = left.iter().any(|disk| disk.spare.is_some());
        drop(left);
        if has_spares {
            self.hold_spares();
        }
    }
}

/// A disk that was to join and may not: so that nothing takes it for a part of a pool.
pub(super) fn turn_away(disks: &[OpenedLeaf]) {
    for disk in disks {
        if let Err(error) = disk.device().clear() {
            tracing::warn!(%error, "the label of a device that was turned away could not be cleared");
        }
    }
}
