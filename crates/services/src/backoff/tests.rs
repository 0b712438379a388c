use api_types::FailureClass;
use stdx::prng::Prng;

use super::{Backoff, CAP};

#[test]
fn waits_double_up_to_the_cap_and_are_shortened_by_chance() {
    let mut random = Prng::new(3);
    let (mut backoff, mut now) = (None, 1_000_000);
    for failures in 1..40 {
        let next = Backoff::after(backoff, FailureClass::Retriable, now, &mut random);
        let longest = (60_u64 << (failures - 1).min(10)).min(CAP);
        let wait = next.until.abs_diff(now);
        assert_eq!(next.failures, failures);
        assert!((longest / 2..=longest).contains(&wait), "{failures}: {wait}");
        assert!(!next.may_try(now) && !next.may_try(next.until - 1) && next.may_try(next.until));
        (backoff, now) = (Some(next), next.until);
    }
}

#[test]
fn a_clock_that_goes_back_makes_nobody_wait_for_years() {
    let failed = Backoff::after(None, FailureClass::Retriable, 4_070_908_800, &mut Prng::new(1));
    assert!(failed.may_try(1_764_320_000));
}

#[test]
fn what_needs_a_person_is_never_tried_again_by_itself() {
    for class in [FailureClass::NeedsPerson, FailureClass::Fatal] {
        let failed = Backoff::after(None, class, 0, &mut Prng::new(1));
        assert!(!failed.may_try(0) && !failed.may_try(i64::MAX));
    }
}
