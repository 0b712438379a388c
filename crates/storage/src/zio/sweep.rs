//! Going over the free space of disks: telling them that it is free, so that they can use it
//! themselves or give it back to who lent it (trimming), or writing to all of it, so that who lent
//! it does so (initializing).
//!
//! Meanwhile a stretch's metaslab *lends* it: nobody is given it, and a block that is written there
//! later is written after the disk is done. What is free here was freed groups ago, no reader can
//! want it, and the last uberblocks do not lead there. So no block that lives is ever trimmed, or
//! written over.
//!
//! Sources: module/zfs/vdev_trim.c, vdev_initialize.c.

use std::sync::Arc;

use env::{AlignedBuf, Disk, DiskError, IoClass, Tunable};

use crate::leaf_queue::index;
use crate::metaslab::Loan;
use crate::range_tree::Segment;
use crate::vdev::open::Tree;
use crate::vdev::{Kind, Vdev};
use crate::{ReadError, Storage};

const SECTOR_SHIFT: u32 = 9;

/// What is done with free space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sweep {
    Forget,
    /// Written over with this number, again and again; so many bytes at once, in whole sectors.
    Fill {
        value: u64,
        chunk: u64,
    },
}

/// How far a step came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Swept {
    /// Where to go on, on the top-level vdev.
    pub next: u64,
    /// Forgotten by the disk, or written.
    pub bytes: u64,
}

/// Why nothing was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SweepError {
    /// No such disk, or it is out of use.
    Gone,
    Disk(DiskError),
    /// A space map could not be read.
    Map(ReadError),
}

impl Storage {
    /// Shorter stretches are not worth the trouble.
    fn extent_min(&self) -> u64 {
        self.env().tunable(Tunable::TrimExtentBytesMin)
    }

    /// Sweeps the part that one disk has of the first stretch of free space at or behind `from` on
    /// its top-level vdev, at most `max` bytes; `None` behind the end. A step may find nothing in
    /// its metaslab.
    pub fn sweep_next(
        &self,
        leaf: u64,
        sweep: Sweep,
        from: u64,
        max: u64,
    ) -> Result<Option<Swept>, SweepError> {
        let tree = self.tree();
        let index = tree.leaves.iter().position(|it| it.guid == leaf).ok_or(SweepError::Gone)?;
        let top = tree.top(tree.leaves[index].top).ok_or(SweepError::Gone)?;
        let (id, vdev) = (top.id, top.vdev.clone());
        let min = if sweep == Sweep::Forget { self.extent_min() } else { 1 };
        if sweep == Sweep::Forget && from == 0 {
            // What was written ahead for logs is free like the rest.
            self.classes().empty_stock();
        }
        match self.classes().lend(id, from, (min, max)).map_err(SweepError::Map)? {
            None => Ok(None),
            Some(Loan { lent: None, next }) => Ok(Some(Swept { next, bytes: 0 })),
            Some(Loan { lent: Some(lent), next }) => {
                let done = sweep_part(&tree, &vdev, index, lent, sweep);
                self.classes().give_back(id, lent);
                done.map(|bytes| Some(Swept { next, bytes }))
            }
        }
    }

    /// Whether what is freed from now on is remembered, for [`Storage::trim_freed`].
    pub fn remember_freed(&self, wanted: bool) {
        self.classes().remember_freed(wanted);
    }

    /// Has all disks of a top-level vdev forget a stretch of space that was freed since it was last
    /// trimmed, and not been used again; the bytes, or `None` where there is no more. Disks that
    /// cannot are passed over.
    pub fn trim_freed(&self, top: u32, max: u64) -> Option<u64> {
        let tree = self.tree();
        let vdev = tree.top(top)?.vdev.clone();
        let lent = self.classes().lend_freed(top, self.extent_min(), max)?;
        for leaf in vdev.leaves() {
            if let Err(error) = sweep_part(&tree, &vdev, leaf, lent, Sweep::Forget) {
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

/// Sweeps the part that one disk below a top-level vdev has of a stretch.
fn sweep_part(
    tree: &Tree,
    top: &Arc<Vdev>,
    leaf: usize,
    stretch: Segment,
    sweep: Sweep,
) -> Result<u64, SweepError> {
    let disk = &tree.leaves[leaf];
    if !disk.is_usable() {
        return Err(SweepError::Gone);
    }
    let part = part_of(top, leaf, stretch).ok_or(SweepError::Disk(DiskError::Unsupported))?;
    if part.len == 0 {
        return Ok(0);
    }
    let (_, offset) = disk.locate(part.start, part.len).map_err(SweepError::Disk)?;
    let device = disk.device().ok_or(SweepError::Gone)?;
    match sweep {
        Sweep::Forget => {
            device.disk.discard(offset, part.len).map_err(SweepError::Disk)?;
            disk.counters.tallies.alone[index(IoClass::Trim)].record(part.len);
        }
        Sweep::Fill { value, chunk } => {
            let sector = 1 << tree.top(disk.top).map_or(SECTOR_SHIFT, |top| top.ashift);
            let chunk = chunk.next_multiple_of(sector).min(part.len);
            fill(&*device.disk, (offset, part.len), value, chunk);
        }
    }
    Ok(part.len)
}

/// Errors are of no interest: nothing is lost, and who reads there later is told.
fn fill(disk: &dyn Disk, (offset, len): (u64, u64), value: u64, chunk: u64) {
    let mut chunk = AlignedBuf::zeroed(chunk as usize);
    chunk.as_chunks_mut::<8>().0.iter_mut().for_each(|word| *word = value.to_ne_bytes());
    let mut at = 0;
    while at < len {
        let now = (len - at).min(chunk.len() as u64);
        if let Err(error) = disk.write_at(offset + at, &chunk[..now as usize], IoClass::Scrub) {
            tracing::debug!(offset = offset + at, ?error, "not initialized");
        }
        at += now;
    }
}

/// What a stretch of a vdev is on one disk below; `None` where that cannot be told.
pub(super) fn part_of(vdev: &Arc<Vdev>, leaf: usize, stretch: Segment) -> Option<Segment> {
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
