//! The transaction groups of which a leaf lacks blocks: its dirty time log, as storage needs it.
//!
//! Whoever keeps these logs (the pool) puts them here whole; nothing here is ever taken out but by
//! that. What cannot be repaired while a scan runs is noted apart, so that the end of the scan does
//! not clear it. Source: module/zfs/vdev.c (`DTL_MISSING`, `DTL_SCRUB`).

use std::sync::Mutex;

use env::lock;

use crate::range_tree::RangeTree;

/// See the module. The "space" of the trees is numbers of groups.
#[derive(Default)]
pub struct Dtl(Mutex<Groups>);

#[derive(Default)]
struct Groups {
    missing: RangeTree,
    unrepaired: RangeTree,
}

impl Dtl {
    pub fn set_missing(&self, missing: RangeTree) {
        lock(&self.0).missing = missing;
    }

    /// Whether the leaf has everything.
    pub fn is_empty(&self) -> bool {
        lock(&self.0).missing.is_empty()
    }

    /// Whether blocks born in this group are not (all) on the leaf.
    pub fn lacks(&self, birth: u64) -> bool {
        lock(&self.0).missing.contains(birth, 1)
    }

    /// A repair of a block born in this group failed.
    pub fn note_unrepaired(&self, birth: u64) {
        lock(&self.0).unrepaired.add_overlap(birth, 1);
    }

    /// What was noted since the last call.
    pub fn take_unrepaired(&self) -> RangeTree {
        std::mem::take(&mut lock(&self.0).unrepaired)
    }
}
