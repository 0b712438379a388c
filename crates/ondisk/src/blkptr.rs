//! Block pointers: where a block lies, how large it is, how it was made, and what its bytes must
//! sum to.
//!
//! ```text
//!      63      56      48      40      32      24      16       8       0
//!      ┌───────┬───────────────────────┬───────┬───────────────────────┐
//!  0   │ pad   │ vdev (24)             │ grid  │ asize (24), sectors   │ ┐
//!  1   │G│ offset (63), sectors                                        │ │ three DVAs,
//!  2,3 │ second DVA                                                    │ │ see `dva`
//!  4,5 │ third DVA          (encrypted block: salt; IV, first 64 bits) │ ┘
//!      ├───────┬───────┬───────┬───────┬───────────────┬───────────────┤
//!  6   │BDX│lvl│ type  │ cksum │E│comp │ psize (16)    │ lsize (16)    │ sectors, less one
//!      ├───────┴───────┴───────┴───────┴───────────────┴───────────────┤
//!  7   │R│ pad                                                         │
//!  8   │ pad                                                           │
//!  9   │ physical birth txg, 0 if it equals the logical one            │
//!  a   │ logical birth txg                                             │
//!  b   │ fill: non-zero blocks below (encrypted block: IV's end │ fill) │
//!  c-f │ checksum, 256 bits          (encrypted block: 128, then MAC)  │
//!      └───────────────────────────────────────────────────────────────┘
//! B little endian · D dedup · X encrypted or authenticated · E embedded · G gang · R rewritten
//! ```
//!
//! There are three layouts. A *normal* one names up to three copies. An *encrypted* one (X, level
//! 0, an encrypted type) gives the third DVA up for its salt and IV. An *embedded* one (E) is no
//! pointer at all: its words hold the data, except words 6 and a (see `embedded`). A pointer
//! without first DVA is a *hole*; one that was punched keeps its birth, size, level and type.
//!
//! A `BlkPtr` keeps the sixteen words as they are, so decoding cannot fail but for missing bytes,
//! and bits nobody knows yet survive. Whoever is about to follow a pointer from disk calls
//! [`BlkPtr::validate`] first.
//!
//! Source: include/sys/spa.h (layouts), module/zfs/zio.c `zfs_blkptr_verify` (validity).

mod debug;
mod dva;
mod embedded;
mod kind;

use crate::malformed::{Endian, Malformed, need};
use crate::object_type::ObjectType;
use stdx::bits;

pub use dva::Dva;
pub use embedded::{EMBEDDED_MAX, Embedded, EmbeddedKind};
pub use kind::{ChecksumKind, CompressKind};

/// Sizes and offsets count sectors of this many bytes, whatever the disk's are.
pub const SECTOR: u64 = 1 << SECTOR_SHIFT;
/// log2 of [`SECTOR`].
pub const SECTOR_SHIFT: u32 = 9;
/// The largest block, in bytes.
pub const MAX_BLOCK: u64 = 16 << 20;
/// DVAs in a pointer.
pub const DVAS: usize = 3;

const WORDS: usize = 16;
pub(crate) const PROP: usize = 6;
const PROP2: usize = 7;
const PHYSICAL_BIRTH: usize = 9;
pub(crate) const LOGICAL_BIRTH: usize = 10;
pub(crate) const FILL: usize = 11;
pub(crate) const CHECKSUM: usize = 12;

const LSIZE: (u32, u32) = (0, 16);
const PSIZE: (u32, u32) = (16, 16);
const COMPRESS: (u32, u32) = (32, 7);
const EMBEDDED: (u32, u32) = (39, 1);
const KIND: (u32, u32) = (40, 8);
const TYPE: (u32, u32) = (48, 8);
const LEVEL: (u32, u32) = (56, 5);
const CRYPT: (u32, u32) = (61, 1);
const DEDUP: (u32, u32) = (62, 1);
const BYTEORDER: (u32, u32) = (63, 1);
const REWRITE: (u32, u32) = (63, 1);

