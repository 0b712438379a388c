//! What was written between two points of a dataset's past: properties `written` and `written@…`,
//! and sizes of streams.
//!
//! What the newer has that the older has not is what it references, less what the older referenced,
//! and of that again more what died in between; dead lists know that.
//!
//! Source: module/zfs/dsl_dataset.c (`dsl_dataset_space_written`,
//! `dsl_dataset_space_written_impl`).

use ondisk::bookmark::{BookmarkPhys, FLAG_HAS_FBN};
use ondisk::dsl_dataset::DslDatasetPhys;

use super::Dsl;
use super::bookmark;
use super::deadlist::Deadlist;
use super::names::Found;
use crate::Result;
use crate::error::if_there;
use crate::sums::Sums;

impl Dsl {
    /// Since the snapshot before.
    pub(crate) fn written(&self, phys: &DslDatasetPhys) -> Result<u64> {
        if phys.prev_snap_obj == 0 {
            return Ok(phys.referenced_bytes);
        }
        let before = self.mos.dataset(phys.prev_snap_obj)?;
        let dead = Deadlist::space(self, phys.deadlist_obj)?.used as u64;
        Ok((phys.referenced_bytes + dead).saturating_sub(before.referenced_bytes))
    }

    /// Since a snapshot (`snap`, `fs@snap`) or bookmark (`#mark`, `fs#mark`); `None` where that is
    /// no point of its past.
    pub(crate) fn written_since(&self, new: &Found, since: &str) -> Result<Option<u64>> {
        Ok(self.written_sums_since(new, since)?.map(|sums| sums.used as u64))
    }

    /// As [`Dsl::written_since`], compressed and uncompressed, too.
    pub(crate) fn written_sums_since(&self, new: &Found, since: &str) -> Result<Option<Sums>> {
        let Some(old) = self.point(new, since)? else { return Ok(None) };
        if new.is_snapshot() && old.creation_txg >= new.phys.creation_txg {
            return Ok(None);
        }
        let difference = |new: u64, old: u64| new.wrapping_sub(old) as i64;
        let mut written = Sums {
            used: difference(new.phys.referenced_bytes, old.referenced_bytes_refd),
            comp: difference(new.phys.compressed_bytes, old.compressed_bytes_refd),
            uncomp: difference(new.phys.uncompressed_bytes, old.uncompressed_bytes_refd),
        };
        let mut at = new.phys.clone();
        while at.prev_snap_txg > old.creation_txg {
            let list = Deadlist::open(self, at.deadlist_obj)?;
            written.add(list.space_between(self, 0, old.creation_txg)?);
            at = self.mos.dataset(at.prev_snap_obj)?;
        }
        written.add(match old.flags & FLAG_HAS_FBN {
            0 if at.prev_snap_txg != old.creation_txg => return Ok(None),
            0 => Deadlist::space(self, at.deadlist_obj)?,
            _ => Sums::of(
                old.referenced_freed_before_next_snap,
                old.compressed_freed_before_next_snap,
                old.uncompressed_freed_before_next_snap,
            ),
        });
        Ok(Some(written))
    }

    /// A snapshot or bookmark, as a bookmark.
    fn point(&self, new: &Found, since: &str) -> Result<Option<BookmarkPhys>> {
        let own = new.dir.name();
        if let Some((fs, mark)) = since.split_once('#') {
            let fs = if fs.is_empty() { &own } else { fs };
            let Some(head) = if_there(self.find(fs))? else { return Ok(None) };
            let found = bookmark::find(self, head.object, mark)?;
            return Ok(found.filter(bookmark::Bookmark::counts).map(|found| found.phys));
        }
        let name = if since.contains('@') { since.to_owned() } else { format!("{own}@{since}") };
        Ok(if_there(self.find(&name))?.map(|Found { phys, .. }| BookmarkPhys {
            guid: phys.guid,
            creation_txg: phys.creation_txg,
            creation_time: phys.creation_time,
            referenced_bytes_refd: phys.referenced_bytes,
            compressed_bytes_refd: phys.compressed_bytes,
            uncompressed_bytes_refd: phys.uncompressed_bytes,
            ..BookmarkPhys::default()
        }))
    }
}
