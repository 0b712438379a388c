//! A DSL dataset: one object set, live or snapshot, and its place in the chain of snapshots.
//!
//! ```text
//!   0 sixteen numbers    128 block pointer of the object set    256 three numbers    280 zero, to 320
//! ```
//! A bonus buffer (`DMU_OT_DSL_DATASET`). When the object is a ZAP, it holds further fields
//! (`FIELD_*`).
//!
//! Source: include/sys/dsl_dataset.h.

use crate::BlkPtr;
use crate::malformed::{Endian, Malformed, Reader, Writer, slice_at};

/// A receive into it has not finished.
pub const FLAG_INCONSISTENT: u64 = 1 << 0;
pub const FLAG_NOPROMOTE: u64 = 1 << 1;
/// `unique_bytes` is right for the head, too.
pub const FLAG_UNIQUE_ACCURATE: u64 = 1 << 2;
/// Goes when its last hold and clone go.
pub const FLAG_DEFER_DESTROY: u64 = 1 << 3;
/// Holds a file system whose lookups ignore case.
pub const FLAG_CI_DATASET: u64 = 1 << 16;

pub const FIELD_BOOKMARK_NAMES: &str = "com.delphix:bookmarks";
pub const FIELD_LARGE_DNODE: &str = "org.zfsonlinux:large_dnode";
pub const FIELD_RESUME_FROMGUID: &str = "com.delphix:resume_fromguid";
pub const FIELD_RESUME_TONAME: &str = "com.delphix:resume_toname";
pub const FIELD_RESUME_TOGUID: &str = "com.delphix:resume_toguid";
pub const FIELD_RESUME_OBJECT: &str = "com.delphix:resume_object";
pub const FIELD_RESUME_OFFSET: &str = "com.delphix:resume_offset";
pub const FIELD_RESUME_BYTES: &str = "com.delphix:resume_bytes";
pub const FIELD_RESUME_LARGEBLOCK: &str = "com.delphix:resume_largeblockok";
pub const FIELD_RESUME_EMBEDOK: &str = "com.delphix:resume_embedok";
pub const FIELD_RESUME_COMPRESSOK: &str = "com.delphix:resume_compressok";
pub const FIELD_RESUME_RAWOK: &str = "com.datto:resume_rawok";
pub const FIELD_RESUME_REDACT_BOOKMARK_SNAPS: &str = "com.delphix:resume_redact_book_snaps";
pub const FIELD_REMAP_DEADLIST: &str = "com.delphix:remap_deadlist";
pub const FIELD_IVSET_GUID: &str = "com.datto:ivset_guid";
pub const FIELD_RAW_RECEIVED: &str = "org.openzfs:raw_received";

/// `dsl_dataset_phys_t`. Objects are of the meta object set, 0 where there is none; space is in
/// bytes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DslDatasetPhys {
    pub dir_obj: u64,
    pub prev_snap_obj: u64,
    pub prev_snap_txg: u64,
    pub next_snap_obj: u64,
    /// ZAP: name → snapshot. 0 for a snapshot.
    pub snapnames_zapobj: u64,
    /// Clones and the next snapshot or head; 0 for a head.
    pub num_children: u64,
    /// Seconds since 1970.
    pub creation_time: u64,
    pub creation_txg: u64,
    pub deadlist_obj: u64,
    /// These three count everything it references, shared or not.
    pub referenced_bytes: u64,
    pub compressed_bytes: u64,
    pub uncompressed_bytes: u64,
    /// What nobody else references.
    pub unique_bytes: u64,
    /// 56 bits; may change to stay unique among mounted file systems.
    pub fsid_guid: u64,
    /// Never changes.
    pub guid: u64,
    /// `FLAG_*`.
    pub flags: u64,
    pub bp: BlkPtr,
    pub next_clones_obj: u64,
    /// Properties, of a snapshot only.
    pub props_obj: u64,
    pub userrefs_obj: u64,
}

const BP_AT: usize = 128;

impl DslDatasetPhys {
    pub const SIZE: usize = 320;

    pub fn decode(bytes: &[u8]) -> Result<DslDatasetPhys, Malformed> {
        let bytes = slice_at(bytes, 0, Self::SIZE, "dsl dataset")?;
        let bp = BlkPtr::decode(slice_at(bytes, BP_AT, BlkPtr::SIZE, "dsl dataset")?, Endian::Little)
            .map_err(|e| e.within(BP_AT))?;
        decode_words(&mut Reader::new(bytes, Endian::Little), bp).ok_or(Malformed::at("dsl dataset", 0))
    }

    pub fn encode(&self) -> [u8; Self::SIZE] {
        let mut bytes = [0; Self::SIZE];
        let mut to = Writer::new(&mut bytes, Endian::Little);
        let head = [
            self.dir_obj,
            self.prev_snap_obj,
            self.prev_snap_txg,
            self.next_snap_obj,
            self.snapnames_zapobj,
            self.num_children,
            self.creation_time,
            self.creation_txg,
            self.deadlist_obj,
            self.referenced_bytes,
            self.compressed_bytes,
            self.uncompressed_bytes,
            self.unique_bytes,
            self.fsid_guid,
            self.guid,
            self.flags,
        ];
        for word in head {
            to.u64(word);
        }
        assert_eq!(to.position(), BP_AT);
        to.bytes(&self.bp.encode());
        for word in [self.next_clones_obj, self.props_obj, self.userrefs_obj] {
            to.u64(word);
        }
        bytes
    }

    /// A snapshot has children, a head has none.
    pub fn is_snapshot(&self) -> bool {
        self.num_children != 0
    }
}

fn decode_words(from: &mut Reader<'_>, bp: BlkPtr) -> Option<DslDatasetPhys> {
    Some(DslDatasetPhys {
        dir_obj: from.u64()?,
        prev_snap_obj: from.u64()?,
        prev_snap_txg: from.u64()?,
        next_snap_obj: from.u64()?,
        snapnames_zapobj: from.u64()?,
        num_children: from.u64()?,
        creation_time: from.u64()?,
        creation_txg: from.u64()?,
        deadlist_obj: from.u64()?,
        referenced_bytes: from.u64()?,
        compressed_bytes: from.u64()?,
        uncompressed_bytes: from.u64()?,
        unique_bytes: from.u64()?,
        fsid_guid: from.u64()?,
        guid: from.u64()?,
        flags: from.u64()?,
        bp: {
            from.skip(BlkPtr::SIZE)?;
            bp
        },
        next_clones_obj: from.u64()?,
        props_obj: from.u64()?,
        userrefs_obj: from.u64()?,
    })
}

#[cfg(test)]
mod tests;
