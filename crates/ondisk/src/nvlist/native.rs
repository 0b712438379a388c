//! The native encoding: a 64-bit host's memory, with its pointers zeroed.
//!
//! ```text
//! list   version 0 │ flags │ pairs          (only the outermost has the first two here)
//! pairs  pair … │ 0 (4 bytes)
//! pair   size (4), name length with NUL (2), 0 (2), count (4), type (4) │ name, padded │ value, padded
//!        then, if the value is one list or several, the pairs of each
//! value  scalars and arrays as in memory; strings with NUL
//!        string array: a zeroed pointer each, then the strings
//!        list: version, flags, zeroed pointer (8), flag (4), pad (4); array: a zeroed pointer each, then these
//! ```
//! Padding is to 8 bytes. Numbers are in the order the header names.

use super::{MAX_DEPTH, NvList, NvValue, pair_size, text};
use crate::malformed::{Endian, Malformed, Reader, slice_at, u32_at};

/// Bytes of a pair's header.
pub(super) const PAIR: usize = 16;
/// Bytes of a list's header inside a value.
pub(super) const LIST: usize = 24;

struct Decoder<'a> {
    input: Reader<'a>,
}

pub(super) fn decode(bytes: &[u8], endian: Endian) -> Result<NvList, Malformed> {
    let flags = list_flags(bytes, 0, endian)?;
    let mut input = Reader::new(bytes, endian);
    input.skip(8).ok_or(Malformed::at("nvlist", 0))?;
    Decoder { input }.pairs(flags, 0)
}

fn list_flags(bytes: &[u8], at: usize, endian: Endian) -> Result<u32, Malformed> {
    if u32_at(bytes, at, endian, "nvlist version")? != 0 {
        return Err(Malformed::at("nvlist version", at));
    }
    u32_at(bytes, at + 4, endian, "nvlist flags")
}

impl Decoder<'_> {
    fn pairs(&mut self, flags: u32, depth: u32) -> Result<NvList, Malformed> {
        if depth > MAX_DEPTH {
            return Err(Malformed::at("nvlist nests too deep", self.input.position()));
        }
        let mut list = NvList { flags, pairs: Vec::new() };
        loop {
            let at = self.input.position();
            let short = Malformed::at("nvlist pair", at);
            let size = self.input.u32().ok_or(short)? as usize;
            if size == 0 {
                return Ok(list);
            }
            let pair = self.input.take(size.checked_sub(4).ok_or(short)?).ok_or(short)?;
            list.pairs.push(self.pair(pair, depth).map_err(|e| e.within(at + 4))?);
        }
    }

    /// `bytes` is the pair without its size; nested pairs are read from the input behind it.
    fn pair(&mut self, bytes: &[u8], depth: u32) -> Result<(String, NvValue), Malformed> {
        let mut r = Reader::new(bytes, self.input.endian());
        let head = (|| Some((r.u16()?, r.u16()?, r.u32()?, r.u32()?)))();
        let (name_len, _, count, code) = head.ok_or(Malformed::at("nvlist pair", 0))?;
        let name = slice_at(bytes, PAIR - 4, name_len.into(), "nvlist name")?;
        let value_at = (PAIR + usize::from(name_len)).next_multiple_of(8) - 4;
        let value = bytes.get(value_at..).unwrap_or(&[]);
        let value = self.value(code, count as usize, value, depth).map_err(|e| e.within(value_at))?;
        Ok((text(name), value))
    }

    fn value(&mut self, code: u32, count: usize, v: &[u8], depth: u32) -> Result<NvValue, Malformed> {
        let e = self.input.endian();
        Ok(match code {
            1 => NvValue::Flag,
            2 => NvValue::Byte(one(v, |[b]| b)?),
            3 => NvValue::I16(one(v, |b| e.u16(b) as i16)?),
            4 => NvValue::U16(one(v, |b| e.u16(b))?),
            5 => NvValue::I32(one(v, |b| e.u32(b) as i32)?),
            6 => NvValue::U32(one(v, |b| e.u32(b))?),
            7 => NvValue::I64(one(v, |b| e.u64(b) as i64)?),
            8 => NvValue::U64(one(v, |b| e.u64(b))?),
            9 => NvValue::String(text(v)),
            10 => NvValue::ByteArray(many(v, count, |[b]| b)?),
            11 => NvValue::I16Array(many(v, count, |b| e.u16(b) as i16)?),
            12 => NvValue::U16Array(many(v, count, |b| e.u16(b))?),
            13 => NvValue::I32Array(many(v, count, |b| e.u32(b) as i32)?),
            14 => NvValue::U32Array(many(v, count, |b| e.u32(b))?),
            15 => NvValue::I64Array(many(v, count, |b| e.u64(b) as i64)?),
            16 => NvValue::U64Array(many(v, count, |b| e.u64(b))?),
            17 => NvValue::StringArray(strings(v, count)?),
            18 => NvValue::HrTime(one(v, |b| e.u64(b) as i64)?),
            19 => NvValue::NvList(self.pairs(list_flags(v, 0, e)?, depth + 1)?),
            20 => NvValue::NvListArray(self.lists(v, count, depth)?),
            21 => NvValue::Bool(one(v, |b| e.u32(b) != 0)?),
            22 => NvValue::I8(one(v, |[b]| b as i8)?),
            23 => NvValue::U8(one(v, |[b]| b)?),
            24 => NvValue::BoolArray(many(v, count, |b| e.u32(b) != 0)?),
            25 => NvValue::I8Array(many(v, count, |[b]| b as i8)?),
            26 => NvValue::U8Array(many(v, count, |[b]| b)?),
            27 => NvValue::Double(one(v, |b| f64::from_bits(e.u64(b)))?),
            _ => return Err(Malformed::at("nvlist value type", 0)),
        })
    }

    fn lists(&mut self, v: &[u8], count: usize, depth: u32) -> Result<Vec<NvList>, Malformed> {
        let heads = v.get(count.saturating_mul(8)..).ok_or(Malformed::at("nvlist array", 0))?;
        let endian = self.input.endian();
        let flags: Result<Vec<u32>, _> =
            heads.chunks_exact(LIST).take(count).map(|head| list_flags(head, 0, endian)).collect();
        let flags = flags?;
        if flags.len() != count {
            return Err(Malformed::at("nvlist array", 0));
        }
        flags.into_iter().map(|flags| self.pairs(flags, depth + 1)).collect()
    }
}

