//! One metaslab: which of its bytes are free, and since when.
//!
//! ```text
//! free tree --allocate--> allocs --take_changes--> taken (in the space map, not yet durable) --sync_done--> forgotten
//!     ^                                                                                                        |
//!     +--- defer (two txgs, and no older reader) <--sync_done-- freeing + frees(to be persisted) <---- free ---+
//! ```
//! The free tree is there only while the metaslab is loaded. Loading replays the space map, which may or may not show
//! the changes of the txg in hand; whatever is known in core not to be free is taken out afterwards, so either is right.

use std::collections::VecDeque;
use std::sync::Mutex;

use env::lock;

use super::epoch::Epochs;
use super::range_tree::{FreeTree, Histogram, RangeTree, Segment};
use super::{DEFER_TXGS, SpaceChange, SpaceMapSource};
use crate::ReadError;

/// Segments looked at behind the cursor before the size-sorted tree is asked.
const FIRST_FIT_LIMIT: usize = 64;

pub(super) struct Metaslab {
    pub vdev: u32,
    pub id: u64,
    pub start: u64,
    pub size: u64,
    /// Held while the space map is read, and by nothing else.
    loading: Mutex<()>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    free: Option<FreeTree>,
    /// What the space map said when it was last written or listed; stands in while not loaded.
    summary: Vec<u64>,
    summary_shift: u32,
    allocs: RangeTree,
    frees: RangeTree,
    taken: RangeTree,
    freeing: RangeTree,
    defer: VecDeque<Deferred>,
    /// Next place to look, by power of two of the size asked for.
    cursors: Vec<u64>,
    last_used: u64,
}

/// What one txg freed.
struct Deferred {
    txg: u64,
    /// Guards of earlier epochs may still lead there.
    epoch: u64,
    tree: RangeTree,
}

/// What `sync_done` changed, in bytes.
#[derive(Default)]
pub(super) struct Settled {
    pub deferred: u64,
    pub released: u64,
}

impl Metaslab {
    pub fn new(vdev: u32, id: u64, size: u64, summary: Vec<u64>, summary_shift: u32) -> Metaslab {
        let state = State { summary, summary_shift, cursors: vec![0; 64], ..State::default() };
        Metaslab { vdev, id, start: id * size, size, loading: Mutex::new(()), state: Mutex::new(state) }
    }

    /// Makes the free tree, by reading the space map, unless it is there.
    pub fn load(&self, source: &dyn SpaceMapSource) -> Result<(), ReadError> {
        let _once = lock(&self.loading);
        if self.is_loaded() {
            return Ok(());
        }
        let mut free = RangeTree::whole(self.start, self.size);
        let mut damaged = false;
        source.load(self.vdev, self.id, &mut |allocated, segment| {
            if segment.start < self.start || segment.end() > self.start + self.size || segment.len == 0 {
                damaged = true;
            } else if allocated {
                free.remove_overlap(segment.start, segment.len);
            } else {
                free.add_overlap(segment.start, segment.len);
            }
        })?;
        if damaged {
            return Err(ReadError::Corrupt); // The map names space outside its metaslab.
        }
        let mut state = lock(&self.state);
        let known = state.defer.iter().map(|deferred| &deferred.tree);
        for tree in [&state.allocs, &state.taken, &state.freeing].into_iter().chain(known) {
            for segment in tree.iter() {
                free.remove_overlap(segment.start, segment.len);
            }
        }
        state.free = Some(FreeTree::new(free));
        Ok(())
    }

    pub fn is_loaded(&self) -> bool {
        lock(&self.state).free.is_some()
    }

    /// Space for `len` bytes, or `None`: not loaded, or no segment is long enough.
    pub fn allocate(&self, len: u64, now: u64) -> Option<u64> {
        let mut guard = lock(&self.state);
        let state = &mut *guard;
        let free = state.free.as_mut()?;
        if free.longest() < len {
            return None;
        }
        let cursor = &mut state.cursors[len.ilog2() as usize];
        let start = free.first_fit(*cursor, len, FIRST_FIT_LIMIT).or_else(|| free.best_fit(len))?;
        *cursor = start + len;
        free.remove(start, len);
        state.allocs.add(start, len);
        state.last_used = now;
        Some(start)
    }

    /// Takes back an allocation of this very pass that will not be used.
    pub fn unallocate(&self, start: u64, len: u64) {
        let mut state = lock(&self.state);
        state.allocs.remove(start, len);
        if let Some(free) = &mut state.free {
            free.add(start, len);
        }
    }

    /// `false`, and nothing is changed: some of it is free, or about to be. Then a block has two owners, or the space
    /// map is wrong.
    pub fn free(&self, start: u64, len: u64) -> bool {
        let mut guard = lock(&self.state);
        let state = &mut *guard;
        let deferred = state.defer.iter().map(|deferred| &deferred.tree);
        let free = state.free.as_ref().map(FreeTree::ranges);
        if [&state.freeing].into_iter().chain(deferred).chain(free).any(|tree| tree.overlaps(start, len)) {
            return false;
        }
        state.freeing.add(start, len);
        state.frees.add(start, len);
        true
    }

