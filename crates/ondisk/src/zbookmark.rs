//! Where a block is: dataset, object, level and number. Scans remember by it how far they are, the
//! error log what is hurt.
//!
//! A dataset's blocks come in one order, that of a walk: objects ascending, in each object its
//! blocks ascending, a block before those below it. The meta dnode's blocks stand where the first
//! object in them does. Bookmarks of two datasets are not compared.
//!
//! Sources: include/sys/zio.h (`zbookmark_phys_t`, `zbookmark_err_phys_t`), module/zfs/zio.c
//! (`zbookmark_compare`), spa_errlog.c (names).

use std::cmp::Ordering;

use crate::dnode::{DnodePhys, SLOT_SIZE, SLOTS_PER_BLOCK};

/// A scan whose dataset is gone, or that has no other left.
pub const DESTROYED_OBJSET: u64 = u64::MAX;
/// Level of the object set's own block.
pub const ROOT_LEVEL: i64 = -1;
/// Level of blocks of intent logs; `blkid` is the block's number in the log.
pub const ZIL_LEVEL: i64 = -2;
/// Number of an object's spill block, which comes after all others.
pub const SPILL_BLKID: u64 = u64::MAX;

/// `zbookmark_phys_t`
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Zbookmark {
    /// The dataset's object; 0 is the meta object set.
    pub objset: u64,
    /// 0 is the meta dnode.
    pub object: u64,
    /// Negative for what is no block of an object.
    pub level: i64,
    pub blkid: u64,
}

/// Object, first data block below, level: lower levels come later.
type Place = (u64, u64, std::cmp::Reverse<u64>);

/// What the meta dnode's levels are above any other's.
const META_LEVEL: u64 = 1 << 31;

impl Zbookmark {
    pub const fn new(objset: u64, object: u64, level: i64, blkid: u64) -> Zbookmark {
        Zbookmark { objset, object, level, blkid }
    }

    /// The beginning.
    pub fn is_zero(&self) -> bool {
        *self == Zbookmark::default()
    }

    /// Where block `blkid` of this object and level stands.
    fn place(&self, blkid: u64, span: u64, slots: u64) -> Place {
        let (level, first) = (self.level.max(0) as u64, blkid.saturating_mul(span));
        match self.object {
            0 => (first.saturating_mul(slots), 0, std::cmp::Reverse(level + META_LEVEL)),
            object => (object, first, std::cmp::Reverse(level)),
        }
    }

    fn place_of(&self, blkid: u64, dnode: &DnodePhys) -> Place {
        let slots = dnode.data_block_size() / SLOT_SIZE as u64;
        self.place(blkid, dnode.span(self.level.clamp(0, i64::from(u8::MAX)) as u8), slots)
    }

    /// Of a level-0 block.
    fn stopped(&self) -> Place {
        self.place(self.blkid, 1, SLOTS_PER_BLOCK as u64)
    }

    /// Whether this block and all below it come before the level-0 block `last`, both of one
    /// dataset. `dnode` is that of this block's object.
    pub fn is_before(&self, dnode: &DnodePhys, last: &Zbookmark) -> bool {
        if self.blkid == SPILL_BLKID {
            return self.object < last.stopped().0;
        }
        self.place_of(self.blkid + 1, dnode) <= last.stopped()
    }

    /// Whether this block is the level-0 block `last` or comes after it.
    pub fn is_from(&self, dnode: &DnodePhys, last: &Zbookmark) -> bool {
        self.place_of(self.blkid, dnode).cmp(&last.stopped()) != Ordering::Less
    }

    /// The key of an entry of the error log.
    pub fn to_name(&self) -> String {
        format!("{:x}:{:x}:{:x}:{:x}", self.objset, self.object, self.level as u64, self.blkid)
    }

    /// From the key of an entry of the error log.
    pub fn from_name(name: &str) -> Option<Zbookmark> {
        let [objset, object, level, blkid] = numbers(name)?;
        Some(Zbookmark { objset, object, level: level as i64, blkid })
    }
}

/// A block that cannot be had, in the error log of one dataset and all its snapshots
/// (`zbookmark_err_phys_t`, feature `head_errlog`): whoever has a block there of the same birth has
/// this one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct ErrorBlock {
    pub object: u64,
    pub level: i64,
    pub blkid: u64,
    /// Physical; 0 if it could not be known.
    pub birth: u64,
}

impl ErrorBlock {
    /// Of a block somewhere.
    pub const fn of(place: &Zbookmark, birth: u64) -> ErrorBlock {
        ErrorBlock { object: place.object, level: place.level, blkid: place.blkid, birth }
    }

    /// Where it is in a dataset.
    pub const fn place(&self, objset: u64) -> Zbookmark {
        Zbookmark::new(objset, self.object, self.level, self.blkid)
    }

    /// The key of its entry.
    pub fn to_name(&self) -> String {
        format!("{:x}:{:x}:{:x}:{:x}", self.object, self.level as u64, self.blkid, self.birth)
    }

    /// From the key of an entry.
    pub fn from_name(name: &str) -> Option<ErrorBlock> {
        let [object, level, blkid, birth] = numbers(name)?;
        Some(ErrorBlock { object, level: level as i64, blkid, birth })
    }
}

fn numbers(name: &str) -> Option<[u64; 4]> {
    let parts: Vec<u64> =
        name.split(':').map(|part| u64::from_str_radix(part, 16)).collect::<Result<_, _>>().ok()?;
    parts.try_into().ok()
}

#[cfg(test)]
mod tests;
