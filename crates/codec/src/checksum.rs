//! The checksum of a block, by the raw value its pointer carries.
//!
//! A checksum is four words *as numbers of the block pointer*. `swap` says that the block was
//! written by a machine of the other byte order: sums are then taken over swapped words, and
//! digests (which have no byte order) are stored as swapped words; sha256 alone is big-endian on
//! all machines. This code is written for little-endian as native, on any machine. Facts:
//! `module/zfs/zio_checksum.c`, `sha2_zfs.c`, `skein_zfs.c`, `edonr_zfs.c`, `blake3_zfs.c`.

use std::fmt;

use sha2::{Digest, Sha256, Sha512_256};

use crate::{edonr, fletcher, skein, table::Checksum};

/// The pool's 32 random bytes that salted checksums are keyed with (`org.illumos:checksum_salt`).
#[derive(Clone, PartialEq, Eq)]
pub struct Salt(pub [u8; 32]);

impl fmt::Debug for Salt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Salt(..)")
    }
}

/// There is no such checksum, or it needs a salt and none was given.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Unsupported(pub u8);

impl fmt::Display for Unsupported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "checksum kind {} cannot be computed", self.0)
    }
}

impl std::error::Error for Unsupported {}

/// The checksum of `data`. For the embedded kinds (label, gang header, ZIL) this is the plain sum
/// over the bytes as they are; see [`embedded_checksum`]. "off" and "noparity" give zeros.
pub fn checksum(kind: u8, data: &[u8], salt: Option<&Salt>, swap: bool) -> Result<[u64; 4], Unsupported> {
    let salt = || salt.map(|salt| &salt.0).ok_or(Unsupported(kind));
    let digest = |words: [u64; 4]| if swap { words.map(u64::swap_bytes) } else { words };
    Ok(match Checksum::from_raw(kind).ok_or(Unsupported(kind))? {
        Checksum::Inherit | Checksum::On => return Err(Unsupported(kind)),
        Checksum::Off | Checksum::Noparity => [0; 4],
        Checksum::Label | Checksum::GangHeader | Checksum::Sha256 => {
            words_of(&Sha256::digest(data).into()).map(u64::swap_bytes)
        }
        Checksum::Zilog | Checksum::Fletcher2 => fletcher::fletcher2(data, swap),
        Checksum::Zilog2 | Checksum::Fletcher4 => fletcher::fletcher4(data, swap),
        Checksum::Sha512 => digest(words_of(&Sha512_256::digest(data).into())),
        Checksum::Skein => digest(skein::skein_512_256(data, salt()?)),
        Checksum::Edonr => digest(edonr::edonr(data, salt()?)),
        Checksum::Blake3 => digest(words_of(blake3::keyed_hash(salt()?, data).as_bytes())),
    })
}

/// The four words of a digest that lies in little-endian memory.
fn words_of(digest: &[u8; 32]) -> [u64; 4] {
    std::array::from_fn(|i| u64::from_le_bytes(std::array::from_fn(|j| digest[i * 8 + j])))
}

/// Bytes of the trailer (`zio_eck_t`) at an embedded checksum's place: magic, then four words.
const TRAILER: usize = 40;
/// `ZEC_MAGIC`.
const MAGIC: u64 = 0x0210_da7a_b10c_7a11;
/// Where `zil_chain_t` holds the bytes in use, and its trailer.
const CHAIN_USED: std::ops::Range<usize> = 136..144;
const CHAIN_TRAILER: usize = 144;
const ZIL_MIN_BLOCK: u64 = 4096;

/// The checksum that belongs into the trailer of `data`: the sum over it with `verifier` in the
/// checksum's place.
///
/// The byte order is the one of the trailer's magic. The answer is in numbers as the trailer holds
/// them, decoded in that order. Verifiers: of a label part, `[offset on disk, 0, 0, 0]`; of a gang
/// header `[vdev, offset, birth txg, 0]`; of a ZIL block the checksum words of its pointer. The
/// trailer is at the end of `data`, but in the first block of a `zilog2` chain, which sums only the
/// bytes in use. Fails if the magic is wrong, the data too short for what it says, or the kind not
/// an embedded one.
pub fn embedded_checksum(kind: u8, data: &[u8], verifier: [u64; 4]) -> Result<[u64; 4], Unsupported> {
    let refuse = Unsupported(kind);
    let chained = match Checksum::from_raw(kind) {
        Some(Checksum::Label) => return label_checksums(data, [verifier]).map(|[sum]| sum),
        Some(Checksum::Zilog2) => true,
        Some(Checksum::GangHeader | Checksum::Zilog) => false,
        _ => return Err(refuse),
    };
    let trailer = if chained { Some(CHAIN_TRAILER) } else { data.len().checked_sub(TRAILER) };
    let trailer = trailer.ok_or(refuse)?;
    let swap = is_swapped(data, trailer).ok_or(refuse)?;
    let native = |word: u64| if swap { word.swap_bytes() } else { word };
    let data = if chained {
        let used = native(word_at(data, CHAIN_USED.start).ok_or(refuse)?);
        let used = used.checked_next_multiple_of(ZIL_MIN_BLOCK).ok_or(refuse)?;
        data.get(..usize::try_from(used).map_err(|_| refuse)?).ok_or(refuse)?
    } else {
        data
    };
    let mut copy = data.to_vec();
    let place = copy.get_mut(trailer + 8..trailer + TRAILER).ok_or(refuse)?;
    for (bytes, word) in place.as_chunks_mut::<8>().0.iter_mut().zip(verifier) {
        *bytes = native(word).to_le_bytes();
    }
    checksum(kind, &copy, None, swap)
}

/// [`embedded_checksum`] of a part of a label, for each of the places where it is to be: what they
/// share is summed once.
pub fn label_checksums<const N: usize>(
    data: &[u8],
    verifiers: [[u64; 4]; N],
) -> Result<[[u64; 4]; N], Unsupported> {
    let refuse = Unsupported(Checksum::Label as u8);
    let trailer = data.len().checked_sub(TRAILER).ok_or(refuse)?;
    let swap = is_swapped(data, trailer).ok_or(refuse)?;
    let shared = Sha256::new_with_prefix(&data[..trailer + 8]);
    Ok(verifiers.map(|verifier| {
        let mut sum = shared.clone();
        for word in verifier {
            sum.update(if swap { word.to_be_bytes() } else { word.to_le_bytes() });
        }
        words_of(&sum.finalize().into()).map(u64::swap_bytes)
    }))
}

/// Whether a trailer is of the other byte order; `None` if there is none.
fn is_swapped(data: &[u8], trailer: usize) -> Option<bool> {
    match word_at(data, trailer)? {
        MAGIC => Some(false),
        magic if magic.swap_bytes() == MAGIC => Some(true),
        _ => None,
    }
}

fn word_at(data: &[u8], at: usize) -> Option<u64> {
    data.get(at..)?.first_chunk().map(|bytes| u64::from_le_bytes(*bytes))
}

#[cfg(test)]
mod tests;
