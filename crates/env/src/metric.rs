//! Numbers cheap enough for the hot path: sharded counters and log₂ histograms.
//!
//! Updates are relaxed atomics; a reading taken while others count is not a consistent cut, and
//! need not be.

mod waits;

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

pub use waits::{Waited, Waits};

const SHARDS: usize = 8;

/// One counter a cache line (two, since processors fetch lines in pairs).
#[repr(align(128))]
#[derive(Default)]
struct Shard(AtomicU64);

/// A counter that many threads may add to without sharing a cache line.
#[derive(Default)]
pub struct Counter([Shard; SHARDS]);

impl Counter {
    pub fn add(&self, n: u64) {
        self.0[my_shard()].0.fetch_add(n, Ordering::Relaxed);
    }

    /// The sum so far; wraps at 2⁶⁴.
    pub fn get(&self) -> u64 {
        self.0.iter().fold(0, |sum, shard| sum.wrapping_add(shard.0.load(Ordering::Relaxed)))
    }
}

/// Threads take shards in turn.
fn my_shard() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    thread_local! {
        static MINE: Cell<usize> = Cell::new(NEXT.fetch_add(1, Ordering::Relaxed) % SHARDS);
    }
    MINE.with(Cell::get)
}

/// Counts of values by their magnitude: bucket `i` holds values in `2^i .. 2^(i+1)`, bucket 0 also
/// holds 0. The scale of `zpool iostat -w`.
pub struct Histogram([AtomicU64; 64]);

impl Default for Histogram {
    fn default() -> Histogram {
        Histogram(std::array::from_fn(|_| AtomicU64::new(0)))
    }
}

impl Histogram {
    pub fn record(&self, value: u64) {
        self.0[(value | 1).ilog2() as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// The counts, by bucket.
    pub fn snapshot(&self) -> [u64; 64] {
        std::array::from_fn(|i| self.0[i].load(Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests;
