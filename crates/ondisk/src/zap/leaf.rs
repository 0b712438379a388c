//! A leaf of a fat ZAP: the entries whose hashes begin with its prefix.
//!
//! ```text
//!  0 block type   8 zero   16 prefix   24 magic (u32)   28 free chunks (u16)   30 entries (u16)
//! 32 prefix length (u16)   34 free list (u16)   36 flags (u8)
//! 48 hash table: chunk numbers (u16), one for each 32 bytes of block; then chunks of 24 bytes:
//!    entry   0 type 252   1 integer size   2 next in chain (u16)   4 name's chunk (u16)   6 name's integers (u16)
//!            8 value's chunk (u16)   10 value's integers (u16)   12 differentiator (u32)   16 hash
//!    array   0 type 251   1 bytes (21)   22 next (u16)
//!    free    0 type 253   1 zero (21)    22 next (u16)
//! ```
//! `0xffff` ends a chain. A byte name's integers count its NUL, which is stored but not hashed.
//! [`Leaf`] reads, and bounds each walk by the number of chunks; [`LeafMut`] changes a leaf it has
//! checked as a whole.
//!
//! Source: include/sys/zap_leaf.h, module/zfs/zap_leaf.c.

mod edit;

pub use edit::LeafMut;

use crate::malformed::{Endian, Malformed, array_at};
use crate::numbers::{swap_fields, swap_numbers};
use crate::zap::value::Value;
use crate::zap::{BLOCK_TYPE_LEAF, fat};

const MAGIC: u32 = 0x02AB_1EAF;
const HEADER: usize = 48;
const CHUNK: usize = 24;
const END: u16 = 0xffff;
const TYPE_ENTRY: u8 = 252;
const TYPE_ARRAY: u8 = 251;
const TYPE_FREE: u8 = 253;
/// Bytes of a name or value in one chunk.
const ARRAY_BYTES: usize = CHUNK - 3;
const AT_PREFIX: usize = 16;
const AT_MAGIC: usize = 24;
const AT_FREE: usize = 28;
const AT_ENTRIES: usize = 30;
const AT_PREFIX_LEN: usize = 32;
const AT_FREELIST: usize = 34;
const AT_FLAGS: usize = 36;
/// Chains are sorted by differentiator.
const FLAG_SORTED: u8 = 1;
/// With fewer chunks free than this in a leaf that only one pointer leads to, the pointer table
/// starts to grow.
pub const LOW_WATER: usize = 20;

/// Where things lie in a leaf of some block size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Geometry {
    /// log2 of the hash table's entries.
    slot_shift: u32,
    chunks: usize,
}

impl Geometry {
    /// For a block of a power of two bytes, 512 to 1 MiB: chunk numbers have 16 bits.
    fn of(block_size: usize) -> Option<Geometry> {
        if !block_size.is_power_of_two() || !(512..=1 << 20).contains(&block_size) {
            return None;
        }
        let slot_shift = block_size.ilog2() - 5;
        Some(Geometry { slot_shift, chunks: (block_size - (2 << slot_shift)) / CHUNK - 2 })
    }

    fn slots(&self) -> usize {
        1 << self.slot_shift
    }

    fn slot_at(&self, slot: usize) -> usize {
        HEADER + 2 * slot
    }

    fn chunk_at(&self, chunk: u16) -> usize {
        HEADER + 2 * self.slots() + CHUNK * usize::from(chunk)
    }

    /// The hash's bits that follow the prefix.
    fn slot_of(&self, hash: u64, prefix_len: u32) -> usize {
        (hash >> (64 - self.slot_shift - prefix_len)) as usize & (self.slots() - 1)
    }
}

/// How many chunks a leaf of this block size has (0 for a size no leaf can have).
pub fn capacity(block_size: usize) -> usize {
    Geometry::of(block_size).map_or(0, |geometry| geometry.chunks)
}

