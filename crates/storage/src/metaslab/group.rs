//! The metaslabs of one top-level vdev, best first.
//!
//! The order is by the power of two of the longest free segment (known without loading, from the
//! space map's histogram), loaded ones before others, then by offset. Picking one costs O(log n); a
//! metaslab that disappoints gets its true weight and the next is tried, until none can hold the
//! size asked for.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use env::lock;

use super::epoch::Epochs;
use super::slab::{Claimed, Metaslab, Settled};
use super::{AllocError, GroupSpec, Loan, MAX_COPIES, Segment, SpaceMapSource};
use crate::ReadError;

type Weight = (u32, bool, Reverse<usize>);

pub(super) struct Group {
    pub spec: GroupSpec,
    pub metaslabs: Vec<Arc<Metaslab>>,
    order: Mutex<Order>,
}

struct Order {
    by_weight: BTreeSet<Weight>,
    weights: Vec<Option<Weight>>,
    /// The metaslab in use, one for each copy so that copies lie apart.
    active: [Option<usize>; MAX_COPIES],
    /// Where log blocks have their home (see [`super::stock`]), in the order in which they were
    /// chosen.
    homes: Vec<usize>,
}

/// Metaslabs that are a home of log blocks.
const HOMES: usize = 8;

impl Group {
    pub fn new(spec: GroupSpec) -> Group {
        Group::beyond(spec, Vec::new())
    }

    /// The same metaslabs, and empty ones behind them, so that there are `count`.
    pub fn grown(&self, count: u64) -> Group {
        let spec = GroupSpec {
            metaslab_count: count.max(self.spec.metaslab_count),
            summaries: Vec::new(),
            ..self.spec.clone()
        };
        Group::beyond(spec, self.metaslabs.clone())
    }

    fn beyond(spec: GroupSpec, mut metaslabs: Vec<Arc<Metaslab>>) -> Group {
        let size = 1u64 << spec.metaslab_shift;
        let known = metaslabs.len() as u64;
        metaslabs.extend((known..spec.metaslab_count).map(|id| {
            let summary = spec.summaries.get(id as usize).cloned().unwrap_or_default();
            // Without a histogram all is possible: say the whole metaslab is free, loading will
            // tell.
            let histogram = summary.histogram.unwrap_or_else(|| {
                let mut whole = vec![0; ondisk::spacemap::HISTOGRAM_SIZE];
                let bucket = spec.metaslab_shift.saturating_sub(spec.ashift) as usize;
                whole[bucket.min(ondisk::spacemap::HISTOGRAM_SIZE - 1)] = 1;
                whole
            });
            Arc::new(Metaslab::new(spec.vdev, id, size, histogram, spec.ashift))
        }));
        let order = Order {
            by_weight: BTreeSet::new(),
            weights: vec![None; metaslabs.len()],
            active: [None; 3],
            homes: Vec::new(),
        };
        let group = Group { spec, metaslabs, order: Mutex::new(order) };
        (0..group.metaslabs.len()).for_each(|index| group.reweigh(index));
        group
    }

    pub fn asize(&self, psize: u64) -> u64 {
        (self.spec.to_asize)(psize)
    }

    pub fn metaslab_of(&self, offset: u64) -> Option<&Arc<Metaslab>> {
        self.metaslabs.get((offset >> self.spec.metaslab_shift) as usize)
    }

    /// Puts a metaslab where it belongs in the order now.
    pub fn reweigh(&self, index: usize) {
        let metaslab = &self.metaslabs[index];
        let loaded = metaslab.is_loaded();
        let weight = metaslab.longest_bucket().map(|bucket| (bucket, loaded, Reverse(index)));
        let mut order = lock(&self.order);
        if let Some(old) = std::mem::replace(&mut order.weights[index], weight) {
            order.by_weight.remove(&old);
        }
        order.by_weight.extend(weight);
    }

    /// Space for `asize` bytes: its offset. `avoid` says which metaslabs are not wanted; homes of
    /// log blocks are only where there is no other.
    pub fn allocate(
        &self,
        asize: u64,
        copy: usize,
        when: (u64, u64),
        source: &dyn SpaceMapSource,
        avoid: &dyn Fn(u64) -> bool,
    ) -> Result<u64, AllocError> {
        let homes = lock(&self.order).homes.clone();
        if !homes.is_empty() {
            let avoid = |metaslab| avoid(metaslab) || homes.contains(&(metaslab as usize));
            match self.allocate_outside(asize, copy, when, source, &avoid) {
                Err(AllocError::NoSpace) => {}
                done => return done,
            }
        }
        self.allocate_outside(asize, copy, when, source, avoid)
    }

    fn allocate_outside(
        &self,
        asize: u64,
        copy: usize,
        (txg, now): (u64, u64),
        source: &dyn SpaceMapSource,
        avoid: &dyn Fn(u64) -> bool,
    ) -> Result<u64, AllocError> {
        let active = lock(&self.order).active[copy].filter(|&index| !avoid(index as u64));
        if let Some(offset) = active.and_then(|index| self.metaslabs[index].allocate(asize, txg, now)) {
            return Ok(offset);
        }
        let mut below: Option<Weight> = None;
        while let Some(weight) = self.next_best(below, asize) {
            below = Some(weight);
            let Reverse(index) = weight.2;
            if avoid(index as u64) {
                continue;
            }
            let metaslab = &self.metaslabs[index];
            let found = loop {
                metaslab.load(source).map_err(AllocError::Read)?;
                let found = metaslab.allocate(asize, txg, now);
                // Syncing context may have unloaded it in between.
                if found.is_some() || metaslab.is_loaded() {
                    break found;
                }
            };
            self.reweigh(index);
            if let Some(offset) = found {
                lock(&self.order).active[copy] = Some(index);
                return Ok(offset);
            }
        }
        Err(AllocError::NoSpace)
    }

