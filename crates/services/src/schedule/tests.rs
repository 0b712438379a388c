use api_types::{Schedule, ScheduleFault, ScheduleField, When};
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use stdx::prng::Prng;

use super::{Calendar, Due};
use crate::time::{DAY, FIRST, Time};

/// Berlin's rules of today, without a file.
fn berlin() -> TimeZone {
    TimeZone::posix("CET-1CEST,M3.5.0,M10.5.0/3").expect("it is a rule")
}

fn zones(name: Option<&str>) -> Option<TimeZone> {
    match name {
        None => Some(TimeZone::UTC),
        Some("Berlin") => Some(berlin()),
        // Its clocks leap by half an hour.
        Some("Lord Howe") => TimeZone::posix("<+1030>-10:30<+11>-11,M10.1.0,M4.1.0").ok(),
        Some(_) => None,
    }
}

fn calendar(when: When, zone: &str) -> Calendar {
    Calendar::new(&Schedule { when, zone: Some(zone.to_owned()) }, &zones).expect("it is good")
}

fn cron(pattern: &str, zone: &str) -> Calendar {
    calendar(When::Cron { pattern: pattern.to_owned() }, zone)
}

fn utc(text: &str) -> Time {
    let time: DateTime = text.parse().expect("it is a time");
    time.to_zoned(TimeZone::UTC).expect("it is one").timestamp().as_second()
}

fn text(time: Time) -> String {
    super::datetime(time).to_string()
}

/// What is due after one time up to another, by asking for the next again and again.
fn all(calendar: &Calendar, from: Time, until: Time) -> Vec<Time> {
    let mut found = Vec::new();
    let mut at = from;
    while let Some(next) = calendar.next_after(at).filter(|next| *next <= until) {
        assert!(next > at, "{} is not after {}", text(next), text(at));
        found.push(next);
        at = next;
    }
    found
}

#[test]
fn a_time_that_does_not_exist_is_due_once_at_the_leap() {
    // On 2026-03-29 clocks in Berlin leap from 02:00 to 03:00, at 01:00 UTC.
    let daily = calendar(When::Day { hour: 2, minute: 30 }, "Berlin");
    let due: Vec<String> =
        all(&daily, utc("2026-03-27T12:00"), utc("2026-03-30T12:00")).into_iter().map(text).collect();
    assert_eq!(due, ["2026-03-28T01:30:00", "2026-03-29T01:00:00", "2026-03-30T00:30:00"]);
}

#[test]
fn a_time_that_exists_twice_is_due_once_at_its_first() {
    // On 2026-10-25 clocks in Berlin go back from 03:00 to 02:00, at 01:00 UTC.
    let daily = calendar(When::Day { hour: 2, minute: 30 }, "Berlin");
    let due: Vec<String> =
        all(&daily, utc("2026-10-24T12:00"), utc("2026-10-26T12:00")).into_iter().map(text).collect();
    assert_eq!(due, ["2026-10-25T00:30:00", "2026-10-26T01:30:00"]);
    // Asked in the second of both hours, too.
    assert_eq!(daily.latest(utc("2026-10-25T01:10")), Some(utc("2026-10-25T00:30")));
    assert_eq!(daily.next_after(utc("2026-10-25T01:10")), Some(utc("2026-10-26T01:30")));
}

#[test]
fn a_schedule_of_every_hour_follows_elapsed_time() {
    for zone in ["Berlin", "Lord Howe"] {
        let minutes = calendar(When::Minute { step: 15, offset: 0 }, zone);
        for day in ["2026-03-28T12:00", "2026-10-24T12:00", "2026-04-04T12:00", "2026-10-03T12:00"] {
            let from = utc(day);
            let due = all(&minutes, from, from + DAY);
            assert_eq!(due.len(), 96, "{zone} {day}");
            assert!(due.windows(2).all(|pair| pair[1] - pair[0] == 900), "{zone} {day}");
        }
    }
}

