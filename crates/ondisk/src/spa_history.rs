//! Where the pool's history begins and ends: the bonus of its object
//! (`DMU_OT_SPA_HISTORY_OFFSETS`).
//!
//! Source: include/sys/spa_impl.h.

use crate::words::words;

words! {
    /// `spa_history_phys_t`. Positions count bytes ever written; `max_off` and `create_len` are
    /// offsets.
    pub struct SpaHistoryPhys [40, 40, "history offsets"] {
        /// Bytes of the first record, the pool's creation, which is never overwritten.
        create_len,
        /// Size of the object.
        max_off,
        /// The oldest record kept, after the first.
        bof,
        /// One past the newest.
        eof,
        records_lost,
    }
}

/// Bytes of the number before each record: its length.
pub const LENGTH_SIZE: usize = 8;

/// The number before a record of `len` bytes; little endian on every machine.
pub fn encode_length(len: u64) -> [u8; LENGTH_SIZE] {
    len.to_le_bytes()
}

/// The length a record says it has; 0 where there are no eight bytes.
pub fn decode_length(bytes: &[u8]) -> u64 {
    bytes.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes))
}
