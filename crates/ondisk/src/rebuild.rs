//! How far the sequential rebuild of a top-level vdev is: an array of numbers in the vdev's ZAP.
//!
//! Source: include/sys/vdev_rebuild.h (`vdev_rebuild_phys_t`), include/sys/fs/zfs.h
//! (`vdev_rebuild_state_t`).

use crate::words::words;

/// The entry of a top-level vdev's ZAP.
pub const REBUILD: &str = "org.openzfs:vdev_rebuild";

pub const STATE_NONE: u64 = 0;
pub const STATE_ACTIVE: u64 = 1;
pub const STATE_CANCELED: u64 = 2;
pub const STATE_COMPLETE: u64 = 3;

words! {
    /// `vdev_rebuild_phys_t`. Times in seconds since 1970, amounts in bytes of the vdev's space.
    pub struct RebuildPhys [96, 96, "rebuild state"] {
        state,
        /// Everything allocated before it is done.
        last_offset,
        /// Births of what disks lacked: after the first number, and before the second.
        min_txg,
        max_txg,
        start_time,
        end_time,
        /// Milliseconds that it has run.
        scan_time_ms,
        scanned,
        issued,
        rebuilt,
        estimated,
        errors,
    }
}

impl RebuildPhys {
    pub fn is_active(&self) -> bool {
        self.state == STATE_ACTIVE
    }
}
