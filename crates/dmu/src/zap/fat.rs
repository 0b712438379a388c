//! Fat ZAPs: an extensible hash table.
//!
//! A hash's top bits index the pointer table, which names the hash's leaf. A leaf knows how many of
//! those bits all its entries share (its prefix), and `2^(shift − prefix length)` pointers lead to
//! it. A full leaf splits by one bit more; one that only a single pointer leads to makes the table
//! double first. The doubling of a table that has blocks of its own is spread over many changes:
//! each copies one block ([`TablePhys::blks_copied`]), and until it is done changes of pointers go
//! to both tables. Of two leafs that differ in the last bit of their prefixes, and are both empty,
//! one is given up.
//!
//! Sources: module/zfs/zap_fat.c, include/sys/zap_impl.h.
//!
//! [`TablePhys::blks_copied`]: ondisk::zap::fat::TablePhys

mod change;

use std::collections::BTreeSet;
use std::sync::Arc;

use ondisk::Malformed;
use ondisk::zap::fat::{
    FatHeader, POINTER, TablePhys, embedded_shift, embedded_start, pointer_at, set_pointer, slot,
};
use ondisk::zap::leaf::{Leaf, LeafEntry, LeafMut, capacity};
use ondisk::zap::value::Value;
use ondisk::zap::{FLAG_UINT64_KEY, Form};

use super::blocks::Blocks;
use super::key::Wanted;
use super::{Info, Matched, Values, ZapParams};
use crate::DmuError;
use crate::store::Block;

pub(super) use change::{Change, Put, What};

/// A fat ZAP and its head as it is now.
pub(super) struct Fat<'a, B> {
    blocks: &'a B,
    head: FatHeader,
}

/// Makes block 0 a head and block 1 an empty leaf for all hashes.
pub(super) fn format<B: Blocks>(blocks: &B, params: ZapParams) -> Result<(), DmuError> {
    let size = blocks.block_size();
    if capacity(size) == 0 {
        return Err(DmuError::Invalid("block size of a fat ZAP"));
    }
    let mut first = Block::zeroed(size);
    let head = FatHeader {
        ptrtbl: TablePhys { shift: u64::from(embedded_shift(size)), ..TablePhys::default() },
        freeblk: 2,
        num_leafs: 1,
        num_entries: 0,
        salt: params.salt,
        normflags: params.normflags,
        flags: params.flags,
    };
    head.write(&mut first);
    for i in 0..embedded_start(size) {
        set_pointer(&mut first, embedded_start(size) + i, 1);
    }
    let mut leaf = Block::zeroed(size);
    LeafMut::init(&mut leaf, params.normflags != 0);
    blocks.put(0, first)?;
    blocks.put(1, leaf)
}

impl<'a, B: Blocks> Fat<'a, B> {
    pub fn load(blocks: &'a B) -> Result<Fat<'a, B>, DmuError> {
        Fat::new(blocks, &*blocks.get(0)?)
    }

    /// With block 0, already read.
    pub fn new(blocks: &'a B, first: &Block) -> Result<Fat<'a, B>, DmuError> {
        let head = FatHeader::decode(first).map_err(blocks.corrupt_at(0))?;
        Ok(Fat { blocks, head })
    }

    pub fn info(&self) -> Info {
        let head = &self.head;
        Info {
            form: Form::Fat,
            salt: head.salt,
            normflags: head.normflags,
            flags: head.flags,
            entries: head.num_entries,
            leafs: head.num_leafs,
            blocks: head.freeblk,
        }
    }

    pub fn has_words(&self) -> bool {
        self.head.flags & FLAG_UINT64_KEY != 0
    }

    pub fn block_size(&self) -> usize {
        self.blocks.block_size()
    }

    /// Its first blocks will be read.
    pub fn prefetch(&self, max: u64) {
        self.blocks.prefetch(0, self.head.freeblk.min(max));
    }

    pub fn corrupt_at(&self, block: u64) -> impl Fn(Malformed) -> DmuError + use<'a, B> {
        let error = self.blocks.corrupt(block);
        move |_| error
    }

    // ── Pointers ──

    fn per_block(&self) -> u64 {
        (self.block_size() / POINTER) as u64
    }

    /// The blocks that hold these entries of a table: block, first pointer within it, how many.
    fn places(
        &self,
        table: u64,
        first: u64,
        count: u64,
    ) -> impl Iterator<Item = (u64, usize, usize)> + use<'a, B> {
        let (blk, base) = if table == 0 { (0, embedded_start(self.block_size()) as u64) } else { (table, 0) };
        let per_block = self.per_block();
        let mut at = base + first;
        let end = at + count;
        std::iter::from_fn(move || {
            let take = (per_block - at % per_block).min(end - at);
            let place = (blk + at / per_block, (at % per_block) as usize, take as usize);
            at += take;
            (take != 0).then_some(place)
        })
    }

