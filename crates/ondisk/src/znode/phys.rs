//! The znode of file systems before version 5: a fixed structure in the bonus.
//!
//! ```text
//!   0 atime  16 mtime  32 ctime  48 crtime (2 × u64 each)
//!  64 gen  72 mode  80 size  88 parent  96 links  104 xattr  112 rdev  120 flags  128 uid  136 gid
//! 144 zap, pad (4 × u64)   176 ACL (88 bytes)   264 a short symlink's target, or a scan stamp
//! ```
//! Source: include/sys/zfs_sa.h (`znode_phys_t`).

use super::acl;
use crate::malformed::{Endian, Malformed, Reader};
use crate::numbers::swap_numbers;

/// Bytes before what pads the bonus.
pub const SIZE: usize = 264;
const ACL_AT: usize = 176;

/// See the module. The ACL is left where it lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ZnodePhys {
    /// Seconds and nanoseconds.
    pub atime: [u64; 2],
    pub mtime: [u64; 2],
    pub ctime: [u64; 2],
    pub crtime: [u64; 2],
    pub generation: u64,
    pub mode: u64,
    pub size: u64,
    pub parent: u64,
    pub links: u64,
    /// Object of the directory of extended attributes, or 0.
    pub xattr: u64,
    pub rdev: u64,
    pub flags: u64,
    pub uid: u64,
    pub gid: u64,
}

impl ZnodePhys {
    pub fn decode(bonus: &[u8]) -> Result<ZnodePhys, Malformed> {
        if bonus.len() < SIZE {
            return Err(Malformed::at("znode", bonus.len()));
        }
        let mut from = Reader::new(bonus, Endian::Little);
        let mut word = || from.u64().ok_or(Malformed::at("znode", 0));
        Ok(ZnodePhys {
            atime: [word()?, word()?],
            mtime: [word()?, word()?],
            ctime: [word()?, word()?],
            crtime: [word()?, word()?],
            generation: word()?,
            mode: word()?,
            size: word()?,
            parent: word()?,
            links: word()?,
            xattr: word()?,
            rdev: word()?,
            flags: word()?,
            uid: word()?,
            gid: word()?,
        })
    }
}

/// Swaps the numbers of a bonus of the other byte order, those of the ACL with them.
pub(crate) fn swap(bonus: &mut [u8]) {
    let Some(znode) = bonus.get_mut(..SIZE) else { return };
    let (words, acl) = znode.split_at_mut(ACL_AT);
    swap_numbers::<8>(words);
    acl::swap_in_znode(acl);
}

/// A symlink's target of `size` bytes, where the bonus holds it.
pub fn inline_target(bonus: &[u8], size: u64) -> Option<&[u8]> {
    bonus.get(SIZE..)?.get(..usize::try_from(size).ok()?)
}
