//! A dnode: the root of one object.
//!
//! ```text
//!   0 type       1 indblkshift  2 nlevels   3 nblkptr  4 bonustype  5 checksum  6 compress  7 flags
//!   8 datablkszsec (u16)   10 bonuslen (u16)   12 extra_slots   13 pad
//!  16 maxblkid (u64)       24 used (u64)       32 pad (4 × u64)
//!  64 blkptr[nblkptr] | bonus[bonuslen] | … | spill blkptr, in the last 128 bytes, when the flag says so
//! ```
//! A dnode is 1 to 32 slots of 512 bytes inside a 16 KiB block. The object's number is the number
//! of its first slot; a slot with type 0 that no larger dnode covers is free. How to read the bonus
//! bytes follows from `bonus_type`.
//!
//! Source: include/sys/dnode.h.

use std::sync::Arc;

use crate::BlkPtr;
use crate::malformed::{Endian, Malformed, Reader, Writer, slice_at};
use crate::numbers::swap_numbers;
use crate::object_type::ObjectType;

/// Bytes of a slot, and of the smallest dnode.
pub const SLOT_SIZE: usize = 512;
/// log2 of [`SLOT_SIZE`].
pub const SLOT_SHIFT: u32 = 9;
/// Bytes of a block of dnodes.
pub const BLOCK_SIZE: usize = 16384;
/// log2 of [`BLOCK_SIZE`].
pub const BLOCK_SHIFT: u32 = 14;
/// Slots in a block of dnodes.
pub const SLOTS_PER_BLOCK: usize = BLOCK_SIZE / SLOT_SIZE;
/// Bytes before the first block pointer.
pub const CORE_SIZE: usize = 64;
/// Block pointers a dnode can have at most.
pub const MAX_BLKPTRS: usize = (SLOT_SIZE - CORE_SIZE) / BlkPtr::SIZE;
/// Bonus bytes of a dnode of one slot with one block pointer.
pub const OLD_MAX_BONUS: usize = SLOT_SIZE - CORE_SIZE - BlkPtr::SIZE;
/// Indirect blocks are 4 KiB to 128 KiB.
pub const MIN_INDBLKSHIFT: u8 = 12;
pub const MAX_INDBLKSHIFT: u8 = 17;
/// No object has a block of this number: its bytes, in the smallest blocks, are counted in 64 bits.
pub const BLOCKS_END: u64 = 1 << 55;
/// No offset in an object reaches 2^64, no level of indirection beyond this is needed for that.
pub const MAX_LEVELS: u8 = 12;
/// Object numbers are below 2^48.
pub const MAX_OBJECT: u64 = 1 << 48;
/// log2 of a block pointer's size: an indirect block of `2^shift` bytes holds `2^(shift - 7)` of
/// them.
pub const BLKPTR_SHIFT: u32 = 7;
/// Sectors of `datablkszsec`, and of `used` without [`FLAG_USED_BYTES`].
pub const SECTOR_SHIFT: u32 = 9;

/// `used` counts bytes; without this flag, sectors of 512 bytes.
pub const FLAG_USED_BYTES: u8 = 1 << 0;
/// Its space is counted in the user, group and project accounting.
pub const FLAG_USERUSED_ACCOUNTED: u8 = 1 << 1;
/// The last 128 bytes are the block pointer of the spill block.
pub const FLAG_SPILL_BLKPTR: u8 = 1 << 2;
/// It is counted in the per-user object counts.
pub const FLAG_USEROBJUSED_ACCOUNTED: u8 = 1 << 3;

const EXTRA_SLOTS_AT: usize = 12;

const _: () = assert!(MAX_BLKPTRS == 3 && OLD_MAX_BONUS == 320);

