use super::*;

fn ms(n: u64) -> Nanos {
    Nanos::from_millis(n)
}

#[test]
fn a_lone_caller_is_busy_and_thinks_between() {
    let waits = Waits::default();
    for round in 0..3 {
        waits.begin(ms(10 * round));
        waits.end(ms(10 * round), ms(10 * round + 8));
    }
    let seen = waits.snapshot();
    assert_eq!((seen.count, seen.total, seen.mean()), (3, ms(24), ms(8)));
    assert_eq!((seen.busy, seen.gaps, seen.most), (ms(24), 2, 1));
    // Two gaps of 2 ms, to a twelfth.
    assert!((seen.between.0 as f64 / 4e6 - 1.0).abs() < 0.09, "{seen:?}");
}

#[test]
fn several_callers_are_busy_once() {
    let waits = Waits::default();
    waits.begin(ms(0));
    waits.begin(ms(4));
    waits.end(ms(0), ms(10));
    waits.end(ms(4), ms(12));
    let seen = waits.snapshot();
    assert_eq!((seen.total, seen.busy, seen.between, seen.most), (ms(18), ms(12), ms(0), 2));
    assert_eq!(seen.span(), ms(12));
}

#[test]
fn one_long_gap_is_an_accident() {
    let waits = Waits::default();
    let mut now = 0;
    for gap in [1, 1, 90, 1, 1] {
        waits.begin(ms(now));
        waits.end(ms(now), ms(now + 1));
        now += 1 + gap;
    }
    waits.begin(ms(now));
    assert!(waits.snapshot().between < ms(6), "{:?}", waits.snapshot());
}

#[test]
fn a_pause_is_nobodys_time() {
    let waits = Waits::default();
    for begin in [5_000, 9_000] {
        waits.begin(ms(begin));
        waits.end(ms(begin), ms(begin + 1));
    }
    assert_eq!(waits.snapshot().span(), ms(2));
    assert_eq!(Waits::default().snapshot().mean(), ms(0));
}
