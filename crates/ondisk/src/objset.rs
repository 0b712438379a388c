//! An object set: the meta dnode (whose data are all the other dnodes), the head of the intent log,
//! and the dnodes of the space accounting.
//!
//! ```text
//!     0 meta dnode (512)      512 ZIL header (192)     704 type (u64)     712 flags (u64)
//!   720 portable MAC (32)     752 local MAC (32)       784 zero
//!  1024 user-used dnode (512) 1536 group-used dnode (512)      present from 2048 bytes on
//!  2048 project-used dnode (512) and zero                      present with 4096 bytes
//! ```
//! Source: include/sys/dmu_objset.h.

use std::ops::Range;

use crate::dnode::{DnodePhys, SLOT_SIZE};
use crate::malformed::{Endian, Malformed, need, slice_at, u64_at};
use crate::zil::ZilHeader;

/// Without accounting; with user and group accounting; with project accounting.
pub const SIZE_V1: usize = 1024;
pub const SIZE_V2: usize = 2048;
pub const SIZE_V3: usize = 4096;

/// Bytes of either message authentication code.
pub const MAC_LEN: usize = 32;

/// User and group space is counted for every object.
pub const FLAG_USERACCOUNTING_COMPLETE: u64 = 1 << 0;
/// User and group object counts too.
pub const FLAG_USEROBJACCOUNTING_COMPLETE: u64 = 1 << 1;
/// Project space too.
pub const FLAG_PROJECTQUOTA_COMPLETE: u64 = 1 << 2;

/// The accounting objects are named by these numbers, though their dnodes lie in the object set
/// itself.
pub const USERUSED_OBJECT: u64 = u64::MAX;
pub const GROUPUSED_OBJECT: u64 = u64::MAX - 1;
pub const PROJECTUSED_OBJECT: u64 = u64::MAX - 2;
/// Prefix of the names that count objects rather than bytes in the accounting ZAPs.
pub const OBJACCT_PREFIX: &str = "obj-";

const META_AT: usize = 0;
const ZIL_AT: usize = 512;
const TYPE_AT: usize = 704;
const FLAGS_AT: usize = 712;
const PORTABLE_MAC_AT: usize = 720;
const LOCAL_MAC_AT: usize = 752;
const USERUSED_AT: usize = 1024;
const GROUPUSED_AT: usize = 1536;
const PROJECTUSED_AT: usize = 2048;

/// Offsets of the dnodes, one slot each. A shorter block has only the first of them.
pub(crate) const DNODES_AT: [usize; 4] = [META_AT, USERUSED_AT, GROUPUSED_AT, PROJECTUSED_AT];
/// The range that is all numbers of 64 bits. Bytes outside of it and of the dnodes are not swapped.
pub(crate) const NUMBERS: Range<usize> = ZIL_AT..PORTABLE_MAC_AT;

const _: () = assert!(ZIL_AT + ZilHeader::SIZE == TYPE_AT);

/// What an object set is for (`dmu_objset_type_t`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ObjsetType {
    None,
    /// The meta object set of a pool.
    Meta,
    /// A file system.
    Zfs,
    /// A volume.
    Zvol,
    /// For OpenZFS's own tests (`ztest`).
    Other,
}

impl ObjsetType {
    const ALL: [ObjsetType; 5] =
        [ObjsetType::None, ObjsetType::Meta, ObjsetType::Zfs, ObjsetType::Zvol, ObjsetType::Other];

    pub const fn number(self) -> u64 {
        self as u64
    }

    pub fn from_number(number: u64) -> Option<ObjsetType> {
        ObjsetType::ALL.get(usize::try_from(number).ok()?).copied()
    }
}

/// How large the object set's block is, thus which accounting dnodes it has room for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ObjsetSize {
    V1,
    V2,
    V3,
}

