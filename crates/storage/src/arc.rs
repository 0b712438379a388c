//! The cache of blocks, shared by all pools: an adaptive replacement cache.
//!
//! A block is named by pool, first DVA and birth, so an entry never goes stale while its pool is
//! open; with the pool it goes. Within one transaction group a block may be overwritten in place;
//! then its entry is replaced under the same name.
//!
//! ```text
//!              used once              used again
//!   newest ─▶  MRU  ─────hit─────▶    MFU          bytes: MRU + MFU + bookkeeping ≤ limit
//!              │ evicted              │ evicted
//!              ▼                      ▼
//!              ghost MRU              ghost MFU    names only, of what was evicted last
//! ```
//! A miss whose name is a ghost says which of the two lists was too short; `target`, the share of
//! the MRU list, moves accordingly (Megiddo and Modha, FAST 2003; module/zfs/arc.c counts in bytes,
//! as we do). A long scan passes through the MRU list and leaves the MFU list alone. In both, data
//! goes before metadata until metadata holds three quarters of the limit.
//!
//! The cache is cut into shards by name, each with its lock, its lists and its share of the limit.
//! A hit takes one lock, allocates nothing, copies nothing.
//!
//! Behind it may be cache devices, a pool's own: see [`l2`].

mod ahead;
mod curve;
mod decoded;
pub mod l2;
mod shard;
mod stats;

use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

use env::lock;
use ondisk::BlkPtr;

use crate::Block;
pub use crate::policy::{Keep, Scope};
use ahead::AheadCounts;
pub use ahead::{AheadStats, Foresight};
use curve::Curve;
pub use curve::HitCurve;
pub use decoded::{Decoded, Tenancy, Tenant};
use shard::Shard;
pub(crate) use shard::{Arrival, Ask, Cold, ColdEnd};
pub(crate) use stats::L2Counts;
pub use stats::{L2Stats, Stats, Traffic};

/// A shard has at least so many bytes, so that the largest blocks fit in it.
const SHARD_MIN: usize = 32 << 20;
const SHARDS_MAX: usize = 16;
/// What was decoded may take so many sixteenths of the limit.
const DECODED_SHARE: usize = 3;

/// What names a block for ever: pool, place and birth.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
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
    /// Bytes that others hold, who have promised to keep to the same limit.
    outside: Arc<AtomicUsize>,
    decoded: Arc<Decoded>,
    /// Something has been evicted.
    warm: AtomicBool,
    pub(crate) l2: L2Counts,
    pub(crate) ahead: AheadCounts,
    curve: Mutex<Curve>,
    /// Of the curve, so that most lookups need not lock it.
    sampled_below: AtomicU32,
}

impl Cache {
    /// A cache of at most `limit` bytes, its own bookkeeping included.
    pub fn new(limit: usize) -> Arc<Cache> {
        Cache::beside(limit, Arc::default())
    }

    /// The same, which gives way for what others hold: up to a quarter of its limit.
    pub fn beside(limit: usize, outside: Arc<AtomicUsize>) -> Arc<Cache> {
        let count = (limit / SHARD_MIN).clamp(1, SHARDS_MAX);
        let curve = Curve::new();
        let shards = (0..count).map(|_| Mutex::new(Shard::new(limit / count))).collect();
        Arc::new(Cache {
            shards,
            hasher: BuildHasherDefault::default(),
            limit,
            lent: AtomicUsize::new(0),
            outside,
            decoded: Decoded::new(limit / 16 * DECODED_SHARE),
            warm: AtomicBool::new(false),
            l2: L2Counts::default(),
            ahead: AheadCounts::default(),
            sampled_below: AtomicU32::new(curve.threshold()),
            curve: Mutex::new(curve),
        })
    }

    fn shard(&self, key: &Key) -> &Mutex<Shard> {
        self.shard_of(self.hasher.hash_one(key))
    }

    fn shard_of(&self, hash: u64) -> &Mutex<Shard> {
        &self.shards[(hash >> 32) as usize % self.shards.len()]
    }

    /// Tells the curve, if the block is one of its sample.
    fn sample(&self, hash: u64, tell: impl FnOnce(&mut Curve, u32)) {
        let hash = Curve::hash(hash);
        if hash < self.sampled_below.load(Relaxed) {
            let mut curve = lock(&self.curve);
            tell(&mut curve, hash);
            self.sampled_below.store(curve.threshold(), Relaxed);
        }
    }

    /// What hit rate demand would have met with any size of cache, since start.
    pub fn hit_curve(&self) -> HitCurve {
        let Stats { hits, missed, .. } = self.stats();
        let asked = [hits, missed].map(|t| t.demand_data + t.demand_metadata);
        lock(&self.curve).hit_curve(asked[0] + asked[1])
    }

