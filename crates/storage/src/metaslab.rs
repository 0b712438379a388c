//! Allocation of disk space: class → group (a top-level vdev) → metaslab. There are two classes:
//! the normal one, and that of the devices which intent logs have to themselves.
//!
//! A top-level vdev is cut into metaslabs of equal size. Each has a space map, a log of allocations
//! and frees that lives in an object of the pool and is replayed when the metaslab is first
//! allocated from; what changes in core is handed up with [`Classes::take_changes`] to be appended
//! to it. This module knows neither objects nor transactions: it is told the txg, and a
//! [`SpaceMapSource`] reads maps for it.
//!
//! Space freed in txg N is handed out again at N + 2 at the earliest, so that rewinding by two
//! transaction groups finds everything in place, and only when no reader from before lives
//! ([`EpochGuard`]).
//!
//! Groups take turns: each is given an aliquot of bytes, larger where a vdev is emptier than the
//! others. Copies of one block go to different groups where there are several, else to metaslabs
//! far apart.
//!
//! Sources: module/zfs/metaslab.c (weights, aliquot, defer, fragmentation table),
//! include/sys/metaslab_impl.h.

mod classes;
mod epoch;
mod group;
mod slab;
mod stock;

use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, RwLock};

use env::lock;
use ondisk::Dva;

pub use classes::Classes;
pub use epoch::{EpochGuard, Epochs};
use group::Group;
use stock::Stock;

use crate::ReadError;
use crate::attached::Attached;
pub use crate::range_tree::RangeTree;
use crate::range_tree::{Histogram, Segment};

/// Transaction groups that freed space waits.
pub const DEFER_TXGS: u64 = 2;
/// Most copies a block can have.
pub const MAX_COPIES: usize = 3;
/// Bytes a group is given before it is another's turn.
const ALIQUOT: u64 = 512 << 10;
/// log2 of what is lent at least.
const LENT_UNIT: u32 = 15;
/// Free segments held in memory by one group at the most, about 100 bytes each.
const SEGMENTS_IN_MEMORY: usize = 256 << 10;

/// Reads space maps. `each` gets (allocated?, segment) in the map's order. Called in open context
/// too, while a change may be on its way into the map: it is all there, or not at all.
pub trait SpaceMapSource: Send + Sync {
    fn load(&self, vdev: u32, metaslab: u64, each: &mut dyn FnMut(bool, Segment)) -> Result<(), ReadError>;
}

/// What has to be appended to the space map of one metaslab, the allocations first, and to the
/// vdev's map of what its checkpoint keeps.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SpaceChange {
    pub vdev: u32,
    pub metaslab: u64,
    pub allocs: Vec<Segment>,
    pub frees: Vec<Segment>,
    /// Freed, but a checkpoint has it: no part of the metaslab's map, where it stays allocated.
    pub kept: Vec<Segment>,
    /// Free regions by power of two above the vdev's ashift, after this change; `None` when not
    /// loaded.
    pub histogram: Option<Vec<u64>>,
}

/// What is known of a metaslab without reading its map.
#[derive(Clone, Debug, Default)]
pub struct MetaslabSummary {
    /// Bytes.
    pub allocated: u64,
    /// As in the space map's bonus.
    pub histogram: Option<Vec<u64>>,
}

/// A top-level vdev that can be allocated from.
#[derive(Clone)]
pub struct GroupSpec {
    pub vdev: u32,
    pub ashift: u32,
    /// Log2 of a metaslab's bytes.
    pub metaslab_shift: u32,
    pub metaslab_count: u64,
    /// By metaslab; missing ones are empty.
    pub summaries: Vec<MetaslabSummary>,
    /// Bytes taken on this vdev by a block of so many physical bytes.
    pub to_asize: Arc<dyn Fn(u64) -> u64 + Send + Sync>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct SpaceStat {
    /// Bytes of all metaslabs.
    pub capacity: u64,
    pub allocated: u64,
    /// Freed, waiting for its time.
    pub deferred: u64,
}

/// What became of an attempt to free.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Freed {
    Done,
    /// No group has such space: the pointer is forged.
    Nowhere,
    /// Some of it is free already: the pool's structures contradict each other. Nothing was
    /// changed.
    Twice,
}

