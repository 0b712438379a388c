//! How large a file's blocks are, and how large amounts are given back.
//!
//! A file of one block has a block as long as the file, in sectors of 512 bytes, until it outgrows
//! the record size; from then on it has blocks of the record size for ever. Source: `zfs_write` and
//! `zfs_extend` in module/zfs.

use std::ops::Range;

use dmu::{DmuError, Dnode, Holds, Seek, Tx};
use engine_api::Result;

use super::Zpl;
use super::error::api_error;
use super::node::Node;

const SECTOR: u64 = 512;
/// Blocks of metadata that a write may dirty (its dnode, and the way down to its blocks), and that
/// giving back may.
const WRITE_META: u64 = 4;
pub const FREE_META: u64 = 8;
/// Bytes given back in one transaction.
pub const FREE_STEP: u64 = 8 << 30;

/// Makes the one block of a small file large enough for `end` bytes, or as large as the record
/// size.
pub fn grow_block(
    dnode: &Dnode,
    size: u64,
    end: u64,
    recordsize: u32,
    tx: &Tx,
) -> std::result::Result<(), DmuError> {
    let now = u64::from(dnode.block_size());
    if end <= now || size > now || dnode.max_blkid() > 0 {
        return Ok(());
    }
    let recordsize = u64::from(recordsize);
    let odd = !now.is_power_of_two();
    if !odd && now >= recordsize {
        return Ok(());
    }
    // Larger than what the property is now: it may only become a power of two.
    let limit = if now > recordsize { now.next_power_of_two() } else { recordsize };
    let wanted = end.next_multiple_of(SECTOR).min(limit).max(now);
    match dnode.set_block_size(wanted as u32, tx) {
        Ok(()) | Err(DmuError::Busy) => Ok(()),
        Err(error) => Err(error),
    }
}

/// What a write of these bytes may do at most.
pub fn write_holds(dnode: &Dnode, bytes: Range<u64>, recordsize: u32) -> Holds {
    let mut block = u64::from(dnode.block_size());
    if dnode.max_blkid() == 0 {
        block = block.max(bytes.end.min(recordsize.into())); // The one block of a small file grows.
    }
    Holds::covering(bytes.start, bytes.end - bytes.start, block, WRITE_META)
}

impl Zpl {
    /// What a change of a file's size may do at most.
    pub(super) fn resize_holds(&self, dnode: &Dnode, old: u64, new: u64) -> Holds {
        let block = u64::from(dnode.block_size());
        if new < old {
            Holds::freeing_range(block, FREE_META)
        } else {
            Holds::covering(0, 1, block.max(self.settings().recordsize.into()), WRITE_META)
        }
    }

    /// Gives back all but the last bounded part of what lies at and after `from`, a bounded part a
    /// transaction. The caller holds the whole range, and frees the rest together with what makes
    /// it official.
    pub(super) fn free_most(&self, node: &Node, from: u64) -> Result<()> {
        let dnode = node.dnode();
        let mut at = from;
        // Unwritten data is bounded by the pool's limit of dirty data.
        while dnode.used_bytes() > FREE_STEP {
            let Some(data) = dnode.next_offset(at, Seek::Data).map_err(api_error)? else { break };
            let end = data.saturating_add(FREE_STEP);
            if dnode.next_offset(end, Seek::Data).map_err(api_error)?.is_none() {
                break;
            }
            let tx = self.begin(Holds::freeing(FREE_META))?;
            dnode.free_range(data, FREE_STEP, &tx).map_err(api_error)?;
            at = end;
        }
        Ok(())
    }
}
