//! Spans of time as people write them: `90s`, `30m`, `12h`, `1d`, `2w`.

/// Units and their seconds. How long a year is, who knows years says himself.
pub const UNITS: [(&str, u64); 5] = [("s", 1), ("m", 60), ("h", 3_600), ("d", 86_400), ("w", 7 * 86_400)];

/// Seconds of digits with one of these units behind; `None`: it is none, or too long.
pub fn parse(text: &str, units: &[(&str, u64)]) -> Option<u64> {
    let (digits, seconds) =
        units.iter().find_map(|(unit, seconds)| Some((text.strip_suffix(unit)?, seconds)))?;
    // A sign is no digit, though `parse` takes one.
    let is_plain = digits.bytes().all(|byte| byte.is_ascii_digit());
    digits.parse::<u64>().ok().filter(|_| is_plain)?.checked_mul(*seconds)
}

#[cfg(test)]
mod tests;
