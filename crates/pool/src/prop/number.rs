//! Sizes as people write them: `10G`, `1.5t`, `131072`, `0x20000`.
//!
//! Source: lib/libzfs/libzfs_util.c (`zfs_nicestrtonum`).

/// `None`: no number, or one beyond 64 bits.
pub fn parse_number(text: &str) -> Option<u64> {
    if let Some(hex) = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        return u64::from_str_radix(hex, 16).ok();
    }
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    if number.is_empty() || !number.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let shift = shift_of(unit)?;
    if let Ok(whole) = number.parse::<u64>() {
        return whole.checked_shl(shift).filter(|value| value >> shift == whole);
    }
    let value = number.parse::<f64>().ok()? * (1u64 << shift) as f64;
    (value < u64::MAX as f64).then_some(value as u64)
}

fn shift_of(unit: &str) -> Option<u32> {
    let unit = unit.to_ascii_uppercase();
    let Some(letter) = unit.chars().next() else { return Some(0) };
    let power = "BKMGTPEZ".find(letter)? as u32;
    let rest = &unit[1..];
    let known = rest.is_empty() || (power > 0 && (rest == "B" || rest == "IB"));
    (known && power < 7).then_some(10 * power)
}
