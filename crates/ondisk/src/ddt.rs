//! The deduplication table's entries, in the legacy form: one object a checksum and class, a ZAP
//! whose keys are what a block is known by and whose values are where it lies.
//!
//! ```text
//!   key     checksum (4 words) | 0 … 0 | X | compression 7 | psize 16 | lsize 16        (sizes in sectors, less one)
//!   value   1 byte: order of the words (bit 7: little endian), how the rest is compressed (zle or not at all)
//!           four slots of 64 bytes: DVA, DVA, DVA, references, physical birth
//! ```
//! A slot is for blocks of so many copies; slot 0 held what a property gone since had written. An
//! entry is in the object of its *class*: one reference is `unique`, more are `duplicate`, and
//! `ditto` is of old. What each object holds is summed up in a histogram by the power of two of the
//! references.
//!
//! Sources: include/sys/ddt.h, include/sys/fs/zfs.h (`ddt_stat`), module/zfs/ddt.c, ddt_zap.c.

use stdx::bits;

use crate::blkptr::{Checksum, DVAS, SECTOR_SHIFT};
use crate::malformed::{Endian, Malformed, Writer, u64_at};
use crate::object_type::ObjectType;
use crate::{BlkPtr, ChecksumKind, CompressKind, Dva};

/// Bytes of a leaf of a new table, and log2 of it.
pub const BLOCK_SHIFT: u8 = 15;
/// Slots of an entry; the number of a slot is that of the copies.
pub const SLOTS: usize = 4;
/// The slot that is not filled any more.
pub const SLOT_DITTO: usize = 0;
/// Bytes of the slots.
pub const SLOTS_SIZE: usize = SLOTS * 8 * SLOT_WORDS;
/// Buckets of a histogram: references from `1 << bucket` on.
pub const BUCKETS: usize = 64;

/// Two words a DVA, references, birth.
const SLOT_WORDS: usize = 2 * DVAS + 2;
/// In the first byte of a value.
const LITTLE: u8 = 0x80;

/// Which object of a table an entry is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// Written by programs of old, with more copies the more references there were.
    Ditto,
    Duplicate,
    Unique,
}

impl Class {
    /// In the order in which they are searched.
    pub const ALL: [Class; 3] = [Class::Ditto, Class::Duplicate, Class::Unique];

    /// Of an entry with so many references.
    pub const fn of(references: u64) -> Class {
        if references > 1 { Class::Duplicate } else { Class::Unique }
    }

    pub const fn name(self) -> &'static str {
        match self {
            Class::Ditto => "ditto",
            Class::Duplicate => "duplicate",
            Class::Unique => "unique",
        }
    }
}

/// The name of an object in the pool's directory, and of its histogram among the statistics
/// (`DMU_POOL_DDT`).
pub fn object_name(checksum: ChecksumKind, class: Class) -> String {
    format!("DDT-{}-zap-{}", checksum.name(), class.name())
}

/// What a block is known by, its kind of checksum apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct DdtKey {
    pub checksum: Checksum,
    /// Sizes and compression.
    pub prop: u64,
}

impl DdtKey {
    /// Sizes in bytes.
    pub fn new(checksum: Checksum, lsize: u64, psize: u64, compress: u8) -> DdtKey {
        let sectors = |bytes: u64| (bytes >> SECTOR_SHIFT).saturating_sub(1);
        let prop = bits::set(0, 0, 16, sectors(lsize));
        let prop = bits::set(prop, 16, 16, sectors(psize));
        DdtKey { checksum, prop: bits::set(prop, 32, 7, u64::from(compress)) }
    }

    /// Of a block that was written.
    pub fn of(bp: &BlkPtr) -> DdtKey {
        let key = DdtKey::new(bp.checksum(), bp.lsize(), bp.psize(), bp.compression_raw());
        DdtKey { prop: bits::set(key.prop, 39, 1, u64::from(bp.uses_crypt())), ..key }
    }

