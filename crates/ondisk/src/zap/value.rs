//! The value of a ZAP entry: an array of integers of one size, always big endian on disk.
//!
//! Source: module/zfs/zap_leaf.c `zap_leaf_array_create`.

use crate::malformed::{Endian, Malformed};

/// An array of integers, possibly empty.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Value {
    U8(Vec<u8>),
    U16(Vec<u16>),
    U32(Vec<u32>),
    U64(Vec<u64>),
}

impl Value {
    /// One number: what most entries have.
    pub fn one(number: u64) -> Value {
        Value::U64(vec![number])
    }

    /// A string as ZFS keeps it, with a NUL at its end.
    pub fn text(text: &str) -> Value {
        Value::U8(text.bytes().chain([0]).collect())
    }

    /// Bytes of one integer: 1, 2, 4 or 8.
    pub const fn int_size(&self) -> u8 {
        match self {
            Value::U8(_) => 1,
            Value::U16(_) => 2,
            Value::U32(_) => 4,
            Value::U64(_) => 8,
        }
    }

    /// How many integers.
    pub fn len(&self) -> usize {
        match self {
            Value::U8(ints) => ints.len(),
            Value::U16(ints) => ints.len(),
            Value::U32(ints) => ints.len(),
            Value::U64(ints) => ints.len(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes of all integers.
    pub fn size(&self) -> usize {
        self.len() * usize::from(self.int_size())
    }

    /// The first integer, widened without sign; 0 when there is none (as `za_first_integer`).
    pub fn first(&self) -> u64 {
        match self {
            Value::U8(ints) => ints.first().map_or(0, |int| u64::from(*int)),
            Value::U16(ints) => ints.first().map_or(0, |int| u64::from(*int)),
            Value::U32(ints) => ints.first().map_or(0, |int| u64::from(*int)),
            Value::U64(ints) => ints.first().copied().unwrap_or(0),
        }
    }

    /// All integers, widened without sign.
    pub fn words(&self) -> Vec<u64> {
        match self {
            Value::U8(ints) => ints.iter().map(|int| u64::from(*int)).collect(),
            Value::U16(ints) => ints.iter().map(|int| u64::from(*int)).collect(),
            Value::U32(ints) => ints.iter().map(|int| u64::from(*int)).collect(),
            Value::U64(ints) => ints.clone(),
        }
    }

    /// The one number it is: an entry of another shape gives `None`.
    pub fn as_u64(&self) -> Option<u64> {
        let [int] = *self.as_words()? else { return None };
        Some(int)
    }

    /// The bytes, when its integers are bytes.
    pub fn as_bytes(&self) -> Option<&[u8]> {
        if let Value::U8(ints) = self { Some(ints) } else { None }
    }

    /// The integers, if they are of eight bytes.
    pub fn as_words(&self) -> Option<&[u64]> {
        if let Value::U64(ints) = self { Some(ints) } else { None }
    }

    /// A string as ZFS keeps it: bytes up to the first NUL.
    pub fn as_text(&self) -> Option<&str> {
        let bytes = self.as_bytes()?;
        std::str::from_utf8(bytes.split(|byte| *byte == 0).next().unwrap_or(bytes)).ok()
    }

    /// The integers one after another.
    pub fn encode(&self) -> Vec<u8> {
        let order = Endian::Big;
        match self {
            Value::U8(ints) => ints.clone(),
            Value::U16(ints) => ints.iter().flat_map(|int| order.put_u16(*int)).collect(),
            Value::U32(ints) => ints.iter().flat_map(|int| order.put_u32(*int)).collect(),
            Value::U64(ints) => ints.iter().flat_map(|int| order.put_u64(*int)).collect(),
        }
    }

    /// `int_size` is 1, 2, 4 or 8 and divides the length.
    pub fn decode(int_size: u8, bytes: Vec<u8>) -> Result<Value, Malformed> {
        let order = Endian::Big;
        let odd = Malformed::at("zap integer size", 1);
        if int_size == 0 || !bytes.len().is_multiple_of(usize::from(int_size)) {
            return Err(odd);
        }
        match int_size {
            1 => Ok(Value::U8(bytes)),
            2 => Ok(Value::U16(bytes.as_chunks().0.iter().map(|int| order.u16(*int)).collect())),
            4 => Ok(Value::U32(bytes.as_chunks().0.iter().map(|int| order.u32(*int)).collect())),
            8 => Ok(Value::U64(bytes.as_chunks().0.iter().map(|int| order.u64(*int)).collect())),
            _ => Err(odd),
        }
    }
}

impl From<u64> for Value {
    fn from(number: u64) -> Value {
        Value::one(number)
    }
}

impl From<&[u64]> for Value {
    fn from(numbers: &[u64]) -> Value {
        Value::U64(numbers.to_vec())
    }
}

impl From<&[u8]> for Value {
    fn from(bytes: &[u8]) -> Value {
        Value::U8(bytes.to_vec())
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Value {
        Value::text(text)
    }
}
