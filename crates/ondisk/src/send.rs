//! Send streams: a dataset's content as records, the form in which it travels between pools.
//!
//! ```text
//!     0 type (u32)    4 bytes of payload (u32, BEGIN only)    8 the record, to 280    280 running checksum (32)
//! ```
//! A record has [`RECORD_SIZE`] bytes, whatever it is, and then its payload, which is a multiple of
//! eight bytes. The running checksum is fletcher4 of everything from BEGIN up to itself; BEGIN has
//! none, and zeros are not checked. END has the sum of all before it once more. Streams are in the
//! byte order of who sent them: the magic tells.
//!
//! A *compound* stream is a BEGIN with a list (nvlist) of datasets, an END, then whole streams, and
//! one more END of zeros.
//!
//! Invariants: decoding any bytes gives a record or [`Malformed`]; [`Record::payload_len`] of a
//! checked record is bounded. Sources: include/sys/zfs_ioctl.h, module/zfs/dmu_recv.c
//! (`recv_check_drr_*`).

mod check;

use crate::blkptr::Checksum;
use crate::ddt::DdtKey;
use crate::malformed::{Endian, Malformed, Reader, Writer, u64_at};
use crate::object_type::ObjectType;
use stdx::bits;

pub use check::Limits;

/// Bytes of every record.
pub const RECORD_SIZE: usize = 312;
/// Where a record's running checksum lies.
pub const CHECKSUM_AT: usize = RECORD_SIZE - 32;
/// The largest payload of a BEGIN: the list of a compound stream.
pub const BEGIN_PAYLOAD_MAX: u32 = 64 << 20;
/// To the end of the object, as a length.
pub const TO_END: u64 = u64::MAX;

const MAGIC: u64 = 0x2_f5ba_cbac;
const MAGIC_AT: usize = 8;
const NAME_LEN: usize = 256;
const SALT_LEN: usize = 8;
const IV_LEN: usize = 12;
const MAC_LEN: usize = 16;

/// What BEGIN says the stream is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HeaderType {
    /// One dataset.
    Sub = 1,
    Compound = 2,
}

/// `DMU_BACKUP_FEATURE_*`: what the receiver has to understand.
pub mod feature {
    pub const DEDUP: u64 = 1 << 0;
    pub const DEDUPPROPS: u64 = 1 << 1;
    pub const SA_SPILL: u64 = 1 << 2;
    pub const EMBED_DATA: u64 = 1 << 16;
    pub const LZ4: u64 = 1 << 17;
    pub const LARGE_BLOCKS: u64 = 1 << 19;
    pub const RESUMING: u64 = 1 << 20;
    pub const REDACTED: u64 = 1 << 21;
    pub const COMPRESSED: u64 = 1 << 22;
    pub const LARGE_DNODE: u64 = 1 << 23;
    pub const RAW: u64 = 1 << 24;
    pub const ZSTD: u64 = 1 << 25;
    pub const HOLDS: u64 = 1 << 26;
    pub const SWITCH_TO_LARGE_BLOCKS: u64 = 1 << 27;
    pub const LONGNAME: u64 = 1 << 28;
    pub const LARGE_MICROZAP: u64 = 1 << 29;
}

/// `DRR_FLAG_*` of BEGIN: it starts a clone, of the snapshot `from_guid`.
pub const FLAG_CLONE: u32 = 1 << 0;
/// Names ignore case.
pub const FLAG_CI_DATA: u32 = 1 << 1;
/// A full stream also says what is free: it can be received as a clone.
pub const FLAG_FREERECORDS: u32 = 1 << 2;
/// [`OBJECT_SPILL`] and [`SPILL_UNMODIFIED`] mean something.
pub const FLAG_SPILL_BLOCK: u32 = 1 << 3;

/// What the list of a stream's BEGIN says where it goes on, with [`feature::RESUMING`].
pub const RESUME_OBJECT: &str = "resume_object";
pub const RESUME_OFFSET: &str = "resume_offset";

