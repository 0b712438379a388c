//! Who may still follow an old block pointer.
//!
//! A reader outside syncing context takes a guard, then picks up block pointers, then reads the
//! blocks. While it does, a transaction group may free those blocks. What a group freed is
//! therefore not handed out again while a guard lives that was taken before that group was done.
//! Guards cost a few atomic operations.
//!
//! Time is cut into epochs; each group that is done begins the next. Readers are counted by the
//! epoch they began in, in a ring. The ring's oldest place is used anew only when nobody is left in
//! it; until then the epoch does not change, and new readers count as older than they are, which
//! keeps space back for a while and harms nobody.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::SeqCst};

const SLOTS: u64 = 64;

/// The guards alive, by epoch.
#[derive(Debug)]
pub struct Epochs {
    now: AtomicU64,
    /// Of the last [`SLOTS`] epochs, this one included.
    alive: [AtomicUsize; SLOTS as usize],
}

impl Default for Epochs {
    fn default() -> Epochs {
        Epochs { now: AtomicU64::new(SLOTS), alive: std::array::from_fn(|_| AtomicUsize::new(0)) }
    }
}

impl Epochs {
    fn slot(&self, epoch: u64) -> &AtomicUsize {
        &self.alive[(epoch % SLOTS) as usize]
    }

    pub fn enter(self: &Arc<Epochs>) -> EpochGuard {
        loop {
            let epoch = self.now.load(SeqCst);
            let slot = self.slot(epoch);
            slot.fetch_add(1, SeqCst);
            // Counted late, the guard may have been overlooked: it counts only if the epoch is
            // still the same.
            if self.now.load(SeqCst) == epoch {
                return EpochGuard { epochs: self.clone(), epoch };
            }
            slot.fetch_sub(1, SeqCst);
        }
    }

    /// A group is done: nobody can pick up pointers to what it freed any more. Guards that may hold
    /// such pointers are of epochs before the one that this answers with. One caller at a time.
    pub fn advance(&self) -> u64 {
        let next = self.now.load(SeqCst) + 1;
        if self.slot(next).load(SeqCst) == 0 {
            self.now.store(next, SeqCst);
        }
        next
    }

    /// Whether no guard of an epoch before this one lives.
    pub fn none_before(&self, epoch: u64) -> bool {
        let now = self.now.load(SeqCst);
        (now + 1 - SLOTS..epoch.min(now + 1)).all(|before| self.slot(before).load(SeqCst) == 0)
    }
}

/// While it lives, nothing that was reachable when it was taken is overwritten.
#[derive(Debug)]
pub struct EpochGuard {
    epochs: Arc<Epochs>,
    epoch: u64,
}

impl Drop for EpochGuard {
    fn drop(&mut self) {
        self.epochs.slot(self.epoch).fetch_sub(1, SeqCst);
    }
}

#[cfg(test)]
mod tests;
