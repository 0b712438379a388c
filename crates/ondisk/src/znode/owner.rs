//! Whom a node's space is charged to, straight from its bonus: user, group and project lie at fixed
//! places behind the system attributes' header, whatever the layout, so that accounting needs no
//! layout table.
//!
//! Source: `zpl_get_file_info` in module/zfs/zfs_quota.c, the `SA_*_OFFSET`s of
//! include/sys/zfs_sa.h.

use crate::malformed::{Malformed, u64_at};
use crate::object_type::ObjectType;
use crate::sa::Header;
use crate::znode::{ZnodePhys, flags};

const GEN_OFFSET: usize = 16;
const UID_OFFSET: usize = 24;
const GID_OFFSET: usize = 32;
const FLAGS_OFFSET: usize = 48;
const PROJID_OFFSET: usize = 128;

/// Users and groups are FUIDs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct NodeOwner {
    pub uid: u64,
    pub gid: u64,
    /// 0 where the node has none.
    pub project: u64,
}

/// From a bonus of type SA; all zero for a node that has no attributes yet.
pub fn owner_of_sa(bonus: &[u8]) -> Result<NodeOwner, Malformed> {
    let Some(header) = Header::decode(bonus)? else { return Ok(NodeOwner::default()) };
    let word = |offset| u64_at(bonus, header.size + offset, header.endian, "owner in system attributes");
    let project = if word(FLAGS_OFFSET)? & flags::PROJID != 0 { word(PROJID_OFFSET)? } else { 0 };
    Ok(NodeOwner { uid: word(UID_OFFSET)?, gid: word(GID_OFFSET)?, project })
}

/// From a bonus of type ZNODE.
pub fn owner_of_znode(bonus: &[u8]) -> Result<NodeOwner, Malformed> {
    let znode = ZnodePhys::decode(bonus)?;
    Ok(NodeOwner { uid: znode.uid, gid: znode.gid, project: 0 })
}

/// What tells a node from others that had its number before, from its bonus; `None` in a bonus of
/// another type.
pub fn generation_of(bonus_type: ObjectType, bonus: &[u8]) -> Result<Option<u64>, Malformed> {
    match bonus_type {
        ObjectType::SA => {
            let Some(header) = Header::decode(bonus)? else { return Ok(Some(0)) };
            u64_at(bonus, header.size + GEN_OFFSET, header.endian, "generation in system attributes")
                .map(Some)
        }
        ObjectType::ZNODE => Ok(Some(ZnodePhys::decode(bonus)?.generation)),
        _ => Ok(None),
    }
}
