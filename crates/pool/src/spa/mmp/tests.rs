use super::*;

const PACE: Pace = Pace { interval: Nanos::from_millis(1000), fails: 10, imports: 20 };

fn uberblock(fields: Fields, delay: u64) -> Uberblock {
    let mut uberblock = Uberblock::new(5000);
    uberblock.set_mmp(fields, delay);
    uberblock
}

#[test]
fn a_pool_is_watched_for_longer_than_its_user_may_be_silent() {
    let second = 1_000_000_000;
    let of = |interval_ms, fail_intervals| Fields { interval_ms, sequence: Some(1), fail_intervals };
    for (fields, delay, seconds) in [
        (of(Some(1000), Some(10)), second, 20),
        (of(Some(500), Some(4)), second, 4),
        (of(Some(1000), Some(0)), second, 40),
        (of(Some(1000), Some(0)), 10 * second, 220),
        (of(None, None), second / 100, 20),
        (of(None, None), 10 * second, 220),
    ] {
        let found = duration(PACE, &uberblock(fields, delay)).0 / second;
        assert_eq!(found, seconds, "{fields:?} {delay}");
    }
}

/// The settings are a stranger's: nothing overflows, and nobody is watched for longer than anybody
/// can have meant.
#[test]
fn no_settings_make_a_watch_endless() {
    let of = |interval_ms, fail_intervals| Fields { interval_ms, sequence: Some(1), fail_intervals };
    for fields in [of(Some(0xff_ffff), Some(u16::MAX)), of(Some(0xff_ffff), Some(0)), of(None, None)] {
        for delay in [1 << 63, u64::MAX] {
            assert!(duration(PACE, &uberblock(fields, delay)) > WATCH_MAX, "{fields:?} {delay}");
        }
    }
    let usual = of(Some(1000), Some(10));
    assert!(duration(PACE, &uberblock(usual, u64::MAX)) < WATCH_MAX, "the delay does not count there");
}

#[test]
fn the_delay_rises_at_once_and_falls_slowly() {
    let mut state = State { delay: PACE.interval.0, ..State::default() };
    state.note_write(PACE, Nanos::from_secs(5), 2);
    assert_eq!(state.delay, 5_000_000_000);
    state.note_write(PACE, Nanos::from_millis(5100), 2);
    assert!(state.delay < 5_000_000_000 && state.delay > 4_900_000_000, "{}", state.delay);
    for n in 0..10_000 {
        state.note_write(PACE, Nanos::from_millis(5200 + 100 * n), 2);
    }
    assert_eq!(state.delay, PACE.interval.0 / 2, "never less than the writer alone would take");
}
