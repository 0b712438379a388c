//! The hash of a ZAP key: a CRC-64 (ECMA polynomial, reflected) that starts from the table's salt,
//! of which only the top 28 or 48 bits count. And the cursor: a place in hash order, packed into
//! one number.
//!
//! Source: module/zfs/zap_impl.c `zap_hash`, module/zfs/zap.c `zap_cursor_serialize`.

const POLY: u64 = 0xC96C_5795_D787_0F42;

const TABLE: [u64; 256] = {
    let mut table = [0; 256];
    let mut i = 0;
    while i < 256 {
        let mut crc = i as u64;
        let mut bit = 0;
        while bit < 8 {
            crc = if crc & 1 != 0 { (crc >> 1) ^ POLY } else { crc >> 1 };
            bit += 1;
        }
        table[i] = crc;
        i += 1;
    }
    table
};

/// Bits of a hash that count.
pub const fn hash_bits(zap_flags: u64) -> u32 {
    if zap_flags & super::FLAG_HASH64 != 0 { 48 } else { 28 }
}

fn truncate(hash: u64, zap_flags: u64) -> u64 {
    hash & !((1 << (64 - hash_bits(zap_flags))) - 1)
}

fn crc(start: u64, bytes: impl IntoIterator<Item = u8>) -> u64 {
    bytes.into_iter().fold(start, |h, byte| (h >> 8) ^ TABLE[usize::from(h as u8 ^ byte)])
}

/// Of a name, already normalised as the ZAP asks for and without its NUL. `salt` is never 0. Micro
/// ZAPs have flags 0.
pub fn of_name(name: &[u8], salt: u64, zap_flags: u64) -> u64 {
    truncate(crc(salt, name.iter().copied()), zap_flags)
}

/// Of a key of numbers ([`super::FLAG_UINT64_KEY`]), each hashed from its low byte up.
pub fn of_words(key: &[u64], salt: u64, zap_flags: u64) -> u64 {
    if zap_flags & super::FLAG_PRE_HASHED_KEY != 0 {
        return truncate(key.first().copied().unwrap_or(0), zap_flags);
    }
    truncate(crc(salt, key.iter().flat_map(|word| word.to_le_bytes())), zap_flags)
}

/// Beginning (the lowest place) of the hashes after those that share the first `prefix_len` bits
/// with this one.
pub fn after_prefix(hash: u64, prefix_len: u32) -> Option<u64> {
    let span = 1_u64.checked_shl(64_u32.checked_sub(prefix_len)?)?;
    (hash & !(span - 1)).checked_add(span)
}

/// A place in a ZAP: entries with equal hashes are told apart by their collision differentiator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Cursor {
    pub hash: u64,
    pub cd: u32,
}

impl Cursor {
    /// The serialized form of "at the end".
    pub const END: u64 = u64::MAX;

    /// The differentiator above the hash's bits, so that usually 32 bits are enough.
    pub fn serialize(self, zap_flags: u64) -> u64 {
        let bits = hash_bits(zap_flags);
        (self.hash >> (64 - bits)) | u64::from(self.cd) << bits
    }

    /// Any number is a place; a differentiator that cannot be counts as 0.
    pub fn deserialize(serialized: u64, zap_flags: u64) -> Cursor {
        let bits = hash_bits(zap_flags);
        let max = if bits == 48 { u32::from(u16::MAX) } else { u32::MAX };
        let cd = u32::try_from(serialized >> bits).ok().filter(|cd| *cd < max).unwrap_or(0);
        Cursor { hash: serialized << (64 - bits), cd }
    }
}

#[cfg(test)]
mod tests;