    fn pointer(&self, index: u64) -> Result<u64, DmuError> {
        let table = &self.head.ptrtbl;
        let (blkid, at, _) = self.places(table.blk, index, 1).next().expect("one entry");
        let block = self.blocks.get(blkid)?;
        pointer_at(&block, at).ok_or(self.blocks.corrupt(blkid))
    }

    /// Reads the leafs of these hashes, which are in order, and before them the blocks of pointers
    /// to them, each together. How many leafs.
    fn warm(&self, hashes: &[u64]) -> Result<usize, DmuError> {
        let table = self.head.ptrtbl;
        let places = hashes.iter().flat_map(|hash| self.places(table.blk, slot(*hash, table.shift), 1));
        let places: Vec<(u64, usize, usize)> = places.collect();
        self.blocks.warm(&places.iter().map(|(blkid, ..)| *blkid).collect())?;
        let mut leafs = BTreeSet::new();
        for of_one in places.chunk_by(|one, other| one.0 == other.0) {
            let blkid = of_one[0].0;
            let block = self.blocks.get(blkid)?;
            for (_, at, _) in of_one {
                leafs.insert(pointer_at(&block, *at).ok_or(self.blocks.corrupt(blkid))?);
            }
        }
        self.blocks.warm(&leafs)?;
        Ok(leafs.len())
    }

    /// Makes later changes of these pointers certain to succeed.
    fn touch_pointers(&self, first: u64, count: u64) -> Result<(), DmuError> {
        let table = self.head.ptrtbl;
        for (blkid, ..) in self.places(table.blk, first, count) {
            self.blocks.touch(blkid)?;
        }
        if table.nextblk != 0 {
            for (blkid, ..) in self.places(table.nextblk, 2 * first, 2 * count) {
                self.touch_copy(blkid)?;
            }
        }
        Ok(())
    }

    /// A block of the copy in the making may not have been written yet.
    fn touch_copy(&self, blkid: u64) -> Result<(), DmuError> {
        match self.blocks.touch(blkid) {
            Err(DmuError::Corrupt { .. }) => self.blocks.put(blkid, Block::zeroed(self.block_size())),
            done => done,
        }
    }

    /// Of pointers touched before.
    fn set_pointers(&self, first: u64, count: u64, leaf: u64) -> Result<(), DmuError> {
        let table = self.head.ptrtbl;
        let mut places: Vec<_> = self.places(table.blk, first, count).collect();
        if table.nextblk != 0 {
            places.extend(self.places(table.nextblk, 2 * first, 2 * count));
        }
        for (blkid, at, count) in places {
            self.blocks.update(blkid, |block| {
                for i in at..at + count {
                    set_pointer(block, i, leaf);
                }
            })?;
        }
        Ok(())
    }

    fn write_head(&self) -> Result<(), DmuError> {
        self.blocks.update(0, |block| self.head.write(block))
    }

    // ── Leafs ──