#[derive(Debug)]
pub enum AllocError {
    /// No group has so much in one piece.
    NoSpace,
    /// A space map could not be read.
    Read(ReadError),
}

/// A look for free space to lend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loan {
    /// Out of use until it is given back; `None` where the metaslab looked at has none.
    pub lent: Option<Segment>,
    /// Where to look next.
    pub next: u64,
}

/// The groups that one kind of block is allocated from.
pub struct Class {
    groups: RwLock<Vec<Arc<GroupState>>>,
    source: Attached<dyn SpaceMapSource>,
    epochs: Arc<Epochs>,
    /// Bytes a group is given before it is another's turn.
    aliquot: u64,
    rotor: Mutex<Rotor>,
    /// Counts allocations, to know which metaslab was used least recently.
    clock: AtomicU64,
    /// What becomes free is remembered.
    remember: AtomicBool,
}

struct GroupState {
    group: Group,
    capacity: u64,
    counts: Arc<Counts>,
}

/// What stays with a group when it grows.
struct Counts {
    /// Whether anything new may be placed here.
    wanted: AtomicBool,
    /// Signed: it starts from what a damaged pool may claim.
    allocated: AtomicI64,
    deferred: AtomicI64,
    stock: Mutex<Stock>,
}

#[derive(Default)]
struct Rotor {
    at: usize,
    used: u64,
}

impl GroupState {
    fn free(&self) -> u64 {
        let taken = self.counts.allocated.load(Relaxed) + self.counts.deferred.load(Relaxed);
        self.capacity.saturating_sub(taken.max(0) as u64)
    }

    /// What can be lent at most without anybody missing it; never less than a little.
    fn most_to_lend(&self, wanted: u64) -> u64 {
        let unit = 1u64 << self.group.spec.ashift.max(LENT_UNIT);
        wanted.min(self.free() / 4 / unit * unit).max(unit)
    }

    /// Space for a block of `psize` bytes from what is in stock.
    fn allocate_stocked(&self, psize: u64, txg: u64) -> Option<Dva> {
        let (asize, mut waste) = (self.group.asize(psize), Vec::new());
        let start = lock(&self.counts.stock).take(asize, &mut waste);
        waste.into_iter().for_each(|lent| self.group.give_back(lent));
        let start = start?;
        self.group.use_lent(start, asize, txg);
        self.counts.allocated.fetch_add(asize as i64, Relaxed);
        Some(Dva::new(self.group.spec.vdev, start, asize))
    }

    /// The metaslab that has all of a DVA.
    fn metaslab_around(&self, dva: &Dva) -> Option<&Arc<slab::Metaslab>> {
        let metaslab = self.group.metaslab_of(dva.offset)?;
        let end = dva.offset.checked_add(dva.asize)?;
        (dva.asize > 0 && end <= metaslab.start + metaslab.size).then_some(metaslab)
    }
}

impl Class {
    /// Without groups. An `aliquot` of 0 gives every block to another group.
    pub fn new(epochs: Arc<Epochs>, aliquot: u64) -> Class {
        Class {
            groups: RwLock::default(),
            source: Attached::default(),
            epochs,
            aliquot,
            rotor: Mutex::default(),
            clock: AtomicU64::new(1),
            remember: AtomicBool::new(false),
        }
    }

    pub fn add_group(&self, spec: GroupSpec) {
        let capacity = spec.metaslab_count << spec.metaslab_shift;
        let allocated =
            spec.summaries.iter().map(|summary| summary.allocated as i64).fold(0, i64::wrapping_add);
        let counts = Counts {
            wanted: AtomicBool::new(true),
            allocated: AtomicI64::new(allocated),
            deferred: AtomicI64::new(0),
            stock: Mutex::default(),
        };
        let state = GroupState { group: Group::new(spec), capacity, counts: Arc::new(counts) };
        self.groups.write().expect("class lock").push(Arc::new(state));
    }