fn one<const N: usize, T>(v: &[u8], make: impl Fn([u8; N]) -> T) -> Result<T, Malformed> {
    v.first_chunk().map(|&bytes| make(bytes)).ok_or(Malformed::at("nvlist value", 0))
}

fn many<const N: usize, T>(v: &[u8], count: usize, make: impl Fn([u8; N]) -> T) -> Result<Vec<T>, Malformed> {
    let bytes = slice_at(v, 0, count.saturating_mul(N), "nvlist array")?;
    Ok(bytes.as_chunks::<N>().0.iter().map(|&chunk| make(chunk)).collect())
}

fn strings(v: &[u8], count: usize) -> Result<Vec<String>, Malformed> {
    let short = Malformed::at("nvlist strings", 0);
    let rest = v.get(count.saturating_mul(8)..).ok_or(short)?;
    let all: Vec<String> = rest.split_inclusive(|&b| b == 0).take(count).map(text).collect();
    if all.len() == count { Ok(all) } else { Err(short) }
}

pub(super) fn encode(list: &NvList, out: &mut Vec<u8>) {
    out.extend([0; 4]);
    out.extend(Endian::Little.put_u32(list.flags));
    put_pairs(list, out);
}

fn put_pairs(list: &NvList, out: &mut Vec<u8>) {
    let le = Endian::Little;
    for (name, value) in &list.pairs {
        let start = out.len();
        out.extend(le.put_u32(pair_size(name, value) as u32));
        out.extend(le.put_u16(name.len() as u16 + 1));
        out.extend([0; 2]);
        out.extend(le.put_u32(value.count() as u32));
        out.extend(le.put_u32(value.type_code()));
        out.extend(name.as_bytes());
        out.push(0);
        pad(out, start);
        put_value(value, out);
        pad(out, start);
        match value {
            NvValue::NvList(v) => put_pairs(v, out),
            NvValue::NvListArray(v) => v.iter().for_each(|list| put_pairs(list, out)),
            _ => {}
        }
    }
    out.extend([0; 4]);
}

fn pad(out: &mut Vec<u8>, start: usize) {
    out.resize(start + (out.len() - start).next_multiple_of(8), 0);
}

fn put_list_head(list: &NvList, out: &mut Vec<u8>) {
    out.extend([0; 4]);
    out.extend(Endian::Little.put_u32(list.flags));
    out.extend([0; 16]);
}

fn put_value(value: &NvValue, out: &mut Vec<u8>) {
    let le = Endian::Little;
    match value {
        NvValue::Flag => {}
        NvValue::Bool(v) => out.extend(le.put_u32((*v).into())),
        NvValue::Byte(v) | NvValue::U8(v) => out.push(*v),
        NvValue::I8(v) => out.push(*v as u8),
        NvValue::I16(v) => out.extend(le.put_u16(*v as u16)),
        NvValue::U16(v) => out.extend(le.put_u16(*v)),
        NvValue::I32(v) => out.extend(le.put_u32(*v as u32)),
        NvValue::U32(v) => out.extend(le.put_u32(*v)),
        NvValue::I64(v) | NvValue::HrTime(v) => out.extend(le.put_u64(*v as u64)),
        NvValue::U64(v) => out.extend(le.put_u64(*v)),
        NvValue::Double(v) => out.extend(le.put_u64(v.to_bits())),
        NvValue::String(v) => put_text(v, out),
        NvValue::NvList(v) => put_list_head(v, out),
        NvValue::ByteArray(v) | NvValue::U8Array(v) => out.extend(v),
        NvValue::I8Array(v) => out.extend(v.iter().map(|&v| v as u8)),
        NvValue::BoolArray(v) => out.extend(v.iter().flat_map(|&v| le.put_u32(v.into()))),
        NvValue::I16Array(v) => out.extend(v.iter().flat_map(|&v| le.put_u16(v as u16))),
        NvValue::U16Array(v) => out.extend(v.iter().flat_map(|&v| le.put_u16(v))),
        NvValue::I32Array(v) => out.extend(v.iter().flat_map(|&v| le.put_u32(v as u32))),
        NvValue::U32Array(v) => out.extend(v.iter().flat_map(|&v| le.put_u32(v))),
        NvValue::I64Array(v) => out.extend(v.iter().flat_map(|&v| le.put_u64(v as u64))),
        NvValue::U64Array(v) => out.extend(v.iter().flat_map(|&v| le.put_u64(v))),
        NvValue::StringArray(v) => {
            out.resize(out.len() + 8 * v.len(), 0);
            v.iter().for_each(|s| put_text(s, out));
        }
        NvValue::NvListArray(v) => {
            out.resize(out.len() + 8 * v.len(), 0);
            v.iter().for_each(|list| put_list_head(list, out));
        }
    }
}

fn put_text(text: &str, out: &mut Vec<u8>) {
    out.extend(text.as_bytes());
    out.push(0);
}