/// Of OBJECT: it has a spill block.
pub const OBJECT_SPILL: u8 = 1 << 2;
/// Of SPILL: only there for receivers that lose spill blocks.
pub const SPILL_UNMODIFIED: u8 = 1 << 2;
/// Of WRITE: the checksum identifies the block.
pub const CHECKSUM_DEDUP: u8 = 1 << 0;

const HEADER_TYPE: (u32, u32) = (0, 2);
const FEATURES: (u32, u32) = (2, 56);

/// The first record of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Begin {
    /// [`HeaderType`] as it stands there, two bits.
    pub header_type: u8,
    /// [`feature`]s.
    pub features: u64,
    /// Of the snapshot, in seconds since 1970.
    pub creation_time: u64,
    /// `dmu_objset_type_t`.
    pub objset_type: u32,
    /// `FLAG_*`.
    pub flags: u32,
    pub to_guid: u64,
    /// 0: the stream is a full one.
    pub from_guid: u64,
    /// `pool/fs@snap`; of a compound stream as it was sent.
    pub to_name: String,
    /// Bytes of the list that follows.
    pub payload_len: u32,
}

impl Begin {
    pub fn is_compound(&self) -> bool {
        self.header_type == HeaderType::Compound as u8
    }

    pub fn has(&self, feature: u64) -> bool {
        self.features & feature != 0
    }
}

/// An object, to be made or changed; its bonus follows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Object {
    pub object: u64,
    pub object_type: u32,
    pub bonus_type: u32,
    pub block_size: u32,
    pub bonus_len: u32,
    pub checksum: u8,
    pub compress: u8,
    /// 0 of old senders: one.
    pub slots: u8,
    /// [`OBJECT_SPILL`].
    pub flags: u8,
    /// These are of raw streams only, else 0.
    pub raw_bonus_len: u32,
    pub indirect_shift: u8,
    pub levels: u8,
    pub blkptrs: u8,
    pub max_blkid: u64,
}

/// A block of data; it follows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Write {
    pub object: u64,
    pub object_type: u32,
    pub offset: u64,
    /// Bytes before compression.
    pub lsize: u64,
    pub checksum: u8,
    /// [`CHECKSUM_DEDUP`].
    pub flags: u8,
    /// 0: the payload is not compressed.
    pub compress: u8,
    /// What a table of deduplication would know it by.
    pub key: DdtKey,
    /// Of a compressed payload, else 0.
    pub compressed_size: u64,
}

/// The end of an object's bonus: more attributes; they follow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spill {
    pub object: u64,
    pub length: u64,
    /// [`SPILL_UNMODIFIED`].
    pub flags: u8,
    pub compress: u8,
    pub compressed_size: u64,
    pub object_type: u32,
}

/// A block that was small enough for its pointer; what the pointer held follows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WriteEmbedded {
    pub object: u64,
    pub offset: u64,
    /// Of the block.
    pub length: u64,
    pub compress: u8,
    pub kind: u8,
    /// Bytes of the payload after and before decompression.
    pub lsize: u32,
    pub psize: u32,
}

/// One record. What a receiver has no use for is left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Record {
    /// See [`Begin`].
    Begin(Begin),
    /// See [`Object`].
    Object(Object),
    /// Numbers `first..first + count` are no objects.
    FreeObjects { first: u64, count: u64 },
    /// See [`Write`].
    Write(Write),
    /// Zeros; [`TO_END`] as length.
    Free { object: u64, offset: u64, length: u64 },
    /// With the checksum of everything before.
    End { checksum: Checksum },
    /// Of streams that were deduplicated, which nobody sends any more.
    WriteByRef,
    /// See [`Spill`].
    Spill(Spill),
    /// See [`WriteEmbedded`].
    WriteEmbedded(WriteEmbedded),
    /// Of raw streams.
    ObjectRange { first: u64, slots: u64 },
    /// Left out of a redacted stream.
    Redact { object: u64, offset: u64, length: u64 },
}

