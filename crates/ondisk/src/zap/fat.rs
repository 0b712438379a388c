//! The head of a fat ZAP: block 0.
//!
//! ```text
//!  0 block type   8 magic   16 pointer table: block, blocks, shift, next block, blocks copied
//! 56 first free block   64 leafs   72 entries   80 salt   88 normflags   96 flags   … second half: pointers
//! ```
//! While the pointer table has no blocks of its own, it is the head's second half.
//!
//! Source: include/sys/zap_impl.h.

use crate::malformed::{Endian, Malformed, Reader, Writer};
use crate::zap::BLOCK_TYPE_HEADER;

pub const MAGIC: u64 = 0x2_F52A_B2AB;
/// log2 of a new fat ZAP's block size.
pub const DEFAULT_BLOCK_SHIFT: u32 = 14;
/// The pointer table never has more than `2^this` entries.
pub const MAX_TABLE_SHIFT: u64 = 46;

/// Where the pointer table lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TablePhys {
    /// First block of it; 0 with `numblks` 0: in the head.
    pub blk: u64,
    pub numblks: u64,
    /// It has `2^shift` entries.
    pub shift: u64,
    /// First block of the copy twice as large that is being made; 0: none.
    pub nextblk: u64,
    /// Blocks of the present table already copied there.
    pub blks_copied: u64,
}

/// The head.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FatHeader {
    pub ptrtbl: TablePhys,
    /// Blocks are taken from here on; never given back.
    pub freeblk: u64,
    pub num_leafs: u64,
    pub num_entries: u64,
    pub salt: u64,
    pub normflags: u64,
    /// `FLAG_*` of [`crate::zap`].
    pub flags: u64,
    /// The block's second half: leaf block numbers, where the table is in the head; else whatever was there.
    pub embedded: Vec<u64>,
}

impl FatHeader {
    /// From the whole of block 0, whose size is a power of two.
    pub fn decode(block: &[u8], endian: Endian) -> Result<FatHeader, Malformed> {
        if !block.len().is_power_of_two() || block.len() < 512 {
            return Err(Malformed::at("fat zap block size", block.len()));
        }
        let short = Malformed::at("fat zap", block.len());
        let mut from = Reader::new(block, endian);
        let mut next = || from.u64().ok_or(short);
        if next()? != BLOCK_TYPE_HEADER {
            return Err(Malformed::at("fat zap block type", 0));
        }
        if next()? != MAGIC {
            return Err(Malformed::at("fat zap magic", 8));
        }
        let ptrtbl = TablePhys {
            blk: next()?,
            numblks: next()?,
            shift: next()?,
            nextblk: next()?,
            blks_copied: next()?,
        };
        let mut header = FatHeader {
            ptrtbl,
            freeblk: next()?,
            num_leafs: next()?,
            num_entries: next()?,
            salt: next()?,
            normflags: next()?,
            flags: next()?,
            embedded: Vec::with_capacity(block.len() / 16),
        };
        let mut half = Reader::new(block.get(block.len() / 2..).ok_or(short)?, endian);
        while let Some(pointer) = half.u64() {
            header.embedded.push(pointer);
        }
        header.check()?;
        Ok(header)
    }

    fn check(&self) -> Result<(), Malformed> {
        let table = &self.ptrtbl;
        if table.shift > MAX_TABLE_SHIFT {
            return Err(Malformed::at("fat zap pointer table shift", 32));
        }
        let capacity = if table.numblks == 0 {
            self.embedded.len() as u64
        } else {
            table.numblks.saturating_mul(self.embedded.len() as u64 * 2)
        };
        if 1 << table.shift > capacity {
            return Err(Malformed::at("fat zap pointer table size", 24));
        }
        Ok(())
    }

    /// The whole of block 0.
    pub fn encode(&self) -> Vec<u8> {
        assert!(self.embedded.len().is_power_of_two() && self.embedded.len() >= 32);
        let mut block = vec![0; self.embedded.len() * 16];
        let mut to = Writer::new(&mut block, Endian::Little);
        let table = &self.ptrtbl;
        let words = [
            BLOCK_TYPE_HEADER,
            MAGIC,
            table.blk,
            table.numblks,
            table.shift,
            table.nextblk,
            table.blks_copied,
            self.freeblk,
            self.num_leafs,
            self.num_entries,
            self.salt,
            self.normflags,
            self.flags,
        ];
        for word in words {
            to.u64(word);
        }
        to.skip(self.embedded.len() * 8 - to.position());
        for pointer in &self.embedded {
            to.u64(*pointer);
        }
        block
    }

    /// Slot of the pointer table for a hash.
    pub fn slot(&self, hash: u64) -> u64 {
        slot(hash, self.ptrtbl.shift)
    }

    /// log2 of the entries of a table inside the head.
    pub fn embedded_shift(&self) -> u32 {
        self.embedded.len().ilog2()
    }
}

/// The top `shift` bits of a hash.
pub fn slot(hash: u64, shift: u64) -> u64 {
    if shift == 0 { 0 } else { hash.checked_shr(64 - shift.min(64) as u32).unwrap_or(0) }
}

/// A block of pointers: leaf block numbers.
pub fn decode_pointers(block: &[u8], endian: Endian) -> Vec<u64> {
    block.as_chunks().0.iter().map(|word| endian.u64(*word)).collect()
}

/// The block of these pointers.
pub fn encode_pointers(pointers: &[u64]) -> Vec<u8> {
    pointers.iter().flat_map(|pointer| pointer.to_le_bytes()).collect()
}

#[cfg(test)]
mod tests;