    /// What the space map does not have yet; `None` where it has everything.
    pub fn take_changes(&self, shift: u32) -> Option<SpaceChange> {
        let mut guard = lock(&self.state);
        let state = &mut *guard;
        if state.allocs.is_empty() && state.frees.is_empty() {
            return None;
        }
        let allocs = std::mem::take(&mut state.allocs);
        let frees = std::mem::take(&mut state.frees);
        for segment in allocs.iter() {
            state.taken.add_overlap(segment.start, segment.len);
        }
        let histogram = state.free_on_disk_histogram(shift);
        if let Some(histogram) = &histogram {
            state.summary = histogram.clone();
            state.summary_shift = shift;
        }
        Some(SpaceChange {
            vdev: self.vdev,
            metaslab: self.id,
            allocs: allocs.iter().collect(),
            frees: frees.iter().collect(),
            histogram,
        })
    }

    /// Allocated segments as the space map has to say them now; `None` when not loaded.
    pub fn allocated(&self) -> Option<Vec<Segment>> {
        let state = lock(&self.state);
        let free = state.free.as_ref()?;
        let mut allocated = RangeTree::whole(self.start, self.size);
        let deferred = state.defer.iter().map(|deferred| &deferred.tree);
        for tree in [free.ranges(), &state.freeing].into_iter().chain(deferred) {
            for segment in tree.iter() {
                allocated.remove(segment.start, segment.len);
            }
        }
        Some(allocated.iter().collect())
    }

    /// The txg is durable: its frees wait their time, those whose time has come can be allocated. `epoch` is the one that
    /// began with it.
    pub fn sync_done(&self, txg: u64, epoch: u64, epochs: &Epochs) -> Settled {
        let mut guard = lock(&self.state);
        let state = &mut *guard;
        let mut settled = Settled::default();
        state.taken.clear();
        if !state.freeing.is_empty() {
            let freeing = std::mem::take(&mut state.freeing);
            settled.deferred = freeing.space();
            state.defer.push_back(Deferred { txg, epoch, tree: freeing });
        }
        while let Some(first) = state.defer.front() {
            if first.txg + DEFER_TXGS > txg || !epochs.none_before(first.epoch) {
                break;
            }
            let tree = state.defer.pop_front().expect("the front is there").tree;
            settled.released += tree.space();
            if let Some(free) = &mut state.free {
                for segment in tree.iter() {
                    free.add(segment.start, segment.len);
                }
            }
        }
        settled
    }

    /// Forgets the free tree; it can be read again.
    pub fn unload(&self) {
        let mut state = lock(&self.state);
        if state.allocs.is_empty() && state.taken.is_empty() {
            state.free = None;
        }
    }

    /// (segments held in memory, when last allocated from)
    pub fn weight_in_memory(&self) -> (usize, u64) {
        let state = lock(&self.state);
        (state.free.as_ref().map_or(0, |free| free.ranges().segments()), state.last_used)
    }

    /// The power of two of the longest free segment, exact where loaded; `None` where nothing is free.
    pub fn longest_bucket(&self) -> Option<u32> {
        let state = lock(&self.state);
        match &state.free {
            Some(free) => (free.longest() > 0).then(|| free.longest().ilog2()),
            None => {
                let top = state.summary.iter().rposition(|&count| count > 0)?;
                Some(top as u32 + state.summary_shift)
            }
        }
    }

    /// Free segments by power of two, as far as known.
    pub fn histogram(&self) -> Histogram {
        let state = lock(&self.state);
        match &state.free {
            Some(free) => *free.histogram(),
            None => {
                let mut histogram = [0; 64];
                for (bucket, count) in state.summary.iter().enumerate() {
                    let at = (bucket + state.summary_shift as usize).min(63);
                    histogram[at] += count;
                }
                histogram
            }
        }
    }
}

impl State {
    /// Free regions as the space map will have them: freed ones are free there at once.
    fn free_on_disk_histogram(&self, shift: u32) -> Option<Vec<u64>> {
        const BUCKETS: usize = ondisk::spacemap::HISTOGRAM_SIZE;
        let free = self.free.as_ref()?;
        let mut buckets = vec![0; BUCKETS];
        let mut count = |log2: u32, n: u64| {
            let bucket = (log2.saturating_sub(shift) as usize).min(BUCKETS - 1);
            buckets[bucket] += n;
        };
        for (log2, &n) in free.histogram().iter().enumerate() {
            count(log2 as u32, n);
        }
        let deferred = self.defer.iter().map(|deferred| &deferred.tree);
        for segment in [&self.freeing].into_iter().chain(deferred).flat_map(RangeTree::iter) {
            count(segment.len.ilog2(), 1);
        }
        Some(buckets)
    }
}
