//! Numbers that an operator may turn while the program runs, by the names that OpenZFS's module
//! parameters have where it has them.
//!
//! The list is closed: what is in it has an effect here, from the next time on that it is read. A
//! restart forgets what was set. The defaults are those of the code that reads them; where a range
//! is given, nothing outside of it is taken.
//!
//! Source: man/man4/zfs.4 of OpenZFS.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// One of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(usize)]
pub enum Tunable {
    /// Seconds after which a transaction group with changes is closed.
    TxgTimeout,
    /// Milliseconds between two signs of life of a pool with `multihost=on`, on each disk.
    MultihostInterval,
    /// Intervals without a written sign after which a pool suspends itself; 0: never.
    MultihostFailIntervals,
    /// Intervals that a pool is watched for before it is imported, where its own signs do not say.
    MultihostImportIntervals,
    /// Not 0: scrubs, resilvers and rebuilds stand still.
    ScanSuspendProgress,
    /// Blocks that a group frees of what was destroyed.
    AsyncBlockMaxBlocks,
    /// Living blocks from which on a clone's list is full.
    LivelistMaxEntries,
    /// Percent that a clone must share with its origin to keep lists.
    LivelistMinPercentShared,
    /// Bytes below which free space is not worth trimming by itself.
    TrimExtentBytesMin,
    /// Groups whose freed space is trimmed together.
    TrimTxgBatch,
    /// What free space is initialized with.
    InitializeValue,
    /// Metaslabs that a new vdev has at least.
    VdevMinMsCount,
    /// The largest sector, as a power of two, that a new vdev takes from what its disks prefer.
    VdevMaxAutoAshift,
    /// Bytes that a cache device is given in a round.
    L2arcWriteMax,
    /// So many more while the cache in memory has not been full yet.
    L2arcWriteBoost,
    /// 1: what was used once is not written to cache devices; 2: but for metadata.
    L2arcMfuonly,
    /// 0: what a cache device holds is not looked for when its pool is imported.
    L2arcRebuildEnabled,
    /// Bytes below which a cache device keeps no record of what it holds.
    L2arcRebuildBlocksMinL2size,
    /// Bytes from which on blocks are broken into gangs; beyond 16 MiB: none are.
    MetaslabForceGanging,
    /// Not 0: snapshots are made, renamed and destroyed as directories in `.zfs/snapshot`, too.
    AdminSnapshot,
    /// Bytes of entries that a group reads of the map of a discarded checkpoint.
    DiscardMemoryLimit,
    /// Bytes that an initialization writes at once.
    InitializeChunkSize,
    /// Levels that the name of a dataset has at the most when it is made or moved further down.
    MaxDatasetNesting,
    /// Our own. 0: what sets no `compression` is not compressed, as it was before OpenZFS 2.2.
    DefaultCompression,
}

/// What is known of one.
#[derive(Debug)]
pub struct TunableInfo {
    pub tunable: Tunable,
    /// OpenZFS's.
    pub name: &'static str,
    pub default: u64,
    pub min: u64,
    pub max: u64,
    /// One sentence.
    pub about: &'static str,
}

const fn row(
    tunable: Tunable,
    name: &'static str,
    default: u64,
    range: (u64, u64),
    about: &'static str,
) -> TunableInfo {
    TunableInfo { tunable, name, default, min: range.0, max: range.1, about }
}

/// Larger than any block.
const NEVER: u64 = (16 << 20) + 1;
const ANY: (u64, u64) = (0, u64::MAX);

