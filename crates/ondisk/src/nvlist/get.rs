//! Building lists, and asking them for values of a known type.

use super::{NvList, NvValue};

macro_rules! from {
    ($($type:ty => $variant:ident),* $(,)?) => {
        $(impl From<$type> for NvValue {
            fn from(value: $type) -> NvValue {
                NvValue::$variant(value)
            }
        })*
    };
}

from! {
    bool => Bool, u8 => U8, i8 => I8, i16 => I16, u16 => U16, i32 => I32, u32 => U32, i64 => I64, u64 => U64,
    String => String, NvList => NvList, Vec<u8> => U8Array, Vec<u32> => U32Array, Vec<i64> => I64Array,
    Vec<u64> => U64Array, Vec<String> => StringArray, Vec<NvList> => NvListArray,
}

impl From<&str> for NvValue {
    fn from(value: &str) -> NvValue {
        NvValue::String(value.to_owned())
    }
}

impl NvList {
    /// Appends a pair, in place of one of that name, if there is one.
    pub fn set(&mut self, name: impl Into<String>, value: impl Into<NvValue>) -> &mut Self {
        let name = name.into();
        self.pairs.retain(|(n, _)| *n != name);
        self.pairs.push((name, value.into()));
        self
    }

    /// [`NvList::set`] for chains: `NvList::new().with("version", 5000u64)`.
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, value: impl Into<NvValue>) -> Self {
        self.set(name, value);
        self
    }

    /// Adds a pair without value.
    pub fn set_flag(&mut self, name: impl Into<String>) -> &mut Self {
        self.set(name, NvValue::Flag)
    }

    /// Takes a pair out.
    pub fn remove(&mut self, name: &str) -> Option<NvValue> {
        let at = self.pairs.iter().position(|(n, _)| n == name)?;
        Some(self.pairs.remove(at).1)
    }

    pub fn get(&self, name: &str) -> Option<&NvValue> {
        self.pairs.iter().find(|(n, _)| n == name).map(|(_, value)| value)
    }

    pub fn get_mut(&mut self, name: &str) -> Option<&mut NvValue> {
        self.pairs.iter_mut().find(|(n, _)| n == name).map(|(_, value)| value)
    }

    /// Whether there is such a pair, of whatever type.
    pub fn contains(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// In order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &NvValue)> {
        self.pairs.iter().map(|(name, value)| (name.as_str(), value))
    }

    pub fn len(&self) -> usize {
        self.pairs.len()
    }

    pub fn is_empty(&self) -> bool {
        self.pairs.is_empty()
    }

    /// A number, if the pair is there and is a `UINT64`.
    pub fn u64(&self, name: &str) -> Option<u64> {
        if let Some(NvValue::U64(value)) = self.get(name) { Some(*value) } else { None }
    }

    pub fn bool(&self, name: &str) -> Option<bool> {
        if let Some(NvValue::Bool(value)) = self.get(name) { Some(*value) } else { None }
    }

    pub fn string(&self, name: &str) -> Option<&str> {
        if let Some(NvValue::String(value)) = self.get(name) { Some(value) } else { None }
    }

    pub fn nvlist(&self, name: &str) -> Option<&NvList> {
        if let Some(NvValue::NvList(value)) = self.get(name) { Some(value) } else { None }
    }

    /// Empty if missing, which is how ZFS writes an empty array of lists.
    pub fn nvlist_array(&self, name: &str) -> &[NvList] {
        if let Some(NvValue::NvListArray(value)) = self.get(name) { value } else { &[] }
    }

    pub fn u64_array(&self, name: &str) -> Option<&[u64]> {
        if let Some(NvValue::U64Array(value)) = self.get(name) { Some(value) } else { None }
    }
}
