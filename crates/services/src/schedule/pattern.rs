//! Minutes of a calendar without a zone: which match, which is next, how many there are.
//!
//! A minute is counted from 1970-01-01 00:00 of local time, whatever offset that has. All work is
//! bounded: by the months of [`MOST_MONTHS`] to find a minute, by the months between to count.

use jiff::Timestamp;
use jiff::civil::{Date, Weekday};
use jiff::tz::Offset;

pub const ALL_MINUTES: u64 = (1 << 60) - 1;
pub const ALL_HOURS: u32 = (1 << 24) - 1;
/// From bit 1 on.
pub const ALL_MONTHS: u16 = 0x1ffe;
/// From bit 1 on.
pub const ALL_DAYS: u32 = 0xffff_fffe;
/// Monday is bit 0.
pub const ALL_WEEKDAYS: u8 = 0x7f;

/// Minutes of a day.
const DAY: i64 = 1_440;

/// What a calendar has a match in, if it ever has one: the same days fall on the same weekdays
/// again after 28 years, or 40 around a century without a leap day.
const MOST_MONTHS: u32 = 12 * 41;

/// Sets of what matches, as bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pattern {
    pub minutes: u64,
    pub hours: u32,
    pub months: u16,
    pub days: Days,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Days {
    /// Days of the month that are such weekdays, too.
    Both { days: u32, weekdays: u8 },
    /// One or the other.
    Either { days: u32, weekdays: u8 },
    /// This day of the month, or the last one of a shorter month.
    UpTo(u8),
}

impl Days {
    pub const ANY: Days = Days::Both { days: ALL_DAYS, weekdays: ALL_WEEKDAYS };
}

