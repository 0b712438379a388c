//! A queue of destroyed datasets whose blocks are still to be freed: roots of block trees.
//!
//! The object's data is an array of entries, the bonus says which of them are left and what they
//! hold.
//!
//! Source: include/sys/bptree.h.

use crate::blkptr::BlkPtr;
use crate::malformed::{Endian, Malformed, Reader, Writer, slice_at};
use crate::words::words;

words! {
    /// `bptree_phys_t`.
    pub struct BptreePhys [40, 40, "bptree"] {
        /// First entry left, and one past the last.
        begin,
        end,
        /// Allocated, compressed and uncompressed bytes not freed yet.
        bytes,
        comp,
        uncomp,
    }
}

/// `bptree_entry_phys_t`: a root, and how far freeing has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BptreeEntry {
    /// The object set's block.
    pub root: BlkPtr,
    /// Only blocks born after this are to be freed.
    pub birth_txg: u64,
    /// Everything before this bookmark is freed; all 0 at first.
    pub objset: u64,
    pub object: u64,
    pub level: i64,
    pub blkid: u64,
}

impl BptreeEntry {
    pub const SIZE: usize = BlkPtr::SIZE + 40;

    pub fn decode(bytes: &[u8]) -> Result<BptreeEntry, Malformed> {
        let root = BlkPtr::decode(bytes, Endian::Little)?;
        let mut from = Reader::new(slice_at(bytes, BlkPtr::SIZE, 40, "bptree entry")?, Endian::Little);
        let mut next = || from.u64().unwrap_or(0);
        Ok(BptreeEntry {
            root,
            birth_txg: next(),
            objset: next(),
            object: next(),
            level: next().cast_signed(),
            blkid: next(),
        })
    }

    pub fn encode(&self) -> [u8; BptreeEntry::SIZE] {
        let mut bytes = [0; BptreeEntry::SIZE];
        let mut to = Writer::new(&mut bytes, Endian::Little);
        to.bytes(&self.root.encode());
        for word in [self.birth_txg, self.objset, self.object, self.level.cast_unsigned(), self.blkid] {
            to.u64(word);
        }
        bytes
    }
}

#[cfg(test)]
mod tests;
