//! What an operator sees of a scan: plain data, as `pool_scan_stat_t` has it.

use env::lock;
use ondisk::scan::{ErrorScrubPhys, ScanPhys};

use crate::spa::Pool;

/// See the module. Bytes, and seconds since 1970.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ScanReport {
    /// As it is on disk, with the counts as of now.
    pub phys: ScanPhys,
    /// Looked at so far.
    pub issued: u64,
    /// Since the import or the beginning.
    pub pass_start: u64,
    pub pass_examined: u64,
    pub pass_issued: u64,
    /// Since when it pauses; 0 while it does not.
    pub paused: u64,
    pub spent_paused: u64,
    /// The scrub of known errors that runs, or the last one since the last scan; and since when it
    /// pauses.
    pub errors: ErrorScrubPhys,
    pub errors_paused: u64,
}

impl Pool {
    /// Whether disks are being given what they lack, in one way or the other.
    pub fn is_resilvering(&self) -> bool {
        self.core.scan.is_resilvering() || self.core.rebuilds.is_active()
    }

    /// The scan that runs, or the last one.
    pub fn scan_report(&self) -> ScanReport {
        let state = lock(&self.core.scan.state);
        let pace = state.pace;
        let mut phys = if state.live.is_running() { state.live } else { state.stored.phys };
        if phys.is_running() {
            phys.flags = state.stored.phys.flags;
            phys.processed = state.processed(self.core.storage.scan_processed());
        }
        ScanReport {
            phys,
            issued: pace.issued_before + pace.issued,
            pass_start: pace.start,
            pass_examined: pace.examined,
            pass_issued: pace.issued,
            paused: if phys.is_paused() { pace.paused.max(pace.start) } else { 0 },
            spent_paused: pace.spent_paused,
            errors: state.errors.live,
            errors_paused: state.errors.paused,
        }
    }
}
