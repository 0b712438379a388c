//! The token that tells a sender where its interrupted receive goes on.
//!
//! A resumable receive is kept when it fails. What the dataset that it went to says of it
//! ([`crate::dsl`] keeps that, in `dsl/resume.rs`) is told to the sender as a token:
//!
//! ```text
//!   1-<first word of fletcher4 of the packed list>-<bytes of the list>-<list, by zlib>      all in hexadecimal
//! ```
//! Sources: module/zfs/dsl_dataset.c (`get_receive_resume_token_impl`),
//! lib/libzfs/libzfs_sendrecv.c (`zfs_send_resume_token_to_nvlist`).

use std::fmt::{self, Write};

use codec::fletcher4_append;
use ondisk::nvlist::NvList;

use crate::stream::Flags;

const VERSION: u32 = 1;
/// `ZIO_COMPRESS_GZIP_6`
const ZLIB: u8 = 10;
/// Bytes of a list, and of a token. Ours have some hundred.
const LIST_MAX: usize = 1 << 20;
const TOKEN_MAX: usize = 1 << 20;

/// How far a receive has come: the last block that it wrote.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Point {
    pub object: u64,
    /// In bytes.
    pub offset: u64,
    /// Of the stream, up to and with the block.
    pub bytes: u64,
}

/// A stream that was interrupted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resume {
    /// 0: it was a full one.
    pub from_guid: u64,
    pub to_guid: u64,
    /// The snapshot, as its sender called it.
    pub to_name: String,
    pub point: Point,
    pub flags: Flags,
}

/// What is wrong with a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadToken {
    Format,
    Version(u32),
    NotHex,
    Checksum,
    Compression,
    List,
    /// A list, but not of what is needed.
    Content,
}

impl fmt::Display for BadToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("resume token is corrupt")?;
        match self {
            BadToken::Format => f.write_str(" (invalid format)"),
            BadToken::Version(version) => write!(f, " (invalid version {version})"),
            BadToken::NotHex => f.write_str(" (payload is not hex-encoded)"),
            BadToken::Checksum => f.write_str(" (incorrect checksum)"),
            BadToken::Compression => f.write_str(" (decompression failed)"),
            BadToken::List => f.write_str(" (nvlist_unpack failed)"),
            BadToken::Content => Ok(()),
        }
    }
}

impl Resume {
    /// What a token's list says.
    pub fn of_list(list: &NvList) -> std::result::Result<Resume, BadToken> {
        let number = |name: &str| list.u64(name).ok_or(BadToken::Content);
        let has = |name: &str| list.contains(name);
        Ok(Resume {
            from_guid: list.u64("fromguid").unwrap_or(0),
            to_guid: number("toguid")?,
            to_name: list.string("toname").ok_or(BadToken::Content)?.to_owned(),
            point: Point { object: number("object")?, offset: number("offset")?, bytes: number("bytes")? },
            flags: Flags {
                large_blocks: has("largeblockok"),
                embed: has("embedok"),
                compress: has("compressok"),
            },
        })
    }
}

/// A list as a token.
pub fn to_token(list: &NvList) -> String {
    let packed = list.encode_native();
    let mut memory = Vec::new();
    // What does not shrink has a few bytes more.
    let bytes = codec::compress(ZLIB, 0, &packed, &mut memory, 2 * packed.len() + 64);
    let bytes = bytes.expect("zlib is built in").expect("there is room");
    let mut token = format!("{VERSION}-{:x}-{:x}-", sum(bytes), packed.len());
    bytes.iter().for_each(|byte| write!(token, "{byte:02x}").expect("strings take all"));
    token
}

/// The list of a token.
pub fn from_token(token: &str) -> std::result::Result<NvList, BadToken> {
    if token.len() > TOKEN_MAX {
        return Err(BadToken::Format);
    }
    let mut parts = token.splitn(4, '-');
    let mut part = || parts.next().ok_or(BadToken::Format);
    let version: u32 = part()?.parse().map_err(|_| BadToken::Format)?;
    let number = |text: &str| u64::from_str_radix(text, 16).map_err(|_| BadToken::Format);
    let (wanted, len, hex) = (number(part()?)?, number(part()?)?, part()?);
    if version != VERSION {
        return Err(BadToken::Version(version));
    }
    let digit = |at: usize| char::from(hex.as_bytes()[at]).to_digit(16).ok_or(BadToken::NotHex);
    let byte = |at: usize| Ok((digit(2 * at)? << 4 | digit(2 * at + 1)?) as u8);
    let bytes = (0..hex.len() / 2).map(byte).collect::<std::result::Result<Vec<u8>, _>>()?;
    if sum(&bytes) != wanted {
        return Err(BadToken::Checksum);
    }
    let len = usize::try_from(len).ok().filter(|len| *len <= LIST_MAX).ok_or(BadToken::Compression)?;
    let mut packed = vec![0; len];
    codec::decompress(ZLIB, &bytes, &mut packed).map_err(|_| BadToken::Compression)?;
    NvList::decode(&packed).map_err(|_| BadToken::List)
}

/// Of whole words; what is left over counts for nothing.
fn sum(bytes: &[u8]) -> u64 {
    fletcher4_append([0; 4], &bytes[..bytes.len() / 4 * 4], false)[0]
}

#[cfg(test)]
mod tests;
