//! The system attributes of the ZPL, by name. Numbers 0 to 15 are those of the old znode; the rest
//! get the next free number in this order when an object set first registers them.
//!
//! Source: `zfs_attr_table` in module/zfs/zfs_sa.c, `sa_legacy_attrs` in module/zfs/sa.c.

use crate::sa::{AttrInfo, Swap};

/// How one is registered. `number` is where it stands in a file system that OpenZFS 2.1 made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ZplAttr {
    pub name: &'static str,
    pub info: AttrInfo,
}

const fn words(number: u16, name: &'static str, count: u16) -> ZplAttr {
    ZplAttr { name, info: AttrInfo { number, length: count * 8, swap: Swap::U64 } }
}

const fn bytes(number: u16, name: &'static str, length: u16) -> ZplAttr {
    ZplAttr { name, info: AttrInfo { number, length, swap: Swap::U8 } }
}

pub const ATIME: ZplAttr = words(0, "ZPL_ATIME", 2);
pub const MTIME: ZplAttr = words(1, "ZPL_MTIME", 2);
pub const CTIME: ZplAttr = words(2, "ZPL_CTIME", 2);
pub const CRTIME: ZplAttr = words(3, "ZPL_CRTIME", 2);
pub const GEN: ZplAttr = words(4, "ZPL_GEN", 1);
pub const MODE: ZplAttr = words(5, "ZPL_MODE", 1);
pub const SIZE: ZplAttr = words(6, "ZPL_SIZE", 1);
pub const PARENT: ZplAttr = words(7, "ZPL_PARENT", 1);
pub const LINKS: ZplAttr = words(8, "ZPL_LINKS", 1);
pub const XATTR: ZplAttr = words(9, "ZPL_XATTR", 1);
pub const RDEV: ZplAttr = words(10, "ZPL_RDEV", 1);
pub const FLAGS: ZplAttr = words(11, "ZPL_FLAGS", 1);
pub const UID: ZplAttr = words(12, "ZPL_UID", 1);
pub const GID: ZplAttr = words(13, "ZPL_GID", 1);
pub const PAD: ZplAttr = words(14, "ZPL_PAD", 4);
pub const ZNODE_ACL: ZplAttr = bytes(15, "ZPL_ZNODE_ACL", 88);
pub const DACL_COUNT: ZplAttr = words(16, "ZPL_DACL_COUNT", 1);
pub const SYMLINK: ZplAttr = bytes(17, "ZPL_SYMLINK", 0);
pub const SCANSTAMP: ZplAttr = bytes(18, "ZPL_SCANSTAMP", 32);
pub const DACL_ACES: ZplAttr =
    ZplAttr { name: "ZPL_DACL_ACES", info: AttrInfo { number: 19, length: 0, swap: Swap::Acl } };
pub const DXATTR: ZplAttr = bytes(20, "ZPL_DXATTR", 0);
pub const PROJID: ZplAttr = words(21, "ZPL_PROJID", 1);

/// All of them, in the order of registration.
pub const ALL: [ZplAttr; 22] = [
    ATIME, MTIME, CTIME, CRTIME, GEN, MODE, SIZE, PARENT, LINKS, XATTR, RDEV, FLAGS, UID, GID, PAD,
    ZNODE_ACL, DACL_COUNT, SYMLINK, SCANSTAMP, DACL_ACES, DXATTR, PROJID,
];

/// So many of them have fixed numbers, and are attributes of layout 0.
pub const LEGACY_COUNT: usize = 16;
