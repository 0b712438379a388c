//! Times of day in the local time zone.

use std::sync::OnceLock;

use jiff::civil::DateTime;
use jiff::{Timestamp, tz::TimeZone};

/// The zone of this process. It is asked for once: where it was told there may be a title later.
fn zone() -> TimeZone {
    static ZONE: OnceLock<TimeZone> = OnceLock::new();
    ZONE.get_or_init(TimeZone::system).clone()
}

fn format(seconds: u64, pattern: &str) -> Option<String> {
    let stamp = Timestamp::from_second(i64::try_from(seconds).ok()?).ok()?;
    jiff::fmt::strtime::format(pattern, &stamp.to_zoned(zone())).ok()
}

/// `Sat Nov 21  5:24 2026`, as `zfs get creation` has it.
pub fn date(seconds: u64) -> String {
    format(seconds, "%a %b %e %k:%M %Y").unwrap_or_else(|| seconds.to_string())
}

/// `2026-11-21.05:24:22`, as `zpool history` has it.
pub fn stamp(seconds: u64) -> String {
    format(seconds, "%F.%T").unwrap_or_else(|| seconds.to_string())
}

/// `Sat Nov 21 05:24:22 2026`, as ctime(3) has it.
pub fn ctime(seconds: u64) -> String {
    format(seconds, "%a %b %e %T %Y").unwrap_or_else(|| seconds.to_string())
}

/// Seconds since 1970 of a date with or without a time of day, in the local time zone:
/// `2026-11-21 05:24`, or as [`stamp`] has it. `None`: it is none.
pub fn parse(text: &str) -> Option<i64> {
    let stamped = DateTime::strptime("%F.%T", text);
    let time: DateTime = stamped.or_else(|_| text.parse()).ok()?;
    Some(time.to_zoned(zone()).ok()?.timestamp().as_second())
}

/// Seconds since 1970.
pub fn seconds() -> u64 {
    u64::try_from(Timestamp::now().as_second()).unwrap_or(0)
}

/// `Nov 21 2026 05:24:22.123456789`, as `zpool events` has it.
pub fn event(seconds: i64, nanos: u32) -> String {
    let whole = u64::try_from(seconds).ok().and_then(|seconds| format(seconds, "%b %e %Y %T"));
    whole.map_or_else(|| seconds.to_string(), |whole| format!("{whole}.{nanos:09}"))
}

/// The time of day now: `05:24:22`.
pub fn time() -> String {
    u64::try_from(Timestamp::now().as_second()).ok().and_then(|now| format(now, "%T")).unwrap_or_default()
}

/// The time now for `-T d`: `Sat Nov 21 05:24:22 2026`, or for `-T u` in seconds.
pub fn now(unix: bool) -> String {
    let now = Timestamp::now();
    if unix {
        return now.as_second().to_string();
    }
    jiff::fmt::strtime::format("%a %b %e %T %Y", &now.to_zoned(zone())).unwrap_or_default()
}
