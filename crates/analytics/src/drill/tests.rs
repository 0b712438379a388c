use std::time::Duration;

use api_types::Protocol;
use stdx::trail::Trail;

use super::*;
use crate::key::Value;
use crate::places::{COARSE, FINE, PLACES, ROOM};
use crate::sums::{BUCKETS, begin_of};

/// A request of a file that ended in this second after so many microseconds.
fn seen(file: u64, second: u64, micros: u64) -> Seen {
    let trail = Trail { dataset: Some((1, 2)), object: Some(file), bytes: 100, ..Trail::default() };
    let mut stages = [0; crate::STAGES];
    stages[0] = micros * 1_000;
    let time = second * 1_000_000 - micros.min(second * 1_000_000);
    let client = "192.0.2.1".into();
    Seen { time, protocol: Protocol::Nfs, client, operation: "READ", account: None, trail, stages }
}

fn drill_down(by: &[Dimension], seconds: u64) -> DrillDown {
    DrillDown::new(by, Filter::default(), Instant::now() + Duration::from_secs(seconds))
}

fn show(drill_down: &DrillDown, seen: &Seen) {
    show_in(drill_down, 0, seen);
}

fn show_in(drill_down: &DrillDown, lane: usize, seen: &Seen) {
    assert!(sees(drill_down, lane, seen, Instant::now()));
}

fn sees(drill_down: &DrillDown, lane: usize, seen: &Seen, now: Instant) -> bool {
    drill_down.of_lane(lane).upgrade().is_some_and(|look| look.see(seen, now))
}

fn files(found: &Found) -> Vec<(u64, u64, u64)> {
    let of = |place: &Place| match place.key[0] {
        Value::File(_, file) => (file, place.sum.operations, place.missing),
        _ => panic!("{place:?} is no file"),
    };
    found.places.iter().map(of).collect()
}

/// What all rows have together, and that their cells are no more than that.
fn of_rows(found: &Found) -> Sum {
    let mut sum = Sum::default();
    for row in &found.rows {
        let mut rest = row.total;
        row.cells.iter().for_each(|(_, cell)| rest = rest.less(cell));
        let latencies: u64 = row.latencies.iter().map(|(_, count)| u64::from(*count)).sum();
        assert_eq!(latencies, row.total.operations);
        sum.add(&row.total);
    }
    sum
}

#[test]
fn what_is_told_apart_is_exact_where_there_are_places_for_all() {
    let drill_down = drill_down(&[Dimension::File, Dimension::Latency], 60);
    for second in 1_000..1_010 {
        show(&drill_down, &seen(7, second, 3));
        show(&drill_down, &seen(7, second, 300));
        show(&drill_down, &seen(8, second, 3));
    }
    let found = drill_down.found(0);
    assert_eq!(found.places.len(), 3);
    assert!(found.places.iter().all(|place| place.sum.operations == 10 && place.missing == 0));
    let slow: Vec<&Place> = found.places.iter().filter(|place| place.key[1] == Value::AtLeast(256)).collect();
    assert_eq!((slow.len(), slow[0].sum.time), (1, 3_000_000));
    assert_eq!((found.rows.len(), found.total), (10, of_rows(&found)));
    assert_eq!(found.total, Sum { operations: 30, bytes: 3_000, time: 3_060_000 });
    assert_eq!(drill_down.found(1_008).rows.len(), 2, "only what ends later is asked for");
}

#[test]
fn the_heavy_have_places_however_many_light_ones_come_and_totals_stay_exact() {
    let drill_down = drill_down(&[Dimension::File], 60);
    let mut light = 1_000;
    for round in 0..2_000 {
        // Two heavy files among thousands that are asked for once.
        show(&drill_down, &seen(1, 5_000 + round / 100, 10));
        show(&drill_down, &seen(2, 5_000 + round / 100, 10));
        for _ in 0..3 {
            light += 1;
            show(&drill_down, &seen(light, 5_000 + round / 100, 10));
        }
    }
    let found = drill_down.found(0);
    assert_eq!(found.places.len(), PLACES);
    assert_eq!((found.total.operations, of_rows(&found)), (10_000, found.total));
    let files = files(&found);
    let heavy: Vec<u64> = files[..2].iter().map(|(file, ..)| *file).collect();
    assert!(heavy.contains(&1) && heavy.contains(&2), "{files:?}");
    for (file, counted, missing) in files {
        let true_count = if file <= 2 { 2_000 } else { 1 };
        assert!(counted <= true_count && true_count <= counted + missing, "{file}: {counted} and {missing}");
    }
    // Also within one second a row has no more cells than there are places.
    assert!(found.rows.iter().all(|row| row.cells.len() <= PLACES));
}

