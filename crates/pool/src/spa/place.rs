//! Where a vdev is in the tree, and what becomes of the tree when disks come and go: pure functions
//! on configurations.
//!
//! A disk that gets company becomes a child of a new vdev in its own place; the last child takes
//! its parent's place again. What belongs to a place at the top (space maps, ashift) goes with the
//! place, what belongs to a disk with the disk. Source: module/zfs/vdev.c (`vdev_add_parent`,
//! `vdev_remove_parent`, `vdev_get_min_asize`), spa.c.

use ondisk::label::config::key;
use storage::{Bias, VdevConfig, VdevKind};

use super::report::vdev_name;

/// A vdev of the tree.
#[derive(Clone)]
pub(super) struct Place {
    /// With all that is below.
    top: VdevConfig,
    /// Which child, from the top-level vdev down.
    steps: Vec<usize>,
}

impl Place {
    /// Of the vdev of this guid below the root.
    pub fn find(root: &VdevConfig, guid: u64) -> Option<Place> {
        root.children.iter().find_map(|top| {
            let mut steps = Vec::new();
            descend(top, guid, &mut steps).then(|| Place { top: top.clone(), steps })
        })
    }

    /// Number of the top-level vdev.
    pub fn id(&self) -> u32 {
        self.top.id as u32
    }

    pub fn top(&self) -> &VdevConfig {
        &self.top
    }

    pub fn is_top(&self) -> bool {
        self.steps.is_empty()
    }

    pub fn vdev(&self) -> &VdevConfig {
        self.steps.iter().fold(&self.top, |vdev, &step| &vdev.children[step])
    }

    /// `None` at the top.
    pub fn parent(&self) -> Option<&VdevConfig> {
        let (_, above) = self.steps.split_last()?;
        Some(above.iter().fold(&self.top, |vdev, &step| &vdev.children[step]))
    }

    /// Which child of its parent it is.
    pub fn index(&self) -> usize {
        self.steps.last().copied().unwrap_or(0)
    }

    pub fn name(&self) -> String {
        let vdev = self.vdev();
        vdev_name(&vdev.kind, vdev.path.as_deref(), vdev.guid, vdev.id)
    }

    /// Bytes that a disk in this place must be able to hold.
    pub fn least_asize(&self) -> u64 {
        self.top.least_asize()
    }
}

fn descend(vdev: &VdevConfig, guid: u64, steps: &mut Vec<usize>) -> bool {
    if vdev.guid == guid {
        return true;
    }
    for (index, child) in vdev.children.iter().enumerate() {
        steps.push(index);
        if descend(child, guid, steps) {
            return true;
        }
        steps.pop();
    }
    false
}

/// Whether a leaf is a hot spare that stands in for another.
pub(super) fn is_spare(vdev: &VdevConfig) -> bool {
    vdev.pairs.u64(key::IS_SPARE) == Some(1)
}

/// Whether a leaf's spare is to go once it has everything itself.
pub(super) fn is_unspare(vdev: &VdevConfig) -> bool {
    vdev.pairs.u64(key::UNSPARE) == Some(1)
}

/// Changes the vdev of this guid, if there is one.
pub(super) fn edit(root: &mut VdevConfig, guid: u64, change: &mut dyn FnMut(&mut VdevConfig)) {
    root.visit_mut(&mut |vdev| {
        if vdev.guid == guid {
            change(vdev);
        }
    });
}

/// Puts a leaf beside the one of this guid: in the vdev above, if that is of `kind`, else in a new
/// one, of guid `parent`.
pub(super) fn put_beside(
    root: &mut VdevConfig,
    guid: u64,
    kind: &VdevKind,
    parent: u64,
    mut leaf: VdevConfig,
) {
    let Some(Place { top, steps }) = Place::find(root, guid) else { return };
    let mut above = steps.as_slice();
    let is_kind = |steps: &[usize]| steps.iter().fold(&top, |vdev, &step| &vdev.children[step]).kind == *kind;
    if let Some((_, parent)) = steps.split_last().filter(|(_, parent)| is_kind(parent)) {
        above = parent;
    }
    let top = &mut root.children[top.id as usize];
    let vdev = above.iter().fold(top, |vdev, &step| &mut vdev.children[step]);
    if vdev.guid == guid {
        *vdev = wrapped(vdev, kind, parent);
    }
    leaf.id = vdev.children.len() as u64;
    vdev.children.push(leaf);
}

