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
    assert_eq!((seen.busy, seen.between, seen.most), (ms(24), ms(4), 1));
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
fn a_pause_is_nobodys_time() {
    let waits = Waits::default();
    for begin in [5_000, 9_000] {
        waits.begin(ms(begin));
        waits.end(ms(begin), ms(begin + 1));
    }
    assert_eq!(waits.snapshot().span(), ms(2));
    assert_eq!(Waits::default().snapshot().mean(), ms(0));
}
