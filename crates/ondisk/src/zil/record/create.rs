//! A file, directory, link or other node was made.
//!
//! ```text
//! create (104): 32 directory   40 object, slots in the top byte   48 mode   56 uid   64 gid   72 generation   80 crtime   96 rdev
//!               then [xvattr] [domains] name NUL [target NUL]
//! with ACL (144): 104 entries   112 domains   120 FUIDs   128 bytes   136 flags
//!               then [xvattr] entries FUIDs domains name NUL
//! ```

use crate::malformed::Malformed;

use super::acl::LoggedAcl;
use super::attrs::{Domains, Xvattr};
use super::fields::{Fields, Maker};
use super::{
    TX_CREATE, TX_CREATE_ACL, TX_CREATE_ACL_ATTR, TX_CREATE_ATTR, TX_MKDIR, TX_MKDIR_ACL, TX_MKDIR_ACL_ATTR,
    TX_MKDIR_ATTR, TX_MKXATTR, TX_SYMLINK,
};

/// Bits of an object's number; its dnode's slots, less one, are in the top byte.
const OBJECT_BITS: u32 = 48;
const SLOTS_SHIFT: u32 = 56;

/// What was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Created {
    /// Anything but the others; the mode says what.
    #[default]
    File,
    Dir,
    /// The hidden directory of a node's extended attributes; `dir` is the node, and there is no
    /// name.
    XattrDir,
    Symlink,
}

/// What a new node is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LoggedNode {
    pub object: u64,
    /// Of the object's dnode, 1 and more.
    pub slots: u16,
    /// Type and permissions.
    pub mode: u64,
    pub uid: u64,
    pub gid: u64,
    pub generation: u64,
    /// Seconds and nanoseconds.
    pub crtime: [u64; 2],
    /// As stored; of no meaning but for devices.
    pub rdev: u64,
}

/// See the module.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LrCreate<'a> {
    pub what: Created,
    pub dir: u64,
    pub node: LoggedNode,
    pub xvattr: Option<Xvattr>,
    pub acl: Option<LoggedAcl>,
    /// Of owner and group, or of everybody in the ACL too.
    pub domains: Domains<'a>,
    pub name: &'a [u8],
    /// Of a symbolic link.
    pub target: &'a [u8],
}

/// An object's number and its dnode's slots, as one number.
pub fn split_slots(word: u64) -> Result<(u64, u16), Malformed> {
    let object = word & ((1 << SLOTS_SHIFT) - 1);
    if object >> OBJECT_BITS != 0 {
        return Err(Malformed::at("number of a logged object", 0));
    }
    Ok((object, (word >> SLOTS_SHIFT) as u16 + 1))
}

pub fn join_slots(object: u64, slots: u16) -> u64 {
    u64::from(slots.saturating_sub(1)) << SLOTS_SHIFT | object
}

impl LoggedNode {
    pub(super) fn decode(from: &mut Fields<'_>) -> Result<LoggedNode, Malformed> {
        let (object, slots) = split_slots(from.u64()?)?;
        Ok(LoggedNode {
            object,
            slots,
            mode: from.u64()?,
            uid: from.u64()?,
            gid: from.u64()?,
            generation: from.u64()?,
            crtime: from.pair()?,
            rdev: from.u64()?,
        })
    }

    pub(super) fn encode(&self, to: &mut Maker) {
        to.words(&[join_slots(self.object, self.slots), self.mode, self.uid, self.gid]);
        to.words(&[self.generation, self.crtime[0], self.crtime[1], self.rdev]);
    }
}

impl<'a> LrCreate<'a> {
    pub(super) fn decode(txtype: u64, from: &mut Fields<'a>) -> Result<LrCreate<'a>, Malformed> {
        let mut create = LrCreate {
            what: what_of(txtype),
            dir: from.u64()?,
            node: LoggedNode::decode(from)?,
            ..LrCreate::default()
        };
        let has_acl = matches!(txtype, TX_CREATE_ACL | TX_CREATE_ACL_ATTR | TX_MKDIR_ACL | TX_MKDIR_ACL_ATTR);
        let has_attrs =
            matches!(txtype, TX_CREATE_ATTR | TX_CREATE_ACL_ATTR | TX_MKDIR_ATTR | TX_MKDIR_ACL_ATTR);
        let sizes = has_acl.then(|| from.words(5)).transpose()?;
        create.xvattr = has_attrs.then(|| Xvattr::decode(from)).transpose()?;
        if let Some(sizes) = sizes {
            let (acl, domains) = LoggedAcl::decode(&sizes, from)?;
            (create.acl, create.domains) = (Some(acl), domains);
        } else if txtype != TX_SYMLINK {
            create.domains = Domains::of_owner(create.node.uid, create.node.gid, from)?;
        }
        create.name = from.string()?;
        if create.what == Created::Symlink {
            create.target = from.string()?;
        }
        Ok(create)
    }

    /// `TX_*`.
    pub fn txtype(&self) -> u64 {
        match (self.what, self.acl.is_some(), self.xvattr.is_some()) {
            (Created::XattrDir, ..) => TX_MKXATTR,
            (Created::Symlink, ..) => TX_SYMLINK,
            (Created::File, false, false) => TX_CREATE,
            (Created::File, false, true) => TX_CREATE_ATTR,
            (Created::File, true, false) => TX_CREATE_ACL,
            (Created::File, true, true) => TX_CREATE_ACL_ATTR,
            (Created::Dir, false, false) => TX_MKDIR,
            (Created::Dir, false, true) => TX_MKDIR_ATTR,
            (Created::Dir, true, false) => TX_MKDIR_ACL,
            (Created::Dir, true, true) => TX_MKDIR_ACL_ATTR,
        }
    }

    pub(super) fn encode(&self, to: &mut Maker) {
        to.words(&[self.dir]);
        self.node.encode(to);
        if let Some(acl) = &self.acl {
            to.words(&acl.sizes(&self.domains));
        }
        if let Some(xvattr) = &self.xvattr {
            xvattr.encode(to);
        }
        if let Some(acl) = &self.acl {
            acl.encode(to);
        }
        self.domains.encode(to);
        to.string(self.name);
        if self.what == Created::Symlink {
            to.string(self.target);
        }
    }
}

fn what_of(txtype: u64) -> Created {
    match txtype {
        TX_MKDIR | TX_MKDIR_ACL | TX_MKDIR_ATTR | TX_MKDIR_ACL_ATTR => Created::Dir,
        TX_MKXATTR => Created::XattrDir,
        TX_SYMLINK => Created::Symlink,
        _ => Created::File,
    }
}
