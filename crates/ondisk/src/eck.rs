//! `zio_eck_t`: the tail that makes a block check itself.
//!
//! Labels, gang headers and intent-log blocks have no parent to keep their checksum, so they carry
//! it:
//!
//! ```text
//!   0  magic 0x210da7ab10c7a11; its order tells the order of the whole block
//!   8  checksum, four words
//! ```
//!
//! The checksum covers the whole block, *with a verifier in place of the checksum itself*. The
//! verifier says where the block belongs, so that a good block in the wrong place does not pass. To
//! check: read the tail, put the verifier into a copy of the block, sum that, compare. Source:
//! include/sys/zio.h, module/zfs/zio_checksum.c.

use crate::blkptr::{BlkPtr, Checksum};
use crate::malformed::{Endian, Malformed, order_of, slice_at, u64_at};

/// Of a tail in the writer's byte order.
pub const MAGIC: u64 = 0x0210_da7a_b10c_7a11;

/// The tail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Eck {
    /// The order the magic was found in: that of the whole block.
    pub endian: Endian,
    pub checksum: Checksum,
}

impl Eck {
    /// Bytes on disk.
    pub const SIZE: usize = 40;
    /// Where the checksum starts in it.
    pub const CHECKSUM_OFFSET: usize = 8;

    /// Reads a tail from its 40 bytes.
    pub fn decode(bytes: &[u8]) -> Result<Eck, Malformed> {
        let what = "embedded checksum";
        let endian = order_of(u64_at(bytes, 0, Endian::Little, what)?, MAGIC);
        let endian = endian.ok_or(Malformed::at("embedded checksum magic", 0))?;
        let mut checksum = [0; 4];
        for (i, word) in checksum.iter_mut().enumerate() {
            *word = u64_at(bytes, Eck::CHECKSUM_OFFSET + 8 * i, endian, what)?;
        }
        Ok(Eck { endian, checksum })
    }

    /// Reads the tail at the very end of a block.
    pub fn decode_tail(block: &[u8]) -> Result<Eck, Malformed> {
        let at = tail_offset(block)?;
        Eck::decode(slice_at(block, at, Eck::SIZE, "embedded checksum")?).map_err(|e| e.within(at))
    }

    /// The 40 bytes, in `self.endian`.
    pub fn encode(&self) -> [u8; Eck::SIZE] {
        let mut bytes = [0; Eck::SIZE];
        let words = [MAGIC].into_iter().chain(self.checksum);
        for (chunk, word) in bytes.chunks_exact_mut(8).zip(words) {
            chunk.copy_from_slice(&self.endian.put_u64(word));
        }
        bytes
    }

    /// Writes a tail with this checksum (or verifier) at the end of `block`, which must have room
    /// for it.
    pub fn put_tail(block: &mut [u8], endian: Endian, checksum: Checksum) {
        let at = block.len() - Eck::SIZE;
        block[at..].copy_from_slice(&Eck { endian, checksum }.encode());
    }
}

/// Where the tail of a self-checking block starts.
pub fn tail_offset(block: &[u8]) -> Result<usize, Malformed> {
    block.len().checked_sub(Eck::SIZE).ok_or(Malformed::at("embedded checksum", 0))
}

/// The verifier of anything in a label: its byte offset on the device.
pub const fn label_verifier(device_offset: u64) -> Checksum {
    [device_offset, 0, 0, 0]
}

/// The verifier of the gang header that `bp` leads to: first DVA's vdev and offset, physical birth.
pub const fn gang_verifier(bp: &BlkPtr) -> Checksum {
    let dva = bp.first_dva();
    [dva.vdev as u64, dva.offset, bp.physical_birth(), 0]
}

#[cfg(test)]
mod tests;
