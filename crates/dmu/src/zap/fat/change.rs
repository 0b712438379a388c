//! Changing entries of a fat ZAP, leaf by leaf: of a batch in the order of the hashes, all that
//! goes into one leaf is looked up and changed together. A leaf is checked once in a transaction
//! group: after that only what is here has changed it.
//!
//! What is to be done in a leaf is planned before its first change, so that a leaf is changed as
//! planned or not at all.
//!
//! Source: module/zfs/zap_fat.c (`fzap_add_cd`, `fzap_update`, `fzap_remove`).

use ondisk::Malformed;
use ondisk::zap::fat::slot;
use ondisk::zap::hash::hash_bits;
use ondisk::zap::leaf::{Key, LOW_WATER, Leaf, LeafEntry, LeafMut, array_chunks, capacity, entry_chunks};
use ondisk::zap::value::Value;

use super::Fat;
use crate::DmuError;
use crate::store::Block;
use crate::zap::blocks::Blocks;
use crate::zap::key::Wanted;

/// What putting an entry means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::zap) enum Put {
    Add,
    /// With this differentiator.
    AddAt(u32),
    /// Add or replace.
    Update,
}

/// What is to become of an entry.
#[derive(Debug, Clone, Copy)]
pub(in crate::zap) enum What<'a> {
    Put(&'a Value, Put),
    Take,
}

pub(in crate::zap) struct Change<'a> {
    pub wanted: Wanted<'a>,
    pub what: What<'a>,
}

/// A change as its leaf makes it.
enum Step<'a> {
    Insert { key: &'a Key<'a>, hash: u64, cd: Option<u32>, value: &'a Value },
    Replace(LeafEntry, &'a Value),
    Remove(LeafEntry),
}

impl<'a> Step<'a> {
    fn of(change: &'a Change<'a>, found: Option<LeafEntry>) -> Result<Step<'a>, DmuError> {
        match (change.what, found) {
            (What::Take, None) => Err(DmuError::NotFound),
            (What::Take, Some(entry)) => Ok(Step::Remove(entry)),
            (What::Put(value, Put::Update), Some(entry)) => Ok(Step::Replace(entry, value)),
            (What::Put(..), Some(_)) => Err(DmuError::Exists),
            (What::Put(value, how), None) => {
                let cd = if let Put::AddAt(cd) = how { Some(cd) } else { None };
                Ok(Step::Insert { key: &change.wanted.key, hash: change.wanted.hash, cd, value })
            }
        }
    }

    /// Chunks it takes, and chunks it gives before. `words`: keys are numbers.
    fn chunks(&self, words: bool) -> (usize, usize) {
        match self {
            Step::Insert { key, value, .. } => (entry_chunks(key, value), 0),
            Step::Replace(entry, value) => (array_chunks(value.size()), entry.value_chunks()),
            Step::Remove(entry) => (0, entry.chunks(words)),
        }
    }

    fn make(&self, leaf: &mut LeafMut<'_>) {
        match self {
            Step::Insert { key, hash, cd, value } => {
                let cd = cd.unwrap_or_else(|| leaf.free_cd(*hash));
                leaf.insert(key, *hash, cd, value);
            }
            Step::Replace(entry, value) => leaf.set_value(entry, value),
            Step::Remove(entry) => leaf.remove(entry),
        }
    }
}

