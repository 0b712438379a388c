//! Cache devices (L2ARC): the header and the log blocks by which their contents survive a restart.
//!
//! ```text
//!  0          4M  4M+header                                            end
//!  ┌─────────┬───┬──────────────────────────────────────────────────────┬─────────┐
//!  │ labels  │ H │ block block … block LOG block … block LOG …  (a ring) │ labels  │
//!  └─────────┴─┬─┴──────────────────────────────────────────────────────┴─────────┘
//!              └─ start[0]: newest LOG, start[1]: the one before
//!
//! header (512 bytes in max(512, sector), whose last 40 bytes check it as a label's: see `eck`):
//!   0 magic  8 version  16 pool  24 vdev  32 entries a log block  40 evict  48 flags  56 start  64 end
//!   72 pointer to newest  136 pointer to second newest  200 log bytes  208 log blocks  216 trim time  224 trim state
//! pointer (64): 0 address  8 payload bytes  16 payload start  24 prop  32 checksum
//! log block (64 KiB): 0 magic  8 pointer to the log block before the previous one  128 entries of 64 bytes
//! entry: 0 DVA  16 birth  24 prop  32 address  40 compression level  48 zero
//! prop: lsize (16, sectors less one) │ psize (16) │ compression (7) │ prefetched (1) │ checksum (8) │ contents (8)
//!       │ protected (1) │ list (4)
//! ```
//! Addresses count bytes from the start of the partition, labels included. There are two chains of
//! log blocks, woven into one another, so that a reader is always one block ahead. The order of a
//! magic is that of its whole structure.
//!
//! Source: include/sys/arc_impl.h.

use crate::blkptr::{Checksum, SECTOR, SECTOR_SHIFT};
use crate::eck::Eck;
use crate::malformed::{Endian, Malformed, Reader, order_of, slice_at, u64_at};
use crate::{ChecksumKind, CompressKind, Dva};
use stdx::bits;

/// "ZFSCACHE".
pub const HEADER_MAGIC: u64 = 0x5a46_5343_4143_4845;
/// "LOGBLKHD".
pub const LOG_MAGIC: u64 = 0x4c4f_4742_4c4b_4844;
/// `L2ARC_PERSISTENT_VERSION`.
pub const VERSION: u64 = 1;
/// In the header's flags: the ring has not been round yet.
pub const FLAG_FIRST_ROUND: u64 = 1;
/// Most entries of a log block.
pub const ENTRIES_MAX: usize = 1022;

const LSIZE: (u32, u32) = (0, 16);
const PSIZE: (u32, u32) = (16, 16);
const COMPRESS: (u32, u32) = (32, 7);
const PREFETCH: (u32, u32) = (39, 1);
const CHECKSUM: (u32, u32) = (40, 8);
const CONTENTS: (u32, u32) = (48, 8);
const PROTECTED: (u32, u32) = (56, 1);
const LIST: (u32, u32) = (57, 4);

/// What a buffer holds, as entries say it (`arc_buf_contents_t`, as it was when the format was
/// made).
pub const CONTENTS_DATA: u8 = 1;
pub const CONTENTS_METADATA: u8 = 2;
/// The list a buffer was on when it was written (`arc_state_type_t`).
pub const LIST_MRU: u8 = 1;
pub const LIST_MFU: u8 = 3;
pub const LIST_MFU_GHOST: u8 = 4;

/// Sizes and kinds of a buffer or a log block, in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Prop(pub u64);

impl Prop {
    fn size(self, field: (u32, u32)) -> u64 {
        (bits::get(self.0, field.0, field.1) + 1) << SECTOR_SHIFT
    }

    fn with(self, field: (u32, u32), value: u64) -> Prop {
        Prop(bits::set(self.0, field.0, field.1, value))
    }

    /// Bytes when decompressed.
    pub fn lsize(self) -> u64 {
        self.size(LSIZE)
    }

    /// Bytes stored; of log blocks, whole sectors of the device.
    pub fn psize(self) -> u64 {
        self.size(PSIZE)
    }

    pub fn compression_raw(self) -> u8 {
        bits::get(self.0, COMPRESS.0, COMPRESS.1) as u8
    }

    pub fn was_prefetched(self) -> bool {
        bits::get(self.0, PREFETCH.0, PREFETCH.1) == 1
    }

    pub fn checksum_raw(self) -> u8 {
        bits::get(self.0, CHECKSUM.0, CHECKSUM.1) as u8
    }

