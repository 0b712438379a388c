//! gzip-1 … gzip-9: a zlib stream, without a length; the padding after it is ignored.

use std::cell::RefCell;

use libdeflater::{CompressionError, CompressionLvl, Compressor, Decompressor};

use crate::failure::{Corrupt, Unable};

pub fn compress(src: &[u8], dst: &mut [u8], level: i32) -> Result<Option<usize>, Unable> {
    thread_local! {
        // Memory of most of a megabyte, kept because to make it costs as much as to compress a
        // small block.
        static COMPRESSOR: RefCell<Option<(i32, Compressor)>> = const { RefCell::new(None) };
    }
    COMPRESSOR.with_borrow_mut(|kept| {
        if kept.as_ref().is_none_or(|(made_for, _)| *made_for != level) {
            *kept = None;
        }
        let (_, compressor) = match kept {
            Some(kept) => kept,
            None => {
                let made_for = CompressionLvl::new(level).map_err(|_| Unable::Level)?;
                kept.insert((level, Compressor::new(made_for)))
            }
        };
        match compressor.zlib_compress(src, dst) {
            Ok(len) => Ok(Some(len)),
            Err(CompressionError::InsufficientSpace) => Ok(None),
        }
    })
}

pub fn decompress(src: &[u8], dst: &mut [u8]) -> Result<(), Corrupt> {
    match Decompressor::new().zlib_decompress(src, dst) {
        Ok(len) if len == dst.len() => Ok(()),
        _ => Err(Corrupt),
    }
}
