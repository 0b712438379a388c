//! Whether a record can be followed: numbers in range, sizes that a pool can have, nothing that
//! BEGIN did not announce.
//!
//! Source: module/zfs/dmu_recv.c (`recv_check_drr_*`).

use super::{
    Begin, FLAG_SPILL_BLOCK, OBJECT_SPILL, Object, Record, Spill, TO_END, Write, WriteEmbedded, feature,
};
use crate::blkptr::{ChecksumKind, CompressKind, EMBEDDED_MAX, SECTOR};
use crate::dnode::{MAX_OBJECT, SLOTS_PER_BLOCK, bonus_for_slots};
use crate::malformed::Malformed;
use crate::object_type::ObjectType;

/// Blocks above this size have to be announced.
const OLD_MAX_BLOCK: u64 = 128 << 10;

/// What the pool can take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of a block.
    pub block: u64,
    /// Of a dnode.
    pub slots: u8,
}

type Checked = Result<(), Malformed>;

fn need(fine: bool, what: &'static str) -> Checked {
    if fine { Ok(()) } else { Err(Malformed::at(what, 0)) }
}

impl Record {
    /// See the module. `begin` began the stream.
    pub fn check(&self, begin: &Begin, limits: &Limits) -> Checked {
        match self {
            Record::Object(object) => check_object(object, begin, limits),
            Record::Write(write) => check_write(write, begin, limits),
            Record::Spill(spill) => check_spill(spill, limits),
            Record::WriteEmbedded(write) => check_embedded(write, begin, limits),
            Record::Free { object, offset, length } | Record::Redact { object, offset, length } => {
                check_id(*object)?;
                let ends = *length == TO_END || offset.checked_add(*length).is_some();
                need(ends, "DRR_FREE range")
            }
            Record::FreeObjects { first, count } => {
                need(first.checked_add(*count).is_some(), "DRR_FREEOBJECTS range")
            }
            Record::ObjectRange { .. } => need(false, "DRR_OBJECT_RANGE in a stream that is not raw"),
            Record::WriteByRef => need(false, "DRR_WRITE_BYREF"),
            Record::Begin(_) => need(false, "DRR_BEGIN inside of a stream"),
            Record::End { .. } => Ok(()),
        }
    }
}

fn check_id(object: u64) -> Checked {
    need(object != 0 && object < MAX_OBJECT, "object number")
}

fn check_type(number: u32) -> Checked {
    need(super::object_type(number).is_some(), "object type")
}

/// Blocks of these sizes may be in the stream.
fn check_size(size: u64, begin: &Begin, limits: &Limits) -> Checked {
    need(size <= limits.block, "block size")?;
    need(size <= OLD_MAX_BLOCK || begin.has(feature::LARGE_BLOCKS), "large block in a stream without them")
}

/// Compressions newer than the stream format have to be announced.
fn check_compress(compress: u8, begin: &Begin) -> Checked {
    let kind = CompressKind::from_raw(compress);
    need(kind.is_some(), "compression type")?;
    match kind {
        Some(CompressKind::Zstd) => need(begin.has(feature::ZSTD), "zstd in a stream without it"),
        Some(CompressKind::Lz4) => need(begin.has(feature::LZ4), "lz4 in a stream without it"),
        _ => Ok(()),
    }
}

