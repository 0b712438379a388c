//! Binary values of text keys, in hex or base 64 (RFC 7143 6.1).

/// Bytes of the longest that is taken: a CHAP challenge.
pub const LONGEST: usize = 1024;

pub fn hex(bytes: &[u8]) -> String {
    let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("0x{digits}")
}

/// `None` for what is no such value, or too long.
pub fn bytes(text: &str) -> Option<Vec<u8>> {
    if text.len() > 2 * LONGEST + 2 {
        return None;
    }
    let (form, digits) = text.split_at_checked(2)?;
    match form {
        "0x" | "0X" => {
            let digits = digits.as_bytes();
            let pairs = digits.len().is_multiple_of(2).then(|| digits.chunks_exact(2))?;
            let value = |digit: u8| (digit as char).to_digit(16);
            pairs.map(|pair| Some((value(pair[0])? << 4 | value(pair[1])?) as u8)).collect()
        }
        "0b" | "0B" => base64(digits.trim_end_matches('=')),
        _ => None,
    }
}

fn base64(digits: &str) -> Option<Vec<u8>> {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let (mut bits, mut count, mut bytes) = (0u32, 0, Vec::new());
    for digit in digits.bytes() {
        bits = bits << 6 | DIGITS.iter().position(|known| *known == digit)? as u32;
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count) as u8);
            bits &= (1 << count) - 1;
        }
    }
    Some(bytes)
}
