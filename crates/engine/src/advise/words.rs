//! Numbers in sentences.

/// Three digits are enough for a prediction.
fn digits(value: f64) -> String {
    match value {
        v if v >= 100.0 => format!("{v:.0}"),
        v if v >= 10.0 => format!("{v:.1}"),
        v => format!("{v:.2}"),
    }
}

/// Nanoseconds: `8.40 ms`.
pub fn time(nanos: f64) -> String {
    match nanos {
        n if n >= 1e9 => format!("{} s", digits(n / 1e9)),
        n if n >= 1e6 => format!("{} ms", digits(n / 1e6)),
        n => format!("{} µs", digits(n / 1e3)),
    }
}

/// `64.0 GiB`
pub fn bytes(value: f64) -> String {
    const UNITS: [&str; 6] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
    let (mut value, mut index) = (value, 0);
    while value >= 1024.0 && index + 1 < UNITS.len() {
        value /= 1024.0;
        index += 1;
    }
    format!("{} {}", digits(value), UNITS[index])
}

/// A number of things, or of things a second: `1,234`.
pub fn count(value: f64) -> String {
    let plain = format!("{:.0}", value.max(0.0));
    let mut text = String::new();
    for (n, digit) in plain.chars().enumerate() {
        if n > 0 && (plain.len() - n).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A share of 1: `97 %`.
pub fn percent(share: f64) -> String {
    format!("{:.0} %", 100.0 * share)
}

/// How many times as much: `6.1 times`.
pub fn times(factor: f64) -> String {
    format!("{factor:.1} times")
}
