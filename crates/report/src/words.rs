//! Numbers as people read them, and names of others as text.

use alerts::text::{bytes, span, utc};

/// Characters of a name or sentence.
const LONGEST: usize = 120;

/// A name that others have given: one line, bounded, and nothing that changes the direction of what
/// stands beside it.
pub fn safe(text: &str) -> String {
    let plain = |it: char| if it.is_control() || is_mark(it) { '\u{fffd}' } else { it };
    let mut safe: String = text.chars().map(plain).take(LONGEST).collect();
    if text.chars().nth(LONGEST).is_some() {
        safe.push('…');
    }
    safe
}

/// Marks of Unicode's that turn the direction of text, or break lines.
fn is_mark(it: char) -> bool {
    matches!(it, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// `12.3 MiB/s`
pub fn rate(value: f64) -> String {
    format!("{}/s", size(value))
}

/// Bytes that were measured.
pub fn size(value: f64) -> String {
    bytes(value.max(0.0) as u64)
}

/// `3.4 ms`, of seconds.
pub fn time(seconds: f64) -> String {
    match seconds * 1_000.0 {
        millis if millis < 1.0 => format!("{:.0} µs", millis * 1_000.0),
        millis if millis < 10.0 => format!("{millis:.1} ms"),
        millis if millis < 1_000.0 => format!("{millis:.0} ms"),
        millis => format!("{:.1} s", millis / 1_000.0),
    }
}

/// `1 snapshot`, `2 snapshots`.
pub fn count(number: u64, one: &str) -> String {
    match number {
        1 => format!("1 {one}"),
        _ => format!("{number} {one}s"),
    }
}

/// `3 h`, of seconds between two moments.
pub fn between(from: i64, to: i64) -> String {
    span(u64::try_from(to.saturating_sub(from)).unwrap_or(0))
}

/// `2026-11-28`
pub fn day(seconds: i64) -> String {
    utc(seconds).chars().take(10).collect()
}

/// A number that a picture may reach up to: the next of 1, 2, 5 × 10ⁿ times a unit, of bytes by
/// 1,024.
pub fn round_bytes(value: f64) -> f64 {
    let mut unit = 1.0;
    while value > unit * 1_024.0 {
        unit *= 1_024.0;
    }
    if value > unit * 512.0 { unit * 1_024.0 } else { unit * round(value / unit) }
}

/// The next of 1, 2, 5 × 10ⁿ.
pub fn round(value: f64) -> f64 {
    if !value.is_finite() || value <= 0.0 {
        return 1.0;
    }
    let ten = 10f64.powi(value.log10().floor() as i32);
    let step = [1.0, 2.0, 5.0, 10.0].into_iter().find(|step| value <= step * ten * 1.000_001);
    step.unwrap_or(10.0) * ten
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_stays_one_line_and_turns_nothing_around() {
        assert_eq!(safe("tank/a\u{202e}gnp.exe\n\r\0"), "tank/a\u{fffd}gnp.exe\u{fffd}\u{fffd}\u{fffd}");
        assert_eq!(safe("שלום <b>\"'&"), "שלום <b>\"'&");
        assert_eq!(safe(&"é".repeat(500)).chars().count(), LONGEST + 1);
    }

    #[test]
    fn numbers_are_as_people_read_them() {
        assert_eq!([0.000_05, 0.0034, 0.25, 3.0].map(time), ["50 µs", "3.4 ms", "250 ms", "3.0 s"]);
        assert_eq!((count(1, "run"), count(0, "run")), ("1 run".into(), "0 runs".into()));
        assert_eq!(rate(1_610_612_736.0), "1.5 GiB/s");
        assert_eq!([0.0, 1.0, 1.1, 37.0, 0.003].map(round), [1.0, 1.0, 2.0, 50.0, 0.005]);
        let mib = f64::from(1 << 20);
        assert_eq!([30.0 * mib, 600.0 * mib, 0.0].map(round_bytes), [50.0 * mib, 1_024.0 * mib, 1.0]);
    }
}
