//! Records become objects and blocks of what is being received.
//!
//! A number can have meant another object in the stream before: of another type, with blocks of
//! another size, in more slots of its block of dnodes. What has to go then is freed first; where
//! slots are given up, their group is waited for.
//!
//! Source: module/zfs/dmu_recv.c (`receive_object`, `receive_write`, `receive_free`,
//! `receive_spill`, …).

use std::sync::Arc;

use dmu::store::Packed;
use dmu::{Block, DmuError, Dnode, Holds, ObjectSpec, Objset, Tx};
use ondisk::dnode::MAX_OBJECT;
use ondisk::object_type::ObjectType;
use ondisk::send::{
    FLAG_SPILL_BLOCK, OBJECT_SPILL, Object, Record, SPILL_UNMODIFIED, Spill, Write, WriteEmbedded,
};
use ondisk::{CompressKind, Endian, byteswap, znode};

use super::{Target, invalid};
use crate::dsl::{Dataset, Dsl};
use crate::resume::Point;
use crate::{PoolError, Result};

/// Metadata that an object's record may dirty.
const OBJECT_BLOCKS: u64 = 4;

/// See the module.
pub(super) struct Apply<'a> {
    dsl: &'a Dsl,
    dataset: &'a Dataset,
    objset: &'a Arc<Objset>,
    /// The stream says all there is.
    is_full: bool,
    /// It does so about something that had objects of its own.
    is_clone: bool,
    /// It says of each object whether it has a spill block.
    tells_spill: bool,
    /// Blocks come in this order.
    last: (u64, u64),
    /// Bytes of the stream, and whether it is to be known how many of them are there.
    bytes: u64,
    is_resumable: bool,
    max_object: u64,
    /// Order of the numbers in payloads.
    endian: Endian,
}

