//! What is counted, as tables: `zpool iostat`'s columns and histograms, `arcstat`, `zilstat`,
//! `advise`, `dedup-estimate`.

use super::fake::{self, FakeEngine};
use super::{Daemon, Ran, refused, said};
use cli::Io;
use engine_api::VdevTallies;

impl Daemon {
    pub fn own(&self, name: &str, line: &str) -> Ran {
        let args: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let client = self.client();
        let mut io =
            Io { out: &mut out, err: &mut err, colour: false, progress: false, asks: true, title: |_| () };
        let status = cli::run_own(name, &args, &client, &mut io).expect("a command of ours");
        let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
        Ran { status, out: text(out), err: text(err) }
    }
}

/// The captured pool, whose root took 8 ms for each of three reads and once wrote 8 KiB out of two
/// neighbours.
fn counted() -> Daemon {
    let pool = fake::captured();
    let guid = pool.status.lock().expect("unpoisoned").root.guid;
    let histogram = |buckets: usize, at: usize, count: u64| {
        let mut counts = vec![0; buckets];
        counts[at] = count;
        counts
    };
    let tallies = [
        ("vdev_tot_r_lat_histo", histogram(37, 22, 3)),
        ("vdev_disk_r_lat_histo", histogram(37, 22, 3)),
        ("vdev_sync_r_lat_histo", histogram(37, 10, 3)),
        ("vdev_async_agg_w_histo", histogram(25, 13, 2048)),
        ("vdev_async_w_pend_queue", vec![17]),
        ("vdev_async_w_active_queue", vec![2]),
    ];
    let tallies = tallies.into_iter().map(|(name, counts)| (name.to_owned(), counts)).collect();
    *pool.tallies.lock().expect("unpoisoned") = vec![VdevTallies { guid, tallies }];
    Daemon::start(FakeEngine::with(vec![pool]))
}

#[test]
fn iostat_with_latencies_and_queues() {
    let daemon = counted();
    let shown = daemon.zpool("iostat -lq");
    assert_eq!(shown.status, 0);
    let lines: Vec<&str> = shown.out.lines().collect();
    assert_eq!(
        lines[0],
        "              capacity     operations     bandwidth    total_wait     disk_wait    syncq_wait    asyncq_wait  \
         scrub   trim  rebuild   syncq_read    syncq_write   asyncq_read  asyncq_write   scrubq_read   trimq_write  \
         rebuildq_write"
    );
    assert!(lines[1].ends_with("  pend  activ   pend  activ   pend  activ"), "{}", lines[1]);
    assert_eq!(
        lines[3],
        "g_mirror2   28.4M  83.6M     10     2K     4K     3M    6ms      -    6ms      -    1us      -      -      -      \
         -      -      -      0      0      0      0      0      0     17      2      0      0      0      0      0      0"
    );
    let exact = daemon.zpool("iostat -Hpl").out;
    assert!(exact.contains("\t6291456\t-\t6291456\t-\t1536\t-\t"), "{exact}");
}

#[test]
fn iostat_histograms_are_tables() {
    let daemon = counted();
    let latency = daemon.zpool("iostat -w");
    let lines: Vec<&str> = latency.out.lines().collect();
    assert_eq!(lines.len(), 1 + 3 + 37 + 1);
    assert_eq!(lines[1], "g_mirror2    total_wait     disk_wait    syncq_wait    asyncq_wait");
    assert_eq!(
        lines[2],
        "latency      read  write   read  write   read  write   read  write  scrub   trim  rebuild"
    );
    assert!(lines.contains(
        &"8ms             3      0      3      0      0      0      0      0      0      0      0"
    ));
    assert!(lines.contains(
        &"2us             0      0      0      0      3      0      0      0      0      0      0"
    ));
    let sizes = daemon.zpool("iostat -rp");
    assert!(
        sizes.out.lines().any(|line| line
            == "8K              0      0      0      0      0      0      0   2048      0      0      0      0      0      0"),
        "{}",
        sizes.out
    );
    assert_eq!(
        daemon.zpool("iostat -Hrp").out.lines().nth(2),
        Some("512\t0\t0\t0\t0\t0\t0\t0\t0\t0\t0\t0\t0\t0\t0")
    );
    for line in ["iostat -wr", "iostat -wl", "iostat -rq"] {
        assert_eq!(daemon.zpool(line).status, 2, "{line}");
    }
}

#[test]
fn iostat_as_json() {
    let shown = counted().zpool("iostat -vj");
    let json: serde_json::Value = serde_json::from_str(&shown.out).expect("JSON");
    let pool = &json["pools"]["g_mirror2"];
    assert_eq!(pool["vdev_async_w_pend_queue"][0], 17);
    assert_eq!(pool["vdev_tot_r_lat_histo"][22], 3);
    assert_eq!(pool["read_ops"], 10);
    assert!(pool["vdevs"]["mirror-0"]["vdevs"].is_object(), "{json}");
}

