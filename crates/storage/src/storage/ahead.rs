//! Blocks that somebody will want soon: hints, which wait in a queue and are taken in bursts;
//! blocks that are *under way* to the cache; and [`Places`], blocks that were ordered for a shelf.
//! Nothing is read here: the workers of [`crate::zio::ahead`] do that.
//!
//! A reader can wait for a block that is under way. For an ordered block only the owner of its
//! shelf waits. A hint keeps the space of its block as it is until it is taken up and done.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex, OnceLock};

use env::{Env, WorkerHandle, lock};
use ondisk::BlkPtr;
use stdx::bounded::Bounded;
use stdx::trail;

use crate::arc::Key;
use crate::metaslab::EpochGuard;
use crate::policy::Keep;

/// Hints kept; more are dropped.
const QUEUE: usize = 2048;
/// Of one burst, unless one block alone has more.
const BURST_BYTES: u64 = 4 << 20;
const BURST_BLOCKS: usize = 128;

/// A block to read ahead, for whom, and what keeps its space as it is until then.
pub(crate) struct Hint {
    pub bp: BlkPtr,
    pub goal: Goal,
    /// Somebody looks at what the thread does that gave the hint.
    pub is_followed: bool,
    _epoch: Arc<EpochGuard>,
}

#[derive(Clone)]
pub(crate) enum Goal {
    /// The cache, which may keep so much of it.
    Cache(Keep),
    /// Somebody who wants it as it is stored.
    Shelf(Arc<Places>),
}

impl Goal {
    pub fn is(&self, other: &Goal) -> bool {
        match (self, other) {
            (Goal::Cache(one), Goal::Cache(other)) => one == other,
            (Goal::Shelf(one), Goal::Shelf(other)) => Arc::ptr_eq(one, other),
            _ => false,
        }
    }
}

/// The guid of the leaf vdev that was waited for longest, when that is known; else 0. Only where
/// somebody wants to know.
pub(crate) type Slowest = Arc<AtomicU64>;

/// What waits to be read ahead, and what is being read.
pub(crate) struct Ahead {
    hints: Mutex<Bounded<Hint>>,
    underway: Mutex<HashMap<Key, Option<Slowest>>>,
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
    /// Its workers from now on. Once.
    pub fn start(&self, workers: Vec<WorkerHandle>) {
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
        keys.any(|key| underway.contains_key(&key))
    }

    /// Waits until none of these blocks is on its way any more. Where somebody looks at what this
    /// thread does, it is noted for which leaf vdev.
    pub fn wait_for(&self, env: &Env, keys: impl Iterator<Item = Key>) {
        for key in keys {
            let underway = lock(&self.underway);
            let slowest = match trail::is_followed() {
                true => underway.get(&key).cloned().flatten(),
                false => None,
            };
            let begun = slowest.map(|slowest| (slowest, env.clock.now()));
            drop(env.wait(&self.underway, underway, &self.landed, &mut |set| !set.contains_key(&key)));
            if let Some((slowest, begun)) = begun
                && let guid @ 1.. = slowest.load(Relaxed)
            {
                trail::waited_for(guid, env.clock.now().since(begun).0);
            }
        }
    }

    /// Says that these are on their way, until the value is dropped; leaves out those that are
    /// already. `is_followed`: it will be said for which leaf vdev.
    pub fn set_out(&self, keys: impl Iterator<Item = Key>, is_followed: bool) -> Underway<'_> {
        let slowest = is_followed.then(Slowest::default);
        let mut underway = lock(&self.underway);
        let is_new = |key: &Key| match underway.entry(*key) {
            Entry::Occupied(_) => false,
            Entry::Vacant(entry) => {
                entry.insert(slowest.clone());
                true
            }
        };
        let keys: Vec<Key> = keys.filter(is_new).collect();
        self.count.store(underway.len(), Relaxed);
        drop(underway);
        Underway { ahead: self, keys, slowest }
    }

    /// Queues hints as far as there is room, and gives how many those are; `count` hears it before
    /// anybody takes them up. `epoch` is from before the caller read the pointers.
    pub fn hint<'b>(
        &self,
        bps: impl Iterator<Item = &'b BlkPtr>,
        goal: &Goal,
        epoch: EpochGuard,
        count: impl FnOnce(u64),
    ) -> usize {
        let (epoch, is_followed) = (Arc::new(epoch), trail::is_followed());
        let mut hints = lock(&self.hints);
        let before = hints.len();
        for bp in bps {
            let hint = Hint { bp: *bp, goal: goal.clone(), is_followed, _epoch: epoch.clone() };
            if hints.push(hint).is_err() {
                break;
            }
        }
        let taken = hints.len() - before;
        count(taken as u64);
        drop(hints);
        self.wake();
        taken
    }

    /// Hints that nobody has taken up.
    pub fn waiting(&self) -> u64 {
        lock(&self.hints).len() as u64
    }

    /// Takes hints to be read together, in the order they came.
    pub fn burst(&self) -> Vec<Hint> {
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
    /// Told before they land.
    pub slowest: Option<Slowest>,
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

/// Blocks that were ordered; those that have come, with their bytes.
#[derive(Default)]
pub(crate) struct Places {
    blocks: Mutex<HashMap<Key, Option<Vec<u8>>>>,
    came: Condvar,
}

impl Places {
    /// A block will come, unless it was ordered already.
    pub fn expect(&self, key: Key) -> bool {
        let mut blocks = lock(&self.blocks);
        let is_new = !blocks.contains_key(&key);
        blocks.entry(key).or_insert(None);
        is_new
    }

    /// A block will not come.
    pub fn give_up(&self, key: &Key) {
        lock(&self.blocks).remove(key);
    }

    /// Waits until none of these is expected any more, and takes those that have come.
    pub fn take(&self, env: &Env, keys: &[Option<Key>]) -> Vec<Option<Vec<u8>>> {
        let blocks = lock(&self.blocks);
        let mut blocks = env.wait(&self.blocks, blocks, &self.came, &mut |blocks| {
            keys.iter().flatten().all(|key| blocks.get(key).is_none_or(Option::is_some))
        });
        keys.iter().map(|key| key.and_then(|key| blocks.remove(&key)).flatten()).collect()
    }

    /// These have come, or will not.
    pub fn put(&self, read: impl Iterator<Item = (Key, Option<Vec<u8>>)>) {
        let mut blocks = lock(&self.blocks);
        for (key, read) in read {
            match read {
                Some(bytes) => blocks.insert(key, Some(bytes)),
                None => blocks.remove(&key),
            };
        }
        drop(blocks);
        self.came.notify_all();
    }
}

#[cfg(test)]
mod tests;
