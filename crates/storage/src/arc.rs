//! The cache of blocks, shared by all pools: an adaptive replacement cache.
//!
//! A block is named by pool, first DVA and birth, so an entry never goes stale. Within one transaction group a block may
//! be overwritten in place; then its entry is replaced under the same name.
//!
//! ```text
//!              used once              used again
//!   newest ─▶  MRU  ─────hit─────▶    MFU          bytes: MRU + MFU + bookkeeping ≤ limit
//!              │ evicted              │ evicted
//!              ▼                      ▼
//!              ghost MRU              ghost MFU    names only, of what was evicted last
//! ```
//! A miss whose name is a ghost says which of the two lists was too short; `target`, the share of the MRU list, moves
//! accordingly (Megiddo and Modha, FAST 2003; module/zfs/arc.c counts in bytes, as we do). A long scan passes through
//! the MRU list and leaves the MFU list alone. In both, data goes before metadata until metadata holds three quarters
//! of the limit.
//!
//! The cache is cut into shards by name, each with its lock, its lists and its share of the limit. A hit takes one
//! lock, allocates nothing, copies nothing.

mod shard;

use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

use env::lock;
use ondisk::BlkPtr;

use crate::Block;
use shard::Shard;
pub use shard::Stats;

/// A shard has at least so many bytes, so that the largest blocks fit in it.
const SHARD_MIN: usize = 32 << 20;
const SHARDS_MAX: usize = 16;

/// What names a block for ever: pool, place and birth.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Key {
    pub pool: u64,
    pub vdev: u32,
    pub offset: u64,
    pub birth: u64,
}

impl Key {
    /// The key of what `bp` points to; `None` for holes and embedded data.
    pub fn of(pool: u64, bp: &BlkPtr) -> Option<Key> {
        if bp.is_hole() || bp.is_embedded() {
            return None;
        }
        let dva = bp.first_dva();
        Some(Key { pool, vdev: dva.vdev, offset: dva.offset, birth: bp.physical_birth() })
    }
}

/// Blocks up to a limit of bytes.
pub struct Cache {
    shards: Vec<Mutex<Shard>>,
    hasher: BuildHasherDefault<DefaultHasher>,
    limit: usize,
    /// Bytes of the limit that unwritten data takes.
    lent: AtomicUsize,
}

impl Cache {
    /// A cache of at most `limit` bytes, its own bookkeeping included.
    pub fn new(limit: usize) -> Arc<Cache> {
        let count = (limit / SHARD_MIN).clamp(1, SHARDS_MAX);
        let shards = (0..count).map(|_| Mutex::new(Shard::new(limit / count))).collect();
        Arc::new(Cache { shards, hasher: BuildHasherDefault::default(), limit, lent: AtomicUsize::new(0) })
    }

    fn shard(&self, key: &Key) -> &Mutex<Shard> {
        let hash = self.hasher.hash_one(key);
        &self.shards[(hash >> 32) as usize % self.shards.len()]
    }

    pub fn get(&self, key: &Key) -> Option<Arc<Block>> {
        lock(self.shard(key)).get(key)
    }

    /// Adds or replaces. What this evicts is dropped after the lock is given back.
    pub fn insert(&self, key: Key, block: Arc<Block>, is_metadata: bool) {
        let lent = self.lent.load(Relaxed).min(self.limit / 2) / self.shards.len();
        let evicted = lock(self.shard(&key)).insert(key, block, is_metadata, lent);
        drop(evicted);
    }

    pub fn remove(&self, key: &Key) {
        let removed = lock(self.shard(key)).remove(key);
        drop(removed);
    }

    /// Data that is not on disk yet, of any pool, has become more (or less, if negative) by so many bytes. The cache
    /// makes room for it, up to half of its limit, so that both together stay within.
    pub fn lend(&self, bytes: i64) {
        let by = usize::try_from(bytes.unsigned_abs()).unwrap_or(usize::MAX);
        if bytes < 0 {
            self.lent.fetch_sub(by, Relaxed);
        } else {
            self.lent.fetch_add(by, Relaxed);
        }
    }

    /// Bytes of the limit that nobody uses.
    pub fn room(&self) -> usize {
        self.limit.saturating_sub(self.bytes() + self.lent.load(Relaxed))
    }

    /// Bytes held, bookkeeping included.
    pub fn bytes(&self) -> usize {
        self.shards.iter().map(|shard| lock(shard).bytes()).sum()
    }

    pub fn stats(&self) -> Stats {
        self.shards.iter().fold(Stats::default(), |sum, shard| sum.plus(&lock(shard).stats()))
    }
}

#[cfg(test)]
mod tests;
