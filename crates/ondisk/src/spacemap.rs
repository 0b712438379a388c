//! Space maps: logs of allocations and frees, from which the free space of a metaslab is replayed.
//!
//! The object's data is an array of words; `length` in the bonus tells how many bytes count.
//!
//! ```text
//! debug     | 1 0 | action:2 | pass:10 | txg:50 |                                        one word
//! one-word  | 0 | offset:47 | type:1 | run-1:15 |                                        one word
//! two-word  | 1 1 | pad:2 | run-1:36 | vdev:24 |      | type:1 | offset:63 |             two words
//! ```
//! Offsets and runs are in units of `2^ashift`, offsets from the start of what the map describes. A
//! two-word entry never straddles a block of the object: an empty debug word fills the block up.
//! Log space maps (`com.delphix:log_spacemap`) use two-word entries with the vdev set, one map for
//! all metaslabs of a txg; a metaslab's `metaslab_unflushed_phys` tells the txg up to which its own
//! map is complete.
//!
//! Sources: include/sys/space_map.h, module/zfs/space_map.c, include/sys/metaslab_impl.h.

use stdx::bits;

use crate::malformed::{Endian, Malformed, Reader, Writer};

/// Buckets of the histogram of free regions.
pub const HISTOGRAM_SIZE: usize = 32;
/// Bytes of the bonus without the histogram (feature `spacemap_histogram` off).
pub const SIZE_V0: usize = 24;
/// Bytes of the bonus with it.
pub const SIZE: usize = 320;

/// Longest run of a one-word entry.
pub const RUN_MAX: u64 = 1 << 15;
/// First offset a one-word entry cannot express.
pub const OFFSET_END: u64 = 1 << 47;
/// Longest run of a two-word entry.
pub const RUN2_MAX: u64 = 1 << 36;
/// First offset a two-word entry cannot express.
pub const OFFSET2_END: u64 = 1 << 63;
/// "No vdev" in the vdev field of a two-word entry, one more than the field's largest value: it is
/// stored as 0.
pub const NO_VDEV: u32 = 1 << 24;

/// Bonus of a space map object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SpaceMapPhys {
    /// The object's own number once; not used, kept as found.
    pub object: u64,
    /// Bytes of the object's data that count.
    pub length: u64,
    /// Bytes allocated according to the map.
    pub alloc: i64,
    /// `[i]`: free regions of `2^(i+ashift)` bytes or more, less than twice that. `None` in the
    /// old, short form.
    pub histogram: Option<[u64; HISTOGRAM_SIZE]>,
}

impl SpaceMapPhys {
    pub fn decode(bytes: &[u8]) -> Result<SpaceMapPhys, Malformed> {
        let short = Malformed::at("space map", bytes.len());
        let mut from = Reader::new(bytes, Endian::Little);
        let mut map = SpaceMapPhys {
            object: from.u64().ok_or(short)?,
            length: from.u64().ok_or(short)?,
            alloc: from.u64().ok_or(short)? as i64,
            histogram: None,
        };
        if !map.length.is_multiple_of(8) {
            return Err(Malformed::at("space map length", 8));
        }
        if bytes.len() >= SIZE {
            from.skip(40).ok_or(short)?;
            let mut histogram = [0; HISTOGRAM_SIZE];
            for bucket in &mut histogram {
                *bucket = from.u64().ok_or(short)?;
            }
            map.histogram = Some(histogram);
        }
        Ok(map)
    }

    /// [`SIZE`] bytes with a histogram, [`SIZE_V0`] without.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = vec![0; if self.histogram.is_some() { SIZE } else { SIZE_V0 }];
        let mut to = Writer::new(&mut bytes, Endian::Little);
        to.u64(self.object);
        to.u64(self.length);
        to.u64(self.alloc as u64);
        if let Some(histogram) = &self.histogram {
            to.skip(40);
            for bucket in histogram {
                to.u64(*bucket);
            }
        }
        bytes
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MapType {
    Alloc = 0,
    Free = 1,
}

impl MapType {
    const fn bit(self) -> u64 {
        self as u64
    }

    const fn from_bit(bit: u64) -> MapType {
        if bit == 0 { MapType::Alloc } else { MapType::Free }
    }
}

/// One word or two of a space map.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Entry {
    /// What follows happened in this pass of this txg. All zero: padding.
    Debug { action: MapType, sync_pass: u16, txg: u64 },
    /// `offset` and `run` are in units of `2^ashift`; `run` is at least 1.
    Segment { kind: MapType, offset: u64, run: u64, vdev: Option<u32> },
}

impl Entry {
    /// Words that it takes.
    pub const fn words(&self) -> u64 {
        match self {
            Entry::Segment { vdev: Some(_), .. } => 2,
            Entry::Segment { vdev: None, .. } | Entry::Debug { .. } => 1,
        }
    }
}

const PREFIX_DEBUG: u64 = 2;
const PREFIX_TWO: u64 = 3;

/// The word that fills a block up before a two-word entry.
const PADDING: u64 = PREFIX_DEBUG << 62;

/// Decodes one block of a space map (or the part of it that counts).
pub struct Entries<'a> {
    from: Reader<'a>,
}

