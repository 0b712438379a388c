//! A micro ZAP: one block.
//!
//! ```text
//!  0 block type   8 salt   16 normflags   24 zero      64 chunks of 64 bytes:
//!  0 value   8 differentiator (u32)   12 zero (u16)   14 name (50, NUL-terminated; empty: the chunk is free)
//! ```
//! Source: include/sys/zap_impl.h.

use crate::malformed::{Endian, Malformed, Reader, Writer, slice_at, u64_at};
use crate::zap::BLOCK_TYPE_MICRO;

/// Bytes of the head, and of a chunk.
pub const CHUNK: usize = 64;
/// Bytes of the longest name, without its NUL.
pub const MAX_NAME: usize = NAME_FIELD - 1;
const NAME_FIELD: usize = 50;

/// One name and its number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MicroEntry {
    pub value: u64,
    /// Tells entries of equal hash apart.
    pub cd: u32,
    /// 1 to 49 bytes.
    pub name: Vec<u8>,
}

/// The whole block. A chunk's place in `chunks` is its place in the block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MicroZap {
    pub salt: u64,
    pub normflags: u64,
    pub chunks: Vec<Option<MicroEntry>>,
}

impl MicroZap {
    /// An empty one for a block of so many bytes. `salt` must not be 0.
    pub fn new(block_size: usize, salt: u64, normflags: u64) -> MicroZap {
        assert!(salt != 0 && block_size.is_multiple_of(512) && block_size != 0);
        MicroZap { salt, normflags, chunks: vec![None; block_size / CHUNK - 1] }
    }

    pub fn decode(block: &[u8], endian: Endian) -> Result<MicroZap, Malformed> {
        if u64_at(block, 0, endian, "micro zap")? != BLOCK_TYPE_MICRO {
            return Err(Malformed::at("micro zap block type", 0));
        }
        let chunks = slice_at(block, CHUNK, block.len().saturating_sub(CHUNK), "micro zap")?;
        Ok(MicroZap {
            salt: u64_at(block, 8, endian, "micro zap")?,
            normflags: u64_at(block, 16, endian, "micro zap")?,
            chunks: chunks
                .chunks_exact(CHUNK)
                .enumerate()
                .map(|(i, chunk)| {
                    decode_chunk(chunk, endian).ok_or(Malformed::at("micro zap name", (i + 1) * CHUNK))
                })
                .collect::<Result<_, _>>()?,
        })
    }

    /// The block.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = vec![0; (self.chunks.len() + 1) * CHUNK];
        let mut to = Writer::new(&mut bytes, Endian::Little);
        to.u64(BLOCK_TYPE_MICRO);
        to.u64(self.salt);
        to.u64(self.normflags);
        to.skip(40);
        for chunk in &self.chunks {
            let Some(entry) = chunk else {
                to.skip(CHUNK);
                continue;
            };
            assert!((1..=MAX_NAME).contains(&entry.name.len()) && !entry.name.contains(&0));
            to.u64(entry.value);
            to.u32(entry.cd);
            to.skip(2);
            to.bytes(&entry.name);
            to.skip(NAME_FIELD - entry.name.len());
        }
        bytes
    }
}

/// `None`: a name without end.
fn decode_chunk(chunk: &[u8], endian: Endian) -> Option<Option<MicroEntry>> {
    let mut from = Reader::new(chunk, endian);
    let (value, cd) = (from.u64()?, from.u32()?);
    from.skip(2)?;
    let name = from.take(NAME_FIELD)?;
    let end = name.iter().position(|byte| *byte == 0)?;
    let name = name.get(..end)?.to_vec();
    Some(if name.is_empty() { None } else { Some(MicroEntry { value, cd, name }) })
}

#[cfg(test)]
mod tests;
