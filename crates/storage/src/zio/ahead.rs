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

use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex, OnceLock, Weak};

use env::{Env, Next, Worker, WorkerHandle, lock};
use ondisk::BlkPtr;
use stdx::bounded::Bounded;

use super::shelf::Places;
use crate::Storage;
use crate::arc::Key;
use crate::metaslab::EpochGuard;
use crate::policy::{Keep, is_metadata};

/// Hints kept; more are dropped.
const QUEUE: usize = 2048;
/// Of one burst, unless one block alone has more.
const BURST_BYTES: u64 = 4 << 20;
const BURST_BLOCKS: usize = 128;
/// Where there are threads.
const WORKERS: usize = 2;

/// A block to read ahead, for whom, and what keeps its space as it is until then.
struct Hint {
    bp: BlkPtr,
    goal: Goal,
    _epoch: Arc<EpochGuard>,
}

#[derive(Clone)]
enum Goal {
    /// The cache, which may keep so much of it.
    Cache(Keep),
    /// Somebody who wants it as it is stored.
    Shelf(Arc<Places>),
}

impl Goal {
    fn is(&self, other: &Goal) -> bool {
        match (self, other) {
            (Goal::Cache(one), Goal::Cache(other)) => one == other,
            (Goal::Shelf(one), Goal::Shelf(other)) => Arc::ptr_eq(one, other),
            _ => false,
        }
    }
}

/// See the module.
pub(crate) struct Ahead {
    hints: Mutex<Bounded<Hint>>,
    underway: Mutex<HashSet<Key>>,
    /// How many those are, so that most readers need not lock.
    count: AtomicUsize,
    landed: Condvar,
    workers: OnceLock<Vec<WorkerHandle>>,
}

impl Default for Ahead {
    fn default() -> Ahead {
        Ahead {
            hints: Mutex::new(Bounded::new(QUEUE)),
            underway: Mutex::default(),
            count: AtomicUsize::new(0),
            landed: Condvar::new(),
            workers: OnceLock::new(),
        }
    }
}

impl Ahead {
    /// Starts the workers. Once.
    pub fn start(&self, storage: &Arc<Storage>) {
        let count = if storage.env().driver.is_cooperative() { 1 } else { WORKERS };
        let spawn = |_| storage.spawn(Box::new(Prefetcher(Arc::downgrade(storage))));
        let workers = (0..count).map(spawn).collect();
        assert!(self.workers.set(workers).is_ok(), "workers are started once");
    }

    /// Has the workers look whether there is anything to do, or nobody to do it for.
    pub fn wake(&self) {
        self.workers.get().into_iter().flatten().for_each(WorkerHandle::wake);
    }

    /// Whether any of these blocks is on its way.
    pub fn has_any(&self, mut keys: impl Iterator<Item = Key>) -> bool {
        if self.count.load(Relaxed) == 0 {
            return false;
        }
        let underway = lock(&self.underway);
        keys.any(|key| underway.contains(&key))
    }

    /// Waits until none of these blocks is on its way any more.
    pub fn wait_for(&self, env: &Env, keys: impl Iterator<Item = Key>) {
        for key in keys {
            let underway = lock(&self.underway);
            drop(env.wait(&self.underway, underway, &self.landed, &mut |set| !set.contains(&key)));
        }
    }

    /// Says that these are on their way, until the value is dropped; leaves out those that are
    /// already.
    pub fn set_out(&self, keys: impl Iterator<Item = Key>) -> Underway<'_> {
        let mut underway = lock(&self.underway);
        let keys: Vec<Key> = keys.filter(|key| underway.insert(*key)).collect();
        self.count.store(underway.len(), Relaxed);
        drop(underway);
        Underway { ahead: self, keys }
    }

    /// Hints that nobody has taken up.
    pub fn waiting(&self) -> u64 {
        lock(&self.hints).len() as u64
    }

    fn burst(&self) -> Vec<Hint> {
        let mut hints = lock(&self.hints);
        let (mut burst, mut bytes) = (Vec::new(), 0);
        while bytes < BURST_BYTES
            && burst.len() < BURST_BLOCKS
            && let Some(hint) = hints.pop()
        {
            bytes += hint.bp.lsize();
            burst.push(hint);
        }
        burst
    }
}

/// Blocks on their way into the cache.
pub(crate) struct Underway<'a> {
    ahead: &'a Ahead,
    keys: Vec<Key>,
}

impl Underway<'_> {
    pub fn has(&self, key: &Key) -> bool {
        self.keys.contains(key)
    }
}

impl Drop for Underway<'_> {
    fn drop(&mut self) {
        let mut underway = lock(&self.ahead.underway);
        self.keys.iter().for_each(|key| {
            underway.remove(key);
        });
        self.ahead.count.store(underway.len(), Relaxed);
        drop(underway);
        self.ahead.landed.notify_all();
    }
}

impl Storage {
    /// A hint that these blocks will be read soon. Dropped when too many wait; what may not be kept
    /// is not read ahead.
    pub fn prefetch(&self, bps: Vec<BlkPtr>, keep: Keep) {
        let useful = |bp: &&BlkPtr| !bp.is_hole() && !bp.is_embedded() && keep.primary.takes(is_metadata(bp));
        self.hint(bps.iter().filter(useful), Goal::Cache(keep));
    }

    /// Has blocks put on a shelf as they are stored; those that find no room in the queue are not
    /// expected there.
    pub(super) fn read_ahead_for(&self, bps: &[BlkPtr], places: &Arc<Places>) {
        let key = |bp: &BlkPtr| Key::of(self.pool_guid(), bp);
        let fresh: Vec<&BlkPtr> =
            bps.iter().filter(|bp| key(bp).is_some_and(|key| places.expect(key))).collect();
        let taken = self.hint(fresh.iter().copied(), Goal::Shelf(places.clone()));
        fresh[taken..].iter().filter_map(|bp| key(bp)).for_each(|key| places.give_up(&key));
    }

    /// How many of the hints found room.
    fn hint<'b>(&self, bps: impl Iterator<Item = &'b BlkPtr>, goal: Goal) -> usize {
        // Whoever hints may still follow these pointers. The guard keeps their space from being
        // used anew before the hint is taken up: a late read could take new bytes on one side of a
        // mirror for damage, and "repair" them.
        let epoch = Arc::new(self.epoch());
        let mut hints = lock(&self.ahead().hints);
        let before = hints.len();
        for bp in bps {
            if hints.push(Hint { bp: *bp, goal: goal.clone(), _epoch: epoch.clone() }).is_err() {
                break;
            }
        }
        let taken = hints.len() - before;
        self.cache().ahead.begin(taken as u64);
        drop(hints);
        self.ahead().wake();
        taken
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
                Goal::Cache(keep) => storage.read_ahead(&bps, *keep),
                Goal::Shelf(places) => places.fill(&storage, &bps),
            }
        }
        storage.cache().ahead.end(burst.len() as u64);
        Next::Again
    }
}