    /// The leaf of a hash and its block number.
    pub fn leaf_of(&self, hash: u64) -> Result<(u64, Arc<Block>), DmuError> {
        let index = slot(hash, self.head.ptrtbl.shift);
        let blkid = self.pointer(index)?;
        if blkid == 0 || blkid >= self.head.freeblk {
            return Err(self.blocks.corrupt(0));
        }
        let block = self.blocks.get(blkid)?;
        let leaf = Leaf::new(&block).map_err(self.corrupt_at(blkid))?;
        if !leaf.covers(hash) || u64::from(leaf.prefix_len) > self.head.ptrtbl.shift {
            return Err(self.blocks.corrupt(blkid));
        }
        Ok((blkid, block))
    }

    /// Changes a leaf, which is checked first unless it has been in this transaction group.
    fn update_leaf<R>(&self, blkid: u64, f: impl FnOnce(&mut LeafMut<'_>) -> R) -> Result<R, DmuError> {
        let words = self.has_words();
        self.blocks.update_sound(blkid, |block, is_sound| {
            let mut leaf = if is_sound { LeafMut::of_sound(block)? } else { LeafMut::new(block, words)? };
            Ok(f(&mut leaf))
        })
    }

    /// The entry meant: of several the one with the lowest differentiator.
    fn find(&self, leaf: &Leaf<'_>, wanted: &Wanted<'_>) -> Result<Option<LeafEntry>, Malformed> {
        let mut best: Option<LeafEntry> = None;
        for entry in leaf.with_hash(wanted.hash) {
            let entry = entry?;
            if best.is_none_or(|best| entry.cd < best.cd) && wanted.is_entry(leaf, &entry)? {
                best = Some(entry);
            }
        }
        Ok(best)
    }

    pub fn get(&self, wanted: &Wanted<'_>) -> Result<Matched, DmuError> {
        let (blkid, block) = self.leaf_of(wanted.hash)?;
        let broken = self.corrupt_at(blkid);
        let leaf = Leaf::new(&block).map_err(&broken)?;
        let entry = self.find(&leaf, wanted).map_err(&broken)?.ok_or(DmuError::NotFound)?;
        let value = leaf.value(&entry).map_err(&broken)?;
        if self.has_words() {
            return Ok(Matched { value, name: Vec::new(), conflict: false });
        }
        let name = leaf.name(&entry).map_err(&broken)?;
        let mut conflict = false;
        if wanted.hasher().folds() {
            for other in leaf.with_hash(wanted.hash).flatten().filter(|other| other.chunk != entry.chunk) {
                conflict |= wanted.hasher().conflict(&name, &leaf.name(&other).map_err(&broken)?)?;
            }
        }
        Ok(Matched { value, name, conflict })
    }

    /// The values of many, which are in the order of their hashes; what is read for them is read
    /// together.
    pub fn values(&self, wanted: &[Wanted<'_>]) -> Values {
        let hashes: Vec<u64> = wanted.iter().map(|wanted| wanted.hash).collect();
        // A leaf that cannot be read is the affair of those who are in it.
        let leafs = self.warm(&hashes).unwrap_or(wanted.len());
        let mut answers = Vec::with_capacity(wanted.len());
        while let Some(next) = wanted.get(answers.len()) {
            match self.leaf_of(next.hash) {
                Ok((blkid, block)) => self.values_in(blkid, &block, &wanted[answers.len()..], &mut answers),
                Err(error) => answers.push(Err(error)),
            }
        }
        Values { answers, leafs }
    }

    /// Of those that belong into this leaf, the first of them at least.
    fn values_in(
        &self,
        blkid: u64,
        block: &Block,
        wanted: &[Wanted<'_>],
        answers: &mut Vec<Result<Option<Value>, DmuError>>,
    ) {
        let broken = self.corrupt_at(blkid);
        let value = |leaf: &Leaf<'_>, wanted: &Wanted<'_>| {
            let found = self.find(leaf, wanted)?;
            found.map(|entry| leaf.value(&entry)).transpose()
        };
        match Leaf::new(block) {
            Ok(leaf) => {
                let here = wanted.iter().take_while(|wanted| leaf.covers(wanted.hash));
                answers.extend(here.map(|wanted| value(&leaf, wanted).map_err(&broken)));
            }
            Err(error) => answers.push(Err(broken(error))),
        }
    }

    // ── Growing ──

    /// Makes room by splitting the hash's leaf.
    fn expand(&mut self, hash: u64, blkid: u64, block: &Block) -> Result<(), DmuError> {
        let broken = self.corrupt_at(blkid);
        let prefix_len = Leaf::new(block).map_err(&broken)?.prefix_len;
        while u64::from(prefix_len) >= self.head.ptrtbl.shift {
            self.grow_table()?;
        }
        let new_len = u64::from(prefix_len) + 1;
        let spread = self.head.ptrtbl.shift - new_len;
        let (first, count) = ((slot(hash, new_len) | 1) << spread, 1_u64 << spread);
        self.check_pointers(first, count, blkid)?;
        self.blocks.touch(0)?;
        self.touch_pointers(first, count)?;

        let size = self.block_size();
        let mut old = Block::from_slice(block);
        let mut new = Block::zeroed(size);
        let sorted = self.head.normflags != 0;
        let mut leaf = LeafMut::new(&mut old, self.has_words()).map_err(&broken)?;
        leaf.split(&mut LeafMut::init(&mut new, sorted), sorted);
        let new_blkid = self.head.freeblk;
        self.blocks.put(new_blkid, new)?;
        self.blocks.put(blkid, old)?;
        self.set_pointers(first, count, new_blkid)?;
        self.head.freeblk += 1;
        self.head.num_leafs += 1;
        self.write_head()
    }

    /// All these pointers lead to this leaf.
    fn check_pointers(&self, first: u64, count: u64, leaf: u64) -> Result<(), DmuError> {
        for (blkid, at, count) in self.places(self.head.ptrtbl.blk, first, count) {
            let block = self.blocks.get(blkid)?;
            if (at..at + count).any(|i| pointer_at(&block, i) != Some(leaf)) {
                return Err(self.blocks.corrupt(blkid));
            }
        }
        Ok(())
    }

    /// Doubles the table, or does a step towards that. `NoSpace` when there are hardly more bits in
    /// a hash.
    fn grow_table(&mut self) -> Result<(), DmuError> {
        let mut table = self.head.ptrtbl;
        if table.shift >= self.max_shift() {
            return Err(DmuError::NoSpace);
        }
        self.blocks.touch(0)?;
        let half = (self.per_block() / 2) as usize;
        if table.numblks == 0 {
            if table.shift != u64::from(embedded_shift(self.block_size())) {
                return Err(self.blocks.corrupt(0));
            }
            let first = self.blocks.get(0)?;
            let block = self.doubled(&first, embedded_start(self.block_size()))?;
            table = TablePhys { blk: self.head.freeblk, numblks: 1, shift: table.shift + 1, ..table };
            self.blocks.put(table.blk, block)?;
            self.head.freeblk += 1;
        } else {
            if 1 << table.shift != table.numblks * self.per_block() {
                return Err(self.blocks.corrupt(0));
            }
            let old = self.blocks.get(table.blk + table.blks_copied)?;
            if table.nextblk == 0 {
                table.nextblk = self.head.freeblk;
                table.blks_copied = 0;
                self.head.freeblk += 2 * table.numblks;
                self.blocks.prefetch(table.blk, table.numblks);
            }
            for part in 0..2 {
                let block = self.doubled(&old, part * half)?;
                self.blocks.put(table.nextblk + 2 * table.blks_copied + part as u64, block)?;
            }
            table.blks_copied += 1;
            if table.blks_copied == table.numblks {
                self.blocks.free(table.blk, table.numblks)?;
                table = TablePhys {
                    blk: table.nextblk,
                    numblks: 2 * table.numblks,
                    shift: table.shift + 1,
                    nextblk: 0,
                    blks_copied: 0,
                };
            }
        }
        self.head.ptrtbl = table;
        self.write_head()
    }

    /// A block of pointers made of half a block of them, from `start` on, each twice.
    fn doubled(&self, old: &Block, start: usize) -> Result<Block, DmuError> {
        let mut new = Block::zeroed(self.block_size());
        for i in 0..self.per_block() as usize / 2 {
            let pointer = pointer_at(old, start + i).ok_or(self.blocks.corrupt(0))?;
            set_pointer(&mut new, 2 * i, pointer);
            set_pointer(&mut new, 2 * i + 1, pointer);
        }
        Ok(new)
    }

    // ── Shrinking ──

    /// While the hash's leaf and its sibling are empty, gives up the second of the two.
    fn shrink(&mut self, hash: u64) -> Result<(), DmuError> {
        let mut last_freed = false;
        while let Some((keep, drop)) = self.empty_siblings(hash)? {
            let block = self.blocks.get(keep)?;
            let leaf = Leaf::new(&block).map_err(self.corrupt_at(keep))?;
            let (prefix, prefix_len) = (leaf.prefix, leaf.prefix_len);
            let spread = self.head.ptrtbl.shift - u64::from(prefix_len);
            let (first, count) = ((prefix | 1) << spread, 1_u64 << spread);
            self.check_pointers(first, count, drop)?;
            self.touch_pointers(first, count)?;
            self.update_leaf(keep, |leaf| leaf.set_prefix(prefix >> 1, prefix_len - 1))?;
            self.set_pointers(first, count, keep)?;
            self.blocks.free(drop, 1)?;
            last_freed |= drop + 1 == self.head.freeblk;
            self.head.num_leafs = self.head.num_leafs.saturating_sub(1);
            self.write_head()?;
        }
        if last_freed { self.lower_freeblk() } else { Ok(()) }
    }

    /// Blocks of the hash's leaf and its sibling, prefix ending in 0 first, if there is a sibling
    /// and both are empty.
    fn empty_siblings(&self, hash: u64) -> Result<Option<(u64, u64)>, DmuError> {
        let (blkid, block) = self.leaf_of(hash)?;
        let leaf = Leaf::new(&block).map_err(self.corrupt_at(blkid))?;
        if leaf.prefix_len == 0 || leaf.num_entries != 0 {
            return Ok(None);
        }
        let sibling_prefix = leaf.prefix ^ 1;
        let index = sibling_prefix << (self.head.ptrtbl.shift - u64::from(leaf.prefix_len));
        let (sibling, block) = self.leaf_of(index << (64 - self.head.ptrtbl.shift))?;
        let other = Leaf::new(&block).map_err(self.corrupt_at(sibling))?;
        if other.prefix_len != leaf.prefix_len || other.prefix != sibling_prefix || other.num_entries != 0 {
            return Ok(None);
        }
        Ok(Some(if leaf.prefix & 1 == 0 { (blkid, sibling) } else { (sibling, blkid) }))
    }

    /// Blocks at the end that nothing leads to can be taken again.
    fn lower_freeblk(&mut self) -> Result<(), DmuError> {
        let table = self.head.ptrtbl;
        let mut last = (table.blk + table.numblks).saturating_sub(1);
        if table.nextblk != 0 {
            last = last.max(table.nextblk + 2 * table.numblks - 1);
        }
        for (blkid, at, count) in self.places(table.blk, 0, 1 << table.shift) {
            let block = self.blocks.get(blkid)?;
            last = (at..at + count).filter_map(|i| pointer_at(&block, i)).fold(last, u64::max);
        }
        if last < self.head.freeblk {
            self.head.freeblk = last + 1;
            self.write_head()?;
        }
        Ok(())
    }
}
