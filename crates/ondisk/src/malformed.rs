//! The one error of this crate: what is wrong, and where.

use std::fmt;

pub use stdx::cursor::{Endian, Reader, Writer, array_at};

/// Bytes that cannot be what they should be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Malformed {
    /// What was expected, in a few words: "uberblock magic", "nvlist nests too deep".
    pub what: &'static str,
    /// Where in the decoded slice, in bytes.
    pub offset: u64,
}

impl Malformed {
    /// Something is wrong at this byte.
    pub const fn at(what: &'static str, offset: usize) -> Malformed {
        Malformed { what, offset: offset as u64 }
    }

    /// The same error seen from the enclosing structure, in which the decoded slice starts at
    /// `base`.
    pub const fn within(self, base: usize) -> Malformed {
        Malformed { what: self.what, offset: self.offset.saturating_add(base as u64) }
    }
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "malformed {} at byte {}", self.what, self.offset)
    }
}

impl std::error::Error for Malformed {}

/// The order of a structure that begins with its magic in the writer's own; `found` was read little
/// endian.
pub const fn order_of(found: u64, magic: u64) -> Option<Endian> {
    match found {
        _ if found == magic => Some(Endian::Little),
        _ if found == magic.swap_bytes() => Some(Endian::Big),
        _ => None,
    }
}

/// The `N` bytes at `offset`, or the error that says they are missing.
pub fn need<const N: usize>(bytes: &[u8], offset: usize, what: &'static str) -> Result<[u8; N], Malformed> {
    array_at(bytes, offset).ok_or(Malformed::at(what, offset))
}

/// The 16-bit number at `offset`.
pub fn u16_at(bytes: &[u8], offset: usize, endian: Endian, what: &'static str) -> Result<u16, Malformed> {
    need(bytes, offset, what).map(|b| endian.u16(b))
}

/// The 32-bit number at `offset`.
pub fn u32_at(bytes: &[u8], offset: usize, endian: Endian, what: &'static str) -> Result<u32, Malformed> {
    need(bytes, offset, what).map(|b| endian.u32(b))
}

/// The 64-bit number at `offset`.
pub fn u64_at(bytes: &[u8], offset: usize, endian: Endian, what: &'static str) -> Result<u64, Malformed> {
    need(bytes, offset, what).map(|b| endian.u64(b))
}

/// The `len` bytes at `offset`, borrowed.
pub fn slice_at<'a>(
    bytes: &'a [u8],
    offset: usize,
    len: usize,
    what: &'static str,
) -> Result<&'a [u8], Malformed> {
    bytes.get(offset..).and_then(|rest| rest.get(..len)).ok_or(Malformed::at(what, offset))
}
