//! What a new object is to be like, and the dnode that follows from it.

use ondisk::BlkPtr;
use ondisk::dnode::{
    DnodePhys, MAX_BLKPTRS, MAX_INDBLKSHIFT, MIN_INDBLKSHIFT, SLOTS_PER_BLOCK, bonus_for_slots,
};
use ondisk::object_type::ObjectType;

use super::MAX_BLOCK_SIZE;
use crate::DmuError;

/// Block size of an object whose spec names none.
pub(crate) const DEFAULT_BLOCK: u32 = 512;

/// A new object's shape.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ObjectSpec {
    pub object_type: ObjectType,
    /// In bytes; 0 is 512.
    pub block_size: u32,
    pub bonus_type: ObjectType,
    /// Initial length; the bytes are zero.
    pub bonus_len: u16,
    /// Of 512 bytes; 0 follows the policy.
    pub slots: u8,
    /// log2 of the size of its indirect blocks; 0 is 17.
    pub indirect_shift: u8,
}

impl ObjectSpec {
    /// No bonus, defaults.
    pub const fn new(object_type: ObjectType) -> ObjectSpec {
        ObjectSpec {
            object_type,
            block_size: 0,
            bonus_type: ObjectType::NONE,
            bonus_len: 0,
            slots: 0,
            indirect_shift: 0,
        }
    }

    pub const fn with_block_size(self, block_size: u32) -> ObjectSpec {
        ObjectSpec { block_size, ..self }
    }

    pub const fn with_bonus(self, bonus_type: ObjectType, bonus_len: u16) -> ObjectSpec {
        ObjectSpec { bonus_type, bonus_len, ..self }
    }

    pub const fn with_slots(self, slots: u8) -> ObjectSpec {
        ObjectSpec { slots, ..self }
    }

    /// Block pointers in the dnode of such an object of so many slots. Sources: `dnode_allocate` in
    /// module/zfs/dnode.c.
    pub fn pointers(&self, slots: u8) -> usize {
        let capacity = bonus_for_slots(usize::from(slots));
        // System attributes want all the bonus they can get.
        match self.bonus_type {
            ObjectType::SA => 1,
            _ => (1 + capacity.saturating_sub(usize::from(self.bonus_len)) / BlkPtr::SIZE).min(MAX_BLKPTRS),
        }
    }

    /// Its dnode before anything is written; `slots` is what the policy says.
    pub(crate) fn phys(&self, slots: u8) -> Result<DnodePhys, DmuError> {
        let slots = if self.slots == 0 { slots } else { self.slots };
        if slots == 0 || usize::from(slots) > SLOTS_PER_BLOCK {
            return Err(DmuError::Invalid("dnode slots"));
        }
        let capacity = bonus_for_slots(usize::from(slots));
        if usize::from(self.bonus_len) > capacity {
            return Err(DmuError::TooBig);
        }
        let size = if self.block_size == 0 { DEFAULT_BLOCK } else { self.block_size.next_multiple_of(512) };
        if size > MAX_BLOCK_SIZE {
            return Err(DmuError::TooBig);
        }
        let shift = if self.indirect_shift == 0 { MAX_INDBLKSHIFT } else { self.indirect_shift };
        let mut phys =
            DnodePhys::new(self.object_type, size, shift.clamp(MIN_INDBLKSHIFT, MAX_INDBLKSHIFT), slots);
        phys.blkptrs = vec![BlkPtr::HOLE; self.pointers(slots)];
        phys.bonus_type = self.bonus_type;
        phys.bonus = vec![0; usize::from(self.bonus_len)].into();
        Ok(phys)
    }
}