impl ObjsetSize {
    pub const fn bytes(self) -> usize {
        match self {
            ObjsetSize::V1 => SIZE_V1,
            ObjsetSize::V2 => SIZE_V2,
            ObjsetSize::V3 => SIZE_V3,
        }
    }
}

/// An object set's root block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjsetPhys {
    pub size: ObjsetSize,
    pub meta_dnode: DnodePhys,
    pub zil_header: ZilHeader,
    pub objset_type: ObjsetType,
    /// `FLAG_*`.
    pub flags: u64,
    pub portable_mac: [u8; MAC_LEN],
    pub local_mac: [u8; MAC_LEN],
    /// `None` until something has been counted, or where the block has no room.
    pub userused_dnode: Option<DnodePhys>,
    pub groupused_dnode: Option<DnodePhys>,
    pub projectused_dnode: Option<DnodePhys>,
}

impl ObjsetPhys {
    /// From a whole block; its length tells the layout.
    pub fn decode(bytes: &[u8]) -> Result<ObjsetPhys, Malformed> {
        let size = match bytes.len() {
            SIZE_V3.. => ObjsetSize::V3,
            SIZE_V2.. => ObjsetSize::V2,
            SIZE_V1.. => ObjsetSize::V1,
            short => return Err(Malformed::at("objset size", short)),
        };
        let dnode = |at: usize, needs: ObjsetSize| {
            if size < needs { Ok(None) } else { dnode_at(bytes, at) }
        };
        let type_number = u64_at(bytes, TYPE_AT, Endian::Little, "objset type")?;
        Ok(ObjsetPhys {
            size,
            meta_dnode: dnode(META_AT, ObjsetSize::V1)?.ok_or(Malformed::at("objset meta dnode", META_AT))?,
            zil_header: ZilHeader::decode(slice_at(bytes, ZIL_AT, ZilHeader::SIZE, "zil header")?)
                .map_err(|e| e.within(ZIL_AT))?,
            objset_type: ObjsetType::from_number(type_number).ok_or(Malformed::at("objset type", TYPE_AT))?,
            flags: u64_at(bytes, FLAGS_AT, Endian::Little, "objset flags")?,
            portable_mac: need(bytes, PORTABLE_MAC_AT, "objset portable mac")?,
            local_mac: need(bytes, LOCAL_MAC_AT, "objset local mac")?,
            userused_dnode: dnode(USERUSED_AT, ObjsetSize::V2)?,
            groupused_dnode: dnode(GROUPUSED_AT, ObjsetSize::V2)?,
            projectused_dnode: dnode(PROJECTUSED_AT, ObjsetSize::V3)?,
        })
    }

    /// The whole block. Panics when an accounting dnode has no place in a block of this size.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = vec![0; self.size.bytes()];
        let mut put = |at: usize, part: &[u8]| bytes[at..][..part.len()].copy_from_slice(part);
        put(ZIL_AT, &self.zil_header.encode());
        put(TYPE_AT, &self.objset_type.number().to_le_bytes());
        put(FLAGS_AT, &self.flags.to_le_bytes());
        put(PORTABLE_MAC_AT, &self.portable_mac);
        put(LOCAL_MAC_AT, &self.local_mac);
        let dnodes = [
            (META_AT, Some(&self.meta_dnode)),
            (USERUSED_AT, self.userused_dnode.as_ref()),
            (GROUPUSED_AT, self.groupused_dnode.as_ref()),
            (PROJECTUSED_AT, self.projectused_dnode.as_ref()),
        ];
        for (at, dnode) in dnodes {
            if let Some(dnode) = dnode {
                assert_eq!(dnode.slots(), 1, "a dnode of an object set has one slot");
                put(at, &dnode.encode());
            }
        }
        bytes
    }
}

fn dnode_at(bytes: &[u8], at: usize) -> Result<Option<DnodePhys>, Malformed> {
    DnodePhys::decode(slice_at(bytes, at, SLOT_SIZE, "objset dnode")?).map_err(|e| e.within(at))
}

#[cfg(test)]
mod tests;
