use std::time::Duration;

use stdx::trail::Trail;

use super::*;

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
    assert!(drill_down.see(seen, Instant::now()));
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

#[test]
fn it_ends_by_itself_and_keeps_what_it_has() {
    let drill_down = drill_down(&[Dimension::Client], 60);
    show(&drill_down, &seen(1, 1_000, 1));
    let later = Instant::now() + Duration::from_secs(61);
    assert!(!drill_down.see(&seen(1, 1_000, 1), later), "its time is over");
    drill_down.stop();
    assert!(!drill_down.see(&seen(1, 1_000, 1), Instant::now()));
    assert_eq!(drill_down.found(0).total.operations, 1);
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