    /// `CONTENTS_*`.
    pub fn contents(self) -> u8 {
        bits::get(self.0, CONTENTS.0, CONTENTS.1) as u8
    }

    pub fn is_protected(self) -> bool {
        bits::get(self.0, PROTECTED.0, PROTECTED.1) == 1
    }

    /// `LIST_*`.
    pub fn list(self) -> u8 {
        bits::get(self.0, LIST.0, LIST.1) as u8
    }

    /// Of sizes in bytes: multiples of 512, 512 to 32 MiB.
    pub fn of_sizes(lsize: u64, psize: u64) -> Prop {
        let sectors = |bytes: u64| {
            assert!(bytes.is_multiple_of(SECTOR) && bytes > 0, "whole sectors");
            (bytes >> SECTOR_SHIFT) - 1
        };
        Prop(0).with(LSIZE, sectors(lsize)).with(PSIZE, sectors(psize))
    }

    pub fn with_compression(self, kind: CompressKind) -> Prop {
        self.with(COMPRESS, kind as u64)
    }

    pub fn with_checksum(self, kind: ChecksumKind) -> Prop {
        self.with(CHECKSUM, kind as u64)
    }

    /// `CONTENTS_*` and `LIST_*`.
    pub fn with_contents(self, contents: u8, list: u8) -> Prop {
        self.with(CONTENTS, u64::from(contents)).with(LIST, u64::from(list))
    }
}

/// `l2arc_log_blkptr_t`: leads to a log block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LogPointer {
    /// Of the log block, in bytes on the partition; 0: no log block.
    pub address: u64,
    /// Bytes of the buffers it lists, in whole sectors of the device.
    pub payload_asize: u64,
    /// Address of the first of them.
    pub payload_start: u64,
    pub prop: Prop,
    /// Fletcher4 over the log block as stored.
    pub checksum: Checksum,
}

impl LogPointer {
    pub const SIZE: usize = 64;

    fn decode(from: &mut Reader<'_>) -> Option<LogPointer> {
        Some(LogPointer {
            address: from.u64()?,
            payload_asize: from.u64()?,
            payload_start: from.u64()?,
            prop: Prop(from.u64()?),
            checksum: [from.u64()?, from.u64()?, from.u64()?, from.u64()?],
        })
    }

    fn words(&self) -> [u64; 8] {
        let [a, b, c, d] = self.checksum;
        [self.address, self.payload_asize, self.payload_start, self.prop.0, a, b, c, d]
    }
}

/// `l2arc_dev_hdr_phys_t`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DeviceHeader {
    pub version: u64,
    /// Guids of pool and vdev.
    pub pool: u64,
    pub vdev: u64,
    /// Entries of every log block; 0 on a device too small for any.
    pub log_entries: u64,
    /// Up to here what lies ahead of the writer has been given up.
    pub evict: u64,
    /// `FLAG_*`.
    pub flags: u64,
    /// First and last address of the ring, the last exclusive.
    pub start: u64,
    pub end: u64,
    /// The newest log block and the one before it.
    pub newest: [LogPointer; 2],
    /// Bytes and number of log blocks on the device.
    pub log_asize: u64,
    pub log_count: u64,
    pub trim_time: u64,
    pub trim_state: u64,
}

/// Where the fields after the pointers start.
const AFTER_POINTERS: usize = 72 + 2 * LogPointer::SIZE;

impl DeviceHeader {
    /// Bytes of its fields; it takes up at least a sector of the device.
    pub const SIZE: usize = 512;

    /// From an area whose checksum was verified before.
    pub fn decode(area: &[u8]) -> Result<DeviceHeader, Malformed> {
        let what = "cache device header";
        let bytes = slice_at(area, 0, DeviceHeader::SIZE, what)?;
        let endian = order(bytes, HEADER_MAGIC, what)?;
        let mut from = Reader::new(bytes, endian);
        let mut read = || {
            from.skip(8)?;
            Some(DeviceHeader {
                version: from.u64()?,
                pool: from.u64()?,
                vdev: from.u64()?,
                log_entries: from.u64()?,
                evict: from.u64()?,
                flags: from.u64()?,
                start: from.u64()?,
                end: from.u64()?,
                newest: [LogPointer::decode(&mut from)?, LogPointer::decode(&mut from)?],
                log_asize: from.u64()?,
                log_count: from.u64()?,
                trim_time: from.u64()?,
                trim_state: from.u64()?,
            })
        };
        read().ok_or(Malformed::at(what, 0))
    }