impl<'a> Entries<'a> {
    /// `block` must not reach over the end of a block of the object, nor over the map's `length`.
    pub fn new(block: &'a [u8]) -> Entries<'a> {
        Entries { from: Reader::new(block, Endian::Little) }
    }

    fn entry(&mut self) -> Option<Entry> {
        let word = self.from.u64()?;
        match bits::get(word, 62, 2) {
            PREFIX_DEBUG => Some(Entry::Debug {
                action: MapType::from_bit(bits::get(word, 60, 2)),
                sync_pass: bits::get(word, 50, 10) as u16,
                txg: bits::get(word, 0, 50),
            }),
            PREFIX_TWO => {
                let second = self.from.u64()?;
                let vdev = bits::get(word, 0, 24) as u32;
                Some(Entry::Segment {
                    kind: MapType::from_bit(bits::get(second, 63, 1)),
                    offset: bits::get(second, 0, 63),
                    run: bits::get(word, 24, 36) + 1,
                    vdev: Some(vdev),
                })
            }
            _ => Some(Entry::Segment {
                kind: MapType::from_bit(bits::get(word, 15, 1)),
                offset: bits::get(word, 16, 47),
                run: bits::get(word, 0, 15) + 1,
                vdev: None,
            }),
        }
    }
}

impl Iterator for Entries<'_> {
    type Item = Result<Entry, Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.from.is_empty() {
            return None;
        }
        let at = self.from.position();
        let found = self.entry().ok_or(Malformed::at("space map entry", at));
        if found.is_err() {
            self.from.rest();
        }
        Some(found)
    }
}

/// Appends entries to a space map: words from byte `length` of the object on.
pub struct MapWriter {
    /// Where in the object the next word goes.
    length: u64,
    /// Of the object, in bytes.
    block_size: u64,
    /// Two-word entries may be written (feature `spacemap_v2`).
    v2: bool,
    bytes: Vec<u8>,
}

impl MapWriter {
    pub fn new(length: u64, block_size: u64, v2: bool) -> MapWriter {
        assert!(length.is_multiple_of(8) && block_size.is_multiple_of(8) && block_size >= 16);
        MapWriter { length, block_size, v2, bytes: Vec::new() }
    }

    fn word(&mut self, word: u64) {
        self.bytes.extend_from_slice(&word.to_le_bytes());
        self.length += 8;
    }

    /// What follows happened in this pass of this txg.
    pub fn debug(&mut self, action: MapType, sync_pass: u16, txg: u64) {
        let word = bits::set(PADDING, 60, 2, action.bit());
        self.word(bits::set(bits::set(word, 50, 10, u64::from(sync_pass)), 0, 50, txg));
    }

    /// A segment, in as many entries as it takes. Two-word entries are used where a vdev must be
    /// named, or where the segment cannot be said in one word, or is longer than one word's run and
    /// `v2` allows it.
    ///
    /// Panics when the segment needs two words and `v2` forbids them: the caller chose map and
    /// feature.
    pub fn segment(&mut self, kind: MapType, offset: u64, run: u64, vdev: Option<u32>) {
        assert!(run > 0 && offset < OFFSET2_END && run <= OFFSET2_END - offset);
        let must = vdev.is_some() || offset + run > OFFSET_END;
        assert!(self.v2 || !must, "a segment needs two words, which this pool does not allow");
        let two = must || (self.v2 && run > RUN_MAX);
        let (mut offset, mut left) = (offset, run);
        while left > 0 {
            let run = left.min(if two { RUN2_MAX } else { RUN_MAX });
            if two {
                self.two_words(kind, offset, run, vdev.unwrap_or(NO_VDEV));
            } else {
                let word = bits::set(0, 16, 47, offset);
                self.word(bits::set(bits::set(word, 15, 1, kind.bit()), 0, 15, run - 1));
            }
            offset += run;
            left -= run;
        }
    }

    fn two_words(&mut self, kind: MapType, offset: u64, run: u64, vdev: u32) {
        if self.length % self.block_size == self.block_size - 8 {
            self.word(PADDING);
        }
        let vdev = if vdev == NO_VDEV { 0 } else { u64::from(vdev) };
        let first = bits::set(PREFIX_TWO << 62, 24, 36, run - 1);
        self.word(bits::set(first, 0, 24, vdev));
        self.word(bits::set(bits::set(0, 63, 1, kind.bit()), 0, 63, offset));
    }

    /// The map's length after what was appended.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// What to write from the old length on.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}

/// `metaslab_unflushed_phys_t`: entries of a vdev's "unflushed" array, one a metaslab.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct UnflushedPhys {
    /// Its own space map has everything before this txg; 0: nothing is outstanding.
    pub unflushed_txg: u64,
}

impl UnflushedPhys {
    pub const SIZE: usize = 8;

    pub fn decode(bytes: &[u8]) -> Result<UnflushedPhys, Malformed> {
        let txg = Reader::new(bytes, Endian::Little).u64().ok_or(Malformed::at("unflushed txg", 0))?;
        Ok(UnflushedPhys { unflushed_txg: txg })
    }

    pub fn encode(&self) -> [u8; Self::SIZE] {
        self.unflushed_txg.to_le_bytes()
    }
}

#[cfg(test)]
mod tests;
