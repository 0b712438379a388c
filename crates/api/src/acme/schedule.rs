//! When an authority is asked.
//!
//! Invariants: between two tries there is [`SHORTEST`] or more. After a failure it is at most
//! [`LONGEST`] to the next one, whatever the clock or the authority said.

use api_types::CertificateInfo;

/// Seconds between two tries, at the least and at the most.
pub const SHORTEST: i64 = 60;
pub const LONGEST: i64 = 12 * 60 * 60;

/// Seconds from try number `tries`, which failed, to the next: they double from a minute on. Up to
/// half as many come to them, so that not all who failed at one moment come back at one moment.
pub fn pause(tries: u32, random: u64) -> i64 {
    let doublings = tries.saturating_sub(1).min(16);
    let least = (SHORTEST << doublings).min(LONGEST / 3 * 2);
    least + below(least / 2 + 1, random)
}

/// When a certificate is renewed: when two thirds of its time are over. Up to a fiftieth of it is
/// left away.
pub fn renewal(info: &CertificateInfo, now: i64, random: u64) -> i64 {
    let time = info.not_after.saturating_sub(info.not_before).max(0);
    let at = info.not_before.saturating_add(time / 3 * 2).saturating_sub(below(time / 50 + 1, random));
    at.max(now.saturating_add(SHORTEST))
}

/// When a try is due that was to be at `next`, of which so many have failed. A clock that was wrong
/// when that was computed puts it off by [`LONGEST`] at the most.
pub fn due(next: i64, tries: u32, now: i64) -> i64 {
    match tries {
        0 => next,
        _ => next.min(now.saturating_add(LONGEST)),
    }
}

/// A number from 0 to below `bound`, which is above 0.
fn below(bound: i64, random: u64) -> i64 {
    (random % bound.unsigned_abs()).cast_signed()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn pauses_double_from_a_minute_to_twelve_hours_and_differ() {
        let mut last = 0;
        for tries in 1..40 {
            let least = pause(tries, 0);
            assert!(least >= last && (SHORTEST..=LONGEST).contains(&least), "{tries}: {least}");
            let all: HashSet<i64> = (0..2_000).map(|n| pause(tries, n * 7_919)).collect();
            assert!(all.len() > 30 && all.iter().all(|it| (least..=least / 2 * 3).contains(it)), "{tries}");
            last = least;
        }
        assert_eq!((pause(0, 0), pause(1, 0), pause(2, 0), pause(3, 0)), (60, 60, 120, 240));
        assert_eq!((pause(u32::MAX, 0), pause(u32::MAX, 14_400)), (28_800, LONGEST));
    }

    #[test]
    fn a_certificate_is_renewed_when_two_thirds_of_its_time_are_over() {
        let info = |not_before, not_after| CertificateInfo {
            fingerprint: String::new(),
            names: Vec::new(),
            not_before,
            not_after,
            issuer: String::new(),
            self_signed: false,
        };
        let (start, day) = (1_800_000_000, 86_400);
        let quarter = info(start, start + 90 * day);
        assert_eq!(renewal(&quarter, start, 0), start + 60 * day);
        assert!((0..1_000).all(|n| {
            let at = renewal(&quarter, start, n * 104_729);
            (start + 58 * day..=start + 60 * day).contains(&at)
        }));
        // Never again at once, whatever the authority gives.
        for odd in [info(start, start + 3), info(start, start - 9), info(0, 1), info(i64::MIN, i64::MAX)] {
            assert!(renewal(&odd, start, 5) >= start + SHORTEST, "{odd:?}");
        }
    }

    #[test]
    fn a_clock_that_was_wrong_puts_nothing_off_for_long() {
        let now = 1_800_000_000;
        assert_eq!(due(now + 900, 3, now), now + 900);
        assert_eq!(due(now + 900_000_000, 3, now), now + LONGEST);
        assert_eq!(due(now + 5_000_000, 0, now), now + 5_000_000);
    }
}
