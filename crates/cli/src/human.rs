//! Numbers for people, in five characters (lib/libzutil/zutil_nicenum.c), and sizes as people type them.

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

/// Bytes as people type them: 512, 64K, 1.5G; `None` for anything else (`zfs_nicestrtonum`).
pub fn bytes(text: &str) -> Option<u64> {
    let unit = text.trim_end_matches(['B', 'b']);
    let (number, shift) = match unit.char_indices().last()? {
        (at, letter) if letter.is_ascii_alphabetic() => {
            let index = UNITS.iter().position(|unit| *unit == letter.to_ascii_uppercase().to_string())?;
            (&unit[..at], 10 * index as u32)
        }
        _ => (unit, 0),
    };
    let value = number.parse::<f64>().ok().filter(|value| *value >= 0.0)? * (1u64 << shift) as f64;
    (value < u64::MAX as f64).then_some(value as u64)
}

#[cfg(test)]
mod tests;
