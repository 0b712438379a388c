//! The first step of a receive: is it possible, and where does it go to.
//!
//! Source: module/zfs/dmu_recv.c (`dmu_recv_begin_check`, `…_sync`), dsl_dataset.c
//! (`dsl_dataset_modified_since_snap`).

use api_types::DatasetKind;
use env::IoClass;
use ondisk::BlkPtr;
use ondisk::dsl_dataset::{FLAG_CI_DATASET, FLAG_INCONSISTENT};
use ondisk::nvlist::NvList;
use ondisk::objset::{ObjsetPhys, ObjsetType};
use ondisk::send::{
    Begin, FLAG_CI_DATA, FLAG_CLONE, FLAG_FREERECORDS, HeaderType, RESUME_OBJECT, RESUME_OFFSET, feature,
};
use ondisk::version;
use ondisk::znode::VERSION_SA;

use super::{Failure, Received, Target, check_built, invalid, kind_of, props};
use crate::dsl::Dsl;
use crate::dsl::counts::Counted;
use crate::dsl::dataset::recorded_features;
use crate::dsl::names::Found;
use crate::dsl::task::SyncCx;
use crate::namecheck::{self, MAX_NAME, RECEIVE_CLONE, parent_of};
use crate::resume::{Point, Resume};
use crate::{PoolError, Result};

/// Pool features that features of a stream need.
const NEEDED: [(u64, &str); 7] = [
    (feature::LZ4, "lz4_compress"),
    (feature::ZSTD, "zstd_compress"),
    (feature::EMBED_DATA, "embedded_data"),
    (feature::LARGE_BLOCKS, "large_blocks"),
    (feature::LARGE_DNODE, "large_dnode"),
    (feature::LONGNAME, "longname"),
    (feature::LARGE_MICROZAP, "large_microzap"),
];
/// Those that a dataset has from the stream on, whatever its own properties would bring.
const ANNOUNCED: [(u64, &str); 3] = [
    (feature::LARGE_BLOCKS, "large_blocks"),
    (feature::LARGE_DNODE, "large_dnode"),
    (feature::LONGNAME, "longname"),
];
/// Features of streams that mean something here.
const KNOWN: u64 = feature::SA_SPILL
    | feature::EMBED_DATA
    | feature::LZ4
    | feature::LARGE_BLOCKS
    | feature::RESUMING
    | feature::COMPRESSED
    | feature::LARGE_DNODE
    | feature::RAW
    | feature::ZSTD
    | feature::HOLDS
    | feature::REDACTED
    | feature::SWITCH_TO_LARGE_BLOCKS
    | feature::LONGNAME
    | feature::LARGE_MICROZAP;

pub(super) fn check(dsl: &Dsl, target: &Target) -> Result<()> {
    let begin = &target.begin;
    if begin.header_type != HeaderType::Sub as u8 {
        return Err(invalid("not the stream of one dataset"));
    }
    if begin.features & !KNOWN != 0 {
        return Err(invalid(format_args!("unsupported feature, feature flags = {:x}", begin.features)));
    }
    check_built(begin)?;
    kind_of(begin)?;
    props::check(dsl, target)?;
    if begin.has(feature::SA_SPILL) && version::newest_file_system(dsl.version()) < VERSION_SA {
        return Err(Failure::Features.into());
    }
    if NEEDED.iter().any(|(feature, name)| begin.has(*feature) && !dsl.features().is_enabled(name)) {
        return Err(Failure::Features.into());
    }
    if target.resumable && !dsl.features().is_enabled("extensible_dataset") {
        return Err(Failure::Features.into());
    }
    if begin.has(feature::RESUMING) {
        return check_resume(dsl, target);
    }
    let is_clone = begin.flags & FLAG_CLONE != 0;
    if is_clone && target.origin.is_none() {
        return Err(invalid("a clone without an origin"));
    }
    let name = format!("{}@{}", target.dataset, target.snapshot);
    namecheck::check_point(&name, '@').map_err(invalid)?;
    match dsl.find(&target.dataset) {
        Ok(_) if is_clone || target.origin.is_some() => Err(invalid("a clone of what exists")),
        Ok(head) => check_existing(dsl, target, &head),
        Err(PoolError::NotFound) => check_new(dsl, target),
        Err(error) => Err(error),
    }
}

/// What goes on as a volume was one.
fn check_same_kind(dsl: &Dsl, before: &Found, begin: &Begin) -> Result<()> {
    let was_volume = dsl.head_kind(before.object, &before.phys)? == DatasetKind::Volume;
    match was_volume == (kind_of(begin)? == ObjsetType::Zvol) {
        true => Ok(()),
        false => Err(invalid("volumes and file systems do not become each other")),
    }
}

