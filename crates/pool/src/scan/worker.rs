//! The worker: it walks while there is memory for what is found, and heals that in the order of
//! places; then again.
//!
//! Each time nothing waits any more a checkpoint can be left, so from time to time it heals though
//! there would be memory for more. For as long as a step takes no freed space is used anew. While
//! somebody else wants a disk, the steps are short and as much time goes by between them; the
//! disks' queues put scans last anyway.
//!
//! Blocks that are healed are *on their way* in three stages, several runs of them at a time: they
//! are being read; they are judged, on all processors, one run after the other; what lacks them is
//! being written. At the end of a step all must have landed, and the disks rest: so steps are long
//! while nobody else is there.

use std::collections::VecDeque;
use std::sync::{Arc, Weak};

use env::{Nanos, Next, Quirk, Tunable, Worker, lock};
use storage::{HealFlight, Patient};

use super::Budget;
use super::errors::ErrorWalk;
use super::walk::{Walk, follow_gone};
use crate::spa::{Core, Pool};
use crate::state::scan::{Position, Scan, Waiting};

/// What a step may take, and one that heals while nobody wants a disk.
const STEP: Nanos = Nanos::from_millis(200);
const STEP_ALONE: Nanos = Nanos::from_millis(1000);
/// Blocks that one step walks at the most.
const STEP_BLOCKS: u64 = 1 << 16;
/// Bytes of each disk that are asked for together, alone and beside others.
const RUN: u64 = 2 << 20;
const RUN_BESIDE: u64 = 1 << 20;
/// Runs in one step.
const STEP_RUNS: u32 = 128;
/// Runs at once that are being read, and that are being written where something lacks them.
const READING: usize = 5;
const WRITING: usize = 2;
/// Memory for blocks that wait.
const MEMORY: usize = 256 << 20;
/// A scan that crashes loses no more than what it did in this time.
const CHECKPOINT: Nanos = Nanos::from_secs(120);
/// Until a worker that has to wait for somebody else looks again.
const A_MOMENT: Nanos = Nanos::from_millis(100);
/// The same under `Quirk::SmallTxg`.
const FEW_BLOCKS: u64 = 24;
const FEW_WAITING: usize = 60;
const SMALL_RUN: u64 = 128 << 10;

#[derive(Default)]
pub(super) struct ScanWorker {
    pool: Weak<Pool>,
    /// The scan that `position` belongs to.
    serial: u64,
    position: Position,
    walked: bool,
    healing: bool,
    checkpoint: Nanos,
    errors: ErrorWalk,
}

/// A run on its way.
struct Flying<'t> {
    flight: HealFlight<'t>,
    blocks: Vec<Waiting>,
}

impl Flying<'_> {
    fn judged(mut self) -> Self {
        self.flight.judge();
        self
    }
}

impl ScanWorker {
    pub fn new(pool: &Arc<Pool>) -> ScanWorker {
        ScanWorker { pool: Arc::downgrade(pool), ..ScanWorker::default() }
    }

    /// Takes up the scan there is; whether there is anything to do.
    fn take_up(&mut self, scan: &Scan, now: Nanos) -> bool {
        let state = lock(&scan.state);
        let running = state.stored.phys.is_running() && !state.stored.phys.is_paused();
        if state.serial == self.serial {
            return running && !state.finished;
        }
        self.serial = state.serial;
        self.position = state.stored.clone();
        (self.walked, self.healing, self.checkpoint) = (false, false, now);
        drop(state);
        lock(&scan.sorted).turn_to(self.serial);
        running
    }

    /// Looks for more blocks. An error ends the scan.
    fn walk(&mut self, pool: &Pool, now: Nanos) -> crate::Result<()> {
        let (core, scan) = (&pool.core, &pool.core.scan);
        lock(&scan.sorted).begin_walk();
        let _epoch = core.storage.epoch();
        let durable = *lock(&core.durable);
        follow_gone(&mut self.position, &mut lock(&scan.state).gone, durable.txg);
        let blocks = if core.env.quirk(Quirk::SmallTxg) { FEW_BLOCKS } else { STEP_BLOCKS };
        let budget = Budget { until: now + STEP, blocks };
        let in_tables = self.position.phys.is_in_tables();
        let mut walk = match Walk::new(pool, durable, &mut self.position, budget) {
            Ok(walk) => walk,
            Err(error) => {
                lock(&scan.sorted).end_walk(Vec::new());
                return Err(error);
            }
        };
        let done = walk.run();
        let found = walk.found();
        let (examined, issued) = (walk.examined, walk.issued);
        // Trees are not begun before it is known whether the tables can be relied on.
        self.healing = in_tables && !self.position.phys.is_in_tables();
        let again = lock(&scan.sorted).end_walk(found);
        // What is there once counts once, however many pointers lead to it.
        let examined = examined - again;
        self.position.phys.examined -= again;
        let mut state = lock(&scan.state);
        state.pace.examined += examined;
        state.pace.issued += issued;
        drop(state);
        self.walked = done?;
        Ok(())
    }

