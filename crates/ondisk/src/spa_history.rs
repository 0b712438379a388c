//! Where the pool's history begins and ends: the bonus of its object (`DMU_OT_SPA_HISTORY_OFFSETS`).
//!
//! Source: include/sys/spa_impl.h.

use crate::words::words;

words! {
    /// `spa_history_phys_t`. Positions count bytes ever written; `max_off` and `create_len` are offsets.
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
