//! gzip-1 … gzip-9: a zlib stream, without a length; the padding after it is ignored.

use libdeflater::{CompressionLvl, Compressor, Decompressor};

use crate::compress::Corrupt;

pub fn compress(src: &[u8], dst: &mut [u8], level: i32) -> Option<usize> {
    let level = CompressionLvl::new(level).ok()?;
    Compressor::new(level).zlib_compress(src, dst).ok()
}

pub fn decompress(src: &[u8], dst: &mut [u8]) -> Result<(), Corrupt> {
    match Decompressor::new().zlib_decompress(src, dst) {
        Ok(len) if len == dst.len() => Ok(()),
        _ => Err(Corrupt),
    }
}
