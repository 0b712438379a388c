//! The queue of destroyed datasets whose blocks are still to be freed. Whoever walks the trees and
//! frees is above.
//!
//! Lives in the meta object set and changes in syncing context.
//!
//! Sources: module/zfs/bptree.c, include/sys/bptree.h.

use std::sync::Arc;

use ondisk::BlkPtr;
use ondisk::bptree::{BptreeEntry, BptreePhys};
use ondisk::object_type::ObjectType;

use crate::DmuError;
use crate::bpobj::Space;
use crate::dnode::{Dnode, ObjectSpec};
use crate::objset::Objset;
use crate::tx::Tx;

const BLOCK: u32 = 128 << 10;

/// An open queue.
#[derive(Clone)]
pub struct Bptree {
    dnode: Arc<Dnode>,
}

impl Bptree {
    /// A new, empty queue; its object number.
    pub fn alloc(objset: &Objset, tx: &Tx) -> Result<u64, DmuError> {
        let spec = ObjectSpec::new(ObjectType::OTN_UINT64_METADATA)
            .with_block_size(BLOCK)
            .with_bonus(ObjectType::OTN_UINT64_METADATA, BptreePhys::SIZE as u16);
        Ok(objset.alloc(spec, tx)?.object())
    }

    pub fn open(objset: &Objset, object: u64) -> Result<Bptree, DmuError> {
        let queue = Bptree { dnode: objset.hold(object)? };
        queue.phys()?;
        Ok(queue)
    }

    pub fn phys(&self) -> Result<BptreePhys, DmuError> {
        let bonus = self.dnode.bonus();
        BptreePhys::decode(&bonus.bytes).map_err(|_| self.corrupt())
    }

    pub fn is_empty(&self) -> Result<bool, DmuError> {
        let phys = self.phys()?;
        Ok(phys.begin >= phys.end)
    }

    /// What is still to be freed, as far as counted.
    pub fn space(&self) -> Result<Space, DmuError> {
        let phys = self.phys()?;
        Ok(Space { used: phys.bytes, comp: phys.comp, uncomp: phys.uncomp })
    }

    /// Appends a tree of which the blocks born after `birth_txg` are to be freed; `space` is what
    /// those occupy.
    pub fn add(&self, root: &BlkPtr, birth_txg: u64, space: Space, tx: &Tx) -> Result<(), DmuError> {
        let mut phys = self.phys()?;
        let entry = BptreeEntry { root: *root, birth_txg, ..BptreeEntry::default() };
        self.write(phys.end, &entry, tx)?;
        phys.end += 1;
        phys.bytes += space.used;
        phys.comp += space.comp;
        phys.uncomp += space.uncomp;
        self.set_phys(&phys, tx)
    }

    /// The first tree left.
    pub fn first(&self) -> Result<Option<BptreeEntry>, DmuError> {
        let phys = self.phys()?;
        if phys.begin >= phys.end { Ok(None) } else { self.entry(phys.begin).map(Some) }
    }

    /// All trees left, in order.
    pub fn entries(&self) -> Result<impl Iterator<Item = Result<BptreeEntry, DmuError>>, DmuError> {
        let phys = self.phys()?;
        Ok((phys.begin..phys.end).map(move |index| self.entry(index)))
    }

    /// Remembers how far freeing the first tree has come, and counts what was freed.
    pub fn set_first(&self, entry: &BptreeEntry, freed: Space, tx: &Tx) -> Result<(), DmuError> {
        let phys = self.phys()?;
        self.write(phys.begin, entry, tx)?;
        self.set_phys(&less(phys, freed), tx)
    }

    /// The first tree is freed, of which `freed` was not counted yet.
    pub fn remove_first(&self, freed: Space, tx: &Tx) -> Result<(), DmuError> {
        let mut phys = less(self.phys()?, freed);
        self.dnode.free_range(phys.begin * SIZE, SIZE, tx)?;
        phys.begin += 1;
        if phys.begin == phys.end {
            // Nothing is left, whatever the sums of blocks that could not be read say.
            (phys.bytes, phys.comp, phys.uncomp) = (0, 0, 0);
        }
        self.set_phys(&phys, tx)
    }

    fn corrupt(&self) -> DmuError {
        DmuError::Corrupt { object: self.dnode.object(), block: 0 }
    }

    fn set_phys(&self, phys: &BptreePhys, tx: &Tx) -> Result<(), DmuError> {
        self.dnode.set_bonus(ObjectType::OTN_UINT64_METADATA, &phys.encode(), tx)
    }

    fn write(&self, index: u64, entry: &BptreeEntry, tx: &Tx) -> Result<(), DmuError> {
        let at = index.checked_mul(SIZE).ok_or(self.corrupt())?;
        self.dnode.write(at, &entry.encode(), tx)
    }

    fn entry(&self, index: u64) -> Result<BptreeEntry, DmuError> {
        let at = index.checked_mul(SIZE).ok_or(self.corrupt())?;
        let bytes = self.dnode.read_bytes(at, BptreeEntry::SIZE)?;
        BptreeEntry::decode(&bytes).map_err(|_| self.corrupt())
    }
}

const SIZE: u64 = BptreeEntry::SIZE as u64;

fn less(phys: BptreePhys, freed: Space) -> BptreePhys {
    BptreePhys {
        bytes: phys.bytes.saturating_sub(freed.used),
        comp: phys.comp.saturating_sub(freed.comp),
        uncomp: phys.uncomp.saturating_sub(freed.uncomp),
        ..phys
    }
}

#[cfg(test)]
mod tests;