impl Pattern {
    /// Whether any minute ever matches. Of a leap year, which has all days there are.
    pub fn is_possible(&self) -> bool {
        const LENGTHS: [u8; 13] = [0, 31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
        let has_day = |days: u32| {
            (1..=12).any(|month| self.months & 1 << month != 0 && days & up_to(LENGTHS[month]) != 0)
        };
        match self.days {
            Days::Both { days, weekdays } => weekdays != 0 && has_day(days),
            Days::Either { days, weekdays } => has_day(if weekdays == 0 { days } else { ALL_DAYS }),
            Days::UpTo(_) => has_day(ALL_DAYS),
        }
    }

    /// The first minute from `minute` on; `None` past the calendar's end.
    pub fn first_from(&self, minute: i64) -> Option<i64> {
        let (day, of_day) = (minute.div_euclid(DAY), minute.rem_euclid(DAY));
        if self.matches_day(day)?
            && let Some(time) = self.time_from(of_day)
        {
            return Some(day * DAY + time);
        }
        Some(self.day_after(day)? * DAY + self.time_from(0)?)
    }

    /// The last minute up to `minute`; `None` before the calendar's beginning.
    pub fn last_to(&self, minute: i64) -> Option<i64> {
        let (day, of_day) = (minute.div_euclid(DAY), minute.rem_euclid(DAY));
        if self.matches_day(day)?
            && let Some(time) = self.time_to(of_day)
        {
            return Some(day * DAY + time);
        }
        Some(self.day_before(day)? * DAY + self.time_to(DAY - 1)?)
    }

    /// How many match after `from` up to `until`.
    pub fn count(&self, from: i64, until: i64) -> u64 {
        if until <= from {
            return 0;
        }
        let (first, last) = (from.div_euclid(DAY), until.div_euclid(DAY));
        let before = self.times_to(from.rem_euclid(DAY)) * self.days_within(first, first);
        let whole = self.days_within(first, last - 1) * self.times_to(DAY - 1);
        let rest = self.times_to(until.rem_euclid(DAY)) * self.days_within(last, last);
        whole + rest - before
    }

    /// Bits of the days of a month that match, from bit 1 on.
    fn days_of(&self, year: i16, month: i8) -> u32 {
        if self.months & 1 << month == 0 {
            return 0;
        }
        let Ok(first) = Date::new(year, month, 1) else { return 0 };
        let length = up_to(first.days_in_month().unsigned_abs());
        match self.days {
            Days::Both { days, weekdays } => days & on_weekdays(weekdays, first.weekday()) & length,
            Days::Either { days, weekdays } => (days | on_weekdays(weekdays, first.weekday())) & length,
            Days::UpTo(day) => 1 << first.days_in_month().unsigned_abs().min(day),
        }
    }

    fn matches_day(&self, day: i64) -> Option<bool> {
        let date = date(day)?;
        Some(self.days_of(date.year(), date.month()) & 1 << date.day() != 0)
    }

    fn day_after(&self, day: i64) -> Option<i64> {
        let date = date(day)?;
        let (mut year, mut month) = (date.year(), date.month());
        // Bits above its own; none of day 31.
        let mut above = !up_to(date.day().unsigned_abs()) & !1;
        for _ in 0..MOST_MONTHS {
            let found = self.days_of(year, month) & above;
            if found != 0 {
                return number(year, month, i8::try_from(found.trailing_zeros()).ok()?);
            }
            above = ALL_DAYS;
            (year, month) = if month == 12 { (year + 1, 1) } else { (year, month + 1) };
        }
        None
    }

    fn day_before(&self, day: i64) -> Option<i64> {
        let date = date(day)?;
        let (mut year, mut month) = (date.year(), date.month());
        let mut below = up_to(date.day().unsigned_abs() - 1);
        for _ in 0..MOST_MONTHS {
            let found = self.days_of(year, month) & below;
            if found != 0 {
                return number(year, month, i8::try_from(found.ilog2()).ok()?);
            }
            below = ALL_DAYS;
            (year, month) = if month == 1 { (year - 1, 12) } else { (year, month - 1) };
        }
        None
    }

    /// How many days from `first` to `last` match, both included.
    fn days_within(&self, first: i64, last: i64) -> u64 {
        let (Some(from), Some(to)) = (date(first), date(last)) else { return 0 };
        if to < from {
            return 0;
        }
        let (mut year, mut month, mut total) = (from.year(), from.month(), 0);
        while (year, month) <= (to.year(), to.month()) {
            let mut days = self.days_of(year, month);
            if (year, month) == (from.year(), from.month()) {
                days &= !up_to(from.day().unsigned_abs() - 1);
            }
            if (year, month) == (to.year(), to.month()) {
                days &= up_to(to.day().unsigned_abs());
            }
            total += u64::from(days.count_ones());
            (year, month) = if month == 12 { (year + 1, 1) } else { (year, month + 1) };
        }
        total
    }

    /// The first time of day from this minute on.
    fn time_from(&self, of_day: i64) -> Option<i64> {
        let (hour, minute) = (of_day / 60, of_day % 60);
        let later = self.minutes >> minute << minute;
        if self.hours & 1 << hour != 0 && later != 0 {
            return Some(hour * 60 + i64::from(later.trailing_zeros()));
        }
        let hours = self.hours & !((2 << hour) - 1);
        (hours != 0)
            .then(|| i64::from(hours.trailing_zeros()) * 60 + i64::from(self.minutes.trailing_zeros()))
    }

    /// The last time of day up to this minute.
    fn time_to(&self, of_day: i64) -> Option<i64> {
        let (hour, minute) = (of_day / 60, of_day % 60);
        let earlier = self.minutes & ((2 << minute) - 1);
        if self.hours & 1 << hour != 0 && earlier != 0 {
            return Some(hour * 60 + i64::from(earlier.ilog2()));
        }
        let hours = self.hours & ((1 << hour) - 1);
        (hours != 0).then(|| i64::from(hours.ilog2()) * 60 + i64::from(self.minutes.ilog2()))
    }

    /// How many times of day there are up to this minute, itself included.
    fn times_to(&self, of_day: i64) -> u64 {
        let (hour, minute) = (of_day / 60, of_day % 60);
        let whole = (self.hours & ((1 << hour) - 1)).count_ones() * self.minutes.count_ones();
        let begun = self.hours & 1 << hour != 0;
        let rest = if begun { (self.minutes & ((2 << minute) - 1)).count_ones() } else { 0 };
        u64::from(whole + rest)
    }
}

/// Bits 1 to `day`.
fn up_to(day: u8) -> u32 {
    u32::try_from((2_u64 << day) - 2).unwrap_or(ALL_DAYS)
}

/// Bits of the days of a month that begins on `first` which are such weekdays.
fn on_weekdays(weekdays: u8, first: Weekday) -> u32 {
    let shift = u32::from(first.to_monday_zero_offset().unsigned_abs());
    let week = u64::from(weekdays);
    let turned = (week >> shift | week << (7 - shift)) & 0x7f;
    let all = turned * (1 | 1 << 7 | 1 << 14 | 1 << 21 | 1 << 28);
    u32::try_from(all << 1 & u64::from(ALL_DAYS)).unwrap_or(0)
}

/// The date of a day that is counted from 1970.
fn date(day: i64) -> Option<Date> {
    let noon = Timestamp::from_second(day.checked_mul(86_400)?).ok()?;
    Some(Offset::UTC.to_datetime(noon).date())
}

fn number(year: i16, month: i8, day: i8) -> Option<i64> {
    let midnight = Date::new(year, month, day).ok()?.at(0, 0, 0, 0);
    Some(Offset::UTC.to_timestamp(midnight).ok()?.as_second().div_euclid(86_400))
}

#[cfg(test)]
mod tests;
