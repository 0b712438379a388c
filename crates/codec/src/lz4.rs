//! LZ4 blocks behind ZFS's length: four bytes, big-endian, since the stored block is padded. Fact:
//! `module/zfs/lz4_zfs.c`.

use std::cell::RefCell;

use lz4_flex::block::{compress_into, decompress_into, get_maximum_output_size};

use crate::compress::Corrupt;

pub fn compress(src: &[u8], dst: &mut [u8]) -> Option<usize> {
    thread_local! {
        // The library refuses any output that could be too small in the worst case, so it writes here first.
        static SCRATCH: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    }
    let (length, body) = dst.split_first_chunk_mut::<4>()?;
    SCRATCH.with_borrow_mut(|scratch| {
        let worst = get_maximum_output_size(src.len());
        if scratch.len() < worst {
            scratch.resize(worst, 0);
        }
        let len = compress_into(src, scratch).ok()?;
        body.get_mut(..len)?.copy_from_slice(&scratch[..len]);
        *length = u32::try_from(len).ok()?.to_be_bytes();
        Some(4 + len)
    })
}

pub fn decompress(src: &[u8], dst: &mut [u8]) -> Result<(), Corrupt> {
    let (length, body) = src.split_first_chunk::<4>().ok_or(Corrupt)?;
    let body = body.get(..u32::from_be_bytes(*length) as usize).ok_or(Corrupt)?;
    match decompress_into(body, dst) {
        Ok(len) if len == dst.len() => Ok(()),
        _ => Err(Corrupt),
    }
}
