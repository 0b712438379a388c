//! Sizes as people write them: `10G`, `1.5t`, `131072`.
//!
//! Source: OpenZFS's lib/libzfs/libzfs_util.c (`zfs_nicestrtonum`, `str2shift`).

const TOO_LARGE: &str = "numeric value is too large";

/// The number; or what is wrong with the text, in libzfs's words.
pub fn parse(text: &str) -> Result<u64, String> {
    if !text.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
        return Err(format!("bad numeric value '{text}'"));
    }
    let whole = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    if !text[whole..].starts_with('.') {
        let (number, unit) = text.split_at(whole);
        let number = number.parse::<u64>().map_err(|_| TOO_LARGE)?;
        let shift = shift_of(unit)?;
        let shifted = number.checked_shl(shift).filter(|value| value >> shift == number);
        return shifted.ok_or_else(|| TOO_LARGE.into());
    }
    let fraction = &text[whole + 1..];
    let end = whole + 1 + fraction.find(|c: char| !c.is_ascii_digit()).unwrap_or(fraction.len());
    let (number, unit) = text.split_at(end);
    // A lone dot is no number: all of it is taken for a unit then.
    let number: f64 = number.parse().map_err(|_| unknown(text))?;
    let value = number * 2f64.powi(shift_of(unit)? as i32);
    if value < u64::MAX as f64 { Ok(value as u64) } else { Err(TOO_LARGE.into()) }
}

fn unknown(unit: &str) -> String {
    format!("invalid numeric suffix '{unit}'")
}

fn shift_of(unit: &str) -> Result<u32, String> {
    let upper = unit.to_ascii_uppercase();
    let Some(letter) = upper.chars().next() else { return Ok(0) };
    let power = "BKMGTPEZ".find(letter).ok_or_else(|| unknown(unit))? as u32;
    let rest = &upper[1..];
    let known = rest.is_empty() || (power > 0 && (rest == "B" || rest == "IB"));
    if known { Ok(10 * power) } else { Err(unknown(unit)) }
}

#[cfg(test)]
mod tests;