    /// Adds empty metaslabs at the end of a vdev, so that it has `count`. Who works with the group
    /// as it was goes on.
    pub fn grow(&self, vdev: u32, count: u64) {
        let mut groups = self.groups.write().expect("class lock");
        if let Some(state) = groups.iter_mut().find(|state| state.group.spec.vdev == vdev) {
            let group = state.group.grown(count);
            let capacity = group.spec.metaslab_count << group.spec.metaslab_shift;
            *state = Arc::new(GroupState { group, capacity, counts: state.counts.clone() });
        }
    }

    /// Forgets a group and all that is allocated there.
    pub fn remove_group(&self, vdev: u32) {
        self.groups.write().expect("class lock").retain(|state| state.group.spec.vdev != vdev);
    }

    /// Whether new blocks may be placed on a vdev.
    pub fn set_wanted(&self, vdev: u32, wanted: bool) {
        if let Some(state) = self.group(vdev) {
            state.counts.wanted.store(wanted, Relaxed);
        }
    }

    /// Whether it has the vdev.
    pub fn has(&self, vdev: u32) -> bool {
        self.group(vdev).is_some()
    }

    /// Places for `copies` copies of `psize` bytes, the DVAs' `asize` being what each takes on its
    /// vdev. They are in use from `txg` on, which is being synced or open.
    pub fn allocate(&self, psize: u64, copies: usize, txg: u64) -> Result<Vec<Dva>, AllocError> {
        let groups = self.groups_where(&|_| true);
        let first = self.turn(&groups, psize);
        self.allocate_from(&groups, first, (psize, copies, txg))
    }

    /// A place for a log block of `psize` bytes on a vdev that `wanted` likes: of what is in stock
    /// for such, if anything is.
    pub fn allocate_log(
        &self,
        psize: u64,
        txg: u64,
        wanted: &dyn Fn(u32) -> bool,
    ) -> Result<Dva, AllocError> {
        let groups = self.groups_where(wanted);
        let first = self.turn(&groups, psize);
        let mut turns = (0..groups.len()).map(|step| &groups[(first + step) % groups.len()]);
        match turns.find_map(|state| state.allocate_stocked(psize, txg)) {
            Some(dva) => Ok(dva),
            None => Ok(self.allocate_from(&groups, first, (psize, 1, txg))?[0]),
        }
    }

    fn groups_where(&self, wanted: &dyn Fn(u32) -> bool) -> Vec<Arc<GroupState>> {
        let mut groups = self.groups.read().expect("class lock").clone();
        groups.retain(|state| state.counts.wanted.load(Relaxed) && wanted(state.group.spec.vdev));
        groups
    }

    /// Where nothing is free, what is in stock for logs is given up first.
    fn allocate_from(
        &self,
        groups: &[Arc<GroupState>],
        first: usize,
        what: (u64, usize, u64),
    ) -> Result<Vec<Dva>, AllocError> {
        match self.allocate_free(groups, first, what) {
            Err(AllocError::NoSpace) if self.empty_stock() => self.allocate_free(groups, first, what),
            done => done,
        }
    }

    fn allocate_free(
        &self,
        groups: &[Arc<GroupState>],
        first: usize,
        (psize, copies, txg): (u64, usize, u64),
    ) -> Result<Vec<Dva>, AllocError> {
        assert!((1..=MAX_COPIES).contains(&copies) && psize > 0);
        let source = self.source.get().ok_or(AllocError::NoSpace)?;
        let mut dvas: Vec<Dva> = Vec::with_capacity(copies);
        for copy in 0..copies {
            match self.allocate_copy(groups, first + copy, (psize, copy, txg), &dvas, &*source) {
                Ok(dva) => dvas.push(dva),
                Err(err) => {
                    dvas.iter().for_each(|dva| self.unallocate(dva, txg));
                    return Err(err);
                }
            }
        }
        Ok(dvas)
    }

