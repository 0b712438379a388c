//! Applying freed ranges to a tree: every block below is given up, pointers become holes that know
//! their birth.

use std::ops::Range;
use std::sync::Arc;

use env::IoClass;
use ondisk::BlkPtr;

use super::Cx;
use super::tree::{SyncTree, pointer_at};
use crate::DmuError;
use crate::error::read_failed;
use crate::store::{Block, Keep};
use crate::tree::{block_above, check_pointer, first_below};

/// Indirect blocks asked for ahead of a walk.
const AHEAD: usize = 32;

/// Frees data blocks, as far as there are any.
pub fn free_range(cx: &Cx<'_>, tree: &mut SyncTree, blocks: Range<u64>) -> Result<(), DmuError> {
    let last = blocks.end.saturating_sub(1).min(tree.phys.maxblkid);
    if blocks.start > last {
        return Ok(());
    }
    let top = tree.phys.nlevels - 1;
    let epbs = tree.phys.epbs();
    let roots = tree.phys.blkptrs.len() as u64;
    for root in block_above(blocks.start, top, epbs)..=block_above(last, top, epbs).min(roots - 1) {
        free_below(cx, tree, top, root, blocks.start, last)?;
    }
    Ok(())
}

/// Frees what lies below one block and within `first..=last`.
fn free_below(
    cx: &Cx<'_>,
    tree: &mut SyncTree,
    level: u8,
    blkid: u64,
    first: u64,
    last: u64,
) -> Result<(), DmuError> {
    let loaded = tree.nodes.contains_key(&(level, blkid));
    let bp = tree.get(level, blkid);
    if bp.is_hole() && !loaded {
        return Ok(());
    }
    let epbs = tree.phys.epbs();
    let start = first_below(blkid, level, epbs).unwrap_or(u64::MAX);
    let end = first_below(blkid + 1, level, epbs).map_or(u64::MAX, |end| end - 1);
    if first <= start && end.min(tree.phys.maxblkid) <= last {
        return free_whole(cx, tree, level, blkid);
    }
    if !loaded {
        let block = read(cx, tree.object, &bp, blkid)?;
        tree.load(level, blkid, Some(block))?;
    }
    let from = block_above(first.max(start), level - 1, epbs);
    let to = block_above(last.min(end), level - 1, epbs);
    for child in from..=to {
        if level > 1 || !tree.get(0, child).is_hole() {
            free_below(cx, tree, level - 1, child, first, last)?;
        }
    }
    Ok(())
}

/// Frees a block and all below it.
fn free_whole(cx: &Cx<'_>, tree: &mut SyncTree, level: u8, blkid: u64) -> Result<(), DmuError> {
    let bp = tree.get(level, blkid);
    if level > 0 {
        let epbs = tree.phys.epbs();
        let node = tree.nodes.remove(&(level, blkid));
        if node.is_some() || !bp.is_hole() {
            let loaded_below = tree.nodes.range((1, 0)..(level, 0)).next().is_some();
            let block = match node {
                Some(node) => node.block,
                None => read(cx, tree.object, &bp, blkid)?,
            };
            if level > 1 && loaded_below {
                // Some blocks below are newer in memory than on disk: go down through them.
                tree.load(level, blkid, Some(block))?;
                for child in blkid << epbs..(blkid + 1) << epbs {
                    let below = tree.nodes.contains_key(&(level - 1, child));
                    if below || !tree.get(level - 1, child).is_hole() {
                        free_whole(cx, tree, level - 1, child)?;
                    }
                }
                tree.nodes.remove(&(level, blkid));
            } else {
                kill_children(cx, tree, &block, level)?;
            }
        }
    }
    if !bp.is_hole() {
        cx.kill(tree, &bp);
        let hole = cx.punched(&bp);
        tree.set(level, blkid, &hole);
    }
    Ok(())
}

/// Gives up everything an indirect block of `level` leads to.
fn kill_children(cx: &Cx<'_>, tree: &mut SyncTree, block: &Block, level: u8) -> Result<(), DmuError> {
    let count = block.len() / BlkPtr::SIZE;
    let mut asked = 0;
    for index in 0..count {
        let bp = pointer_at(block, index);
        if level > 1 && index >= asked {
            asked = (index + AHEAD).min(count);
            let ahead = (index..asked).map(|i| pointer_at(block, i));
            let ahead = ahead.filter(|bp| !bp.is_hole() && bp.validate().is_ok()).collect();
            cx.core.store.prefetch(ahead, Keep::ALL);
        }
        if bp.is_hole() {
            continue;
        }
        if level > 1 {
            let child = read(cx, tree.object, &bp, index as u64)?;
            kill_children(cx, tree, &child, level - 1)?;
        }
        cx.kill(tree, &bp);
    }
    Ok(())
}

fn read(cx: &Cx<'_>, object: u64, bp: &BlkPtr, blkid: u64) -> Result<Arc<Block>, DmuError> {
    check_pointer(bp, object, blkid)?;
    let block =
        cx.core.store.read(bp, IoClass::AsyncRead, Keep::ALL).map_err(|e| read_failed(e, object, blkid))?;
    if block.len() % BlkPtr::SIZE == 0 { Ok(block) } else { Err(DmuError::Corrupt { object, block: blkid }) }
}
