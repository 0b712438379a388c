//! One object in memory.

use std::ops::Range;
use std::sync::{Arc, RwLock};

use ondisk::Endian;
use ondisk::dnode::DnodePhys;
use ondisk::object_type::ObjectType;

use crate::objset::Core;
use crate::store::Block;
use crate::tx::Tx;
use crate::DmuError;

/// A part of what was read.
#[derive(Debug, Clone)]
pub enum Chunk {
    /// These bytes of the block. The block never changes under the reader.
    Data(Arc<Block>, Range<usize>),
    /// So many zero bytes.
    Zero(usize),
}

impl Chunk {
    pub fn len(&self) -> usize {
        match self {
            Chunk::Data(_, range) => range.len(),
            Chunk::Zero(len) => *len,
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// What [`Dnode::next_offset`] looks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seek {
    Data,
    Hole,
}

/// An object's bonus buffer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bonus {
    pub bonus_type: ObjectType,
    pub bytes: Vec<u8>,
    /// The order of the numbers in it.
    pub endian: Endian,
}

/// See the module.
pub struct Dnode {
    object: u64,
    core: Arc<Core>,
    /// For whoever interprets the content (ZAP, SA, …) and must see or change several blocks as one.
    content: RwLock<()>,
}

impl Dnode {
    pub fn object(&self) -> u64 {
        self.object
    }

    pub fn object_type(&self) -> ObjectType {
        unimplemented!()
    }

    /// In bytes.
    pub fn block_size(&self) -> u32 {
        unimplemented!()
    }

    pub fn max_blkid(&self) -> u64 {
        unimplemented!()
    }

    pub fn slots(&self) -> u8 {
        unimplemented!()
    }

    pub fn bonus_type(&self) -> ObjectType {
        unimplemented!()
    }

    /// Bytes a bonus of this dnode can have at most (a spill pointer counted where there is one).
    pub fn bonus_capacity(&self) -> usize {
        unimplemented!()
    }

    /// Allocated bytes as of the last sync.
    pub fn used_bytes(&self) -> u64 {
        unimplemented!()
    }

    pub fn nlevels(&self) -> u8 {
        unimplemented!()
    }

    /// As of the last sync.
    pub fn phys(&self) -> DnodePhys {
        unimplemented!()
    }

    /// The lock of whoever interprets the content (a ZAP, say); this crate's block calls do not take it.
    pub fn content_lock(&self) -> &RwLock<()> {
        &self.content
    }

    /// The newest bytes, this open txg's included; `len` bytes whatever the object's size, in order.
    pub fn read(&self, offset: u64, len: usize) -> Result<Vec<Chunk>, DmuError> {
        unimplemented!("{offset}{len}")
    }

    /// As [`Dnode::read`], copied into one buffer; for small things.
    pub fn read_bytes(&self, offset: u64, len: usize) -> Result<Vec<u8>, DmuError> {
        unimplemented!("{offset}{len}")
    }

    /// A whole block, `block_size` bytes; `None` is a hole.
    pub fn block(&self, blkid: u64) -> Result<Option<Arc<Block>>, DmuError> {
        unimplemented!("{blkid}")
    }

    /// Asks for these bytes to be in the cache soon.
    pub fn prefetch(&self, offset: u64, len: u64) {
        unimplemented!("{offset}{len}")
    }

    /// Blocks that `data` covers wholly are not read.
    pub fn write(&self, offset: u64, data: &[u8], tx: &Tx) -> Result<(), DmuError> {
        unimplemented!("{offset}{}{}", data.len(), tx.is_syncing())
    }

    /// Replaces a whole block without copying; `block` has `block_size` bytes, little endian.
    pub fn put_block(&self, blkid: u64, block: Arc<Block>, tx: &Tx) -> Result<(), DmuError> {
        unimplemented!("{blkid}{}{}", block.len(), tx.is_syncing())
    }

    /// Changes a block in place (a hole is zeros first). `f` runs under the object's lock: short, no I/O, no calls
    /// on this dnode.
    pub fn update_block<R>(
        &self,
        blkid: u64,
        tx: &Tx,
        f: impl FnOnce(&mut [u8]) -> R,
    ) -> Result<R, DmuError> {
        let _ = f;
        unimplemented!("{blkid}{}", tx.is_syncing())
    }

    /// Makes the bytes zero; whole blocks become holes. `len` of `u64::MAX` means to the end.
    pub fn free_range(&self, offset: u64, len: u64, tx: &Tx) -> Result<(), DmuError> {
        unimplemented!("{offset}{len}{}", tx.is_syncing())
    }

    /// `Busy` unless the object has at most one block. `size` in bytes, a multiple of 512.
    pub fn set_block_size(&self, size: u32, tx: &Tx) -> Result<(), DmuError> {
        unimplemented!("{size}{}", tx.is_syncing())
    }

    /// The newest bonus.
    pub fn bonus(&self) -> Bonus {
        unimplemented!()
    }

    /// Replaces bytes and type; little endian. `TooBig` when it does not fit.
    pub fn set_bonus(&self, bonus_type: ObjectType, bytes: &[u8], tx: &Tx) -> Result<(), DmuError> {
        unimplemented!("{bonus_type:?}{}{}", bytes.len(), tx.is_syncing())
    }

    /// Changes bonus bytes in place; the length stays. Fails with `Unsupported` on a bonus in the other byte order.
    pub fn update_bonus<R>(&self, tx: &Tx, f: impl FnOnce(&mut [u8]) -> R) -> Result<R, DmuError> {
        let _ = f;
        unimplemented!("{}", tx.is_syncing())
    }

    pub fn has_spill(&self) -> bool {
        unimplemented!()
    }

    /// The newest spill block.
    pub fn spill(&self) -> Result<Option<Arc<Block>>, DmuError> {
        unimplemented!()
    }

    /// Replaces (512 bytes to 128 KiB, whole sectors) or removes the spill block. `TooBig` where the bonus leaves no
    /// room for its pointer: shrink that first.
    pub fn set_spill(&self, bytes: Option<&[u8]>, tx: &Tx) -> Result<(), DmuError> {
        unimplemented!("{:?}{}", bytes.map(<[u8]>::len), tx.is_syncing())
    }

    /// The first byte at or after `offset` that lies in a block of data (or in a hole), dirty state included; exact
    /// to whole blocks. `None`: no more of them before the end of the last block.
    pub fn next_offset(&self, offset: u64, seek: Seek) -> Result<Option<u64>, DmuError> {
        unimplemented!("{offset}{seek:?}")
    }

    /// Changed, and not yet durable.
    pub fn is_dirty(&self) -> bool {
        unimplemented!()
    }

    /// Tells the core, for tests of the skeleton.
    pub(crate) fn core(&self) -> &Arc<Core> {
        &self.core
    }
}
