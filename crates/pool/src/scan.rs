//! Scans: scrub, which reads everything and repairs what is bad, and resilver, which gives disks
//! what they lack. A scrub of known errors only is a thing apart ([`errors`]).
//!
//! A pool has one scan at a time, and remembers it (`dsl_scan_phys`, with the queue of datasets
//! still to visit), so that it goes on after a crash, here or in OpenZFS. Two parties share the
//! work:
//!
//! ```text
//!   worker `scan`  walk the trees of the last durable group ([`walk`]) ─▶ blocks by place (`Sorted`)
//!                  ─▶ heal them in that order, in large runs ─▶ checkpoint ──┐
//!   txg-sync       begins, pauses, ends scans ([`sync`]); stores checkpoints ◀┘
//! ```
//! The worker never looks at a group that is being written. It walks what was durable when its step
//! began, and an epoch keeps the space of all of that as it is until the step ends. Blocks wait in
//! memory from one step to another without an epoch: whoever frees one takes it out there first
//! ([`Scan::freed`]).
//!
//! A checkpoint is the place where the walk is at a moment when no block waits: everything before
//! it is done. Trees are walked as OpenZFS's: the meta object set, then from the origin snapshot on
//! each dataset after the one it descends from, only blocks born since, so each block once. Of a
//! dataset that is destroyed meanwhile, or snapshotted, the heir is walked (`Departure`).
//!
//! Before the trees a scan goes through the tables of deduplication, for the blocks that several
//! pointers lead to: each is read once, and pointers to it are passed by. Tables do not say who has
//! a block. So if one of these is bad, the tables count for nothing: everything is looked at where
//! trees lead to it, and is the error of all who have it. A block that comes to have more pointers
//! than one when the tables were seen waits to be healed at once ([`Scan::rose`]). What waits is
//! lost with the memory, so a scan that goes on after an import begins with the tables again if
//! they have changed since it began.
//!
//! Sources: module/zfs/dsl_scan.c, include/sys/dsl_scan.h, module/zfs/vdev.c (`vdev_dtl_reassess`).

mod errors;
mod request;
mod status;
mod sync;
mod walk;
mod worker;

use std::sync::Arc;

use env::{Nanos, lock};

use crate::spa::Pool;
use crate::state::scan::Scan;

pub use status::ScanReport;

impl Scan {
    /// Starts the worker of a pool that is written.
    pub(crate) fn start(&self, pool: &Arc<Pool>) {
        let now = pool.dsl.now();
        let mut state = lock(&self.state);
        state.pace.start = now;
        state.pace.paused = if state.stored.phys.is_paused() { now } else { 0 };
        state.errors.paused = if state.errors.stored.is_paused() { now } else { 0 };
        drop(state);
        let worker = worker::ScanWorker::new(pool);
        *lock(&self.worker) = Some(pool.core.storage.spawn(Box::new(worker)));
    }
}

/// What one step of the worker may do at the most.
#[derive(Clone, Copy, Debug)]
struct Budget {
    until: Nanos,
    blocks: u64,
}