#[test]
fn a_day_past_the_end_of_a_month_is_its_last() {
    let monthly = calendar(When::Month { day: 31, hour: 0, minute: 0 }, "Berlin");
    let due = all(&monthly, utc("2028-01-01T00:00"), utc("2028-05-01T00:00"));
    let due: Vec<String> = due.into_iter().map(text).collect();
    let expected =
        ["2028-01-30T23:00:00", "2028-02-28T23:00:00", "2028-03-30T22:00:00", "2028-04-29T22:00:00"];
    assert_eq!(due, expected);
    let yearly = calendar(When::Year { month: 2, day: 30, hour: 12, minute: 0 }, "Berlin");
    assert_eq!(yearly.next_after(utc("2027-01-01T00:00")), Some(utc("2027-02-28T11:00")));
}

#[test]
fn a_day_that_never_comes_is_refused_and_a_rare_one_is_found() {
    let never = Schedule { when: When::Cron { pattern: "0 0 30 2 *".to_owned() }, zone: None };
    assert_eq!(Calendar::new(&never, &zones).err(), Some(ScheduleFault::Never));
    let leap = cron("0 0 29 2 *", "Berlin");
    assert_eq!(leap.next_after(utc("2096-03-01T00:00")), Some(utc("2104-02-28T23:00")));
    // A leap day that is a Monday, across the century without one.
    let rare = cron("0 * 29 2 */1", "Berlin");
    assert_eq!(rare.next_after(utc("2096-03-01T00:00")), Some(utc("2104-02-28T23:00")));
    let rarest = cron("0 0 */28 2 1", "Berlin");
    assert!(rarest.next_after(utc("2026-03-01T00:00")).is_some());
}

#[test]
fn what_cannot_be_is_named() {
    let fault = |when| Calendar::new(&Schedule { when, zone: None }, &zones).err();
    let range = |field, value, low, high| Some(ScheduleFault::OutOfRange { field, value, low, high });
    assert_eq!(fault(When::Minute { step: 0, offset: 0 }), range(ScheduleField::Step, 0, 1, 30));
    assert_eq!(fault(When::Day { hour: 24, minute: 0 }), range(ScheduleField::Hour, 24, 0, 23));
    assert_eq!(fault(When::Month { day: 0, hour: 0, minute: 0 }), range(ScheduleField::Day, 0, 1, 31));
    let elsewhere = Schedule { when: When::Day { hour: 0, minute: 0 }, zone: Some("Atlantis".to_owned()) };
    assert_eq!(
        Calendar::new(&elsewhere, &zones).err(),
        Some(ScheduleFault::Zone { name: "Atlantis".to_owned() })
    );
}

#[test]
fn every_minute_is_known_as_such() {
    assert!(cron("* * * * *", "Berlin").is_every_minute());
    assert!(calendar(When::Minute { step: 1, offset: 0 }, "Berlin").is_every_minute());
    assert!(!cron("* * * * mon-sat", "Berlin").is_every_minute());
}

#[test]
fn a_month_asleep_is_one_run_and_a_count() {
    let minutes = calendar(When::Minute { step: 1, offset: 0 }, "Berlin");
    let (slept, woke) = (utc("2026-03-01T00:00:30"), utc("2026-04-01T00:00:30"));
    let due = minutes.due(slept, woke).expect("it is due");
    assert_eq!(due, Due { slot: utc("2026-04-01T00:00"), missed: 31 * 1_440 - 1 });
    assert_eq!(minutes.due(due.slot, woke), None);
}

#[test]
fn a_clock_in_another_millennium_is_no_work() {
    let minutes = calendar(When::Minute { step: 1, offset: 0 }, "Berlin");
    let missed = minutes.due(i64::MIN, i64::MAX).expect("it is due").missed;
    assert_eq!(missed, 36_525 * 1_440 - 1);
    assert_eq!(minutes.next_after(i64::MAX), None);
    assert_eq!(minutes.latest(i64::MIN), Some(FIRST));
}

