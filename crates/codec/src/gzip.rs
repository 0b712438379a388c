//! gzip-1 … gzip-9: a zlib stream, without a length; the padding after it is ignored.

use std::cell::RefCell;

use libdeflater::{CompressionLvl, Compressor, Decompressor};

use crate::compress::Corrupt;

pub fn compress(src: &[u8], dst: &mut [u8], level: i32) -> Option<usize> {
    thread_local! {
        // Memory of most of a megabyte, kept because to make it costs as much as to compress a small block.
        static COMPRESSOR: RefCell<Option<(i32, Compressor)>> = const { RefCell::new(None) };
    }
    COMPRESSOR.with_borrow_mut(|kept| {
        if kept.as_ref().is_none_or(|(made_for, _)| *made_for != level) {
            *kept = Some((level, Compressor::new(CompressionLvl::new(level).ok()?)));
        }
        let (_, compressor) = kept.as_mut()?;
        compressor.zlib_compress(src, dst).ok()
    })
}

pub fn decompress(src: &[u8], dst: &mut [u8]) -> Result<(), Corrupt> {
    match Decompressor::new().zlib_decompress(src, dst) {
        Ok(len) if len == dst.len() => Ok(()),
        _ => Err(Corrupt),
    }
}
