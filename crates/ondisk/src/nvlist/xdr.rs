//! The XDR encoding: everything in big-endian units of four bytes.
//!
//! ```text
//! list   version 0 │ flags │ pair … │ 0 │ 0
//! pair   bytes of this pair │ bytes it takes in memory │ name │ type │ count │ value
//! string length │ bytes, zero-padded to 4
//! array  count │ elements, of 4 or 8 bytes   (byte array: bytes without count, padded; strings and lists: no count)
//! ```
//! Chars, shorts and booleans take four bytes each, signed ones (and, by an accident of C, all
//! chars) sign-extended.

use super::{MAX_DEPTH, NvList, NvValue, pair_size, text};
use crate::malformed::{Endian, Malformed, Reader};

struct Decoder<'a> {
    input: Reader<'a>,
}

pub(super) fn decode(bytes: &[u8]) -> Result<NvList, Malformed> {
    Decoder { input: Reader::new(bytes, Endian::Big) }.list(0)
}

impl Decoder<'_> {
    fn bad<T>(&self, what: &'static str) -> Result<T, Malformed> {
        Err(Malformed::at(what, self.input.position()))
    }

    fn u32(&mut self) -> Result<u32, Malformed> {
        let short = Malformed::at("nvlist", self.input.position());
        self.input.u32().ok_or(short)
    }

    fn u64(&mut self) -> Result<u64, Malformed> {
        let short = Malformed::at("nvlist", self.input.position());
        self.input.u64().ok_or(short)
    }

    fn bytes(&mut self, len: usize) -> Result<Vec<u8>, Malformed> {
        let short = Malformed::at("nvlist bytes", self.input.position());
        let bytes = self.input.take(len).ok_or(short)?.to_vec();
        self.input.skip(len.next_multiple_of(4) - len).ok_or(short)?;
        Ok(bytes)
    }

    fn string(&mut self) -> Result<String, Malformed> {
        let len = self.u32()? as usize;
        Ok(text(&self.bytes(len)?))
    }

    /// Elements with a count before them, which must be the pair's own.
    fn array<T>(
        &mut self,
        count: usize,
        one: impl Fn(&mut Self) -> Result<T, Malformed>,
    ) -> Result<Vec<T>, Malformed> {
        if self.u32()? as usize != count {
            return self.bad("nvlist array count");
        }
        self.several(count, one)
    }

    /// Grows with what is really there, not with what the count claims.
    fn several<T>(
        &mut self,
        count: usize,
        one: impl Fn(&mut Self) -> Result<T, Malformed>,
    ) -> Result<Vec<T>, Malformed> {
        let mut all = Vec::with_capacity(count.min(self.input.remaining() / 16));
        for _ in 0..count {
            all.push(one(self)?);
        }
        Ok(all)
    }

    fn list(&mut self, depth: u32) -> Result<NvList, Malformed> {
        if depth > MAX_DEPTH {
            return self.bad("nvlist nests too deep");
        }
        if self.u32()? != 0 {
            return self.bad("nvlist version");
        }
        let mut list = NvList { flags: self.u32()?, pairs: Vec::new() };
        loop {
            let (packed, unpacked) = (self.u32()?, self.u32()?);
            if packed == 0 || unpacked == 0 {
                return Ok(list);
            }
            let name = self.string()?;
            let (code, count) = (self.u32()?, self.u32()? as usize);
            list.pairs.push((name, self.value(code, count, depth)?));
        }
    }

    fn value(&mut self, code: u32, count: usize, depth: u32) -> Result<NvValue, Malformed> {
        Ok(match code {
            1 => NvValue::Flag,
            2 => NvValue::Byte(self.u32()? as u8),
            3 => NvValue::I16(self.u32()? as i16),
            4 => NvValue::U16(self.u32()? as u16),
            5 => NvValue::I32(self.u32()? as i32),
            6 => NvValue::U32(self.u32()?),
            7 => NvValue::I64(self.u64()? as i64),
            8 => NvValue::U64(self.u64()?),
            9 => NvValue::String(self.string()?),
            10 => NvValue::ByteArray(self.bytes(count)?),
            11 => NvValue::I16Array(self.array(count, |d| Ok(d.u32()? as i16))?),
            12 => NvValue::U16Array(self.array(count, |d| Ok(d.u32()? as u16))?),
            13 => NvValue::I32Array(self.array(count, |d| Ok(d.u32()? as i32))?),
            14 => NvValue::U32Array(self.array(count, Self::u32)?),
            15 => NvValue::I64Array(self.array(count, |d| Ok(d.u64()? as i64))?),
            16 => NvValue::U64Array(self.array(count, Self::u64)?),
            17 => NvValue::StringArray(self.several(count, Self::string)?),
            18 => NvValue::HrTime(self.u64()? as i64),
            19 => NvValue::NvList(self.list(depth + 1)?),
            20 => NvValue::NvListArray(self.several(count, |d| d.list(depth + 1))?),
            21 => NvValue::Bool(self.u32()? != 0),
            22 => NvValue::I8(self.u32()? as i8),
            23 => NvValue::U8(self.u32()? as u8),
            24 => NvValue::BoolArray(self.array(count, |d| Ok(d.u32()? != 0))?),
            25 => NvValue::I8Array(self.array(count, |d| Ok(d.u32()? as i8))?),
            26 => NvValue::U8Array(self.array(count, |d| Ok(d.u32()? as u8))?),
            27 => NvValue::Double(f64::from_bits(self.u64()?)),
            _ => return self.bad("nvlist value type"),
        })
    }
}

