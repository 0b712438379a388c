//! Freeing: the space of all copies, and of everything a gang leads to.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use env::IoClass;
use ondisk::{BlkPtr, Dva};

use super::gang::header_asize;
use crate::arc::Key;
use crate::metaslab::Freed;
use crate::range_tree::Segment;
use crate::suspend::Cause;
use crate::vdev::open::Tree;
use crate::{ReadError, Storage};

impl Storage {
    /// Gives the space of a block back; reusable some transaction groups later. A forged pointer
    /// frees nothing; space that is free already suspends the pool for good, so that what
    /// contradicts itself is not written on top of. Syncing context only. A gang whose header
    /// cannot be read any more is lost but for the header: space leaks, which is better than
    /// guessing.
    pub fn free(&self, bp: &BlkPtr, txg: u64) {
        if bp.is_hole() || bp.is_embedded() {
            return;
        }
        if let Some(key) = Key::of(self.pool_guid(), bp) {
            self.cache().remove(&key);
        }
        let tree = self.tree();
        if let Err(error) = self.free_tree(&tree, bp, txg, 0) {
            tracing::error!(%error, ?bp, txg, "cannot free all of a block: its space is lost");
        }
    }

    /// Every piece of space that a block takes: all copies, and of a gang its headers and members.
    /// Of what lies on a removed vdev, the place there and the places where it is now.
    pub fn all_dvas(&self, bp: &BlkPtr) -> Result<Vec<Dva>, ReadError> {
        let mut dvas = Vec::new();
        self.collect_dvas(&self.tree(), bp, 0, &mut dvas)?;
        Ok(dvas)
    }

    fn collect_dvas(
        &self,
        tree: &Arc<Tree>,
        bp: &BlkPtr,
        depth: u32,
        into: &mut Vec<Dva>,
    ) -> Result<(), ReadError> {
        if bp.is_gang() {
            for piece in self.read_header(tree, bp, IoClass::SyncRead, depth)? {
                self.collect_dvas(tree, &piece, depth + 1, into)?;
            }
        }
        for dva in bp.dvas().into_iter().filter(Dva::is_valid) {
            let asize = if dva.gang { header_asize(tree, dva.vdev) } else { dva.asize };
            let pieces = self.pieces(tree, &Dva::new(dva.vdev, dva.offset, asize))?;
            into.extend(pieces.passed);
            into.extend(pieces.now);
        }
        Ok(())
    }

    fn free_tree(&self, tree: &Arc<Tree>, bp: &BlkPtr, txg: u64, depth: u32) -> Result<(), ReadError> {
        let mut result = Ok(());
        if bp.is_gang() {
            match self.read_header(tree, bp, IoClass::SyncRead, depth) {
                Ok(pieces) => {
                    for piece in &pieces {
                        result = result.and(self.free_tree(tree, piece, txg, depth + 1));
                    }
                }
                Err(error) => result = Err(error),
            }
        }
        for dva in bp.dvas().into_iter().filter(Dva::is_valid) {
            let asize = if dva.gang { header_asize(tree, dva.vdev) } else { dva.asize };
            let pieces = match self.pieces(tree, &Dva::new(dva.vdev, dva.offset, asize)) {
                Ok(pieces) => pieces,
                Err(error) => {
                    result = result.and(Err(error));
                    continue;
                }
            };
            let mut twice = !self.moved().note_obsolete(&pieces.passed);
            let kept = self.is_in_checkpoint(bp, txg);
            for dva in &pieces.now {
                match self.classes().free(dva, txg, kept) {
                    Freed::Done => {}
                    Freed::Nowhere => tracing::error!(?bp, "a block outside of every metaslab is not freed"),
                    Freed::Twice => twice = true,
                }
            }
            if twice {
                tracing::error!(?bp, "space is freed twice: the pool is damaged and is suspended");
                self.stop_for_good();
            }
        }
        result
    }

    /// What is on disk contradicts itself: nothing may be written on top of it.
    fn stop_for_good(&self) {
        self.suspension().suspend(Cause::Io);
        self.give_up();
    }

    /// From now on what was born up to this group stays allocated when it is freed: the pool's
    /// checkpoint has it. 0: there is no checkpoint. Syncing context, or import.
    pub fn set_checkpoint(&self, txg: u64) {
        self.checkpoint.store(txg, Relaxed);
    }

    /// Whether the pool's checkpoint has a block that group `txg` frees (`metaslab_free` in
    /// module/zfs/metaslab.c).
    fn is_in_checkpoint(&self, bp: &BlkPtr, txg: u64) -> bool {
        let checkpoint = self.checkpoint.load(Relaxed);
        bp.physical_birth() <= checkpoint && txg > checkpoint
    }

    /// Gives space back that a discarded checkpoint had kept. Syncing context.
    pub fn free_kept(&self, vdev: u32, space: Segment, txg: u64) {
        match self.classes().free(&Dva::new(vdev, space.start, space.len), txg, false) {
            Freed::Done => {}
            Freed::Nowhere => {
                tracing::error!(vdev, ?space, "a checkpoint kept space outside of every metaslab");
            }
            Freed::Twice => {
                tracing::error!(
                    vdev,
                    ?space,
                    "a checkpoint kept free space: the pool is damaged and is suspended"
                );
                self.stop_for_good();
            }
        }
    }
}
