//! Numbers for people, in five characters (lib/libzutil/zutil_nicenum.c).

const UNITS: [&str; 7] = ["", "K", "M", "G", "T", "P", "E"];

/// 1.50G, 24K, 1023, 10.0K: a count in powers of 1024.
pub fn nicenum(number: u64) -> String {
    let mut index = 0;
    let mut whole = number;
    while whole >= 1024 && index < 6 {
        whole /= 1024;
        index += 1;
    }
    let unit = UNITS[index];
    let divisor = 1u64 << (10 * index);
    if index == 0 || number.is_multiple_of(divisor) {
        return format!("{whole}{unit}");
    }
    let value = number as f64 / divisor as f64;
    let with = |digits: usize| format!("{value:.digits$}{unit}");
    [2, 1].into_iter().map(with).find(|text| text.len() <= 5).unwrap_or_else(|| with(0))
}

/// The same for bytes: 0B, 512B, 1.50G.
pub fn nicebytes(number: u64) -> String {
    if number < 1024 { format!("{number}B") } else { nicenum(number) }
}

/// Nanoseconds, cut off: 12us, 8ms; `-` for none.
pub fn nicetime(nanos: u64) -> String {
    const TIMES: [&str; 4] = ["ns", "us", "ms", "s"];
    let (mut value, mut index) = (nanos, 0);
    while value >= 1000 && index < 3 {
        value /= 1000;
        index += 1;
    }
    if nanos == 0 { "-".to_owned() } else { format!("{value}{}", TIMES[index]) }
}

#[cfg(test)]
mod tests;
