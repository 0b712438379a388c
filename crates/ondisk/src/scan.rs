//! Scrub and resilver, as the pool remembers them: an array of numbers in the pool directory's entry `scan`.
//! And the list of trees still to be freed (`bptree_obj`).
//!
//! Sources: include/sys/dsl_scan.h, include/sys/bptree.h.

use crate::words::words;

/// What runs: `func`.
pub const FUNC_NONE: u64 = 0;
pub const FUNC_SCRUB: u64 = 1;
pub const FUNC_RESILVER: u64 = 2;
pub const FUNC_ERRORSCRUB: u64 = 3;

/// How far it is: `state`.
pub const STATE_NONE: u64 = 0;
pub const STATE_SCANNING: u64 = 1;
pub const STATE_FINISHED: u64 = 2;
pub const STATE_CANCELED: u64 = 3;

pub const FLAG_VISIT_DS_AGAIN: u64 = 1 << 0;
pub const FLAG_SCRUB_PAUSED: u64 = 1 << 1;
pub const FLAG_SCRUB_THOROUGH: u64 = 1 << 2;

words! {
    /// `dsl_scan_phys_t`.
    pub struct ScanPhys [192, 192, "scan state"] {
        func,
        state,
        queue_obj,
        min_txg,
        max_txg,
        cur_min_txg,
        cur_max_txg,
        start_time,
        end_time,
        to_examine,
        examined,
        skipped,
        processed,
        errors,
        ddt_class_max,
        ddt_class,
        ddt_type,
        ddt_checksum,
        ddt_cursor,
        bookmark_objset,
        bookmark_object,
        bookmark_level,
        bookmark_blkid,
        flags,
    }
}

words! {
    /// Bonus of the list of trees to free (`bptree_phys_t`): entries from `begin` to `end`, and their space.
    pub struct BptreePhys [40, 40, "bptree"] {
        begin,
        end,
        bytes,
        comp,
        uncomp,
    }
}

#[cfg(test)]
mod tests;
