use super::{Change, Facts, Stale, check};

const MADE: Facts = Facts { newest: None, since: 1_000, unchanged: false };

#[test]
fn a_fault_is_raised_once_and_cleared_once() {
    let mut fault = None;
    assert_eq!(check(MADE, 60, 1_060, &mut fault), None);
    let stale = Stale { since: 1_061, newest: None };
    assert_eq!(check(MADE, 60, 1_061, &mut fault), Some(Change::Raised(stale)));
    assert_eq!(check(MADE, 60, 2_000, &mut fault), None);
    // One that is too old already clears nothing.
    let old = Facts { newest: Some(1_500), ..MADE };
    assert_eq!(check(old, 60, 2_000, &mut fault), None);
    let fresh = Facts { newest: Some(1_990), ..MADE };
    assert_eq!(check(fresh, 60, 2_000, &mut fault), Some(Change::Cleared(stale)));
    assert_eq!(check(fresh, 60, 2_001, &mut fault), None);
}

#[test]
fn what_has_not_changed_is_never_stale() {
    let same = Facts { newest: Some(1_000), unchanged: true, ..MADE };
    assert_eq!(check(same, 60, i64::MAX, &mut None), None);
    // Without any snapshot it is.
    let none = Facts { unchanged: true, ..MADE };
    assert!(check(none, 60, 2_000, &mut None).is_some());
}

#[test]
fn times_and_limits_at_the_ends_of_their_range_are_no_trouble() {
    let mut fault = None;
    let future = Facts { newest: Some(i64::MAX), ..MADE };
    assert_eq!(check(future, u64::MAX, 0, &mut fault), None);
    let past = Facts { newest: Some(i64::MIN), ..MADE };
    assert!(check(past, 0, 0, &mut fault).is_some());
}
