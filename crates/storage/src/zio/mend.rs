//! Mending: a block that no copy has any more is written again where it lies, by somebody who has
//! its contents from elsewhere. Only what its pointer's checksum proves is written.
//!
//! A pointer tells how its block was compressed, but not at which level: a few are tried. Pieces of
//! a gang prove themselves, if one copy of the header is left.
//!
//! Source: module/zfs/dmu_recv.c (`do_corrective_recv`).

use std::sync::Arc;

use env::{AlignedBuf, IoClass};
use ondisk::{BlkPtr, CompressKind, Dva};

use crate::vdev::open::Tree;
use crate::{Block, ReadError, Storage};

/// Levels of zstd that a block may have been compressed with, after its dataset's own; other kinds
/// have none.
const ZSTD_LEVELS: std::ops::RangeInclusive<i32> = 1..=19;

impl Storage {
    /// Writes a block's contents over all of its copies, and reads it again. `complevel` is what
    /// its dataset compresses with now. [`ReadError::Checksum`] says that these are not its
    /// contents, or cannot be stored as they were.
    ///
    /// The caller keeps the block from being freed meanwhile.
    pub fn mend(&self, bp: &BlkPtr, data: &Arc<Block>, complevel: i32) -> Result<(), ReadError> {
        let bytes = self.stored_as(bp, data, complevel)?;
        self.overwrite(&self.tree(), bp, &bytes)?;
        self.read(bp, IoClass::SyncRead).map(drop)
    }

    /// The bytes that the disks should have of a block with these contents.
    fn stored_as(&self, bp: &BlkPtr, data: &Arc<Block>, complevel: i32) -> Result<AlignedBuf, ReadError> {
        let psize = bp.psize() as usize;
        let kind = bp.compression().map_err(|_| ReadError::Corrupt)?;
        if data.len() as u64 != bp.lsize() {
            return Err(ReadError::Checksum);
        }
        let proved = |bytes: &[u8]| {
            let whole = (bytes.len() <= psize).then(|| AlignedBuf::padded(&[bytes], psize));
            whole.filter(|bytes| self.is_what(bp, bytes))
        };
        let as_it_came = data.packed().filter(|packed| packed.kind == kind);
        let found = match kind {
            CompressKind::Off => proved(data),
            _ => as_it_came.and_then(|packed| proved(&packed.bytes)).or_else(|| {
                let levels = ZSTD_LEVELS.filter(|_| kind == CompressKind::Zstd);
                // With as much room as it had then: compressors look at that.
                let room = data.len() - data.len() / 8;
                std::iter::once(complevel).chain(levels).find_map(|level| {
                    let mut memory = Vec::new();
                    // A level that does not exist proves nothing; nor does one that could not be
                    // tried.
                    codec::compress(kind as u8, level, data, &mut memory, room)
                        .ok()
                        .flatten()
                        .and_then(proved)
                })
            }),
        };
        found.ok_or(ReadError::Checksum)
    }

    /// Writes stored bytes where each copy of a block is.
    pub(super) fn overwrite(&self, tree: &Tree, bp: &BlkPtr, bytes: &[u8]) -> Result<(), ReadError> {
        if !self.is_what(bp, bytes) {
            return Err(ReadError::Checksum);
        }
        if !bp.is_gang() {
            let copies: Vec<Dva> = bp.dvas().into_iter().filter(Dva::is_valid).collect();
            self.write_over(tree, &copies, AlignedBuf::from_slice(bytes));
            return Ok(());
        }
        let mut rest = bytes;
        for piece in self.read_header(tree, bp, IoClass::SyncRead, 0)? {
            let (here, after) = rest.split_at_checked(piece.psize() as usize).ok_or(ReadError::Corrupt)?;
            rest = after;
            self.overwrite(tree, &piece, here)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
