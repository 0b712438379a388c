//! A micro ZAP: one block.
//!
//! ```text
//!  0 block type   8 salt   16 normflags   24 zero      64 chunks of 64 bytes:
//!  0 value   8 differentiator (u32)   12 zero (u16)   14 name (50, NUL-terminated; empty: the chunk is free)
//! ```
//! Read and changed in place: nothing is copied that was not asked for.
//!
//! Source: include/sys/zap_impl.h.

use crate::malformed::{Endian, Malformed, Reader, Writer, u64_at};
use crate::numbers::swap_fields;
use crate::zap::BLOCK_TYPE_MICRO;

/// Bytes of the head, and of a chunk.
pub const CHUNK: usize = 64;
/// Bytes of the longest name, without its NUL.
pub const MAX_NAME: usize = NAME_FIELD - 1;
const NAME_FIELD: usize = 50;

/// One name and its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MicroEntry<'a> {
    pub value: u64,
    /// Tells entries of equal hash apart.
    pub cd: u32,
    /// 1 to 49 bytes.
    pub name: &'a [u8],
}

/// The whole block, to read.
#[derive(Debug, Clone, Copy)]
pub struct MicroZap<'a> {
    pub salt: u64,
    pub normflags: u64,
    block: &'a [u8],
}

impl<'a> MicroZap<'a> {
    /// Checks the head only; chunks are judged as they are read.
    pub fn new(block: &'a [u8]) -> Result<MicroZap<'a>, Malformed> {
        if u64_at(block, 0, Endian::Little, "micro zap")? != BLOCK_TYPE_MICRO {
            return Err(Malformed::at("micro zap block type", 0));
        }
        if block.len() < CHUNK {
            return Err(Malformed::at("micro zap", block.len()));
        }
        Ok(MicroZap {
            salt: u64_at(block, 8, Endian::Little, "micro zap")?,
            normflags: u64_at(block, 16, Endian::Little, "micro zap")?,
            block,
        })
    }

    /// How many chunks the block has.
    pub fn capacity(&self) -> usize {
        self.block.len() / CHUNK - 1
    }

    /// All chunks in order: `None` is a free one.
    pub fn chunks(&self) -> impl Iterator<Item = Result<Option<MicroEntry<'a>>, Malformed>> {
        self.block
            .chunks_exact(CHUNK)
            .enumerate()
            .skip(1)
            .map(move |(i, chunk)| decode_chunk(chunk).ok_or(Malformed::at("micro zap name", i * CHUNK)))
    }

    /// The chunk of this very name, of 1 to 49 bytes.
    pub fn find(&self, name: &[u8]) -> Option<(usize, MicroEntry<'a>)> {
        let is_named = |chunk: &&[u8]| {
            let field = chunk.get(CHUNK - NAME_FIELD..).and_then(|field| field.split_at_checked(name.len()));
            field.is_some_and(|(head, rest)| rest.first() == Some(&0) && head == name)
        };
        let mut chunks = self.block.chunks_exact(CHUNK).enumerate().skip(1);
        let (index, chunk) = chunks.find(|(_, chunk)| is_named(chunk)).filter(|_| !name.is_empty())?;
        Some((index - 1, decode_chunk(chunk)??))
    }

    /// The chunks in use, with their places.
    pub fn entries(&self) -> impl Iterator<Item = Result<(usize, MicroEntry<'a>), Malformed>> {
        let used = |(i, chunk): (usize, Result<Option<MicroEntry<'a>>, _>)| match chunk {
            Ok(entry) => entry.map(|entry| Ok((i, entry))),
            Err(error) => Some(Err(error)),
        };
        self.chunks().enumerate().filter_map(used)
    }
}

/// Makes the block an empty micro ZAP. `salt` must not be 0.
pub fn init(block: &mut [u8], salt: u64, normflags: u64) {
    assert!(salt != 0 && block.len() >= CHUNK);
    block.fill(0);
    let mut to = Writer::new(block, Endian::Little);
    to.u64(BLOCK_TYPE_MICRO);
    to.u64(salt);
    to.u64(normflags);
}

/// Fills the `index`-th chunk, or empties it. The index is within the block, the name not too long.
pub fn set(block: &mut [u8], index: usize, entry: Option<MicroEntry<'_>>) {
    let chunk = &mut block[(index + 1) * CHUNK..][..CHUNK];
    chunk.fill(0);
    let Some(entry) = entry else { return };
    assert!((1..=MAX_NAME).contains(&entry.name.len()) && !entry.name.contains(&0));
    let mut to = Writer::new(chunk, Endian::Little);
    to.u64(entry.value);
    to.u32(entry.cd);
    to.skip(2);
    to.bytes(entry.name);
}

/// Swaps the numbers of a block.
pub(super) fn swap(block: &mut [u8]) {
    for (index, chunk) in block.chunks_exact_mut(CHUNK).enumerate() {
        let fields: &[(usize, usize)] =
            if index == 0 { &[(0, 8), (8, 8), (16, 8)] } else { &[(0, 8), (8, 4)] };
        swap_fields(chunk, fields);
    }
}

/// `None`: a name without end.
fn decode_chunk(chunk: &[u8]) -> Option<Option<MicroEntry<'_>>> {
    let mut from = Reader::new(chunk, Endian::Little);
    let (value, cd) = (from.u64()?, from.u32()?);
    from.skip(2)?;
    let name = from.take(NAME_FIELD)?;
    let end = name.iter().position(|byte| *byte == 0)?;
    let name = name.get(..end)?;
    Some(if name.is_empty() { None } else { Some(MicroEntry { value, cd, name }) })
}

#[cfg(test)]
mod tests;
