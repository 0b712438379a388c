//! How far an import may go: a pool that nobody knows yet may lead in circles, and who asked may
//! have changed their mind.
//!
//! Blocks are counted as they are read, those in the cache too. A pool's tree may have the same
//! block in many places, so what is on a small disk can take longer than anybody lives to walk;
//! whoever wrote it honestly needs fewer reads than the pool has room for blocks. Where the leash
//! ends every read fails, so whoever walks comes back with an error.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

/// See the module. A new one has no end.
#[derive(Debug)]
pub struct Leash {
    is_cancelled: AtomicBool,
    is_let_go: AtomicBool,
    /// Blocks that may still be read; [`ENDLESS`] for any number.
    left: AtomicU64,
}

const ENDLESS: u64 = u64::MAX;

impl Default for Leash {
    fn default() -> Leash {
        Leash {
            is_cancelled: AtomicBool::new(false),
            is_let_go: AtomicBool::new(false),
            left: AtomicU64::new(ENDLESS),
        }
    }
}

impl Leash {
    /// From now on so many blocks.
    pub fn allow(&self, blocks: u64) {
        self.left.store(blocks.min(ENDLESS - 1), Relaxed);
    }

    /// The pool is imported: it has no end any more, and cannot be cancelled.
    pub fn let_go(&self) {
        self.left.store(ENDLESS, Relaxed);
        self.is_let_go.store(true, Relaxed);
    }

    /// Nothing more is read, unless the pool is imported.
    pub fn cancel(&self) {
        self.is_cancelled.store(true, Relaxed);
    }

    pub fn is_cancelled(&self) -> bool {
        self.is_cancelled.load(Relaxed) && !self.is_let_go.load(Relaxed)
    }

    /// Cancelled, or at its end.
    pub fn is_over(&self) -> bool {
        self.is_cancelled() || self.left.load(Relaxed) == 0
    }

    /// Whether so many blocks may be read.
    pub(crate) fn take(&self, blocks: u64) -> bool {
        if self.is_cancelled() {
            return false;
        }
        let less = |left: u64| if left == ENDLESS { None } else { Some(left.saturating_sub(blocks)) };
        self.left.fetch_update(Relaxed, Relaxed, less).is_err() || self.left.load(Relaxed) > 0
    }
}

#[cfg(test)]
mod tests;
