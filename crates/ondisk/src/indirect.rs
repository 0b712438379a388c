//! What a removed top-level vdev leaves behind: a mapping from the places its blocks still name to
//! where they are now.
//!
//! ```text
//!   mapping object   [ entry ][ entry ] … in the order of their sources, which do not overlap
//!   its bonus        MappingPhys: how many, and the object that counts how much of each entry nothing refers to any more
//!   an entry         | source (sectors, 63 bits) | destination: a DVA, whose asize is the length (2 words) |
//!   counts object    u32 a mapping entry: obsolete bytes
//! ```
//! What became obsolete since the counts were written is in a space map, which the top-level vdev's
//! ZAP names.
//!
//! Sources: include/sys/vdev_indirect_mapping.h, include/sys/spa_impl.h (`spa_removing_phys_t`,
//! `spa_condensing_indirect_phys_t`), include/sys/fs/zfs.h (`VDEV_TOP_ZAP_*`).

use crate::blkptr::{Dva, SECTOR};
use crate::malformed::{Endian, Malformed, u64_at};
use crate::words::words;

/// In a top-level vdev's ZAP: the space map of what became obsolete.
pub const OBSOLETE_SM: &str = "com.delphix:indirect_obsolete_sm";
/// In a top-level vdev's ZAP: not 0 if the counts and that map together are exact.
pub const COUNTS_ARE_PRECISE: &str = "com.delphix:obsolete_counts_are_precise";

words! {
    /// Bonus of a mapping object (`vdev_indirect_mapping_phys_t`). Offsets and lengths in bytes.
    pub struct MappingPhys [24, 32, "indirect mapping"] {
        /// Nothing at or behind it is mapped.
        max_offset,
        bytes_mapped,
        num_entries,
        /// 0: obsolete space is not counted.
        counts_object,
    }
}

words! {
    /// The pool's last removal (`spa_removing_phys_t`), in the pool directory. Its states are those
    /// of a scan.
    pub struct RemovingPhys [56, 56, "removal state"] {
        state,
        /// The vdev whose removal was tried last; all ones: none was.
        removing_vdev,
        /// The vdev removed last; all ones: none was.
        prev_indirect_vdev,
        /// Seconds since 1970.
        start_time,
        end_time,
        to_copy,
        copied,
    }
}

words! {
    /// A mapping being rewritten without what is obsolete (`spa_condensing_indirect_phys_t`), in
    /// the pool directory.
    pub struct CondensingPhys [24, 24, "condensing state"] {
        vdev,
        /// The map of obsolete space that is being worked in.
        prev_obsolete_sm_object,
        next_mapping_object,
    }
}

/// One stretch of space that was moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MappingEntry {
    /// Offset on the removed vdev, in bytes.
    pub source: u64,
    /// Where it is now; its asize is the length.
    pub destination: Dva,
}

impl MappingEntry {
    pub const SIZE: usize = 24;

    /// The `index`-th entry of a block.
    pub fn decode_at(block: &[u8], index: usize) -> Result<MappingEntry, Malformed> {
        let at = index.checked_mul(Self::SIZE).ok_or(Malformed::at("indirect mapping", index))?;
        let word = |n: usize| u64_at(block, at + n * 8, Endian::Little, "indirect mapping");
        Ok(MappingEntry {
            // The top bit is not used, and 63 bits of sectors are more than there are bytes.
            source: (word(0)? << 1 >> 1).saturating_mul(SECTOR),
            destination: Dva::from_words([word(1)?, word(2)?]),
        })
    }

    /// Bytes.
    pub const fn len(&self) -> u64 {
        self.destination.asize
    }

    /// An entry of no bytes is damaged.
    pub const fn is_empty(&self) -> bool {
        self.destination.asize == 0
    }

    /// Where it ends on the removed vdev; saturates where the entry is damaged.
    pub const fn end(&self) -> u64 {
        self.source.saturating_add(self.destination.asize)
    }

    pub fn encode(&self) -> [u8; Self::SIZE] {
        let [first, second] = self.destination.to_words();
        let mut bytes = [0; Self::SIZE];
        for (place, word) in bytes.chunks_exact_mut(8).zip([self.source / SECTOR, first, second]) {
            place.copy_from_slice(&Endian::Little.put_u64(word));
        }
        bytes
    }
}

#[cfg(test)]
mod tests;