/// A 256-bit checksum as four words; kinds that are byte strings (sha256, …) are stored as
/// big-endian words.
pub type Checksum = [u64; 4];

/// A block pointer: 128 bytes on disk, and as small in memory.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct BlkPtr {
    words: [u64; WORDS],
}

const _: () = assert!(size_of::<BlkPtr>() == BlkPtr::SIZE);

impl Default for BlkPtr {
    fn default() -> Self {
        BlkPtr::HOLE
    }
}

impl BlkPtr {
    /// Bytes on disk.
    pub const SIZE: usize = 8 * WORDS;
    /// log2 of [`BlkPtr::SIZE`].
    pub const SHIFT: u32 = 7;

    /// A block that was never written: all bits zero.
    pub const HOLE: BlkPtr = BlkPtr { words: [0; WORDS] };

    /// Reads the first 128 bytes. Fails only when there are fewer; see [`BlkPtr::validate`].
    pub fn decode(bytes: &[u8], endian: Endian) -> Result<BlkPtr, Malformed> {
        need::<{ BlkPtr::SIZE }>(bytes, 0, "block pointer")?;
        // Whoever walks a pool does little else.
        let (parts, _) = bytes[..BlkPtr::SIZE].as_chunks::<8>();
        let mut words = [0; WORDS];
        for (word, part) in words.iter_mut().zip(parts) {
            *word = endian.u64(*part);
        }
        Ok(BlkPtr { words })
    }

    /// Reads the `index`-th pointer of an indirect block.
    pub fn decode_at(bytes: &[u8], index: usize, endian: Endian) -> Result<BlkPtr, Malformed> {
        let at = index.saturating_mul(BlkPtr::SIZE);
        let bytes = bytes.get(at..).ok_or(Malformed::at("block pointer", at))?;
        BlkPtr::decode(bytes, endian).map_err(|e| e.within(at))
    }

    /// The 128 bytes, little endian.
    pub fn encode(&self) -> [u8; BlkPtr::SIZE] {
        self.encode_as(Endian::Little)
    }

    /// The 128 bytes in either order.
    pub fn encode_as(&self, endian: Endian) -> [u8; BlkPtr::SIZE] {
        let mut bytes = [0; BlkPtr::SIZE];
        for (chunk, word) in bytes.chunks_exact_mut(8).zip(self.words) {
            chunk.copy_from_slice(&endian.put_u64(word));
        }
        bytes
    }

    pub(crate) const fn from_words(words: [u64; WORDS]) -> BlkPtr {
        BlkPtr { words }
    }

    /// The sixteen words, for hashing and display.
    pub const fn words(&self) -> &[u64; WORDS] {
        &self.words
    }

    const fn prop(&self, field: (u32, u32)) -> u64 {
        bits::get(self.words[PROP], field.0, field.1)
    }

    const fn set_prop(&mut self, field: (u32, u32), value: u64) -> &mut Self {
        self.words[PROP] = bits::set(self.words[PROP], field.0, field.1, value);
        self
    }

    // ── What it is ──

    /// Nothing is stored: a read gives zeros. Redacted and embedded pointers are not holes.
    pub const fn is_hole(&self) -> bool {
        !self.is_embedded() && self.words[0] == 0 && self.words[1] == 0
    }

    /// The data (or the mark "redacted") is in the pointer itself.
    pub const fn is_embedded(&self) -> bool {
        self.prop(EMBEDDED) == 1
    }

    /// Left out of a redacted send stream: reading it is an error.
    pub const fn is_redacted(&self) -> bool {
        self.is_embedded() && self.prop(KIND) == EmbeddedKind::Redacted as u64
    }

    /// The first DVA leads to a gang header.
    pub const fn is_gang(&self) -> bool {
        !self.is_embedded() && self.dva_raw(0).gang
    }

    /// Encrypted, authenticated, or above such blocks (the X bit).
    pub const fn uses_crypt(&self) -> bool {
        self.prop(CRYPT) == 1
    }

    /// The block's bytes are encrypted: X, at level 0, and of a type that is.
    pub fn is_encrypted(&self) -> bool {
        self.uses_crypt() && self.level() == 0 && self.object_type().is_encrypted()
    }

