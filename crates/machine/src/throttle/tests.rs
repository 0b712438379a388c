//! Waits, their ends, and who is not delayed by whom.

use super::*;

const HOME: &str = "192.0.2.1";
const ELSEWHERE: &str = "198.51.100.7";

struct Numbers;

impl Outside for Numbers {
    fn now(&self) -> i64 {
        0
    }

    fn fill(&self, bytes: &mut [u8]) {
        bytes.fill(7);
    }
}

fn new() -> Throttle {
    Throttle::new(&Numbers)
}

/// From a place that the account has not logged in from.
fn fail(throttle: &Throttle, account: &str, address: &str, now: i64) -> Result<(), u64> {
    throttle.begin(account, place(address), false, now).map(drop)
}

fn fail_at_home(throttle: &Throttle, account: &str, now: i64) -> Result<(), u64> {
    throttle.begin(account, place(HOME), true, now).map(drop)
}

fn succeed(throttle: &Throttle, account: &str, address: &str, now: i64) -> Result<(), u64> {
    let attempt = throttle.begin(account, place(address), false, now)?;
    throttle.succeeded(&attempt);
    Ok(())
}

#[test]
fn waits_begin_after_five_failures_and_double_up_to_fifteen_minutes() {
    let throttle = new();
    let mut now = 1_000;
    let mut names = (0..).map(|number| format!("user{number}"));
    let mut fail = |now| fail(&throttle, &names.next().expect("a name"), HOME, now);
    for _ in 0..5 {
        assert_eq!(fail(now), Ok(()));
    }
    for wait in [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900, 900] {
        assert_eq!(fail(now), Err(wait));
        now += i64::try_from(wait).expect("small");
        assert_eq!(fail(now), Ok(()));
    }
}

#[test]
fn a_crowd_makes_an_account_wait_for_half_a_minute_at_most() {
    let throttle = new();
    let mut now = 1_000;
    for number in 0..200 {
        if let Err(wait) = fail(&throttle, "ann", &format!("192.0.2.{number}"), now) {
            assert!(wait <= 30, "{wait}");
            now += i64::try_from(wait).expect("small");
        }
    }
    assert!(now > 2_000, "they did wait");
}

#[test]
fn wrong_second_factors_have_the_long_wait_wherever_they_come_from() {
    let throttle = new();
    let mut now = 1_000;
    let mut longest = 0;
    for number in 0..200 {
        let address = format!("192.0.2.{number}");
        let Ok(mut attempt) = throttle.begin("ann", place(&address), false, now) else {
            now += 30;
            continue;
        };
        if let Err(wait) = throttle.begin_second(&mut attempt, now) {
            longest = longest.max(wait);
            throttle.take_back(&attempt);
            now += i64::try_from(wait).expect("small");
        }
    }
    assert!(longest > 600, "{longest}");
    let mut at_home = throttle.begin("ann", place(HOME), true, now).expect("nothing failed there");
    assert_eq!(throttle.begin_second(&mut at_home, now), Ok(()));
}

#[test]
fn a_flood_of_other_names_has_no_failure_forgotten() {
    let throttle = new();
    for number in 0..20 {
        let _ = fail(&throttle, "ann", &format!("192.0.2.{number}"), 0);
    }
    assert!(fail(&throttle, "ann", ELSEWHERE, 0).is_err());
    for number in 0..ENTRIES + 1_000 {
        let _ = fail(&throttle, &format!("user{number}"), &format!("2001:db8:0:{number:x}::1"), 0);
    }
    assert!(fail(&throttle, "ann", ELSEWHERE, 0).is_err());
}

#[test]
fn accounts_and_places_are_each_counted() {
    let throttle = new();
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
fn whoever_has_logged_in_from_a_place_is_not_locked_out_by_strangers() {
    let throttle = new();
    for number in 0..5 {
        assert_eq!(fail(&throttle, "ann", &format!("198.51.100.{number}"), 10), Ok(()));
    }
    assert_eq!(fail(&throttle, "ann", ELSEWHERE, 10), Err(1));
    let at_home = throttle.begin("ann", place(HOME), true, 10).expect("nobody keeps her out");
    throttle.succeeded(&at_home);
    assert_eq!(fail(&throttle, "ann", ELSEWHERE, 10), Err(1), "the stranger gained by it");
    for _ in 0..5 {
        assert_eq!(fail_at_home(&throttle, "ann", 20), Ok(()));
    }
    assert_eq!(fail_at_home(&throttle, "ann", 20), Err(1), "the place itself is not free");
}

#[test]
fn a_success_ends_the_wait_of_the_account_but_not_that_of_the_place() {
    let throttle = new();
    for number in 0..5 {
        assert_eq!(fail(&throttle, "ann", &format!("198.51.100.{number}"), 0), Ok(()));
    }
    assert_eq!(succeed(&throttle, "ann", HOME, 0), Err(1));
    assert_eq!(succeed(&throttle, "ann", HOME, 1), Ok(()));
    for number in 0..5 {
        assert_eq!(fail(&throttle, "ann", &format!("203.0.113.{number}"), 1), Ok(()));
    }
    let throttle = new();
    for _ in 0..4 {
        assert_eq!(fail(&throttle, "victim", HOME, 0), Ok(()));
    }
    assert_eq!(succeed(&throttle, "mallory", HOME, 0), Ok(()));
    assert_eq!(fail(&throttle, "other", HOME, 0), Ok(()));
    assert_eq!(fail(&throttle, "another", HOME, 0), Err(1));
}

#[test]
fn what_was_not_judged_is_no_failure() {
    let throttle = new();
    for _ in 0..20 {
        let attempt = throttle.begin("ann", place(HOME), false, 0).expect("nothing failed");
        throttle.take_back(&attempt);
    }
    assert_eq!(fail(&throttle, "ann", HOME, 0), Ok(()));
}

#[test]
fn an_hour_forgets_and_a_clock_set_back_does_not_lengthen() {
    let throttle = new();
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
