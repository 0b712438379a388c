use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use api_types::{Protocol, ServedBy};
use stdx::trail::{self, Source, Span, Trail};

use super::*;

fn client() -> Arc<str> {
    "192.0.2.1".into()
}

fn begin(observer: &Arc<Observer>) -> Option<Box<Live>> {
    observer.begin((Protocol::Nfs, || "READ"), &client(), None)
}

fn ring(observer: &Observer, filter: Filter, room: usize) -> Arc<Ring> {
    let ring = Arc::new(Ring::new(filter, room));
    observer.show(&ring);
    ring
}

const NOW: Duration = Duration::ZERO;
const ROOM: usize = 1 << 20;

#[test]
fn nothing_is_made_where_nobody_looks_and_who_has_gone_is_forgotten() {
    let observer = Arc::new(Observer::default());
    let operation = || -> &'static str { panic!("nobody looks") };
    assert!(observer.begin((Protocol::Nfs, operation), &client(), None).is_none());
    let first = ring(&observer, Filter::default(), ROOM);
    let second = ring(&observer, Filter::default(), ROOM);
    drop(begin(&observer));
    drop(first);
    drop(begin(&observer));
    assert_eq!(second.take(10, NOW).seen.len(), 2);
    drop(second);
    // The first request after he has gone finds that out.
    drop(begin(&observer));
    assert!(begin(&observer).is_none());
}

#[test]
fn stages_are_the_whole_time_and_each_is_what_was_waited_for() {
    const STEP: Duration = Duration::from_millis(20);
    let observer = Arc::new(Observer::default());
    let ring = ring(&observer, Filter::default(), ROOM);
    let start = Instant::now();
    let now = move || start.elapsed().as_nanos() as u64;
    let mut live = begin(&observer);
    thread::sleep(STEP);
    working(&mut live, || {
        thread::sleep(STEP);
        trail::during(Span::Engine, now, || {
            thread::sleep(STEP);
            trail::during(Span::Disk, now, || thread::sleep(STEP));
        });
    });
    Live::waits_for_log(&mut live);
    thread::sleep(STEP);
    Live::keeping(&mut live, || trail::during(Span::Group, now, || thread::sleep(STEP)));
    thread::sleep(STEP);
    drop(live);
    let whole = start.elapsed().as_nanos() as u64;
    let seen = ring.take(1, NOW).seen.remove(0);
    assert!(seen.took() <= whole && seen.took() >= 7 * STEP.as_nanos() as u64);
    assert_eq!(seen.times().each().iter().map(|(_, time)| time).sum::<u64>(), seen.took());
    // Each has been waited for once, and what is a part of another is taken from it.
    for (stage, time) in seen.times().each() {
        assert!(time >= 20_000_000, "{stage} {time}");
        assert!(time < 20_000_000 + (whole - 7 * 20_000_000) + 1_000_000, "{stage} {time} counts twice");
    }
    assert_eq!(seen.served_by(), Some(ServedBy::Disk));
}

#[test]
fn who_takes_slowly_has_what_there_is_room_for_and_is_told_how_many_are_missing() {
    let observer = Arc::new(Observer::default());
    let room = 10 * size_of::<Seen>();
    let ring = ring(&observer, Filter::default(), room);
    (0..100).for_each(|_| drop(begin(&observer)));
    assert!(ring.bytes() <= room);
    let first = ring.take(4, NOW);
    assert_eq!((first.seen.len(), first.lost), (4, 0));
    // What comes behind those that are missing is not put before them.
    drop(begin(&observer));
    let rest = ring.take(100, NOW);
    assert_eq!((rest.seen.len(), rest.lost), (6, 91));
    drop(begin(&observer));
    let after = ring.take(100, NOW);
    assert_eq!((after.seen.len(), after.lost, ring.bytes()), (1, 0, 0));
}

#[test]
fn who_waits_is_told_at_once_and_waits_no_longer_than_he_said() {
    let observer = Arc::new(Observer::default());
    let ring = ring(&observer, Filter::default(), ROOM);
    let begun = Instant::now();
    assert!(ring.take(1, Duration::from_millis(50)).seen.is_empty());
    assert!(begun.elapsed() >= Duration::from_millis(50));
    let waiting = {
        let ring = ring.clone();
        thread::spawn(move || ring.take(1, Duration::from_secs(60)).seen.len())
    };
    while !waiting.is_finished() {
        drop(begin(&observer));
    }
    assert_eq!(waiting.join().expect("no panic"), 1);
}