impl<B: Blocks> Fat<'_, B> {
    /// Makes these changes, in the order of their hashes, each of another entry. Of a single one
    /// that fails nothing is done; of several, those in the leafs before it are.
    pub fn change(&mut self, changes: &[Change<'_>]) -> Result<(), DmuError> {
        let room = capacity(self.block_size());
        let too_big = |change: &Change<'_>| match change.what {
            What::Put(value, _) => entry_chunks(&change.wanted.key, value) > room,
            What::Take => false,
        };
        if changes.iter().any(too_big) {
            return Err(DmuError::TooBig);
        }
        let mut left = changes;
        while let Some(next) = left.first() {
            let hash = next.wanted.hash;
            let (blkid, block) = self.leaf_of(hash)?;
            let steps = self.plan(blkid, &block, left)?;
            if steps.is_empty() {
                self.make_room(next, blkid, &block)?;
                continue;
            }
            // Changed in place where nobody else has it.
            drop(block);
            self.make(blkid, hash, &steps)?;
            left = &left[steps.len()..];
        }
        Ok(())
    }

    /// The steps that this leaf, which is the first one's, has room for.
    fn plan<'c>(
        &self,
        blkid: u64,
        block: &Block,
        changes: &'c [Change<'c>],
    ) -> Result<Vec<Step<'c>>, DmuError> {
        let broken = self.corrupt_at(blkid);
        let leaf = Leaf::new(block).map_err(&broken)?;
        let mut free = usize::from(leaf.free_chunks);
        let mut steps = Vec::new();
        for change in changes.iter().take_while(|change| leaf.covers(change.wanted.hash)) {
            let step = Step::of(change, self.find(&leaf, &change.wanted).map_err(&broken)?)?;
            let (takes, gives) = step.chunks(self.has_words());
            if takes > free + gives {
                break;
            }
            free = free + gives - takes;
            steps.push(step);
        }
        Ok(steps)
    }

    fn make(&mut self, blkid: u64, hash: u64, steps: &[Step<'_>]) -> Result<(), DmuError> {
        let count = |what: fn(&Step<'_>) -> bool| steps.iter().filter(|step| what(step)).count() as u64;
        let added = count(|step| matches!(step, Step::Insert { .. }));
        let removed = count(|step| matches!(step, Step::Remove(_)));
        if added + removed > 0 {
            self.blocks.touch(0)?;
        }
        let (prefix_len, free, entries) = self.update_leaf(blkid, |leaf| {
            steps.iter().for_each(|step| step.make(leaf));
            let view = leaf.view();
            (view.prefix_len, view.free_chunks, view.num_entries)
        })?;
        if added + removed > 0 {
            self.head.num_entries = self.head.num_entries.saturating_add(added).saturating_sub(removed);
            self.write_head()?;
        }
        // What was asked for is done. Growing ahead of need may fail; when there is need, it will
        // be tried again. Empty leafs that stay are only a waste of space.
        if (removed as usize) < steps.len() {
            let full = u64::from(prefix_len) == self.head.ptrtbl.shift && usize::from(free) < LOW_WATER;
            if full || self.head.ptrtbl.nextblk != 0 {
                let _ = self.grow_table();
            }
        } else if entries == 0 {
            let _ = self.shrink(hash);
        }
        Ok(())
    }

    /// Splits the leaf of a change that it has no room for, if that can help.
    fn make_room(&mut self, change: &Change<'_>, blkid: u64, block: &Block) -> Result<(), DmuError> {
        let broken = self.corrupt_at(blkid);
        let leaf = Leaf::new(block).map_err(&broken)?;
        let found = self.find(&leaf, &change.wanted).map_err(&broken)?;
        let (takes, gives) = Step::of(change, found)?.chunks(self.has_words());
        let stuck = self.inseparable(&leaf, change.wanted.hash).map_err(&broken)?;
        if stuck - gives + takes > capacity(self.block_size()) {
            return Err(DmuError::NoSpace);
        }
        self.expand(change.wanted.hash, blkid, block)
    }

    /// Chunks of the entries no split can part from this hash. Splitting regardless would double
    /// the table until it has a pointer for every hash, to no avail.
    fn inseparable(&self, leaf: &Leaf<'_>, hash: u64) -> Result<usize, Malformed> {
        let bits = self.max_shift();
        let words = self.has_words();
        let near = |entry: &LeafEntry| slot(entry.hash, bits) == slot(hash, bits);
        Ok(leaf.entries()?.iter().filter(|entry| near(entry)).map(|entry| entry.chunks(words)).sum())
    }

    /// The table is never indexed by the last two bits of a hash.
    pub(super) fn max_shift(&self) -> u64 {
        u64::from(hash_bits(self.head.flags)) - 2
    }
}
