//! Who may still follow an old block pointer.
//!
//! A reader outside syncing context takes a guard, then picks up block pointers, then reads the blocks. While it does,
//! a transaction group may free those blocks. Space freed in txg T is therefore not handed out again while a guard
//! lives that was taken before T was synced. Guards cost one atomic addition.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::SeqCst};

const SLOTS: usize = 64;

/// The guards alive, by the last synced txg when they were taken.
#[derive(Debug)]
pub struct Epochs {
    synced: AtomicU64,
    alive: [AtomicUsize; SLOTS],
}

impl Default for Epochs {
    fn default() -> Epochs {
        Epochs { synced: AtomicU64::new(0), alive: std::array::from_fn(|_| AtomicUsize::new(0)) }
    }
}

impl Epochs {
    pub fn enter(self: &Arc<Epochs>) -> EpochGuard {
        let slot = self.synced.load(SeqCst) as usize % SLOTS;
        self.alive[slot].fetch_add(1, SeqCst);
        EpochGuard { epochs: self.clone(), slot }
    }

    pub fn set_synced(&self, txg: u64) {
        self.synced.store(txg, SeqCst);
    }

    /// Whether nobody can hold a pointer to what was freed in `txg`. A guard older than [`SLOTS`] groups looks younger
    /// than it is, which only keeps space back.
    pub fn all_after(&self, txg: u64) -> bool {
        let oldest = txg.saturating_sub(SLOTS as u64 - 1);
        (oldest..txg).all(|before| self.alive[before as usize % SLOTS].load(SeqCst) == 0)
    }
}

/// While it lives, nothing that was reachable when it was taken is overwritten.
#[derive(Debug)]
pub struct EpochGuard {
    epochs: Arc<Epochs>,
    slot: usize,
}

impl Drop for EpochGuard {
    fn drop(&mut self) {
        self.epochs.alive[self.slot].fetch_sub(1, SeqCst);
    }
}
