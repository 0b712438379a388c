//! Schedules, levels and windows, as people type them and as they are shown.

use crate::fail::{Stop, usage};
use api_types::{Schedule, SnapKeep, SnapLevel, Weekday, When, Window};
use stdx::span;

const WEEKDAYS: [(&str, Weekday); 7] = [
    ("monday", Weekday::Monday),
    ("tuesday", Weekday::Tuesday),
    ("wednesday", Weekday::Wednesday),
    ("thursday", Weekday::Thursday),
    ("friday", Weekday::Friday),
    ("saturday", Weekday::Saturday),
    ("sunday", Weekday::Sunday),
];

/// `HH:MM`; midnight where there is nothing.
fn time_of_day(text: &str) -> Option<(u8, u8)> {
    if text.is_empty() {
        return Some((0, 0));
    }
    let (hour, minute) = text.split_once(':')?;
    Some((hour.parse().ok()?, minute.parse().ok()?))
}

/// A word, and a time of day behind it.
fn day_and_time(text: &str) -> Option<(&str, (u8, u8))> {
    let (day, time) = text.split_once(' ').unwrap_or((text, ""));
    Some((day, time_of_day(time.trim())?))
}

fn known(word: &str, at: &str) -> Option<When> {
    let step = |text: &str| text.parse().ok();
    Some(match word {
        "hourly" => When::Hour { step: 1, minute: if at.is_empty() { 0 } else { at.parse().ok()? } },
        "daily" => {
            let (hour, minute) = time_of_day(at)?;
            When::Day { hour, minute }
        }
        "weekly" => {
            let (day, (hour, minute)) = day_and_time(at)?;
            let day = if day.is_empty() { "sunday" } else { day };
            let (_, weekday) = WEEKDAYS.into_iter().find(|(name, _)| *name == day)?;
            When::Week { weekday, hour, minute }
        }
        "monthly" => {
            let (day, (hour, minute)) = day_and_time(at)?;
            When::Month { day: if day.is_empty() { 1 } else { day.parse().ok()? }, hour, minute }
        }
        "yearly" => {
            let (day, (hour, minute)) = day_and_time(at)?;
            let (month, day) = if day.is_empty() { ("1", "1") } else { day.split_once('-')? };
            When::Year { month: month.parse().ok()?, day: day.parse().ok()?, hour, minute }
        }
        word if at.is_empty() => match word.split_at_checked(word.len().saturating_sub(1))? {
            (seconds, "s") => When::Second { step: step(seconds)? },
            (minutes, "m") => When::Minute { step: step(minutes)?, offset: 0 },
            (hours, "h") => When::Hour { step: step(hours)?, minute: 0 },
            _ => return None,
        },
        _ => return None,
    })
}

/// See `cistern svc`'s usage. What it says is judged by the daemon.
pub fn when(text: &str) -> Result<When, Stop> {
    let (word, at) = text.split_once('@').unwrap_or((text, ""));
    match known(word, at) {
        Some(when) => Ok(when),
        None if text.split_whitespace().count() == 5 => Ok(When::Cron { pattern: text.to_owned() }),
        None => usage(format!(
            "'{text}' is no schedule: 15m, 2h, hourly, daily@02:30, 'weekly@sunday 03:00', 'monthly@1 04:00', \
             yearly@01-01 or five fields as cron has them"
        )),
    }
}

/// As [`when`] takes it.
pub fn shown(schedule: &Schedule) -> String {
    let zone = schedule.zone.as_ref().map_or_else(String::new, |zone| format!(" in {zone}"));
    format!("{}{zone}", shown_when(&schedule.when))
}

fn shown_when(when: &When) -> String {
    match when {
        When::Second { step } => format!("{step}s"),
        When::Minute { step, offset: 0 } => format!("{step}m"),
        When::Minute { step, offset } => format!("{step}m from minute {offset}"),
        When::Hour { step: 1, minute: 0 } => "hourly".to_owned(),
        When::Hour { step: 1, minute } => format!("hourly@{minute}"),
        When::Hour { step, minute: 0 } => format!("{step}h"),
        When::Hour { step, minute } => format!("{step}h at minute {minute}"),
        When::Day { hour, minute } => format!("daily@{hour:02}:{minute:02}"),
        When::Week { weekday, hour, minute } => {
            let name = WEEKDAYS.iter().find(|(_, day)| day == weekday).map_or("", |(name, _)| name);
            format!("weekly@{name} {hour:02}:{minute:02}")
        }
        When::Month { day, hour, minute } => format!("monthly@{day} {hour:02}:{minute:02}"),
        When::Year { month, day, hour, minute } => {
            format!("yearly@{month:02}-{day:02} {hour:02}:{minute:02}")
        }
        When::Cron { pattern } => format!("'{pattern}'"),
    }
}

const YEAR: (&str, u64) = ("y", 365 * 86_400);

/// `90d`, `12h`: in seconds.
pub fn age(text: &str) -> Option<u64> {
    span::parse(text, &[&span::UNITS[..], &[YEAR]].concat())
}

