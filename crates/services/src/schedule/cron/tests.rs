use api_types::{ScheduleFault, ScheduleField};

use super::parse;
use crate::schedule::pattern::{ALL_DAYS, ALL_HOURS, ALL_MINUTES, ALL_MONTHS, ALL_WEEKDAYS, Days, Pattern};

#[test]
fn fields_are_sets() {
    let all = Pattern { minutes: ALL_MINUTES, hours: ALL_HOURS, months: ALL_MONTHS, days: Days::ANY };
    assert_eq!(parse("* * * * *"), Ok(all));
    let days = Days::Both { days: ALL_DAYS, weekdays: 0b100_0001 };
    let pattern =
        Pattern { minutes: 1 << 5 | 1 << 25 | 1 << 45, hours: 0b1110, months: 1 << 2 | 1 << 12, days };
    assert_eq!(parse("5/20 1-3 * feb,DEC mon,7"), Ok(pattern));
    assert_eq!(parse("5/20 1-3 * feb,DEC 0-1"), Ok(pattern));
    assert_eq!(parse("5/20 1-3 */1 feb,DEC sun,1"), Ok(pattern));
}

#[test]
fn two_kinds_of_days_are_either_unless_one_has_a_star() {
    let friday = 1 << 4;
    let either = parse("0 0 13 * fri").expect("it is a pattern");
    assert_eq!(either.days, Days::Either { days: 1 << 13, weekdays: friday });
    let both = parse("0 0 */12 * fri").expect("it is a pattern");
    assert_eq!(both.days, Days::Both { days: 1 << 1 | 1 << 13 | 1 << 25, weekdays: friday });
    assert_eq!(both.hours & ALL_WEEKDAYS as u32, 1);
}

#[test]
fn what_is_no_pattern_is_named() {
    assert_eq!(parse("* * * *"), Err(ScheduleFault::FieldCount { found: 4 }));
    assert_eq!(parse("* * * * * *"), Err(ScheduleFault::FieldCount { found: 6 }));
    assert_eq!(parse(&"*,".repeat(200)), Err(ScheduleFault::TooLong { limit: 256 }));
    let word = |field, word: &str| Err(ScheduleFault::Word { field, word: word.to_owned() });
    assert_eq!(parse("x * * * *"), word(ScheduleField::Minute, "x"));
    assert_eq!(parse("1, * * * *"), word(ScheduleField::Minute, ""));
    assert_eq!(parse("* 9-3 * * *"), word(ScheduleField::Hour, "9-3"));
    assert_eq!(parse("* * * feb-x *"), word(ScheduleField::Month, "feb-x"));
    let range = |field, value, low, high| Err(ScheduleFault::OutOfRange { field, value, low, high });
    assert_eq!(parse("60 * * * *"), range(ScheduleField::Minute, 60, 0, 59));
    assert_eq!(parse("* * 0 * *"), range(ScheduleField::Day, 0, 1, 31));
    assert_eq!(parse("*/0 * * * *"), range(ScheduleField::Step, 0, 1, 60));
    assert_eq!(parse("* * * * 8"), range(ScheduleField::Weekday, 8, 0, 7));
}