#[test]
fn seconds_become_minutes_and_memory_has_a_bound() {
    let drill_down = drill_down(&[Dimension::File], 60);
    // A day, with as many files as have places.
    let seconds = 86_400;
    for second in 0..seconds {
        for file in 0..4 {
            show(&drill_down, &seen(file + second / 600 * 4 % 64, 1_000_000 + second, 1 << (second % 20)));
        }
    }
    let found = drill_down.found(0);
    assert_eq!(found.total.operations, 4 * seconds);
    let fine = found.rows.iter().filter(|row| row.seconds == 1).count();
    assert!(fine > FINE - 2 * COARSE as usize && fine <= FINE + 1, "{fine} seconds");
    assert!(found.rows.windows(2).all(|two| two[0].second + two[0].seconds <= two[1].second));
    assert!(drill_down.cost().bytes <= ROOM + (1 << 16), "{:?}", drill_down.cost());
    assert_eq!(of_rows(&found), found.total, "nothing was to be forgotten for that");

    // With rows that are as large as they can be, minutes are made earlier, and the bound holds.
    let drill_down = self::drill_down(&[Dimension::File], 60);
    for second in 0..4_000 {
        for file in 0..64 {
            show(&drill_down, &seen(file, 1_000_000 + second, 10));
        }
    }
    let found = drill_down.found(0);
    assert!(drill_down.cost().bytes <= ROOM + (1 << 16), "{:?}", drill_down.cost());
    assert_eq!((found.total.operations, of_rows(&found)), (64 * 4_000, found.total));
    assert!(found.rows.iter().filter(|row| row.seconds == 1).count() > 1_000);
}

#[test]
fn a_clock_that_is_set_back_loses_nothing() {
    let drill_down = drill_down(&[Dimension::Protocol], 60);
    for second in [1_000, 2_000, 500, 501, 2_000, 2_001] {
        show(&drill_down, &seen(1, second, 1));
    }
    let found = drill_down.found(0);
    let rows: Vec<(u64, u64)> = found.rows.iter().map(|row| (row.second, row.total.operations)).collect();
    assert_eq!(rows, [(1_000, 1), (2_000, 4), (2_001, 1)]);
}

/// Rows follow each other, and none overlaps another.
fn are_in_order(found: &Found) -> bool {
    found.rows.windows(2).all(|two| two[0].second + two[0].seconds <= two[1].second)
}

#[test]
fn what_a_lane_kept_for_long_is_merged_into_the_time_that_it_is_of() {
    let drill_down = drill_down(&[Dimension::File], 60);
    // Lanes that nobody reads, and that have nothing to do later.
    show_in(&drill_down, 1, &seen(1, 60_000, 1));
    show_in(&drill_down, 2, &seen(2, 60_003, 1));
    show_in(&drill_down, 3, &seen(3, 60_130, 1));
    for second in (60_200..60_200 + 2 * FINE as u64).filter(|second| second % 7 > 0) {
        show(&drill_down, &seen(9, second, 1));
    }
    // The hours that have passed are minutes already.
    show_in(&drill_down, 1, &seen(1, 70_000, 1));
    let found = drill_down.found(0);
    assert_eq!((of_rows(&found), are_in_order(&found)), (found.total, true));
    let rows: Vec<(u64, u64, u64)> =
        found.rows[..3].iter().map(|row| (row.second, row.seconds, row.total.operations)).collect();
    assert_eq!(rows[..2], [(60_000, 60, 2), (60_120, 60, 1)]);
    assert_eq!(found.rows.iter().filter(|row| row.second >= 70_000).count(), 1);

    // A second that another lane has passed, and which is one by itself still.
    let drill_down = self::drill_down(&[Dimension::File], 60);
    show_in(&drill_down, 1, &seen(1, 1_000, 1));
    show_in(&drill_down, 2, &seen(1, 1_001, 1));
    show_in(&drill_down, 2, &seen(1, 1_002, 1));
    show_in(&drill_down, 2, &seen(1, 1_003, 1));
    let found = drill_down.found(0);
    let rows: Vec<(u64, u64)> = found.rows.iter().map(|row| (row.second, row.total.operations)).collect();
    assert_eq!(rows, [(1_000, 1), (1_001, 1), (1_002, 1), (1_003, 1)]);
}

