//! Virtual time. It passes only where somebody says so. The driver advances it a little with each
//! step, and in jumps when nobody has anything to do; a disk while it works; a workload before an
//! operation. A case that goes on from a record begins at the moment of the record.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use env::{Nanos, WallTime};

/// The wall clock when the simulated machine was first switched on: 2024-01-01 00:00:00 UTC.
const EPOCH_SECS: i64 = 1_704_067_200;

/// The time of one simulated world, going on across its restarts. Clones share it.
#[derive(Clone, Default)]
pub struct Time(Arc<AtomicU64>);

impl Time {
    pub fn now(&self) -> Nanos {
        Nanos(self.0.load(Relaxed))
    }

    pub fn advance(&self, span: Nanos) {
        self.0.fetch_add(span.0, Relaxed);
    }

    /// Moves to `moment` unless it has passed.
    pub fn advance_to(&self, moment: Nanos) {
        self.0.fetch_max(moment.0, Relaxed);
    }

    pub fn wall(&self) -> WallTime {
        let now = self.now().0;
        WallTime { secs: EPOCH_SECS + (now / 1_000_000_000) as i64, nanos: (now % 1_000_000_000) as u32 }
    }
}