    /// See [`super::Class::claim`]. `true` if the space was free before.
    pub fn claim(
        &self,
        metaslab: &Metaslab,
        (start, len): (u64, u64),
        txg: u64,
        source: &dyn SpaceMapSource,
    ) -> Result<bool, ReadError> {
        loop {
            metaslab.load(source)?;
            match metaslab.claim(start, len, txg) {
                Claimed::NotLoaded => {}
                Claimed::Conflict => return Err(ReadError::Corrupt),
                Claimed::Already => return Ok(false),
                Claimed::Done => {
                    self.reweigh(metaslab.id as usize);
                    return Ok(true);
                }
            }
        }
    }

    /// The first free stretch at or behind `from`, looked for in one metaslab, which is loaded for
    /// it; and where to look next. `None` behind the last metaslab. See [`Metaslab::lend`].
    pub fn lend(
        &self,
        from: u64,
        (min, max): (u64, u64),
        source: &dyn SpaceMapSource,
    ) -> Result<Option<Loan>, ReadError> {
        let Some(metaslab) = self.metaslab_of(from) else { return Ok(None) };
        let lent = loop {
            metaslab.load(source)?;
            let lent = metaslab.lend(from, min, max);
            // Syncing context may have unloaded it in between.
            if lent.is_some() || metaslab.is_loaded() {
                break lent;
            }
        };
        self.reweigh(metaslab.id as usize);
        Ok(Some(Loan { lent, next: lent.map_or(metaslab.start + metaslab.size, |lent| lent.end()) }))
    }

    /// Lends a stretch for log blocks: the lowest of the first home that has one, else of a new
    /// home.
    pub fn lend_for_logs(
        &self,
        (min, max): (u64, u64),
        source: &dyn SpaceMapSource,
    ) -> Result<Option<Segment>, ReadError> {
        let homes = lock(&self.order).homes.clone();
        for home in homes {
            if let Some(Loan { lent: Some(lent), .. }) =
                self.lend(self.metaslabs[home].start, (min, max), source)?
            {
                return Ok(Some(lent));
            }
        }
        let Some(home) = self.new_home() else { return Ok(None) };
        Ok(self.lend(self.metaslabs[home].start, (min, max), source)?.and_then(|loan| loan.lent))
    }

    /// Of the metaslabs that seem emptiest the last one: others begin at the first.
    fn new_home(&self) -> Option<usize> {
        let mut order = lock(&self.order);
        let Order { weights, active, homes, .. } = &*order;
        let is_new = |index: &usize| !homes.contains(index) && !active.contains(&Some(*index));
        let known =
            weights.iter().enumerate().filter_map(|(index, weight)| Some((weight.as_ref()?.0, index)));
        let (_, home) = known.filter(|(_, index)| is_new(index)).max().filter(|_| homes.len() < HOMES)?;
        order.homes.push(home);
        Some(home)
    }

    /// See [`Metaslab::use_lent`].
    pub fn use_lent(&self, start: u64, len: u64, txg: u64) {
        self.metaslab_of(start).expect("a loan came from a metaslab").use_lent(start, len, txg);
    }

    /// See [`Metaslab::lend_freed`].
    pub fn lend_freed(&self, min: u64, max: u64) -> Option<Segment> {
        let lent = self.metaslabs.iter().find_map(|metaslab| metaslab.lend_freed(min, max))?;
        self.reweigh((lent.start >> self.spec.metaslab_shift) as usize);
        Some(lent)
    }

    /// See [`Metaslab::give_back`].
    pub fn give_back(&self, lent: Segment) {
        if let Some(metaslab) = self.metaslab_of(lent.start) {
            metaslab.give_back(lent);
            self.reweigh(metaslab.id as usize);
        }
    }

    fn next_best(&self, below: Option<Weight>, asize: u64) -> Option<Weight> {
        let order = lock(&self.order);
        let best = match below {
            Some(weight) => order.by_weight.range(..weight).next_back(),
            None => order.by_weight.last(),
        };
        best.copied().filter(|&(bucket, ..)| bucket >= 63 || (2u64 << bucket) > asize)
    }

    pub fn sync_done(&self, txg: u64, epoch: u64, epochs: &Epochs, remember: bool) -> Settled {
        let mut sum = Settled::default();
        for (index, metaslab) in self.metaslabs.iter().enumerate() {
            let settled = metaslab.sync_done(txg, epoch, epochs, remember);
            sum.deferred += settled.deferred;
            sum.released += settled.released;
            if settled.deferred + settled.released > 0 {
                self.reweigh(index);
            }
        }
        sum
    }

    /// Unloads the metaslabs least recently used until no more than `limit` segments are in memory;
    /// active ones stay.
    pub fn trim_memory(&self, limit: usize) {
        let active = lock(&self.order).active;
        let mut loaded: Vec<(u64, usize, usize)> = Vec::new();
        let mut held = 0;
        for (index, metaslab) in self.metaslabs.iter().enumerate() {
            let (segments, used) = metaslab.weight_in_memory();
            held += segments;
            if segments > 0 && !active.contains(&Some(index)) {
                loaded.push((used, index, segments));
            }
        }
        loaded.sort_unstable();
        for (_, index, segments) in loaded {
            if held <= limit {
                return;
            }
            self.metaslabs[index].unload();
            self.reweigh(index);
            held -= segments;
        }
    }
}
