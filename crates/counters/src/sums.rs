//! Sums that many threads add to without sharing a cache line.

use std::cell::Cell;
use std::fmt;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

const SHARDS: usize = 8;

/// What one thread in [`SHARDS`] adds to: cache lines of its own (in pairs, since processors fetch
/// them in pairs).
#[repr(align(128))]
struct Shard<const N: usize>([AtomicU64; N]);

/// `N` sums that belong together, each at its place. They take `8 × 8 × N` bytes, rounded up to
/// 1 KiB.
pub struct Sums<const N: usize>([Shard<N>; SHARDS]);

impl<const N: usize> Default for Sums<N> {
    fn default() -> Sums<N> {
        Sums(std::array::from_fn(|_| Shard(std::array::from_fn(|_| AtomicU64::new(0)))))
    }
}

impl<const N: usize> fmt::Debug for Sums<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.get()).finish()
    }
}

impl<const N: usize> Sums<N> {
    /// # Panics
    /// If there is no such place.
    pub fn add(&self, place: usize, n: u64) {
        self.0[my_shard()].0[place].fetch_add(n, Relaxed);
    }

    /// The sums so far; they wrap at 2⁶⁴.
    pub fn get(&self) -> [u64; N] {
        std::array::from_fn(|place| {
            self.0.iter().fold(0_u64, |sum, shard| sum.wrapping_add(shard.0[place].load(Relaxed)))
        })
    }

    /// One of them.
    ///
    /// # Panics
    /// If there is no such place.
    pub fn at(&self, place: usize) -> u64 {
        self.0.iter().fold(0_u64, |sum, shard| sum.wrapping_add(shard.0[place].load(Relaxed)))
    }
}

/// A sum alone. It takes 1 KiB.
#[derive(Default, Debug)]
pub struct Counter(Sums<1>);

impl Counter {
    pub fn add(&self, n: u64) {
        self.0.add(0, n);
    }

    /// The sum so far; wraps at 2⁶⁴.
    pub fn get(&self) -> u64 {
        self.0.at(0)
    }
}

/// Threads take shards in turn.
fn my_shard() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    thread_local! {
        static MINE: Cell<usize> = Cell::new(NEXT.fetch_add(1, Relaxed) % SHARDS);
    }
    MINE.with(Cell::get)
}

#[cfg(test)]
mod tests;
