//! On which disks, and where, the bytes of a block lie: for faults on demand, which the engine
//! meets as it meets a disk that fails.

use ondisk::Dva;
use ondisk::gang::HEADER_SIZE;

use super::moved::Place;
use crate::vdev::open::Tree;
use crate::vdev::{Kind, Vdev};
use crate::{ReadError, Storage};

/// Bytes of a block on a disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OnDisk {
    /// Of the leaf.
    pub guid: u64,
    /// On the device.
    pub offset: u64,
    pub len: u64,
}

impl Storage {
    /// Where a copy of a block lies: on each side of a mirror, in each column of a raidz. Of a
    /// gang, where its header does. Disks that are not open are left out.
    pub fn on_disks(&self, dva: &Dva, psize: u64) -> Result<Vec<OnDisk>, ReadError> {
        let tree = self.tree();
        let len = if dva.gang { HEADER_SIZE as u64 } else { psize };
        let pieces = match self.copy(&tree, dva, len)? {
            Place::Whole(dva, _) => vec![Dva::new(dva.vdev, dva.offset, len)],
            Place::Split(_, pieces) => pieces,
        };
        let mut found = Vec::new();
        for piece in pieces {
            let Some(top) = tree.top(piece.vdev) else { continue };
            let len = piece.asize.next_multiple_of(1 << top.ashift);
            add_places(&tree, &top.vdev, piece.offset, len, &mut found);
        }
        Ok(found)
    }
}

/// Adds where `len` bytes (whole sectors) at an offset of a vdev lie.
fn add_places(tree: &Tree, vdev: &Vdev, offset: u64, len: u64, found: &mut Vec<OnDisk>) {
    match vdev.kind {
        Kind::Leaf(leaf) => {
            let leaf = &tree.leaves[leaf];
            if let Ok((_, offset)) = leaf.locate(offset, len) {
                found.push(OnDisk { guid: leaf.guid, offset, len });
            }
        }
        Kind::Raidz(raidz) => {
            for (child, offset, len) in raidz.columns(offset, len as usize) {
                add_places(tree, &vdev.children[child], offset, len as u64, found);
            }
        }
        _ => vdev.children.iter().for_each(|child| add_places(tree, child, offset, len, found)),
    }
}
