//! Data small enough to live in its own block pointer.
//!
//! The payload fills all words but 6 (shape) and a (logical birth), low byte first in each word.
//! Word 6 differs from that of a real pointer: lsize has 25 bits and psize 7, both in bytes less
//! one, and where the checksum's kind would be stands what the payload is. Source:
//! include/sys/spa.h, module/zfs/blkptr.c.

use super::{
    BYTEORDER, BlkPtr, COMPRESS, CompressKind, EMBEDDED, KIND, LEVEL, LOGICAL_BIRTH, PROP, TYPE, WORDS,
};
use crate::malformed::Malformed;
use crate::object_type::ObjectType;
use stdx::bits;

/// Most bytes a pointer can hold: 14 words.
pub const EMBEDDED_MAX: usize = 8 * (WORDS - 2);

const LSIZE: (u32, u32) = (0, 25);
const PSIZE: (u32, u32) = (25, 7);

/// What an embedded pointer stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum EmbeddedKind {
    /// The block's (compressed) bytes.
    Data = 0,
    /// Never written by anyone.
    Reserved = 1,
    /// A block left out of a redacted stream; there is no payload.
    Redacted = 2,
}

/// The content of an embedded pointer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Embedded {
    pub kind: EmbeddedKind,
    /// Bytes after decompression.
    pub lsize: u64,
    pub compression: CompressKind,
    bytes: [u8; EMBEDDED_MAX],
    len: u8,
}

impl Embedded {
    /// The payload, still compressed.
    pub fn payload(&self) -> &[u8] {
        self.bytes.get(..usize::from(self.len)).unwrap_or(&[])
    }

    pub(super) fn from_words(words: &[u64; WORDS]) -> Result<Embedded, Malformed> {
        let prop = words[PROP];
        let field = |(low, len)| bits::get(prop, low, len);
        let bad = |what| Malformed::at(what, 8 * PROP);
        let kind = match field(KIND) {
            0 => EmbeddedKind::Data,
            1 => EmbeddedKind::Reserved,
            2 => EmbeddedKind::Redacted,
            _ => return Err(bad("embedded kind")),
        };
        let len = field(PSIZE) as u8 + 1;
        if usize::from(len) > EMBEDDED_MAX {
            return Err(bad("embedded size"));
        }
        let compression = CompressKind::from_raw(field(COMPRESS) as u8).ok_or(bad("compression kind"))?;
        let mut bytes = [0; EMBEDDED_MAX];
        for (chunk, index) in bytes.chunks_exact_mut(8).zip(payload_words()) {
            chunk.copy_from_slice(&words[index].to_le_bytes());
        }
        Ok(Embedded { kind, lsize: field(LSIZE) + 1, compression, bytes, len })
    }
}

impl BlkPtr {
    pub(super) const fn embedded_lsize(&self) -> u64 {
        bits::get(self.words[PROP], LSIZE.0, LSIZE.1) + 1
    }

    /// A pointer that holds `payload`, which decompresses to `lsize` bytes. Panics if it does not
    /// fit or is empty.
    pub fn new_embedded(
        object_type: ObjectType,
        level: u8,
        lsize: u64,
        compression: CompressKind,
        payload: &[u8],
        birth: u64,
    ) -> BlkPtr {
        assert!((1..=EMBEDDED_MAX).contains(&payload.len()), "payload of {} bytes", payload.len());
        let mut words = [0; WORDS];
        for (chunk, index) in payload.chunks(8).zip(payload_words()) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            words[index] = u64::from_le_bytes(word);
        }
        let fields = [
            (LSIZE, lsize - 1),
            (PSIZE, payload.len() as u64 - 1),
            (COMPRESS, compression as u64),
            (EMBEDDED, 1),
            (KIND, EmbeddedKind::Data as u64),
            (TYPE, u64::from(object_type.0)),
            (LEVEL, u64::from(level)),
            (BYTEORDER, 1),
        ];
        words[PROP] = fields.iter().fold(0, |word, &((low, len), value)| bits::set(word, low, len, value));
        words[LOGICAL_BIRTH] = birth;
        BlkPtr { words }
    }
}

fn payload_words() -> impl Iterator<Item = usize> {
    (0..WORDS).filter(|&i| i != PROP && i != LOGICAL_BIRTH)
}