    /// The block's bytes are plain but carry a MAC.
    pub fn is_authenticated(&self) -> bool {
        self.uses_crypt() && self.level() == 0 && !self.object_type().is_encrypted()
    }

    /// The checksum's second half is a MAC over the MACs below.
    pub const fn has_indirect_mac(&self) -> bool {
        self.uses_crypt() && self.level() > 0
    }

    /// Counted in the deduplication table.
    pub const fn is_dedup(&self) -> bool {
        self.prop(DEDUP) == 1
    }

    /// Moved to a new place after its logical birth (the R bit).
    pub const fn is_rewritten(&self) -> bool {
        !self.is_embedded() && bits::get(self.words[PROP2], REWRITE.0, REWRITE.1) == 1
    }

    // ── Its fields ──

    const fn dva_raw(&self, index: usize) -> Dva {
        Dva::from_words([self.words[2 * index], self.words[2 * index + 1]])
    }

    /// The first DVA's words, whatever the layout: what a gang header's verifier is made of.
    pub const fn first_dva(&self) -> Dva {
        self.dva_raw(0)
    }

    /// The three DVAs; those that are not there (all of them when embedded, the third when
    /// encrypted) are empty.
    pub fn dvas(&self) -> [Dva; DVAS] {
        if self.is_embedded() {
            return [Dva::EMPTY; DVAS];
        }
        let third = if self.is_encrypted() { Dva::EMPTY } else { self.dva_raw(2) };
        [self.dva_raw(0), self.dva_raw(1), third]
    }

    /// DVA 0, 1 or 2.
    pub fn dva(&self, index: usize) -> Dva {
        self.dvas()[index]
    }

    /// How many DVAs have space allocated.
    pub fn ndvas(&self) -> usize {
        let dvas = self.dvas();
        dvas[0].is_valid() as usize + dvas[1].is_valid() as usize + dvas[2].is_valid() as usize
    }

    /// Bytes allocated by all copies, parity and gang headers included.
    pub fn asize(&self) -> u64 {
        let dvas = self.dvas();
        dvas[0].asize + dvas[1].asize + dvas[2].asize
    }

    /// Bytes before compression; of a hole, the bytes it stands for. The all-zero hole says 512, as
    /// in ZFS.
    pub const fn lsize(&self) -> u64 {
        if self.is_redacted() || (self.is_embedded() && self.prop(KIND) != EmbeddedKind::Data as u64) {
            0
        } else if self.is_embedded() {
            self.embedded_lsize()
        } else {
            (self.prop(LSIZE) + 1) << SECTOR_SHIFT
        }
    }

    /// Bytes after compression, 0 when embedded.
    pub const fn psize(&self) -> u64 {
        if self.is_embedded() { 0 } else { (self.prop(PSIZE) + 1) << SECTOR_SHIFT }
    }

    /// Bytes that count as "uncompressed": before compression for data, after it for metadata
    /// (`BP_GET_UCSIZE`).
    pub fn ucsize(&self) -> u64 {
        if self.level() > 0 || self.object_type().is_metadata() { self.psize() } else { self.lsize() }
    }

    /// The compression's number.
    pub const fn compression_raw(&self) -> u8 {
        self.prop(COMPRESS) as u8
    }

    /// The compression.
    pub fn compression(&self) -> Result<CompressKind, Malformed> {
        CompressKind::from_raw(self.compression_raw()).ok_or(Malformed::at("compression kind", 8 * PROP))
    }

    /// The checksum's number; "off" when embedded.
    pub const fn checksum_kind_raw(&self) -> u8 {
        if self.is_embedded() { ChecksumKind::Off as u8 } else { self.prop(KIND) as u8 }
    }

    /// The checksum's kind.
    pub fn checksum_kind(&self) -> Result<ChecksumKind, Malformed> {
        ChecksumKind::from_raw(self.checksum_kind_raw()).ok_or(Malformed::at("checksum kind", 8 * PROP))
    }

