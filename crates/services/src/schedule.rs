//! When something is due.
//!
//! A [`Calendar`] is a pattern of local minutes and a zone. Where it leaves out hours of the day,
//! local times are mapped to moments so that none comes before an earlier one: a time that clocks
//! leap over is the moment of the leap, one that they show twice is the first of both. So each
//! local time is due exactly once. A calendar of every hour is matched with what clocks show at
//! each moment, so that an hour that is shown twice is due twice: it follows elapsed time.
//!
//! Invariant: a call takes the work of the months between its times, at most a century's to count,
//! and never that of minutes.

mod cron;
mod pattern;

use api_types::{Schedule, ScheduleFault, ScheduleField, Weekday, When};
use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::{AmbiguousOffset, Offset, TimeZone};

use crate::time::{DAY, FIRST, LAST, Time};
use pattern::{ALL_DAYS, ALL_HOURS, ALL_MINUTES, ALL_MONTHS, ALL_WEEKDAYS, Days, Pattern};

/// Finds the rules of a zone by its name, or of the machine's own. `None`: there is no such zone.
pub type Zones<'a> = &'a dyn Fn(Option<&str>) -> Option<TimeZone>;

/// Leaps of a clock that may lie before the next match: two a year for the 12 years to a February
/// 29 at most, and some.
const MOST_LEAPS: usize = 64;

/// How far back missed times are counted.
const CENTURY: i64 = 36_525 * DAY;

/// A schedule that was checked, ready to be asked.
#[derive(Clone, Debug)]
pub struct Calendar {
    /// It is due each so many seconds, whatever the pattern says.
    seconds: Option<Time>,
    pattern: Pattern,
    zone: TimeZone,
}

/// What is to be caught up with: one run, for the latest of the times that were missed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Due {
    pub slot: Time,
    /// Times before `slot` for which nothing ran, of the last hundred years.
    pub missed: u64,
}

impl Calendar {
    /// Fails on what is out of range, on a pattern that is none, and where no day ever matches; and
    /// on seconds.
    pub fn new(schedule: &Schedule, zones: Zones<'_>) -> Result<Calendar, ScheduleFault> {
        match schedule.when {
            When::Second { .. } => Err(ScheduleFault::TooOften),
            _ => Calendar::of_seconds(schedule, zones),
        }
    }

    /// As [`Calendar::new`], and may be due each second.
    pub fn of_seconds(schedule: &Schedule, zones: Zones<'_>) -> Result<Calendar, ScheduleFault> {
        let seconds = match schedule.when {
            When::Second { step } => Some(within(ScheduleField::Step, step, 1, 30)?.into()),
            _ => None,
        };
        let pattern = compile(&schedule.when)?;
        if !pattern.is_possible() {
            return Err(ScheduleFault::Never);
        }
        let name = schedule.zone.as_deref();
        let zone =
            zones(name).ok_or_else(|| ScheduleFault::Zone { name: name.unwrap_or_default().to_owned() })?;
        Ok(Calendar { seconds, pattern, zone })
    }

    /// The first time it is due after `time`; `None` past [`LAST`].
    pub fn next_after(&self, time: Time) -> Option<Time> {
        let time = time.clamp(FIRST, LAST);
        if let Some(step) = self.seconds {
            return Some((time.div_euclid(step) + 1) * step).filter(|next| *next <= LAST);
        }
        let next = if self.follows_elapsed_time() {
            self.next_elapsed(time)?
        } else {
            let local = self.pattern.first_from(self.floor(time).div_euclid(60) + 1)? * 60;
            self.moment(local)?
        };
        (next <= LAST).then_some(next)
    }

    /// The last time it was due up to `time`, itself included; `None` before the year 1.
    pub fn latest(&self, time: Time) -> Option<Time> {
        let time = time.clamp(FIRST, LAST);
        if let Some(step) = self.seconds {
            return Some(time.div_euclid(step) * step).filter(|latest| *latest >= FIRST);
        }
        let latest = if self.follows_elapsed_time() {
            self.latest_elapsed(time)?
        } else {
            self.moment(self.pattern.last_to(self.floor(time).div_euclid(60))? * 60)?
        };
        (latest >= FIRST).then_some(latest)
    }

