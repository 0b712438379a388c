//! Files, directories and links: the ZPL's facts.
//!
//! A file system is an object set of type ZPL whose object 1 is the *master node*, a ZAP that names
//! the rest. A directory is a ZAP from names to [`Dirent`]s; a node's attributes are system
//! attributes ([`attr`]), or in file systems before version 5 a fixed structure in the bonus
//! ([`phys`]).
//!
//! Sources: include/sys/zfs_znode.h, include/sys/zfs_sa.h, include/sys/zfs_fuid.h,
//! include/sys/fs/zfs.h.

pub mod acl;
pub mod attr;
pub mod owner;
pub mod phys;
pub mod plain;

pub use acl::swap_aces;
pub use owner::{NodeOwner, generation_of, owner_of_sa, owner_of_znode};
pub use phys::ZnodePhys;

/// Object number of the master node.
pub const MASTER_NODE: u64 = 1;

/// Names in the master node. Properties fixed at creation are there under their own names.
pub mod master {
    pub const ROOT: &str = "ROOT";
    pub const VERSION: &str = "VERSION";
    /// The unlinked set: a ZAP of objects that wait to be freed.
    pub const UNLINKED_SET: &str = "DELETE_QUEUE";
    /// Master object of the system attributes.
    pub const SA_ATTRS: &str = "SA_ATTRS";
    pub const FUID_TABLES: &str = "FUID";
    pub const SHARES_DIR: &str = "SHARES";
    pub const NORMALIZATION: &str = "normalization";
    pub const UTF8ONLY: &str = "utf8only";
    pub const CASESENSITIVITY: &str = "casesensitivity";
}

/// ZPL versions: the first, where directory entries got types, users numbers of 64 bits and nodes
/// further flags, space is counted by user, and nodes have system attributes.
pub const VERSION_INITIAL: u64 = 1;
pub const VERSION_DIRENT_TYPE: u64 = 2;
pub const VERSION_FUID: u64 = 3;
pub const VERSION_USERSPACE: u64 = 4;
pub const VERSION_SA: u64 = 5;
/// The newest.
pub const VERSION: u64 = 5;

/// `casesensitivity` as it is stored.
pub const CASE_SENSITIVE: u64 = 0;
pub const CASE_INSENSITIVE: u64 = 1;
pub const CASE_MIXED: u64 = 2;

/// Values of `normalization`, and bits of a ZAP's normalisation flags (`U8_TEXTPREP_*`,
/// include/sys/u8_textprep.h).
pub mod norm {
    pub const TOUPPER: u64 = 0x2;
    /// Decomposition, canonical or of compatibility characters too, and composition after either.
    pub const CANON_DECOMP: u64 = 0x10;
    pub const COMPAT_DECOMP: u64 = 0x20;
    pub const CANON_COMP: u64 = 0x40;
    pub const NFD: u64 = CANON_DECOMP;
    pub const NFC: u64 = CANON_DECOMP | CANON_COMP;
    pub const NFKD: u64 = COMPAT_DECOMP;
    pub const NFKC: u64 = COMPAT_DECOMP | CANON_COMP;
}

/// Persistent flags of a node (`ZPL_FLAGS`).
pub mod flags {
    /// An extended attribute, or the directory of them.
    pub const XATTR: u64 = 0x1;
    pub const INHERIT_ACE: u64 = 0x2;
    pub const ACL_TRIVIAL: u64 = 0x4;
    pub const ACL_OBJ_ACE: u64 = 0x8;
    pub const ACL_PROTECTED: u64 = 0x10;
    pub const ACL_DEFAULTED: u64 = 0x20;
    pub const ACL_AUTO_INHERIT: u64 = 0x40;
    pub const BONUS_SCANSTAMP: u64 = 0x80;
    /// Execution is granted to everybody.
    pub const NO_EXECS_DENIED: u64 = 0x100;

    pub const READONLY: u64 = 1 << 32;
    pub const HIDDEN: u64 = 1 << 33;
    pub const SYSTEM: u64 = 1 << 34;
    pub const ARCHIVE: u64 = 1 << 35;
    pub const IMMUTABLE: u64 = 1 << 36;
    pub const NOUNLINK: u64 = 1 << 37;
    pub const APPENDONLY: u64 = 1 << 38;
    pub const NODUMP: u64 = 1 << 39;
    pub const OPAQUE: u64 = 1 << 40;
    pub const AV_QUARANTINED: u64 = 1 << 41;
    pub const AV_MODIFIED: u64 = 1 << 42;
    pub const REPARSE: u64 = 1 << 43;
    pub const OFFLINE: u64 = 1 << 44;
    pub const SPARSE: u64 = 1 << 45;
    /// New nodes inherit the project.
    pub const PROJINHERIT: u64 = 1 << 46;
    /// The node has a project attribute.
    pub const PROJID: u64 = 1 << 47;

    /// What an ACL says about itself.
    pub const ACL_WIDE: u64 =
        ACL_AUTO_INHERIT | ACL_DEFAULTED | ACL_PROTECTED | ACL_TRIVIAL | INHERIT_ACE | ACL_OBJ_ACE;
}

/// Types of nodes: the top four bits of the mode's low sixteen, and of a directory entry.
pub mod kind {
    pub const FIFO: u8 = 1;
    pub const CHAR: u8 = 2;
    pub const DIR: u8 = 4;
    pub const BLOCK: u8 = 6;
    pub const FILE: u8 = 8;
    pub const SYMLINK: u8 = 10;
    pub const SOCKET: u8 = 12;
}

/// The kind in a mode.
pub const fn kind_of_mode(mode: u64) -> u8 {
    (mode >> 12 & 0xf) as u8
}

/// What a directory says of a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Dirent {
    pub object: u64,
    /// [`kind`]; 0 in file systems of version 1.
    pub kind: u8,
}

impl Dirent {
    pub const fn decode(value: u64) -> Dirent {
        Dirent { object: value & ((1 << 48) - 1), kind: (value >> 60) as u8 }
    }

    pub const fn encode(self) -> u64 {
        self.object | (self.kind as u64) << 60
    }
}

/// A device number as OpenZFS on Linux stores it: the kernel's own, 12 bits of major over 20 of
/// minor.
pub const fn encode_rdev(major: u32, minor: u32) -> u64 {
    (major as u64 & 0xfff) << 20 | (minor as u64 & 0xf_ffff)
}

/// (major, minor). Numbers with a high half were written by systems that keep 32 bits of each.
pub const fn decode_rdev(rdev: u64) -> (u32, u32) {
    if rdev >> 32 != 0 {
        return ((rdev >> 32) as u32, rdev as u32);
    }
    ((rdev >> 20) as u32, rdev as u32 & 0xf_ffff)
}

#[cfg(test)]
mod tests;