/// The byte order of a stream that begins with these bytes.
pub fn endian_of(begin: &[u8; RECORD_SIZE]) -> Option<Endian> {
    [Endian::Little, Endian::Big]
        .into_iter()
        .find(|endian| u64_at(begin, MAGIC_AT, *endian, "").is_ok_and(|magic| magic == MAGIC))
}

/// A record's own running checksum.
pub fn checksum_of(record: &[u8; RECORD_SIZE], endian: Endian) -> Checksum {
    let word = |i: usize| u64_at(record, CHECKSUM_AT + 8 * i, endian, "").unwrap_or(0);
    [word(0), word(1), word(2), word(3)]
}

/// Puts a running checksum into an encoded record.
pub fn set_checksum(record: &mut [u8; RECORD_SIZE], checksum: Checksum) {
    let mut to = Writer::new(record, Endian::Little);
    to.skip(CHECKSUM_AT);
    checksum.iter().for_each(|word| to.u64(*word));
}

impl Record {
    fn number(&self) -> u32 {
        match self {
            Record::Begin(_) => 0,
            Record::Object(_) => 1,
            Record::FreeObjects { .. } => 2,
            Record::Write(_) => 3,
            Record::Free { .. } => 4,
            Record::End { .. } => 5,
            Record::WriteByRef => 6,
            Record::Spill(_) => 7,
            Record::WriteEmbedded(_) => 8,
            Record::ObjectRange { .. } => 9,
            Record::Redact { .. } => 10,
        }
    }

    /// What it is called.
    pub fn name(&self) -> &'static str {
        const NAMES: [&str; 11] = [
            "BEGIN",
            "OBJECT",
            "FREEOBJECTS",
            "WRITE",
            "FREE",
            "END",
            "WRITE_BYREF",
            "SPILL",
            "WRITE_EMBEDDED",
            "OBJECT_RANGE",
            "REDACT",
        ];
        NAMES[self.number() as usize]
    }

    /// Bytes that follow it.
    pub fn payload_len(&self) -> u64 {
        match self {
            Record::Begin(begin) => u64::from(begin.payload_len),
            Record::Object(object) if object.raw_bonus_len != 0 => u64::from(object.raw_bonus_len),
            Record::Object(object) => u64::from(object.bonus_len).next_multiple_of(8),
            Record::Write(write) if write.compress != 0 => write.compressed_size,
            Record::Write(write) => write.lsize,
            Record::Spill(spill) if spill.compressed_size != 0 => spill.compressed_size,
            Record::Spill(spill) => spill.length,
            Record::WriteEmbedded(write) => u64::from(write.psize).next_multiple_of(8),
            _ => 0,
        }
    }

    /// From the bytes of a stream in this order.
    pub fn decode(bytes: &[u8; RECORD_SIZE], endian: Endian) -> Result<Record, Malformed> {
        let mut from = Reader::new(bytes, endian);
        decode(&mut from).ok_or(Malformed::at("record of a send stream", 0))?
    }

    /// As a little-endian host writes it, without running checksum. `to_guid` is the snapshot's
    /// that is sent; it stands in most records.
    pub fn encode(&self, to_guid: u64) -> [u8; RECORD_SIZE] {
        self.encode_as(to_guid, Endian::Little)
    }

    /// The same, as a host of this byte order writes it.
    pub fn encode_as(&self, to_guid: u64, endian: Endian) -> [u8; RECORD_SIZE] {
        let mut bytes = [0; RECORD_SIZE];
        let mut to = Writer::new(&mut bytes, endian);
        to.u32(self.number());
        to.u32(if let Record::Begin(begin) = self { begin.payload_len } else { 0 });
        match self {
            Record::Begin(begin) => encode_begin(begin, &mut to),
            Record::Object(object) => encode_object(object, to_guid, &mut to),
            Record::Write(write) => encode_write(write, to_guid, &mut to),
            Record::Spill(spill) => encode_spill(spill, to_guid, &mut to),
            Record::WriteEmbedded(write) => encode_embedded(write, to_guid, &mut to),
            Record::FreeObjects { first, count } | Record::ObjectRange { first, slots: count } => {
                [*first, *count, to_guid].iter().for_each(|word| to.u64(*word));
            }
            Record::Free { object, offset, length } | Record::Redact { object, offset, length } => {
                [*object, *offset, *length, to_guid].iter().for_each(|word| to.u64(*word));
            }
            Record::End { checksum } => {
                checksum.iter().for_each(|word| to.u64(*word));
                to.u64(to_guid);
            }
            Record::WriteByRef => {}
        }
        bytes
    }
}

