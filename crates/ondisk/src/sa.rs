//! System attributes: an object's attributes packed into its bonus, and what does not fit there
//! into its spill block.
//!
//! ```text
//!   0 magic (u32)   4 layout number (10 bits) | header size / 8 (6 bits)   6 lengths (u16 each) … to 8 bytes
//!   header size: the attributes' values in the layout's order, each at a multiple of 8
//! ```
//! A *layout* is an array of attribute numbers; it is stored once in the object set (ZAP `LAYOUTS`,
//! key is its number in decimal, value an array of u16). An attribute whose registered length is 0
//! is of variable length: the header lists those lengths, in layout order. The *registry* (ZAP
//! `REGISTRY`) gives each attribute's number, length and byte order by name. The buffers are not
//! swapped with the block they lie in: the magic tells their byte order.
//!
//! Sources: include/sys/sa_impl.h, module/zfs/sa.c.

use std::ops::Range;

use crate::malformed::{Endian, Malformed, Reader, Writer, u16_at, u32_at};

/// First word of a bonus or spill buffer.
pub const MAGIC: u32 = 0x002F_505A;
/// Bytes of a header with at most one variable length.
pub const HEADER_MIN: usize = 8;
/// Layout numbers have ten bits.
pub const MAX_LAYOUT: u16 = (1 << 10) - 1;
/// Layouts 0 (an old znode) and 1 (no attributes at all) are built in.
pub const FIRST_LAYOUT: u16 = 2;
/// A spill block has at most this many bytes.
pub const MAX_SPILL: usize = 128 << 10;
/// Variable lengths a header can name: its size has six bits, in units of 8 bytes.
const MAX_VARIABLE: usize = 1 + (63 * 8 - HEADER_MIN) / 2;

/// Names of the two ZAPs in the master object.
pub const LAYOUTS: &str = "LAYOUTS";
pub const REGISTRY: &str = "REGISTRY";

/// How an attribute's value is swapped ([`crate::byteswap::swap_attribute`] does it).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Swap {
    U64 = 0,
    U32 = 1,
    U16 = 2,
    U8 = 3,
    Acl = 4,
}

impl Swap {
    const ALL: [Swap; 5] = [Swap::U64, Swap::U32, Swap::U16, Swap::U8, Swap::Acl];
}

/// A registered attribute.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct AttrInfo {
    pub number: u16,
    /// In bytes; 0 is variable.
    pub length: u16,
    pub swap: Swap,
}

impl AttrInfo {
    /// From a value of the registry.
    pub fn decode(value: u64) -> Result<AttrInfo, Malformed> {
        let swap = Swap::ALL.get((value >> 16 & 0xff) as usize).copied();
        let swap = swap.ok_or(Malformed::at("attribute byte order", 0))?;
        Ok(AttrInfo { number: value as u16, length: (value >> 24) as u16, swap })
    }

    pub fn encode(&self) -> u64 {
        u64::from(self.length) << 24 | (self.swap as u64) << 16 | u64::from(self.number)
    }

    pub fn is_variable(&self) -> bool {
        self.length == 0
    }
}

/// The head of a buffer. The lengths come with [`locate`], for the header does not tell how many
/// there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    pub layout: u16,
    /// Bytes before the first value.
    pub size: usize,
    pub endian: Endian,
}

impl Header {
    /// `None`: an object that was made but never given attributes (or whose attributes are all in
    /// its spill block).
    pub fn decode(bytes: &[u8]) -> Result<Option<Header>, Malformed> {
        if bytes.is_empty() {
            return Ok(None);
        }
        let what = "system attribute header";
        let endian = match u32_at(bytes, 0, Endian::Little, what)? {
            0 => return Ok(None),
            MAGIC => Endian::Little,
            magic if magic == MAGIC.swap_bytes() => Endian::Big,
            _ => return Err(Malformed::at("system attribute magic", 0)),
        };
        let info = u16_at(bytes, 4, endian, what)?;
        let size = usize::from(info >> 10) * 8;
        if size < HEADER_MIN || size > bytes.len() {
            return Err(Malformed::at("system attribute header size", 4));
        }
        Ok(Some(Header { layout: info & MAX_LAYOUT, size, endian }))
    }
}

