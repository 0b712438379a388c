use stdx::prng::Prng;

use super::{ALL_DAYS, ALL_HOURS, ALL_MINUTES, ALL_MONTHS, ALL_WEEKDAYS, Days, Pattern};

fn any(random: &mut Prng) -> Pattern {
    let mut bits = |all: u64| match random.below(3) {
        0 => all,
        1 => random.next_u64() & random.next_u64() & all,
        _ => random.next_u64() & all,
    };
    let (days, weekdays) = (bits(ALL_DAYS.into()) as u32, bits(ALL_WEEKDAYS.into()) as u8);
    Pattern {
        minutes: bits(ALL_MINUTES),
        hours: bits(ALL_HOURS.into()) as u32,
        months: bits(ALL_MONTHS.into()) as u16,
        days: match weekdays % 3 {
            0 => Days::Both { days, weekdays },
            1 => Days::Either { days, weekdays },
            _ => Days::UpTo((days % 31 + 1) as u8),
        },
    }
}

#[test]
fn forth_back_and_counting_agree() {
    let mut random = Prng::new(1);
    for _ in 0..300 {
        let pattern = any(&mut random);
        if !pattern.is_possible() || pattern.minutes == 0 || pattern.hours == 0 {
            continue;
        }
        let from = random.below(60_000_000) as i64 - 10_000_000;
        let (mut at, mut counted) = (from, 0);
        for _ in 0..200 {
            let Some(next) = pattern.first_from(at + 1) else { break };
            counted += 1;
            assert_eq!(pattern.last_to(next), Some(next), "{pattern:?}");
            assert_eq!(pattern.count(from, next), counted, "{pattern:?}");
            assert_eq!(pattern.count(from, next - 1), counted - 1, "{pattern:?}");
            if counted > 1 {
                assert_eq!(pattern.last_to(next - 1), Some(at), "{pattern:?}");
            }
            at = next;
        }
        assert!(counted > 0, "{pattern:?}");
    }
}

#[test]
fn what_has_no_day_is_impossible() {
    let days = Days::Both { days: 1 << 30 | 1 << 31, weekdays: ALL_WEEKDAYS };
    let february = Pattern { minutes: 1, hours: 1, months: 1 << 2, days };
    assert!(!february.is_possible());
    assert_eq!(february.first_from(0), None);
    assert!(Pattern { months: 1 << 4, ..february }.is_possible());
}