fn put32(out: &mut Vec<u8>, value: u32) {
    out.extend(Endian::Big.put_u32(value));
}

fn put64(out: &mut Vec<u8>, value: u64) {
    out.extend(Endian::Big.put_u64(value));
}

fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend(bytes);
    out.resize(out.len() + bytes.len().next_multiple_of(4) - bytes.len(), 0);
}

fn put_string(out: &mut Vec<u8>, text: &str) {
    put32(out, text.len() as u32);
    put_bytes(out, text.as_bytes());
}

fn put_array32(out: &mut Vec<u8>, values: impl ExactSizeIterator<Item = u32>) {
    put32(out, values.len() as u32);
    values.for_each(|v| put32(out, v));
}

fn put_array64(out: &mut Vec<u8>, values: impl ExactSizeIterator<Item = u64>) {
    put32(out, values.len() as u32);
    values.for_each(|v| put64(out, v));
}

/// A C `char` widened to `int`.
fn char_word(byte: u8) -> u32 {
    i32::from(byte as i8) as u32
}

pub(super) fn encode(list: &NvList, out: &mut Vec<u8>) {
    put32(out, 0);
    put32(out, list.flags);
    for (name, value) in &list.pairs {
        let start = out.len();
        put32(out, 0);
        put32(out, pair_size(name, value) as u32);
        put_string(out, name);
        put32(out, value.type_code());
        put32(out, value.count() as u32);
        put_value(value, out);
        let len = (out.len() - start) as u32;
        out[start..start + 4].copy_from_slice(&Endian::Big.put_u32(len));
    }
    put64(out, 0);
}

fn put_value(value: &NvValue, out: &mut Vec<u8>) {
    match value {
        NvValue::Flag => {}
        NvValue::Bool(v) => put32(out, u32::from(*v)),
        NvValue::Byte(v) | NvValue::U8(v) => put32(out, char_word(*v)),
        NvValue::I8(v) => put32(out, i32::from(*v) as u32),
        NvValue::I16(v) => put32(out, i32::from(*v) as u32),
        NvValue::U16(v) => put32(out, u32::from(*v)),
        NvValue::I32(v) => put32(out, *v as u32),
        NvValue::U32(v) => put32(out, *v),
        NvValue::I64(v) | NvValue::HrTime(v) => put64(out, *v as u64),
        NvValue::U64(v) => put64(out, *v),
        NvValue::Double(v) => put64(out, v.to_bits()),
        NvValue::String(v) => put_string(out, v),
        NvValue::NvList(v) => encode(v, out),
        NvValue::ByteArray(v) => put_bytes(out, v),
        NvValue::BoolArray(v) => put_array32(out, v.iter().map(|&v| u32::from(v))),
        NvValue::I8Array(v) => put_array32(out, v.iter().map(|&v| i32::from(v) as u32)),
        NvValue::U8Array(v) => put_array32(out, v.iter().map(|&v| char_word(v))),
        NvValue::I16Array(v) => put_array32(out, v.iter().map(|&v| i32::from(v) as u32)),
        NvValue::U16Array(v) => put_array32(out, v.iter().map(|&v| u32::from(v))),
        NvValue::I32Array(v) => put_array32(out, v.iter().map(|&v| v as u32)),
        NvValue::U32Array(v) => put_array32(out, v.iter().copied()),
        NvValue::I64Array(v) => put_array64(out, v.iter().map(|&v| v as u64)),
        NvValue::U64Array(v) => put_array64(out, v.iter().copied()),
        NvValue::StringArray(v) => v.iter().for_each(|s| put_string(out, s)),
        NvValue::NvListArray(v) => v.iter().for_each(|list| encode(list, out)),
    }
}
