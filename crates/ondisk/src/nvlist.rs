//! Name-value lists: how ZFS writes down everything that is not a fixed structure.
//!
//! A packed list starts with four bytes: encoding (0 native, 1 XDR), byte order of the host (0 big,
//! 1 little), two zeros. Labels, the pool's configuration and its history are XDR (big endian
//! whatever the host: see `xdr`); what travels in send streams is native (see `native`).
//!
//! Invariants: order is kept, for packed bytes follow it; lists nest at most [`MAX_DEPTH`] deep; a
//! decoded list takes memory in proportion to its packed bytes. Encoding gives exactly libnvpair's
//! bytes. Source: include/sys/nvpair.h, module/nvpair/nvpair.c.

mod get;
mod native;
mod xdr;

use crate::malformed::{Endian, Malformed, need};

/// libnvpair's own limit.
pub const MAX_DEPTH: u32 = 20;
/// `NV_UNIQUE_NAME`: a name occurs once.
pub const UNIQUE_NAME: u32 = 1;

const HEADER: usize = 4;
const NATIVE: u8 = 0;
const XDR: u8 = 1;

/// A value. Strings that are no UTF-8 are decoded with replacement characters.
#[derive(Debug, Clone, PartialEq)]
pub enum NvValue {
    /// Present, without value.
    Flag,
    Bool(bool),
    Byte(u8),
    I8(i8),
    U8(u8),
    I16(i16),
    U16(u16),
    I32(i32),
    U32(u32),
    I64(i64),
    U64(u64),
    /// Nanoseconds since some start.
    HrTime(i64),
    Double(f64),
    String(String),
    NvList(NvList),
    BoolArray(Vec<bool>),
    ByteArray(Vec<u8>),
    I8Array(Vec<i8>),
    U8Array(Vec<u8>),
    I16Array(Vec<i16>),
    U16Array(Vec<u16>),
    I32Array(Vec<i32>),
    U32Array(Vec<u32>),
    I64Array(Vec<i64>),
    U64Array(Vec<u64>),
    StringArray(Vec<String>),
    NvListArray(Vec<NvList>),
}

/// An ordered list of pairs.
#[derive(Debug, Clone, PartialEq)]
pub struct NvList {
    /// [`UNIQUE_NAME`] or 0.
    pub flags: u32,
    pub(crate) pairs: Vec<(String, NvValue)>,
}

impl Default for NvList {
    fn default() -> Self {
        NvList::new()
    }
}

impl NvList {
    /// An empty list of unique names.
    pub const fn new() -> NvList {
        NvList { flags: UNIQUE_NAME, pairs: Vec::new() }
    }

    /// Unpacks either encoding; bytes after the list are ignored, for a list often lies in a larger
    /// block.
    pub fn decode(bytes: &[u8]) -> Result<NvList, Malformed> {
        let [encoding, order, ..] = need::<HEADER>(bytes, 0, "nvlist header")?;
        let endian = match order {
            0 => Endian::Big,
            1 => Endian::Little,
            _ => return Err(Malformed::at("nvlist byte order", 1)),
        };
        let body = bytes.get(HEADER..).unwrap_or(&[]);
        match encoding {
            NATIVE => native::decode(body, endian),
            XDR => xdr::decode(body),
            _ => return Err(Malformed::at("nvlist encoding", 0)),
        }
        .map_err(|e| e.within(HEADER))
    }

    /// Packs as XDR, as a little-endian host does.
    pub fn encode_xdr(&self) -> Vec<u8> {
        let mut out = vec![XDR, 1, 0, 0];
        xdr::encode(self, &mut out);
        out
    }

    /// Packs as a little-endian host's native encoding.
    pub fn encode_native(&self) -> Vec<u8> {
        let mut out = vec![NATIVE, 1, 0, 0];
        native::encode(self, &mut out);
        out
    }
}

/// `DATA_TYPE_*`.
impl NvValue {
    const fn type_code(&self) -> u32 {
        match self {
            NvValue::Flag => 1,
            NvValue::Byte(_) => 2,
            NvValue::I16(_) => 3,
            NvValue::U16(_) => 4,
            NvValue::I32(_) => 5,
            NvValue::U32(_) => 6,
            NvValue::I64(_) => 7,
            NvValue::U64(_) => 8,
            NvValue::String(_) => 9,
            NvValue::ByteArray(_) => 10,
            NvValue::I16Array(_) => 11,
            NvValue::U16Array(_) => 12,
            NvValue::I32Array(_) => 13,
            NvValue::U32Array(_) => 14,
            NvValue::I64Array(_) => 15,
            NvValue::U64Array(_) => 16,
            NvValue::StringArray(_) => 17,
            NvValue::HrTime(_) => 18,
            NvValue::NvList(_) => 19,
            NvValue::NvListArray(_) => 20,
            NvValue::Bool(_) => 21,
            NvValue::I8(_) => 22,
            NvValue::U8(_) => 23,
            NvValue::BoolArray(_) => 24,
            NvValue::I8Array(_) => 25,
            NvValue::U8Array(_) => 26,
            NvValue::Double(_) => 27,
        }
    }

    /// Elements of an array, 1 of a scalar, 0 of a flag.
    const fn count(&self) -> usize {
        match self {
            NvValue::Flag => 0,
            NvValue::ByteArray(v) | NvValue::U8Array(v) => v.len(),
            NvValue::BoolArray(v) => v.len(),
            NvValue::I8Array(v) => v.len(),
            NvValue::I16Array(v) => v.len(),
            NvValue::U16Array(v) => v.len(),
            NvValue::I32Array(v) => v.len(),
            NvValue::U32Array(v) => v.len(),
            NvValue::I64Array(v) => v.len(),
            NvValue::U64Array(v) => v.len(),
            NvValue::StringArray(v) => v.len(),
            NvValue::NvListArray(v) => v.len(),
            _ => 1,
        }
    }

    /// Bytes of the value in memory on a 64-bit host, before rounding: what both encodings call its
    /// size.
    fn native_size(&self) -> usize {
        let n = self.count();
        match self {
            NvValue::Flag => 0,
            NvValue::Byte(_) | NvValue::I8(_) | NvValue::U8(_) => 1,
            NvValue::ByteArray(_) | NvValue::I8Array(_) | NvValue::U8Array(_) => n,
            NvValue::I16(_) | NvValue::U16(_) | NvValue::I16Array(_) | NvValue::U16Array(_) => 2 * n,
            NvValue::Bool(_) | NvValue::I32(_) | NvValue::U32(_) => 4,
            NvValue::BoolArray(_) | NvValue::I32Array(_) | NvValue::U32Array(_) => 4 * n,
            NvValue::I64(_) | NvValue::U64(_) | NvValue::HrTime(_) | NvValue::Double(_) => 8,
            NvValue::I64Array(_) | NvValue::U64Array(_) => 8 * n,
            NvValue::String(s) => s.len() + 1,
            NvValue::StringArray(v) => v.iter().map(|s| 8 + s.len() + 1).sum(),
            NvValue::NvList(_) => native::LIST,
            NvValue::NvListArray(_) => (8 + native::LIST) * n,
        }
    }
}

/// Bytes of a whole pair in memory, `nvp_size`.
fn pair_size(name: &str, value: &NvValue) -> usize {
    (native::PAIR + name.len() + 1).next_multiple_of(8) + value.native_size().next_multiple_of(8)
}

fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|&b| b == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(bytes.get(..end).unwrap_or(&[])).into_owned()
}

#[cfg(test)]
mod tests;