    /// An area of `size` bytes (at least [`DeviceHeader::SIZE`]), its tail holding `verifier`
    /// (`eck::label_verifier` of the area's place on the partition), where the checksum over it
    /// goes next.
    pub fn encode(&self, size: usize, verifier: Checksum) -> Vec<u8> {
        assert!(size >= DeviceHeader::SIZE, "a header has at least 512 bytes");
        let mut area = vec![0; size];
        let head = [
            HEADER_MAGIC,
            self.version,
            self.pool,
            self.vdev,
            self.log_entries,
            self.evict,
            self.flags,
            self.start,
            self.end,
        ];
        put(&mut area, 0, &head);
        put(&mut area, 72, &self.newest[0].words());
        put(&mut area, 72 + LogPointer::SIZE, &self.newest[1].words());
        put(&mut area, AFTER_POINTERS, &[self.log_asize, self.log_count, self.trim_time, self.trim_state]);
        Eck::put_tail(&mut area, Endian::Little, verifier);
        area
    }
}

/// `l2arc_log_ent_phys_t`: one buffer on the device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LogEntry {
    /// The block's first.
    pub dva: Dva,
    pub birth: u64,
    pub prop: Prop,
    pub address: u64,
    pub complevel: u64,
}

impl LogEntry {
    pub const SIZE: usize = 64;

    fn words(&self) -> [u64; 8] {
        let [a, b] = self.dva.to_words();
        [a, b, self.birth, self.prop.0, self.address, self.complevel, 0, 0]
    }
}

/// `l2arc_log_blk_phys_t`: a list of buffers.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LogBlock {
    /// The log block before the previous one.
    pub previous: LogPointer,
    /// In the order they were written; those that are missing to [`ENTRIES_MAX`] are zero on disk.
    pub entries: Vec<LogEntry>,
}

const FIRST_ENTRY: usize = 128;

impl LogBlock {
    /// Bytes before compression.
    pub const SIZE: usize = FIRST_ENTRY + ENTRIES_MAX * LogEntry::SIZE;

    /// The first `count` entries of a decompressed log block.
    pub fn decode(bytes: &[u8], count: usize) -> Result<LogBlock, Malformed> {
        let what = "cache device log block";
        let bytes = slice_at(bytes, 0, LogBlock::SIZE, what)?;
        let endian = order(bytes, LOG_MAGIC, what)?;
        let mut from = Reader::new(bytes, endian);
        from.skip(8).ok_or(Malformed::at(what, 0))?;
        let previous = LogPointer::decode(&mut from).ok_or(Malformed::at(what, 8))?;
        let entries = bytes[FIRST_ENTRY..].chunks_exact(LogEntry::SIZE).take(count).map(|entry| {
            let word = |index: usize| u64_at(entry, 8 * index, endian, what);
            Ok(LogEntry {
                dva: Dva::from_words([word(0)?, word(1)?]),
                birth: word(2)?,
                prop: Prop(word(3)?),
                address: word(4)?,
                complevel: word(5)?,
            })
        });
        Ok(LogBlock { previous, entries: entries.collect::<Result<_, _>>()? })
    }

    /// All [`LogBlock::SIZE`] bytes.
    ///
    /// # Panics
    /// With more than [`ENTRIES_MAX`] entries.
    pub fn encode(&self) -> Vec<u8> {
        assert!(self.entries.len() <= ENTRIES_MAX, "a log block has room for 1022 entries");
        let mut bytes = vec![0; LogBlock::SIZE];
        put(&mut bytes, 0, &[LOG_MAGIC]);
        put(&mut bytes, 8, &self.previous.words());
        for (index, entry) in self.entries.iter().enumerate() {
            put(&mut bytes, FIRST_ENTRY + index * LogEntry::SIZE, &entry.words());
        }
        bytes
    }
}

const _: () = assert!(LogBlock::SIZE == 64 << 10 && AFTER_POINTERS + 32 + 30 * 8 + Eck::SIZE == 512);

fn order(bytes: &[u8], magic: u64, what: &'static str) -> Result<Endian, Malformed> {
    order_of(u64_at(bytes, 0, Endian::Little, what)?, magic).ok_or(Malformed::at(what, 0))
}

fn put(bytes: &mut [u8], at: usize, words: &[u64]) {
    for (chunk, word) in bytes[at..].chunks_exact_mut(8).zip(words) {
        chunk.copy_from_slice(&word.to_le_bytes());
    }
}

#[cfg(test)]
mod tests;
