//! Writes of what is there already: the old pointer stays, and nothing is written.
//!
//! A block is the same if its checksum says so and that is one that nobody can make collide; then
//! its bytes need not be read. Compression must be on, as in OpenZFS, whose users turn this off
//! together with it. What is deduplicated is found by its table instead. All that a pointer says of
//! a block must be alike: who compares pointers afterwards, an incremental stream for one, takes
//! the block for unchanged.
//!
//! Source: module/zfs/zio.c (`zio_nop_write`), `dmu_write_policy` in dmu.c.

use ondisk::object_type::ObjectType;
use ondisk::{BlkPtr, ChecksumKind, CompressKind};

use super::transform::Stored;
use crate::vdev::Kind;
use crate::vdev::open::Tree;
use crate::{Dedup, WriteItem};

/// Strong enough that equal sums mean equal blocks.
fn is_strong(kind: ChecksumKind) -> bool {
    codec::table::Checksum::from_raw(kind as u8).is_some_and(codec::table::Checksum::is_nopwrite)
}

/// What is there, where that is what is to be written.
pub(super) fn unchanged(tree: &Tree, item: &WriteItem, stored: &Stored) -> Option<BlkPtr> {
    let (old, policy) = (item.unless.as_ref()?, &item.policy);
    let off = matches!(policy.compression, CompressKind::Off | CompressKind::Empty);
    if off
        || policy.is_metadata
        || policy.dedup != Dedup::Off
        || policy.level != 0
        || old.is_hole()
        || old.is_embedded()
    {
        return None;
    }
    let same = is_strong(stored.checksum_kind)
        && old.checksum_kind() == Ok(stored.checksum_kind)
        && old.checksum() == stored.checksum
        && old.compression() == Ok(stored.compression)
        && old.psize() == stored.psize
        && old.lsize() == item.data.len() as u64
        && old.object_type() == ObjectType(policy.object_type)
        && old.level() == policy.level
        && !old.is_dedup()
        && !old.is_encrypted()
        && old.ndvas() == usize::from(policy.copies) + usize::from(old.is_gang());
    // What was moved from a removed disk is better written anew than kept mapped.
    let moved =
        |vdev: u32| tree.tops.get(vdev as usize).is_none_or(|top| matches!(top.vdev.kind, Kind::Indirect));
    let stays = same && !old.dvas().iter().filter(|dva| dva.is_valid()).any(|dva| moved(dva.vdev));
    stays.then_some(*old)
}

#[cfg(test)]
mod tests;
