//! One metaslab: which of its bytes are free, and since when.
//!
//! ```text
//! free tree --allocate--> allocs(txg) --take_changes--> taken (in the space map, not yet durable) --sync_done--> forgotten
//!     ^                                                                                                             |
//!     +--- defer (two txgs, and no older reader) <--sync_done-- freeing + frees(to be persisted) <---- free --------+
//! ```
//! Allocations are kept by txg: an open group may place blocks of its intent log while an older one
//! is being synced, and the space map of that one must not know of them. What is not taken yet is
//! free as far as the disk is concerned: so says the histogram, and so says a map that is written
//! anew.
//!
//! The free tree is there only while the metaslab is loaded. Loading replays the space map, which
//! may or may not show the changes of the txg in hand; whatever is known in core not to be free is
//! taken out afterwards, so either is right. What a checkpoint has stays allocated when it is
//! freed, here and in the map: it is only handed up to be noted elsewhere.
//!
//! That holds as long as nothing is *forgotten* in core between the two, which is why `sync_done`
//! waits for a load under way. A load may run in open context while a change is appended:
//! [`SpaceMapSource`] gives each map as it was before or after. It never meets a map being written
//! anew, for that is done from the free tree, which is there only when the load is over.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Mutex;

use env::lock;

use super::epoch::Epochs;
use super::{DEFER_TXGS, SpaceChange, SpaceMapSource};
use crate::ReadError;
use crate::range_tree::{FreeTree, Histogram, RangeTree, Segment};

/// Segments remembered that became free; of more, disks are told when an operator asks for it.
const FREED_MAX: usize = 64 << 10;
/// Segments looked at behind the cursor before the size-sorted tree is asked.
const FIRST_FIT_LIMIT: usize = 64;

pub(super) struct Metaslab {
    pub vdev: u32,
    pub id: u64,
    pub start: u64,
    pub size: u64,
    /// Held while the space map is read, and while what a reader of it needs to know is forgotten.
    loading: Mutex<()>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    free: Option<FreeTree>,
    /// What the space map said when it was last written or listed; stands in while not loaded.
    summary: Vec<u64>,
    summary_shift: u32,
    /// By txg; no entry is empty.
    allocs: BTreeMap<u64, RangeTree>,
    frees: RangeTree,
    taken: RangeTree,
    freeing: RangeTree,
    /// Freed, but a checkpoint has it, and it was not yet taken to be noted: it stays allocated.
    kept: RangeTree,
    defer: VecDeque<Deferred>,
    /// Free, but held back while a disk is told so.
    lent: RangeTree,
    /// Became free, and was not used since, and no disk was told: kept where that is wanted.
    freed: RangeTree,
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

/// What became of a claim.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Claimed {
    Done,
    /// All of it was in use before.
    Already,
    /// Some of it is free and some is not.
    Conflict,
    NotLoaded,
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
        let known = state.defer.iter().map(|deferred| &deferred.tree).chain(state.allocs.values());
        for tree in [&state.taken, &state.freeing, &state.lent].into_iter().chain(known) {
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
    pub fn allocate(&self, len: u64, txg: u64, now: u64) -> Option<u64> {
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
        state.freed.remove_overlap(start, len);
        state.allocs.entry(txg).or_default().add(start, len);
        state.last_used = now;
        Some(start)
    }

    /// Takes back an allocation that no space map has heard of and that will not be used.
    pub fn unallocate(&self, start: u64, len: u64, txg: u64) {
        let mut state = lock(&self.state);
        let tree = state.allocs.get_mut(&txg).expect("it was allocated in this txg and not yet taken");
        tree.remove(start, len);
        if tree.is_empty() {
            state.allocs.remove(&txg);
        }
        if let Some(free) = &mut state.free {
            free.add(start, len);
        }
    }

    /// Puts space to use that a block from before the pool was opened takes; the metaslab must be
    /// loaded.
    pub fn claim(&self, start: u64, len: u64, txg: u64) -> Claimed {
        let mut guard = lock(&self.state);
        let state = &mut *guard;
        let Some(free) = &mut state.free else { return Claimed::NotLoaded };
        if free.ranges().contains(start, len) {
            free.remove(start, len);
            state.allocs.entry(txg).or_default().add(start, len);
            return Claimed::Done;
        }
        let deferred = state.defer.iter().map(|deferred| &deferred.tree);
        let mut partly = [free.ranges(), &state.freeing, &state.lent].into_iter().chain(deferred);
        if partly.any(|tree| tree.overlaps(start, len)) { Claimed::Conflict } else { Claimed::Already }
    }

    /// Takes the first free stretch of at least `min` bytes at or behind `from` out of use until it
    /// is given back, cut to `max` bytes; `None` where there is none, or the metaslab is not
    /// loaded.
    pub fn lend(&self, from: u64, min: u64, max: u64) -> Option<Segment> {
        let mut guard = lock(&self.state);
        let free = guard.free.as_ref()?.ranges();
        let mut behind = free.iter_from(from).map(|segment| {
            let start = segment.start.max(from);
            Segment { start, len: segment.end() - start }
        });
        let found = behind.find(|segment| segment.len >= min)?;
        drop(behind);
        Some(guard.hold_back(Segment { start: found.start, len: found.len.min(max) }))
    }

    /// As [`Metaslab::lend`], of what is remembered to have become free. That is forgotten,
    /// whatever becomes of it.
    pub fn lend_freed(&self, min: u64, max: u64) -> Option<Segment> {
        let mut guard = lock(&self.state);
        let state = &mut *guard;
        let free = state.free.as_ref()?.ranges();
        loop {
            let first = state.freed.iter().next()?;
            let first = Segment { start: first.start, len: first.len.min(max) };
            state.freed.remove(first.start, first.len);
            if first.len >= min && free.contains(first.start, first.len) {
                return Some(state.hold_back(first));
            }
        }
    }

    /// Puts a part of what is lent to use.
    pub fn use_lent(&self, start: u64, len: u64, txg: u64) {
        let mut state = lock(&self.state);
        state.lent.remove(start, len);
        state.freed.remove_overlap(start, len);
        state.allocs.entry(txg).or_default().add(start, len);
    }

    /// Ends a loan. Of another vdev that was in this place before nothing was lent here.
    pub fn give_back(&self, lent: Segment) {
        let mut state = lock(&self.state);
        if !state.lent.contains(lent.start, lent.len) {
            return;
        }
        state.lent.remove(lent.start, lent.len);
        if let Some(free) = &mut state.free {
            free.add(lent.start, lent.len);
        }
    }

    /// Gives space back, or notes that only a checkpoint needs it now (`kept`). `false`, and
    /// nothing is changed: some of it is free, or about to be, or was only allocated after `txg`,
    /// the group being synced. Then a block has two owners, or the space map is wrong.
    pub fn free(&self, start: u64, len: u64, txg: u64, kept: bool) -> bool {
        let mut guard = lock(&self.state);
        let state = &mut *guard;
        let deferred = state.defer.iter().map(|deferred| &deferred.tree);
        let free = state.free.as_ref().map(FreeTree::ranges);
        let later = state.allocs.range(txg + 1..).map(|(_, tree)| tree);
        let mut unowned: Vec<&RangeTree> = deferred.chain(free).chain(later).collect();
        unowned.extend([&state.freeing, &state.lent, &state.kept]);
        if unowned.iter().any(|tree| tree.overlaps(start, len)) {
            return false;
        }
        if kept {
            state.kept.add(start, len);
            return true;
        }
        state.freeing.add(start, len);
        state.frees.add(start, len);
        true
    }

    /// What the space map does not have yet of groups up to `txg`; `None` where it has everything.
    pub fn take_changes(&self, txg: u64, shift: u32) -> Option<SpaceChange> {
        let mut guard = lock(&self.state);
        let state = &mut *guard;
        let later = state.allocs.split_off(&(txg + 1));
        let ours = std::mem::replace(&mut state.allocs, later);
        if ours.is_empty() && state.frees.is_empty() && state.kept.is_empty() {
            return None;
        }
        let frees = std::mem::take(&mut state.frees);
        let kept = std::mem::take(&mut state.kept);
        let mut allocs = RangeTree::new();
        // No two groups overlap: space is had anew only after it was freed, and freed only after it
        // was taken.
        for segment in ours.values().flat_map(RangeTree::iter) {
            allocs.add(segment.start, segment.len);
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
            kept: kept.iter().collect(),
            histogram,
        })
    }

