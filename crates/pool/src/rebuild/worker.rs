//! The worker that copies: a part of a metaslab a step, of each top-level vdev in turn.

use std::sync::{Arc, Weak};

use env::{Nanos, Next, Quirk, Tunable, Worker, lock};
use ondisk::rebuild::RebuildPhys;
use storage::Segment;

use crate::Result;
use crate::spa::Pool;
use crate::state::rebuild::Progress;

/// What a step may take.
const STEP: Nanos = Nanos::from_millis(200);
/// Longest stretch that is one I/O (`zfs_rebuild_max_segment`).
const STRETCH: u64 = 1 << 20;
/// Bytes of a run: what is asked for together, alone and beside others.
const RUN: u64 = 4 << 20;
const RUN_BESIDE: u64 = 1 << 20;
/// The same under `Quirk::SmallTxg`.
const SMALL_RUN: u64 = 64 << 10;
/// A rebuild that crashes loses no more than what it did in this time.
const CHECKPOINT: Nanos = Nanos::from_secs(10);
/// Until a worker that has to wait for somebody else looks again.
const A_MOMENT: Nanos = Nanos::from_millis(20);

pub(super) struct Rebuilder {
    pool: Weak<Pool>,
    /// When it last had written down how far it is.
    checkpoint: Nanos,
}

impl Rebuilder {
    pub fn new(pool: &Arc<Pool>) -> Rebuilder {
        Rebuilder { pool: Arc::downgrade(pool), checkpoint: Nanos(0) }
    }
}

impl Pool {
    /// A step on one vdev; whether something was done. `false`: it is others' turn, or a group has
    /// to be durable first.
    fn rebuild_on(&self, top: u32, now: Nanos) -> Result<bool> {
        let core = &self.core;
        let progress = lock(&core.rebuilds.tops).get(&top).copied();
        let Some(Progress { phys, finished: false, .. }) = progress.filter(|it| it.phys.is_active()) else {
            return Ok(false);
        };
        // Whatever is in use as of the durable group stays as it is while the epoch lasts.
        let _epoch = core.storage.epoch();
        let durable = *lock(&core.durable);
        if durable.txg < phys.max_txg || durable.txg <= core.rebuilds.found {
            core.txgs.request_sync();
            return Ok(false);
        }
        let shift = core.maps.vdevs().iter().find(|vdev| vdev.vdev == top).map_or(63, |it| it.metaslab_shift);
        let metaslab = phys.last_offset >> shift;
        let Some(mut allocated) = core.maps.allocated_in(&core.durable_mos(durable)?, top, metaslab)? else {
            self.advance_rebuild(top, &phys, |progress| progress.finished = true);
            core.txgs.request_sync();
            return Ok(true);
        };
        allocated.remove_overlap(0, phys.last_offset);
        let small = core.env.quirk(Quirk::SmallTxg);
        let (size, only) = match core.storage.is_busy() {
            _ if small => (SMALL_RUN, true),
            true => (RUN_BESIDE, true),
            false => (RUN, false),
        };
        let (mut runs, mut begun) = (Runs::new(allocated.iter(), size), false);
        let mut next = || {
            let late = begun && (only || core.env.clock.now() >= now + STEP);
            begun = true;
            if late { None } else { runs.next() }
        };
        let rebuilt = core.storage.rebuild(top, &mut std::iter::from_fn(&mut next));
        let end = allocated.iter().last().map_or(0, |last| last.end());
        let upto = if rebuilt.upto >= end { (metaslab + 1) << shift } else { rebuilt.upto };
        if upto == 0 {
            return Ok(false);
        }
        self.advance_rebuild(top, &phys, |progress| {
            progress.phys.last_offset = upto;
            progress.phys.scanned += rebuilt.scanned;
            progress.phys.issued += rebuilt.read;
            progress.phys.rebuilt += rebuilt.written;
            progress.phys.errors += rebuilt.errors;
            progress.phys.estimated = progress.phys.estimated.max(progress.phys.scanned);
            progress.pass.scanned += rebuilt.scanned;
            progress.pass.issued += rebuilt.read;
        });
        Ok(true)
    }

    /// Notes how far a rebuild is, if it is still the same.
    fn advance_rebuild(&self, top: u32, phys: &RebuildPhys, change: impl FnOnce(&mut Progress)) {
        let mut tops = lock(&self.core.rebuilds.tops);
        let is_same = |it: &&mut Progress| {
            it.phys.is_active() && (it.phys.max_txg, it.phys.start_time) == (phys.max_txg, phys.start_time)
        };
        if let Some(progress) = tops.get_mut(&top).filter(is_same) {
            change(progress);
            progress.dirty = true;
        }
    }
}

/// What is allocated, cut into runs of stretches.
struct Runs<I> {
    segments: I,
    /// Left of the segment that is being cut.
    rest: Segment,
    size: u64,
}

impl<I: Iterator<Item = Segment>> Runs<I> {
    fn new(segments: I, size: u64) -> Runs<I> {
        Runs { segments, rest: Segment { start: 0, len: 0 }, size }
    }
}

impl<I: Iterator<Item = Segment>> Iterator for Runs<I> {
    type Item = Vec<Segment>;

    fn next(&mut self) -> Option<Vec<Segment>> {
        let (mut run, mut left) = (Vec::new(), self.size);
        while left > 0 {
            if self.rest.len == 0 {
                let Some(next) = self.segments.next() else { break };
                self.rest = next;
            }
            let len = STRETCH.min(self.rest.len).min(left);
            run.push(Segment { start: self.rest.start, len });
            self.rest = Segment { start: self.rest.start + len, len: self.rest.len - len };
            left -= len;
        }
        (!run.is_empty()).then_some(run)
    }
}

impl Worker for Rebuilder {
    fn name(&self) -> &'static str {
        "rebuild"
    }

    fn step(&mut self, now: Nanos) -> Next {
        let Some(pool) = self.pool.upgrade() else { return Next::Stop };
        let core = &pool.core;
        let active = core.rebuilds.active();
        if core.txgs.is_stopped() || active.is_empty() {
            return Next::WaitForWork;
        }
        let stands_still = core.env.tunable(Tunable::ScanSuspendProgress) != 0;
        if stands_still || core.storage.is_suspended() || core.env.quirk(Quirk::NoResilver) {
            return Next::WaitUntil(now + A_MOMENT);
        }
        let mut did = false;
        for top in active {
            match pool.rebuild_on(top, now) {
                Ok(something) => did |= something,
                Err(error) => {
                    tracing::error!(top, %error, "a rebuild cannot go on");
                    if let Some(progress) = lock(&core.rebuilds.tops).get_mut(&top) {
                        progress.phys.errors += 1;
                        progress.finished = true;
                    }
                    core.txgs.request_sync();
                }
            }
        }
        let after = core.env.clock.now();
        if core.env.quirk(Quirk::SmallTxg) || after.since(self.checkpoint) >= CHECKPOINT {
            self.checkpoint = after;
            core.txgs.request_sync();
        }
        match (did, core.storage.is_busy()) {
            (true, false) => Next::Again,
            (true, true) => Next::WaitUntil(after + after.since(now)),
            (false, _) => Next::WaitUntil(after + A_MOMENT),
        }
    }
}

#[cfg(test)]
mod tests;