#[test]
fn every_part_of_a_filter_takes_what_it_says_and_nothing_else() {
    let mut blocks = [0; trail::SOURCES];
    blocks[Source::Cache as usize] = 1;
    let trail = Trail {
        dataset: Some((1, 2)),
        object: Some(9),
        user: Some(1000),
        offset: Some(8192),
        bytes: 4096,
        blocks,
        slowest: Some(trail::Waited { vdev: 77, nanos: 5 }),
        ..Trail::default()
    };
    let seen = Seen {
        time: 0,
        protocol: Protocol::Nfs,
        client: client(),
        operation: "WRITE",
        account: None,
        trail,
        stages: [1_000, 0, 2_000, 0, 0, 0, 0],
    };
    let any = Filter::default();
    let text = |text: &str| Some(text.to_owned());
    let takes = [
        Filter { protocol: Some(Protocol::Nfs), ..any.clone() },
        Filter { client: text("192.0.2.1"), ..any.clone() },
        Filter { user: text("1000"), ..any.clone() },
        Filter { dataset: Some((1, 2)), object: Some(9), ..any.clone() },
        Filter { operation: text("write"), ..any.clone() },
        Filter { offset: (Some(12_287), None), ..any.clone() },
        Filter { offset: (None, Some(8_193)), ..any.clone() },
        Filter { bytes: (Some(4_096), Some(4_096)), ..any.clone() },
        Filter { took: (Some(3_000), Some(3_000)), ..any.clone() },
        Filter { served: Some(ServedBy::Cache), ..any.clone() },
        Filter { device: Some((1, 77)), ..any.clone() },
        any.clone(),
    ];
    let leaves = [
        Filter { protocol: Some(Protocol::Iscsi), ..any.clone() },
        Filter { client: text("192.0.2.10"), ..any.clone() },
        Filter { user: text("0"), ..any.clone() },
        Filter { dataset: Some((1, 3)), ..any.clone() },
        Filter { object: Some(8), ..any.clone() },
        Filter { operation: text("read"), ..any.clone() },
        Filter { offset: (Some(12_288), None), ..any.clone() },
        Filter { offset: (None, Some(8_192)), ..any.clone() },
        Filter { bytes: (Some(4_097), None), ..any.clone() },
        Filter { took: (None, Some(2_999)), ..any.clone() },
        Filter { served: Some(ServedBy::Disk), ..any.clone() },
        Filter { device: Some((1, 78)), ..any.clone() },
        Filter { device: Some((2, 77)), ..any },
    ];
    for (number, filter) in takes.iter().enumerate() {
        assert!(filter.takes(&seen), "{number}");
    }
    for (number, filter) in leaves.iter().enumerate() {
        assert!(!filter.takes(&seen), "{number}");
    }
}

#[test]
fn a_drill_down_alone_has_no_stages_taken_and_a_trace_is_shown_none_that_had_begun_before() {
    let observer = Arc::new(Observer::default());
    let end = Instant::now() + Duration::from_secs(60);
    let drill_down = DrillDown::new(&[api_types::Dimension::Served], Filter::default(), end);
    observer.show(&drill_down);
    let is_staged = || {
        let mut live = begin(&observer);
        working(&mut live, || {
            let mut is_staged = None;
            trail::note(|trail| is_staged = Some(trail.is_staged));
            is_staged
        })
    };
    assert_eq!(is_staged(), Some(false));
    let before = begin(&observer);
    let ring = ring(&observer, Filter::default(), ROOM);
    drop(before);
    assert_eq!((is_staged(), ring.take(10, NOW).seen.len()), (Some(true), 1));
    drop(ring);
    // The first request after he has gone finds that out.
    assert_eq!((is_staged(), is_staged()), (Some(true), Some(false)));

    // What was waited for is known nevertheless.
    let mut live = begin(&observer);
    Live::keeping(&mut live, || thread::sleep(Duration::from_millis(1)));
    drop(live);
    let found = drill_down.found(0);
    let served = |place: &Place| (place.key[0] == Value::Served(ServedBy::Log)).then_some(place.sum);
    let log: Vec<Sum> = found.places.iter().filter_map(served).collect();
    assert_eq!((found.total.operations, log.len(), log[0].operations), (6, 1, 1));
    assert!(log[0].time >= 1_000_000);
}
