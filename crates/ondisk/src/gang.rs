//! Gang headers: a block for which no single piece of free space was large enough, cut into pieces.
//!
//! A gang DVA leads to a header of block pointers, each to a piece, in order; a piece may be a gang
//! itself. The pieces' lengths are their pointers' physical sizes and add up to that of the whole.
//! The header checks itself (see `eck`): kind gang_header, which is sha256, with
//! [`crate::eck::gang_verifier`].
//!
//! ```text
//!   0    block pointers, 128 bytes each; a hole ends the list
//!        padding
//!  end − 40  embedded checksum
//! ```
//! The header is 512 bytes with room for 3 pointers; with feature dynamic_gang_header it is as
//! large as the vdev's smallest block. Source: include/sys/zio.h.

use crate::blkptr::BlkPtr;
use crate::eck::Eck;
use crate::malformed::Malformed;

/// Bytes of an ordinary header.
pub const HEADER_SIZE: usize = 512;
/// Pointers in an ordinary header.
pub const HEADER_POINTERS: usize = pointers_in(HEADER_SIZE);
/// The largest header: 2^16, the largest ashift.
pub const HEADER_MAX: usize = 1 << 16;

/// How many pointers a header of this size holds.
pub const fn pointers_in(size: usize) -> usize {
    size.saturating_sub(Eck::SIZE) / BlkPtr::SIZE
}

/// The pieces, in order. The checksum must have been verified before.
pub fn decode(header: &[u8]) -> Result<Vec<BlkPtr>, Malformed> {
    if !(HEADER_SIZE..=HEADER_MAX).contains(&header.len()) || !header.len().is_multiple_of(HEADER_SIZE) {
        return Err(Malformed::at("gang header size", header.len()));
    }
    let endian = Eck::decode_tail(header)?.endian;
    let pointers: Result<Vec<BlkPtr>, _> =
        (0..pointers_in(header.len())).map(|i| BlkPtr::decode_at(header, i, endian)).collect();
    Ok(pointers?.into_iter().filter(|bp| !bp.is_hole()).collect())
}

/// A header of `size` bytes, its tail holding `verifier` where the checksum over it goes next.
pub fn encode(pieces: &[BlkPtr], size: usize, verifier: crate::blkptr::Checksum) -> Vec<u8> {
    assert!(pieces.len() <= pointers_in(size), "too many pieces for one gang header");
    let mut header = vec![0; size];
    for (slot, bp) in header.chunks_exact_mut(BlkPtr::SIZE).zip(pieces) {
        slot.copy_from_slice(&bp.encode());
    }
    Eck::put_tail(&mut header, crate::malformed::Endian::Little, verifier);
    header
}

#[cfg(test)]
mod tests;