#[test]
fn sums_are_exact_at_any_time_while_threads_of_all_lanes_note_and_others_read() {
    const THREADS: u64 = 4;
    const EACH: u64 = 20_000;
    let drill_down = drill_down(&[Dimension::File], 600);
    let noted: Vec<AtomicU64> = (0..THREADS).map(|_| AtomicU64::new(0)).collect();
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (drill_down, noted) = (&drill_down, &noted);
            scope.spawn(move || {
                for number in 0..EACH {
                    // Two threads in a lane; hundreds of files, of which one is heavy.
                    let file = if number % 2 == 0 { 1 } else { number % 301 };
                    show_in(drill_down, thread as usize / 2, &seen(file, 5_000 + number / 1_000, 10));
                    noted[thread as usize].store(number + 1, Relaxed);
                }
            });
        }
        for _ in 0..2 {
            scope.spawn(|| {
                let all = || noted.iter().map(|noted| noted.load(Relaxed)).sum::<u64>();
                while all() < THREADS * EACH {
                    let before = all();
                    let found = drill_down.found(0);
                    assert!(found.total.operations >= before && of_rows(&found) == found.total);
                    let places = found.places.iter().map(|place| place.sum.operations).sum::<u64>();
                    assert!(places <= found.total.operations && are_in_order(&found));
                    assert!(found.rows.iter().all(|row| row.cells.len() <= PLACES));
                }
            });
        }
    });
    let found = drill_down.found(0);
    assert_eq!((found.total.operations, of_rows(&found)), (THREADS * EACH, found.total));
    let (file, counted, missing) = files(&found)[0];
    let true_count =
        THREADS * (EACH / 2 + (1..EACH).step_by(2).filter(|number| number % 301 == 1).count() as u64);
    assert!(file == 1 && counted <= true_count && true_count <= counted + missing, "{counted} and {missing}");
    assert_eq!(drill_down.cost().requests, THREADS * EACH);
}

#[test]
fn a_dataset_has_all_of_its_files_also_those_without_a_place() {
    let drill_down = drill_down(&[Dimension::Operation, Dimension::File], 60);
    let of = |dataset: u64, file: u64| {
        let mut seen = seen(file, 7_000 + file / 100, 10);
        seen.trail.dataset = Some((1, dataset));
        seen
    };
    for file in 0..1_000 {
        show(&drill_down, &of(5, file));
        show_in(&drill_down, 3, &of(6, 1));
    }
    // A volume is its only file.
    let mut volume = of(7, 1);
    volume.trail.object = None;
    show(&drill_down, &volume);
    let found = drill_down.found(0);
    let sums: Vec<(&Value, u64, u64)> =
        found.datasets.iter().map(|place| (&place.key[0], place.sum.operations, place.missing)).collect();
    let dataset = |number: u64| Value::Dataset((1, number));
    assert_eq!(sums.len(), 3);
    assert!(sums[..2].contains(&(&dataset(5), 1_000, 0)) && sums[..2].contains(&(&dataset(6), 1_000, 0)));
    assert_eq!(sums[2], (&dataset(7), 1, 0));
    assert_eq!(found.datasets.iter().map(|place| place.sum.operations).sum::<u64>(), found.total.operations);
    // What files of it have is no more than it has.
    for place in &found.datasets {
        let files = found
            .places
            .iter()
            .filter(|file| matches!(&file.key[1], Value::File(of, _) if Value::Dataset(*of) == place.key[0]));
        let mut rest = place.sum;
        files.for_each(|file| rest = rest.less(&file.sum));
    }
    let by_client = self::drill_down(&[Dimension::Client], 60);
    show(&by_client, &of(5, 1));
    assert!(by_client.found(0).datasets.is_empty(), "files are not told apart");
}

#[test]
fn it_ends_by_itself_and_keeps_what_it_has() {
    let drill_down = drill_down(&[Dimension::Client], 60);
    show(&drill_down, &seen(1, 1_000, 1));
    let later = Instant::now() + Duration::from_secs(61);
    assert!(!sees(&drill_down, 0, &seen(1, 1_000, 1), later), "its time is over");
    drill_down.extend(later + Duration::from_secs(1));
    assert!(sees(&drill_down, 0, &seen(1, 1_000, 1), later) && drill_down.end() > later);
    drill_down.extend(later);
    assert!(!drill_down.is_over(later), "nothing makes its time shorter");
    drill_down.stop();
    assert!(!sees(&drill_down, 0, &seen(1, 1_000, 1), Instant::now()));
    assert_eq!(drill_down.found(0).total.operations, 2);
}

#[test]
fn buckets_of_latency_are_two_for_each_doubling() {
    for (micros, begin) in
        [(0, 1), (1, 1), (2, 2), (3, 3), (5, 4), (6, 6), (7, 6), (1_500, 1_024), (1_600, 1_536)]
    {
        assert_eq!(begin_of(bucket(micros * 1_000).into()), begin * 1_000, "{micros}");
    }
    assert_eq!(usize::from(bucket(u64::MAX)), BUCKETS - 1);
}