/// All of them, in the order of [`Tunable`].
#[rustfmt::skip]
pub const TUNABLES: [TunableInfo; COUNT] = [
    row(Tunable::TxgTimeout, "zfs_txg_timeout", 5, (1, u32::MAX as u64), "seconds after which a transaction group with changes is closed"),
    row(Tunable::MultihostInterval, "zfs_multihost_interval", 1000, (100, 1_000_000), "milliseconds between two signs of life on each disk"),
    row(Tunable::MultihostFailIntervals, "zfs_multihost_fail_intervals", 10, (0, 10_000), "intervals without a sign of life after which a pool suspends itself (0: never)"),
    row(Tunable::MultihostImportIntervals, "zfs_multihost_import_intervals", 20, (1, 10_000), "intervals that a pool is watched for before it is imported"),
    row(Tunable::ScanSuspendProgress, "zfs_scan_suspend_progress", 0, (0, 1), "1: scrubs, resilvers and rebuilds stand still"),
    row(Tunable::AsyncBlockMaxBlocks, "zfs_async_block_max_blocks", u64::MAX, (1, u64::MAX), "blocks that a group frees of what was destroyed"),
    row(Tunable::LivelistMaxEntries, "zfs_livelist_max_entries", 100_000, (1, u64::MAX), "living blocks from which on a clone's list is full"),
    row(Tunable::LivelistMinPercentShared, "zfs_livelist_min_percent_shared", 75, (0, 100), "percent that a clone must share with its origin to keep lists"),
    row(Tunable::TrimExtentBytesMin, "zfs_trim_extent_bytes_min", 32 << 10, ANY, "bytes below which free space is not worth trimming"),
    row(Tunable::TrimTxgBatch, "zfs_trim_txg_batch", 32, (1, 1 << 20), "groups whose freed space is trimmed together"),
    row(Tunable::InitializeValue, "zfs_initialize_value", 0xdead_beef_dead_beee, ANY, "what free space is initialized with"),
    row(Tunable::VdevMinMsCount, "zfs_vdev_min_ms_count", 16, (16, 1 << 17), "metaslabs that a new vdev has at least"),
    row(Tunable::VdevMaxAutoAshift, "zfs_vdev_max_auto_ashift", 14, (9, 16), "largest sector that a new vdev takes by itself, as a power of two"),
    row(Tunable::L2arcWriteMax, "l2arc_write_max", 32 << 20, (1, u64::MAX), "bytes that a cache device is given in a round"),
    row(Tunable::L2arcWriteBoost, "l2arc_write_boost", 32 << 20, ANY, "so many more while the cache in memory has not been full yet"),
    row(Tunable::L2arcMfuonly, "l2arc_mfuonly", 0, (0, 2), "1: cache devices are given only what was used again; 2: and metadata"),
    row(Tunable::L2arcRebuildEnabled, "l2arc_rebuild_enabled", 1, (0, 1), "0: what a cache device holds is not looked for at import"),
    row(Tunable::L2arcRebuildBlocksMinL2size, "l2arc_rebuild_blocks_min_l2size", 1 << 30, ANY, "bytes below which a cache device keeps no record of what it holds"),
    row(Tunable::MetaslabForceGanging, "metaslab_force_ganging", NEVER, (512, u64::MAX), "bytes from which on blocks are broken into gangs"),
    row(Tunable::AdminSnapshot, "zfs_admin_snapshot", 0, (0, 1), "1: snapshots are made, renamed and destroyed in .zfs/snapshot, too"),
    row(Tunable::DiscardMemoryLimit, "zfs_spa_discard_memory_limit", 16 << 20, ANY, "bytes of memory for what a group gives back of a discarded checkpoint"),
    row(Tunable::InitializeChunkSize, "zfs_initialize_chunk_size", 1 << 20, (512, 16 << 20), "bytes that an initialization writes at once"),
    row(Tunable::MaxDatasetNesting, "zfs_max_dataset_nesting", 50, (1, 127), "levels that the name of a dataset has at the most"),
    row(Tunable::DefaultCompression, "default_compression", 1, (0, 1), "0: what sets no compression is not compressed, as before OpenZFS 2.2"),
];

const COUNT: usize = Tunable::DefaultCompression as usize + 1;

/// What all of them are set to; clones share it.
#[derive(Clone)]
pub struct Tunables(Arc<[AtomicU64; COUNT]>);

impl Default for Tunables {
    fn default() -> Tunables {
        Tunables(Arc::new(std::array::from_fn(|index| AtomicU64::new(TUNABLES[index].default))))
    }
}

impl Tunables {
    pub fn get(&self, tunable: Tunable) -> u64 {
        self.0[tunable as usize].load(Ordering::Relaxed)
    }

    /// `false` outside of the range, and nothing is changed.
    pub fn set(&self, tunable: Tunable, value: u64) -> bool {
        let info = &TUNABLES[tunable as usize];
        let fits = (info.min..=info.max).contains(&value);
        if fits {
            self.0[tunable as usize].store(value, Ordering::Relaxed);
        }
        fits
    }
}

impl Tunable {
    /// By OpenZFS's name.
    pub fn named(name: &str) -> Option<Tunable> {
        TUNABLES.iter().find(|info| info.name == name).map(|info| info.tunable)
    }
}

#[cfg(test)]
mod tests;
