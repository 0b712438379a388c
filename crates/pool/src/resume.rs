//! Where a receive that was interrupted goes on.
//!
//! A resumable receive is kept when it fails. Entries in the ZAP of the dataset that it went to say
//! what stream that was, and the last block of it that is there; they change in the group that the
//! block is written in, so they are right whatever happens. To the sender they are told as a token:
//!
//! ```text
//!   1-<first word of fletcher4 of the packed list>-<bytes of the list>-<list, by zlib>      all in hexadecimal
//! ```
//! Sources: module/zfs/dsl_dataset.c (`get_receive_resume_token_impl`, `dsl_dataset_sync`),
//! dmu_recv.c (`dmu_recv_begin_sync`), lib/libzfs/libzfs_sendrecv.c
//! (`zfs_send_resume_token_to_nvlist`).

use std::fmt::{self, Write};

use codec::fletcher4_append;
use dmu::Tx;
use ondisk::dsl_dataset::{
    FIELD_RESUME_BYTES, FIELD_RESUME_COMPRESSOK, FIELD_RESUME_EMBEDOK, FIELD_RESUME_FROMGUID,
    FIELD_RESUME_LARGEBLOCK, FIELD_RESUME_OBJECT, FIELD_RESUME_OFFSET, FIELD_RESUME_RAWOK,
    FIELD_RESUME_REDACT_BOOKMARK_SNAPS, FIELD_RESUME_TOGUID, FIELD_RESUME_TONAME, FLAG_INCONSISTENT,
};
use ondisk::nvlist::{NvList, NvValue};
use ondisk::send::{Begin, feature};

use crate::Result;
use crate::dsl::Dsl;
use crate::dsl::names::Found;
use crate::recv::CLONE;
use crate::send::Flags;

const VERSION: u32 = 1;
/// `ZIO_COMPRESS_GZIP_6`
const ZLIB: u8 = 10;
/// Bytes of a list, and of a token. Ours have some hundred.
const LIST_MAX: usize = 1 << 20;
const TOKEN_MAX: usize = 1 << 20;

/// Entries that are numbers, in a token's order, and what they are called there.
const NUMBERS: [(&str, &str); 5] = [
    (FIELD_RESUME_FROMGUID, "fromguid"),
    (FIELD_RESUME_OBJECT, "object"),
    (FIELD_RESUME_OFFSET, "offset"),
    (FIELD_RESUME_BYTES, "bytes"),
    (FIELD_RESUME_TOGUID, "toguid"),
];
const FLAGS: [(&str, &str, u64); 4] = [
    (FIELD_RESUME_LARGEBLOCK, "largeblockok", feature::LARGE_BLOCKS),
    (FIELD_RESUME_EMBEDOK, "embedok", feature::EMBED_DATA),
    (FIELD_RESUME_COMPRESSOK, "compressok", feature::COMPRESSED),
    (FIELD_RESUME_RAWOK, "rawok", feature::RAW),
];
/// What goes when the dataset is complete; OpenZFS leaves the flags there, too.
const TRANSIENT: [&str; 7] = [
    FIELD_RESUME_FROMGUID,
    FIELD_RESUME_OBJECT,
    FIELD_RESUME_OFFSET,
    FIELD_RESUME_BYTES,
    FIELD_RESUME_TOGUID,
    FIELD_RESUME_TONAME,
    FIELD_RESUME_REDACT_BOOKMARK_SNAPS,
];

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

impl Dsl {
    /// The list of a dataset's token, if a resumable receive went to it and has not ended.
    pub(crate) fn resume_list(&self, dataset: u64) -> Result<Option<NvList>> {
        if !self.mos.is_zapified(dataset)? || self.mos.find(dataset, FIELD_RESUME_TOGUID)?.is_none() {
            return Ok(None);
        }
        let mut list = NvList::new();
        for (field, name) in NUMBERS {
            if let Some(number) = self.mos.find(dataset, field)? {
                list.set(name, number);
            }
        }
        let name = self.mos.find_value(dataset, FIELD_RESUME_TONAME)?;
        if let Some(name) = name.as_ref().and_then(|name| name.as_text()) {
            list.set("toname", name);
        }
        for (field, name, _) in FLAGS {
            if self.mos.find(dataset, field)?.is_some() {
                list.set(name, NvValue::Flag);
            }
        }
        Ok(Some(list))
    }

    /// Property `receive_resume_token`: a new dataset has the state itself, one that exists in its
    /// hidden clone.
    pub(crate) fn resume_token(&self, head: &Found) -> Result<Option<String>> {
        if let Some(list) = self.resume_list(head.object)? {
            return Ok(Some(to_token(&list)));
        }
        let Some(clone) = self.left_clone(head)? else { return Ok(None) };
        Ok(self.resume_list(clone.object)?.map(|list| to_token(&list)))
    }

    /// The hidden clone that a receive writes to, or has left.
    pub(crate) fn left_clone(&self, head: &Found) -> Result<Option<Found>> {
        let Some(object) = self.mos.find(head.dir.phys().child_dir_zapobj, CLONE)? else { return Ok(None) };
        let dir = self.child_dir(&head.dir, CLONE, object)?;
        self.head_of(&dir)
    }

    /// Whether a head was not received whole, and can be no further.
    pub(crate) fn is_useless(&self, head: &Found) -> Result<bool> {
        Ok(head.phys.flags & FLAG_INCONSISTENT != 0 && self.resume_list(head.object)?.is_none())
    }

    /// Writes down that a dataset is being received, resumably. Syncing context.
    pub(crate) fn begin_resumable(&self, dataset: u64, begin: &Begin, tx: &Tx) -> Result<()> {
        self.zapify(dataset, tx)?;
        let put = |name: &str, value: u64| self.mos.set(dataset, name, value, tx);
        if begin.from_guid != 0 {
            put(FIELD_RESUME_FROMGUID, begin.from_guid)?;
        }
        put(FIELD_RESUME_TOGUID, begin.to_guid)?;
        self.mos.set(dataset, FIELD_RESUME_TONAME, begin.to_name.as_str(), tx)?;
        for (field, _, feature) in FLAGS {
            if begin.has(feature) {
                put(field, 1)?;
            }
        }
        self.put_point(dataset, Point { object: 1, ..Point::default() }, tx)
    }

    /// A receive has come so far. Syncing context.
    pub(crate) fn put_point(&self, dataset: u64, point: Point, tx: &Tx) -> Result<()> {
        self.mos.set(dataset, FIELD_RESUME_OBJECT, point.object, tx)?;
        self.mos.set(dataset, FIELD_RESUME_OFFSET, point.offset, tx)?;
        Ok(self.mos.set(dataset, FIELD_RESUME_BYTES, point.bytes, tx)?)
    }

    /// The dataset is complete. Syncing context.
    pub(crate) fn end_resumable(&self, dataset: u64, tx: &Tx) -> Result<()> {
        if self.resume_list(dataset)?.is_some() {
            for field in TRANSIENT {
                self.mos.remove(dataset, field, tx)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
