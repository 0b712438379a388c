//! The ACL that a node is stored with: exactly what its mode says, for this engine knows
//! permissions as modes only.
//!
//! Where a node came with a richer ACL (from another system), it is kept until the node's mode is
//! changed. That is what OpenZFS does under `aclmode=discard`, its default.

use ondisk::sa::pack_words;
use ondisk::znode::acl::{self, encode, executable_by_all, trivial};
use ondisk::znode::attr::{self, ZplAttr};
use ondisk::znode::{VERSION_FUID, flags, kind, kind_of_mode};

/// `ZPL_DACL_COUNT` and `ZPL_DACL_ACES` for a mode.
pub fn for_mode(mode: u64, is_dir: bool) -> [(&'static ZplAttr, Vec<u8>); 2] {
    let aces = trivial((mode & 0o7777) as u32, is_dir);
    [(&attr::DACL_COUNT, pack_words(&[aces.len() as u64])), (&attr::DACL_ACES, encode(&aces))]
}

/// The same in a znode of a file system of this version.
pub fn in_znode(mode: u64, version: u64) -> Vec<u8> {
    let is_dir = kind_of_mode(mode) == kind::DIR;
    acl::in_znode(&trivial((mode & 0o7777) as u32, is_dir), version < VERSION_FUID)
}

/// What the flags say of such an ACL.
pub fn flags_for_mode(old: u64, mode: u64) -> u64 {
    let executable = if executable_by_all(mode as u32) { flags::NO_EXECS_DENIED } else { 0 };
    old & !(flags::ACL_WIDE | flags::NO_EXECS_DENIED) | flags::ACL_TRIVIAL | executable | old & KEPT
}

/// Marks that a change of mode leaves.
const KEPT: u64 = flags::ACL_AUTO_INHERIT | flags::ACL_DEFAULTED | flags::ACL_PROTECTED;
