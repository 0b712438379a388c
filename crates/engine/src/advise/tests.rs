use super::rehearsal::{Load, Played, Scene};
use super::*;

fn waited(count: u64, each: Nanos, between: Nanos) -> Waited {
    let total = Nanos(count * each.0);
    Waited { count, total, busy: total, between: Nanos(count * between.0), gaps: count, ..Waited::default() }
}

/// A lone writer on a disk: 8.4 ms a commit, 8.3 of them the flush, 0.1 between.
fn lone_writer() -> LogSeen {
    let bursts = 1000.0;
    let (nanos, write, flush) = (8.4e6 * bursts, 50e3 * bursts, 8.3e6 * bursts);
    let place = Place { bursts, bytes: 4296.0 * bursts, nanos, write, flush };
    LogSeen {
        waits: waited(1000, Nanos::from_micros(8400), Nanos::from_micros(100)),
        main: place,
        records: bursts,
        writes: bursts,
        processors: 2,
        ..LogSeen::default()
    }
}

/// Says what it was told to, and keeps what was to be played.
#[derive(Debug)]
struct Told {
    before: Played,
    after: Played,
    scenes: std::sync::Mutex<Vec<Scene>>,
}

impl Told {
    fn new(before: Played, after: Played) -> Told {
        Told { before, after, scenes: std::sync::Mutex::default() }
    }
}

impl Stage for Told {
    fn play(&self, scene: &Scene) -> Option<Played> {
        let mut scenes = env::lock(&self.scenes);
        scenes.push(*scene);
        Some(if scenes.len() == 1 { self.before } else { self.after })
    }
}

fn figure(finding: &engine_api::Finding, name: &str) -> f64 {
    *finding.figures.get(name).unwrap_or_else(|| panic!("{name}"))
}

#[test]
fn a_lone_writer_gets_what_the_log_device_takes_off_its_wait() {
    let finding = log::advise(
        &lone_writer(),
        &AdviceQuestion { log_latency: Some(20_000), ..Default::default() },
        None,
    );
    // 50 µs of our own, 20 of the device's, 100 between.
    assert!((figure(&finding, "predicted_commits_per_second") - 1e6 / 170.0).abs() < 1.0, "{finding:?}");
    assert!((figure(&finding, "predicted_commit_wait_nanos") - 70_000.0).abs() < 100.0);
    assert!((figure(&finding, "main_flush_percent") - 98.8).abs() < 0.1);
    assert!(finding.text.contains("20.0 µs a block"), "{}", finding.text);
}

#[test]
fn nobody_says_how_fast_so_two_typical_devices_are_told() {
    let finding = log::advise(&lone_writer(), &AdviceQuestion::default(), None);
    assert!(figure(&finding, "ram_commit_factor") > figure(&finding, "ssd_commit_factor"));
    assert!(finding.text.contains("SSD") && finding.text.contains("RAM"), "{}", finding.text);
}

#[test]
fn what_was_rehearsed_takes_the_place_of_what_was_counted_beside_a_disk() {
    let (before, after) = (Played { rest: 140e3, work: 200e3 }, Played { rest: 30e3, work: 50e3 });
    let (question, seen) =
        (AdviceQuestion { log_latency: Some(20_000), ..Default::default() }, lone_writer());
    let stage = Told::new(before, after);
    let finding = log::advise(&seen, &question, Some(&stage));
    assert!((figure(&finding, "predicted_commits_per_second") - 1e6 / 50.0).abs() < 1.0, "{finding:?}");
    let scene = |device| Scene {
        load: Load::Write { bytes: 4096 },
        callers: 1,
        device: Nanos::from_micros(device),
        in_turn: false,
    };
    assert_eq!(*env::lock(&stage.scenes), [scene(8350), scene(20)]);
    let files = LogSeen { records: 2.0 * seen.records, ..seen };
    let stage = Told::new(before, after);
    log::advise(&files, &question, Some(&stage));
    assert_eq!(env::lock(&stage.scenes)[0].load, Load::SmallFile { bytes: 4096 });
    // Callers who are far away stay so: of their 650 µs, 175 may be what was rehearsed.
    let far = LogSeen { waits: waited(1000, Nanos::from_micros(8400), Nanos::from_micros(600)), ..seen };
    let finding = log::advise(&far, &question, Some(&Told::new(before, after)));
    assert!((figure(&finding, "predicted_commits_per_second") - 1e6 / 525.0).abs() < 1.0, "{finding:?}");
}

