//! LZ4 blocks behind ZFS's length: four bytes, big-endian, since the stored block is padded. Fact:
//! `module/zfs/lz4_zfs.c`.

use lz4_flex::block::{compress_into, decompress_into, get_maximum_output_size};

use crate::compress::Corrupt;

/// What [`compress`] wants for so many bytes: the library refuses any output that could be too small in the worst case.
pub fn room_for(len: usize) -> usize {
    size_of::<u32>() + get_maximum_output_size(len)
}

pub fn compress(src: &[u8], dst: &mut [u8]) -> Option<usize> {
    let (length, body) = dst.split_first_chunk_mut::<4>()?;
    let len = compress_into(src, body).ok()?;
    *length = u32::try_from(len).ok()?.to_be_bytes();
    Some(length.len() + len)
}

pub fn decompress(src: &[u8], dst: &mut [u8]) -> Result<(), Corrupt> {
    let (length, body) = src.split_first_chunk::<4>().ok_or(Corrupt)?;
    let body = body.get(..u32::from_be_bytes(*length) as usize).ok_or(Corrupt)?;
    match decompress_into(body, dst) {
        Ok(len) if len == dst.len() => Ok(()),
        _ => Err(Corrupt),
    }
}
