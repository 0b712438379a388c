//! Reading and writing numbers in a byte slice, checked at every step.
//!
//! A `Reader` never panics: each read returns `None` past the end and then stays where it was. A
//! `Writer` fills a fixed buffer; running over it is a bug of the caller, who sized it, and panics.

/// Byte order of the numbers in a slice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Endian {
    Little,
    Big,
}

impl Endian {
    /// The other one.
    pub const fn swapped(self) -> Endian {
        match self {
            Endian::Little => Endian::Big,
            Endian::Big => Endian::Little,
        }
    }

    pub const fn u16(self, bytes: [u8; 2]) -> u16 {
        match self {
            Endian::Little => u16::from_le_bytes(bytes),
            Endian::Big => u16::from_be_bytes(bytes),
        }
    }

    pub const fn u32(self, bytes: [u8; 4]) -> u32 {
        match self {
            Endian::Little => u32::from_le_bytes(bytes),
            Endian::Big => u32::from_be_bytes(bytes),
        }
    }

    pub const fn u64(self, bytes: [u8; 8]) -> u64 {
        match self {
            Endian::Little => u64::from_le_bytes(bytes),
            Endian::Big => u64::from_be_bytes(bytes),
        }
    }

    pub const fn put_u16(self, value: u16) -> [u8; 2] {
        match self {
            Endian::Little => value.to_le_bytes(),
            Endian::Big => value.to_be_bytes(),
        }
    }

    pub const fn put_u32(self, value: u32) -> [u8; 4] {
        match self {
            Endian::Little => value.to_le_bytes(),
            Endian::Big => value.to_be_bytes(),
        }
    }

    pub const fn put_u64(self, value: u64) -> [u8; 8] {
        match self {
            Endian::Little => value.to_le_bytes(),
            Endian::Big => value.to_be_bytes(),
        }
    }
}

/// The `N` bytes at `offset`, if they are there.
pub fn array_at<const N: usize>(bytes: &[u8], offset: usize) -> Option<[u8; N]> {
    bytes.get(offset..)?.first_chunk().copied()
}

/// Reads forward through a slice.
#[derive(Debug, Clone)]
pub struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    endian: Endian,
}

impl<'a> Reader<'a> {
    pub const fn new(bytes: &'a [u8], endian: Endian) -> Self {
        Reader { bytes, at: 0, endian }
    }

    /// Bytes read or skipped so far.
    pub const fn position(&self) -> usize {
        self.at
    }

    /// Bytes left.
    pub const fn remaining(&self) -> usize {
        self.bytes.len() - self.at
    }

    pub const fn is_empty(&self) -> bool {
        self.remaining() == 0
    }

    pub const fn endian(&self) -> Endian {
        self.endian
    }

    /// The next `len` bytes, borrowed.
    pub fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let taken = self.bytes.get(self.at..)?.get(..len)?;
        self.at += len;
        Some(taken)
    }

    /// The next `N` bytes, copied.
    pub fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let taken = array_at(self.bytes, self.at)?;
        self.at += N;
        Some(taken)
    }

    pub fn skip(&mut self, len: usize) -> Option<()> {
        self.take(len).map(|_| ())
    }

    /// All that is left.
    pub fn rest(&mut self) -> &'a [u8] {
        let rest = self.bytes.get(self.at..).unwrap_or(&[]);
        self.at = self.bytes.len();
        rest
    }

    pub fn u8(&mut self) -> Option<u8> {
        self.array().map(|[byte]| byte)
    }

    pub fn u16(&mut self) -> Option<u16> {
        self.array().map(|b| self.endian.u16(b))
    }

    pub fn u32(&mut self) -> Option<u32> {
        self.array().map(|b| self.endian.u32(b))
    }

    pub fn u64(&mut self) -> Option<u64> {
        self.array().map(|b| self.endian.u64(b))
    }
}

/// Writes forward into a fixed buffer.
#[derive(Debug)]
pub struct Writer<'a> {
    bytes: &'a mut [u8],
    at: usize,
    endian: Endian,
}

impl<'a> Writer<'a> {
    pub const fn new(bytes: &'a mut [u8], endian: Endian) -> Self {
        Writer { bytes, at: 0, endian }
    }

    /// Bytes written or skipped so far.
    pub const fn position(&self) -> usize {
        self.at
    }

    pub fn bytes(&mut self, bytes: &[u8]) {
        self.bytes[self.at..][..bytes.len()].copy_from_slice(bytes);
        self.at += bytes.len();
    }

    /// Leaves `len` bytes as they are.
    pub fn skip(&mut self, len: usize) {
        assert!(len <= self.bytes.len() - self.at);
        self.at += len;
    }

    pub fn u8(&mut self, value: u8) {
        self.bytes(&[value]);
    }

    pub fn u16(&mut self, value: u16) {
        self.bytes(&self.endian.put_u16(value));
    }

    pub fn u32(&mut self, value: u32) {
        self.bytes(&self.endian.put_u32(value));
    }

    pub fn u64(&mut self, value: u64) {
        self.bytes(&self.endian.put_u64(value));
    }
}

#[cfg(test)]
mod tests;