/// Any pattern, against a search minute by minute over what clocks show.
#[test]
fn all_ways_to_ask_agree_with_a_search_by_minutes() {
    let mut random = Prng::new(22);
    for round in 0..150 {
        let zone = *random.pick(&["Berlin", "Lord Howe"]).expect("there are two");
        let mut field = |low: u64, high: u64| match random.below(4) {
            0 => format!("{}-{}", low, random.range(low, high + 1)),
            1 => format!("*/{}", random.range(1, 9)),
            2 => random.range(low, high + 1).to_string(),
            _ => "*".to_owned(),
        };
        let pattern = [field(0, 59), field(0, 23), field(1, 28), "*".to_owned(), field(0, 7)].join(" ");
        let calendar = cron(&pattern, zone);
        // A week with a leap of the clocks in it.
        let from = match (round % 2, zone) {
            (0, "Berlin") => utc("2026-03-25T00:00"),
            (_, "Berlin") => utc("2026-10-21T00:00"),
            (0, _) => utc("2026-04-01T00:00"),
            _ => utc("2026-09-30T00:00"),
        } + i64::from(u16::try_from(random.below(3_600)).unwrap_or(0));
        let until = from + 8 * DAY;
        let due = all(&calendar, from, until);
        let searched = search(&calendar, from, until);
        assert_eq!(due, searched, "{pattern} {zone}");
        for _ in 0..20 {
            let at = from + i64::try_from(random.below(8 * 86_400)).unwrap_or(0);
            let latest = searched.iter().rev().find(|time| **time <= at);
            if let Some(latest) = latest {
                assert_eq!(calendar.latest(at), Some(*latest), "{pattern} {zone} at {}", text(at));
            }
        }
        // Times that one leap swallows are each counted.
        let counted = calendar.count(from, until);
        assert!(counted >= searched.len() as u64, "{pattern} {zone}");
        if calendar.follows_elapsed_time() {
            assert_eq!(counted, searched.len() as u64, "{pattern} {zone}");
        }
    }
}

/// By the words of the module: each minute that clocks show; where hours are left out, those that
/// are leapt over at the leap, those that are shown twice the first time.
fn search(calendar: &Calendar, from: Time, until: Time) -> Vec<Time> {
    let matches = |local: i64| {
        let minute = local.div_euclid(60);
        calendar.pattern.first_from(minute) == Some(minute)
    };
    let (mut found, mut shown) = (Vec::new(), i64::MIN);
    let first = from.div_euclid(60) * 60 - DAY;
    let mut time = first;
    while time <= until {
        let local = time + calendar.offset(time);
        let is_due = if calendar.follows_elapsed_time() {
            matches(local)
        } else {
            let since = if shown == i64::MIN { local - 60 } else { shown };
            (since + 60..=local).step_by(60).any(matches)
        };
        shown = shown.max(local);
        if is_due && time > from {
            found.push(time);
        }
        time += 60;
    }
    found
}

#[test]
fn seconds_are_those_since_1970_and_of_replication_alone() {
    let schedule = |step| Schedule { when: When::Second { step }, zone: Some("Berlin".to_owned()) };
    assert_eq!(Calendar::new(&schedule(5), &zones).err(), Some(ScheduleFault::TooOften));
    assert!(Calendar::of_seconds(&schedule(0), &zones).is_err());
    assert!(Calendar::of_seconds(&schedule(31), &zones).is_err());
    let five = Calendar::of_seconds(&schedule(5), &zones).expect("it is good");
    assert_eq!((five.next_after(9), five.next_after(10), five.latest(10)), (Some(10), Some(15), Some(10)));
    assert_eq!((five.next_after(-1), five.latest(-1)), (Some(0), Some(-5)));
    assert_eq!(five.due(10, 14), None);
    assert_eq!(five.due(10, 27), Some(Due { slot: 25, missed: 2 }));
}
