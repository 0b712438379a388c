//! Compression of a block, by the raw value its pointer carries.
//!
//! What is worth storing compressed, and padding the result to sectors, is the caller's affair: ZFS
//! stores a block compressed if that saves an eighth, so `max_out` is `lsize - lsize / 8`. Decoders
//! ignore the padding.

use crate::failure::{Corrupt, Unable};
use crate::table::Compression;
use crate::{gzip, lz4, lzjb, zle, zstd};

/// Compresses `src`; `None` if the result would be longer than `max_out` bytes. The result lies in
/// `memory`, which is made as long as it takes and never cleared: whoever compresses often keeps
/// it. What earlier calls did, on this thread or another, makes no difference.
///
/// `level` matters for zstd alone, as stored in the property: 0 is the default, 1 … 19, and from
/// 103 on the fast ones. gzip's is in the kind.
pub fn compress<'a>(
    kind: u8,
    level: i32,
    src: &[u8],
    memory: &'a mut Vec<u8>,
    max_out: usize,
) -> Result<Option<&'a [u8]>, Unable> {
    let kind = Compression::from_raw(kind).ok_or(Unable::Kind)?;
    let room = match kind {
        Compression::Lz4 => max_out.max(lz4::room_for(src.len())),
        _ => max_out,
    };
    if memory.len() < room {
        memory.resize(room, 0);
    }
    let dst = &mut memory[..room];
    let len = match kind {
        Compression::Inherit | Compression::On | Compression::Off | Compression::Empty => {
            return Err(Unable::Kind);
        }
        Compression::Lzjb => lzjb::compress(src, dst),
        Compression::Zle => zle::compress(src, dst),
        Compression::Lz4 => lz4::compress(src, dst)?,
        Compression::Zstd => zstd::compress(src, dst, level)?,
        gzip => gzip::compress(src, dst, gzip.gzip_level().ok_or(Unable::Kind)?)?,
    };
    Ok(len.filter(|len| *len <= max_out).map(|len| &memory[..len]))
}

/// Fills `dst` exactly from the stored block `src`, which may have padding behind. On failure `dst`
/// holds anything. Kind "off" copies; "empty" is all zeros.
pub fn decompress(kind: u8, src: &[u8], dst: &mut [u8]) -> Result<(), Corrupt> {
    match Compression::from_raw(kind).ok_or(Corrupt)? {
        Compression::Inherit | Compression::On => Err(Corrupt),
        Compression::Off => {
            dst.copy_from_slice(src.get(..dst.len()).ok_or(Corrupt)?);
            Ok(())
        }
        Compression::Empty => {
            dst.fill(0);
            Ok(())
        }
        Compression::Lzjb => lzjb::decompress(src, dst),
        Compression::Zle => zle::decompress(src, dst),
        Compression::Lz4 => lz4::decompress(src, dst),
        Compression::Zstd => zstd::decompress(src, dst),
        _gzip => gzip::decompress(src, dst),
    }
}

#[cfg(test)]
mod tests;
