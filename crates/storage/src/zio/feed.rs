//! Filling cache devices: the worker `l2arc-feed` of a pool that has any. What a round does is told
//! in [`crate::arc::l2`]; here it is begun, and given what the pool has of a block.

use std::sync::{Arc, Weak};

use env::{AlignedBuf, DiskError, IoClass, Nanos, Next, Worker};
use ondisk::BlkPtr;

use super::moved::Place;
use crate::Storage;
use crate::arc::l2::{CacheIntent, Pool};
use crate::flight::Flight;
use crate::vdev::config::VdevConfig;
use crate::vdev::{Io, Op};

impl Storage {
    /// Adds a cache device. `config` is a disk or file with guid and path; of a new one it learns
    /// the ashift. A known one that is missing is no error: it is listed as such.
    pub fn add_cache(
        self: &Arc<Self>,
        config: &mut VdevConfig,
        intent: CacheIntent,
    ) -> Result<(), DiskError> {
        let start = |due| self.spawn(Box::new(Feeder { storage: Arc::downgrade(self), due }));
        self.level2().add(config, intent, start)
    }
}

impl Pool for Storage {
    fn is_stored_as(&self, bp: &BlkPtr, bytes: &[u8]) -> bool {
        self.is_what(bp, bytes)
    }

    fn read_stored(&self, bp: &BlkPtr) -> Option<AlignedBuf> {
        let tree = self.tree();
        let Ok(Place::Whole(dva, ashift)) = self.copy(&tree, &bp.first_dva(), bp.psize()) else {
            return None;
        };
        let len = bp.psize().next_multiple_of(1 << ashift) as usize;
        let class = IoClass::Scrub;
        let io = Io { op: Op::Read(len), offset: dva.offset, class, repair: false };
        let flight = Flight::take_off(self.env(), &tree, class, vec![(dva.vdev, io)]);
        let bytes = flight.land(&|_, _| true).remove(0).ok().flatten()?;
        self.is_what(bp, &bytes).then_some(bytes)
    }
}

/// The worker.
struct Feeder {
    storage: Weak<Storage>,
    /// When the next round is due.
    due: Nanos,
}

impl Worker for Feeder {
    fn name(&self) -> &'static str {
        "l2arc-feed"
    }

    fn step(&mut self, now: Nanos) -> Next {
        let Some(storage) = self.storage.upgrade() else { return Next::Stop };
        let l2 = storage.level2();
        if !l2.is_active() {
            return Next::WaitForWork;
        }
        if l2.rebuild_step() {
            return Next::Again;
        }
        if now < self.due {
            return Next::WaitUntil(self.due);
        }
        let limits = l2.limits();
        let (wrote, most) = l2.feed(&*storage);
        let pause = if wrote > most / 2 { limits.interval_min } else { limits.interval };
        self.due = Nanos(now.0 + pause.as_nanos() as u64);
        Next::WaitUntil(self.due)
    }
}