    /// How often it was due after `from` up to `until`, counted in local times; of more than a
    /// century, in the last hundred years.
    pub fn count(&self, from: Time, until: Time) -> u64 {
        let until = until.clamp(FIRST, LAST);
        let from = from.clamp(FIRST, LAST).max(until - CENTURY);
        if let Some(step) = self.seconds {
            return u64::try_from(until.div_euclid(step) - from.div_euclid(step)).unwrap_or(0);
        }
        if !self.follows_elapsed_time() {
            return self.pattern.count(self.floor(from).div_euclid(60), self.floor(until).div_euclid(60));
        }
        let (mut total, mut begin, mut offset) = (0, from, self.offset(from));
        for leap in self.leaps_after(from).take_while(|leap| *leap <= until) {
            total += self.count_under(offset, begin, leap - 1);
            (begin, offset) = (leap - 1, self.offset(leap));
        }
        total + self.count_under(offset, begin, until)
    }

    /// Whether it is due in every minute there is.
    pub fn is_every_minute(&self) -> bool {
        let all = Pattern { minutes: ALL_MINUTES, hours: ALL_HOURS, months: ALL_MONTHS, days: Days::ANY };
        self.pattern == all
    }

    /// If it is due at `now`, having been served up to `served`: for which time, and how many
    /// before that were missed.
    pub fn due(&self, served: Time, now: Time) -> Option<Due> {
        let slot = self.latest(now).filter(|slot| *slot > served)?;
        Some(Due { slot, missed: self.count(served, now).saturating_sub(1) })
    }

    /// Minutes since midnight that clocks of its zone show.
    pub fn minute_of_day(&self, time: Time) -> u16 {
        let local = time.clamp(FIRST, LAST) + self.offset(time);
        u16::try_from(local.rem_euclid(DAY) / 60).unwrap_or(0)
    }

    fn follows_elapsed_time(&self) -> bool {
        self.pattern.hours == ALL_HOURS
    }

    /// As [`Self::next_after`], by what clocks show at each moment.
    fn next_elapsed(&self, time: Time) -> Option<Time> {
        let (mut from, mut offset, mut leaps) = (time, self.offset(time), self.leaps_after(time));
        for _ in 0..MOST_LEAPS {
            let next = self.pattern.first_from((from + offset).div_euclid(60) + 1)? * 60 - offset;
            // Clocks do not leap twice a day.
            if next - from < DAY && self.offset(next) == offset {
                return Some(next);
            }
            match leaps.next() {
                Some(leap) if leap <= next => (from, offset) = (leap - 1, self.offset(leap)),
                _ => return Some(next),
            }
        }
        None
    }

    /// As [`Self::latest`], by what clocks show at each moment.
    fn latest_elapsed(&self, time: Time) -> Option<Time> {
        let (mut until, mut offset, mut leaps) = (time, self.offset(time), self.leaps_up_to(time));
        for _ in 0..MOST_LEAPS {
            let latest = self.pattern.last_to((until + offset).div_euclid(60))? * 60 - offset;
            if until - latest < DAY && self.offset(latest) == offset {
                return Some(latest);
            }
            match leaps.next() {
                Some(leap) if leap > latest => (until, offset) = (leap - 1, self.offset(leap - 1)),
                _ => return Some(latest),
            }
        }
        None
    }

    /// How many minutes match after `from` up to `until`, with clocks that are off by this much.
    fn count_under(&self, offset: i64, from: Time, until: Time) -> u64 {
        self.pattern.count((from + offset).div_euclid(60), (until + offset).div_euclid(60))
    }

    /// Seconds that clocks of the zone are ahead of UTC at this moment.
    fn offset(&self, time: Time) -> i64 {
        i64::from(self.zone.to_offset(timestamp(time)).seconds())
    }

    /// The moments at which clocks leap, after this one.
    fn leaps_after(&self, time: Time) -> impl Iterator<Item = Time> {
        self.zone.following(timestamp(time)).map(|leap| leap.timestamp().as_second())
    }

    /// Likewise backwards from this one, itself included.
    fn leaps_up_to(&self, time: Time) -> impl Iterator<Item = Time> {
        self.zone.preceding(timestamp(time + 1)).map(|leap| leap.timestamp().as_second())
    }