    /// Whose turn it is, by aliquots weighted with how empty each is.
    fn turn(&self, groups: &[Arc<GroupState>], psize: u64) -> usize {
        if groups.len() < 2 {
            return 0;
        }
        let mut rotor = lock(&self.rotor);
        let at = rotor.at % groups.len();
        let average = groups.iter().map(|g| g.free() as u128).sum::<u128>() / groups.len() as u128;
        let share = (groups[at].free() as u128 * 100).checked_div(average).unwrap_or(100).clamp(10, 400);
        rotor.used += psize;
        if rotor.used as u128 >= u128::from(self.aliquot) * share / 100 {
            rotor.used = 0;
            rotor.at = at + 1;
        }
        at
    }

    fn allocate_copy(
        &self,
        groups: &[Arc<GroupState>],
        first: usize,
        (psize, copy, txg): (u64, usize, u64),
        others: &[Dva],
        source: &dyn SpaceMapSource,
    ) -> Result<Dva, AllocError> {
        let now = self.clock.fetch_add(1, Relaxed);
        let mut last = AllocError::NoSpace;
        // First wish: another vdev; then an eighth of the vdev away; then another metaslab; then
        // anywhere.
        for wish in [Wish::OtherVdev, Wish::FarAway, Wish::OtherMetaslab, Wish::Anywhere] {
            if others.is_empty() && wish != Wish::Anywhere {
                continue;
            }
            for step in 0..groups.len() {
                let state = &groups[(first + step) % groups.len()];
                let spec = &state.group.spec;
                let avoid = |metaslab: u64| others.iter().any(|dva| wish.refuses(spec, metaslab, dva));
                let asize = state.group.asize(psize);
                match state.group.allocate(asize, copy, (txg, now), source, &avoid) {
                    Ok(offset) => {
                        state.counts.allocated.fetch_add(asize as i64, Relaxed);
                        return Ok(Dva::new(spec.vdev, offset, asize));
                    }
                    Err(err) => last = err,
                }
            }
        }
        Err(last)
    }

    /// Takes back what `allocate` gave in `txg`, before its changes are taken.
    pub fn unallocate(&self, dva: &Dva, txg: u64) {
        let state = self.group(dva.vdev).expect("an allocation came from a group");
        let metaslab = state.group.metaslab_of(dva.offset).expect("and a metaslab");
        metaslab.unallocate(dva.offset, dva.asize, txg);
        state.group.reweigh(metaslab.id as usize);
        state.counts.allocated.fetch_sub(dva.asize as i64, Relaxed);
    }

    /// Whether somebody should begin to stock more for logs on a vdev, if `possible`; says so once.
    pub fn asks_for_stock(&self, vdev: u32, possible: &dyn Fn() -> bool) -> bool {
        let Some(state) = self.group(vdev) else { return false };
        let begins = lock(&state.counts.stock).begin(state.free());
        if begins && !possible() {
            lock(&state.counts.stock).give_up();
            return false;
        }
        begins
    }

    /// Lends space of a vdev whose stock is low; `None` where it is not, or there is no such space.
    pub fn lend_for_stock(&self, vdev: u32) -> Result<Option<Segment>, ReadError> {
        let Some(state) = self.group(vdev) else { return Ok(None) };
        let Some(wants) = lock(&state.counts.stock).wants(state.free()) else { return Ok(None) };
        let source = self.source.get().ok_or(ReadError::Io)?;
        // In whole sectors: what is left begins where this ends.
        let unit = 1u64 << state.group.spec.ashift.max(LENT_UNIT);
        let lent = state.group.lend_for_logs((stock::STEP.0, wants / unit * unit), &*source);
        if !matches!(lent, Ok(Some(_))) {
            lock(&state.counts.stock).give_up();
        }
        lent
    }

