//! Which disks, or vdevs with parity, have a copy of what lies on a top-level vdev: for whoever
//! looks at each copy by itself, where a mirror would give the first good one.

use std::sync::Arc;

use crate::vdev::open::Tree;
use crate::vdev::{Kind, Vdev};

/// The usable disks, or vdevs with parity, that hold a copy each of what lies on a top-level vdev.
pub(super) fn sides(tree: &Tree, vdev: u32) -> Vec<&Arc<Vdev>> {
    tree.top(vdev).map_or_else(Vec::new, |top| sides_below(tree, &top.vdev))
}

/// Those of them that are this vdev or below it.
pub(super) fn sides_below<'t>(tree: &Tree, vdev: &'t Arc<Vdev>) -> Vec<&'t Arc<Vdev>> {
    match vdev.kind {
        Kind::Leaf(leaf) if tree.leaves[leaf].is_usable() || tree.is_failed_log(leaf) => vec![vdev],
        Kind::Leaf(_) | Kind::Missing | Kind::Hole | Kind::Indirect => Vec::new(),
        Kind::Mirror => vdev.children.iter().flat_map(|child| sides_below(tree, child)).collect(),
        // All its disks together hold one copy.
        Kind::Raidz(_) if vdev.is_readable(&tree.leaves, None) => vec![vdev],
        Kind::Raidz(_) => Vec::new(),
    }
}
