//! Blocks waiting to be healed, by their place on disk.
//!
//! They are put in while trees are walked and taken out in the order of their offsets, a run from
//! each top-level vdev at a time so that all disks are busy, one sweep over the whole of it. A
//! block that is freed while it waits is taken out. One that is freed while the walk that finds it
//! goes on may be freed before it is put in: so frees are noted during a walk, and what it found is
//! held against them. A block that several pointers lead to waits once, whoever met it: so what is
//! deduplicated is read once for all that is found of it while it waits.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashSet};

use ondisk::zbookmark::Zbookmark;
use ondisk::{BlkPtr, Dva};

/// Most blocks of one run.
const RUN_BLOCKS: usize = 1024;
/// What an entry's own bookkeeping takes.
const OVERHEAD: usize = 32;

/// The place of a block that a table of deduplication showed, and no tree (as OpenZFS names it in
/// error logs).
pub(crate) const OF_TABLE: Zbookmark = Zbookmark::new(0, 0, 0, 0);

/// One copy of a block.
#[derive(Clone, Debug)]
pub(crate) struct Waiting {
    pub bp: BlkPtr,
    pub copy: usize,
    pub place: Zbookmark,
    /// Where it was met again.
    pub also: Vec<Zbookmark>,
}

impl Waiting {
    pub fn new(bp: BlkPtr, copy: usize, place: Zbookmark) -> Waiting {
        Waiting { bp, copy, place, also: Vec::new() }
    }

    /// Who has it, as far as trees have shown it.
    pub fn owners(&self) -> impl Iterator<Item = &Zbookmark> {
        [&self.place].into_iter().chain(&self.also).filter(|place| **place != OF_TABLE)
    }

    pub fn is_of_table(&self) -> bool {
        self.place == OF_TABLE || self.also.contains(&OF_TABLE)
    }

    /// Of those that count towards memory.
    fn places(&self) -> usize {
        1 + self.also.len()
    }

    /// Bytes of memory that one takes.
    pub const FOOTPRINT: usize = size_of::<Waiting>() + size_of::<u64>() + OVERHEAD;

    fn dva(&self) -> Dva {
        self.bp.dva(self.copy)
    }

    pub fn asize(&self) -> u64 {
        self.dva().asize
    }
}

/// See the module.
#[derive(Default)]
pub(crate) struct Sorted {
    /// The scan that they wait for ([`super::State`]).
    serial: u64,
    vdevs: BTreeMap<u32, Sweep>,
    count: usize,
    /// Places freed since the walk began that goes on now.
    freed: Option<HashSet<(u32, u64)>>,
}

#[derive(Default)]
struct Sweep {
    blocks: BTreeMap<u64, Waiting>,
    /// Everything before has been taken.
    at: u64,
}

impl Sorted {
    pub fn len(&self) -> usize {
        self.count
    }

    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Forgets what waits for another scan than this.
    pub fn turn_to(&mut self, serial: u64) {
        if self.serial != serial {
            *self = Sorted { serial, freed: self.freed.take(), ..Sorted::default() };
        }
    }

    /// To be called before the walk takes the tree it walks.
    pub fn begin_walk(&mut self) {
        self.freed = Some(HashSet::new());
    }

    /// Puts in what the walk found, unless it was freed meanwhile; the caller's epoch still holds.
    /// Gives the bytes of what waited already.
    pub fn end_walk(&mut self, found: Vec<Waiting>) -> u64 {
        let freed = self.freed.take().unwrap_or_default();
        let mut again = 0;
        for block in found {
            let dva = block.dva();
            if freed.contains(&(dva.vdev, dva.offset)) {
                continue;
            }
            again += self.add(block);
        }
        again
    }

    /// Puts a block in that is in use until [`Sorted::remove`] says otherwise. Gives its bytes if
    /// it waited already.
    pub fn add(&mut self, block: Waiting) -> u64 {
        let dva = block.dva();
        self.count += 1;
        match self.vdevs.entry(dva.vdev).or_default().blocks.entry(dva.offset) {
            Entry::Vacant(entry) => {
                entry.insert(block);
                0
            }
            Entry::Occupied(entry) => {
                let again = block.asize();
                entry.into_mut().also.push(block.place);
                again
            }
        }
    }

    /// Takes out all copies of a block that is freed; gives their bytes.
    pub fn remove(&mut self, bp: &BlkPtr) -> u64 {
        let mut bytes = 0;
        for dva in bp.dvas().into_iter().filter(Dva::is_valid) {
            if let Some(freed) = &mut self.freed {
                freed.insert((dva.vdev, dva.offset));
            }
            let sweep = self.vdevs.get_mut(&dva.vdev);
            if let Some(block) = sweep.and_then(|sweep| sweep.blocks.remove(&dva.offset)) {
                self.count -= block.places();
                bytes += block.asize();
            }
        }
        bytes
    }

    /// The next run of each vdev, of so many bytes as `bytes` says of the vdev, or a little more.
    pub fn take(&mut self, bytes: &dyn Fn(u32) -> u64) -> Vec<Waiting> {
        let mut taken = Vec::new();
        for (&vdev, sweep) in &mut self.vdevs {
            sweep.take(bytes(vdev), &mut taken);
        }
        self.count -= taken.iter().map(Waiting::places).sum::<usize>();
        self.vdevs.retain(|_, sweep| !sweep.blocks.is_empty());
        taken
    }
}

impl Sweep {
    fn take(&mut self, bytes: u64, into: &mut Vec<Waiting>) {
        if self.blocks.range(self.at..).next().is_none() {
            self.at = 0;
        }
        let mut left = bytes;
        for _ in 0..RUN_BLOCKS {
            let Some((&offset, _)) = self.blocks.range(self.at..).next() else { return };
            let Some(block) = self.blocks.remove(&offset) else { return };
            self.at = offset + 1;
            left = left.saturating_sub(block.asize());
            into.push(block);
            if left == 0 {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests;
