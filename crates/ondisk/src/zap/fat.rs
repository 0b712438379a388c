//! The head of a fat ZAP: block 0.
//!
//! ```text
//!  0 block type   8 magic   16 pointer table: block, blocks, shift, next block, blocks copied
//! 56 first free block   64 leafs   72 entries   80 salt   88 normflags   96 flags   … second half: pointers
//! ```
//! While the pointer table has no blocks of its own, it is the head's second half. A table has
//! thousands of entries and an operation needs one or two of them, so pointers are read and written
//! singly, in the block.
//!
//! Source: include/sys/zap_impl.h.

use crate::malformed::{Endian, Malformed, Reader, Writer, array_at};
use crate::zap::BLOCK_TYPE_HEADER;

pub const MAGIC: u64 = 0x2_F52A_B2AB;
/// log2 of a new fat ZAP's block size.
pub const DEFAULT_BLOCK_SHIFT: u32 = 14;
/// The pointer table never has more than `2^this` entries.
pub const MAX_TABLE_SHIFT: u64 = 46;
/// Bytes of a pointer.
pub const POINTER: usize = 8;

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

/// The head, without the table in its second half.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FatHeader {
    pub ptrtbl: TablePhys,
    /// Blocks are taken from here on.
    pub freeblk: u64,
    pub num_leafs: u64,
    pub num_entries: u64,
    pub salt: u64,
    pub normflags: u64,
    /// `FLAG_*` of [`crate::zap`].
    pub flags: u64,
}

impl FatHeader {
    /// From the whole of block 0, whose size is a power of two.
    pub fn decode(block: &[u8]) -> Result<FatHeader, Malformed> {
        if !block.len().is_power_of_two() || block.len() < 512 {
            return Err(Malformed::at("fat zap block size", block.len()));
        }
        let short = Malformed::at("fat zap", block.len());
        let mut from = Reader::new(block, Endian::Little);
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
        let header = FatHeader {
            ptrtbl,
            freeblk: next()?,
            num_leafs: next()?,
            num_entries: next()?,
            salt: next()?,
            normflags: next()?,
            flags: next()?,
        };
        header.check(block.len())?;
        Ok(header)
    }

    /// The table has room for as many entries as it says, and lies below the first free block.
    fn check(&self, block_size: usize) -> Result<(), Malformed> {
        let table = &self.ptrtbl;
        if table.shift > MAX_TABLE_SHIFT {
            return Err(Malformed::at("fat zap pointer table shift", 32));
        }
        if (table.numblks == 0) != (table.blk == 0) {
            return Err(Malformed::at("fat zap pointer table place", 16));
        }
        let capacity = if table.numblks == 0 {
            (block_size / 2 / POINTER) as u64
        } else {
            table.numblks.saturating_mul((block_size / POINTER) as u64)
        };
        if 1 << table.shift > capacity {
            return Err(Malformed::at("fat zap pointer table size", 24));
        }
        if self.freeblk > u64::MAX / block_size as u64 {
            return Err(Malformed::at("fat zap free block", 56));
        }
        // The copy in the making may lie above the first free block: ZFS forgets it when it lowers
        // that.
        let end = table.blk.checked_add(table.numblks);
        let copy_end = table.nextblk.checked_add(table.numblks.saturating_mul(2));
        if end.is_none_or(|end| end > self.freeblk) || copy_end.is_none() {
            return Err(Malformed::at("fat zap pointer table place", 16));
        }
        if table.nextblk != 0 && table.blks_copied >= table.numblks {
            return Err(Malformed::at("fat zap pointer table copy", 48));
        }
        Ok(())
    }

    /// Writes the head's fields into block 0 and leaves its second half as it is.
    pub fn write(&self, block: &mut [u8]) {
        let mut to = Writer::new(block, Endian::Little);
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
    }
}

/// log2 of the entries of a table inside the head.
pub const fn embedded_shift(block_size: usize) -> u32 {
    (block_size / 2 / POINTER).ilog2()
}

/// Where, counted in pointers, the table inside the head starts.
pub const fn embedded_start(block_size: usize) -> usize {
    block_size / 2 / POINTER
}

/// The top `shift` bits of a hash.
pub fn slot(hash: u64, shift: u64) -> u64 {
    if shift == 0 { 0 } else { hash.checked_shr(64 - shift.min(64) as u32).unwrap_or(0) }
}

/// The `index`-th pointer of a block of them: a leaf's block number.
pub fn pointer_at(block: &[u8], index: usize) -> Option<u64> {
    array_at(block, index.checked_mul(POINTER)?).map(u64::from_le_bytes)
}

/// Sets it. The index is within the block.
pub fn set_pointer(block: &mut [u8], index: usize, pointer: u64) {
    block[index * POINTER..][..POINTER].copy_from_slice(&Endian::Little.put_u64(pointer));
}

#[cfg(test)]
mod tests;
