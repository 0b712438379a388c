//! What creations and changes of attributes may carry beside the POSIX attributes: flags, and who
//! owners are elsewhere.
//!
//! ```text
//! xvattr:  0 words n   4 … which are set (n words)   then: the flags (u64)   creation time   32 bytes: project or scan stamp
//! ```
//! A *FUID* is a number whose upper half says which of the domains named in the record its lower
//! half belongs to; 0 is this system's own. Source: `lr_attr_t` in include/sys/zil.h,
//! include/sys/xvattr.h, include/sys/zfs_fuid.h.

use crate::malformed::{Endian, Malformed};

use super::fields::{Fields, Maker};

/// Bits of [`Xvattr`]'s first word, and of its flags.
pub mod xat {
    pub const CREATETIME: u32 = 0x1;
    pub const ARCHIVE: u32 = 0x2;
    pub const SYSTEM: u32 = 0x4;
    pub const READONLY: u32 = 0x8;
    pub const HIDDEN: u32 = 0x10;
    pub const NOUNLINK: u32 = 0x20;
    pub const IMMUTABLE: u32 = 0x40;
    pub const APPENDONLY: u32 = 0x80;
    pub const NODUMP: u32 = 0x100;
    pub const OPAQUE: u32 = 0x200;
    pub const AV_QUARANTINED: u32 = 0x400;
    pub const AV_MODIFIED: u32 = 0x800;
    pub const AV_SCANSTAMP: u32 = 0x1000;
    pub const REPARSE: u32 = 0x2000;
    pub const OFFLINE: u32 = 0x8000;
    pub const SPARSE: u32 = 0x1_0000;
    pub const PROJINHERIT: u32 = 0x2_0000;
    pub const PROJID: u32 = 0x4_0000;
}

/// Words in the map of what is set, as all of OpenZFS writes it.
pub const MAP_WORDS: usize = 3;

/// Optional attributes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Xvattr {
    /// Which are set: `xat::*` in the first word.
    pub map: Vec<u32>,
    /// Their values, as far as they are bits: `xat::*`.
    pub flags: u64,
    pub crtime: [u64; 2],
    /// The project's number in the first eight bytes, or a virus scanner's stamp.
    pub stamp: [u8; 32],
}

impl Xvattr {
    /// A project given to a node, and whether it hands that on.
    pub fn of_project(project: u64, inherit: bool) -> Xvattr {
        let mut map = vec![0; MAP_WORDS];
        map[0] = xat::PROJID | xat::PROJINHERIT;
        let mut stamp = [0; 32];
        stamp[..8].copy_from_slice(&project.to_le_bytes());
        let flags = if inherit { u64::from(xat::PROJINHERIT) } else { 0 };
        Xvattr { map, flags, crtime: [0; 2], stamp }
    }

    /// Of these flags those that are `on`, the others off.
    pub fn of_flags(which: u32, on: u32) -> Xvattr {
        let mut map = vec![0; MAP_WORDS];
        map[0] = which;
        Xvattr { map, flags: on.into(), crtime: [0; 2], stamp: [0; 32] }
    }

    /// Whether this attribute is set at all.
    pub fn sets(&self, bit: u32) -> bool {
        self.map.first().is_some_and(|word| word & bit != 0)
    }

    /// The project, where it is set.
    pub fn project(&self) -> Option<u64> {
        let number = self.stamp.first_chunk().map(|bytes| u64::from_le_bytes(*bytes));
        number.filter(|_| self.sets(xat::PROJID))
    }

    pub(super) fn decode(from: &mut Fields<'_>) -> Result<Xvattr, Malformed> {
        let words = from.u32()?;
        if words == 0 || words as usize > from.remaining() / 4 {
            return Err(Malformed::at("map of attributes", 0));
        }
        let map = (0..words).map(|_| from.u32()).collect::<Result<_, _>>()?;
        let mut found = Xvattr { map, flags: from.u64()?, crtime: from.pair()?, stamp: [0; 32] };
        found.stamp.copy_from_slice(from.take(32)?);
        found.turn_project(from.endian());
        Ok(found)
    }

    pub(super) fn encode(&self, to: &mut Maker) {
        to.u32(self.map.len() as u32);
        self.map.iter().for_each(|word| to.u32(*word));
        to.words(&[self.flags, self.crtime[0], self.crtime[1]]);
        let mut turned = self.clone();
        turned.turn_project(to.endian());
        to.bytes(&turned.stamp);
    }

    fn turn_project(&mut self, endian: Endian) {
        if endian == Endian::Big && self.sets(xat::PROJID) {
            self.stamp[..8].reverse();
        }
    }
}

/// Names of the domains that a record's FUIDs count from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Domains<'a> {
    /// Each ends with a NUL.
    names: &'a [u8],
}

/// Which domain of the record a FUID belongs to; 0: this system.
pub const fn domain_of(fuid: u64) -> u64 {
    fuid >> 32
}

impl<'a> Domains<'a> {
    pub(super) fn decode(count: u64, from: &mut Fields<'a>) -> Result<Domains<'a>, Malformed> {
        Ok(Domains { names: from.strings(count)? })
    }

    /// Those of a record that does not say how many: one for the owner, one for the group if it is
    /// another.
    pub(super) fn of_owner(uid: u64, gid: u64, from: &mut Fields<'a>) -> Result<Domains<'a>, Malformed> {
        let (uid, gid) = (domain_of(uid), domain_of(gid));
        Domains::decode(u64::from(uid > 0) + u64::from(gid > 0 && gid != uid), from)
    }

    /// `names`: each with its NUL.
    pub const fn new(names: &'a [u8]) -> Domains<'a> {
        Domains { names }
    }

    pub const fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    pub(super) fn count(&self) -> u64 {
        self.names.iter().filter(|byte| **byte == 0).count() as u64
    }

    pub(super) fn encode(&self, to: &mut Maker) {
        to.bytes(self.names);
    }
}
