//! Freed blocks whose space is given back in the next transaction group: a list in the pool (`sync_bplist`).
//!
//! Freeing changes space maps, and that must come to an end; so what a group frees after its first pass waits here, and
//! the next group begins by giving it back.
//!
//! Of a deduplicated block only the dedup table knows how many owners it has. The tables are not built, so such a block
//! is *parked*: it stays on the list, at its bottom, until a program that keeps the tables takes the pool and frees the
//! list as it always does. Until then its space is accounted as waiting to be freed, which is what it is.
//!
//! Source: module/zfs/spa.c (`spa_sync_deferred_frees`).

use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};

use dmu::bpobj::{Bpobj, Space};
use dmu::{Objset, Tx};
use env::lock;
use ondisk::BlkPtr;

use crate::Result;

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

    /// Gives back what waits by `free`, but for what is parked. Syncing context, once a group.
    pub fn free_all(&self, free: &mut dyn FnMut(&BlkPtr), tx: &Tx) -> Result<()> {
        let mut parked = lock(&self.parked);
        let mut left = self.list.phys()?.num_blkptrs.saturating_sub(*parked);
        let mut stay = Vec::new();
        if left == 0 {
            return Ok(());
        }
        let _: ControlFlow<()> = self.list.drain(tx, |bp, _freed| {
            if left == 0 {
                return Ok(ControlFlow::Break(()));
            }
            left -= 1;
            if bp.is_dedup() {
                stay.push((*bp, false));
            } else {
                free(bp);
            }
            Ok(ControlFlow::Continue(()))
        })?;
        if !stay.is_empty() {
            self.list.enqueue_all(&stay, tx)?;
            *parked += stay.len() as u64;
        }
        Ok(())
    }

    /// What the blocks on the list occupy.
    pub fn space(&self) -> Space {
        self.list.space().unwrap_or_default()
    }
}