/// Of seconds, in the largest unit that does.
pub fn shown_age(seconds: u64) -> String {
    let fits = |(_, unit): &&(&str, u64)| seconds.is_multiple_of(*unit) && seconds > 0;
    let units = span::UNITS.iter().take(4).rev();
    let found = units.into_iter().find(fits);
    found.map_or_else(|| format!("{seconds}s"), |(name, unit)| format!("{}{name}", seconds / unit))
}

/// A level: `NAME=KEEP` or `NAME:WHEN=KEEP`.
pub fn level(text: &str, zone: Option<&str>) -> Result<SnapLevel, Stop> {
    let Some((left, kept)) = text.split_once('=') else {
        return usage(format!("'{text}' is no level: hourly=24, or night:daily@02:30=90d,least=3"));
    };
    let (name, when_text) = match left.split_once(':') {
        Some((name, when)) => (name, when),
        None if left == "frequent" => (left, "15m"),
        None => (left, left),
    };
    let schedule = Schedule { when: when(when_text)?, zone: zone.map(str::to_owned) };
    Ok(SnapLevel { name: name.to_owned(), schedule, keep: keep(kept)? })
}

/// What is kept: `24`, `30d`, `100,90d`, and `least=3` behind a comma.
fn keep(text: &str) -> Result<SnapKeep, Stop> {
    let mut keep = SnapKeep::default();
    for part in text.split(',') {
        match (part.parse(), part.strip_prefix("least=").map(str::parse), age(part)) {
            (Ok(count), ..) => keep.count = Some(count),
            (_, Some(Ok(least)), _) => keep.at_least = least,
            (_, _, Some(age)) => keep.age = Some(age),
            _ if part == "all" => {}
            _ => return usage(format!("'{part}' does not say what is kept: 24, 30d, least=3 or all")),
        }
    }
    Ok(keep)
}

pub fn shown_level(level: &SnapLevel) -> String {
    let SnapKeep { count, age, at_least } = level.keep;
    let mut kept: Vec<String> = count.iter().map(u32::to_string).collect();
    kept.extend(age.map(shown_age));
    if kept.is_empty() {
        kept.push("all".to_owned());
    }
    kept.extend((at_least > 0).then(|| format!("least={at_least}")));
    let when = shown(&level.schedule);
    // As its name says already.
    let is_named = known(if level.name == "frequent" { "15m" } else { &level.name }, "")
        .is_some_and(|said| said == level.schedule.when && level.schedule.zone.is_none());
    let when = if is_named { String::new() } else { format!(":{when}") };
    format!("{}{when}={}", level.name, kept.join(","))
}

/// `22:00-06:00`.
pub fn window(text: &str) -> Result<Option<Window>, Stop> {
    if text == "none" {
        return Ok(None);
    }
    let minutes = |text: &str| {
        let (hour, minute) = time_of_day(text).filter(|_| !text.is_empty())?;
        Some(u16::from(hour) * 60 + u16::from(minute))
    };
    let both = text.split_once('-').and_then(|(from, until)| Some((minutes(from)?, minutes(until)?)));
    match both {
        Some((from, until)) => Ok(Some(Window { from, until })),
        None => usage(format!("'{text}' is no window: 22:00-06:00, or none")),
    }
}

pub fn shown_window(window: &Window) -> String {
    let shown = |minutes: u16| format!("{:02}:{:02}", minutes / 60, minutes % 60);
    format!("{}-{}", shown(window.from), shown(window.until))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schedule_is_shown_as_it_is_typed() {
        for text in [
            "15m",
            "2h",
            "hourly",
            "hourly@20",
            "daily@02:30",
            "weekly@sunday 03:00",
            "monthly@1 04:00",
            "yearly@02-29 00:05",
            "'30 2 * * mon-fri'",
        ] {
            let typed = when(text.trim_matches('\'')).expect("a schedule");
            assert_eq!(shown_when(&typed), text);
        }
        assert_eq!(when("weekly").expect("a schedule"), when("weekly@sunday").expect("a schedule"));
        for bad in ["", "x", "daily@2", "weekly@someday", "monthly@x", "m", "15m@3", "1 2 3 4"] {
            assert!(when(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_level_is_shown_as_it_is_typed() {
        for text in ["hourly=24", "frequent=4", "night:daily@02:30=90d,least=3", "often:10m=36", "all:2h=all"]
        {
            assert_eq!(shown_level(&level(text, None).expect("a level")), text);
        }
        let cron = level("x:0 1 * * *=100,2d", None).expect("a level");
        assert_eq!(shown_level(&cron), "x:'0 1 * * *'=100,2d");
        assert_eq!(level("daily=30", None).expect("a level").keep.count, Some(30));
        assert!(
            level("daily=2w,least=1", None)
                .is_ok_and(|it| it.keep.age == Some(1_209_600) && it.keep.at_least == 1)
        );
        for bad in ["daily", "daily=", "daily=x", "nightly=3", "=3"] {
            assert!(level(bad, None).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_window_is_shown_as_it_is_typed() {
        let typed = window("22:00-06:05").expect("a window").expect("one");
        assert_eq!(shown_window(&typed), "22:00-06:05");
        assert!(
            window("none").expect("a window").is_none() && window("22-6").is_err() && window("-").is_err()
        );
    }
}
