//! Reading ahead: the workers `prefetch` bring into the cache what somebody will want soon.
//!
//! Hints wait in a queue and are taken in bursts, by more than one worker, so that disks have the
//! next burst in their queues while one is judged and decoded. Blocks of a burst are *under way*
//! until they are in the cache: whoever wants one of them waits for it. Reading it too would be
//! worse than slow: a disk with an arm, which is at the end of the burst by then, would go back for
//! it.
//!
//! Bytes that no cache keeps go to whoever ordered them ([`super::shelf`]).
//!
//! A burst waits for disks only, never for another burst or a reader, so that waiting for it always
//! ends. In a simulation nothing is under way when anybody looks: a step reads without letting
//! others run.

use std::sync::{Arc, Weak};

use env::{Env, IoClass, Next, Worker};
use ondisk::BlkPtr;

use crate::Storage;
use crate::arc::{Cache, Key};
use crate::policy::{Keep, is_metadata};
use crate::storage::ahead::{Goal, Places};

/// Where there are threads.
const WORKERS: usize = 2;

impl Storage {
    /// A pool without vdevs. Its workers that read ahead are started.
    pub fn new(env: Env, cache: Arc<Cache>, pool_guid: u64) -> Arc<Storage> {
        let storage = Arc::new(Storage::without_workers(env, cache, pool_guid));
        let count = if storage.env().driver.is_cooperative() { 1 } else { WORKERS };
        let spawn = |_| storage.spawn(Box::new(Prefetcher(Arc::downgrade(&storage))));
        storage.ahead().start((0..count).map(spawn).collect());
        storage
    }

    /// A hint that these blocks will be read soon. Dropped when too many wait; what may not be kept
    /// is not read ahead.
    pub fn prefetch(&self, bps: Vec<BlkPtr>, keep: Keep) {
        let useful = |bp: &&BlkPtr| !bp.is_hole() && !bp.is_embedded() && keep.primary.takes(is_metadata(bp));
        self.hint(bps.iter().filter(useful), &Goal::Cache(keep));
    }

    /// Has blocks put on a shelf as they are stored; those that find no room in the queue are not
    /// expected there.
    pub(super) fn read_ahead_for(&self, bps: &[BlkPtr], places: &Arc<Places>) {
        let key = |bp: &BlkPtr| Key::of(self.pool_guid(), bp);
        let fresh: Vec<&BlkPtr> =
            bps.iter().filter(|bp| key(bp).is_some_and(|key| places.expect(key))).collect();
        let taken = self.hint(fresh.iter().copied(), &Goal::Shelf(places.clone()));
        fresh[taken..].iter().filter_map(|bp| key(bp)).for_each(|key| places.give_up(&key));
    }

    /// Reads blocks that were ordered.
    fn fill(&self, places: &Places, bps: &[BlkPtr]) {
        let read = self.read_as_stored(bps, IoClass::AsyncRead);
        // What cannot be read does not come: whoever takes it reads it himself, and sees the error.
        let named =
            |(bp, read): (&BlkPtr, Result<Vec<u8>, _>)| Some((Key::of(self.pool_guid(), bp)?, read.ok()));
        places.put(bps.iter().zip(read).filter_map(named));
    }

    /// How many of the hints found room.
    fn hint<'b>(&self, bps: impl Iterator<Item = &'b BlkPtr>, goal: &Goal) -> usize {
        // Whoever hints may still follow these pointers. The guard keeps their space from being
        // used anew before the hint is taken up: a late read could take new bytes on one side of a
        // mirror for damage, and "repair" them.
        self.ahead().hint(bps, goal, self.epoch(), |taken| self.cache().ahead.begin(taken))
    }
}

struct Prefetcher(Weak<Storage>);

impl Worker for Prefetcher {
    fn name(&self) -> &'static str {
        "prefetch"
    }

    fn step(&mut self, _now: env::Nanos) -> Next {
        let Some(storage) = self.0.upgrade() else { return Next::Stop };
        let burst = storage.ahead().burst();
        if burst.is_empty() {
            return Next::WaitForWork;
        }
        // The blocks are in the cache then, or whoever wants them will see the error.
        for same in burst.chunk_by(|a, b| a.goal.is(&b.goal)) {
            let bps: Vec<BlkPtr> = same.iter().map(|hint| hint.bp).collect();
            match &same[0].goal {
                Goal::Cache(keep) => {
                    storage.read_ahead(&bps, *keep, same.iter().any(|hint| hint.is_followed));
                }
                Goal::Shelf(places) => storage.fill(places, &bps),
            }
        }
        storage.cache().ahead.end(burst.len() as u64);
        Next::Again
    }
}