    /// Allocated segments as the space map has to say them now, if every change that was taken is
    /// in it and no other; `None` when not loaded.
    pub fn allocated(&self) -> Option<Vec<Segment>> {
        let state = lock(&self.state);
        let free = state.free.as_ref()?;
        let mut allocated = RangeTree::whole(self.start, self.size);
        let deferred = state.defer.iter().map(|deferred| &deferred.tree);
        for tree in [free.ranges(), &state.freeing, &state.lent].into_iter().chain(deferred) {
            for segment in tree.iter() {
                allocated.remove(segment.start, segment.len);
            }
        }
        for segment in state.frees.iter() {
            allocated.add_overlap(segment.start, segment.len);
        }
        for segment in state.allocs.values().flat_map(RangeTree::iter) {
            allocated.remove_overlap(segment.start, segment.len);
        }
        Some(allocated.iter().collect())
    }

    /// The txg is durable: its frees wait their time, those whose time has come can be allocated,
    /// and are remembered where that is wanted. `epoch` is the one that began with it.
    pub fn sync_done(&self, txg: u64, epoch: u64, epochs: &Epochs, remember: bool) -> Settled {
        let _nobody_loads = lock(&self.loading);
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
            if remember && state.freed.segments() < FREED_MAX {
                tree.iter().for_each(|segment| state.freed.add_overlap(segment.start, segment.len));
            }
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

    /// The power of two of the longest free segment, exact where loaded; `None` where nothing is
    /// free.
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
    /// Takes free space of a loaded metaslab out of use.
    fn hold_back(&mut self, segment: Segment) -> Segment {
        self.free.as_mut().expect("a loaded metaslab").remove(segment.start, segment.len);
        self.lent.add(segment.start, segment.len);
        segment
    }

    /// Free regions as the space map will have them: freed ones are free there at once, and what
    /// later groups have allocated is free there still.
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
        let known = deferred.chain(self.allocs.values());
        for segment in [&self.freeing, &self.lent].into_iter().chain(known).flat_map(RangeTree::iter) {
            count(segment.len.ilog2(), 1);
        }
        Some(buckets)
    }
}
