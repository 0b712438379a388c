//! Scrub of what the error log names and of nothing else (`zpool scrub -e`): each block is looked
//! up where it is now, in whichever dataset still has it, and healed. What cannot be healed is
//! logged again, and with the end that is all the log has: so errors that were mended, or whose
//! files are gone, are forgotten without reading the whole pool.
//!
//! ```text
//!   nothing ──scrub -e──▶ scrubbing ◀──▶ paused      ──worker is through──▶ finished: the new log replaces the old
//!                             └──stop, a resilver begins──▶ canceled: both count
//! ```
//! It never runs beside a scan. How far it is it does not remember: after an import it begins with
//! the first error again, which takes little, and so does OpenZFS where a cursor of 0 says so.
//!
//! Source: module/zfs/dsl_scan.c (`dsl_errorscrub_sync` and kin).

use dmu::Tx;
use env::{Nanos, Next, lock};
use ondisk::BlkPtr;
use ondisk::object_type::pool_directory;
use ondisk::scan::{ErrorScrubPhys, FUNC_ERRORSCRUB, STATE_CANCELED, STATE_ERRORSCRUBBING, STATE_FINISHED};
use ondisk::zbookmark::{ErrorBlock, Zbookmark};
use storage::Patient;

use crate::Result;
use crate::errlog::holders::Look;
use crate::spa::Pool;
use crate::state::errlog::Ending;

/// Errors looked up and healed together.
const BATCH: usize = 64;
/// What a step may take.
const STEP: Nanos = Nanos::from_millis(200);
/// Until a worker that has to wait for somebody else looks again.
const A_MOMENT: Nanos = Nanos::from_millis(100);

impl Pool {
    /// Ends the one whose worker is through. Syncing context.
    pub(super) fn turn_error_scrub(&self, tx: &Tx) -> Result<()> {
        let through = lock(&self.core.scan.state).errors.through.take();
        through.map_or(Ok(()), |whole| self.end_error_scrub(whole, tx))
    }

    /// Begins one, if there is anything to look at.
    pub(super) fn begin_error_scrub(&self, tx: &Tx) -> Result<()> {
        let core = &self.core;
        let to_examine = core.errlog.count(&self.dsl.mos)?;
        if to_examine == 0 {
            return Ok(());
        }
        let start_time = self.dsl.now();
        let phys = ErrorScrubPhys {
            func: FUNC_ERRORSCRUB,
            state: STATE_ERRORSCRUBBING,
            start_time,
            to_examine,
            ..ErrorScrubPhys::default()
        };
        core.errlog.begin_scan();
        core.config_dirty.store(true, std::sync::atomic::Ordering::SeqCst);
        core.scan.store_errors(&self.dsl.mos, phys, tx)?;
        {
            let mut state = lock(&core.scan.state);
            (state.errors.live, state.errors.since, state.errors.paused) = (phys, tx.txg(), 0);
            state.errors.serial += 1;
        }
        core.scan.wake();
        core.sysevent("errorscrub_start");
        self.note_scan(
            "error scrub setup",
            &format!("func={FUNC_ERRORSCRUB} mintxg=0 maxtxg={}", tx.txg()),
            tx,
        );
        Ok(())
    }

    pub(super) fn pause_error_scrub(&self, paused: bool, tx: &Tx) -> Result<()> {
        let core = &self.core;
        let phys = {
            let mut state = lock(&core.scan.state);
            state.errors.paused = if paused { self.dsl.now() } else { 0 };
            ErrorScrubPhys { paused_flags: u64::from(paused), ..state.errors.live }
        };
        core.scan.store_errors(&self.dsl.mos, phys, tx)?;
        core.scan.wake();
        core.sysevent(if paused { "errorscrub_paused" } else { "errorscrub_resume" });
        Ok(())
    }

    pub(super) fn end_error_scrub(&self, whole: bool, tx: &Tx) -> Result<()> {
        let core = &self.core;
        let event = if whole { "error scrub done" } else { "error scrub canceled" };
        self.note_scan(event, &format!("errors={}", core.errlog.count(&self.dsl.mos)?), tx);
        core.errlog.end_scan(if whole { Ending::Replace } else { Ending::Join });
        let phys = {
            let mut state = lock(&core.scan.state);
            state.errors.serial += 1;
            state.errors.through = None;
            let ended = if whole { STATE_FINISHED } else { STATE_CANCELED };
            ErrorScrubPhys { state: ended, end_time: self.dsl.now(), paused_flags: 0, ..state.errors.live }
        };
        core.scan.store_errors(&self.dsl.mos, phys, tx)?;
        core.sysevent(if whole { "errorscrub_finish" } else { "errorscrub_abort" });
        Ok(())
    }

    /// A scan of everything begins: what was known of errors only is told no more.
    pub(super) fn clear_error_scrub(&self, tx: &Tx) -> Result<()> {
        let stored = lock(&self.core.scan.state).errors.stored;
        if stored.is_running() {
            self.end_error_scrub(false, tx)?;
        }
        if stored == ErrorScrubPhys::default() {
            return Ok(());
        }
        self.core.scan.store_errors(&self.dsl.mos, ErrorScrubPhys::default(), tx)
    }
}

