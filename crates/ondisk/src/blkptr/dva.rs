//! A data virtual address: one copy of a block, as vdev, offset and allocated size.
//!
//! Offsets count from the end of a vdev's front labels and boot area, so byte 0 lies 4 MiB into the
//! partition. Source: include/sys/spa.h.

use super::{SECTOR, SECTOR_SHIFT};
use stdx::bits;

/// Where one copy lies. All sizes are in bytes and multiples of 512.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Dva {
    /// Which top-level vdev, by its id (24 bits).
    pub vdev: u32,
    /// Where in that vdev's allocatable space, in bytes (below 2^72 on disk, below 2^64 here).
    pub offset: u64,
    /// Bytes allocated; with `gang`, for the header and all it leads to. 0 means "no such copy".
    pub asize: u64,
    /// The offset holds a gang header, not the data.
    pub gang: bool,
    /// RAID-Z layout hint of old; always zero in practice.
    pub grid: u8,
    /// The byte above the vdev id, and bits of the offset beyond 64-bit byte counts: kept, never
    /// interpreted.
    pub(super) unknown: u16,
}

const OFFSET_BITS: u32 = 64 - SECTOR_SHIFT;

impl Dva {
    /// No copy here.
    pub const EMPTY: Dva = Dva { vdev: 0, offset: 0, asize: 0, gang: false, grid: 0, unknown: 0 };

    /// A plain address; sizes in bytes.
    pub const fn new(vdev: u32, offset: u64, asize: u64) -> Dva {
        Dva { vdev, offset, asize, gang: false, grid: 0, unknown: 0 }
    }

    /// Whether space is allocated.
    pub const fn is_valid(&self) -> bool {
        self.asize != 0
    }

    /// The two words on disk.
    pub const fn from_words(words: [u64; 2]) -> Dva {
        Dva {
            vdev: bits::get(words[0], 32, 24) as u32,
            offset: bits::get(words[1], 0, OFFSET_BITS) << SECTOR_SHIFT,
            asize: bits::get(words[0], 0, 24) << SECTOR_SHIFT,
            gang: bits::get(words[1], 63, 1) == 1,
            grid: bits::get(words[0], 24, 8) as u8,
            unknown: (bits::get(words[0], 56, 8) << 8 | bits::get(words[1], OFFSET_BITS, 63 - OFFSET_BITS))
                as u16,
        }
    }

    /// The two words on disk; every bit [`Dva::from_words`] saw comes back.
    pub const fn to_words(self) -> [u64; 2] {
        assert!(self.offset.is_multiple_of(SECTOR) && self.asize.is_multiple_of(SECTOR));
        let mut first = bits::set(0, 0, 24, self.asize >> SECTOR_SHIFT);
        first = bits::set(first, 24, 8, self.grid as u64);
        first = bits::set(first, 32, 24, self.vdev as u64);
        first = bits::set(first, 56, 8, (self.unknown >> 8) as u64);
        let mut second = bits::set(0, 0, OFFSET_BITS, self.offset >> SECTOR_SHIFT);
        second = bits::set(second, OFFSET_BITS, 63 - OFFSET_BITS, (self.unknown & 0xff) as u64);
        [first, bits::set(second, 63, 1, self.gang as u64)]
    }
}
