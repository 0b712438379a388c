//! Writing what a transaction group has changed: data first, then each level of pointers above it,
//! over all objects together, so that a level is one batch for the disks.
//!
//! ```text
//!   begin      take each object's changes over from its overlay     (the overlay stays, for readers)
//!   frees      apply freed ranges; grow the tree if it must address more
//!   load       indirect blocks of level 2 and up on the way to changes, from the top down, one batch a level
//!   slices     load level 1 → write level 0 → write level 1, for as many level-1 blocks as memory allows
//!   levels     write level 2, 3, …
//!   finish     the new dnode is kept beside the clean one until the group is done
//! ```
//! An indirect block is in memory only between its load and its write; a later pass reads it again,
//! from the cache. Sources of fact: module/zfs/dnode_sync.c, dbuf.c (`dbuf_write_ready`,
//! `dbuf_write_done`).

mod free;
mod job;
mod tree;
mod write;

use ondisk::BlkPtr;
use ondisk::object_type::ObjectType;

use crate::SyncError;
use crate::dnode::Core;
use crate::owner::SyncTx;
use crate::policy::ObjsetPolicy;

pub(crate) use job::Job;
use tree::SyncTree;
pub(crate) use write::{dnodes_in, settle, write};

/// What a sync pass works with.
pub(crate) struct Cx<'a> {
    pub core: &'a Core,
    pub tx: SyncTx,
    pub policy: std::sync::Arc<ObjsetPolicy>,
}

impl Cx<'_> {
    /// A block of the tree is referenced no more.
    fn kill(&self, tree: &mut SyncTree, bp: &BlkPtr) {
        tree.add_used(0, self.core.store.dsize(bp), &self.policy);
        self.core.owner.kill(bp, &self.tx);
    }

    /// What takes the place of a freed block.
    fn punched(&self, bp: &BlkPtr) -> BlkPtr {
        if self.policy.hole_birth {
            BlkPtr::punched(bp.object_type(), bp.level(), bp.lsize(), self.tx.txg)
        } else {
            BlkPtr::HOLE
        }
    }

    /// The pointer to be stored for a block that turned out to be all zero.
    fn hole_after(&self, old: &BlkPtr, object_type: ObjectType, level: u8, lsize: u64) -> BlkPtr {
        // What was never written needs no birth: no stream has ever carried it.
        if self.policy.hole_birth && old.logical_birth() != 0 {
            BlkPtr::punched(object_type, level, lsize, self.tx.txg)
        } else {
            BlkPtr::HOLE
        }
    }

    /// The block to overwrite, if this pass may.
    pub fn rewrite(&self, old: &BlkPtr) -> Option<BlkPtr> {
        let own = !old.is_hole() && !old.is_embedded() && old.logical_birth() == self.tx.txg;
        (self.tx.rewrite && own).then_some(*old)
    }

    /// What stays where the same is to be written: a block of an older group.
    pub fn unless(&self, old: &BlkPtr) -> Option<BlkPtr> {
        let older = !old.is_hole() && !old.is_embedded() && old.logical_birth() < self.tx.txg;
        older.then_some(*old)
    }
}

/// Writes the trees of these objects; afterwards each job's dnode is as it shall be on disk.
pub(crate) fn write_trees(cx: &Cx<'_>, jobs: &mut [Job]) -> Result<(), SyncError> {
    for job in jobs.iter_mut() {
        job.apply_changes(cx)?;
    }
    write::spills(cx, jobs)?;
    let top = jobs.iter().map(|job| job.tree.phys.nlevels).max().unwrap_or(1);
    for level in (2..top).rev() {
        let wanted = write::above(jobs, level);
        write::load(cx, jobs, level, &wanted)?;
    }
    write::data_in_slices(cx, jobs)?;
    for level in 2..top {
        let dirty = write::dirty_at(jobs, level);
        write::indirect(cx, jobs, level, &dirty)?;
    }
    for job in jobs.iter_mut() {
        job.complete(&cx.policy);
    }
    Ok(())
}
