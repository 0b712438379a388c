//! ZAP objects: tables from names (or arrays of numbers) to arrays of integers.
//!
//! A *micro* ZAP is one block of 64-byte chunks, each a short name and one number. A *fat* ZAP is
//! an extensible hash table: block 0 is its head ([`fat`]), a pointer table (in the head's second
//! half, or in blocks of its own) is indexed by the hash's top bits, and names the block of a leaf,
//! many slots of it the same one.
//!
//! Sources: include/sys/zap_impl.h, include/sys/zap_leaf.h, include/sys/zap.h.

pub mod fat;
pub mod hash;
pub mod leaf;
pub mod micro;
pub mod value;

use crate::malformed::{Endian, Malformed, u64_at};
use crate::numbers::swap_numbers;

/// First word of a leaf, of a fat head, and of a micro ZAP; a block with another is a block of
/// pointers.
pub const BLOCK_TYPE_LEAF: u64 = 1 << 63;
pub const BLOCK_TYPE_HEADER: u64 = (1 << 63) + 1;
pub const BLOCK_TYPE_MICRO: u64 = (1 << 63) + 3;

/// Names have at most 255 bytes (1023 with feature `longname`), without their NUL.
pub const MAX_NAME: usize = 255;
pub const MAX_NAME_LONG: usize = 1023;
/// A value has at most this many bytes.
pub const MAX_VALUE: usize = 8192;
/// A micro ZAP's block grows to this before it turns fat, unless `large_microzap` is on.
pub const MICRO_MAX_BLOCK: usize = 128 << 10;
/// With `large_microzap`.
pub const MICRO_MAX_BLOCK_LARGE: usize = 1 << 20;

/// Hashes have 48 bits rather than 28.
pub const FLAG_HASH64: u64 = 1 << 0;
/// Keys are arrays of numbers.
pub const FLAG_UINT64_KEY: u64 = 1 << 1;
/// The key's first number is its hash.
pub const FLAG_PRE_HASHED_KEY: u64 = 1 << 2;

/// What block 0 of a ZAP says the ZAP is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Form {
    Micro,
    Fat,
}

/// Looks at the first word of block 0.
pub fn form(block: &[u8]) -> Result<Form, Malformed> {
    match u64_at(block, 0, Endian::Little, "zap block type")? {
        BLOCK_TYPE_MICRO => Ok(Form::Micro),
        BLOCK_TYPE_HEADER => Ok(Form::Fat),
        _ => Err(Malformed::at("zap block type", 0)),
    }
}

/// Swaps the numbers of a block, in whatever order they are.
pub(crate) fn swap(block: &mut [u8]) {
    let kind = block.first_chunk().map(|word| [u64::from_be_bytes(*word), u64::from_le_bytes(*word)]);
    match kind {
        Some(kind) if kind.contains(&BLOCK_TYPE_LEAF) => leaf::swap(block),
        Some(kind) if kind.contains(&BLOCK_TYPE_MICRO) => micro::swap(block),
        // The head and blocks of pointers are nothing but numbers of 64 bits.
        _ => swap_numbers::<8>(block),
    }
}
