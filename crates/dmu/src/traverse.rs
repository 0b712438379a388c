//! Walking every block of an object set, in the order of objects and blocks, without the object set
//! being open: for verifying a pool and for giving up a dead dataset's blocks.
//!
//! The walk is depth first and keeps one path of blocks in memory; before it goes into the children
//! of an indirect block it asks storage for a window of them. What lies below a block it cannot
//! read is reported, not guessed.

use std::sync::Arc;

use env::IoClass;
use ondisk::dnode::{DnodePhys, SLOT_SIZE, SLOTS_PER_BLOCK};
use ondisk::object_type::ObjectType;
use ondisk::objset::{GROUPUSED_OBJECT, ObjsetPhys, PROJECTUSED_OBJECT, USERUSED_OBJECT};
use ondisk::{BlkPtr, Endian};

use crate::DmuError;
use crate::error::read_failed;
use crate::objset::META_OBJECT;
use crate::store::{Block, BlockStore, Keep};
use crate::tree::check_pointer;

/// Pointers asked for ahead.
const WINDOW: usize = 32;

/// What part of an object a block is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// The object set's own block.
    Root,
    /// Level 0 holds data, higher ones pointers.
    Tree {
        level: u8,
        blkid: u64,
    },
    Spill,
}

/// A block met on the walk.
#[derive(Debug, Clone, Copy)]
pub struct Visit<'a> {
    /// 0 is the meta dnode.
    pub object: u64,
    pub part: Part,
    /// Never a hole, but in [`Visitor::hole`]; may be embedded.
    pub bp: &'a BlkPtr,
    /// The object it belongs to; none for the root.
    pub dnode: Option<&'a DnodePhys>,
}

impl Visit<'_> {
    /// Everything at and below this block comes before a block of an object.
    pub fn is_before(&self, object: u64, blkid: u64) -> bool {
        let (Part::Tree { level, blkid: at }, Some(dnode)) = (self.part, self.dnode) else { return false };
        let end = at.saturating_add(1).saturating_mul(dnode.span(level));
        if self.object == META_OBJECT {
            return end.saturating_mul(SLOTS_PER_BLOCK as u64) <= object;
        }
        self.object < object || (self.object == object && end <= blkid)
    }
}

/// How the walk goes on after a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Go {
    On,
    /// Not below this block.
    Past,
    /// No further at all.
    Stop,
}

