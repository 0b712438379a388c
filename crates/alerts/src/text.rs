//! Numbers and times as sentences have them. Times are UTC: whoever reads a mail may be elsewhere.

use jiff::Timestamp;
use jiff::fmt::strtime::format;

const UNITS: [&str; 6] = ["bytes", "KiB", "MiB", "GiB", "TiB", "PiB"];

/// `1.5 GiB`
pub fn bytes(number: u64) -> String {
    let index = (number.checked_ilog2().unwrap_or(0) / 10).min(UNITS.len() as u32 - 1);
    match index {
        0 => format!("{number} {}", UNITS[0]),
        _ => format!("{:.1} {}", number as f64 / (1_u64 << (10 * index)) as f64, UNITS[index as usize]),
    }
}

/// Seconds: `90 s`, `15 min`, `3 h`, `2 days`.
pub fn span(seconds: u64) -> String {
    match seconds {
        0..120 => format!("{seconds} s"),
        120..7_200 => format!("{} min", seconds / 60),
        7_200..172_800 => format!("{} h", seconds / 3_600),
        _ => format!("{} days", seconds / 86_400),
    }
}

/// `2026-11-28 08:40 UTC`, of seconds since 1970.
pub fn utc(seconds: i64) -> String {
    in_form("%F %H:%M UTC", seconds)
}

/// `2026-11-28T08:40:05Z`, as RFC 3339 has it.
pub fn stamp(seconds: i64) -> String {
    in_form("%FT%TZ", seconds)
}

fn in_form(pattern: &str, seconds: i64) -> String {
    let stamp = Timestamp::from_second(seconds).ok();
    stamp.and_then(|stamp| format(pattern, stamp).ok()).unwrap_or_else(|| seconds.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_times_are_as_people_say_them() {
        let said = [0, 1_023, 1_024, 1_610_612_736, u64::MAX].map(bytes);
        assert_eq!(said, ["0 bytes", "1023 bytes", "1.0 KiB", "1.5 GiB", "16384.0 PiB"]);
        assert_eq!([0, 119, 120, 7_200, 172_800].map(span), ["0 s", "119 s", "2 min", "2 h", "2 days"]);
        assert_eq!(utc(1_795_855_205), "2026-11-28 08:40 UTC");
        assert_eq!((stamp(0), stamp(i64::MAX)), ("1970-01-01T00:00:00Z".into(), i64::MAX.to_string()));
    }
}
