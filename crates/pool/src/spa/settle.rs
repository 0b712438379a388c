//! What changes in the tree by itself: replacements that are complete, spares that go back, spares
//! that step in.
//!
//! It is done in syncing context, in the first pass of a group, like every change of the tree, and
//! needs nobody to wait for it. After each group it is looked whether there is more to do; then
//! another group follows.
//!
//! A replacement is complete when its new side has everything and others can do without the old
//! one. A spare goes back when the disk it stands in for is marked so (`unspare`: it was brought
//! back, or replaced) and has everything again. A spare steps in for a disk that is faulted,
//! removed or cannot be opened, as zed would have it; for one that an operator took offline it does
//! not. Sources: module/zfs/spa.c (`spa_vdev_resilver_done_hunt`), cmd/zed/agents/zfs_retire.c.

use dmu::Tx;
use env::lock;
use storage::{VdevConfig, VdevKind};

use super::Core;
use super::place::{Place, is_spare, is_unspare};
use super::service::is_lost;
use crate::Result;

/// A leaf that a spare should stand in for.
pub(super) struct Vacancy {
    pub leaf: u64,
    /// Its top-level vdev, that one's ashift, and the bytes a disk must have room for.
    pub top: u32,
    pub ashift: u64,
    pub least_asize: u64,
}

impl Core {
    /// Syncing context.
    pub(super) fn settle_vdevs(&self, tx: &Tx) -> Result<()> {
        // Whoever changes the tree now is not disturbed: the next group comes back to it.
        let Ok(_alone) = self.alone() else { return Ok(()) };
        // What a checkpoint says of the tree must stay true.
        if self.checkpoint_forbids().is_some() {
            return Ok(());
        }
        while let Some(leaf) = self.finished() {
            self.dismiss(leaf, tx)?;
        }
        while let Some((vacancy, spare)) =
            self.vacancies().iter().find_map(|vacancy| Some((vacancy, self.spare_for(vacancy)?)))
        {
            self.step_in(vacancy, spare, tx)?;
        }
        Ok(())
    }

    /// After a group: has another one follow if something is to be settled.
    pub(crate) fn watch_vdevs(&self) {
        let vacant = || self.vacancies().iter().any(|vacancy| self.spare_for(vacancy).is_some());
        let may = !self.readonly && self.checkpoint_forbids().is_none();
        if may && (self.finished().is_some() || vacant()) {
            drop(self.txgs.enter(false));
        }
    }

    /// A disk was given up. Called from anywhere: what follows from it is done by the next group.
    pub fn leaf_faulted(&self, guid: u64) {
        tracing::info!(guid, "a disk was given up");
        drop(self.txgs.enter(false));
    }

    /// A leaf that is to go.
    fn finished(&self) -> Option<u64> {
        let tree = lock(&self.config).tree.clone();
        let mut found = None;
        tree.visit(&mut |vdev| {
            if matches!(vdev.kind, VdevKind::Replacing | VdevKind::Spare) {
                found =
                    found.or_else(|| self.finished_in(vdev).filter(|leaf| self.is_dispensable(&tree, *leaf)));
            }
        });
        found
    }

    fn is_dispensable(&self, tree: &VdevConfig, leaf: u64) -> bool {
        Place::find(tree, leaf)
            .is_some_and(|place| place.vdev().kind.is_leaf() && self.can_do_without(&place))
    }

    fn finished_in(&self, vdev: &VdevConfig) -> Option<u64> {
        let (first, last) = (vdev.children.first()?, vdev.children.last()?);
        if first.guid == last.guid {
            return None;
        }
        if vdev.kind == VdevKind::Replacing {
            return self.is_complete(last).then_some(first.guid);
        }
        if is_unspare(last) && self.is_complete(last) {
            return Some(first.guid);
        }
        if is_unspare(first) && self.is_complete(first) {
            return Some(last.guid);
        }
        // One spare is enough.
        let second = &vdev.children[1];
        let many = vdev.children.len() > 2 && is_spare(second) && is_spare(last);
        (many && self.is_complete(last)).then_some(second.guid)
    }

    /// Whether a leaf has everything.
    fn is_complete(&self, leaf: &VdevConfig) -> bool {
        self.storage.is_working(leaf.guid) && self.dtl.is_empty(leaf.guid)
    }

    /// Whether a disk works, and nothing is noted that it might lack: one that no other could stand
    /// in for may pass for whole until the next import all the same.
    pub fn is_sure_of(&self, guid: u64) -> bool {
        self.storage.is_working(guid) && self.dtl.is_empty(guid)
    }

    /// Disks that are out of use and for which no spare stands in.
    fn vacancies(&self) -> Vec<Vacancy> {
        if !self.extras.has_spares() {
            return Vec::new();
        }
        let tree = lock(&self.config).tree.clone();
        let redundant = tree.children.iter().filter(|top| !top.is_log && !top.children.is_empty());
        let slots = redundant.flat_map(|top| match top.kind {
            VdevKind::Spare | VdevKind::Replacing => std::slice::from_ref(top),
            _ => &top.children[..],
        });
        let lost = |leaf: &VdevConfig| self.storage.leaf_state(leaf.guid).is_some_and(is_lost);
        let vacant = |slot: &VdevConfig| match slot.kind {
            _ if slot.kind.is_leaf() => lost(slot).then_some(slot.guid),
            VdevKind::Spare => {
                let last = slot.children.last()?;
                slot.children.iter().all(lost).then_some(last.guid)
            }
            _ => None,
        };
        let describe = |leaf: u64| {
            let place = Place::find(&tree, leaf)?;
            self.can_do_without(&place).then(|| Vacancy {
                leaf,
                top: place.id(),
                ashift: place.top().ashift.unwrap_or(9),
                least_asize: place.least_asize(),
            })
        };
        slots.filter_map(vacant).filter_map(describe).collect()
    }
}
