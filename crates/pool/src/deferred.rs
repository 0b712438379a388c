//! Freed blocks whose space is given back in the next transaction group: a list in the pool
//! (`sync_bplist`).
//!
//! Freeing changes space maps, and that must come to an end; so what a group frees after its first
//! pass waits here, and the next group begins by giving it back.
//!
//! Of a deduplicated block a reference waits here, not space. A group takes away a bounded number
//! of them; the rest is *parked* at the bottom of the list, until a later group has time for it.
//! Until then the blocks are accounted as waiting to be freed.
//!
//! Source: module/zfs/spa.c (`spa_sync_deferred_frees`).

use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};

use dmu::bpobj::{Bpobj, Space};
use dmu::{Objset, Tx};
use env::lock;
use ondisk::BlkPtr;

use crate::Result;

/// Parked references that are looked at together: those of them that must stay are put back.
const PARKED_STEP: u64 = 1 << 16;

/// The list, and how many of its oldest entries are parked.
pub struct Deferred {
    list: Bpobj,
    parked: Mutex<u64>,
}

impl Deferred {
    /// Opens the list. What is deduplicated at its bottom was parked there.
    pub fn open(mos: &Arc<Objset>, object: u64) -> Result<Deferred> {
        let list = Bpobj::open(mos, object)?;
        let mut parked = 0;
        let _: ControlFlow<()> = list.iterate(|bp, _freed| {
            parked = if bp.is_dedup() { parked + 1 } else { 0 };
            ControlFlow::Continue(())
        })?;
        Ok(Deferred { list, parked: Mutex::new(parked) })
    }

    /// Puts a block on the list.
    pub fn defer(&self, bp: &BlkPtr, tx: &Tx) -> Result<()> {
        Ok(self.list.enqueue(bp, false, tx)?)
    }

    /// Puts blocks on the list that a later group is to free.
    pub fn defer_all(&self, bps: &[BlkPtr], tx: &Tx) -> Result<()> {
        let list: Vec<(BlkPtr, bool)> = bps.iter().map(|bp| (*bp, false)).collect();
        Ok(self.list.enqueue_all(&list, tx)?)
    }

    /// Gives back what waits by `free`, and takes away references by `release`, which gives back
    /// those that must stay. Syncing context, once a group.
    pub fn free_all(
        &self,
        free: &mut dyn FnMut(&BlkPtr),
        release: &mut dyn FnMut(Vec<BlkPtr>) -> Vec<BlkPtr>,
        tx: &Tx,
    ) -> Result<()> {
        let mut parked = lock(&self.parked);
        let mut fresh = self.list.phys()?.num_blkptrs.saturating_sub(*parked);
        loop {
            let again = (*parked).min(PARKED_STEP);
            if fresh + again == 0 {
                return Ok(());
            }
            let references = self.take(fresh + again, free, tx)?;
            let stay = release(references);
            *parked = *parked - again + stay.len() as u64;
            if !stay.is_empty() {
                return self.defer_all(&stay, tx);
            }
            fresh = 0;
        }
    }

    /// Takes so many of the newest entries off the list: space is given back, references are the
    /// answer.
    fn take(&self, count: u64, free: &mut dyn FnMut(&BlkPtr), tx: &Tx) -> Result<Vec<BlkPtr>> {
        let (mut references, mut left) = (Vec::new(), count);
        let _: ControlFlow<()> = self.list.drain(tx, |bp, _freed| {
            if left == 0 {
                return Ok(ControlFlow::Break(()));
            }
            left -= 1;
            if bp.is_dedup() {
                references.push(*bp);
            } else {
                free(bp);
            }
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(references)
    }

    /// References wait that a group had no time for.
    pub fn has_parked(&self) -> bool {
        *lock(&self.parked) > 0
    }

    /// What the blocks on the list occupy.
    pub fn space(&self) -> Space {
        self.list.space().unwrap_or_default()
    }
}