    /// Gives logs what was lent for them. A vdev that has gone meanwhile took it along.
    pub fn add_to_stock(&self, vdev: u32, lent: Segment) {
        if let Some(state) = self.group(vdev) {
            lock(&state.counts.stock).add(lent, state.free());
        }
    }

    /// Ends all loans for logs; `false` where there were none.
    pub fn empty_stock(&self) -> bool {
        let groups = self.groups.read().expect("class lock").clone();
        let mut given = false;
        for state in &groups {
            let lent = lock(&state.counts.stock).drain();
            given |= !lent.is_empty();
            lent.into_iter().for_each(|lent| state.group.give_back(lent));
        }
        given
    }

    /// Gives space back in `txg`, the group being synced; `kept`: a checkpoint still needs it, so
    /// it stays allocated.
    pub fn free(&self, dva: &Dva, txg: u64, kept: bool) -> Freed {
        let Some(state) = self.group(dva.vdev) else { return Freed::Nowhere };
        let Some(metaslab) = state.metaslab_around(dva) else { return Freed::Nowhere };
        if metaslab.free(dva.offset, dva.asize, txg, kept) { Freed::Done } else { Freed::Twice }
    }

    /// Puts space to use that the maps may not know of: the group that would have told them was
    /// never synced. It is in use from `txg` on. Nothing is changed where all of it is in use
    /// already.
    ///
    /// `Corrupt`: there is no such space, or a part of it belongs to another block.
    pub fn claim(&self, dva: &Dva, txg: u64) -> Result<(), ReadError> {
        let state = self.group(dva.vdev).ok_or(ReadError::Corrupt)?;
        let metaslab = state.metaslab_around(dva).ok_or(ReadError::Corrupt)?;
        let source = self.source.get().ok_or(ReadError::Io)?;
        if state.group.claim(metaslab, (dva.offset, dva.asize), txg, &*source)? {
            state.counts.allocated.fetch_add(dva.asize as i64, Relaxed);
        }
        Ok(())
    }

    /// Lends free space of a vdev, never so much that others could miss it: the first stretch of at
    /// least `min` bytes at or behind `from`, cut to `max` bytes and to one metaslab; and where to
    /// look next. `None` behind the end.
    pub fn lend(&self, vdev: u32, from: u64, (min, max): (u64, u64)) -> Result<Option<Loan>, ReadError> {
        let Some(state) = self.group(vdev) else { return Ok(None) };
        let source = self.source.get().ok_or(ReadError::Io)?;
        state.group.lend(from, (min, state.most_to_lend(max)), &*source)
    }

    /// Lends space of a vdev that became free since it was last lent.
    pub fn lend_freed(&self, vdev: u32, min: u64, max: u64) -> Option<Segment> {
        let state = self.group(vdev)?;
        state.group.lend_freed(min, state.most_to_lend(max))
    }

    /// Ends a loan.
    pub fn give_back(&self, vdev: u32, lent: Segment) {
        if let Some(state) = self.group(vdev) {
            state.group.give_back(lent);
        }
    }

    /// Whether what becomes free from now on is remembered.
    pub fn remember_freed(&self, wanted: bool) {
        self.remember.store(wanted, Relaxed);
    }

    fn group(&self, vdev: u32) -> Option<Arc<GroupState>> {
        let groups = self.groups.read().expect("class lock");
        groups.iter().find(|state| state.group.spec.vdev == vdev).cloned()
    }

    /// Everything of groups up to `txg` that the space maps do not have.
    pub fn take_changes(&self, txg: u64) -> Vec<SpaceChange> {
        let groups = self.groups.read().expect("class lock").clone();
        let mut changes = Vec::new();
        for state in &groups {
            let shift = state.group.spec.ashift;
            changes.extend(
                state.group.metaslabs.iter().filter_map(|metaslab| metaslab.take_changes(txg, shift)),
            );
        }
        changes
    }

