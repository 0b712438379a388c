//! Numbers in commands and parameter lists: big endian, 0 behind the end.

/// `N` bytes at a place.
pub fn at<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    std::array::from_fn(|byte| bytes.get(at + byte).copied().unwrap_or(0))
}

pub fn u8_at(bytes: &[u8], place: usize) -> u8 {
    at::<1>(bytes, place)[0]
}

pub fn u16_at(bytes: &[u8], place: usize) -> u16 {
    u16::from_be_bytes(at(bytes, place))
}

pub fn u32_at(bytes: &[u8], place: usize) -> u32 {
    u32::from_be_bytes(at(bytes, place))
}

pub fn u64_at(bytes: &[u8], place: usize) -> u64 {
    u64::from_be_bytes(at(bytes, place))
}

/// Cut off where the initiator has no room for more.
pub fn cut(mut bytes: Vec<u8>, room: usize) -> Vec<u8> {
    bytes.truncate(room);
    bytes
}

/// Text in a field of a fixed length, filled up with blanks.
pub fn padded(text: &str, len: usize) -> Vec<u8> {
    let clean = text.bytes().map(|byte| if byte.is_ascii_graphic() { byte } else { b' ' });
    let mut field: Vec<u8> = clean.take(len).collect();
    field.resize(len, b' ');
    field
}
