//! Block pointers given up in the transaction group being synced.
//!
//! Owners put them here while their objects are written; `sync` empties the list once a pass: in
//! the first pass the space is freed at once, later the pointers go to the deferred list on disk
//! and are freed in the next group, because freeing changes space maps, and that must come to an
//! end.

use std::sync::Mutex;

use env::lock;
use ondisk::BlkPtr;

#[derive(Default)]
pub struct FreeQueue {
    pending: Mutex<Vec<BlkPtr>>,
}

impl FreeQueue {
    /// Space of a block that nothing references any more. Holes and embedded blocks have none.
    pub fn free(&self, bp: &BlkPtr) {
        if !bp.is_hole() && !bp.is_embedded() {
            lock(&self.pending).push(*bp);
        }
    }

    pub fn take(&self) -> Vec<BlkPtr> {
        std::mem::take(&mut lock(&self.pending))
    }
}