fn check_object(object: &Object, begin: &Begin, limits: &Limits) -> Checked {
    check_id(object.object)?;
    check_type(object.object_type)?;
    check_type(object.bonus_type)?;
    need(object.object_type != 0, "DRR_OBJECT type")?;
    let may_be_empty =
        [ObjectType::NONE, ObjectType::SA].iter().any(|kind| u32::from(kind.0) == object.bonus_type);
    let fits =
        if object.bonus_type == 0 { object.bonus_len == 0 } else { object.bonus_len != 0 || may_be_empty };
    need(fits, "DRR_OBJECT bonus")?;
    let slots = object.slots.max(1);
    need(slots == 1 || begin.has(feature::LARGE_DNODE), "large dnode in a stream without them")?;
    need(slots <= limits.slots, "DRR_OBJECT dnode slots")?;
    need(object.bonus_len as usize <= bonus_for_slots(usize::from(slots)), "DRR_OBJECT bonus length")?;
    let within = object.object % SLOTS_PER_BLOCK as u64 + u64::from(slots) <= SLOTS_PER_BLOCK as u64;
    need(within, "DRR_OBJECT across blocks of dnodes")?;
    need(ChecksumKind::from_raw(object.checksum).is_some(), "DRR_OBJECT checksum type")?;
    need(CompressKind::from_raw(object.compress).is_some(), "DRR_OBJECT compression type")?;
    let size = u64::from(object.block_size);
    need(size != 0 && size.is_multiple_of(SECTOR), "DRR_OBJECT block size")?;
    check_size(size, begin, limits)?;
    need(object.flags & !OBJECT_SPILL == 0, "DRR_OBJECT flags")?;
    let announced = begin.flags & FLAG_SPILL_BLOCK != 0;
    need(announced || object.flags & OBJECT_SPILL == 0, "DRR_OBJECT spill flag")?;
    let raw = [u64::from(object.raw_bonus_len), object.indirect_shift.into(), object.levels.into()];
    need(raw == [0; 3] && object.blkptrs == 0, "DRR_OBJECT of a raw stream")
}

fn check_write(write: &Write, begin: &Begin, limits: &Limits) -> Checked {
    check_id(write.object)?;
    need(write.lsize >= SECTOR && write.lsize.is_multiple_of(SECTOR), "DRR_WRITE logical size")?;
    check_size(write.lsize, begin, limits)?;
    if write.compress == 0 {
        need(write.compressed_size == 0, "DRR_WRITE compressed size")?;
    } else {
        need(begin.has(feature::COMPRESSED), "DRR_WRITE compressed in a stream that is not")?;
        check_compress(write.compress, begin)?;
        let size = write.compressed_size;
        need(size != 0 && size <= write.lsize && size.is_multiple_of(8), "DRR_WRITE compressed size")?;
    }
    need(write.offset.checked_add(write.lsize).is_some(), "DRR_WRITE offset")?;
    check_type(write.object_type)?;
    need(ChecksumKind::from_raw(write.checksum).is_some(), "DRR_WRITE checksum type")
}

fn check_spill(spill: &Spill, limits: &Limits) -> Checked {
    check_id(spill.object)?;
    check_type(spill.object_type)?;
    let fits = (SECTOR..=limits.block).contains(&spill.length) && spill.length.is_multiple_of(SECTOR);
    need(fits, "DRR_SPILL length")?;
    need(spill.compressed_size == 0 && spill.compress == 0, "DRR_SPILL of a raw stream")
}

fn check_embedded(write: &WriteEmbedded, begin: &Begin, limits: &Limits) -> Checked {
    need(begin.has(feature::EMBED_DATA), "DRR_WRITE_EMBEDDED in a stream without them")?;
    check_id(write.object)?;
    check_size(write.length, begin, limits)?;
    need(write.psize != 0 && write.psize as usize <= EMBEDDED_MAX, "DRR_WRITE_EMBEDDED payload size")?;
    check_compress(write.compress, begin)?;
    let (lsize, psize) = (u64::from(write.lsize), u64::from(write.psize));
    let is_plain = write.compress == CompressKind::Off as u8;
    need(if is_plain { lsize == psize } else { lsize >= psize }, "DRR_WRITE_EMBEDDED logical size")?;
    need(lsize <= write.length, "DRR_WRITE_EMBEDDED length")?;
    need(write.offset.checked_add(write.length).is_some(), "DRR_WRITE_EMBEDDED offset")?;
    need(write.kind == 0, "DRR_WRITE_EMBEDDED type")
}
