//! Bookmarks that count along: one made after the last snapshot keeps up how much of what it saw has been freed since
//! (`FLAG_HAS_FBN`), so that sizes of sends can be told when its snapshot is gone.
//!
//! Source: module/zfs/dsl_bookmark.c (`dsl_bookmark_block_killed`).

use dmu::Tx;
use dmu::zap::Value;
use ondisk::bookmark::{BookmarkPhys, FLAG_HAS_FBN};
use ondisk::dsl_dataset::{DslDatasetPhys, FIELD_BOOKMARK_NAMES};

use super::Dsl;
use super::dir::Sums;
use crate::Result;

/// A bookmark whose next snapshot will be the next one taken.
pub(crate) struct Counting {
    name: String,
    phys: BookmarkPhys,
}

impl Counting {
    /// Whether it saw a block born then.
    pub fn saw(&self, birth: u64) -> bool {
        birth <= self.phys.creation_txg
    }

    /// Adds what was freed and writes it down.
    pub fn add(&mut self, dsl: &Dsl, zap: u64, freed: Sums, tx: &Tx) -> Result<()> {
        let phys = &mut self.phys;
        phys.referenced_freed_before_next_snap += freed.used as u64;
        phys.compressed_freed_before_next_snap += freed.comp as u64;
        phys.uncompressed_freed_before_next_snap += freed.uncomp as u64;
        Ok(dsl.mos.set(zap, &self.name, Value::U64(phys.to_words()), tx)?)
    }
}

/// The ZAP of a dataset's bookmarks.
pub(crate) fn object(dsl: &Dsl, dataset: u64) -> Result<Option<u64>> {
    if !dsl.mos.is_zapified(dataset)? {
        return Ok(None);
    }
    Ok(dsl.mos.find(dataset, FIELD_BOOKMARK_NAMES)?)
}

/// Those of a head that count along.
pub(crate) fn counting(dsl: &Dsl, dataset: u64, phys: &DslDatasetPhys) -> Result<Vec<Counting>> {
    let mut counting = Vec::new();
    let Some(zap) = object(dsl, dataset)? else { return Ok(counting) };
    for (name, value) in dsl.mos.entries(zap)? {
        let bookmark = BookmarkPhys::from_words(&value.words())?;
        if bookmark.flags & FLAG_HAS_FBN != 0 && bookmark.creation_txg >= phys.prev_snap_txg {
            counting.push(Counting { name, phys: bookmark });
        }
    }
    Ok(counting)
}
