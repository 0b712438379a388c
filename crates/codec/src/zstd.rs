//! zstd frames without magic, behind ZFS's header.
//!
//! ```text
//! 0      compressed length, big-endian      4      level as stored, one byte      5      zstd version, 24 bits
//! ```
//! Levels are the property's stored values: 1 … 19, and from 103 on the fast ones ([`FAST`]). The
//! length matters since the stored block is padded and the decoder wants the exact frame.
//! Big-endian machines wrote the second word in another order; nothing in it is needed to decode.
//! Facts: `module/zstd/zfs_zstd.c`, `include/sys/zstd/zstd.h`.

use std::cell::RefCell;

use zstd_safe::{CCtx, CParameter, DCtx, DParameter, FrameFormat, ResetDirective};

use crate::failure::{Corrupt, Unable};

const HEADER: usize = 8;
const DEFAULT_LEVEL: u8 = 3;
/// What the library gives for a result that does not fit (`ZSTD_error_dstSize_tooSmall`; the value
/// is fixed).
const TOO_SMALL: usize = 70usize.wrapping_neg();
const FAST_FIRST: u8 = 103;
/// zstd's own level for each stored value from [`FAST_FIRST`] on.
const FAST: [i32; 21] =
    [-1, -2, -3, -4, -5, -6, -7, -8, -9, -10, -20, -30, -40, -50, -60, -70, -80, -90, -100, -500, -1000];

/// zstd's own level for a stored one.
fn zstd_level(stored: u8) -> Option<i32> {
    match stored {
        1..=19 => Some(i32::from(stored)),
        _ => FAST.get(usize::from(stored.checked_sub(FAST_FIRST)?)).copied(),
    }
}

pub fn compress(src: &[u8], dst: &mut [u8], level: i32) -> Result<Option<usize>, Unable> {
    thread_local! {
        // Scratch memory of a megabyte and more, kept because to make it costs more than to
        // compress a block.
        static CONTEXT: RefCell<CCtx<'static>> = RefCell::new(CCtx::create());
    }
    let stored = if level == 0 { DEFAULT_LEVEL } else { u8::try_from(level).map_err(|_| Unable::Level)? };
    let level = zstd_level(stored).ok_or(Unable::Level)?;
    let Some((header, body)) = dst.split_first_chunk_mut::<HEADER>() else { return Ok(None) };
    let failed = |code| Unable::Library(zstd_safe::get_error_name(code));
    let compressed = CONTEXT.with_borrow_mut(|context| {
        // A block that did not fit leaves the context in the middle of its frame, where nothing can
        // be set.
        context.reset(ResetDirective::SessionOnly).map_err(failed)?;
        for parameter in [
            CParameter::Format(FrameFormat::Magicless),
            CParameter::CompressionLevel(level),
            CParameter::ChecksumFlag(false),
            CParameter::ContentSizeFlag(false),
        ] {
            context.set_parameter(parameter).map_err(failed)?;
        }
        match context.compress2(body, src) {
            Ok(len) => Ok(Some(len)),
            Err(TOO_SMALL) => Ok(None),
            Err(code) => Err(failed(code)),
        }
    })?;
    let Some(len) = compressed else { return Ok(None) };
    header[..4].copy_from_slice(&u32::try_from(len).expect("blocks are shorter").to_be_bytes());
    header[4..].copy_from_slice(&(u32::from(stored) << 24 | zstd_safe::VERSION_NUMBER).to_be_bytes());
    Ok(Some(HEADER + len))
}

pub fn decompress(src: &[u8], dst: &mut [u8]) -> Result<(), Corrupt> {
    thread_local! {
        static CONTEXT: RefCell<DCtx<'static>> = RefCell::new(DCtx::create());
    }
    let (header, body) = src.split_first_chunk::<HEADER>().ok_or(Corrupt)?;
    let [a, b, c, d, ..] = *header;
    let body = body.get(..u32::from_be_bytes([a, b, c, d]) as usize).ok_or(Corrupt)?;
    let len = CONTEXT.with_borrow_mut(|context| {
        context.set_parameter(DParameter::Format(FrameFormat::Magicless)).map_err(|_| Corrupt)?;
        context.decompress(dst, body).map_err(|_| Corrupt)
    })?;
    if len == dst.len() { Ok(()) } else { Err(Corrupt) }
}