impl<'a> Apply<'a> {
    pub fn new(dsl: &'a Dsl, dataset: &'a Dataset, target: &Target, endian: Endian) -> Apply<'a> {
        let begin = &target.begin;
        Apply {
            dsl,
            dataset,
            objset: dataset.objset(),
            is_full: begin.from_guid == 0,
            is_clone: target.origin.is_some(),
            tells_spill: begin.flags & FLAG_SPILL_BLOCK != 0,
            last: (0, 0),
            bytes: 0,
            is_resumable: target.resumable,
            max_object: 0,
            endian,
        }
    }

    /// So many bytes of the stream have been read, with the record to come.
    pub fn set_bytes(&mut self, bytes: u64) {
        self.bytes = bytes;
    }

    /// Does what a record says, which has been checked.
    pub fn record(&mut self, record: &Record, mut payload: Vec<u8>) -> Result<()> {
        match record {
            Record::Object(object) => {
                in_order(ObjectType(object.bonus_type as u8), self.endian, &mut payload);
                self.object(object, &payload)
            }
            Record::FreeObjects { first, count } => self.free_objects(*first, *count),
            Record::Write(write) => self.write(write, payload),
            Record::WriteEmbedded(write) => self.embedded(write, &payload),
            Record::Free { object, offset, length } => {
                let dnode = self.hold(*object)?;
                Ok(self.objset.free_range_in_steps(&dnode, *offset, *length)?)
            }
            Record::Spill(spill) => {
                in_order(ObjectType(spill.object_type as u8), self.endian, &mut payload);
                self.spill(spill, &payload)
            }
            other => Err(invalid(format_args!("record {} inside of a stream", other.name()))),
        }
    }

    /// What a full stream did not speak of is not there.
    pub fn end(&mut self) -> Result<()> {
        if self.is_full && self.is_clone {
            self.free_objects(self.max_object + 1, MAX_OBJECT - self.max_object - 1)?;
        }
        Ok(())
    }

    fn hold(&mut self, object: u64) -> Result<Arc<Dnode>> {
        self.max_object = self.max_object.max(object);
        self.objset.hold(object).map_err(|error| match error {
            DmuError::NotFound => invalid(format_args!("object {object} was not announced")),
            other => other.into(),
        })
    }

    fn object(&mut self, record: &Object, bonus: &[u8]) -> Result<()> {
        self.max_object = self.max_object.max(record.object);
        let spec = ObjectSpec {
            object_type: ObjectType(record.object_type as u8),
            block_size: record.block_size,
            bonus_type: ObjectType(record.bonus_type as u8),
            bonus_len: record.bonus_len as u16,
            slots: record.slots.max(1),
            indirect_shift: 0,
        };
        let bonus = bonus.get(..record.bonus_len as usize).unwrap_or(bonus);
        let is_kept = match self.objset.hold(record.object) {
            Ok(dnode) => self.make_room(&dnode, spec, record, bonus)?,
            Err(DmuError::NotFound) => false,
            Err(error) => return Err(error.into()),
        };
        if !is_kept {
            self.claim(record.object, spec)?;
        }
        let dnode = self.objset.hold(record.object)?;
        let tx = self.objset.begin(Holds::new(u64::from(record.block_size), OBJECT_BLOCKS))?;
        dnode.set_object_type(spec.object_type, &tx)?;
        let is_told = self.tells_spill && record.flags & OBJECT_SPILL != 0;
        let is_other = dnode.bonus_type() != spec.bonus_type || dnode.bonus().bytes.len() != bonus.len();
        if dnode.has_spill() && !is_told && (self.tells_spill || is_other) {
            dnode.set_spill(None, &tx)?;
        }
        dnode.set_bonus(spec.bonus_type, bonus, &tx)?;
        dnode.set_kinds(record.checksum, record.compress, &tx)?;
        Ok(())
    }

    /// A number that is in use: what cannot stay is freed. Whether the object is still there, and
    /// of the right shape.
    fn make_room(&self, dnode: &Arc<Dnode>, spec: ObjectSpec, record: &Object, bonus: &[u8]) -> Result<bool> {
        if dnode.slots() != spec.slots || dnode.pointers() != spec.pointers(spec.slots) {
            self.objset.free_in_steps(record.object)?;
            return Ok(false);
        }
        if dnode.block_size() == spec.block_size || self.keeps_blocks(dnode, spec, bonus)? {
            return Ok(true);
        }
        self.objset.free_range_in_steps(dnode, 0, u64::MAX)?;
        let tx = self.objset.begin(Holds::new(u64::from(spec.block_size), OBJECT_BLOCKS))?;
        dnode.set_block_size(spec.block_size, &tx)?;
        Ok(true)
    }

    /// A file that was cut up by earlier streams and comes in large blocks now keeps its small
    /// ones: not all of it comes again.
    fn keeps_blocks(&self, dnode: &Dnode, spec: ObjectSpec, bonus: &[u8]) -> Result<bool> {
        let file = ObjectType::PLAIN_FILE_CONTENTS;
        if self.is_full || spec.object_type != file || dnode.object_type() != file || dnode.max_blkid() == 0 {
            return Ok(false);
        }
        let old = dnode.bonus();
        let old = znode::generation_of(old.bonus_type, &old.bytes)?;
        let new = znode::generation_of(spec.bonus_type, bonus).map_err(|e| invalid(e.what))?;
        match (old, new) {
            (Some(old), Some(new)) if old != new => Ok(false),
            (Some(_), Some(_)) if spec.block_size > dnode.block_size() => Ok(true),
            _ => Err(invalid("blocks of a file that became smaller")),
        }
    }

    fn claim(&self, object: u64, spec: ObjectSpec) -> Result<()> {
        for slot in object + 1..object + u64::from(spec.slots) {
            match self.objset.free_in_steps(slot) {
                Ok(()) | Err(DmuError::NotFound) => {}
                Err(error) => return Err(error.into()),
            }
        }
        if self.try_claim(object, spec)? {
            return Ok(());
        }
        // Slots that were given up are free when their group is durable.
        self.dsl.parts.txgs.sync_now()?;
        match self.try_claim(object, spec)? {
            true => Ok(()),
            false => Err(invalid(format_args!("object {object} lies in another"))),
        }
    }

    fn try_claim(&self, object: u64, spec: ObjectSpec) -> Result<bool> {
        let tx = self.objset.begin(Holds::new(u64::from(spec.block_size), OBJECT_BLOCKS))?;
        match self.objset.claim(object, spec, &tx) {
            Ok(_) => Ok(true),
            Err(DmuError::Exists) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    fn free_objects(&mut self, first: u64, count: u64) -> Result<()> {
        let end = first.saturating_add(count).min(MAX_OBJECT);
        let mut at = first.max(1) - 1;
        while let Some(object) = self.objset.next_object(at, 0)?
            && object < end
        {
            self.objset.free_in_steps(object)?;
            at = object;
        }
        Ok(())
    }

    fn write(&mut self, record: &Write, payload: Vec<u8>) -> Result<()> {
        let at = (record.object, record.offset);
        if at < self.last {
            return Err(invalid("blocks out of order"));
        }
        self.last = at;
        let (data, packed) = contents(record, payload, self.endian)?;
        self.put(record.object, record.offset, &data, packed)
    }

    fn embedded(&mut self, record: &WriteEmbedded, payload: &[u8]) -> Result<()> {
        let payload = payload.get(..record.psize as usize).unwrap_or(payload);
        let mut data = match record.compress {
            kind if kind == CompressKind::Off as u8 => payload.to_vec(),
            kind => decompress(kind, payload, u64::from(record.lsize))?,
        };
        data.resize(record.length as usize, 0);
        in_order(self.hold(record.object)?.object_type(), self.endian, &mut data);
        self.put(record.object, record.offset, &data, None)
    }

    /// A whole block that came compressed stays as it is.
    fn put(&mut self, object: u64, offset: u64, data: &[u8], packed: Option<Packed>) -> Result<()> {
        let dnode = self.hold(object)?;
        let size = u64::from(dnode.block_size());
        let tx = self.objset.begin(Holds::new((data.len() as u64).max(size), 1))?;
        self.note(object, offset, &tx);
        if data.len() as u64 == size && offset.is_multiple_of(size) {
            let mut block = Block::from_slice(data);
            if let Some(packed) = packed {
                block = block.with_packed(packed);
            }
            return Ok(dnode.put_block(offset / size, Arc::new(block), &tx)?);
        }
        Ok(dnode.write(offset, data, &tx)?)
    }

    /// The stream would go on with this block, so that nothing is missing.
    fn note(&self, object: u64, offset: u64, tx: &Tx) {
        if self.is_resumable {
            self.dataset.core.received(Point { object, offset, bytes: self.bytes }, tx.txg());
        }
    }

    fn spill(&mut self, record: &Spill, payload: &[u8]) -> Result<()> {
        if self.tells_spill && record.flags & SPILL_UNMODIFIED != 0 {
            return Ok(());
        }
        let dnode = self.hold(record.object)?;
        let tx = self.objset.begin(Holds::new(record.length, OBJECT_BLOCKS))?;
        dnode.set_spill(Some(payload), &tx).map_err(|error| match error {
            DmuError::TooBig => invalid("a spill block without room"),
            other => PoolError::from(other),
        })
    }
}

/// The contents of a block, and what it came as if that is compressed.
pub(super) fn contents(
    record: &Write,
    payload: Vec<u8>,
    endian: Endian,
) -> Result<(Vec<u8>, Option<Packed>)> {
    let (mut data, packed) = match CompressKind::from_raw(record.compress) {
        Some(kind) if record.compress != 0 => {
            let data = decompress(record.compress, &payload, record.lsize)?;
            (data, Some(Packed { kind, bytes: payload }))
        }
        _ => (payload, None),
    };
    in_order(ObjectType(record.object_type as u8), endian, &mut data);
    // Compressed bytes of the other order would be those of other contents.
    Ok((data, packed.filter(|_| endian == Endian::Little)))
}

/// Has the numbers in a payload be little endian.
fn in_order(object_type: ObjectType, endian: Endian, bytes: &mut [u8]) {
    if endian == Endian::Big {
        byteswap::swap_content(object_type, bytes);
    }
}

fn decompress(kind: u8, payload: &[u8], size: u64) -> Result<Vec<u8>> {
    let mut data = vec![0; size as usize];
    codec::decompress(kind, payload, &mut data).map_err(|_| invalid("data that does not decompress"))?;
    Ok(data)
}
