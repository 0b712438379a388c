//! Waits, their ends, and who is not delayed by whom.

use super::*;

const HOME: &str = "192.0.2.1";
const ELSEWHERE: &str = "198.51.100.7";

fn fail(throttle: &Throttle, account: &str, address: &str, now: i64) -> Result<(), u64> {
    throttle.begin(account, address.parse().expect("an address"), now).map(drop)
}

fn succeed(throttle: &Throttle, account: &str, address: &str, now: i64) -> Result<(), u64> {
    let attempt = throttle.begin(account, address.parse().expect("an address"), now)?;
    throttle.succeeded(&attempt, now);
    Ok(())
}

#[test]
fn waits_begin_after_five_failures_and_double_up_to_fifteen_minutes() {
    let throttle = Throttle::default();
    let mut now = 1_000;
    for _ in 0..5 {
        assert_eq!(fail(&throttle, "ann", HOME, now), Ok(()));
    }
    for wait in [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900, 900] {
        assert_eq!(fail(&throttle, "ann", HOME, now), Err(wait));
        now += i64::try_from(wait).expect("small");
        assert_eq!(fail(&throttle, "ann", HOME, now), Ok(()));
    }
}

#[test]
fn accounts_and_places_are_each_counted() {
    let throttle = Throttle::default();
    for number in 0..5 {
        assert_eq!(fail(&throttle, "ann", &format!("192.0.2.{number}"), 0), Ok(()));
        assert_eq!(fail(&throttle, &format!("user{number}"), ELSEWHERE, 0), Ok(()));
    }
    assert_eq!(fail(&throttle, "ann", "203.0.113.9", 0), Err(1));
    assert_eq!(fail(&throttle, "bob", ELSEWHERE, 0), Err(1));
    assert_eq!(fail(&throttle, "bob", "203.0.113.9", 0), Ok(()));
}

#[test]
fn an_ipv6_network_is_one_place_and_a_mapped_address_is_ipv4() {
    assert_eq!(place("2001:db8:1:2::1"), place("2001:db8:1:2:ffff::"));
    assert_ne!(place("2001:db8:1:2::1"), place("2001:db8:1:3::1"));
    assert_eq!(place("::ffff:192.0.2.1"), place("192.0.2.1"));
    assert_ne!(place("::ffff:192.0.2.1"), place("::ffff:192.0.2.2"));
}

fn place(address: &str) -> Place {
    Place::of(address.parse().expect("an address"))
}

#[test]
fn whoever_was_logged_in_from_a_place_is_not_locked_out_by_strangers() {
    let throttle = Throttle::default();
    succeed(&throttle, "ann", HOME, 0).expect("nothing failed");
    for _ in 0..5 {
        assert_eq!(fail(&throttle, "ann", ELSEWHERE, 10), Ok(()));
    }
    assert_eq!(fail(&throttle, "ann", ELSEWHERE, 10), Err(1));
    assert_eq!(succeed(&throttle, "ann", HOME, 10), Ok(()));
    assert_eq!(fail(&throttle, "ann", ELSEWHERE, 10), Err(1), "the stranger gained by it");
    for _ in 0..5 {
        assert_eq!(fail(&throttle, "ann", HOME, 20), Ok(()));
    }
    assert_eq!(fail(&throttle, "ann", HOME, 20), Err(1), "the place itself is not free");
}

#[test]
fn a_success_ends_the_wait_of_the_account_but_not_that_of_the_place() {
    let throttle = Throttle::default();
    for _ in 0..5 {
        assert_eq!(fail(&throttle, "ann", HOME, 0), Ok(()));
    }
    assert_eq!(succeed(&throttle, "ann", HOME, 0), Err(1));
    assert_eq!(succeed(&throttle, "ann", HOME, 1), Ok(()));
    for _ in 0..5 {
        assert_eq!(fail(&throttle, "ann", HOME, 1), Ok(()));
    }
    let throttle = Throttle::default();
    for _ in 0..4 {
        assert_eq!(fail(&throttle, "victim", HOME, 0), Ok(()));
    }
    assert_eq!(succeed(&throttle, "mallory", HOME, 0), Ok(()));
    assert_eq!(fail(&throttle, "other", HOME, 0), Ok(()));
    assert_eq!(fail(&throttle, "another", HOME, 0), Err(1));
}

#[test]
fn what_was_not_judged_is_no_failure() {
    let throttle = Throttle::default();
    for _ in 0..20 {
        let attempt = throttle.begin("ann", HOME.parse().expect("an address"), 0).expect("nothing failed");
        throttle.take_back(&attempt);
    }
    assert_eq!(fail(&throttle, "ann", HOME, 0), Ok(()));
}

#[test]
fn an_hour_forgets_and_a_clock_set_back_does_not_lengthen() {
    let throttle = Throttle::default();
    for _ in 0..5 {
        assert_eq!(fail(&throttle, "ann", HOME, 10_000), Ok(()));
    }
    assert_eq!(fail(&throttle, "ann", HOME, 10), Err(1));
    assert_eq!(fail(&throttle, "ann", HOME, 11), Ok(()));
    assert_eq!(fail(&throttle, "ann", HOME, 11), Err(2));
    for _ in 0..5 {
        assert_eq!(fail(&throttle, "ann", HOME, 11 + FORGOTTEN_AFTER + 1), Ok(()));
    }
}

#[test]
fn tables_are_bounded_and_the_oldest_goes() {
    let mut table = Table::<usize>::default();
    for key in 0..ENTRIES * 2 {
        table.entry(&key).add(i64::try_from(key).expect("small"), LONGEST_WAIT);
    }
    assert_eq!(table.entries.len(), ENTRIES);
    assert!(table.entries.contains_key(&(ENTRIES * 2 - 1)));
    assert!(!table.entries.contains_key(&0));
}
