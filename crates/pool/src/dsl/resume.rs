//! What a dataset's ZAP says of a resumable receive that went to it.
//!
//! Entries say what stream that was, and the last block of it that is there; they change in the
//! group that the block is written in, so they are right whatever happens. A sender is told them as
//! a token ([`crate::resume`]).
//!
//! Sources: module/zfs/dsl_dataset.c (`get_receive_resume_token_impl`, `dsl_dataset_sync`),
//! dmu_recv.c (`dmu_recv_begin_sync`).

use dmu::Tx;
use ondisk::dsl_dataset::{
    FIELD_RESUME_BYTES, FIELD_RESUME_COMPRESSOK, FIELD_RESUME_EMBEDOK, FIELD_RESUME_FROMGUID,
    FIELD_RESUME_LARGEBLOCK, FIELD_RESUME_OBJECT, FIELD_RESUME_OFFSET, FIELD_RESUME_RAWOK,
    FIELD_RESUME_REDACT_BOOKMARK_SNAPS, FIELD_RESUME_TOGUID, FIELD_RESUME_TONAME, FLAG_INCONSISTENT,
};
use ondisk::nvlist::{NvList, NvValue};
use ondisk::send::{Begin, feature};

use super::Dsl;
use super::names::Found;
use crate::Result;
use crate::namecheck::RECEIVE_CLONE;
use crate::resume::{Point, to_token};

/// Entries that are numbers, in a token's order, and what they are called there.
const NUMBERS: [(&str, &str); 5] = [
    (FIELD_RESUME_FROMGUID, "fromguid"),
    (FIELD_RESUME_OBJECT, "object"),
    (FIELD_RESUME_OFFSET, "offset"),
    (FIELD_RESUME_BYTES, "bytes"),
    (FIELD_RESUME_TOGUID, "toguid"),
];
const FLAGS: [(&str, &str, u64); 4] = [
    (FIELD_RESUME_LARGEBLOCK, "largeblockok", feature::LARGE_BLOCKS),
    (FIELD_RESUME_EMBEDOK, "embedok", feature::EMBED_DATA),
    (FIELD_RESUME_COMPRESSOK, "compressok", feature::COMPRESSED),
    (FIELD_RESUME_RAWOK, "rawok", feature::RAW),
];

impl Dsl {
    /// The list of a dataset's token, if a resumable receive went to it and has not ended.
    pub(crate) fn resume_list(&self, dataset: u64) -> Result<Option<NvList>> {
        if !self.mos.is_zapified(dataset)? || self.mos.find(dataset, FIELD_RESUME_TOGUID)?.is_none() {
            return Ok(None);
        }
        let mut list = NvList::new();
        for (field, name) in NUMBERS {
            if let Some(number) = self.mos.find(dataset, field)? {
                list.set(name, number);
            }
        }
        let name = self.mos.find_value(dataset, FIELD_RESUME_TONAME)?;
        if let Some(name) = name.as_ref().and_then(|name| name.as_text()) {
            list.set("toname", name);
        }
        for (field, name, _) in FLAGS {
            if self.mos.find(dataset, field)?.is_some() {
                list.set(name, NvValue::Flag);
            }
        }
        Ok(Some(list))
    }

    /// Property `receive_resume_token`: a new dataset has the state itself, one that exists in its
    /// hidden clone.
    pub(crate) fn resume_token(&self, head: &Found) -> Result<Option<String>> {
        if let Some(list) = self.resume_list(head.object)? {
            return Ok(Some(to_token(&list)));
        }
        let Some(clone) = self.left_clone(head)? else { return Ok(None) };
        Ok(self.resume_list(clone.object)?.map(|list| to_token(&list)))
    }

    /// The hidden clone that a receive writes to, or has left.
    pub(crate) fn left_clone(&self, head: &Found) -> Result<Option<Found>> {
        let Some(object) = self.mos.find(head.dir.phys().child_dir_zapobj, RECEIVE_CLONE)? else {
            return Ok(None);
        };
        let dir = self.child_dir(&head.dir, RECEIVE_CLONE, object)?;
        self.head_of(&dir)
    }

    /// Whether a head was not received whole, and can be no further.
    pub(crate) fn is_useless(&self, head: &Found) -> Result<bool> {
        Ok(head.phys.flags & FLAG_INCONSISTENT != 0 && self.resume_list(head.object)?.is_none())
    }

    /// Writes down that a dataset is being received, resumably. Syncing context.
    pub(crate) fn begin_resumable(&self, dataset: u64, begin: &Begin, tx: &Tx) -> Result<()> {
        self.zapify(dataset, tx)?;
        let put = |name: &str, value: u64| self.mos.set(dataset, name, value, tx);
        if begin.from_guid != 0 {
            put(FIELD_RESUME_FROMGUID, begin.from_guid)?;
        }
        put(FIELD_RESUME_TOGUID, begin.to_guid)?;
        self.mos.set(dataset, FIELD_RESUME_TONAME, begin.to_name.as_str(), tx)?;
        for (field, _, feature) in FLAGS {
            if begin.has(feature) {
                put(field, 1)?;
            }
        }
        self.put_point(dataset, Point { object: 1, ..Point::default() }, tx)
    }

    /// A receive has come so far. Syncing context.
    pub(crate) fn put_point(&self, dataset: u64, point: Point, tx: &Tx) -> Result<()> {
        self.mos.set(dataset, FIELD_RESUME_OBJECT, point.object, tx)?;
        self.mos.set(dataset, FIELD_RESUME_OFFSET, point.offset, tx)?;
        Ok(self.mos.set(dataset, FIELD_RESUME_BYTES, point.bytes, tx)?)
    }

    /// The dataset is complete. OpenZFS leaves the flags there, too. Syncing context.
    pub(crate) fn end_resumable(&self, dataset: u64, tx: &Tx) -> Result<()> {
        if self.resume_list(dataset)?.is_some() {
            let others = [FIELD_RESUME_TONAME, FIELD_RESUME_REDACT_BOOKMARK_SNAPS];
            for field in NUMBERS.map(|(field, _)| field).into_iter().chain(others) {
                self.mos.remove(dataset, field, tx)?;
            }
        }
        Ok(())
    }
}
