//! Space for log blocks on sparse files, written ahead ([`crate::metaslab`] keeps it in stock).
//!
//! The pool's worker `sweep` does it, which ends before disks are closed. It writes zeros only to
//! space that is lent for this, and only where the file has holes: in a pool that has been logging
//! for a while there are none, and nothing is written.

use env::{AlignedBuf, Disk, IoClass, WorkerHandle};

use super::sweep::part_of;
use crate::Storage;
use crate::vdev::open::{Top, Tree};

/// Bytes that are written at once.
const CHUNK: usize = 1 << 20;

impl Storage {
    /// Who is woken when space for logs should be stocked, and calls [`Storage::stock_logs`] then.
    /// Once.
    pub fn stock_with(&self, worker: WorkerHandle) {
        assert!(self.stocker.set(worker).is_ok(), "it is started once");
    }

    /// Has the worker add to the stock of a top-level vdev that logs take from, if it is low.
    pub(super) fn restock(&self, tree: &Tree, vdev: u32) {
        let has_files = || tree.top(vdev).is_some_and(|top| is_sparse(tree, top));
        if self.classes().asks_for_stock(vdev, &has_files)
            && let Some(worker) = self.stocker.get()
        {
            worker.wake();
        }
    }

    /// Stocks a stretch for logs; `false` where no stock is low.
    pub fn stock_logs(&self) -> bool {
        let tree = self.tree();
        self.is_writable() && tree.tops.iter().any(|top| self.stock_on(&tree, top))
    }

    fn stock_on(&self, tree: &Tree, top: &Top) -> bool {
        let lent = match self.classes().lend_for_stock(top.id) {
            Ok(Some(lent)) => lent,
            Ok(None) => return false,
            Err(error) => {
                tracing::warn!(%error, "nothing is written ahead for logs");
                return false;
            }
        };
        for leaf in top.vdev.leaves() {
            let disk = &tree.leaves[leaf];
            let part = part_of(&top.vdev, leaf, lent).filter(|part| part.len > 0 && disk.is_usable());
            let place = part.and_then(|part| disk.locate(part.start, part.len).ok());
            if let (Some(part), Some((_, offset)), Some(device)) = (part, place, disk.device()) {
                fill_holes(&*device.disk, offset, part.len);
            }
        }
        self.classes().add_to_stock(top.id, lent);
        true
    }
}

/// Whether some disk finds room for bytes only when they are written.
fn is_sparse(tree: &Tree, top: &Top) -> bool {
    let mut devices = top.vdev.leaves().into_iter().filter_map(|leaf| tree.leaves[leaf].device());
    devices.any(|device| device.disk.places_on_write())
}

/// Errors are of no interest: who writes there later is told.
fn fill_holes(disk: &dyn Disk, offset: u64, len: u64) {
    let (mut at, end) = (offset, offset + len);
    let mut zeros = None;
    while let Some((hole, len)) = disk.hole(at, end - at) {
        let zeros = zeros.get_or_insert_with(|| AlignedBuf::zeroed(CHUNK));
        let now = len.min(CHUNK as u64);
        if let Err(error) = disk.write_at(hole, &zeros[..now as usize], IoClass::Scrub) {
            tracing::debug!(offset = hole, ?error, "not written ahead");
            return;
        }
        at = hole + now;
    }
}

#[cfg(test)]
mod tests;
