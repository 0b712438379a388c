//! What the caches count: all that OpenZFS's `arcstat` shows, as plain numbers since start, and
//! sizes as of now.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::AheadStats;

/// Lookups by who asked and for what.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    pub demand_data: u64,
    pub demand_metadata: u64,
    pub prefetch_data: u64,
    pub prefetch_metadata: u64,
}

impl Traffic {
    pub fn total(&self) -> u64 {
        self.demand_data + self.demand_metadata + self.prefetch_data + self.prefetch_metadata
    }

    pub(super) fn add(&mut self, is_metadata: bool, is_prefetch: bool) {
        let count = match (is_prefetch, is_metadata) {
            (false, false) => &mut self.demand_data,
            (false, true) => &mut self.demand_metadata,
            (true, false) => &mut self.prefetch_data,
            (true, true) => &mut self.prefetch_metadata,
        };
        *count += 1;
    }

    fn add_all(&mut self, other: &Traffic) {
        self.demand_data += other.demand_data;
        self.demand_metadata += other.demand_metadata;
        self.prefetch_data += other.prefetch_data;
        self.prefetch_metadata += other.prefetch_metadata;
    }
}

/// Of the cache in memory; see [`L2Stats`] for the devices behind it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    pub hits: Traffic,
    pub misses: u64,
    pub missed: Traffic,
    pub mru_hits: u64,
    pub mfu_hits: u64,
    /// Blocks that came back after they had been evicted from that list: a longer one would have
    /// kept them.
    pub mru_ghost_hits: u64,
    pub mfu_ghost_hits: u64,
    /// Blocks evicted, and the bytes of those: already on a cache device; fit for one, by list; not
    /// fit for one.
    pub evicted: u64,
    pub evicted_l2_cached: u64,
    pub evicted_l2_eligible_mfu: u64,
    pub evicted_l2_eligible_mru: u64,
    pub evicted_l2_ineligible: u64,
    /// Bytes of blocks.
    pub mru_bytes: u64,
    pub mfu_bytes: u64,
    /// Of those, of metadata.
    pub mru_metadata_bytes: u64,
    pub mfu_metadata_bytes: u64,
    /// Bytes that blocks had whose names are remembered.
    pub mru_ghost_bytes: u64,
    pub mfu_ghost_bytes: u64,
    pub mru_ghost_metadata_bytes: u64,
    pub mfu_ghost_metadata_bytes: u64,
    /// Blocks, and bytes of bookkeeping, ghosts included.
    pub blocks: u64,
    pub overhead_bytes: u64,
    /// What the MRU list aims at.
    pub target: u64,
    /// What the cache may hold, and what of that unwritten data takes now.
    pub limit: u64,
    pub lent: u64,
    pub ahead: AheadStats,
    pub l2: L2Stats,
}

impl Stats {
    /// All that is held, `arcsz` of arcstat.
    pub fn bytes(&self) -> u64 {
        self.mru_bytes + self.mfu_bytes + self.overhead_bytes
    }

    /// Adds what a shard counted. What it holds it adds by itself.
    pub(super) fn add_counts(&mut self, other: &Stats) {
        self.hits.add_all(&other.hits);
        self.misses += other.misses;
        self.missed.add_all(&other.missed);
        self.mru_hits += other.mru_hits;
        self.mfu_hits += other.mfu_hits;
        self.mru_ghost_hits += other.mru_ghost_hits;
        self.mfu_ghost_hits += other.mfu_ghost_hits;
        self.evicted += other.evicted;
        self.evicted_l2_cached += other.evicted_l2_cached;
        self.evicted_l2_eligible_mfu += other.evicted_l2_eligible_mfu;
        self.evicted_l2_eligible_mru += other.evicted_l2_eligible_mru;
        self.evicted_l2_ineligible += other.evicted_l2_ineligible;
    }
}

macro_rules! counts {
    ($($(#[$doc:meta])* $field:ident),* $(,)?) => {
        /// Of all cache devices of all pools.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct L2Stats {
            $($(#[$doc])* pub $field: u64,)*
        }

        /// The same, being counted.
        #[derive(Default)]
        pub(crate) struct L2Counts {
            $(pub $field: AtomicU64,)*
        }

        impl L2Counts {
            pub fn snapshot(&self) -> L2Stats {
                L2Stats { $($field: self.$field.load(Relaxed),)* }
            }
        }
    };
}

counts! {
    /// Reads answered by a cache device, and reads of pools with one that were not.
    hits,
    misses,
    /// Bytes read for hits.
    read_bytes,
    /// Bytes written, log blocks included.
    write_bytes,
    /// Rounds of the writer that wrote something.
    feeds,
    /// Writes that failed, and reads that did.
    write_errors,
    read_errors,
    /// Bytes that were not what their block pointer says.
    checksum_errors,
    /// Reads that the writer overtook.
    evicted_while_reading,
    /// Blocks given up to make room, and rounds that had to.
    evicted,
    evictions,
    /// Blocks that had to be read from the pool to be written, since compressing them here gives
    /// other bytes.
    reread,
    /// Blocks there, their bytes decompressed, as stored, and in whole sectors, and bytes of the
    /// index in memory.
    blocks,
    size,
    psize,
    asize,
    header_bytes,
    /// The same whole sectors by the list that blocks were on when they were written, of those that
    /// nobody had asked for yet, and by contents.
    mru_asize,
    mfu_asize,
    prefetch_asize,
    data_asize,
    metadata_asize,
    /// Log blocks written, there, and their bytes there.
    log_writes,
    log_count,
    log_asize,
    /// Log blocks and blocks found again after a restart, and how often that ended well or badly.
    rebuild_logs,
    rebuild_blocks,
    rebuild_ok,
    rebuild_failed,
    /// Devices given up because of errors.
    devices_lost,
}

pub(crate) fn add(count: &AtomicU64, by: u64) {
    count.fetch_add(by, Relaxed);
}

pub(crate) fn sub(count: &AtomicU64, by: u64) {
    count.fetch_sub(by, Relaxed);
}