#[test]
fn arcstat_shows_columns_numbers_and_json() {
    let daemon = counted();
    *daemon.engine.cache_counts.lock().expect("unpoisoned") = vec![
        ("hits", 1500),
        ("misses", 500),
        ("demand_data_hits", 90),
        ("demand_data_misses", 10),
        ("size", 1_610_612_736),
        ("c", 4 << 30),
    ];
    let shown = daemon.own("arcstat", "");
    let lines: Vec<&str> = shown.out.lines().collect();
    assert_eq!(lines[0], "    time  read  ddread  ddh%  dmread  dmh%  pread  ph%   size      c  avail");
    assert_eq!(&lines[1][8..], "    2K     100    90       0     0      0    0   1.5G     4G      0");
    assert_eq!(
        daemon.own("arcstat", "-p -f hits,hit%,size").out,
        "hits  hit%  size\n1500.0  75.0  1610612736\n"
    );
    assert_eq!(daemon.own("arcstat", "-j -f miss,c").out, "{\"miss\":\"500.0\",\"c\":\"4294967296\"}\n");
    assert!(daemon.own("arcstat", "-v").err.contains("\n      miss% : ARC miss percentage\n"));
    for line in ["-f nothing", "-x -z", "-f l2hits", "-h", "x"] {
        assert_eq!(daemon.own("arcstat", line).status, 1, "{line}");
    }
    let file = daemon.folder.join("log");
    assert_eq!(daemon.own("arcstat", &format!("-a -o {}", file.display())), said(""));
    assert_eq!(std::fs::read_to_string(file).expect("it was written").lines().count(), 2);
}

#[test]
fn zilstat_shows_columns_numbers_and_json() {
    let daemon = counted();
    assert_eq!(
        daemon.own("zilstat", "-p g_mirror2 -f ds,cc,ic,icb,te%"),
        said("          ds     cc     ic    icb  te%  \n   g_mirror2   1.5K     12   2.0K  100  \n")
    );
    assert_eq!(daemon.own("zilstat", "-j -f cc,idb").out, "{\"cc\":\"1500\",\"idb\":\"2048\"}\n");
    assert_eq!(daemon.own("zilstat", "-a").out.lines().count(), 2);
    assert!(daemon.own("zilstat", "-d g_mirror2/a,g_mirror2/b -f pool").out.contains("g_mirror2"));
    assert_eq!(daemon.own("zilstat", "-a -p tank").status, 2);
    assert_eq!(daemon.own("zilstat", "-f nothing").status, 1);
    assert_eq!(daemon.own("zilstat", "-p tank"), refused("no such pool: tank"));
}

#[test]
fn advise_prints_sentences_and_json() {
    let daemon = counted();
    assert_eq!(
        daemon.own("advise", ""),
        said("pool 'g_mirror2'\n\n  log:\n    A log device would not help.\n")
    );
    let json: serde_json::Value =
        serde_json::from_str(&daemon.own("advise", "g_mirror2 --json --log-latency 20us").out).expect("JSON");
    assert_eq!(json["pools"]["g_mirror2"]["log"]["log_latency_nanos"], "20000");
    assert_eq!(daemon.own("advise", "--log-latency soon").status, 2);
    assert_eq!(daemon.own("advise", "tank"), refused("no such pool: tank"));
    let empty = Daemon::start(FakeEngine::default());
    assert_eq!(empty.own("advise", ""), refused("no pools available"));
}

#[test]
fn dedup_estimate_prints_what_zdb_prints_and_a_verdict() {
    let daemon = counted();
    let text = daemon.own("dedup-estimate", "g_mirror2/tree").out;
    assert!(text.starts_with("Simulated DDT histogram:\n\nbucket "), "{text}");
    let end = "dedup = 1.01, compress = 2.00, copies = 1.00, dedup * compress / copies = 2.02\n\n\
               Deduplication of 'g_mirror2/tree' would not pay.\nEstimated from one block in 4.\n";
    assert!(text.ends_with(end), "{text}");
    let json: serde_json::Value =
        serde_json::from_str(&daemon.own("dedup-estimate", "--json g_mirror2").out).expect("JSON");
    assert_eq!(json["estimate"]["histogram"]["4"]["ref_blocks"], 12);
    assert_eq!(daemon.own("dedup-estimate", "").status, 2);
    assert_eq!(daemon.own("dedup-estimate", "tank"), refused("no such pool: tank"));
}

#[test]
fn kstats_have_the_text_of_the_module() {
    let daemon = counted();
    *daemon.engine.cache_counts.lock().expect("unpoisoned") = vec![("hits", 1500), ("c", 4 << 30)];
    assert_eq!(
        daemon.own("kstat", "arcstats").out,
        "0 1 0x01 2 96 0 0\n\
         name                            type data\n\
         c                               4    4294967296\n\
         hits                            4    1500\n"
    );
    assert_eq!(daemon.own("kstat", "g_mirror2/state").out, "ONLINE\n");
    assert!(daemon.own("kstat", "").out.contains("g_mirror2/zil\n"));
    for name in ["nothing", "g_mirror2/nothing", "nowhere/state", "arcstats zil"] {
        assert_ne!(daemon.own("kstat", name).status, 0, "{name}");
    }
}
