//! What an incremental stream starts from: a snapshot or bookmark in the past of what is sent; and
//! how much there is in between.
//!
//! Sources: module/zfs/dmu_send.c (`dmu_send`, `dmu_adjust_send_estimate_for_indirects`),
//! dsl_bookmark.c (`dsl_bookmark_lookup`), dsl_dataset.c (`dsl_dataset_is_before`).

use std::sync::Arc;

use dmu::Objset;
use ondisk::BlkPtr;
use ondisk::dsl_dataset::DslDatasetPhys;
use ondisk::objset::ObjsetType;
use ondisk::send::RECORD_SIZE;

use super::Failure;
use crate::dsl::names::Found;
use crate::dsl::{Dsl, bookmark, volume};
use crate::namecheck::RECEIVE_CLONE;
use crate::{PoolError, Result};

/// See the module.
pub(super) struct Source {
    pub guid: u64,
    pub txg: u64,
    /// It is another dataset's.
    pub is_clone: bool,
}

fn missing(error: PoolError) -> Failure {
    if error == PoolError::NotFound { Failure::NoSource } else { Failure::Pool(error) }
}

impl Dsl {
    pub(super) fn send_source(&self, to: &Found, from: &str) -> std::result::Result<Source, Failure> {
        let (guid, txg, dir) = match from.split_once('#') {
            Some((head, mark)) => {
                let head = self.find(head).map_err(missing)?;
                let mark = bookmark::find(self, head.object, mark)?.ok_or(Failure::NoSource)?;
                if mark.phys.redaction_obj != 0 {
                    return Err(PoolError::Unsupported("sending from redaction bookmarks".into()).into());
                }
                (mark.phys.guid, mark.phys.creation_txg, head.dir)
            }
            None => {
                let snapshot = self.find(from).map_err(missing)?;
                if !snapshot.is_snapshot() {
                    return Err(Failure::NotEarlier);
                }
                (snapshot.phys.guid, snapshot.phys.creation_txg, snapshot.dir)
            }
        };
        if !self.is_before(&to.phys, dir.object, txg)? {
            return Err(Failure::NotEarlier);
        }
        // A hidden clone stands for the dataset with which it is to change contents.
        let own = if to.dir.last_name() == RECEIVE_CLONE { to.dir.parent() } else { Some(to.dir.clone()) };
        Ok(Source { guid, txg, is_clone: own.is_none_or(|own| own.object != dir.object) })
    }

    /// Whether a state of a directory's dataset, of group `txg`, is in the past of a snapshot or
    /// head.
    pub(crate) fn is_before(&self, later: &DslDatasetPhys, dir: u64, txg: u64) -> Result<bool> {
        if later.is_snapshot() && txg >= later.creation_txg {
            return Ok(false);
        }
        let mut at = later.dir_obj;
        loop {
            if at == dir {
                return Ok(true);
            }
            let origin = self.dir(at)?.phys().origin_obj;
            if origin == 0 {
                return Ok(false);
            }
            let origin = self.mos.dataset(origin)?;
            if txg > origin.creation_txg {
                return Ok(false);
            }
            at = origin.dir_obj;
        }
    }

    /// Bytes of the stream, about: data, and a record instead of a block pointer for each block.
    pub(super) fn send_size(
        &self,
        to: &Found,
        objset: &Arc<Objset>,
        from: Option<&str>,
        compressed: bool,
    ) -> Result<u64> {
        let sums = match from {
            None => Some((to.phys.compressed_bytes, to.phys.uncompressed_bytes)),
            Some(from) => {
                let sums = self.written_sums_since(to, from)?;
                sums.map(|sums| (sums.comp.max(0) as u64, sums.uncomp.max(0) as u64))
            }
        };
        let Some((comp, uncomp)) = sums else { return Ok(0) };
        let size = if compressed { comp } else { uncomp };
        let recordsize = match objset.kind() {
            ObjsetType::Zvol => volume::block_of(objset)?,
            _ => self.fs_props(to.object)?.number("recordsize"),
        };
        let records = uncomp / recordsize.max(1);
        Ok((size + records * RECORD_SIZE as u64).saturating_sub(records * BlkPtr::SIZE as u64))
    }
}