/// Bytes of a header that names `variable` lengths.
pub const fn header_size(variable: usize) -> usize {
    if variable <= 1 { HEADER_MIN } else { HEADER_MIN + ((variable - 1) * 2).next_multiple_of(8) }
}

/// Where each attribute of `layout` lies in the buffer. `info` describes attributes by number.
pub fn locate(
    bytes: &[u8],
    header: &Header,
    layout: &[u16],
    info: impl Fn(u16) -> Option<AttrInfo>,
) -> Result<Vec<(AttrInfo, Range<usize>)>, Malformed> {
    let mut lengths = Reader::new(bytes.get(..header.size).unwrap_or(&[]), header.endian);
    let mut at = header.size;
    // What a layout claims is worth no memory: most attributes take eight bytes.
    let mut found = Vec::with_capacity(layout.len().min(bytes.len() / 8));
    lengths.skip(6).ok_or(Malformed::at("system attribute header", 0))?;
    for &number in layout {
        let info = info(number).ok_or(Malformed::at("unregistered attribute in a layout", at))?;
        let length = match info.length {
            0 => lengths.u16().ok_or(Malformed::at("system attribute length", lengths.position()))?,
            fixed => fixed,
        };
        let end = at + usize::from(length);
        if end > bytes.len() {
            return Err(Malformed::at("system attribute value", at));
        }
        found.push((info, at..end));
        at = end.next_multiple_of(8);
    }
    Ok(found)
}

/// How many of the attributes (`lengths`: value length, and whether it is variable), from the
/// first, fit into the bonus. Fewer than all: the rest goes to the spill block, whose pointer takes
/// the bonus's last 128 bytes.
pub fn fit_bonus(lengths: &[(usize, bool)], capacity: usize) -> usize {
    if prefix(lengths, capacity) == lengths.len() {
        lengths.len()
    } else {
        prefix(lengths, capacity.saturating_sub(crate::BlkPtr::SIZE))
    }
}

fn prefix(lengths: &[(usize, bool)], room: usize) -> usize {
    let (mut total, mut variable) = (0_usize, 0);
    for (i, &(length, is_variable)) in lengths.iter().enumerate() {
        total = total.next_multiple_of(8) + length;
        variable += usize::from(is_variable);
        if total + header_size(variable) > room || variable > MAX_VARIABLE {
            return i;
        }
    }
    lengths.len()
}

/// Packs values in the order given, which is the order of layout `layout`, little endian. Panics
/// when a length cannot be written down: the caller has asked [`fit_bonus`], or checked against
/// [`MAX_SPILL`].
pub fn encode(layout: u16, values: &[(AttrInfo, &[u8])]) -> Vec<u8> {
    let variable = values.iter().filter(|(info, _)| info.is_variable()).count();
    let size = header_size(variable);
    let mut total = size;
    for (_, value) in values {
        total = total.next_multiple_of(8) + value.len();
    }
    let mut bytes = vec![0; total];
    let mut to = Writer::new(&mut bytes, Endian::Little);
    to.u32(MAGIC);
    to.u16(layout | ((size / 8) as u16) << 10);
    for (_, value) in values.iter().filter(|(info, _)| info.is_variable()) {
        to.u16(u16::try_from(value.len()).expect("an attribute of 64 KiB and more"));
    }
    to.skip(size - to.position());
    for (info, value) in values {
        assert!(info.is_variable() || usize::from(info.length) == value.len(), "attribute {}", info.number);
        to.skip(to.position().next_multiple_of(8) - to.position());
        to.bytes(value);
    }
    bytes
}

/// A value that is numbers, little endian.
pub fn pack_words(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

#[cfg(test)]
mod tests;
