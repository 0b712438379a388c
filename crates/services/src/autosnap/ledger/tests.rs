use crate::autosnap::testing::{MIDNIGHT, policy, properties, snapshot, view};
use crate::time::{OLDEST, Time};

use super::Ledger;

/// From when on snapshots age that were made one after another at these times. All of them are
/// counted from [`OLDEST`], but for 1 and 2.
fn effective(times: &[Time], now: Time) -> Vec<Time> {
    let real = |time: Time| if time > 2 { time + OLDEST } else { time };
    let made =
        times.iter().enumerate().map(|(at, time)| snapshot("hourly", at as u64 + 1, real(*time))).collect();
    let (policy, view) = (policy(&properties(24, 7)), view("tank/home", 9, made));
    Ledger::of(&policy, &view, real(now)).owned.iter().map(|it| it.effective - OLDEST).collect()
}

#[test]
fn a_clock_that_was_wrong_for_a_while_makes_nothing_older() {
    assert_eq!(effective(&[100, 200, 300], 400), [100, 200, 300]);
    // In 1970, and in 2099.
    assert_eq!(effective(&[100, 1, 2, 300], 400), [100, 300, 300, 300]);
    assert_eq!(effective(&[100, 9_999, 300], 400), [100, 300, 300]);
    // The newest ones: made now, as far as one knows.
    assert_eq!(effective(&[100, 9_999], 400), [100, 400]);
    assert_eq!(effective(&[100, 1], 400), [100, 400]);
    // From the first one on.
    assert_eq!(effective(&[1, 2, 300], 400), [300, 300, 300]);
    // A clock that was ahead, and its time has come since.
    assert_eq!(effective(&[100, 350, 200, 210, 360], 400), [100, 350, 360, 360, 360]);
}

#[test]
fn what_was_made_last_says_what_is_served() {
    let made = vec![snapshot("hourly", 1, 900), snapshot("hourly", 2, 300), snapshot("daily", 3, 500)];
    let (policy, view) = (policy(&properties(24, 7)), view("tank/home", 9, made));
    let newest = |now| Ledger::of(&policy, &view, now).newest_time(0, now);
    assert_eq!((newest(1_000), newest(400), newest(200)), (Some(300), Some(300), None));
}

#[test]
fn only_what_has_its_stamp_is_owned() {
    let mut other = snapshot("hourly", 1, MIDNIGHT);
    other.stamp.as_mut().expect("it has one").service = "auto-2".to_owned();
    let plain = crate::autosnap::view::Snapshot { stamp: None, ..snapshot("hourly", 2, MIDNIGHT) };
    let gone = snapshot("weekly", 3, MIDNIGHT);
    let (policy, view) = (policy(&properties(24, 7)), view("tank/home", 9, vec![other, plain, gone]));
    let ledger = Ledger::of(&policy, &view, MIDNIGHT);
    assert_eq!((ledger.owned.len(), ledger.others, ledger.owned[0].level), (1, 2, None));
}