/// Takes a leaf out of the vdev above it, and that vdev too if one child is left. Gives the leaf,
/// and the guid that the last child had and has: (old, new), where that has changed.
pub(super) fn take_out(root: &mut VdevConfig, guid: u64) -> Option<(VdevConfig, Option<(u64, u64)>)> {
    let Place { top, steps } = Place::find(root, guid)?;
    let (&index, above) = steps.split_last()?;
    let top = &mut root.children[top.id as usize];
    let vdev = above.iter().fold(top, |vdev, &step| &mut vdev.children[step]);
    let gone = vdev.children.remove(index);
    vdev.children.iter_mut().zip(0..).for_each(|(child, id)| child.id = id);
    let mut renamed = None;
    if vdev.children.len() == 1 {
        let before = vdev.children[0].guid;
        *vdev = unwrapped(vdev, above.is_empty());
        renamed = Some((before, vdev.guid)).filter(|(before, now)| before != now);
    }
    Some((gone, renamed))
}

/// What is left of a top-level vdev that is not the last one.
pub(super) fn hole(id: u64) -> VdevConfig {
    let mut hole = VdevConfig::new(VdevKind::Hole, id, 0);
    (hole.metaslab_array, hole.metaslab_shift) = (Some(0), Some(0));
    (hole.ashift, hole.asize) = (Some(0), Some(0));
    hole
}

/// A vdev in the place of another, which is its only child yet.
fn wrapped(child: &VdevConfig, kind: &VdevKind, guid: u64) -> VdevConfig {
    let mut parent = VdevConfig::new(kind.clone(), child.id, guid);
    if child.ashift.is_some() {
        give_top(child, &mut parent);
    }
    parent.create_txg = child.create_txg;
    parent.children = vec![VdevConfig { id: 0, ..without_top(child) }];
    parent
}

/// The only child of a vdev in its place. At the top it takes the parent's guid: else an import
/// that finds the other side would think that there are two top-level vdevs, not two versions of
/// one.
fn unwrapped(parent: &VdevConfig, is_top: bool) -> VdevConfig {
    let mut child = parent.children[0].clone();
    child.id = parent.id;
    if is_spare(&child) || parent.kind == VdevKind::Spare {
        child.pairs.remove(key::UNSPARE);
    }
    if is_top {
        if child.guid != parent.guid {
            child.pairs.set(key::ORIG_GUID, child.guid);
        }
        give_top(parent, &mut child);
        child.guid = parent.guid;
    }
    child
}

/// Pairs that belong to a top-level vdev.
const TOP_PAIRS: [&str; 3] = [key::MIN_ALLOC, key::MAX_ALLOC, key::ALLOCATION_BIAS];

/// Hands over what only top-level vdevs have.
fn give_top(from: &VdevConfig, to: &mut VdevConfig) {
    (to.ashift, to.asize) = (from.ashift, from.asize);
    (to.metaslab_array, to.metaslab_shift) = (from.metaslab_array, from.metaslab_shift);
    (to.is_log, to.top_zap, to.bias) = (from.is_log, from.top_zap, from.bias);
    for name in TOP_PAIRS {
        if let Some(value) = from.pairs.get(name) {
            to.pairs.set(name, value.clone());
        }
    }
}

fn without_top(vdev: &VdevConfig) -> VdevConfig {
    let mut side = vdev.clone();
    (side.ashift, side.asize) = (None, None);
    (side.metaslab_array, side.metaslab_shift) = (None, None);
    (side.is_log, side.top_zap, side.bias) = (false, None, Bias::None);
    for name in TOP_PAIRS.into_iter().chain([key::IS_LOG]) {
        side.pairs.remove(name);
    }
    side
}

#[cfg(test)]
mod tests;
