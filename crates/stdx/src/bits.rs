//! Bit fields inside a `u64`, named by their lowest bit and their width.
//!
//! ZFS packs several numbers into one word; `get` and `set` are the only two things one does with
//! them.

/// The lowest `len` bits set. `len` may be 0 to 64.
#[inline]
pub const fn mask(len: u32) -> u64 {
    assert!(len <= 64);
    if len == 64 { u64::MAX } else { (1 << len) - 1 }
}

/// The field of `len` bits that starts at bit `low`.
#[inline]
pub const fn get(word: u64, low: u32, len: u32) -> u64 {
    assert!(low < 64 && low + len <= 64);
    (word >> low) & mask(len)
}

/// `word` with that field replaced by `value`, which must fit.
#[inline]
pub const fn set(word: u64, low: u32, len: u32, value: u64) -> u64 {
    assert!(low < 64 && low + len <= 64);
    assert!(value <= mask(len), "value does not fit its bit field");
    (word & !(mask(len) << low)) | (value << low)
}

#[cfg(test)]
mod tests;