/// `None`: too short, which a record is not.
fn decode(from: &mut Reader<'_>) -> Option<Result<Record, Malformed>> {
    let number = from.u32()?;
    let payload_len = from.u32()?;
    Some(Ok(match number {
        0 => return decode_begin(from, payload_len),
        1 => Record::Object(decode_object(from)?),
        2 => Record::FreeObjects { first: from.u64()?, count: from.u64()? },
        3 => Record::Write(decode_write(from)?),
        4 => Record::Free { object: from.u64()?, offset: from.u64()?, length: from.u64()? },
        5 => Record::End { checksum: [from.u64()?, from.u64()?, from.u64()?, from.u64()?] },
        6 => Record::WriteByRef,
        7 => Record::Spill(decode_spill(from)?),
        8 => Record::WriteEmbedded(decode_embedded(from)?),
        9 => Record::ObjectRange { first: from.u64()?, slots: from.u64()? },
        10 => Record::Redact { object: from.u64()?, offset: from.u64()?, length: from.u64()? },
        _ => return Some(Err(Malformed::at("type of a stream's record", 0))),
    }))
}

fn decode_begin(from: &mut Reader<'_>, payload_len: u32) -> Option<Result<Record, Malformed>> {
    if from.u64()? != MAGIC {
        return Some(Err(Malformed::at("magic of a send stream", MAGIC_AT)));
    }
    let info = from.u64()?;
    let creation_time = from.u64()?;
    let (objset_type, flags) = (from.u32()?, from.u32()?);
    let (to_guid, from_guid) = (from.u64()?, from.u64()?);
    let name = from.take(NAME_LEN)?;
    let end = name.iter().position(|byte| *byte == 0);
    let (Some(end), true) = (end, payload_len <= BEGIN_PAYLOAD_MAX) else {
        return Some(Err(Malformed::at("begin of a send stream", 0)));
    };
    Some(Ok(Record::Begin(Begin {
        header_type: bits::get(info, HEADER_TYPE.0, HEADER_TYPE.1) as u8,
        features: bits::get(info, FEATURES.0, FEATURES.1),
        creation_time,
        objset_type,
        flags,
        to_guid,
        from_guid,
        to_name: String::from_utf8_lossy(&name[..end]).into_owned(),
        payload_len,
    })))
}

/// Names longer than fit are cut.
fn encode_begin(begin: &Begin, to: &mut Writer<'_>) {
    let info = bits::set(0, HEADER_TYPE.0, HEADER_TYPE.1, u64::from(begin.header_type));
    to.u64(MAGIC);
    to.u64(bits::set(info, FEATURES.0, FEATURES.1, begin.features));
    to.u64(begin.creation_time);
    to.u32(begin.objset_type);
    to.u32(begin.flags);
    to.u64(begin.to_guid);
    to.u64(begin.from_guid);
    to.bytes(&begin.to_name.as_bytes()[..begin.to_name.len().min(NAME_LEN - 1)]);
}

fn decode_object(from: &mut Reader<'_>) -> Option<Object> {
    let mut object = Object {
        object: from.u64()?,
        object_type: from.u32()?,
        bonus_type: from.u32()?,
        block_size: from.u32()?,
        bonus_len: from.u32()?,
        checksum: from.u8()?,
        compress: from.u8()?,
        slots: from.u8()?,
        flags: from.u8()?,
        raw_bonus_len: from.u32()?,
        indirect_shift: 0,
        levels: 0,
        blkptrs: 0,
        max_blkid: 0,
    };
    from.skip(8)?;
    (object.indirect_shift, object.levels, object.blkptrs) = (from.u8()?, from.u8()?, from.u8()?);
    from.skip(5)?;
    object.max_blkid = from.u64()?;
    Some(object)
}

