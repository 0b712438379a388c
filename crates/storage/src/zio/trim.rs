//! Telling disks which of their space is free, so that they can use it themselves, or give it back to who lent it.
//!
//! While a disk forgets a stretch of free space, its metaslab *lends* it: nobody is given it, and a block that is written
//! there later is written after the disk has forgotten. What is free here was freed groups ago, no reader can want it,
//! and the last uberblocks do not lead there. So no block that lives is ever trimmed.
//!
//! Source: module/zfs/vdev_trim.c.

use std::sync::Arc;

use env::DiskError;

use crate::metaslab::{Loan, Segment};
use crate::vdev::open::Tree;
use crate::vdev::{Kind, Vdev};
use crate::{ReadError, Storage};

/// Shorter stretches are not worth the trouble (`zfs_trim_extent_bytes_min`).
const EXTENT_MIN: u64 = 32 << 10;

/// How far a step of trimming came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trimmed {
    /// Where to go on, on the top-level vdev.
    pub next: u64,
    /// Forgotten by the disk.
    pub bytes: u64,
}

/// Why nothing was trimmed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrimError {
    /// No such disk, or it is out of use.
    Gone,
    Disk(DiskError),
    /// A space map could not be read.
    Map(ReadError),
}

impl Storage {
    /// Has one disk forget the first stretch of free space at or behind `from` on its top-level vdev, at most `max` bytes;
    /// `None` behind the end. A step may find nothing to trim in its metaslab.
    pub fn trim_next(&self, leaf: u64, from: u64, max: u64) -> Result<Option<Trimmed>, TrimError> {
        let tree = self.tree();
        let index = tree.leaves.iter().position(|it| it.guid == leaf).ok_or(TrimError::Gone)?;
        let top = tree.top(tree.leaves[index].top).ok_or(TrimError::Gone)?;
        let (id, vdev) = (top.id, top.vdev.clone());
        match self.classes().lend(id, from, (EXTENT_MIN, max)).map_err(TrimError::Map)? {
            None => Ok(None),
            Some(Loan { lent: None, next }) => Ok(Some(Trimmed { next, bytes: 0 })),
            Some(Loan { lent: Some(lent), next }) => {
                let done = forget(&tree, &vdev, index, lent);
                self.classes().give_back(id, lent);
                done.map(|bytes| Some(Trimmed { next, bytes }))
            }
        }
    }

    /// Whether what is freed from now on is remembered, for [`Storage::trim_freed`].
    pub fn remember_freed(&self, wanted: bool) {
        self.classes().remember_freed(wanted);
    }

    /// Has all disks of a top-level vdev forget a stretch of space that was freed since it was last trimmed, and not been
    /// used again; the bytes, or `None` where there is no more. Disks that cannot are passed over.
    pub fn trim_freed(&self, top: u32, max: u64) -> Option<u64> {
        let tree = self.tree();
        let vdev = tree.top(top)?.vdev.clone();
        let lent = self.classes().lend_freed(top, EXTENT_MIN, max)?;
        for leaf in vdev.leaves() {
            if let Err(error) = forget(&tree, &vdev, leaf, lent) {
                tracing::debug!(path = tree.leaves[leaf].path, ?error, "not trimmed");
            }
        }
        self.classes().give_back(top, lent);
        Some(lent.len)
    }

    /// Whether a disk can be told which of its space is free.
    pub fn can_trim(&self, leaf: u64) -> bool {
        let tree = self.tree();
        tree.leaf(leaf).and_then(|leaf| leaf.device()).is_some_and(|device| device.disk.can_discard())
    }
}

/// Has one disk below a top-level vdev forget its part of a stretch.
fn forget(tree: &Tree, top: &Arc<Vdev>, leaf: usize, stretch: Segment) -> Result<u64, TrimError> {
    let disk = &tree.leaves[leaf];
    if !disk.is_usable() {
        return Err(TrimError::Gone);
    }
    let part = part_of(top, leaf, stretch).ok_or(TrimError::Disk(DiskError::Unsupported))?;
    if part.len == 0 {
        return Ok(0);
    }
    let (_, offset) = disk.locate(part.start, part.len).map_err(TrimError::Disk)?;
    let device = disk.device().ok_or(TrimError::Gone)?;
    device.disk.discard(offset, part.len).map_err(TrimError::Disk)?;
    Ok(part.len)
}

/// What a stretch of a vdev is on one disk below; `None` where that cannot be told.
fn part_of(vdev: &Arc<Vdev>, leaf: usize, stretch: Segment) -> Option<Segment> {
    match vdev.kind {
        Kind::Leaf(index) => (index == leaf).then_some(stretch),
        Kind::Mirror => vdev.children.iter().find_map(|child| part_of(child, leaf, stretch)),
        Kind::Raidz(raidz) => {
            let mut children = vdev.children.iter().enumerate();
            children.find_map(|(n, child)| part_of(child, leaf, raidz.part(n, stretch)))
        }
        Kind::Missing | Kind::Hole | Kind::Indirect => None,
    }
}

#[cfg(test)]
mod tests;