/// One allocated dnode.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DnodePhys {
    pub object_type: ObjectType,
    /// log2 of the size of its indirect blocks.
    pub indblkshift: u8,
    /// 1: the block pointers here are those of data blocks.
    pub nlevels: u8,
    pub bonus_type: ObjectType,
    /// `ZIO_CHECKSUM_*`; 0 inherits.
    pub checksum: u8,
    /// `ZIO_COMPRESS_*`; 0 inherits.
    pub compress: u8,
    /// `FLAG_*`, except that [`FLAG_SPILL_BLKPTR`] is implied by `spill` on encoding.
    pub flags: u8,
    /// Size of its data blocks, in sectors of 512 bytes.
    pub datablkszsec: u16,
    /// Slots beyond the first.
    pub extra_slots: u8,
    /// Number of the last data block ever written.
    pub maxblkid: u64,
    /// Space allocated for all its blocks; unit by [`FLAG_USED_BYTES`].
    pub used: u64,
    /// One to three.
    pub blkptrs: Vec<BlkPtr>,
    /// As on disk, `bonuslen` bytes; shared by all who have it.
    pub bonus: Arc<Vec<u8>>,
    pub spill: Option<BlkPtr>,
}

impl DnodePhys {
    /// A new object of one block pointer, without blocks. `data_block` is in bytes, `slots` 1 to
    /// 32.
    pub fn new(object_type: ObjectType, data_block: u32, indblkshift: u8, slots: u8) -> DnodePhys {
        assert!((1..=SLOTS_PER_BLOCK as u8).contains(&slots));
        assert!(data_block.is_multiple_of(1 << SECTOR_SHIFT) && data_block != 0);
        DnodePhys {
            object_type,
            indblkshift,
            nlevels: 1,
            bonus_type: ObjectType::NONE,
            checksum: 0,
            compress: 0,
            flags: FLAG_USED_BYTES,
            datablkszsec: u16::try_from(data_block >> SECTOR_SHIFT).expect("data block above 16 MiB"),
            extra_slots: slots - 1,
            maxblkid: 0,
            used: 0,
            blkptrs: vec![BlkPtr::default()],
            bonus: Arc::default(),
            spill: None,
        }
    }

    /// The dnode at the start of `bytes`, which may be longer than it; `None` where the slot is
    /// free.
    pub fn decode(bytes: &[u8]) -> Result<Option<DnodePhys>, Malformed> {
        let mut head = Reader::new(slice_at(bytes, 0, SLOT_SIZE, "dnode slot")?, Endian::Little);
        decode_head(&mut head).ok_or(Malformed::at("dnode", 0)).and_then(|(mut dnode, nblkptr, bonuslen)| {
            if dnode.object_type == ObjectType::NONE {
                return Ok(None);
            }
            dnode.check(nblkptr)?;
            let all = slice_at(bytes, 0, dnode.size(), "dnode of several slots")?;
            let blkptrs_end = CORE_SIZE + usize::from(nblkptr) * BlkPtr::SIZE;
            for at in (CORE_SIZE..blkptrs_end).step_by(BlkPtr::SIZE) {
                dnode.blkptrs.push(blkptr_at(all, at)?);
            }
            let spill_at = all.len() - BlkPtr::SIZE;
            let bonus_end = if dnode.flags & FLAG_SPILL_BLKPTR != 0 { spill_at } else { all.len() };
            if blkptrs_end + usize::from(bonuslen) > bonus_end {
                return Err(Malformed::at("dnode bonus length", 10));
            }
            if dnode.flags & FLAG_SPILL_BLKPTR != 0 {
                dnode.spill = Some(blkptr_at(all, spill_at)?);
            }
            dnode.bonus = slice_at(all, blkptrs_end, usize::from(bonuslen), "dnode bonus")?.to_vec().into();
            Ok(Some(dnode))
        })
    }

    fn check(&self, nblkptr: u8) -> Result<(), Malformed> {
        let wrong = |what, offset| Err(Malformed::at(what, offset));
        if !self.object_type.is_valid() {
            return wrong("dnode type", 0);
        }
        if !self.bonus_type.is_valid() {
            return wrong("dnode bonus type", 4);
        }
        if !(1..=MAX_LEVELS).contains(&self.nlevels) {
            return wrong("dnode levels", 2);
        }
        if self.maxblkid >= BLOCKS_END {
            return wrong("dnode maxblkid", 16);
        }
        if u32::from(self.indblkshift) > 24 || (self.nlevels > 1 && self.indblkshift < 10) {
            return wrong("dnode indirect block shift", 1);
        }
        if !(1..=MAX_BLKPTRS as u8).contains(&nblkptr) {
            return wrong("dnode count of block pointers", 3);
        }
        if self.datablkszsec == 0 || u32::from(self.datablkszsec) > 1 << (24 - SECTOR_SHIFT) {
            return wrong("dnode data block size", 8);
        }
        if usize::from(self.extra_slots) >= SLOTS_PER_BLOCK {
            return wrong("dnode slots", 12);
        }
        Ok(())
    }