fn encode_object(object: &Object, to_guid: u64, to: &mut Writer<'_>) {
    to.u64(object.object);
    to.u32(object.object_type);
    to.u32(object.bonus_type);
    to.u32(object.block_size);
    to.u32(object.bonus_len);
    to.bytes(&[object.checksum, object.compress, object.slots, object.flags]);
    to.u32(object.raw_bonus_len);
    to.u64(to_guid);
    to.bytes(&[object.indirect_shift, object.levels, object.blkptrs]);
    to.skip(5);
    to.u64(object.max_blkid);
}

fn decode_write(from: &mut Reader<'_>) -> Option<Write> {
    let (object, object_type) = (from.u64()?, from.u32()?);
    from.skip(4)?;
    let (offset, lsize) = (from.u64()?, from.u64()?);
    from.skip(8)?;
    let (checksum, flags, compress) = (from.u8()?, from.u8()?, from.u8()?);
    from.skip(5)?;
    let sum = [from.u64()?, from.u64()?, from.u64()?, from.u64()?];
    let key = DdtKey { checksum: sum, prop: from.u64()? };
    let compressed_size = from.u64()?;
    Some(Write { object, object_type, offset, lsize, checksum, flags, compress, key, compressed_size })
}

fn encode_write(write: &Write, to_guid: u64, to: &mut Writer<'_>) {
    to.u64(write.object);
    to.u32(write.object_type);
    to.skip(4);
    to.u64(write.offset);
    to.u64(write.lsize);
    to.u64(to_guid);
    to.bytes(&[write.checksum, write.flags, write.compress]);
    to.skip(5);
    write.key.checksum.iter().for_each(|word| to.u64(*word));
    to.u64(write.key.prop);
    to.u64(write.compressed_size);
}

fn decode_spill(from: &mut Reader<'_>) -> Option<Spill> {
    let (object, length) = (from.u64()?, from.u64()?);
    from.skip(8)?;
    let (flags, compress) = (from.u8()?, from.u8()?);
    from.skip(6)?;
    let compressed_size = from.u64()?;
    from.skip(SALT_LEN + IV_LEN + MAC_LEN)?;
    Some(Spill { object, length, flags, compress, compressed_size, object_type: from.u32()? })
}

fn encode_spill(spill: &Spill, to_guid: u64, to: &mut Writer<'_>) {
    to.u64(spill.object);
    to.u64(spill.length);
    to.u64(to_guid);
    to.bytes(&[spill.flags, spill.compress]);
    to.skip(6);
    to.u64(spill.compressed_size);
    to.skip(SALT_LEN + IV_LEN + MAC_LEN);
    to.u32(spill.object_type);
}

fn decode_embedded(from: &mut Reader<'_>) -> Option<WriteEmbedded> {
    let (object, offset, length) = (from.u64()?, from.u64()?, from.u64()?);
    from.skip(8)?;
    let (compress, kind) = (from.u8()?, from.u8()?);
    from.skip(6)?;
    Some(WriteEmbedded { object, offset, length, compress, kind, lsize: from.u32()?, psize: from.u32()? })
}

fn encode_embedded(write: &WriteEmbedded, to_guid: u64, to: &mut Writer<'_>) {
    [write.object, write.offset, write.length, to_guid].iter().for_each(|word| to.u64(*word));
    to.bytes(&[write.compress, write.kind]);
    to.skip(6);
    to.u32(write.lsize);
    to.u32(write.psize);
}

/// A type as a record has it: wider than on disk.
pub(crate) fn object_type(number: u32) -> Option<ObjectType> {
    u8::try_from(number).ok().map(ObjectType).filter(|kind| kind.is_valid())
}

#[cfg(test)]
mod tests;
