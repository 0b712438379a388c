//! Scrub and resilver, as the pool remembers them: an array of numbers in the pool directory's
//! entry `scan`; a scrub of known errors only has one of its own.
//!
//! Source: include/sys/dsl_scan.h, module/zfs/dsl_scan.c (`dsl_scan_ddt`).

use crate::ddt::Class;
use crate::words::words;
use crate::zbookmark::Zbookmark;

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
/// Of a scrub of what the error log names, in place of [`STATE_SCANNING`].
pub const STATE_ERRORSCRUBBING: u64 = 4;

pub const FLAG_VISIT_DS_AGAIN: u64 = 1 << 0;
pub const FLAG_SCRUB_PAUSED: u64 = 1 << 1;
pub const FLAG_SCRUB_THOROUGH: u64 = 1 << 2;

words! {
    /// `dsl_scan_phys_t`.
    pub struct ScanPhys [16, 192, "scan state"] {
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

impl ScanPhys {
    /// Where the walk stopped.
    pub fn bookmark(&self) -> Zbookmark {
        let level = self.bookmark_level as i64;
        Zbookmark::new(self.bookmark_objset, self.bookmark_object, level, self.bookmark_blkid)
    }

    pub fn set_bookmark(&mut self, bookmark: Zbookmark) {
        self.bookmark_objset = bookmark.objset;
        self.bookmark_object = bookmark.object;
        self.bookmark_level = bookmark.level as u64;
        self.bookmark_blkid = bookmark.blkid;
    }

    pub fn is_running(&self) -> bool {
        self.state == STATE_SCANNING
    }

    /// Tables of deduplication are still to be gone through, as they are before all trees.
    pub fn is_in_tables(&self) -> bool {
        self.ddt_class <= self.ddt_class_max
    }

    /// Pointers to what tables have shown are passed by: blocks that have several.
    pub fn relies_on_tables(&self) -> bool {
        self.ddt_class_max >= Class::Duplicate as u64
    }

    /// The tables are gone through from their beginning; trees go on where they are.
    pub fn return_to_tables(&mut self) {
        (self.ddt_class, self.ddt_type, self.ddt_checksum, self.ddt_cursor) = (0, 0, 0, 0);
    }

    /// The tables need not be gone through any further.
    pub fn leave_tables(&mut self) {
        self.ddt_class = self.ddt_class_max + 1;
        (self.ddt_type, self.ddt_checksum, self.ddt_cursor) = (0, 0, 0);
    }

    pub fn is_paused(&self) -> bool {
        self.flags & FLAG_SCRUB_PAUSED != 0
    }
}

words! {
    /// `dsl_errorscrub_phys_t`, the entry `error_scrub`. Amounts are blocks.
    pub struct ErrorScrubPhys [72, 72, "error scrub state"] {
        func,
        state,
        /// Where it is among the error log's datasets: a cursor.
        cursor,
        start_time,
        end_time,
        to_examine,
        examined,
        errors,
        paused_flags,
    }
}

impl ErrorScrubPhys {
    pub fn is_running(&self) -> bool {
        self.func == FUNC_ERRORSCRUB && self.state == STATE_ERRORSCRUBBING
    }

    pub fn is_paused(&self) -> bool {
        self.is_running() && self.paused_flags != 0
    }
}

#[cfg(test)]
mod tests;
