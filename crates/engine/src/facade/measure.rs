//! What the layers below count, under the names that OpenZFS has for it.
//!
//! Names and meanings: module/zfs/arc.c (`arc_stats`), module/zfs/zil.c (`zil_stats`),
//! module/zfs/vdev.c (`vdev_get_stats_ex`), include/sys/fs/zfs.h.

use ::pool::spa::status::VdevReport;
use ::pool::zil::ZilStats;
use engine_api::{Counts, VdevTallies};
use storage::Tally;
use storage::arc::{L2Stats, Stats};

/// Shares are told in parts of this (`arc_meta`, `arc_pd` and `arc_pm` of arc.c).
const WHOLE: u64 = 1 << 32;

/// The kstat `arcstats`. `room` is what the cache could still take, `devices` the number of cache
/// devices.
pub fn cache_counts(stats: &Stats, room: u64, devices: u64) -> Counts {
    let Stats { hits, missed, ahead, l2, .. } = stats;
    let bytes = stats.mru_bytes + stats.mfu_bytes;
    let metadata = stats.mru_metadata_bytes + stats.mfu_metadata_bytes;
    let share = (u128::from(stats.target) * u128::from(WHOLE) / u128::from(stats.limit.max(1))) as u64;
    let mut counts = vec![
        ("hits", hits.total()),
        ("misses", stats.misses),
        ("mru_hits", stats.mru_hits),
        ("mfu_hits", stats.mfu_hits),
        ("mru_ghost_hits", stats.mru_ghost_hits),
        ("mfu_ghost_hits", stats.mfu_ghost_hits),
        ("deleted", stats.evicted),
        ("evict_l2_cached", stats.evicted_l2_cached),
        ("evict_l2_eligible", stats.evicted_l2_eligible_mfu + stats.evicted_l2_eligible_mru),
        ("evict_l2_eligible_mfu", stats.evicted_l2_eligible_mfu),
        ("evict_l2_eligible_mru", stats.evicted_l2_eligible_mru),
        ("evict_l2_ineligible", stats.evicted_l2_ineligible),
        ("size", stats.bytes()),
        ("c", stats.limit.saturating_sub(stats.lent)),
        ("c_max", stats.limit),
        // Metadata may have three quarters; the MRU list has the same share of both.
        ("meta", WHOLE / 4 * 3),
        ("pd", share),
        ("pm", share),
        ("compressed_size", bytes),
        ("hdr_size", stats.overhead_bytes),
        ("l2_hdr_size", l2.header_bytes),
        ("data_size", bytes - metadata),
        ("metadata_size", metadata),
        // What is not on disk yet belongs to no list.
        ("anon_size", stats.lent),
        ("anon_data", stats.lent),
        ("memory_free_bytes", room),
        ("memory_available_bytes", room),
        ("demand_data_hits", hits.demand_data),
        ("demand_metadata_hits", hits.demand_metadata),
        ("prefetch_data_hits", hits.prefetch_data),
        ("prefetch_metadata_hits", hits.prefetch_metadata),
        ("demand_data_misses", missed.demand_data),
        ("demand_metadata_misses", missed.demand_metadata),
        ("prefetch_data_misses", missed.prefetch_data),
        ("prefetch_metadata_misses", missed.prefetch_metadata),
        // Nothing is pinned in memory: all of it can be evicted.
        ("mru_size", stats.mru_bytes),
        ("mru_data", stats.mru_bytes - stats.mru_metadata_bytes),
        ("mru_metadata", stats.mru_metadata_bytes),
        ("mru_evictable_data", stats.mru_bytes - stats.mru_metadata_bytes),
        ("mru_evictable_metadata", stats.mru_metadata_bytes),
        ("mfu_size", stats.mfu_bytes),
        ("mfu_data", stats.mfu_bytes - stats.mfu_metadata_bytes),
        ("mfu_metadata", stats.mfu_metadata_bytes),
        ("mfu_evictable_data", stats.mfu_bytes - stats.mfu_metadata_bytes),
        ("mfu_evictable_metadata", stats.mfu_metadata_bytes),
        ("mru_ghost_size", stats.mru_ghost_bytes),
        ("mru_ghost_data", stats.mru_ghost_bytes - stats.mru_ghost_metadata_bytes),
        ("mru_ghost_metadata", stats.mru_ghost_metadata_bytes),
        ("mfu_ghost_size", stats.mfu_ghost_bytes),
        ("mfu_ghost_data", stats.mfu_ghost_bytes - stats.mfu_ghost_metadata_bytes),
        ("mfu_ghost_metadata", stats.mfu_ghost_metadata_bytes),
        ("zfetch_hits", ahead.hits),
        ("zfetch_misses", ahead.misses),
        ("zfetch_max_streams", ahead.max_streams),
        ("zfetch_io_issued", ahead.issued),
        ("zfetch_io_active", ahead.active),
    ];
    counts.extend(level2(l2, devices));
    counts
}

