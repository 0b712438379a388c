use super::*;

#[test]
fn time_before_the_epoch_counts_forward() {
    assert_eq!(before_epoch(Duration::new(2, 0)), WallTime { secs: -2, nanos: 0 });
    assert_eq!(before_epoch(Duration::new(0, 1)), WallTime { secs: -1, nanos: 999_999_999 });
    assert_eq!(before_epoch(Duration::new(1, 250)), WallTime { secs: -2, nanos: 999_999_750 });
}

#[test]
fn spans_saturate() {
    assert_eq!(Nanos(3).since(Nanos(5)), Nanos(0));
    assert_eq!(Nanos::MAX + Nanos(1), Nanos::MAX);
    assert_eq!(Nanos::from_millis(2).since(Nanos::from_micros(1)), Nanos(1_999_000));
}

#[test]
fn real_clock_moves_on() {
    let clock = RealClock::new();
    let before = clock.now();
    clock.sleep(Nanos::from_millis(2));
    assert!(clock.now().since(before) >= Nanos::from_millis(2));
    assert!(clock.wall().secs > 1_600_000_000);
}

#[test]
fn short_sleeps_are_no_shorter_than_asked() {
    let clock = RealClock::new();
    for micros in [1, 20, 29, 30, 200] {
        let before = clock.now();
        clock.sleep(Nanos::from_micros(micros));
        assert!(clock.now().since(before) >= Nanos::from_micros(micros), "{micros}");
    }
}