/// Whether the stream is the rest of what was interrupted.
fn check_resume(dsl: &Dsl, target: &Target) -> Result<()> {
    let begin = &target.begin;
    let Received { found, is_hidden } = match dsl.left_of(&target.dataset) {
        Err(PoolError::NotFound) => return Err(Failure::NotFound.into()),
        left => left?,
    };
    if is_hidden && begin.from_guid == 0 && !target.force {
        return Err(Failure::ResumeExists.into());
    }
    let left = dsl.resume_list(found.object)?.and_then(|list| Resume::of_list(&list).ok());
    let Some(left) = left.filter(|_| found.phys.flags & FLAG_INCONSISTENT != 0) else {
        return Err(invalid("nothing is to be resumed"));
    };
    if left.to_guid != begin.to_guid {
        return Err(invalid("the rest of another stream"));
    }
    if dsl.is_receiving(found.object) {
        return Err(Failure::Busy.into());
    }
    let previous = found.phys.prev_snap_obj;
    if previous != 0 && dsl.mos.dataset(previous)?.dir_obj == found.dir.object {
        return Err(invalid("what was left has snapshots"));
    }
    if left.from_guid != begin.from_guid {
        return Err(invalid("the rest of a stream from another snapshot"));
    }
    check_same_kind(dsl, &found, begin)?;
    check_large_blocks(dsl, found.object, begin)
}

/// The place from which a stream goes on, which is that where the receive had stopped.
pub(super) fn check_point(dsl: &Dsl, object: u64, list: &[u8]) -> Result<Point> {
    let list = NvList::decode(list)?;
    let (at, offset) = (list.u64(RESUME_OBJECT), list.u64(RESUME_OFFSET));
    let left = dsl.resume_list(object)?.and_then(|list| Resume::of_list(&list).ok());
    let left = left.ok_or_else(|| invalid("nothing is to be resumed"))?.point;
    if at != Some(left.object) || offset != Some(left.offset) {
        return Err(invalid("the stream goes on from another place"));
    }
    Ok(left)
}

fn check_existing(dsl: &Dsl, target: &Target, head: &Found) -> Result<()> {
    if dsl.left_clone(head)?.is_some() || dsl.is_receiving(head.object) {
        return Err(Failure::Busy.into());
    }
    if head.phys.flags & FLAG_INCONSISTENT != 0 {
        return Err(Failure::Busy.into());
    }
    if dsl.mos.find(head.phys.snapnames_zapobj, &target.snapshot)?.is_some() {
        return Err(Failure::Exists.into());
    }
    if target.dataset.len() + 1 + RECEIVE_CLONE.len() > MAX_NAME {
        return Err(PoolError::NameTooLong);
    }
    if recorded_features(dsl, head.object)?.contains(&"encryption") {
        return Err(PoolError::Unsupported("receiving into encrypted datasets".into()));
    }
    if kind_of(&target.begin)? == ObjsetType::Zvol && !dsl.children(&head.dir)?.is_empty() {
        return Err(Failure::WrongParent.into());
    }
    if dsl.is_count_full(&head.dir, Counted::Snapshots, 1, None)? {
        return Err(PoolError::Quota);
    }
    if target.begin.from_guid == 0 {
        return if target.force { Ok(()) } else { Err(Failure::Exists.into()) };
    }
    check_same_kind(dsl, head, &target.begin)?;
    let from = source(dsl, target, head)?;
    check_large_blocks(dsl, from, &target.begin)
}

/// The snapshot that what is received is to be a clone of.
fn source(dsl: &Dsl, target: &Target, head: &Found) -> Result<u64> {
    let mut object = head.phys.prev_snap_obj;
    while object != 0 {
        let phys = dsl.mos.dataset(object)?;
        if phys.dir_obj != head.dir.object {
            break;
        }
        if phys.guid != target.begin.from_guid {
            object = phys.prev_snap_obj;
            continue;
        }
        if target.force {
            return Ok(object);
        }
        if dsl.is_modified_since(&head.phys.bp, &phys.bp, phys.creation_txg)? {
            return Err(Failure::Modified.into());
        }
        return Ok(head.phys.prev_snap_obj);
    }
    Err(Failure::NoSource.into())
}

fn check_large_blocks(dsl: &Dsl, from: u64, begin: &Begin) -> Result<()> {
    let had_large = recorded_features(dsl, from)?.contains(&"large_blocks");
    if had_large && !begin.has(feature::LARGE_BLOCKS) { Err(Failure::LargeBlocks.into()) } else { Ok(()) }
}

