//! Names were removed, added or moved.
//!
//! ```text
//! remove, rmdir (40): 32 directory   40 name NUL
//! link (48):          32 directory   40 object   48 name NUL
//! rename (48):        32 from        40 to   48 name NUL new name NUL
//! whiteout (112):     48 object, slots   56 mode   64 uid   72 gid   80 generation   88 crtime   104 rdev   112 names
//! ```

use crate::malformed::Malformed;

use super::create::LoggedNode;
use super::fields::{Fields, Maker};
use super::{TX_REMOVE, TX_RENAME, TX_RENAME_EXCHANGE, TX_RENAME_WHITEOUT, TX_RMDIR};

/// A name was removed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LrRemove<'a> {
    pub is_dir: bool,
    pub dir: u64,
    pub name: &'a [u8],
}

/// An object got another name.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LrLink<'a> {
    pub dir: u64,
    pub object: u64,
    pub name: &'a [u8],
}

/// A name moved.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LrRename<'a> {
    pub kind: RenameKind,
    /// Object of the directory it was in.
    pub from_dir: u64,
    pub to_dir: u64,
    pub from: &'a [u8],
    pub to: &'a [u8],
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum RenameKind {
    /// What had the new name lost it.
    #[default]
    Replace,
    /// The two names changed places.
    Exchange,
    /// A device 0:0 was made under the old name, for overlay file systems.
    Whiteout(LoggedNode),
}

impl<'a> LrRemove<'a> {
    pub(super) fn decode(txtype: u64, from: &mut Fields<'a>) -> Result<LrRemove<'a>, Malformed> {
        Ok(LrRemove { is_dir: txtype == TX_RMDIR, dir: from.u64()?, name: from.string()? })
    }

    pub(super) fn txtype(&self) -> u64 {
        if self.is_dir { TX_RMDIR } else { TX_REMOVE }
    }

    pub(super) fn encode(&self, to: &mut Maker) {
        to.words(&[self.dir]);
        to.string(self.name);
    }
}

impl<'a> LrLink<'a> {
    pub(super) fn decode(from: &mut Fields<'a>) -> Result<LrLink<'a>, Malformed> {
        Ok(LrLink { dir: from.u64()?, object: from.u64()?, name: from.string()? })
    }

    pub(super) fn encode(&self, to: &mut Maker) {
        to.words(&[self.dir, self.object]);
        to.string(self.name);
    }
}

impl<'a> LrRename<'a> {
    pub(super) fn decode(txtype: u64, from: &mut Fields<'a>) -> Result<LrRename<'a>, Malformed> {
        let (from_dir, to_dir) = (from.u64()?, from.u64()?);
        let kind = match txtype {
            TX_RENAME_EXCHANGE => RenameKind::Exchange,
            TX_RENAME_WHITEOUT => RenameKind::Whiteout(LoggedNode::decode(from)?),
            _ => RenameKind::Replace,
        };
        Ok(LrRename { kind, from_dir, to_dir, from: from.string()?, to: from.string()? })
    }

    pub(super) fn txtype(&self) -> u64 {
        match self.kind {
            RenameKind::Replace => TX_RENAME,
            RenameKind::Exchange => TX_RENAME_EXCHANGE,
            RenameKind::Whiteout(_) => TX_RENAME_WHITEOUT,
        }
    }

    pub(super) fn encode(&self, to: &mut Maker) {
        to.words(&[self.from_dir, self.to_dir]);
        if let RenameKind::Whiteout(whiteout) = &self.kind {
            whiteout.encode(to);
        }
        to.string(self.from);
        to.string(self.to);
    }
}