    /// Its [`size`](DnodePhys::size) bytes. Panics when the bonus does not fit: the caller chose
    /// both.
    pub fn encode(&self) -> Vec<u8> {
        assert!((1..=MAX_BLKPTRS).contains(&self.blkptrs.len()));
        assert!(self.bonus.len() <= self.bonus_capacity(), "bonus of {} bytes", self.bonus.len());
        let mut bytes = vec![0; self.size()];
        let spill_flag = if self.spill.is_some() { FLAG_SPILL_BLKPTR } else { 0 };
        let mut to = Writer::new(&mut bytes, Endian::Little);
        to.bytes(&[self.object_type.0, self.indblkshift, self.nlevels, self.blkptrs.len() as u8]);
        to.bytes(&[self.bonus_type.0, self.checksum, self.compress]);
        to.u8(self.flags & !FLAG_SPILL_BLKPTR | spill_flag);
        to.u16(self.datablkszsec);
        to.u16(self.bonus.len() as u16);
        to.u8(self.extra_slots);
        to.skip(3);
        to.u64(self.maxblkid);
        to.u64(self.used);
        to.skip(32);
        for blkptr in &self.blkptrs {
            to.bytes(&blkptr.encode());
        }
        to.bytes(&self.bonus);
        if let Some(spill) = &self.spill {
            to.skip(self.size() - BlkPtr::SIZE - to.position());
            to.bytes(&spill.encode());
        }
        bytes
    }

    /// Slots of 512 bytes it covers.
    pub fn slots(&self) -> usize {
        usize::from(self.extra_slots) + 1
    }

    /// Bytes it covers.
    pub fn size(&self) -> usize {
        self.slots() * SLOT_SIZE
    }

    /// Bonus bytes that fit with its present block pointers and spill.
    pub fn bonus_capacity(&self) -> usize {
        let spill = if self.spill.is_some() { BlkPtr::SIZE } else { 0 };
        self.size() - CORE_SIZE - self.blkptrs.len() * BlkPtr::SIZE - spill
    }

    /// Bytes of a data block.
    pub fn data_block_size(&self) -> u64 {
        u64::from(self.datablkszsec) << SECTOR_SHIFT
    }

    /// Bytes of an indirect block.
    pub fn indirect_block_size(&self) -> u64 {
        1 << self.indblkshift
    }

    /// log2 of the block pointers in an indirect block ("epbs").
    pub fn epbs(&self) -> u32 {
        epbs(self.indblkshift)
    }

    /// Allocated bytes, whichever unit `used` has.
    pub fn used_bytes(&self) -> u64 {
        if self.flags & FLAG_USED_BYTES != 0 {
            self.used
        } else {
            self.used.saturating_mul(1 << SECTOR_SHIFT)
        }
    }

    /// Sets the allocated bytes; of a pool that counts in sectors, these are whole ones.
    pub fn set_used_bytes(&mut self, bytes: u64, in_bytes: bool) {
        self.flags = self.flags & !FLAG_USED_BYTES | if in_bytes { FLAG_USED_BYTES } else { 0 };
        self.used = if in_bytes { bytes } else { bytes >> SECTOR_SHIFT };
    }

    /// The block of `level` that leads to data block `blkid`; 0 where the level spans more than
    /// there can be.
    pub fn block_at_level(&self, blkid: u64, level: u8) -> u64 {
        let shift = u32::from(level) * self.epbs();
        blkid.checked_shr(shift).unwrap_or(0)
    }

    /// Data blocks below one block of `level`, saturating.
    pub fn span(&self, level: u8) -> u64 {
        1u64.checked_shl(u32::from(level) * self.epbs()).unwrap_or(u64::MAX)
    }

    /// Data blocks that `nlevels` levels and the dnode's own pointers can address, saturating.
    pub fn capacity_blocks(&self) -> u64 {
        self.span(self.nlevels - 1).saturating_mul(self.blkptrs.len() as u64)
    }
}

