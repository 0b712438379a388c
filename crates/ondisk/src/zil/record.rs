//! The records of an intent log: one struct a layout, decoded from a log and encoded for one.
//!
//! A record is a [`RecordHead`], numbers, and bytes whose meaning its type gives (names,
//! attributes, data), padded to a multiple of eight. What a creation says is in [`create`], changes
//! of names in [`name`], access control lists in [`acl`]; the rest is here. Names and data stay
//! borrowed from the record.
//!
//! ```text
//! write    (192): 32 object   40 offset   48 length   56 block's offset   64 block pointer   192 data, or none
//! truncate  (56): 32 object   40 offset   48 length
//! setattr  (112): 32 object   40 mask   48 mode   56 uid   64 gid   72 size   80 atime   96 mtime   112 [xvattr] [domains]
//! sa xattr  (48): 32 object   40 length of value   48 name NUL value
//! clone     (72): 32 object   40 offset   48 length   56 block size   64 pointers   72 …
//! ```
//! Sources: include/sys/zil.h, module/zfs/zfs_log.c, module/zfs/zfs_replay.c.

pub mod acl;
pub mod attrs;
pub mod create;
mod fields;
pub mod name;

use crate::BlkPtr;
use crate::malformed::{Endian, Malformed, slice_at, u64_at};

use super::{RECORD_HEAD, RecordHead, TX_WRITE};
use fields::{Fields, Maker};

pub use acl::{LoggedAce, LoggedAcl, LrAcl, LrAclV0};
pub use attrs::{Domains, Xvattr};
pub use create::{Created, LoggedNode, LrCreate};
pub use name::{LrLink, LrRemove, LrRename, RenameKind};

pub const TX_CREATE: u64 = 1;
pub const TX_MKDIR: u64 = 2;
pub const TX_MKXATTR: u64 = 3;
pub const TX_SYMLINK: u64 = 4;
pub const TX_REMOVE: u64 = 5;
pub const TX_RMDIR: u64 = 6;
pub const TX_LINK: u64 = 7;
pub const TX_RENAME: u64 = 8;
pub const TX_TRUNCATE: u64 = 10;
pub const TX_SETATTR: u64 = 11;
pub const TX_ACL_V0: u64 = 12;
pub const TX_ACL: u64 = 13;
pub const TX_CREATE_ACL: u64 = 14;
pub const TX_CREATE_ATTR: u64 = 15;
pub const TX_CREATE_ACL_ATTR: u64 = 16;
pub const TX_MKDIR_ACL: u64 = 17;
pub const TX_MKDIR_ATTR: u64 = 18;
pub const TX_MKDIR_ACL_ATTR: u64 = 19;
/// A write whose data is in a [`TX_WRITE`] of the same block, which it only makes longer.
pub const TX_WRITE2: u64 = 20;
pub const TX_SETSAXATTR: u64 = 21;
pub const TX_RENAME_EXCHANGE: u64 = 22;
pub const TX_RENAME_WHITEOUT: u64 = 23;
pub const TX_CLONE_RANGE: u64 = 24;

/// Bytes of a write record without its data; a record of exactly this length has its data in a
/// block of its own.
pub const WRITE_HEAD: usize = 192;

/// `lr_mask` of a [`LrSetAttr`]: Linux's `ATTR_*`, and OpenZFS's own for extended attributes' bits.
pub mod attr {
    pub const MODE: u64 = 1 << 0;
    pub const UID: u64 = 1 << 1;
    pub const GID: u64 = 1 << 2;
    pub const SIZE: u64 = 1 << 3;
    pub const ATIME: u64 = 1 << 4;
    pub const MTIME: u64 = 1 << 5;
    pub const CTIME: u64 = 1 << 6;
    /// An [`super::Xvattr`] follows.
    pub const XVATTR: u64 = 1 << 31;
}