    /// All allocated segments of one metaslab, for writing its space map anew; `None` when it is
    /// not loaded. Changes that were not taken yet are not in it.
    pub fn allocated_segments(&self, vdev: u32, metaslab: u64) -> Option<Vec<Segment>> {
        self.group(vdev)?.group.metaslabs.get(metaslab as usize)?.allocated()
    }

    /// Txg `txg` is durable, and nobody finds pointers any more to what it freed. `epoch` is the
    /// one that began with it.
    pub fn sync_done(&self, txg: u64, epoch: u64) {
        let groups = self.groups.read().expect("class lock").clone();
        for state in &groups {
            let settled = state.group.sync_done(txg, epoch, &self.epochs, self.remember.load(Relaxed));
            state.counts.allocated.fetch_sub(settled.deferred as i64, Relaxed);
            state.counts.deferred.fetch_add(settled.deferred as i64 - settled.released as i64, Relaxed);
            state.group.trim_memory(SEGMENTS_IN_MEMORY);
            lock(&state.counts.stock).hope();
        }
    }

    /// Whether freed space still waits to become allocatable.
    pub fn has_deferred(&self) -> bool {
        self.space().deferred > 0
    }

    pub fn space(&self) -> SpaceStat {
        let groups = self.groups.read().expect("class lock");
        groups.iter().fold(SpaceStat::default(), |sum, state| add(sum, state))
    }

    /// Space of one top-level vdev.
    pub fn vdev_space(&self, vdev: u32) -> Option<SpaceStat> {
        self.group(vdev).map(|state| add(SpaceStat::default(), &state))
    }

    /// Percent, of one vdev or of all; `None` where nothing is known to be free.
    pub fn fragmentation(&self, vdev: Option<u32>) -> Option<u8> {
        let groups = self.groups.read().expect("class lock");
        let mut sum = [0u64; 64];
        for state in groups.iter().filter(|state| vdev.is_none_or(|wanted| wanted == state.group.spec.vdev)) {
            for metaslab in &state.group.metaslabs {
                for (bucket, count) in metaslab.histogram().iter().enumerate() {
                    sum[bucket] += count;
                }
            }
        }
        fragmentation(&sum)
    }
}

fn add(sum: SpaceStat, state: &GroupState) -> SpaceStat {
    SpaceStat {
        capacity: sum.capacity + state.capacity,
        allocated: sum.allocated + state.counts.allocated.load(Relaxed).max(0) as u64,
        deferred: sum.deferred + state.counts.deferred.load(Relaxed).max(0) as u64,
    }
}

/// How far a copy keeps from the others.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wish {
    OtherVdev,
    FarAway,
    OtherMetaslab,
    Anywhere,
}

impl Wish {
    fn refuses(self, spec: &GroupSpec, metaslab: u64, other: &Dva) -> bool {
        if other.vdev != spec.vdev {
            return false;
        }
        let theirs = other.offset >> spec.metaslab_shift;
        match self {
            Wish::OtherVdev => true,
            Wish::FarAway => metaslab.abs_diff(theirs) < spec.metaslab_count / 8,
            Wish::OtherMetaslab => metaslab == theirs,
            Wish::Anywhere => false,
        }
    }
}

/// Weighs each power of two of free segment: 100 where it is of no use, 0 where it is as good as
/// whole. From 512 bytes up.
const FRAGMENTATION_OF: [u64; 16] = [100, 100, 98, 95, 90, 80, 70, 60, 50, 40, 30, 20, 15, 10, 5, 0];

fn fragmentation(histogram: &Histogram) -> Option<u8> {
    let (mut weighed, mut total) = (0u128, 0u128);
    for (bucket, &count) in histogram.iter().enumerate() {
        let bytes = u128::from(count) << bucket;
        let index = bucket.saturating_sub(9).min(FRAGMENTATION_OF.len() - 1);
        weighed += bytes * u128::from(FRAGMENTATION_OF[index]);
        total += bytes;
    }
    weighed.checked_div(total).map(|percent| percent as u8)
}

#[cfg(test)]
mod tests;
