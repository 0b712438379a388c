//! How properties are stored: in a property ZAP, under their names. Which properties there are, and
//! what their values may be, is in `api-types`.
//!
//! Numbers and choices are stored as one 64-bit number, texts as bytes.
//!
//! Suffixes of a stored name tell what happened to it rather than its value: see
//! [`SUFFIX_RECEIVED`] and kin. Sources: include/sys/fs/zfs.h, module/zfs/dsl_prop.c.

mod userspace;

pub use userspace::{Spender, UserspaceProp};

/// A value that came with a stream; a local one hides it.
pub const SUFFIX_RECEIVED: &str = "$recvd";
/// The property is inherited although a value was received.
pub const SUFFIX_INHERIT: &str = "$inherit";
/// A value that older software must not see under the plain name ("ignored if unknown").
pub const SUFFIX_IUV: &str = "$iuv";
/// In the property ZAP of a dataset that has received properties at all.
pub const HAS_RECEIVED: &str = "$hasrecvd";
/// "No limit" of limits whose 0 means zero.
pub const UNLIMITED: u64 = u64::MAX;
/// Longest name and longest text value of a property, in bytes.
pub const MAX_NAME: usize = 256;
pub const MAX_TEXT: usize = 8192;

/// Set in a number of `dedup` that compares bytes, too.
pub const CHECKSUM_VERIFY: u64 = 1 << 8;
/// A number of `compression` is the kind in these low bits, the level above.
pub const COMPRESS_BITS: u32 = 7;

/// A user's property: a name with a colon, of the characters that names may have.
pub fn is_user_prop(name: &str) -> bool {
    let valid = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit() || b"-_.:".contains(&c);
    name.contains(':') && name.bytes().all(valid)
}

#[cfg(test)]
mod tests;