/// What a record says happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Record<'a> {
    Create(LrCreate<'a>),
    Remove(LrRemove<'a>),
    Link(LrLink<'a>),
    Rename(LrRename<'a>),
    Write(LrWrite, Written<'a>),
    Truncate(LrTruncate),
    SetAttr(LrSetAttr<'a>),
    SetSaXattr(LrSetSaXattr<'a>),
    AclV0(LrAclV0),
    Acl(LrAcl<'a>),
    CloneRange(LrCloneRange),
}

/// Bytes written to a file or volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LrWrite {
    pub object: u64,
    /// Both in bytes.
    pub offset: u64,
    pub length: u64,
}

/// Where the bytes are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Written<'a> {
    /// In the record: `length` bytes and what pads them.
    Here(&'a [u8]),
    /// In a block that is the object's at the write's offset, rounded down to its size; a hole: all
    /// zero.
    Block { blkoff: u64, bp: Box<BlkPtr> },
    /// In the block of another record ([`TX_WRITE2`]).
    Elsewhere,
}

/// Bytes set free, or the size set where `length` is 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LrTruncate {
    pub object: u64,
    pub offset: u64,
    pub length: u64,
}

/// Attributes set; which of them, the mask says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LrSetAttr<'a> {
    pub object: u64,
    /// `attr::*`.
    pub mask: u64,
    /// Type and permissions.
    pub mode: u64,
    pub uid: u64,
    pub gid: u64,
    pub size: u64,
    /// Seconds and nanoseconds.
    pub atime: [u64; 2],
    pub mtime: [u64; 2],
    /// Present where the mask has [`attr::XVATTR`].
    pub xvattr: Option<Xvattr>,
    /// Of uid and gid.
    pub domains: Domains<'a>,
}

/// An extended attribute in the system attributes was set, or removed where there is no value.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LrSetSaXattr<'a> {
    pub object: u64,
    pub name: &'a [u8],
    /// Empty: removed.
    pub value: &'a [u8],
}

/// Blocks of another file put into this one.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LrCloneRange {
    pub object: u64,
    pub offset: u64,
    pub length: u64,
    pub block_size: u64,
    pub blocks: Vec<BlkPtr>,
}

impl<'a> Record<'a> {
    /// `bytes`: the whole record that `head` begins.
    pub fn decode(head: &RecordHead, bytes: &'a [u8], endian: Endian) -> Result<Record<'a>, Malformed> {
        let from = &mut Fields::new(slice_at(bytes, 0, bytes.len(), "zil record")?, endian)?;
        Ok(match head.txtype {
            TX_CREATE..=TX_SYMLINK | TX_CREATE_ACL..=TX_MKDIR_ACL_ATTR => {
                Record::Create(LrCreate::decode(head.txtype, from)?)
            }
            TX_REMOVE | TX_RMDIR => Record::Remove(LrRemove::decode(head.txtype, from)?),
            TX_LINK => Record::Link(LrLink::decode(from)?),
            TX_RENAME | TX_RENAME_EXCHANGE | TX_RENAME_WHITEOUT => {
                Record::Rename(LrRename::decode(head.txtype, from)?)
            }
            TX_WRITE | TX_WRITE2 => decode_write(head.txtype, bytes, from)?,
            TX_TRUNCATE => {
                Record::Truncate(LrTruncate { object: from.u64()?, offset: from.u64()?, length: from.u64()? })
            }
            TX_SETATTR => Record::SetAttr(LrSetAttr::decode(from)?),
            TX_ACL_V0 => Record::AclV0(LrAclV0::decode(from)?),
            TX_ACL => Record::Acl(LrAcl::decode(from)?),
            TX_SETSAXATTR => Record::SetSaXattr(LrSetSaXattr::decode(from)?),
            TX_CLONE_RANGE => Record::CloneRange(LrCloneRange::decode(from)?),
            _ => return Err(Malformed::at("type of zil record", 0)),
        })
    }

    /// The record's type, `TX_*`.
    pub fn txtype(&self) -> u64 {
        match self {
            Record::Create(create) => create.txtype(),
            Record::Remove(remove) => remove.txtype(),
            Record::Link(_) => TX_LINK,
            Record::Rename(rename) => rename.txtype(),
            Record::Write(_, Written::Elsewhere) => TX_WRITE2,
            Record::Write(..) => TX_WRITE,
            Record::Truncate(_) => TX_TRUNCATE,
            Record::SetAttr(_) => TX_SETATTR,
            Record::SetSaXattr(_) => TX_SETSAXATTR,
            Record::AclV0(_) => TX_ACL_V0,
            Record::Acl(_) => TX_ACL,
            Record::CloneRange(_) => TX_CLONE_RANGE,
        }
    }

    /// The whole record, little endian, its head with type and length; [`stamp`] gives it group and
    /// sequence number.
    pub fn encode(&self) -> Vec<u8> {
        self.encode_as(Endian::Little)
    }

    /// In either byte order.
    pub fn encode_as(&self, endian: Endian) -> Vec<u8> {
        let mut to = Maker::new(self.txtype(), endian);
        match self {
            Record::Create(create) => create.encode(&mut to),
            Record::Remove(remove) => remove.encode(&mut to),
            Record::Link(link) => link.encode(&mut to),
            Record::Rename(rename) => rename.encode(&mut to),
            Record::Write(write, written) => write.encode(written, &mut to),
            Record::Truncate(truncate) => to.words(&[truncate.object, truncate.offset, truncate.length]),
            Record::SetAttr(set) => set.encode(&mut to),
            Record::SetSaXattr(set) => set.encode(&mut to),
            Record::AclV0(acl) => acl.encode(&mut to),
            Record::Acl(acl) => acl.encode(&mut to),
            Record::CloneRange(clone) => clone.encode(&mut to),
        }
        to.finish()
    }
}

/// Records of these types belong to one object, and may be logged in another order than they
/// happened in; the object may be gone when they are replayed.
pub const fn is_out_of_order(txtype: u64) -> bool {
    matches!(
        txtype,
        TX_WRITE | TX_TRUNCATE | TX_SETATTR | TX_ACL_V0 | TX_ACL | TX_WRITE2 | TX_SETSAXATTR | TX_CLONE_RANGE
    )
}

/// The object that a record out of order belongs to; `None` for other records.
pub fn object_of(head: &RecordHead, record: &[u8], endian: Endian) -> Option<u64> {
    let belongs = is_out_of_order(head.txtype);
    belongs.then(|| u64_at(record, RECORD_HEAD, endian, "zil record").ok()).flatten()
}

/// Gives an encoded record its transaction group and sequence number.
///
/// # Panics
/// When it is shorter than a record's head.
pub fn stamp(record: &mut [u8], txg: u64, seq: u64) {
    record[16..24].copy_from_slice(&txg.to_le_bytes());
    record[24..32].copy_from_slice(&seq.to_le_bytes());
}

fn decode_write<'a>(txtype: u64, bytes: &[u8], from: &mut Fields<'a>) -> Result<Record<'a>, Malformed> {
    let write = LrWrite { object: from.u64()?, offset: from.u64()?, length: from.u64()? };
    let blkoff = from.u64()?;
    let bp = from.blkptr()?;
    let written = if txtype == TX_WRITE2 {
        Written::Elsewhere
    } else if bytes.len() == WRITE_HEAD {
        Written::Block { blkoff, bp: Box::new(bp) }
    } else {
        let len = usize::try_from(write.length).ok().filter(|len| *len > 0);
        let len = len.ok_or(Malformed::at("length of a write", 48))?;
        Written::Here(from.take(len)?)
    };
    Ok(Record::Write(write, written))
}

impl LrWrite {
    /// The record with its data, of which there must be `length` bytes.
    pub fn encode_with(&self, data: &[u8]) -> Vec<u8> {
        Record::Write(*self, Written::Here(data)).encode()
    }

    /// The record of a write whose data is in a block.
    pub fn encode_indirect(&self, blkoff: u64, bp: &BlkPtr) -> Vec<u8> {
        Record::Write(*self, Written::Block { blkoff, bp: Box::new(*bp) }).encode()
    }

    fn encode(&self, written: &Written<'_>, to: &mut Maker) {
        let hole = BlkPtr::default();
        let (blkoff, bp, data): (u64, &BlkPtr, &[u8]) = match written {
            Written::Here(data) => (0, &hole, data),
            Written::Block { blkoff, bp } => (*blkoff, bp, &[]),
            Written::Elsewhere => (0, &hole, &[]),
        };
        to.reserve(WRITE_HEAD + data.len() + 8);
        to.words(&[self.object, self.offset, self.length, blkoff]);
        to.blkptr(bp);
        to.bytes(data);
    }
}

impl<'a> LrSetAttr<'a> {
    fn decode(from: &mut Fields<'a>) -> Result<LrSetAttr<'a>, Malformed> {
        let mut set = LrSetAttr {
            object: from.u64()?,
            mask: from.u64()?,
            mode: from.u64()?,
            uid: from.u64()?,
            gid: from.u64()?,
            size: from.u64()?,
            atime: from.pair()?,
            mtime: from.pair()?,
            ..LrSetAttr::default()
        };
        if set.mask & attr::XVATTR != 0 {
            set.xvattr = Some(Xvattr::decode(from)?);
        }
        set.domains = Domains::of_owner(set.uid, set.gid, from)?;
        Ok(set)
    }

    fn encode(&self, to: &mut Maker) {
        to.words(&[self.object, self.mask, self.mode, self.uid, self.gid, self.size]);
        to.words(&self.atime);
        to.words(&self.mtime);
        if let Some(xvattr) = &self.xvattr {
            xvattr.encode(to);
        }
        self.domains.encode(to);
    }
}

impl<'a> LrSetSaXattr<'a> {
    fn decode(from: &mut Fields<'a>) -> Result<LrSetSaXattr<'a>, Malformed> {
        let (object, size) = (from.u64()?, from.u64()?);
        let name = from.string()?;
        let size = usize::try_from(size).map_err(|_| Malformed::at("size of an attribute", 40))?;
        Ok(LrSetSaXattr { object, name, value: from.take(size)? })
    }

    fn encode(&self, to: &mut Maker) {
        to.words(&[self.object, self.value.len() as u64]);
        to.string(self.name);
        to.bytes(self.value);
    }
}

impl LrCloneRange {
    fn decode(from: &mut Fields<'_>) -> Result<LrCloneRange, Malformed> {
        let mut clone = LrCloneRange {
            object: from.u64()?,
            offset: from.u64()?,
            length: from.u64()?,
            block_size: from.u64()?,
            blocks: Vec::new(),
        };
        let count = from.u64()?;
        if count > (from.remaining() / BlkPtr::SIZE) as u64 {
            return Err(Malformed::at("number of cloned blocks", 64));
        }
        clone.blocks.reserve_exact(count as usize);
        for _ in 0..count {
            clone.blocks.push(from.blkptr()?);
        }
        Ok(clone)
    }

    fn encode(&self, to: &mut Maker) {
        to.words(&[self.object, self.offset, self.length, self.block_size, self.blocks.len() as u64]);
        self.blocks.iter().for_each(|bp| to.blkptr(bp));
    }
}

#[cfg(test)]
mod tests;
