//! A ZAP's blocks: those of an object under a transaction, or of one being built in memory.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ondisk::Malformed;

use crate::DmuError;
use crate::dnode::Dnode;
use crate::store::Block;
use crate::tx::Tx;

/// See the module. Whoever changes blocks holds the object's content lock alone.
pub(super) trait Blocks {
    fn object(&self) -> u64;

    /// Bytes of a block.
    fn block_size(&self) -> usize;

    /// Only while there is at most one block, whose content is lost.
    fn set_block_size(&self, size: usize) -> Result<(), DmuError>;

    /// `Corrupt` for a hole: no block of a ZAP that is referred to is one.
    fn get(&self, blkid: u64) -> Result<Arc<Block>, DmuError>;

    /// Changes a block in place. Of a block changed before in this transaction it cannot fail.
    fn update<R>(&self, blkid: u64, f: impl FnOnce(&mut [u8]) -> R) -> Result<R, DmuError>;

    /// As [`Blocks::update`]; `f` is told whether the block is sound: nothing but this has changed
    /// it since `f` was Ok in this transaction group. Where `f` fails it has changed nothing.
    fn update_sound<R>(
        &self,
        blkid: u64,
        f: impl FnOnce(&mut [u8], bool) -> Result<R, Malformed>,
    ) -> Result<R, DmuError>;

    /// Replaces a whole block; reads nothing.
    fn put(&self, blkid: u64, block: Block) -> Result<(), DmuError>;

    /// Makes blocks holes.
    fn free(&self, blkid: u64, count: u64) -> Result<(), DmuError>;

    /// These will be read.
    fn prefetch(&self, blkid: u64, count: u64);

    /// Reads these together, so that getting them will not wait.
    fn warm(&self, blkids: &BTreeSet<u64>) -> Result<(), DmuError>;

    /// So that a later update cannot fail.
    fn touch(&self, blkid: u64) -> Result<(), DmuError> {
        self.update(blkid, |_| ())
    }

    fn corrupt(&self, block: u64) -> DmuError {
        DmuError::Corrupt { object: self.object(), block }
    }

    /// For `map_err`.
    fn corrupt_at(&self, block: u64) -> impl Fn(Malformed) -> DmuError {
        let error = self.corrupt(block);
        move |_| error
    }
}

/// An object's blocks.
pub(super) struct Io<'a> {
    dnode: &'a Dnode,
    tx: Option<&'a Tx>,
}

impl<'a> Io<'a> {
    pub fn reading(dnode: &'a Dnode) -> Io<'a> {
        Io { dnode, tx: None }
    }

    pub fn writing(dnode: &'a Dnode, tx: &'a Tx) -> Io<'a> {
        Io { dnode, tx: Some(tx) }
    }

    fn tx(&self) -> &'a Tx {
        self.tx.expect("changes come with a transaction")
    }
}

impl Blocks for Io<'_> {
    fn object(&self) -> u64 {
        self.dnode.object()
    }

    fn block_size(&self) -> usize {
        self.dnode.block_size() as usize
    }

    fn set_block_size(&self, size: usize) -> Result<(), DmuError> {
        self.dnode.set_block_size(size as u32, self.tx())
    }

    fn get(&self, blkid: u64) -> Result<Arc<Block>, DmuError> {
        self.dnode.block(blkid)?.ok_or(self.corrupt(blkid))
    }

    fn update<R>(&self, blkid: u64, f: impl FnOnce(&mut [u8]) -> R) -> Result<R, DmuError> {
        self.dnode.update_block(blkid, self.tx(), f)
    }

    fn update_sound<R>(
        &self,
        blkid: u64,
        f: impl FnOnce(&mut [u8], bool) -> Result<R, Malformed>,
    ) -> Result<R, DmuError> {
        self.dnode.update_sound_block(blkid, self.tx(), f)?.map_err(self.corrupt_at(blkid))
    }

    fn put(&self, blkid: u64, block: Block) -> Result<(), DmuError> {
        self.dnode.put_block(blkid, Arc::new(block), self.tx())
    }

    fn free(&self, blkid: u64, count: u64) -> Result<(), DmuError> {
        let size = self.block_size() as u64;
        self.dnode.free_range(blkid * size, count * size, self.tx())
    }

    fn prefetch(&self, blkid: u64, count: u64) {
        let size = self.block_size() as u64;
        self.dnode.prefetch(blkid.saturating_mul(size), count.saturating_mul(size));
    }

    fn warm(&self, blkids: &BTreeSet<u64>) -> Result<(), DmuError> {
        self.dnode.warm(&blkids.iter().copied().collect::<Vec<u64>>())
    }
}

/// Blocks in memory: where a micro ZAP turns fat before anything of it is changed.
#[derive(Clone)]
pub(super) struct Draft {
    object: u64,
    block_size: Cell<usize>,
    blocks: RefCell<BTreeMap<u64, Arc<Block>>>,
}

impl Draft {
    pub fn new(object: u64, block_size: usize) -> Draft {
        Draft { object, block_size: Cell::new(block_size), blocks: RefCell::default() }
    }

    /// Gives all blocks away.
    pub fn into_blocks(self) -> impl Iterator<Item = (u64, Block)> {
        self.blocks.into_inner().into_iter().map(|(blkid, block)| (blkid, Arc::unwrap_or_clone(block)))
    }
}

impl Blocks for Draft {
    fn object(&self) -> u64 {
        self.object
    }

    fn block_size(&self) -> usize {
        self.block_size.get()
    }

    fn set_block_size(&self, size: usize) -> Result<(), DmuError> {
        if self.blocks.borrow().keys().any(|blkid| *blkid != 0) {
            return Err(DmuError::Busy);
        }
        self.blocks.borrow_mut().clear();
        self.block_size.set(size);
        Ok(())
    }

    fn get(&self, blkid: u64) -> Result<Arc<Block>, DmuError> {
        self.blocks.borrow().get(&blkid).cloned().ok_or(self.corrupt(blkid))
    }

    fn update<R>(&self, blkid: u64, f: impl FnOnce(&mut [u8]) -> R) -> Result<R, DmuError> {
        let mut blocks = self.blocks.borrow_mut();
        let block = blocks.get_mut(&blkid).ok_or(self.corrupt(blkid))?;
        Ok(f(Arc::<Block>::make_mut(block)))
    }

    fn update_sound<R>(
        &self,
        blkid: u64,
        f: impl FnOnce(&mut [u8], bool) -> Result<R, Malformed>,
    ) -> Result<R, DmuError> {
        self.update(blkid, |block| f(block, false))?.map_err(self.corrupt_at(blkid))
    }

    fn put(&self, blkid: u64, block: Block) -> Result<(), DmuError> {
        assert_eq!(block.len(), self.block_size());
        self.blocks.borrow_mut().insert(blkid, Arc::new(block));
        Ok(())
    }

    fn free(&self, blkid: u64, count: u64) -> Result<(), DmuError> {
        self.blocks.borrow_mut().retain(|at, _| *at < blkid || *at - blkid >= count);
        Ok(())
    }

    fn prefetch(&self, _blkid: u64, _count: u64) {}

    fn warm(&self, _blkids: &BTreeSet<u64>) -> Result<(), DmuError> {
        Ok(())
    }
}
