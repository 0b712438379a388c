//! Changing a leaf in place.
//!
//! Before the first change the whole leaf is walked: every chain, array and the free list end where
//! they say, and no chunk is in two of them. After that no change can run astray, whatever wrote
//! the leaf; and each leaves the leaf as sound as it was, so that who knows that nothing else has
//! changed it since need not walk it again.

use super::{
    ARRAY_BYTES, AT_ENTRIES, AT_FLAGS, AT_FREE, AT_FREELIST, AT_MAGIC, AT_PREFIX, AT_PREFIX_LEN, CHUNK, END,
    FLAG_SORTED, Geometry, HEADER, Key, Leaf, LeafEntry, MAGIC, TYPE_ARRAY, TYPE_ENTRY, TYPE_FREE,
    array_chunks,
};
use crate::malformed::{Endian, Malformed};
use crate::zap::BLOCK_TYPE_LEAF;
use crate::zap::value::Value;

const LITTLE: Endian = Endian::Little;

/// A sound leaf, little endian, to change.
#[derive(Debug)]
pub struct LeafMut<'a> {
    block: &'a mut [u8],
    geometry: Geometry,
}

impl<'a> LeafMut<'a> {
    /// Checks all of it. `words`: its keys are numbers.
    pub fn new(block: &'a mut [u8], words: bool) -> Result<LeafMut<'a>, Malformed> {
        let geometry = check(&Leaf::new(block)?, words)?;
        Ok(LeafMut { block, geometry })
    }

    /// One that was checked, and that nothing but a [`LeafMut`] has changed since: walking it takes
    /// longer than a change.
    pub fn of_sound(block: &'a mut [u8]) -> Result<LeafMut<'a>, Malformed> {
        let geometry = Leaf::new(block)?.geometry;
        Ok(LeafMut { block, geometry })
    }

    /// Makes the block, of a size a leaf can have, an empty leaf for all hashes.
    pub fn init(block: &'a mut [u8], sorted: bool) -> LeafMut<'a> {
        let geometry = Geometry::of(block.len()).expect("a leaf's block size");
        block.fill(0);
        let mut leaf = LeafMut { block, geometry };
        leaf.put(0, &LITTLE.put_u64(BLOCK_TYPE_LEAF));
        leaf.put(AT_MAGIC, &LITTLE.put_u32(MAGIC));
        leaf.put_u16(AT_FREE, geometry.chunks as u16);
        leaf.block[AT_FLAGS] = if sorted { FLAG_SORTED } else { 0 };
        leaf.clear_slots();
        for chunk in 0..geometry.chunks as u16 {
            let at = geometry.chunk_at(chunk);
            leaf.block[at] = TYPE_FREE;
            let last = usize::from(chunk) + 1 == geometry.chunks;
            leaf.put_u16(at + 22, if last { END } else { chunk + 1 });
        }
        leaf
    }

    /// To read it as it is now.
    pub fn view(&self) -> Leaf<'_> {
        Leaf::new(self.block).expect("checked when it was opened")
    }

    /// The lowest differentiator that no entry of this hash has.
    pub fn free_cd(&self, hash: u64) -> u32 {
        let mut used: Vec<u32> = self.view().with_hash(hash).flatten().map(|entry| entry.cd).collect();
        used.sort_unstable();
        used.dedup();
        let gap = used.iter().enumerate().position(|(i, cd)| *cd != i as u32);
        gap.unwrap_or(used.len()) as u32
    }

    /// Adds an entry whose hash belongs here. The caller has seen that there is room
    /// ([`super::entry_chunks`]) and no entry of this key.
    pub fn insert(&mut self, key: &Key<'_>, hash: u64, cd: u32, value: &Value) {
        debug_assert!(self.view().covers(hash));
        let chunk = self.take_chunk();
        let name_chunk = self.store(&key.encode());
        let value_chunk = self.store(&value.encode());
        let at = self.geometry.chunk_at(chunk);
        self.block[at] = TYPE_ENTRY;
        self.block[at + 1] = value.int_size();
        self.put_u16(at + 4, name_chunk);
        self.put_u16(at + 6, key.ints() as u16);
        self.put_u16(at + 8, value_chunk);
        self.put_u16(at + 10, value.len() as u16);
        self.put(at + 12, &LITTLE.put_u32(cd));
        self.put(at + 16, &LITTLE.put_u64(hash));
        self.link(chunk, hash, cd);
        self.add_entries(1);
    }

    /// Replaces a value, once. The caller has seen that the difference fits.
    pub fn set_value(&mut self, entry: &LeafEntry, value: &Value) {
        self.release(entry.value_chunk);
        let value_chunk = self.store(&value.encode());
        let at = self.geometry.chunk_at(entry.chunk);
        self.block[at + 1] = value.int_size();
        self.put_u16(at + 8, value_chunk);
        self.put_u16(at + 10, value.len() as u16);
    }

    /// Takes an entry out; it may have been found before others were changed.
    pub fn remove(&mut self, entry: &LeafEntry) {
        let prefix_len = self.view().prefix_len;
        let mut link = self.geometry.slot_at(self.geometry.slot_of(entry.hash, prefix_len));
        while self.u16(link) != entry.chunk {
            link = self.geometry.chunk_at(self.u16(link)) + 2;
        }
        let next = self.u16(self.geometry.chunk_at(entry.chunk) + 2);
        self.put_u16(link, next);
        self.drop_entry(entry);
    }

    /// Moves the entries whose hashes go on with a 1 to an empty leaf, and says in both one bit
    /// more of the prefix.
    pub fn split(&mut self, new: &mut LeafMut<'_>, sorted: bool) {
        let mut entries = self.view().entries().expect("checked when it was opened");
        // In the order of chunks, as ZFS does: the same history then gives the same bytes.
        entries.sort_unstable_by_key(|entry| entry.chunk);
        let (prefix, prefix_len) = (self.view().prefix << 1, self.view().prefix_len + 1);
        self.set_prefix(prefix, prefix_len);
        self.clear_slots();
        new.set_prefix(prefix | 1, prefix_len);
        if sorted {
            self.block[AT_FLAGS] |= FLAG_SORTED;
        }
        for entry in entries {
            if entry.hash & 1 << (64 - prefix_len) == 0 {
                self.link(entry.chunk, entry.hash, entry.cd);
            } else {
                new.adopt(&self.view(), &entry);
                self.drop_entry(&entry);
            }
        }
    }

    /// Says how the hashes of its entries begin. Only of an empty leaf, or in the course of a
    /// split.
    pub fn set_prefix(&mut self, prefix: u64, prefix_len: u32) {
        self.put(AT_PREFIX, &LITTLE.put_u64(prefix));
        self.put_u16(AT_PREFIX_LEN, prefix_len as u16);
    }

    fn adopt(&mut self, from: &Leaf<'_>, entry: &LeafEntry) {
        let source = from.geometry.chunk_at(entry.chunk);
        let chunk = self.take_chunk();
        let at = self.geometry.chunk_at(chunk);
        self.block[at..at + CHUNK].copy_from_slice(&from.block[source..source + CHUNK]);
        let name = self.copy_array(from, entry.name_chunk);
        let value = self.copy_array(from, entry.value_chunk);
        self.put_u16(at + 4, name);
        self.put_u16(at + 8, value);
        self.link(chunk, entry.hash, entry.cd);
        self.add_entries(1);
    }

    fn copy_array(&mut self, from: &Leaf<'_>, mut chunk: u16) -> u16 {
        let (mut first, mut link) = (END, None);
        while chunk != END {
            let source = from.geometry.chunk_at(chunk);
            let copy = self.take_chunk();
            let at = self.geometry.chunk_at(copy);
            self.block[at..at + CHUNK].copy_from_slice(&from.block[source..source + CHUNK]);
            self.put_u16(at + 22, END);
            match link.replace(at + 22) {
                Some(link) => self.put_u16(link, copy),
                None => first = copy,
            }
            chunk = from.u16(source + 22);
        }
        first
    }

    /// Puts an entry into its chain, which stays sorted by differentiator.
    fn link(&mut self, chunk: u16, hash: u64, cd: u32) {
        let view = self.view();
        let mut link = self.geometry.slot_at(self.geometry.slot_of(hash, view.prefix_len));
        loop {
            let next = view.u16(link);
            if next == END || view.u32(self.geometry.chunk_at(next) + 12) > cd {
                break;
            }
            link = self.geometry.chunk_at(next) + 2;
        }
        let next = self.u16(link);
        self.put_u16(self.geometry.chunk_at(chunk) + 2, next);
        self.put_u16(link, chunk);
    }

    /// Frees the chunks of an entry that is in no chain any more.
    fn drop_entry(&mut self, entry: &LeafEntry) {
        self.release(entry.value_chunk);
        self.release(entry.name_chunk);
        let head = self.u16(AT_FREELIST);
        self.free_chunk(entry.chunk, head);
        self.put_u16(AT_FREELIST, entry.chunk);
        self.add_entries(-1);
    }

    fn take_chunk(&mut self) -> u16 {
        let chunk = self.u16(AT_FREELIST);
        assert!(chunk != END, "the caller looked for room");
        let next = self.u16(self.geometry.chunk_at(chunk) + 22);
        self.put_u16(AT_FREELIST, next);
        let free = self.u16(AT_FREE);
        self.put_u16(AT_FREE, free - 1);
        chunk
    }

    fn free_chunk(&mut self, chunk: u16, next: u16) {
        let at = self.geometry.chunk_at(chunk);
        self.block[at..at + CHUNK].fill(0);
        self.block[at] = TYPE_FREE;
        self.put_u16(at + 22, next);
        let free = self.u16(AT_FREE);
        self.put_u16(AT_FREE, free + 1);
    }

    /// Writes an array into free chunks; the first of them.
    fn store(&mut self, bytes: &[u8]) -> u16 {
        let (mut first, mut link) = (END, None);
        for piece in bytes.chunks(ARRAY_BYTES) {
            let chunk = self.take_chunk();
            let at = self.geometry.chunk_at(chunk);
            self.block[at..at + CHUNK].fill(0);
            self.block[at] = TYPE_ARRAY;
            self.block[at + 1..][..piece.len()].copy_from_slice(piece);
            self.put_u16(at + 22, END);
            match link.replace(at + 22) {
                Some(link) => self.put_u16(link, chunk),
                None => first = chunk,
            }
        }
        first
    }

    /// Frees an array; its chunks keep their order in the free list, so that they are reused in
    /// order.
    fn release(&mut self, first: u16) {
        if first == END {
            return;
        }
        let head = self.u16(AT_FREELIST);
        let mut chunk = first;
        while chunk != END {
            let next = self.u16(self.geometry.chunk_at(chunk) + 22);
            self.free_chunk(chunk, if next == END { head } else { next });
            chunk = next;
        }
        self.put_u16(AT_FREELIST, first);
    }

    fn clear_slots(&mut self) {
        let slots = self.geometry.slots();
        self.block[HEADER..HEADER + 2 * slots].fill(0xff);
    }

    fn add_entries(&mut self, delta: i16) {
        let entries = self.u16(AT_ENTRIES);
        self.put_u16(AT_ENTRIES, entries.checked_add_signed(delta).expect("checked when it was opened"));
    }

    fn u16(&self, at: usize) -> u16 {
        LITTLE.u16([self.block[at], self.block[at + 1]])
    }

    fn put_u16(&mut self, at: usize, value: u16) {
        self.put(at, &LITTLE.put_u16(value));
    }

    fn put(&mut self, at: usize, bytes: &[u8]) {
        self.block[at..at + bytes.len()].copy_from_slice(bytes);
    }
}

/// Chunks met so far, each at most once.
struct Met(Vec<bool>);

impl Met {
    fn meet(&mut self, chunk: u16) -> Result<(), Malformed> {
        match self.0.get_mut(usize::from(chunk)) {
            Some(met @ false) => {
                *met = true;
                Ok(())
            }
            _ => Err(Malformed::at("zap leaf chunk used twice", usize::from(chunk))),
        }
    }
}

fn check(leaf: &Leaf<'_>, words: bool) -> Result<Geometry, Malformed> {
    let geometry = leaf.geometry;
    let mut met = Met(vec![false; geometry.chunks]);
    let mut entries = 0;
    for slot in 0..geometry.slots() {
        for entry in leaf.chain(slot) {
            let entry = entry?;
            met.meet(entry.chunk)?;
            if !leaf.covers(entry.hash) || geometry.slot_of(entry.hash, leaf.prefix_len) != slot {
                return Err(Malformed::at("zap leaf hash", geometry.chunk_at(entry.chunk)));
            }
            let key_size = usize::from(entry.name_ints) * if words { 8 } else { 1 };
            check_array(leaf, &mut met, entry.name_chunk, key_size)?;
            check_array(leaf, &mut met, entry.value_chunk, entry.value_size())?;
            entries += 1;
        }
    }
    if entries != usize::from(leaf.num_entries) {
        return Err(Malformed::at("zap leaf entries", AT_ENTRIES));
    }
    let mut chunk = leaf.u16(AT_FREELIST);
    for _ in 0..leaf.free_chunks {
        met.meet(chunk)?;
        chunk = leaf.u16(leaf.chunk(chunk, TYPE_FREE)? + 22);
    }
    if chunk != END {
        return Err(Malformed::at("zap leaf free list", AT_FREELIST));
    }
    Ok(geometry)
}

fn check_array(leaf: &Leaf<'_>, met: &mut Met, mut chunk: u16, size: usize) -> Result<(), Malformed> {
    for _ in 0..array_chunks(size) {
        met.meet(chunk)?;
        chunk = leaf.u16(leaf.chunk(chunk, TYPE_ARRAY)? + 22);
    }
    if chunk != END {
        return Err(Malformed::at("zap leaf array", leaf.geometry.chunk_at(chunk)));
    }
    Ok(())
}
