//! A bookmark: what remains of a snapshot, so that an incremental send can start from it. The value
//! of a ZAP entry, as an array of 3 or 12 numbers.
//!
//! Source: include/sys/dsl_bookmark.h.

use crate::words::words;

/// The `*_freed_before_next_snap` fields are kept.
pub const FLAG_HAS_FBN: u64 = 1 << 0;
/// The snapshot still exists.
pub const FLAG_SNAPSHOT_EXISTS: u64 = 1 << 1;

words! {
    /// `zfs_bookmark_phys_t`. The first three numbers alone are the first version of it.
    pub struct BookmarkPhys [24, 96, "bookmark"] {
        guid,
        creation_txg,
        /// Seconds since 1970.
        creation_time,
        /// Redaction list; 0: none.
        redaction_obj,
        /// `FLAG_*`.
        flags,
        referenced_bytes_refd,
        compressed_bytes_refd,
        uncompressed_bytes_refd,
        referenced_freed_before_next_snap,
        compressed_freed_before_next_snap,
        uncompressed_freed_before_next_snap,
        ivset_guid,
    }
}

#[cfg(test)]
mod tests;