    /// Heals what is next, until the step's time is used up.
    fn heal(&mut self, pool: &Pool, now: Nanos, busy: bool) {
        let (core, scan) = (&pool.core, &pool.core.scan);
        let small = core.env.quirk(Quirk::SmallTxg);
        let run = if small {
            SMALL_RUN
        } else if busy {
            RUN_BESIDE
        } else {
            RUN
        };
        let (runs, until) = if small || busy { (1, now + STEP) } else { (STEP_RUNS, now + STEP_ALONE) };
        let _epoch = core.storage.epoch();
        let healer = core.storage.healer();
        let (mut reading, mut writing) = (VecDeque::new(), VecDeque::new());
        for _ in 0..runs {
            let blocks = lock(&scan.sorted).take(&|vdev| run * healer.spread(vdev));
            if blocks.is_empty() {
                break;
            }
            let patients = blocks.iter().map(|block| Patient { bp: block.bp, copy: block.copy });
            reading.push_back(Flying { flight: healer.heal(patients.collect()), blocks });
            if reading.len() == READING {
                writing.extend(reading.pop_front().map(Flying::judged));
            }
            if writing.len() > WRITING {
                writing.pop_front().into_iter().for_each(|flying| self.land(core, flying));
            }
            if core.env.clock.now() >= until || core.storage.is_busy() {
                break;
            }
        }
        writing.extend(reading.into_iter().map(Flying::judged));
        writing.into_iter().for_each(|flying| self.land(core, flying));
    }

    fn land(&mut self, core: &Core, flying: Flying<'_>) {
        let healed = flying.flight.land();
        let mut issued = 0;
        for (block, healed) in flying.blocks.iter().zip(healed) {
            issued += block.asize();
            let Err(error) = healed else { continue };
            // Who has it the trees will tell.
            if block.is_of_table() && self.position.give_tables_up() {
                self.walked = false;
            }
            if block.owners().next().is_some() {
                self.position.phys.errors += 1;
                self.position.unread |= error.may_pass();
                block.owners().for_each(|place| core.errlog.log(*place, block.bp.physical_birth()));
            }
        }
        lock(&core.scan.state).pace.issued += issued;
    }

    /// Nothing waits: what was done can be remembered. Has it written down if it is time, or if
    /// that was all.
    fn note(&mut self, pool: &Pool, now: Nanos) {
        let due = now.since(self.checkpoint) >= CHECKPOINT || pool.core.env.quirk(Quirk::SmallTxg);
        if !self.walked && !due {
            return;
        }
        self.checkpoint = now;
        let mut state = lock(&pool.core.scan.state);
        if state.serial != self.serial {
            return;
        }
        state.checkpoint = Some(self.position.clone());
        state.finished = self.walked;
        drop(state);
        pool.core.txgs.request_sync();
    }

    fn work(&mut self, pool: &Pool, now: Nanos) -> Next {
        let scan = &pool.core.scan;
        let waiting = lock(&scan.sorted).len();
        let full =
            if pool.core.env.quirk(Quirk::SmallTxg) { FEW_WAITING } else { MEMORY / Waiting::FOOTPRINT };
        let due = now.since(self.checkpoint) >= CHECKPOINT;
        self.healing = waiting > 0 && (self.healing || self.walked || waiting >= full || due);
        let busy = pool.core.storage.is_busy();
        if self.healing {
            self.heal(pool, now, busy);
        } else if !self.walked
            && let Err(error) = self.walk(pool, now)
        {
            tracing::error!(%error, "a scan cannot go on");
            self.position.phys.errors += 1;
            self.position.unread = true;
            self.walked = true;
        }
        {
            let mut state = lock(&scan.state);
            if state.serial == self.serial {
                state.live = self.position.phys;
            }
        }
        let still_waiting = !lock(&scan.sorted).is_empty();
        if !still_waiting {
            self.note(pool, now);
        }
        match (busy, pool.core.env.clock.now()) {
            (true, after) => Next::WaitUntil(after + after.since(now)),
            (false, _) => Next::Again,
        }
    }
}

impl Worker for ScanWorker {
    fn name(&self) -> &'static str {
        "scan"
    }

    fn step(&mut self, now: Nanos) -> Next {
        let Some(pool) = self.pool.upgrade() else { return Next::Stop };
        // Of a suspended pool most cannot be read; it wakes this worker when it goes on.
        if pool.core.txgs.is_stopped() || pool.core.storage.is_suspended() {
            return Next::WaitForWork;
        }
        if !self.take_up(&pool.core.scan, now) {
            return self.errors.step(&pool, now).unwrap_or(Next::WaitForWork);
        }
        let stands_still = pool.core.env.tunable(Tunable::ScanSuspendProgress) != 0;
        if stands_still || pool.dsl.is_freeing() {
            return Next::WaitUntil(now + A_MOMENT);
        }
        if lock(&pool.core.durable).txg < self.position.phys.max_txg {
            // Blocks to be looked at are still on their way into the tree, others on their way out.
            pool.core.txgs.request_sync();
            return Next::WaitUntil(now + A_MOMENT);
        }
        self.work(&pool, now)
    }
}
