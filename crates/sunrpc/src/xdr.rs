//! XDR (RFC 4506): big-endian words of four bytes; opaques are padded to whole words.
//!
//! The decoder borrows from the slice it is given and takes a limit for every variable length.
//! Padding is skipped without a look at its value, as every server in use does.

use stdx::cursor::{Endian, Reader};

/// The bytes are not what the protocol says stands here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Malformed {
    /// The message ends inside an item.
    Short,
    /// A length field is beyond what the item may have.
    TooLong { len: u32, max: u32 },
    /// A boolean, enumeration or union discriminant without a meaning.
    Value(u32),
}

impl std::fmt::Display for Malformed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Malformed::Short => f.write_str("message ends inside an item"),
            Malformed::TooLong { len, max } => write!(f, "length {len} where at most {max} is allowed"),
            Malformed::Value(value) => write!(f, "{value} has no meaning here"),
        }
    }
}

impl std::error::Error for Malformed {}

/// Result of every decoding step.
pub type Result<T> = std::result::Result<T, Malformed>;

/// Bytes that pad an opaque of `len` bytes to whole words.
pub const fn padding(len: usize) -> usize {
    len.wrapping_neg() & 3
}

/// Reads forward through one message.
#[derive(Clone, Debug)]
pub struct Decoder<'a>(Reader<'a>);

impl<'a> Decoder<'a> {
    pub const fn new(bytes: &'a [u8]) -> Decoder<'a> {
        Decoder(Reader::new(bytes, Endian::Big))
    }

    /// Bytes left.
    pub const fn remaining(&self) -> usize {
        self.0.remaining()
    }

    /// All that is left, whatever it is.
    pub fn rest(&mut self) -> &'a [u8] {
        self.0.rest()
    }

    pub fn u32(&mut self) -> Result<u32> {
        self.0.u32().ok_or(Malformed::Short)
    }

    pub fn u64(&mut self) -> Result<u64> {
        self.0.u64().ok_or(Malformed::Short)
    }

    pub fn bool(&mut self) -> Result<bool> {
        match self.u32()? {
            0 => Ok(false),
            1 => Ok(true),
            other => Err(Malformed::Value(other)),
        }
    }

    /// An opaque of fixed length, which must be whole words.
    pub fn fixed<const N: usize>(&mut self) -> Result<[u8; N]> {
        const { assert!(N.is_multiple_of(4)) };
        self.0.array().ok_or(Malformed::Short)
    }

    /// An opaque or string of variable length, at most `max` bytes.
    pub fn opaque(&mut self, max: u32) -> Result<&'a [u8]> {
        let len = self.u32()?;
        if len > max {
            return Err(Malformed::TooLong { len, max });
        }
        let bytes = self.0.take(len as usize).ok_or(Malformed::Short)?;
        self.0.skip(padding(bytes.len())).ok_or(Malformed::Short)?;
        Ok(bytes)
    }

    /// An optional item: a boolean, then the item if it is true.
    pub fn option<T>(&mut self, item: impl FnOnce(&mut Self) -> Result<T>) -> Result<Option<T>> {
        if self.bool()? { item(self).map(Some) } else { Ok(None) }
    }
}

/// Appends to a growing message.
#[derive(Clone, Debug, Default)]
pub struct Encoder {
    bytes: Vec<u8>,
}

impl Encoder {
    pub fn new() -> Encoder {
        Encoder::default()
    }

    pub fn with_capacity(capacity: usize) -> Encoder {
        Encoder { bytes: Vec::with_capacity(capacity) }
    }

    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    pub fn u32(&mut self, value: u32) {
        self.bytes.extend_from_slice(&value.to_be_bytes());
    }

    /// Words one after the other.
    pub fn words<const N: usize>(&mut self, words: [u32; N]) {
        words.into_iter().for_each(|word| self.u32(word));
    }

    pub fn u64(&mut self, value: u64) {
        self.bytes.extend_from_slice(&value.to_be_bytes());
    }

    pub fn bool(&mut self, value: bool) {
        self.u32(u32::from(value));
    }

    /// An opaque or string of variable length.
    ///
    /// # Panics
    /// When it is longer than 4 GiB, which no message can hold.
    pub fn opaque(&mut self, bytes: &[u8]) {
        self.u32(u32::try_from(bytes.len()).expect("opaques are shorter than 4 GiB"));
        self.bytes.extend_from_slice(bytes);
        self.bytes.extend(std::iter::repeat_n(0, padding(bytes.len())));
    }

    /// Bytes that are encoded already.
    pub fn raw(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Overwrites the word at `offset`, written before.
    ///
    /// # Panics
    /// When there is no such word.
    pub fn patch(&mut self, offset: usize, value: u32) {
        let word = self.bytes.get_mut(offset..).and_then(|tail| tail.first_chunk_mut());
        *word.expect("the word to patch has been written") = value.to_be_bytes();
    }

    /// Forgets everything after the first `len` bytes.
    pub fn truncate(&mut self, len: usize) {
        self.bytes.truncate(len);
    }

    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}

#[cfg(test)]
mod tests;
