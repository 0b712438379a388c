use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::*;
use crate::WallTime;

/// A clock that stands where it is put. One of two processors is always at work.
#[derive(Default)]
struct Hands(AtomicU64);

impl Hands {
    fn begin(&self, waits: &Waits, at: u64) {
        self.0.store(ms(at).0, Relaxed);
        assert_eq!(waits.begin(self), ms(at));
    }

    fn end(&self, waits: &Waits, began: u64, at: u64) {
        self.0.store(ms(at).0, Relaxed);
        waits.end(ms(began), self);
    }
}

impl Clock for Hands {
    fn now(&self) -> Nanos {
        Nanos(self.0.load(Relaxed))
    }

    fn processor_time(&self) -> Nanos {
        self.now()
    }

    fn wall(&self) -> WallTime {
        WallTime::default()
    }

    fn sleep(&self, _span: Nanos) {}
}

fn ms(n: u64) -> Nanos {
    Nanos::from_millis(n)
}

#[test]
fn a_lone_caller_is_busy_and_thinks_between() {
    let (waits, clock) = (Waits::default(), Hands::default());
    for round in 0..3 {
        clock.begin(&waits, 10 * round);
        clock.end(&waits, 10 * round, 10 * round + 8);
    }
    let seen = waits.snapshot();
    assert_eq!((seen.count, seen.total, seen.mean()), (3, ms(24), ms(8)));
    assert_eq!((seen.busy, seen.gaps, seen.most), (ms(24), 2, 1));
    // Two gaps of 2 ms, to a twelfth.
    assert!((seen.between.0 as f64 / 4e6 - 1.0).abs() < 0.09, "{seen:?}");
}

#[test]
fn several_callers_are_busy_once() {
    let (waits, clock) = (Waits::default(), Hands::default());
    clock.begin(&waits, 0);
    clock.begin(&waits, 4);
    clock.end(&waits, 0, 10);
    clock.end(&waits, 4, 12);
    let seen = waits.snapshot();
    assert_eq!((seen.total, seen.busy, seen.between, seen.most), (ms(18), ms(12), ms(0), 2));
    assert_eq!((seen.span(), seen.work), (ms(12), ms(10)), "asked once");
}

#[test]
fn one_long_gap_is_an_accident() {
    let (waits, clock) = (Waits::default(), Hands::default());
    let mut now = 0;
    for gap in [1, 1, 90, 1, 1] {
        clock.begin(&waits, now);
        clock.end(&waits, now, now + 1);
        now += 1 + gap;
    }
    clock.begin(&waits, now);
    assert!(waits.snapshot().between < ms(6), "{:?}", waits.snapshot());
}

#[test]
fn a_pause_is_nobodys_time() {
    let (waits, clock) = (Waits::default(), Hands::default());
    for begin in [5_000, 9_000] {
        clock.begin(&waits, begin);
        clock.end(&waits, begin, begin + 20);
    }
    assert_eq!((waits.snapshot().span(), waits.snapshot().work), (ms(40), ms(40)));
    assert_eq!(Waits::default().snapshot().mean(), ms(0));
}
