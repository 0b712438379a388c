//! Bytes that are written as octal numbers of three digits behind a backslash, as proc(5) has them
//! in its tables.

/// The bytes of a field. A backslash without such a number behind it stands for itself.
pub fn unescape(field: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field;
    while let [first, others @ ..] = rest {
        if let [b'\\', high @ b'0'..=b'3', mid @ b'0'..=b'7', low @ b'0'..=b'7', behind @ ..] = rest {
            bytes.push(((high - b'0') << 6) | ((mid - b'0') << 3) | (low - b'0'));
            rest = behind;
        } else {
            bytes.push(*first);
            rest = others;
        }
    }
    bytes
}

#[cfg(test)]
mod tests;