/// Who wants to see the blocks.
pub trait Visitor {
    /// Called for each block before those below it.
    fn block(&mut self, visit: &Visit<'_>) -> Go;

    /// Called for each object before its blocks.
    fn object(&mut self, _object: u64, _dnode: &DnodePhys) -> Go {
        Go::On
    }

    /// Called for each hole that is younger than where the walk begins, or does not know its age;
    /// `bp` is one.
    fn hole(&mut self, _visit: &Visit<'_>) -> Go {
        Go::On
    }

    /// Called for each number that is no object, in blocks of dnodes that are gone into.
    fn free_slot(&mut self, _object: u64) -> Go {
        Go::On
    }

    /// Called after everything below a block that was gone into.
    fn left(&mut self, _visit: &Visit<'_>) {}

    /// This block's children cannot be known.
    fn unreadable(&mut self, visit: &Visit<'_>, error: DmuError) -> Go;
}

/// Walks all blocks born after `min_txg`.
pub fn traverse(store: &dyn BlockStore, root: &BlkPtr, min_txg: u64, visitor: &mut dyn Visitor) {
    if root.is_hole() || root.birth() <= min_txg {
        return;
    }
    let mut walk = Walk { store, min_txg, visitor };
    // Stopping is an outcome, not an error.
    let _ = walk.root(root);
}

/// Walks the blocks of one object.
pub fn traverse_object(
    store: &dyn BlockStore,
    object: u64,
    dnode: &DnodePhys,
    min_txg: u64,
    visitor: &mut dyn Visitor,
) {
    let mut walk = Walk { store, min_txg, visitor };
    let _ = walk.object(object, dnode);
}

struct Stopped;

impl Go {
    fn unless_stopped(self) -> Result<Go, Stopped> {
        if self == Go::Stop { Err(Stopped) } else { Ok(self) }
    }
}

struct Walk<'a> {
    store: &'a dyn BlockStore,
    min_txg: u64,
    visitor: &'a mut dyn Visitor,
}

impl Walk<'_> {
    fn root(&mut self, bp: &BlkPtr) -> Result<(), Stopped> {
        let visit = Visit { object: META_OBJECT, part: Part::Root, bp, dnode: None };
        let Some(block) = self.enter(&visit)? else { return Ok(()) };
        let Ok(phys) = ObjsetPhys::decode(&block) else {
            return self.unreadable(&visit, DmuError::Corrupt { object: META_OBJECT, block: 0 });
        };
        self.object(META_OBJECT, &phys.meta_dnode)?;
        let special = [
            (USERUSED_OBJECT, &phys.userused_dnode),
            (GROUPUSED_OBJECT, &phys.groupused_dnode),
            (PROJECTUSED_OBJECT, &phys.projectused_dnode),
        ];
        for (object, dnode) in special {
            if let Some(dnode) = dnode {
                self.object(object, dnode)?;
            }
        }
        self.visitor.left(&visit);
        Ok(())
    }

    fn object(&mut self, object: u64, dnode: &DnodePhys) -> Result<(), Stopped> {
        if self.visitor.object(object, dnode).unless_stopped()? == Go::Past {
            return Ok(());
        }
        for (blkid, bp) in dnode.blkptrs.iter().enumerate() {
            self.below(object, dnode, dnode.nlevels - 1, blkid as u64, bp)?;
        }
        if let Some(bp) = dnode.spill.as_ref().filter(|bp| !bp.is_hole() && bp.birth() > self.min_txg) {
            let visit = Visit { object, part: Part::Spill, bp, dnode: Some(dnode) };
            self.visitor.block(&visit).unless_stopped()?;
        }
        Ok(())
    }

    fn below(
        &mut self,
        object: u64,
        dnode: &DnodePhys,
        level: u8,
        blkid: u64,
        bp: &BlkPtr,
    ) -> Result<(), Stopped> {
        let visit = Visit { object, part: Part::Tree { level, blkid }, bp, dnode: Some(dnode) };
        if bp.is_hole() && (bp.hole_birth() == 0 || bp.hole_birth() > self.min_txg) {
            return self.visitor.hole(&visit).unless_stopped().map(drop);
        }
        if bp.is_hole() || bp.birth() <= self.min_txg {
            return Ok(());
        }
        let of_dnodes = dnode.object_type == ObjectType::DNODE && object == META_OBJECT;
        if level == 0 && !of_dnodes {
            return self.visitor.block(&visit).unless_stopped().map(drop);
        }
        let Some(block) = self.enter(&visit)? else { return Ok(()) };
        if level == 0 {
            self.dnodes(&visit, &block, blkid)?;
        } else {
            self.pointers(&visit, &block, level, blkid)?;
        }
        self.visitor.left(&visit);
        Ok(())
    }

    fn pointers(&mut self, visit: &Visit<'_>, block: &Block, level: u8, blkid: u64) -> Result<(), Stopped> {
        let dnode = visit.dnode.expect("an indirect block belongs to an object");
        let count = block.len() / BlkPtr::SIZE;
        if block.len() as u64 != dnode.indirect_block_size() {
            return self.unreadable(visit, DmuError::Corrupt { object: visit.object, block: blkid });
        }
        let pointer = |i| BlkPtr::decode_at(block, i, Endian::Little).expect("an index within the block");
        let readable = level > 1 || visit.object == META_OBJECT;
        for first in (0..count).step_by(WINDOW) {
            let window: Vec<BlkPtr> = (first..count.min(first + WINDOW)).map(pointer).collect();
            if readable {
                let wanted = window.iter().filter(|bp| {
                    !bp.is_hole() && !bp.is_embedded() && bp.birth() > self.min_txg && bp.validate().is_ok()
                });
                self.store.prefetch(wanted.copied().collect(), Keep::ALL);
            }
            for (index, bp) in (first..).zip(&window) {
                let child = blkid.wrapping_mul(count as u64).wrapping_add(index as u64);
                self.below(visit.object, dnode, level - 1, child, bp)?;
            }
        }
        Ok(())
    }

    fn dnodes(&mut self, visit: &Visit<'_>, block: &Block, blkid: u64) -> Result<(), Stopped> {
        let mut slot = 0;
        while let Some(bytes) = block.get(slot * SLOT_SIZE..).filter(|bytes| !bytes.is_empty()) {
            match DnodePhys::decode(bytes) {
                Ok(None) => {
                    let object = blkid * SLOTS_PER_BLOCK as u64 + slot as u64;
                    self.visitor.free_slot(object).unless_stopped()?;
                    slot += 1;
                }
                Ok(Some(dnode)) => {
                    self.object(blkid * SLOTS_PER_BLOCK as u64 + slot as u64, &dnode)?;
                    slot += dnode.slots();
                }
                Err(_) => {
                    self.unreadable(visit, DmuError::Corrupt { object: META_OBJECT, block: blkid })?;
                    slot += 1;
                }
            }
        }
        Ok(())
    }

    /// Shows the block and reads it, unless the visitor wants to pass it by.
    fn enter(&mut self, visit: &Visit<'_>) -> Result<Option<Arc<Block>>, Stopped> {
        if self.visitor.block(visit).unless_stopped()? == Go::Past {
            return Ok(None);
        }
        match read_below(self.store, visit.bp, visit.object) {
            Ok(block) => Ok(Some(block)),
            Err(error) => self.unreadable(visit, error).map(|()| None),
        }
    }

    fn unreadable(&mut self, visit: &Visit<'_>, error: DmuError) -> Result<(), Stopped> {
        self.visitor.unreadable(visit, error).unless_stopped().map(drop)
    }
}

/// A block that leads to others, of an object set that is not open.
pub(crate) fn read_below(store: &dyn BlockStore, bp: &BlkPtr, object: u64) -> Result<Arc<Block>, DmuError> {
    // Whether an encrypted block can be had is the store's to say.
    match bp.is_encrypted() {
        true => bp.validate().map_err(|_| DmuError::Corrupt { object, block: 0 })?,
        false => check_pointer(bp, object, 0)?,
    }
    store.read(bp, IoClass::AsyncRead, Keep::ALL).map_err(|error| read_failed(error, object, 0))
}
