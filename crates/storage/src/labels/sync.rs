//! Writing labels and uberblocks in the order that keeps the pool whole.

use std::sync::Mutex;
use std::sync::atomic::Ordering::Relaxed;

use env::{AlignedBuf, DiskError, DiskIo, IoClass, lock};
use ondisk::eck::label_verifier;
use ondisk::label;
use ondisk::label::config::key;
use ondisk::nvlist::NvList;
use ondisk::uberblock::Uberblock;

use super::seal;
use crate::vdev::config::VdevConfig;
use crate::vdev::open::{Top, Tree};
use crate::{Storage, WriteError};

/// What a transaction group writes at its end.
pub struct LabelUpdate<'a> {
    pub uberblock: &'a Uberblock,
    /// The pool's part of the configuration, if labels are to be rewritten; see [`leaf_config`].
    pub config: Option<&'a NvList>,
    /// Leaves the last slot of each ring to the multihost writer.
    pub multihost: bool,
}

/// The configuration in one disk's labels: the pool's part (version, name, state, txg, pool_guid, hostid,
/// vdev_children, features_for_read, …), then the disk's guid and its top-level vdev.
pub fn leaf_config(pool: &NvList, top: &VdevConfig, leaf_guid: u64) -> NvList {
    let mut config = pool.clone();
    config.set(key::TOP_GUID, top.guid).set(key::GUID, leaf_guid).set(key::VDEV_TREE, top.to_label_nvlist());
    config
}

/// The nvlist area of the label at `label_offset`, checksum and all; `None` if the list is too large.
pub(super) fn config_area(config: &NvList, label_offset: u64) -> Option<Vec<u8>> {
    let offset = label_offset + label::NVLIST_OFFSET;
    let mut area = label::encode_config(config, label_verifier(offset))?;
    seal(&mut area, offset);
    Some(area)
}

impl Storage {
    /// Makes the transaction group of `update.uberblock` the pool's state, in the order the module describes. After an
    /// error it is unknown whether it is.
    pub fn sync_labels(&self, update: &LabelUpdate<'_>) -> Result<(), WriteError> {
        if self.is_suspended() {
            return Err(WriteError::Suspended);
        }
        self.flush_all()?;
        let tree = self.tree();
        if let Some(pool) = update.config {
            self.write_configs(&tree, pool, [0, 2])?;
            self.flush_all()?;
        }
        self.write_uberblock(&tree, update)?;
        self.flush_all()?;
        if let Some(pool) = update.config {
            self.write_configs(&tree, pool, [1, 3])?;
            self.flush_all()?;
        }
        Ok(())
    }

    /// One disk of each top-level vdev must take it, or an import would not know that vdev.
    fn write_configs(&self, tree: &Tree, pool: &NvList, which: [usize; 2]) -> Result<(), WriteError> {
        let config = self.config();
        let good = self.write_leaves(tree, &|top, guid, labels| {
            let top = config.children.get(top.id as usize)?;
            let list = leaf_config(pool, top, guid);
            let area = |label: usize| {
                let area = config_area(&list, labels[label])?;
                Some((labels[label] + label::NVLIST_OFFSET, AlignedBuf::from_slice(&area)))
            };
            which.into_iter().map(area).collect()
        });
        let needed = |top: &Top| {
            let is_log = config.children.get(top.id as usize).is_some_and(|config| config.is_log);
            !is_log && !top.vdev.leaves().is_empty()
        };
        let all = tree.tops.iter().zip(good).all(|(top, good)| good > 0 || !needed(top));
        if all { Ok(()) } else { Err(WriteError::Io) }
    }

    /// One disk is enough.
    fn write_uberblock(&self, tree: &Tree, update: &LabelUpdate<'_>) -> Result<(), WriteError> {
        let good = self.write_leaves(tree, &|top, _, labels| {
            let at = label::slot_offset(top.ashift, update.uberblock.txg, update.multihost);
            let slot = |offset: u64| {
                let offset = offset + at;
                let size = label::slot_size(top.ashift);
                let mut slot = update.uberblock.encode_slot(size, label_verifier(offset));
                seal(&mut slot, offset);
                (offset, AlignedBuf::from_slice(&slot))
            };
            Some(labels.iter().map(|&offset| slot(offset)).collect())
        });
        if good.iter().sum::<usize>() > 0 { Ok(()) } else { Err(WriteError::Io) }
    }

    /// Writes to every usable disk what `make` says (offsets in the partition); how many disks took all of it, by
    /// top-level vdev.
    fn write_leaves(&self, tree: &Tree, make: MakeWrites<'_>) -> Vec<usize> {
        let mut targets = Vec::new();
        for (index, top) in tree.tops.iter().enumerate() {
            targets.extend(top.vdev.leaves().into_iter().map(|leaf| (index, leaf)));
        }
        let good = Mutex::new(vec![0; tree.tops.len()]);
        self.env().driver.par_map(targets.len(), &|n| {
            let (top, leaf) = targets[n];
            match write_leaf(tree, &tree.tops[top], leaf, make) {
                Ok(true) => lock(&good)[top] += 1,
                Ok(false) => {}
                Err(error) => {
                    let leaf = &tree.leaves[leaf];
                    leaf.counters.write_errors.fetch_add(1, Relaxed);
                    tracing::warn!(path = leaf.path, %error, "cannot write a label");
                }
            }
        });
        good.into_inner().expect("a panic has been passed on")
    }
}

/// What to write to a disk, by offset in its partition, given its top-level vdev, its guid and where its labels are.
type MakeWrites<'a> = &'a (dyn Fn(&Top, u64, &[u64; label::COUNT]) -> Option<Vec<(u64, AlignedBuf)>> + Sync);

/// Whether the disk is in use and there was something to write, which has been written.
fn write_leaf(tree: &Tree, top: &Top, leaf: usize, make: MakeWrites<'_>) -> Result<bool, DiskError> {
    let leaf = &tree.leaves[leaf];
    let Some((disk, base)) = leaf.disk().filter(|_| leaf.is_usable()) else { return Ok(false) };
    let Some(labels) = label::offsets(leaf.size()) else { return Ok(false) };
    let Some(writes) = make(top, leaf.guid, &labels) else { return Ok(false) };
    leaf.dirty.store(true, Relaxed);
    let mut ios: Vec<DiskIo<'_>> =
        writes.iter().map(|(offset, bytes)| DiskIo::write(base + offset, bytes, IoClass::SyncWrite)).collect();
    disk.submit(&mut ios);
    ios.iter().try_for_each(|io| io.result)?;
    Ok(true)
}