    /// The moment of a local time.
    fn moment(&self, local: i64) -> Option<Time> {
        match self.zone.to_ambiguous_timestamp(datetime(local)).offset() {
            AmbiguousOffset::Unambiguous { offset: before } | AmbiguousOffset::Fold { before, .. } => {
                Some(local - i64::from(before.seconds()))
            }
            AmbiguousOffset::Gap { before, .. } => {
                self.leaps_up_to(local - i64::from(before.seconds())).next()
            }
        }
    }

    /// The local time that divides: what is up to it has been due at this moment, what is after it
    /// has not.
    fn floor(&self, time: Time) -> i64 {
        let offset = self.offset(time);
        let local = time + offset;
        match self.zone.to_ambiguous_timestamp(datetime(local)).offset() {
            // All that is shown twice was due when it was shown first.
            AmbiguousOffset::Fold { before, after } if offset == i64::from(after.seconds()) => {
                let leap = self.leaps_up_to(time).next().unwrap_or(time);
                leap + i64::from(before.seconds()) - 1
            }
            _ => local,
        }
    }
}

fn timestamp(time: Time) -> Timestamp {
    Timestamp::from_second(time.clamp(FIRST - DAY, LAST + DAY)).expect("jiff counts from -9999 to 9999")
}

fn datetime(local: i64) -> DateTime {
    Offset::UTC.to_datetime(timestamp(local))
}

/// The pattern of a level.
fn compile(when: &When) -> Result<Pattern, ScheduleFault> {
    let at = |days: Days, months: u16, hour: u8, minute: u8| {
        Ok(Pattern {
            minutes: 1 << within(ScheduleField::Minute, minute, 0, 59)?,
            hours: 1 << within(ScheduleField::Hour, hour, 0, 23)?,
            months,
            days,
        })
    };
    match when {
        // Its pattern is not asked.
        When::Second { .. } => {
            Ok(Pattern { minutes: ALL_MINUTES, hours: ALL_HOURS, months: ALL_MONTHS, days: Days::ANY })
        }
        When::Minute { step, offset } => {
            let step = within(ScheduleField::Step, *step, 1, 30)?;
            let offset = within(ScheduleField::Minute, *offset, 0, 59)?;
            let minutes = (offset..60).step_by(usize::from(step)).fold(0, |bits, minute| bits | 1 << minute);
            Ok(Pattern { minutes, hours: ALL_HOURS, months: ALL_MONTHS, days: Days::ANY })
        }
        When::Hour { step, minute } => {
            let step = within(ScheduleField::Step, *step, 1, 12)?;
            let hours = (0..24).step_by(usize::from(step)).fold(0, |bits, hour| bits | 1 << hour);
            Ok(Pattern { hours, ..at(Days::ANY, ALL_MONTHS, 0, *minute)? })
        }
        When::Day { hour, minute } => at(Days::ANY, ALL_MONTHS, *hour, *minute),
        When::Week { weekday, hour, minute } => {
            let days = Days::Both { days: ALL_DAYS, weekdays: bit(*weekday) & ALL_WEEKDAYS };
            at(days, ALL_MONTHS, *hour, *minute)
        }
        When::Month { day, hour, minute } => {
            at(Days::UpTo(within(ScheduleField::Day, *day, 1, 31)?), ALL_MONTHS, *hour, *minute)
        }
        When::Year { month, day, hour, minute } => {
            let months = 1 << within(ScheduleField::Month, *month, 1, 12)?;
            at(Days::UpTo(within(ScheduleField::Day, *day, 1, 31)?), months, *hour, *minute)
        }
        When::Cron { pattern } => cron::parse(pattern),
    }
}

fn within(field: ScheduleField, value: u8, low: u8, high: u8) -> Result<u8, ScheduleFault> {
    if (low..=high).contains(&value) {
        return Ok(value);
    }
    let (value, low, high) = (value.into(), low.into(), high.into());
    Err(ScheduleFault::OutOfRange { field, value, low, high })
}

fn bit(weekday: Weekday) -> u8 {
    match weekday {
        Weekday::Monday => 1,
        Weekday::Tuesday => 1 << 1,
        Weekday::Wednesday => 1 << 2,
        Weekday::Thursday => 1 << 3,
        Weekday::Friday => 1 << 4,
        Weekday::Saturday => 1 << 5,
        Weekday::Sunday => 1 << 6,
    }
}

#[cfg(test)]
mod tests;