/// How many chunks a name or value of so many bytes needs.
pub const fn array_chunks(bytes: usize) -> usize {
    bytes.div_ceil(ARRAY_BYTES)
}

/// A key as a leaf keeps it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Key<'a> {
    /// Bytes without their NUL, none of them 0.
    Name(&'a [u8]),
    /// Of a ZAP with [`crate::zap::FLAG_UINT64_KEY`].
    Words(&'a [u64]),
}

impl Key<'_> {
    /// Integers on disk: a name's include its NUL.
    fn ints(&self) -> usize {
        match self {
            Key::Name(name) => name.len() + 1,
            Key::Words(words) => words.len(),
        }
    }

    fn int_size(&self) -> usize {
        match self {
            Key::Name(_) => 1,
            Key::Words(_) => 8,
        }
    }

    /// Bytes on disk.
    pub fn size(&self) -> usize {
        self.ints() * self.int_size()
    }

    fn encode(&self) -> Vec<u8> {
        match self {
            Key::Name(name) => name.iter().copied().chain([0]).collect(),
            Key::Words(words) => words.iter().flat_map(|word| Endian::Big.put_u64(*word)).collect(),
        }
    }
}

/// Chunks an entry with this key and value needs.
pub fn entry_chunks(key: &Key<'_>, value: &Value) -> usize {
    1 + array_chunks(key.size()) + array_chunks(value.size())
}

/// An entry's own chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeafEntry {
    /// Which chunk it is: good until the leaf changes.
    pub chunk: u16,
    pub hash: u64,
    pub cd: u32,
    /// Bytes of an integer of the value, and how many.
    pub int_size: u8,
    pub value_ints: u16,
    next: u16,
    name_chunk: u16,
    name_ints: u16,
    value_chunk: u16,
}

impl LeafEntry {
    /// Chunks of the value.
    pub fn value_chunks(&self) -> usize {
        array_chunks(self.value_size())
    }

    /// Chunks of all of it. `words`: its key is of numbers.
    pub fn chunks(&self, words: bool) -> usize {
        let key_size = usize::from(self.name_ints) * if words { 8 } else { 1 };
        1 + array_chunks(key_size) + self.value_chunks()
    }

    fn value_size(&self) -> usize {
        usize::from(self.value_ints) * usize::from(self.int_size)
    }
}

/// A leaf to read.
#[derive(Debug, Clone, Copy)]
pub struct Leaf<'a> {
    block: &'a [u8],
    geometry: Geometry,
    pub prefix: u64,
    pub prefix_len: u32,
    pub free_chunks: u16,
    pub num_entries: u16,
}