    pub fn get(&self, key: &Key) -> Option<Arc<Block>> {
        self.look(key, Ask::PLAIN)
    }

    pub(crate) fn look(&self, key: &Key, ask: Ask<'_>) -> Option<Arc<Block>> {
        let hash = self.hasher.hash_one(key);
        let found = lock(self.shard_of(hash)).get(key, ask);
        if !ask.is_prefetch && (found.is_some() || !ask.is_glance) {
            self.sample(hash, |curve, hash| curve.asked(key, hash));
        }
        found
    }

    /// Adds or replaces.
    pub fn insert(&self, key: Key, block: Arc<Block>, is_metadata: bool) {
        self.put(key, block, Arrival { is_metadata, is_prefetch: false, source: None, on_device: false });
    }

    /// Adds or replaces. What this evicts is dropped after the lock is given back.
    pub(crate) fn put(&self, key: Key, block: Arc<Block>, what: Arrival) {
        let lent = self.taken() / self.shards.len();
        let hash = self.hasher.hash_one(key);
        self.sample(hash, |curve, hash| curve.arrived(&key, hash, block.footprint() as u64));
        let evicted = lock(self.shard_of(hash)).insert(key, block, what, lent);
        if !evicted.is_empty() && !self.is_warm() {
            self.warm.store(true, Relaxed);
        }
        drop(evicted);
    }

    /// Whether the cache has been full.
    pub(crate) fn is_warm(&self) -> bool {
        self.warm.load(Relaxed)
    }

    pub(crate) fn set_on_device(&self, key: &Key) {
        lock(self.shard(key)).set_on_device(key);
    }

    /// Blocks for a cache device: see [`Shard::cold`]. `depth` is for all shards together; `found`
    /// says when to stop.
    pub(crate) fn cold(&self, end: ColdEnd, found: &mut dyn FnMut(Cold) -> bool) {
        let share = ColdEnd { depth: end.depth / self.shards.len(), ..end };
        let mut wanted = true;
        for shard in &self.shards {
            let mut list = Vec::new();
            lock(shard).cold(share, &mut |cold| {
                list.push(cold);
                true
            });
            // What `found` does takes long; the shard is not locked for it.
            wanted = wanted && list.into_iter().all(&mut *found);
        }
    }

    pub fn remove(&self, key: &Key) {
        let hash = self.hasher.hash_one(key);
        self.sample(hash, |curve, hash| curve.gone(key, hash));
        let removed = lock(self.shard_of(hash)).remove(key);
        drop(removed);
    }

    /// Drops all blocks of a pool that is not open. A birth names a block only as long as its pool
    /// is: what was written and not durable when a pool was given up is written anew, otherwise,
    /// after the next import.
    pub fn forget_pool(&self, pool: u64) {
        for shard in &self.shards {
            let keys = lock(shard).keys_of(pool);
            keys.iter().for_each(|key| self.remove(key));
        }
    }

    /// Data that is not on disk yet, of any pool, has become more (or less, if negative) by so many
    /// bytes. The cache makes room for it, up to half of its limit, so that both together stay
    /// within.
    pub fn lend(&self, bytes: i64) {
        let by = usize::try_from(bytes.unsigned_abs()).unwrap_or(usize::MAX);
        if bytes < 0 {
            self.lent.fetch_sub(by, Relaxed);
        } else {
            self.lent.fetch_add(by, Relaxed);
        }
    }

    /// Bytes of the limit that it gives way for: more than fifteen sixteenths are never asked of
    /// it.
    fn taken(&self) -> usize {
        self.lent.load(Relaxed).min(self.limit / 2)
            + self.outside.load(Relaxed).min(self.limit / 4)
            + self.decoded.bytes().min(self.decoded.limit())
    }

    /// What is kept decoded, beside it and within its limit.
    pub fn decoded(&self) -> &Arc<Decoded> {
        &self.decoded
    }

    /// What it was made with.
    pub fn limit(&self) -> usize {
        self.limit
    }

    /// Bytes of the limit that nobody uses.
    pub fn room(&self) -> usize {
        self.limit.saturating_sub(self.bytes() + self.taken())
    }

    /// Bytes held, bookkeeping included.
    pub fn bytes(&self) -> usize {
        self.shards.iter().map(|shard| lock(shard).bytes()).sum()
    }

    pub fn stats(&self) -> Stats {
        let mut sum = Stats {
            lent: self.lent.load(Relaxed) as u64,
            ahead: self.ahead.snapshot(),
            l2: self.l2.snapshot(),
            ..Stats::default()
        };
        self.shards.iter().for_each(|shard| lock(shard).add_to(&mut sum));
        sum
    }
}

#[cfg(test)]
mod tests;