    pub fn lsize(&self) -> u64 {
        (bits::get(self.prop, 0, 16) + 1) << SECTOR_SHIFT
    }

    pub fn psize(&self) -> u64 {
        (bits::get(self.prop, 16, 16) + 1) << SECTOR_SHIFT
    }

    /// As the ZAP has it. The first word is the hash.
    pub fn words(&self) -> [u64; 5] {
        let [a, b, c, d] = self.checksum;
        [a, b, c, d, self.prop]
    }

    pub fn from_words(words: &[u64]) -> Result<DdtKey, Malformed> {
        match *words {
            [a, b, c, d, prop] => Ok(DdtKey { checksum: [a, b, c, d], prop }),
            _ => Err(Malformed::at("key of a deduplication table", words.len())),
        }
    }

    /// A pointer to the block in a slot, as if the table had written it; good for reading, healing
    /// and freeing.
    pub fn pointer(&self, checksum: ChecksumKind, slot: &Slot) -> BlkPtr {
        let compress = CompressKind::from_raw(bits::get(self.prop, 32, 7) as u8).unwrap_or(CompressKind::Off);
        let mut bp = BlkPtr::new(ObjectType::DEDUP, 0, self.lsize(), self.psize());
        bp.set_compression(compress).set_checksum(checksum, self.checksum).set_dedup(true);
        bp.set_authenticated(bits::get(self.prop, 39, 1) == 1);
        for (index, dva) in slot.dvas.into_iter().enumerate() {
            bp.set_dva(index, dva);
        }
        bp.set_birth(slot.birth, slot.birth).set_fill(1);
        bp
    }
}

/// Where a block lies, and how many pointers lead there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Slot {
    pub dvas: [Dva; DVAS],
    pub references: u64,
    /// When its bytes were written; 0: there is none.
    pub birth: u64,
}

impl Slot {
    pub fn is_empty(&self) -> bool {
        self.birth == 0
    }

    /// Whether a pointer leads to this block.
    pub fn is_of(&self, bp: &BlkPtr) -> bool {
        !self.is_empty() && self.dvas[0] == bp.first_dva() && self.birth == bp.physical_birth()
    }
}

/// All slots of an entry.
pub type Slots = [Slot; SLOTS];

/// References of all slots that are in use.
pub fn references(slots: &Slots) -> u64 {
    slots[SLOT_DITTO + 1..].iter().fold(0, |sum, slot| sum.saturating_add(slot.references))
}

/// The slots as they are compressed.
pub fn encode_slots(slots: &Slots) -> [u8; SLOTS_SIZE] {
    let mut bytes = [0; SLOTS_SIZE];
    let mut to = Writer::new(&mut bytes, Endian::Little);
    for slot in slots {
        slot.dvas.iter().flat_map(|dva| dva.to_words()).for_each(|word| to.u64(word));
        to.u64(slot.references);
        to.u64(slot.birth);
    }
    bytes
}

/// The slots, decompressed, in the order the value names.
pub fn decode_slots(bytes: &[u8], endian: Endian) -> Result<Slots, Malformed> {
    let mut words = [0; SLOTS * SLOT_WORDS];
    for (at, word) in words.iter_mut().enumerate() {
        *word = u64_at(bytes, 8 * at, endian, "entry of a deduplication table")?;
    }
    let slot = |words: &[u64; SLOT_WORDS]| {
        let [a, b, c, d, e, f, references, birth] = *words;
        Slot { dvas: [[a, b], [c, d], [e, f]].map(Dva::from_words), references, birth }
    };
    Ok(std::array::from_fn(|at| slot(&words.as_chunks().0[at])))
}

/// The first byte of a value whose rest is little endian and compressed so.
pub const fn value_head(compression: CompressKind) -> u8 {
    LITTLE | compression as u8
}

