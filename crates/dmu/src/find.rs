//! One block of an object set that is not open, found by its place: for whoever remembers places,
//! as the error log does.
//!
//! It reads the blocks on the way and no others, and keeps nothing.

use ondisk::dnode::{DnodePhys, SLOTS_PER_BLOCK};
use ondisk::objset::{GROUPUSED_OBJECT, ObjsetPhys, PROJECTUSED_OBJECT, USERUSED_OBJECT};
use ondisk::{BlkPtr, Endian};

use crate::DmuError;
use crate::objset::{META_OBJECT, dnode_in};
use crate::store::BlockStore;
use crate::traverse::{Part, read_below};

/// The pointer to a part of an object in the object set at `root`; `None` if there is no such block
/// (any more). An error says that a block on the way cannot be had.
pub fn pointer_to(
    store: &dyn BlockStore,
    root: &BlkPtr,
    object: u64,
    part: Part,
) -> Result<Option<BlkPtr>, DmuError> {
    if root.is_hole() || part == Part::Root {
        return Ok((!root.is_hole()).then_some(*root));
    }
    let block = read_below(store, root, META_OBJECT)?;
    let corrupt = DmuError::Corrupt { object: META_OBJECT, block: 0 };
    let phys = ObjsetPhys::decode(&block).map_err(|_| corrupt)?;
    let dnode = match object {
        META_OBJECT => Some(phys.meta_dnode),
        USERUSED_OBJECT => phys.userused_dnode,
        GROUPUSED_OBJECT => phys.groupused_dnode,
        PROJECTUSED_OBJECT => phys.projectused_dnode,
        _ => dnode_of(store, &phys.meta_dnode, object)?,
    };
    let Some(dnode) = dnode else { return Ok(None) };
    match part {
        Part::Tree { level, blkid } => descend(store, object, &dnode, level, blkid),
        Part::Spill | Part::Root => Ok(dnode.spill.filter(|bp| !bp.is_hole())),
    }
}

fn dnode_of(store: &dyn BlockStore, meta: &DnodePhys, object: u64) -> Result<Option<DnodePhys>, DmuError> {
    match descend(store, META_OBJECT, meta, 0, object / SLOTS_PER_BLOCK as u64)? {
        Some(bp) => dnode_in(&*read_below(store, &bp, META_OBJECT)?, object),
        None => Ok(None),
    }
}

fn descend(
    store: &dyn BlockStore,
    object: u64,
    dnode: &DnodePhys,
    level: u8,
    blkid: u64,
) -> Result<Option<BlkPtr>, DmuError> {
    let epbs = dnode.epbs();
    let above = |at: u8| blkid.checked_shr(u32::from(at - level) * epbs).unwrap_or(0);
    let Some(top) = dnode.nlevels.checked_sub(1).filter(|top| *top >= level) else { return Ok(None) };
    let index = usize::try_from(above(top)).ok();
    let Some(mut bp) = index.and_then(|index| dnode.blkptrs.get(index)).copied() else { return Ok(None) };
    for at in (level..top).rev() {
        if bp.is_hole() {
            return Ok(None);
        }
        let block = read_below(store, &bp, object)?;
        let corrupt = DmuError::Corrupt { object, block: above(at + 1) };
        if block.len() as u64 != dnode.indirect_block_size() {
            return Err(corrupt);
        }
        let index = (above(at) & ((1 << epbs) - 1)) as usize;
        bp = BlkPtr::decode_at(&block, index, Endian::Little).map_err(|_| corrupt)?;
    }
    Ok((!bp.is_hole()).then_some(bp))
}
