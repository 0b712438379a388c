//! Reading and making the bytes of a record, after its head.

use crate::BlkPtr;
use crate::malformed::{Endian, Malformed, Reader};
use crate::zil::RECORD_HEAD;

const WHAT: &str = "zil record";

/// What is left of a record.
pub struct Fields<'a> {
    from: Reader<'a>,
}

impl<'a> Fields<'a> {
    /// After the head of the whole record.
    pub fn new(record: &'a [u8], endian: Endian) -> Result<Fields<'a>, Malformed> {
        let mut from = Reader::new(record, endian);
        from.skip(RECORD_HEAD).ok_or(Malformed::at(WHAT, 0))?;
        Ok(Fields { from })
    }

    pub fn endian(&self) -> Endian {
        self.from.endian()
    }

    pub fn remaining(&self) -> usize {
        self.from.remaining()
    }

    fn or_short<T>(&self, found: Option<T>) -> Result<T, Malformed> {
        found.ok_or(Malformed::at(WHAT, self.from.position()))
    }

    pub fn u16(&mut self) -> Result<u16, Malformed> {
        let found = self.from.u16();
        self.or_short(found)
    }

    pub fn u32(&mut self) -> Result<u32, Malformed> {
        let found = self.from.u32();
        self.or_short(found)
    }

    pub fn u64(&mut self) -> Result<u64, Malformed> {
        let found = self.from.u64();
        self.or_short(found)
    }

    pub fn pair(&mut self) -> Result<[u64; 2], Malformed> {
        Ok([self.u64()?, self.u64()?])
    }

    pub fn take(&mut self, len: usize) -> Result<&'a [u8], Malformed> {
        let found = self.from.take(len);
        self.or_short(found)
    }

    /// Numbers, as many as the record has room for at the most.
    pub fn words(&mut self, count: u64) -> Result<Vec<u64>, Malformed> {
        if count > (self.remaining() / 8) as u64 {
            return Err(Malformed::at(WHAT, self.from.position()));
        }
        (0..count).map(|_| self.u64()).collect()
    }

    pub fn blkptr(&mut self) -> Result<BlkPtr, Malformed> {
        let at = self.from.position();
        let bytes = self.take(BlkPtr::SIZE)?;
        BlkPtr::decode(bytes, self.endian()).map_err(|e| e.within(at))
    }

    /// Bytes up to a NUL, which is passed over.
    pub fn string(&mut self) -> Result<&'a [u8], Malformed> {
        let rest = self.from.clone().rest();
        let len = self.or_short(rest.iter().position(|byte| *byte == 0))?;
        let string = self.take(len)?;
        self.take(1)?;
        Ok(string)
    }

    /// Several strings, unseparated, each with its NUL.
    pub fn strings(&mut self, count: u64) -> Result<&'a [u8], Malformed> {
        let start = self.from.clone();
        for _ in 0..count {
            self.string()?;
        }
        let len = self.from.position() - start.position();
        let mut start = start;
        self.or_short(start.take(len))
    }
}

/// A record in the making.
pub struct Maker {
    bytes: Vec<u8>,
    endian: Endian,
}

impl Maker {
    pub fn new(txtype: u64, endian: Endian) -> Maker {
        let mut to = Maker { bytes: Vec::new(), endian };
        to.words(&[txtype, 0, 0, 0]);
        to
    }

    pub fn endian(&self) -> Endian {
        self.endian
    }

    /// Room for a record of so many bytes in all.
    pub fn reserve(&mut self, bytes: usize) {
        self.bytes.reserve_exact(bytes.saturating_sub(self.bytes.len()));
    }

    pub fn u16(&mut self, value: u16) {
        self.bytes.extend_from_slice(&self.endian.put_u16(value));
    }

    pub fn u32(&mut self, value: u32) {
        self.bytes.extend_from_slice(&self.endian.put_u32(value));
    }

    pub fn words(&mut self, words: &[u64]) {
        for word in words {
            self.bytes.extend_from_slice(&self.endian.put_u64(*word));
        }
    }

    pub fn bytes(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    pub fn blkptr(&mut self, bp: &BlkPtr) {
        self.bytes(&bp.encode_as(self.endian));
    }

    pub fn string(&mut self, string: &[u8]) {
        self.bytes(string);
        self.bytes(&[0]);
    }

    /// Zeros up to a multiple of eight.
    pub fn pad(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(8), 0);
    }

    /// The record, padded, its length in its head.
    pub fn finish(mut self) -> Vec<u8> {
        self.pad();
        let len = self.endian.put_u64(self.bytes.len() as u64);
        self.bytes[8..16].copy_from_slice(&len);
        self.bytes
    }
}
