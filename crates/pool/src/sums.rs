//! What blocks take, added up: the unit of all accounting of space.

use ondisk::BlkPtr;

/// A change of space: allocated, compressed and logical bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Sums {
    pub used: i64,
    pub comp: i64,
    pub uncomp: i64,
}

impl Sums {
    /// From the numbers of a record.
    pub fn of(used: u64, comp: u64, uncomp: u64) -> Sums {
        Sums { used: used as i64, comp: comp as i64, uncomp: uncomp as i64 }
    }

    /// Of allocated bytes alone.
    pub fn allocated(used: i64) -> Sums {
        Sums { used, ..Sums::default() }
    }

    pub fn add(&mut self, other: Sums) {
        self.used += other.used;
        self.comp += other.comp;
        self.uncomp += other.uncomp;
    }

    pub fn negated(self) -> Sums {
        Sums { used: -self.used, comp: -self.comp, uncomp: -self.uncomp }
    }
}

/// What a block counts: allocated, compressed, and logical bytes (of metadata, compressed ones
/// again).
pub(crate) fn sums_of(bp: &BlkPtr, dsize: u64) -> Sums {
    let metadata = bp.level() > 0 || bp.object_type().is_metadata();
    let uncomp = if metadata { bp.psize() } else { bp.lsize() };
    Sums::of(dsize, bp.psize(), uncomp)
}