/// What the first byte of a value says: the order of the words, and the number of the compression.
pub const fn parse_value_head(head: u8) -> (Endian, u8) {
    (if head & LITTLE != 0 { Endian::Little } else { Endian::Big }, head & !LITTLE)
}

/// Sums over blocks: as they lie on disk, and as pointers see them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stat {
    pub blocks: u64,
    pub lsize: u64,
    pub psize: u64,
    pub dsize: u64,
    pub ref_blocks: u64,
    pub ref_lsize: u64,
    pub ref_psize: u64,
    pub ref_dsize: u64,
}

const STAT_WORDS: usize = 8;

impl Stat {
    /// A block of these bytes with so many references; `dsize` is what all copies occupy.
    pub fn new([lsize, psize, dsize]: [u64; 3], references: u64) -> Stat {
        let times = |bytes: u64| bytes.wrapping_mul(references);
        let (ref_lsize, ref_psize, ref_dsize) = (times(lsize), times(psize), times(dsize));
        Stat { blocks: 1, lsize, psize, dsize, ref_blocks: references, ref_lsize, ref_psize, ref_dsize }
    }

    pub fn words(&self) -> [u64; STAT_WORDS] {
        let Stat { blocks, lsize, psize, dsize, ref_blocks, ref_lsize, ref_psize, ref_dsize } = *self;
        [blocks, lsize, psize, dsize, ref_blocks, ref_lsize, ref_psize, ref_dsize]
    }

    fn from_words(words: [u64; STAT_WORDS]) -> Stat {
        let [blocks, lsize, psize, dsize, ref_blocks, ref_lsize, ref_psize, ref_dsize] = words;
        Stat { blocks, lsize, psize, dsize, ref_blocks, ref_lsize, ref_psize, ref_dsize }
    }

    pub fn add(&mut self, other: &Stat) {
        let (one, other) = (self.words(), other.words());
        *self = Stat::from_words(std::array::from_fn(|i| one[i].wrapping_add(other[i])));
    }

    /// As many of each again.
    pub fn times(&self, count: u64) -> Stat {
        Stat::from_words(self.words().map(|word| word.saturating_mul(count)))
    }

    /// What a broken table counts twice stops at 0.
    pub fn sub(&mut self, other: &Stat) {
        let (one, other) = (self.words(), other.words());
        *self = Stat::from_words(std::array::from_fn(|i| one[i].saturating_sub(other[i])));
    }
}

/// Sums by the power of two of the references.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Histogram(pub [Stat; BUCKETS]);

impl Default for Histogram {
    fn default() -> Histogram {
        Histogram([Stat::default(); BUCKETS])
    }
}

impl Histogram {
    /// As the statistics have it.
    pub fn words(&self) -> Vec<u64> {
        self.0.iter().flat_map(Stat::words).collect()
    }

    pub fn from_words(words: &[u64]) -> Result<Histogram, Malformed> {
        let (stats, rest) = words.as_chunks::<STAT_WORDS>();
        if stats.len() != BUCKETS || !rest.is_empty() {
            return Err(Malformed::at("histogram of a deduplication table", words.len()));
        }
        let mut histogram = Histogram::default();
        histogram.0.iter_mut().zip(stats).for_each(|(to, words)| *to = Stat::from_words(*words));
        Ok(histogram)
    }

    /// The bucket of an entry, which has several blocks if it was written with different copies.
    pub fn bucket(&mut self, ref_blocks: u64) -> Option<&mut Stat> {
        self.0.get_mut(ref_blocks.checked_ilog2()? as usize)
    }

    pub fn add(&mut self, other: &Histogram) {
        self.0.iter_mut().zip(&other.0).for_each(|(to, from)| to.add(from));
    }

    pub fn total(&self) -> Stat {
        let mut total = Stat::default();
        self.0.iter().for_each(|stat| total.add(stat));
        total
    }
}

#[cfg(test)]
mod tests;