/// Slots of the dnode at the start of `bytes`, without decoding it; `None` where the slot is free
/// (or missing).
pub fn slots_at(bytes: &[u8]) -> Option<usize> {
    let used = bytes.first().is_some_and(|&object_type| object_type != ObjectType::NONE.0);
    bytes.get(EXTRA_SLOTS_AT).filter(|_| used).map(|&extra| usize::from(extra) + 1)
}

/// Swaps the numbers of one dnode of the other byte order, which has all these bytes: one slot at
/// least. Leaves the bonus as it is, and gives it with its type, which says how it is swapped;
/// `None` where there is none.
pub(crate) fn swap(bytes: &mut [u8]) -> Option<(ObjectType, &mut [u8])> {
    slots_at(bytes)?;
    bytes[8..10].reverse();
    bytes[10..12].reverse();
    let has_bonus = bytes[10..12] != [0, 0];
    let (bonus_type, has_spill) = (ObjectType(bytes[4]), bytes[7] & FLAG_SPILL_BLKPTR != 0);
    let pointers = usize::from(bytes[3]).min(MAX_BLKPTRS) * BlkPtr::SIZE;
    swap_numbers::<8>(&mut bytes[16..CORE_SIZE + pointers]);
    let rest = &mut bytes[CORE_SIZE + pointers..];
    let spill_at = rest.len().saturating_sub(if has_spill { BlkPtr::SIZE } else { 0 });
    let (bonus, spill) = rest.split_at_mut(spill_at);
    swap_numbers::<8>(spill);
    has_bonus.then_some((bonus_type, bonus))
}

/// log2 of the block pointers in an indirect block of `2^indblkshift` bytes.
pub fn epbs(indblkshift: u8) -> u32 {
    u32::from(indblkshift).saturating_sub(BLKPTR_SHIFT)
}

/// Bonus bytes of a new dnode of so many slots, with one block pointer.
pub const fn bonus_for_slots(slots: usize) -> usize {
    slots * SLOT_SIZE - CORE_SIZE - BlkPtr::SIZE
}

fn blkptr_at(bytes: &[u8], at: usize) -> Result<BlkPtr, Malformed> {
    let bytes = slice_at(bytes, at, BlkPtr::SIZE, "dnode block pointer")?;
    BlkPtr::decode(bytes, Endian::Little).map_err(|e| e.within(at))
}

/// The fixed fields, the number of block pointers and the bonus length.
fn decode_head(from: &mut Reader<'_>) -> Option<(DnodePhys, u8, u16)> {
    let object_type = ObjectType(from.u8()?);
    let indblkshift = from.u8()?;
    let nlevels = from.u8()?;
    let nblkptr = from.u8()?;
    let bonus_type = ObjectType(from.u8()?);
    let checksum = from.u8()?;
    let compress = from.u8()?;
    let flags = from.u8()?;
    let datablkszsec = from.u16()?;
    let bonuslen = from.u16()?;
    let extra_slots = from.u8()?;
    from.skip(3)?;
    let dnode = DnodePhys {
        object_type,
        indblkshift,
        nlevels,
        bonus_type,
        checksum,
        compress,
        flags,
        datablkszsec,
        extra_slots,
        maxblkid: from.u64()?,
        used: from.u64()?,
        blkptrs: Vec::new(),
        bonus: Arc::default(),
        spill: None,
    };
    Some((dnode, nblkptr, bonuslen))
}

/// Walks a block of dnodes: each allocated dnode with its first slot, interior slots passed over. A
/// dnode that cannot be decoded is reported once, and the walk goes on with the next slot.
pub struct DnodeBlock<'a> {
    bytes: &'a [u8],
    slot: usize,
}

impl<'a> DnodeBlock<'a> {
    pub fn new(bytes: &'a [u8]) -> DnodeBlock<'a> {
        DnodeBlock { bytes, slot: 0 }
    }
}

impl Iterator for DnodeBlock<'_> {
    type Item = (usize, Result<DnodePhys, Malformed>);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let slot = self.slot;
            let rest = self.bytes.get(slot * SLOT_SIZE..).filter(|rest| rest.len() >= SLOT_SIZE)?;
            match DnodePhys::decode(rest) {
                Ok(None) => self.slot += 1,
                Ok(Some(dnode)) => {
                    self.slot += dnode.slots();
                    return Some((slot, Ok(dnode)));
                }
                Err(error) => {
                    self.slot += 1;
                    return Some((slot, Err(error.within(slot * SLOT_SIZE))));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
