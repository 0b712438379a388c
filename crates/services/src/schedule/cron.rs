//! Patterns of crontab(5): five fields of numbers, names, ranges, lists and steps.

use api_types::{ScheduleFault, ScheduleField};

use super::pattern::{Days, Pattern};

/// Bytes of a pattern.
const MOST_BYTES: u32 = 256;

const MONTHS: [&str; 12] =
    ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const WEEKDAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

pub fn parse(text: &str) -> Result<Pattern, ScheduleFault> {
    if text.len() > MOST_BYTES as usize {
        return Err(ScheduleFault::TooLong { limit: MOST_BYTES });
    }
    let words: Vec<&str> = text.split_ascii_whitespace().take(6).collect();
    let [minutes, hours, days, months, weekdays] = words[..] else {
        return Err(ScheduleFault::FieldCount { found: u32::try_from(words.len()).unwrap_or(u32::MAX) });
    };
    let day_bits = set(ScheduleField::Day, days)?;
    let sunday_first = set(ScheduleField::Weekday, weekdays)?;
    // Sunday is 0 and 7; here it is bit 6.
    let week = (sunday_first >> 1 & 0x3f) | (sunday_first & 1) << 6 | (sunday_first >> 7 & 1) << 6;
    let (day_bits, week) = (narrow(day_bits), u8::try_from(week).unwrap_or(0));
    Ok(Pattern {
        minutes: set(ScheduleField::Minute, minutes)?,
        hours: narrow(set(ScheduleField::Hour, hours)?),
        months: u16::try_from(set(ScheduleField::Month, months)?).unwrap_or(0),
        // As cron(8) has it: a field that begins with a star restricts the other one.
        days: if days.starts_with('*') || weekdays.starts_with('*') {
            Days::Both { days: day_bits, weekdays: week }
        } else {
            Days::Either { days: day_bits, weekdays: week }
        },
    })
}

/// The sets of all fields but minutes have at most 32 members.
fn narrow(bits: u64) -> u32 {
    u32::try_from(bits & u64::from(u32::MAX)).unwrap_or(0)
}

/// The bits of a field.
fn set(field: ScheduleField, text: &str) -> Result<u64, ScheduleFault> {
    let mut bits = 0;
    for part in text.split(',') {
        let (range, step) = match part.split_once('/') {
            Some((range, step)) => (range, Some(number(field, step, step)?)),
            None => (part, None),
        };
        let (low, high) = limits(field);
        let (first, last) = match range.split_once('-') {
            _ if range == "*" => (low, high),
            Some((first, last)) => (value(field, first, part)?, value(field, last, part)?),
            None => {
                let first = value(field, range, part)?;
                (first, if step.is_some() { high } else { first })
            }
        };
        let step = step.unwrap_or(1);
        if first > last {
            return Err(ScheduleFault::Word { field, word: part.to_owned() });
        }
        if step == 0 || step > 60 {
            return Err(ScheduleFault::OutOfRange {
                field: ScheduleField::Step,
                value: step,
                low: 1,
                high: 60,
            });
        }
        bits |= (first..=last).step_by(step as usize).fold(0, |bits, at| bits | 1 << at);
    }
    Ok(bits)
}

/// A number or name that the field can have.
fn value(field: ScheduleField, word: &str, part: &str) -> Result<u32, ScheduleFault> {
    let names: &[&str] = match field {
        ScheduleField::Month => &MONTHS,
        ScheduleField::Weekday => &WEEKDAYS,
        _ => &[],
    };
    let (low, high) = limits(field);
    if let Some(at) = names.iter().position(|name| word.eq_ignore_ascii_case(name)) {
        return Ok(low + u32::try_from(at).unwrap_or(0));
    }
    let value = number(field, word, part)?;
    if value < low || value > high {
        return Err(ScheduleFault::OutOfRange { field, value, low, high });
    }
    Ok(value)
}

fn number(field: ScheduleField, word: &str, part: &str) -> Result<u32, ScheduleFault> {
    let digits = !word.is_empty() && word.len() <= 4 && word.bytes().all(|byte| byte.is_ascii_digit());
    let value = if digits { word.parse().ok() } else { None };
    value.ok_or_else(|| ScheduleFault::Word { field, word: part.to_owned() })
}

fn limits(field: ScheduleField) -> (u32, u32) {
    match field {
        ScheduleField::Minute => (0, 59),
        ScheduleField::Hour => (0, 23),
        ScheduleField::Day => (1, 31),
        ScheduleField::Month => (1, 12),
        ScheduleField::Weekday => (0, 7),
        ScheduleField::Step => (1, 60),
    }
}

#[cfg(test)]
mod tests;
