use env::Nanos;
use env::metric::Waited;

use super::*;

fn waited(count: u64, each: Nanos, between: Nanos) -> Waited {
    let total = Nanos(count * each.0);
    Waited { count, total, busy: total, between: Nanos(count * between.0), gaps: count, most: 1 }
}

/// Two processors, which this much work was done on, and whose waking costs nothing.
fn machine(processor: Nanos) -> Machine {
    Machine { processors: 2, costs: WakeCosts::default(), used: Usage { processor, sleeps: 0 } }
}

/// A lone writer on a disk: 8.4 ms a commit, 8.3 of them the flush, 0.1 between.
fn lone_writer() -> LogSeen {
    let bursts = 1000.0;
    let place = Place { bursts, nanos: 8.4e6 * bursts, write: 50e3 * bursts, flush: 8.3e6 * bursts };
    LogSeen {
        waits: waited(1000, Nanos::from_micros(8400), Nanos::from_micros(100)),
        main: place,
        machine: machine(Nanos::from_micros(90_000)),
        ..LogSeen::default()
    }
}

fn figure(finding: &engine_api::Finding, name: &str) -> f64 {
    finding.figures.iter().find(|(known, _)| *known == name).unwrap_or_else(|| panic!("{name}")).1
}

#[test]
fn a_lone_writer_gets_what_the_log_device_takes_off_its_wait() {
    let finding =
        log::advise(&lone_writer(), &AdviceQuestion { log_latency: Some(20_000), ..Default::default() });
    // 50 µs of our own, 20 of the device's, 100 between.
    assert!((figure(&finding, "predicted_commits_per_second") - 1e6 / 170.0).abs() < 1.0, "{finding:?}");
    assert!((figure(&finding, "predicted_commit_wait_nanos") - 70_000.0).abs() < 100.0);
    assert!((figure(&finding, "main_flush_percent") - 98.8).abs() < 0.1);
    assert!(finding.text.contains("20.0 µs a block"), "{}", finding.text);
}

#[test]
fn nobody_says_how_fast_so_two_typical_devices_are_told() {
    let finding = log::advise(&lone_writer(), &AdviceQuestion::default());
    assert!(figure(&finding, "ram_commit_factor") > figure(&finding, "ssd_commit_factor"));
    assert!(finding.text.contains("SSD") && finding.text.contains("RAM"), "{}", finding.text);
}

#[test]
fn who_waits_less_pays_less_for_waking() {
    let rests = [0, 100, 1_000, 10_000, 100_000].map(Nanos::from_micros);
    let cost = |rest: Nanos| if rest.0 < 1_000_000 { 0.0 } else { 30_000.0 };
    let dear = WakeCosts::new(rests.map(|rest| (rest, WakeCost { latency: cost(rest), work: cost(rest) })));
    let mut seen = lone_writer();
    seen.machine.costs = dear;
    let finding = log::advise(&seen, &AdviceQuestion { log_latency: Some(20_000), ..Default::default() });
    // As a lone writer's 170 µs, less what waking two threads cost.
    let rate = figure(&finding, "predicted_commits_per_second");
    assert!((rate - 1e6 / 110.0).abs() < 100.0, "{finding:?}");
    // Where processors are the limit, it is the work for waking that matters.
    let used = Usage { processor: Nanos::from_millis(400), sleeps: 4_000 };
    seen.machine = Machine { processors: 2, costs: dear, used };
    let finding = log::advise(&seen, &AdviceQuestion { log_latency: Some(1_000), ..Default::default() });
    let rate = figure(&finding, "predicted_commits_per_second");
    assert!((rate - 1.7e6 / 280.0).abs() < 50.0, "{finding:?}");
}

#[test]
fn processors_limit_what_a_device_can_do() {
    let mut seen = lone_writer();
    seen.machine = machine(Nanos::from_millis(2000)); // 2 ms each on two processors: 1,000 a second if they never rest
    let finding = log::advise(&seen, &AdviceQuestion { log_latency: Some(1000), ..Default::default() });
    assert!((figure(&finding, "predicted_commits_per_second") - 850.0).abs() < 1.0, "{finding:?}");
    assert!(finding.text.contains("processors"), "{}", finding.text);
}

#[test]
fn waiting_for_groups_is_not_a_log_devices_business() {
    let mut seen = lone_writer();
    seen.group = seen.waits;
    let finding = log::advise(&seen, &AdviceQuestion::default());
    assert!((figure(&finding, "ram_commit_factor") - 1.0).abs() < 0.01, "{finding:?}");
    assert!(finding.text.contains("next to nothing"), "{}", finding.text);
}

#[test]
fn too_little_seen_is_said() {
    let finding = log::advise(&LogSeen::default(), &AdviceQuestion::default());
    assert!(finding.text.starts_with("No data yet") && finding.figures.is_empty());
}

/// Blocks of 8 KiB, of which 40,000 are asked for evenly through a cache that holds a quarter.
fn even_reads() -> CacheSeen {
    const BLOCKS: u64 = 40_000;
    let cache = storage::arc::Cache::new(64 << 20);
    let block = std::sync::Arc::new(storage::Block::zeroed(8192));
    let mut random = stdx::prng::Prng::new(5);
    for _ in 0..300_000 {
        let offset = random.below(BLOCKS) << 13;
        let key = storage::arc::Key { pool: 1, vdev: 0, offset, birth: 4 };
        if cache.get(&key).is_none() {
            cache.insert(key, block.clone(), false);
        }
    }
    let stats = cache.stats();
    CacheSeen {
        curve: cache.hit_curve(),
        hits: stats.hits.total() as f64,
        misses: stats.misses as f64,
        memory: stats.limit as f64,
        full: true,
        waits: waited(stats.misses, Nanos::from_micros(8400), Nanos::from_micros(30)),
        mean_read: 8192.0,
        has_devices: false,
        device_hits: 0.0,
        device_misses: 0.0,
        machine: machine(Nanos::from_micros(100 * stats.misses)),
    }
}

#[test]
fn a_larger_cache_answers_as_much_more_as_it_is_larger() {
    let seen = even_reads();
    let question =
        AdviceQuestion { memory: Some(128 << 20), cache_size: Some(512 << 20), ..Default::default() };
    let findings = cache::advise(&seen, &question);
    let (now, then) = (figure(&findings[0], "hit_percent"), figure(&findings[0], "predicted_hit_percent"));
    // The last tenth of requests were for blocks never read before; otherwise hits grow with the size.
    assert!((now - 19.0).abs() < 4.0, "{now}");
    assert!((then - now - 18.0).abs() < 4.0, "{now} {then}");
    assert!(figure(&findings[1], "predicted_device_hit_percent") > 75.0, "{findings:?}");
    assert!(figure(&findings[1], "predicted_device_read_factor") > 3.0, "{findings:?}");
}

#[test]
fn a_cache_that_was_never_full_is_large_enough() {
    let findings = cache::advise(&CacheSeen { full: false, ..even_reads() }, &AdviceQuestion::default());
    assert!(findings.iter().all(|found| found.text.starts_with("Nothing would change")), "{findings:?}");
}
