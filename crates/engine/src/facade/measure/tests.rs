use storage::arc::Traffic;

use super::*;

fn of(counts: &Counts, name: &str) -> u64 {
    counts.iter().find(|(known, _)| *known == name).unwrap_or_else(|| panic!("{name} is told")).1
}

#[test]
fn what_the_cache_holds_adds_up() {
    let stats = Stats {
        hits: Traffic { demand_data: 7, demand_metadata: 5, prefetch_data: 3, prefetch_metadata: 2 },
        misses: 4,
        mru_bytes: 1000,
        mru_metadata_bytes: 400,
        mfu_bytes: 500,
        mfu_metadata_bytes: 100,
        overhead_bytes: 70,
        limit: 4096,
        lent: 96,
        target: 1024,
        ..Stats::default()
    };
    let counts = cache_counts(&stats, 2430, 1);
    assert_eq!(of(&counts, "hits"), 17);
    assert_eq!(of(&counts, "size"), 1570);
    assert_eq!(of(&counts, "data_size") + of(&counts, "metadata_size") + of(&counts, "hdr_size"), 1570);
    assert_eq!(of(&counts, "c"), 4000);
    assert_eq!(of(&counts, "mru_data"), 600);
    assert_eq!(of(&counts, "mfu_metadata"), 100);
    assert_eq!(of(&counts, "pd"), WHOLE / 4);
    assert_eq!(of(&counts, "l2_ndev"), 1);
}

#[test]
fn each_name_is_told_once() {
    for counts in [cache_counts(&Stats::default(), 0, 0), log_counts(&ZilStats::default())] {
        for (n, (name, _)) in counts.iter().enumerate() {
            assert!(counts[n + 1..].iter().all(|(other, _)| other != name), "{name}");
        }
    }
}

#[test]
fn logs_are_told_by_where_their_blocks_lie() {
    let stats = ZilStats::default();
    stats.commits.add(3);
    stats.slog.bytes.add(512);
    stats.normal.written.add(4096);
    let counts = log_counts(&stats);
    assert_eq!(of(&counts, "zil_commit_count"), 3);
    assert_eq!(of(&counts, "zil_itx_metaslab_slog_bytes"), 512);
    assert_eq!(of(&counts, "zil_itx_metaslab_normal_write"), 4096);
    assert_eq!(of(&counts, "zil_itx_metaslab_slog_write"), 0);
}

#[test]
fn histograms_keep_what_is_beyond_their_last_bucket() {
    let mut counts = [0; 64];
    (counts[0], counts[36], counts[40]) = (1, 2, 4);
    let folded = folded(&counts, LATENCY_BUCKETS);
    assert_eq!(folded.len(), 37);
    assert_eq!((folded[0], folded[36]), (1, 6));
}