    /// The checksum of the bytes as they lie on disk (of an encrypted block: two words, then two of
    /// MAC).
    pub const fn checksum(&self) -> Checksum {
        let w = &self.words;
        [w[CHECKSUM], w[CHECKSUM + 1], w[CHECKSUM + 2], w[CHECKSUM + 3]]
    }

    /// The object type, `DMU_OT_*` in either style; see `object_type`.
    pub const fn object_type(&self) -> ObjectType {
        ObjectType(self.prop(TYPE) as u8)
    }

    /// Height above the data: 0 is data, n is a block of pointers to level n − 1.
    pub const fn level(&self) -> u8 {
        self.prop(LEVEL) as u8
    }

    /// The order of the numbers in the block this points to.
    pub const fn byteorder(&self) -> Endian {
        if self.prop(BYTEORDER) == 1 { Endian::Little } else { Endian::Big }
    }

    /// When its content came to be: what snapshots and incremental streams compare.
    pub const fn logical_birth(&self) -> u64 {
        self.words[LOGICAL_BIRTH]
    }

    /// When its bytes were written: what the cache and a scrub go by. 0 when embedded.
    pub const fn physical_birth(&self) -> u64 {
        if self.is_embedded() {
            0
        } else if self.words[PHYSICAL_BIRTH] != 0 {
            self.words[PHYSICAL_BIRTH]
        } else {
            self.words[LOGICAL_BIRTH]
        }
    }

    /// When its space was allocated: the physical birth if rewritten, else the logical one
    /// (`BP_GET_BIRTH`).
    pub const fn birth(&self) -> u64 {
        if self.is_rewritten() { self.physical_birth() } else { self.logical_birth() }
    }

    /// A hole's birth: the txg in which it was punched, 0 if nothing was ever written there.
    pub const fn hole_birth(&self) -> u64 {
        if self.is_hole() { self.words[LOGICAL_BIRTH] } else { 0 }
    }

    /// Non-zero data blocks (of a dnode block: allocated dnodes) at and below this one.
    pub fn fill(&self) -> u64 {
        if self.is_embedded() {
            1
        } else if self.is_encrypted() {
            bits::get(self.words[FILL], 0, 32)
        } else {
            self.words[FILL]
        }
    }

    /// Salt and IV of an encrypted block.
    pub fn salt_and_iv(&self) -> Option<([u8; 8], [u8; 12])> {
        if !self.is_encrypted() || self.is_embedded() {
            return None;
        }
        // The words were filled by memcpy on a host of the block's order
        // (zio_crypt_encode_params_bp).
        let mut iv = [0; 12];
        let (head, tail) = iv.split_at_mut(8);
        head.copy_from_slice(&self.words[5].to_le_bytes());
        tail.copy_from_slice(&(bits::get(self.words[FILL], 32, 32) as u32).to_le_bytes());
        Some((self.words[4].to_le_bytes(), iv))
    }

    /// Data in the pointer itself, or the mark that it was redacted.
    pub fn embedded(&self) -> Result<Option<Embedded>, Malformed> {
        if !self.is_embedded() {
            return Ok(None);
        }
        Embedded::from_words(&self.words).map(Some)
    }

    // ── Making one ──

    /// A pointer of the given shape whose place, birth and checksum come later. Sizes are in bytes,
    /// multiples of 512, at least that and at most 32 MiB.
    pub const fn new(object_type: ObjectType, level: u8, lsize: u64, psize: u64) -> BlkPtr {
        let mut bp = BlkPtr::HOLE;
        bp.set_prop(TYPE, object_type.0 as u64).set_prop(LEVEL, level as u64).set_prop(BYTEORDER, 1);
        bp.set_lsize(lsize).set_psize(psize);
        bp
    }

    /// A hole that was punched in `birth`: it keeps what it once was, so that incremental sends see
    /// it.
    pub const fn punched(object_type: ObjectType, level: u8, lsize: u64, birth: u64) -> BlkPtr {
        let mut bp = BlkPtr::HOLE;
        bp.set_prop(TYPE, object_type.0 as u64).set_prop(LEVEL, level as u64).set_lsize(lsize);
        bp.words[LOGICAL_BIRTH] = birth;
        bp
    }