#[test]
fn processors_limit_what_a_device_can_do() {
    let mut seen = lone_writer();
    seen.waits.work = Nanos::from_millis(2000); // 2 ms each on two processors: 1,000 a second if they never rest
    let question = AdviceQuestion { log_latency: Some(1000), ..Default::default() };
    let finding = log::advise(&seen, &question, None);
    assert!((figure(&finding, "predicted_commits_per_second") - 850.0).abs() < 1.0, "{finding:?}");
    assert!(finding.text.contains("processors"), "{}", finding.text);
    // Of that, the rehearsal says, nine tenths are for waking processors.
    let (before, after) = (Played { rest: 150e3, work: 1e6 }, Played { rest: 150e3, work: 1e5 });
    let finding = log::advise(&seen, &question, Some(&Told::new(before, after)));
    assert!((figure(&finding, "predicted_commits_per_second") - 1e6 / 151.0).abs() < 1.0, "{finding:?}");
}

#[test]
fn waiting_for_groups_is_not_a_log_devices_business() {
    let mut seen = lone_writer();
    seen.group = seen.waits;
    let finding = log::advise(&seen, &AdviceQuestion::default(), None);
    assert!((figure(&finding, "ram_commit_factor") - 1.0).abs() < 0.01, "{finding:?}");
    assert!(finding.text.contains("next to nothing"), "{}", finding.text);
}

#[test]
fn too_little_seen_is_said() {
    let finding = log::advise(&LogSeen::default(), &AdviceQuestion::default(), None);
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
        in_memory: 0.2,
        memory: stats.limit as f64,
        full: true,
        waits: waited(stats.misses, Nanos::from_micros(8400), Nanos::from_micros(30)),
        mean_read: 8192.0,
        has_devices: false,
        device_hits: 0.0,
        device_misses: 0.0,
        processors: 2,
    }
}

#[test]
fn a_larger_cache_answers_as_much_more_as_it_is_larger() {
    let seen = even_reads();
    let question =
        AdviceQuestion { memory: Some(128 << 20), cache_size: Some(512 << 20), ..Default::default() };
    let findings = cache::advise(&seen, &question, None);
    let (now, then) = (figure(&findings[0], "hit_percent"), figure(&findings[0], "predicted_hit_percent"));
    // The last tenth of requests were for blocks never read before; otherwise hits grow with the
    // size.
    assert!((now - 19.0).abs() < 4.0, "{now}");
    assert!((then - now - 18.0).abs() < 4.0, "{now} {then}");
    assert!(figure(&findings[1], "predicted_device_hit_percent") > 75.0, "{findings:?}");
    assert!(figure(&findings[1], "predicted_device_read_factor") > 3.0, "{findings:?}");
}

#[test]
fn a_curve_rises_and_says_the_same_as_the_sentence() {
    let seen = even_reads();
    let question = AdviceQuestion {
        memory: Some(2 * seen.memory as u64),
        cache_size: Some(4 * seen.memory as u64),
        ..AdviceQuestion::default()
    };
    let findings = cache::advise(&seen, &question, None);
    let at = |finding: usize, times: f64| {
        let curve = &findings[finding].curve;
        assert!(curve.windows(2).all(|two| two[0].bytes < two[1].bytes), "{curve:?}");
        assert!(curve.windows(2).all(|two| two[0].hit_percent <= two[1].hit_percent), "{curve:?}");
        *curve.iter().find(|point| point.bytes == times * seen.memory).expect("that size")
    };
    assert!((at(0, 1.0).hit_percent - figure(&findings[0], "hit_percent")).abs() < 1e-6);
    assert_eq!(at(0, 0.5).read_factor, None, "less memory answers no more");
    let more = at(0, 2.0);
    assert!((more.hit_percent - figure(&findings[0], "predicted_hit_percent")).abs() < 1e-6);
    assert_eq!(more.read_factor, Some(figure(&findings[0], "predicted_read_factor")));
    let device = at(1, 4.0);
    assert!((device.hit_percent - figure(&findings[1], "predicted_device_hit_percent")).abs() < 1e-6);
    assert_eq!(device.read_factor, Some(figure(&findings[1], "predicted_device_read_factor")));
}

#[test]
fn a_cache_that_was_never_full_is_large_enough() {
    let findings =
        cache::advise(&CacheSeen { full: false, ..even_reads() }, &AdviceQuestion::default(), None);
    assert!(findings.iter().all(|found| found.text.starts_with("Nothing would change")), "{findings:?}");
}
