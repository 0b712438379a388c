//! The block tree of one object while it is being changed by a sync.
//!
//! Indirect blocks on the way to a change are held here, decoded from disk once and written once;
//! nothing else is.

use std::collections::BTreeMap;
use std::sync::Arc;

use ondisk::dnode::DnodePhys;
use ondisk::{BlkPtr, Endian};

use crate::DmuError;
use crate::policy::ObjsetPolicy;
use crate::store::Block;

/// An indirect block being changed.
pub struct Node {
    pub block: Arc<Block>,
    pub dirty: bool,
}

/// See the module.
pub struct SyncTree {
    pub object: u64,
    pub phys: DnodePhys,
    /// By level (1 and up) and block number.
    pub nodes: BTreeMap<(u8, u64), Node>,
}

impl SyncTree {
    pub fn new(object: u64, phys: DnodePhys) -> SyncTree {
        SyncTree { object, phys, nodes: BTreeMap::new() }
    }

    fn parent(&self, level: u8, blkid: u64) -> (u8, u64, usize) {
        let epbs = self.phys.epbs();
        (level + 1, blkid >> epbs, (blkid & ((1 << epbs) - 1)) as usize)
    }

    /// The pointer to a block, whose parent must be loaded (or be the dnode).
    pub fn get(&self, level: u8, blkid: u64) -> BlkPtr {
        if level + 1 == self.phys.nlevels {
            return self.phys.blkptrs[blkid as usize];
        }
        let (parent_level, parent, index) = self.parent(level, blkid);
        pointer_at(&self.nodes[&(parent_level, parent)].block, index)
    }

    /// Replaces the pointer to a block, whose parent must be loaded; the parent is then dirty.
    pub fn set(&mut self, level: u8, blkid: u64, bp: &BlkPtr) {
        if level + 1 == self.phys.nlevels {
            self.phys.blkptrs[blkid as usize] = *bp;
            return;
        }
        let (parent_level, parent, index) = self.parent(level, blkid);
        let node = self.nodes.get_mut(&(parent_level, parent)).expect("parents are loaded first");
        node.dirty = true;
        let block = Arc::make_mut(&mut node.block);
        block[index * BlkPtr::SIZE..][..BlkPtr::SIZE].copy_from_slice(&bp.encode());
    }

    /// Takes in an indirect block as read; `None` where the pointer to it is a hole.
    pub fn load(&mut self, level: u8, blkid: u64, block: Option<Arc<Block>>) -> Result<(), DmuError> {
        let size = self.phys.indirect_block_size() as usize;
        let block = match block {
            None => Arc::new(self.below_hole(level, &self.get(level, blkid))),
            Some(block) if block.len() != size => {
                return Err(DmuError::Corrupt { object: self.object, block: blkid });
            }
            Some(block) => block,
        };
        self.nodes.insert((level, blkid), Node { block, dirty: false });
        Ok(())
    }

    /// What an indirect block says that is a hole itself: its pointers inherit its birth
    /// (`dbuf_handle_indirect_hole` in module/zfs/dbuf.c).
    fn below_hole(&self, level: u8, bp: &BlkPtr) -> Block {
        let mut block = Block::zeroed(self.phys.indirect_block_size() as usize);
        if bp.hole_birth() == 0 {
            return block;
        }
        let lsize = if level == 1 { self.phys.data_block_size() } else { bp.lsize() };
        let child = BlkPtr::punched(bp.object_type(), level - 1, lsize, bp.hole_birth()).encode();
        for at in block.chunks_exact_mut(BlkPtr::SIZE) {
            at.copy_from_slice(&child);
        }
        block
    }

    /// More levels: the dnode's pointers move into a new indirect block.
    pub fn grow(&mut self, nlevels: u8) {
        let level = self.phys.nlevels;
        assert!(nlevels > level);
        let mut block = Block::zeroed(self.phys.indirect_block_size() as usize);
        for (bp, at) in self.phys.blkptrs.iter_mut().zip(block.chunks_exact_mut(BlkPtr::SIZE)) {
            at.copy_from_slice(&std::mem::take(bp).encode());
        }
        let dirty = block.iter().any(|&b| b != 0);
        self.phys.nlevels = nlevels;
        // With levels in between, the others come into being when the path to this one is loaded.
        self.nodes.insert((level, 0), Node { block: Arc::new(block), dirty });
    }

    /// The blocks of `level` that are dirty.
    pub fn dirty_at(&self, level: u8) -> Vec<u64> {
        let range = self.nodes.range((level, 0)..=(level, u64::MAX));
        range.filter(|(_, node)| node.dirty).map(|(&(_, blkid), _)| blkid).collect()
    }

    /// The blocks of `level` above those: above dirty indirect blocks, and above these data blocks
    /// (ascending).
    pub fn above(&self, level: u8, data: impl Iterator<Item = u64>) -> Vec<u64> {
        let epbs = self.phys.epbs();
        let mut above: Vec<u64> = data.map(|b| crate::tree::block_above(b, level, epbs)).collect();
        above.dedup();
        let below = self.nodes.range((1, 0)..(level, 0)).filter(|(_, node)| node.dirty);
        above.extend(below.map(|(&(l, b), _)| crate::tree::block_above(b, level - l, epbs)));
        above.extend(self.dirty_at(level));
        above.sort_unstable();
        above.dedup();
        above
    }

    /// Space allocated or freed for its blocks.
    pub fn add_used(&mut self, added: u64, freed: u64, policy: &ObjsetPolicy) {
        let used = self.phys.used_bytes().saturating_add(added).saturating_sub(freed);
        self.phys.set_used_bytes(used, policy.used_in_bytes);
    }
}

/// The `index`-th pointer of an indirect block.
pub fn pointer_at(block: &Block, index: usize) -> BlkPtr {
    BlkPtr::decode_at(block, index, Endian::Little).expect("an index within the block")
}

/// Fill count of an indirect block; `None` when every pointer in it is a hole.
pub fn fill_of(block: &Block) -> Option<u64> {
    let mut fill = None;
    for index in 0..block.len() / BlkPtr::SIZE {
        let bp = pointer_at(block, index);
        if !bp.is_hole() {
            *fill.get_or_insert(0) += bp.fill();
        }
    }
    fill
}