/// The worker's part.
#[derive(Default)]
pub(super) struct ErrorWalk {
    /// The scrub that this belongs to.
    serial: u64,
    phys: ErrorScrubPhys,
    /// What is still to be looked at, by head, once it was read.
    waiting: Option<Vec<(u64, ErrorBlock)>>,
    /// What could not be healed in this step, with the births.
    lost: Vec<(Zbookmark, u64)>,
}

impl ErrorWalk {
    /// Goes on with the scrub that runs; `None` without one.
    pub fn step(&mut self, pool: &Pool, now: Nanos) -> Option<Next> {
        let core = &pool.core;
        let since = {
            let state = lock(&core.scan.state);
            let errors = &state.errors;
            if errors.serial != self.serial {
                *self = ErrorWalk { serial: errors.serial, phys: errors.live, ..ErrorWalk::default() };
            }
            if !errors.stored.is_running() || errors.stored.is_paused() || errors.through.is_some() {
                return None;
            }
            errors.since
        };
        if lock(&core.durable).txg < since {
            core.txgs.request_sync();
            return Some(Next::WaitUntil(now + A_MOMENT));
        }
        let through = match self.scrub(pool, now) {
            Ok(through) => through.then_some(true),
            Err(error) => {
                tracing::error!(%error, "the error log cannot be read");
                Some(false)
            }
        };
        {
            let mut state = lock(&core.scan.state);
            let lost = std::mem::take(&mut self.lost);
            // What was seen for a scrub that has ended meanwhile says nothing for the one that may
            // have begun.
            if state.errors.serial == self.serial {
                lost.into_iter().for_each(|(place, birth)| core.errlog.log(place, birth));
                let paused_flags = state.errors.stored.paused_flags;
                state.errors.live = ErrorScrubPhys { paused_flags, ..self.phys };
                state.errors.through = through;
            }
        }
        if through.is_some() {
            core.txgs.request_sync();
            return None;
        }
        let after = core.env.clock.now();
        Some(if core.storage.is_busy() { Next::WaitUntil(after + after.since(now)) } else { Next::Again })
    }

    /// Whether all was looked at.
    fn scrub(&mut self, pool: &Pool, now: Nanos) -> Result<bool> {
        let core = &pool.core;
        let look = Look::new(pool)?;
        let mut waiting = match self.waiting.take() {
            Some(waiting) => waiting,
            None => look.log(pool_directory::ERRLOG_LAST)?,
        };
        while !waiting.is_empty() && core.env.clock.now().since(now) < STEP {
            let batch = waiting.split_off(waiting.len().saturating_sub(BATCH));
            self.phys.examined += batch.len() as u64;
            self.phys.to_examine = self.phys.to_examine.saturating_sub(batch.len() as u64);
            self.heal(pool, &look, batch);
        }
        let through = waiting.is_empty();
        self.waiting = Some(waiting);
        Ok(through)
    }

    fn heal(&mut self, pool: &Pool, look: &Look<'_>, batch: Vec<(u64, ErrorBlock)>) {
        let storage = &pool.core.storage;
        let (mut sick, mut patients) = (Vec::new(), Vec::new());
        for (head, block) in batch {
            match find(look, head, &block) {
                Ok(None) => {}
                Ok(Some((dataset, bp))) if bp.is_gang() => {
                    if storage.heal_gang(&bp).is_err() {
                        self.hurt(dataset, &block);
                    }
                }
                Ok(Some((dataset, bp))) => {
                    for copy in 0..bp.ndvas() {
                        sick.push((dataset, block));
                        patients.push(Patient { bp, copy });
                    }
                }
                Err(_) => self.hurt(head, &block),
            }
        }
        let healer = storage.healer();
        let healed = healer.heal(patients).land();
        let lost = sick.into_iter().zip(healed).filter(|(_, healed)| healed.is_err());
        let mut lost: Vec<(u64, ErrorBlock)> = lost.map(|(sick, _)| sick).collect();
        lost.dedup();
        lost.iter().for_each(|(dataset, block)| self.hurt(*dataset, block));
    }

    fn hurt(&mut self, dataset: u64, block: &ErrorBlock) {
        self.phys.errors += 1;
        self.lost.push((block.place(dataset), block.birth));
    }
}

/// The block that an entry of the log names, and a dataset that has it; `None` if nobody has it any
/// more.
fn find(look: &Look<'_>, head: u64, block: &ErrorBlock) -> Result<Option<(u64, BlkPtr)>> {
    for dataset in look.holders(head, block)? {
        if let Some(bp) = look.pointer(dataset, block)?.filter(|bp| !bp.is_embedded()) {
            return Ok(Some((dataset, bp)));
        }
    }
    Ok(None)
}