fn check_new(dsl: &Dsl, target: &Target) -> Result<()> {
    let begin = &target.begin;
    if begin.from_guid != 0 && target.origin.is_none() {
        return Err(Failure::NotFound.into());
    }
    if begin.from_guid == 0 && target.origin.is_some() && begin.flags & FLAG_FREERECORDS == 0 {
        return Err(invalid("a full stream that does not say what is free"));
    }
    let parent = parent_of(&target.dataset).ok_or(Failure::NotFound)?;
    let parent = match dsl.find(parent) {
        Err(PoolError::NotFound) => return Err(Failure::NotFound.into()),
        parent => parent?,
    };
    if dsl.kind_of(&parent)? != DatasetKind::Filesystem {
        return Err(Failure::WrongParent.into());
    }
    for what in [Counted::Filesystems, Counted::Snapshots] {
        if dsl.is_count_full(&parent.dir, what, 1, None)? {
            return Err(PoolError::Quota);
        }
    }
    let Some(origin) = &target.origin else { return Ok(()) };
    let origin = match dsl.find(origin) {
        Err(PoolError::NotFound) => return Err(Failure::NotFound.into()),
        origin => origin?,
    };
    if !origin.is_snapshot() {
        return Err(invalid("the origin is no snapshot"));
    }
    if begin.from_guid != 0 && origin.phys.guid != begin.from_guid {
        return Err(Failure::NoSource.into());
    }
    if recorded_features(dsl, origin.object)?.contains(&"encryption") {
        return Err(PoolError::Unsupported("clones of encrypted datasets".into()));
    }
    check_same_kind(dsl, &origin, begin)?;
    check_large_blocks(dsl, origin.object, begin)
}

pub(super) fn sync(cx: &SyncCx<'_>, target: &Target, number: u64) -> Result<()> {
    let (dsl, begin) = (cx.dsl, &target.begin);
    if begin.has(feature::RESUMING) {
        let Received { found, .. } = dsl.left_of(&target.dataset)?;
        // Who looked at it in the meantime has opened what cannot be written.
        dsl.forget_dataset(found.object);
        dsl.begin_receiving(found.object, number);
        cx.note("resume receive", &found.dir.name(), found.object, " ");
        return Ok(());
    }
    let (dir, origin) = match dsl.find(&target.dataset) {
        Ok(head) => {
            let origin = (begin.from_guid != 0).then(|| source(dsl, target, &head)).transpose()?;
            let dir = dsl.create_dir(Some(&head.dir), RECEIVE_CLONE, cx.tx)?;
            props::begin_hidden(dsl, &dir, &head.dir, target, cx.tx)?;
            (dir, origin)
        }
        Err(PoolError::NotFound) => {
            let (parent, last) = target.dataset.rsplit_once('/').ok_or(Failure::NotFound)?;
            let origin = target.origin.as_ref().map(|origin| dsl.find(origin)).transpose()?;
            let dir = dsl.create_dir(Some(&dsl.find_dir(parent)?), last, cx.tx)?;
            props::begin(dsl, &dir, target, cx.tx)?;
            (dir, origin.map(|origin| origin.object))
        }
        Err(error) => return Err(error),
    };
    let object = match origin {
        Some(origin) => dsl.create_clone(&dir, origin, cx.tx)?,
        None => dsl.create_empty(&dir, kind_of(begin)?, cx.tx)?,
    };
    dsl.edit_dataset(object, cx.tx, |phys| {
        phys.flags |= FLAG_INCONSISTENT;
        if begin.flags & FLAG_CI_DATA != 0 {
            phys.flags |= FLAG_CI_DATASET;
        }
    })?;
    // Later streams are held against what this one announced, not against what it had.
    for (feature, name) in ANNOUNCED {
        if begin.has(feature) && !recorded_features(dsl, object)?.contains(&name) {
            dsl.activate_feature(object, name, cx.tx)?;
        }
    }
    if target.resumable {
        dsl.begin_resumable(object, begin, cx.tx)?;
    }
    dsl.begin_receiving(object, number);
    cx.note("receive", &dir.name(), object, " ");
    dsl.refresh_heads()
}

impl Dsl {
    /// Whether a head has other objects than its snapshot had. That it was looked at, and has
    /// another log, is none of that.
    pub(super) fn is_modified_since(&self, head: &BlkPtr, snapshot: &BlkPtr, txg: u64) -> Result<bool> {
        if head.birth() <= txg {
            return Ok(false);
        }
        Ok(self.objset_phys(head)?.meta_dnode != self.objset_phys(snapshot)?.meta_dnode)
    }

    fn objset_phys(&self, root: &BlkPtr) -> Result<ObjsetPhys> {
        let block = self.parts.store().read(root, IoClass::SyncRead).map_err(|_| PoolError::Io)?;
        Ok(ObjsetPhys::decode(&block)?)
    }
}