    pub const fn set_dva(&mut self, index: usize, dva: Dva) -> &mut Self {
        assert!(index < DVAS && !self.is_embedded());
        let words = dva.to_words();
        self.words[2 * index] = words[0];
        self.words[2 * index + 1] = words[1];
        self
    }

    /// In bytes.
    pub const fn set_lsize(&mut self, bytes: u64) -> &mut Self {
        self.set_prop(LSIZE, sectors_less_one(bytes))
    }

    /// In bytes.
    pub const fn set_psize(&mut self, bytes: u64) -> &mut Self {
        self.set_prop(PSIZE, sectors_less_one(bytes))
    }

    pub const fn set_compression(&mut self, kind: CompressKind) -> &mut Self {
        self.set_prop(COMPRESS, kind as u64)
    }

    pub const fn set_checksum(&mut self, kind: ChecksumKind, sum: Checksum) -> &mut Self {
        assert!(!self.is_embedded());
        self.set_prop(KIND, kind as u64);
        let mut i = 0;
        while i < sum.len() {
            self.words[CHECKSUM + i] = sum[i];
            i += 1;
        }
        self
    }

    pub const fn set_object_type(&mut self, object_type: ObjectType) -> &mut Self {
        self.set_prop(TYPE, object_type.0 as u64)
    }

    /// Of a block that is not encrypted itself, in a data set that is.
    pub const fn set_authenticated(&mut self, authenticated: bool) -> &mut Self {
        self.set_prop(CRYPT, authenticated as u64)
    }

    pub const fn set_dedup(&mut self, dedup: bool) -> &mut Self {
        self.set_prop(DEDUP, dedup as u64)
    }

    /// Sets both births; an equal physical one is stored as 0.
    pub const fn set_birth(&mut self, logical: u64, physical: u64) -> &mut Self {
        self.words[LOGICAL_BIRTH] = logical;
        if !self.is_embedded() {
            self.words[PHYSICAL_BIRTH] = if physical == logical { 0 } else { physical };
        }
        self
    }

    pub fn set_fill(&mut self, fill: u64) -> &mut Self {
        assert!(!self.is_embedded());
        self.words[FILL] = if self.is_encrypted() { bits::set(self.words[FILL], 0, 32, fill) } else { fill };
        self
    }

    // ── Judging one ──

    /// Whether ZFS would follow this pointer: kinds known, sizes possible, a first copy present.
    /// Says nothing about vdevs and offsets, which only the pool's geometry can judge.
    pub fn validate(&self) -> Result<(), Malformed> {
        let bad = |what| Err(Malformed::at(what, 8 * PROP));
        if !self.object_type().is_valid() {
            return bad("object type in block pointer");
        }
        self.compression()?;
        if self.lsize() > MAX_BLOCK {
            return bad("logical size in block pointer");
        }
        if self.is_embedded() {
            return self.embedded().map(|_| ());
        }
        if self.is_hole() {
            return Ok(());
        }
        if !self.dva_raw(0).is_valid() {
            return Err(Malformed::at("first DVA without size", 0));
        }
        if self.dvas().iter().any(|dva| dva.offset.checked_add(dva.asize).is_none()) {
            return Err(Malformed::at("DVA beyond any device", 0));
        }
        self.checksum_kind()?;
        if self.psize() > MAX_BLOCK {
            return bad("physical size in block pointer");
        }
        Ok(())
    }

    /// Same block in the same place (`BP_EQUAL`): births and DVAs agree.
    pub fn same_block(&self, other: &BlkPtr) -> bool {
        self.physical_birth() == other.physical_birth()
            && self.logical_birth() == other.logical_birth()
            && self.words[..6] == other.words[..6]
    }
}

const fn sectors_less_one(bytes: u64) -> u64 {
    assert!(bytes >= SECTOR && bytes.is_multiple_of(SECTOR), "block sizes are whole sectors");
    (bytes >> SECTOR_SHIFT) - 1
}

#[cfg(test)]
mod tests;
