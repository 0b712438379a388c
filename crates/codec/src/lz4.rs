//! LZ4 blocks behind ZFS's length: four bytes, big-endian, since the stored block is padded. Fact:
//! `module/zfs/lz4_zfs.c`.

use lz4_flex::block::{CompressError, compress_into, decompress_into, get_maximum_output_size};

use crate::failure::{Corrupt, Unable};

/// What [`compress`] wants for so many bytes: the library refuses any output that could be too
/// small in the worst case.
pub fn room_for(len: usize) -> usize {
    size_of::<u32>() + get_maximum_output_size(len)
}

pub fn compress(src: &[u8], dst: &mut [u8]) -> Result<Option<usize>, Unable> {
    let Some((length, body)) = dst.split_first_chunk_mut::<4>() else { return Ok(None) };
    let len = match compress_into(src, body) {
        Ok(len) => len,
        Err(CompressError::OutputTooSmall) => return Ok(None),
        // The library reserves the right to have other errors.
        Err(_) => return Err(Unable::Library("lz4")),
    };
    *length = u32::try_from(len).expect("blocks are shorter").to_be_bytes();
    Ok(Some(length.len() + len))
}

pub fn decompress(src: &[u8], dst: &mut [u8]) -> Result<(), Corrupt> {
    let (length, body) = src.split_first_chunk::<4>().ok_or(Corrupt)?;
    let body = body.get(..u32::from_be_bytes(*length) as usize).ok_or(Corrupt)?;
    match decompress_into(body, dst) {
        Ok(len) if len == dst.len() => Ok(()),
        _ => Err(Corrupt),
    }
}