fn level2(l2: &L2Stats, devices: u64) -> [(&'static str, u64); 21] {
    [
        ("l2_ndev", devices),
        ("l2_hits", l2.hits),
        ("l2_misses", l2.misses),
        ("l2_read_bytes", l2.read_bytes),
        ("l2_write_bytes", l2.write_bytes),
        ("l2_feeds", l2.feeds),
        ("l2_writes_error", l2.write_errors),
        ("l2_io_error", l2.read_errors),
        ("l2_cksum_bad", l2.checksum_errors),
        ("l2_size", l2.size),
        ("l2_asize", l2.asize),
        ("l2_prefetch_asize", l2.prefetch_asize),
        ("l2_mru_asize", l2.mru_asize),
        ("l2_mfu_asize", l2.mfu_asize),
        ("l2_bufc_data_asize", l2.data_asize),
        ("l2_bufc_metadata_asize", l2.metadata_asize),
        ("l2_log_blk_writes", l2.log_writes),
        ("l2_log_blk_count", l2.log_count),
        ("l2_rebuild_success", l2.rebuild_ok),
        ("l2_rebuild_bufs", l2.rebuild_blocks),
        ("l2_rebuild_log_blks", l2.rebuild_logs),
    ]
}

/// The kstat `zil`.
pub fn log_counts(stats: &ZilStats) -> Counts {
    let ZilStats { normal, slog, .. } = stats;
    vec![
        ("zil_commit_count", stats.commits.get()),
        ("zil_commit_writer_count", stats.blocks.get()),
        // What could not be logged waited for its group.
        ("zil_commit_stall_count", stats.fell_back.get()),
        ("zil_itx_count", stats.records.get()),
        ("zil_itx_indirect_count", stats.indirect.get()),
        ("zil_itx_indirect_bytes", stats.indirect_bytes.get()),
        ("zil_itx_copied_count", stats.copied.get()),
        ("zil_itx_copied_bytes", stats.copied_bytes.get()),
        ("zil_itx_needcopy_count", stats.fetched.get()),
        ("zil_itx_needcopy_bytes", stats.fetched_bytes.get()),
        ("zil_itx_metaslab_normal_count", normal.count.get()),
        ("zil_itx_metaslab_normal_bytes", normal.bytes.get()),
        ("zil_itx_metaslab_normal_write", normal.written.get()),
        ("zil_itx_metaslab_normal_alloc", normal.allocated.get()),
        ("zil_itx_metaslab_slog_count", slog.count.get()),
        ("zil_itx_metaslab_slog_bytes", slog.bytes.get()),
        ("zil_itx_metaslab_slog_write", slog.written.get()),
        ("zil_itx_metaslab_slog_alloc", slog.allocated.get()),
    ]
}

/// Buckets of latency and of request size (`VDEV_L_HISTO_BUCKETS`, `VDEV_RQ_HISTO_BUCKETS`).
const LATENCY_BUCKETS: usize = 37;
const SIZE_BUCKETS: usize = 25;

/// By kind of I/O, in the order of [`Tally`]: names of waiting in the queue, of sizes alone and
/// joined, of what waits and what is on the disk.
const KINDS: [[&str; 5]; 6] = [
    [
        "vdev_sync_r_lat_histo",
        "vdev_sync_ind_r_histo",
        "vdev_sync_agg_r_histo",
        "vdev_sync_r_pend_queue",
        "vdev_sync_r_active_queue",
    ],
    [
        "vdev_sync_w_lat_histo",
        "vdev_sync_ind_w_histo",
        "vdev_sync_agg_w_histo",
        "vdev_sync_w_pend_queue",
        "vdev_sync_w_active_queue",
    ],
    [
        "vdev_async_r_lat_histo",
        "vdev_async_ind_r_histo",
        "vdev_async_agg_r_histo",
        "vdev_async_r_pend_queue",
        "vdev_async_r_active_queue",
    ],
    [
        "vdev_async_w_lat_histo",
        "vdev_async_ind_w_histo",
        "vdev_async_agg_w_histo",
        "vdev_async_w_pend_queue",
        "vdev_async_w_active_queue",
    ],
    [
        "vdev_scrub_histo",
        "vdev_ind_scrub_histo",
        "vdev_agg_scrub_histo",
        "vdev_async_scrub_pend_queue",
        "vdev_async_scrub_active_queue",
    ],
    [
        "vdev_trim_histo",
        "vdev_ind_trim_histo",
        "vdev_agg_trim_histo",
        "vdev_async_trim_pend_queue",
        "vdev_async_trim_active_queue",
    ],
];

/// Of a vdev and all below it.
pub fn vdev_tallies(report: &VdevReport, into: &mut Vec<VdevTallies>) {
    let io = &report.stat.io;
    let Tally { total, queued, alone, joined, waiting, active } = &*io.tally;
    let latency = |counts: &[u64; 64]| folded(counts, LATENCY_BUCKETS);
    let size = |counts: &[u64; 64]| folded(counts, SIZE_BUCKETS);
    let mut tallies = vec![
        ("vdev_tot_r_lat_histo", latency(&total[0])),
        ("vdev_tot_w_lat_histo", latency(&total[1])),
        ("vdev_disk_r_lat_histo", latency(&io.read_latency)),
        ("vdev_disk_w_lat_histo", latency(&io.write_latency)),
    ];
    for (kind, [wait, single, several, pending, busy]) in KINDS.into_iter().enumerate() {
        tallies.extend([
            (wait, latency(&queued[kind])),
            (single, size(&alone[kind])),
            (several, size(&joined[kind])),
            (pending, vec![waiting[kind]]),
            (busy, vec![active[kind]]),
        ]);
    }
    let tallies = tallies.into_iter().map(|(name, counts)| (name.to_owned(), counts)).collect();
    into.push(VdevTallies { guid: report.stat.guid, tallies });
    report.children.iter().for_each(|child| vdev_tallies(child, into));
}

/// The last bucket takes what is beyond.
fn folded(counts: &[u64; 64], buckets: usize) -> Vec<u64> {
    let (head, tail) = counts.split_at(buckets);
    let mut folded = head.to_vec();
    folded[buckets - 1] += tail.iter().sum::<u64>();
    folded
}

#[cfg(test)]
mod tests;