impl<'a> Leaf<'a> {
    /// Checks the header; entries are judged as they are read.
    pub fn new(block: &'a [u8]) -> Result<Leaf<'a>, Malformed> {
        let geometry = Geometry::of(block.len()).ok_or(Malformed::at("zap leaf size", block.len()))?;
        let mut leaf = Leaf { block, geometry, prefix: 0, prefix_len: 0, free_chunks: 0, num_entries: 0 };
        // The second word once chained leafs; nothing has written such chains since before ZFS was
        // released.
        if leaf.u64(0) != BLOCK_TYPE_LEAF || leaf.u64(8) != 0 {
            return Err(Malformed::at("zap leaf block type", 0));
        }
        if leaf.u32(AT_MAGIC) != MAGIC {
            return Err(Malformed::at("zap leaf magic", AT_MAGIC));
        }
        leaf.prefix = leaf.u64(AT_PREFIX);
        leaf.prefix_len = u32::from(leaf.u16(AT_PREFIX_LEN));
        leaf.free_chunks = leaf.u16(AT_FREE);
        leaf.num_entries = leaf.u16(AT_ENTRIES);
        let bits = leaf.prefix_len;
        if bits + geometry.slot_shift > 64 || (bits < 64 && leaf.prefix >> bits != 0) {
            return Err(Malformed::at("zap leaf prefix", AT_PREFIX));
        }
        if usize::from(leaf.free_chunks) > geometry.chunks || usize::from(leaf.num_entries) > geometry.chunks
        {
            return Err(Malformed::at("zap leaf counts", AT_FREE));
        }
        Ok(leaf)
    }

    /// Whether entries of this hash belong here.
    pub fn covers(&self, hash: u64) -> bool {
        fat::slot(hash, u64::from(self.prefix_len)) == self.prefix
    }

    fn u16(&self, at: usize) -> u16 {
        u16::from_le_bytes(array_at(self.block, at).unwrap_or_default())
    }

    fn u32(&self, at: usize) -> u32 {
        u32::from_le_bytes(array_at(self.block, at).unwrap_or_default())
    }

    fn u64(&self, at: usize) -> u64 {
        u64::from_le_bytes(array_at(self.block, at).unwrap_or_default())
    }

    /// The chunk's place, if there is such a chunk and it is of this type.
    fn chunk(&self, chunk: u16, kind: u8) -> Result<usize, Malformed> {
        let at = self.geometry.chunk_at(chunk);
        if usize::from(chunk) >= self.geometry.chunks || self.block.get(at) != Some(&kind) {
            return Err(Malformed::at("zap leaf chunk", at));
        }
        Ok(at)
    }

    fn entry(&self, chunk: u16) -> Result<LeafEntry, Malformed> {
        let at = self.chunk(chunk, TYPE_ENTRY)?;
        let int_size = self.block.get(at + 1).copied().unwrap_or(0);
        if !matches!(int_size, 1 | 2 | 4 | 8) {
            return Err(Malformed::at("zap integer size", at + 1));
        }
        Ok(LeafEntry {
            chunk,
            int_size,
            next: self.u16(at + 2),
            name_chunk: self.u16(at + 4),
            name_ints: self.u16(at + 6),
            value_chunk: self.u16(at + 8),
            value_ints: self.u16(at + 10),
            cd: self.u32(at + 12),
            hash: self.u64(at + 16),
        })
    }

    /// The entries chained in one slot, at most as many as there are chunks.
    fn chain(&self, slot: usize) -> impl Iterator<Item = Result<LeafEntry, Malformed>> {
        let mut next = self.u16(self.geometry.slot_at(slot));
        let mut left = self.geometry.chunks;
        std::iter::from_fn(move || {
            if next == END {
                return None;
            }
            if left == 0 {
                next = END;
                return Some(Err(Malformed::at("zap leaf chain", self.geometry.slot_at(slot))));
            }
            left -= 1;
            let entry = self.entry(next);
            next = entry.map_or(END, |entry| entry.next);
            Some(entry)
        })
    }

    /// The entries of this hash. It must belong here.
    pub fn with_hash(&self, hash: u64) -> impl Iterator<Item = Result<LeafEntry, Malformed>> {
        let slot = self.geometry.slot_of(hash, self.prefix_len);
        self.chain(slot).filter(move |entry| entry.is_ok_and(|entry| entry.hash == hash) || entry.is_err())
    }

    /// All entries, in no order.
    pub fn entries(&self) -> Result<Vec<LeafEntry>, Malformed> {
        let mut entries = Vec::new();
        for entry in (0..self.geometry.slots()).flat_map(|slot| self.chain(slot)) {
            if entries.len() >= self.geometry.chunks {
                return Err(Malformed::at("zap leaf chain", HEADER));
            }
            entries.push(entry?);
        }
        Ok(entries)
    }

    /// Hands over an array's bytes piece by piece, until it ends or `each` says stop.
    fn walk(
        &self,
        mut chunk: u16,
        mut len: usize,
        mut each: impl FnMut(&'a [u8]) -> bool,
    ) -> Result<(), Malformed> {
        if len > self.geometry.chunks * ARRAY_BYTES {
            return Err(Malformed::at("zap leaf array length", self.geometry.chunk_at(chunk)));
        }
        while len > 0 {
            let at = self.chunk(chunk, TYPE_ARRAY)?;
            let take = len.min(ARRAY_BYTES);
            let piece = self.block.get(at + 1..at + 1 + take).ok_or(Malformed::at("zap leaf array", at))?;
            if !each(piece) {
                return Ok(());
            }
            len -= take;
            chunk = self.u16(at + 22);
        }
        Ok(())
    }

    fn array(&self, chunk: u16, len: usize) -> Result<Vec<u8>, Malformed> {
        let mut bytes = Vec::with_capacity(len.min(self.block.len()));
        self.walk(chunk, len, |piece| {
            bytes.extend_from_slice(piece);
            true
        })?;
        Ok(bytes)
    }

    /// A byte name, without its NUL. Of a leaf whose keys are names.
    pub fn name(&self, entry: &LeafEntry) -> Result<Vec<u8>, Malformed> {
        let mut name = self.array(entry.name_chunk, usize::from(entry.name_ints))?;
        match name.pop() {
            Some(0) if !name.is_empty() && !name.contains(&0) => Ok(name),
            _ => Err(Malformed::at("zap name", self.geometry.chunk_at(entry.chunk))),
        }
    }

    /// A key of numbers. Of a leaf whose keys are such.
    pub fn words(&self, entry: &LeafEntry) -> Result<Vec<u64>, Malformed> {
        match Value::decode(8, self.array(entry.name_chunk, 8 * usize::from(entry.name_ints))?)? {
            Value::U64(words) => Ok(words),
            _ => Ok(Vec::new()),
        }
    }

    /// Whether the entry has exactly this key.
    pub fn key_is(&self, entry: &LeafEntry, key: &Key<'_>) -> Result<bool, Malformed> {
        if usize::from(entry.name_ints) != key.ints() {
            return Ok(false);
        }
        let mut equal = true;
        match key {
            Key::Name(name) => {
                let mut rest = *name;
                self.walk(entry.name_chunk, name.len(), |piece| {
                    let (head, tail) = rest.split_at(piece.len());
                    rest = tail;
                    equal = head == piece;
                    equal
                })?;
            }
            Key::Words(words) => {
                let mut rest = words.iter().flat_map(|word| Endian::Big.put_u64(*word));
                self.walk(entry.name_chunk, key.size(), |piece| {
                    equal = piece.iter().all(|byte| rest.next() == Some(*byte));
                    equal
                })?;
            }
        }
        Ok(equal)
    }

    pub fn value(&self, entry: &LeafEntry) -> Result<Value, Malformed> {
        Value::decode(entry.int_size, self.array(entry.value_chunk, entry.value_size())?)
    }
}

/// Swaps the numbers of a leaf. A chunk of no known kind stays as it is.
pub(super) fn swap(block: &mut [u8]) {
    let Some(geometry) = Geometry::of(block.len()) else { return };
    swap_fields(block, &[(0, 8), (8, 8), (AT_PREFIX, 8), (AT_MAGIC, 4), (AT_FREE, 2), (AT_ENTRIES, 2)]);
    swap_fields(block, &[(AT_PREFIX_LEN, 2), (AT_FREELIST, 2)]);
    swap_numbers::<2>(&mut block[HEADER..][..2 * geometry.slots()]);
    for chunk in 0..geometry.chunks as u16 {
        let chunk = &mut block[geometry.chunk_at(chunk)..][..CHUNK];
        let fields: &[(usize, usize)] = match chunk[0] {
            TYPE_ENTRY => &[(2, 2), (4, 2), (6, 2), (8, 2), (10, 2), (12, 4), (16, 8)],
            TYPE_ARRAY | TYPE_FREE => &[(22, 2)],
            _ => &[],
        };
        swap_fields(chunk, fields);
    }
}

#[cfg(test)]
mod tests;
