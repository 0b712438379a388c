//! The syncing side: scans begin, pause and end in transaction groups, and checkpoints are stored
//! there.
//!
//! ```text
//!   nothing ──scrub──▶ scanning ◀──▶ paused        scanning ──worker is through──▶ finished
//!      └──a leaf lacks groups──▶ scanning             │  └──stop──▶ canceled
//!                                                     └──a leaf lacks groups──▶ scanning from the start, as resilver
//! ```
//! A resilver that is under way is let finish when another leaf turns up: that one is next. Only
//! where it has hardly begun it begins again, with both.

use api_types::ScanCommand;
use dmu::Tx;
use env::{Quirk, lock};
use ondisk::ddt::Class;
use ondisk::scan::{
    FLAG_SCRUB_PAUSED, FUNC_RESILVER, FUNC_SCRUB, STATE_CANCELED, STATE_FINISHED, STATE_SCANNING, ScanPhys,
};

use crate::history::Record;
use crate::spa::events::Resilver;
use crate::spa::{Pool, TXG_INITIAL};
use crate::state::errlog::Ending;
use crate::state::scan::{Pace, Position};
use crate::{PoolError, Result};

/// A resilver that has done less than this of its work (percent) begins again for another leaf
/// (`zfs_resilver_defer_percent`).
const DEFER_PERCENT: u64 = 10;

/// How a scan ends.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Done,
    Canceled,
    Restarting,
}

impl Pool {
    /// Does what operators ask and ends a scan that is through: the tree of vdevs may change for
    /// it. First pass only.
    pub(crate) fn turn_scan(&self, tx: &Tx) -> Result<()> {
        self.run_scan_commands(tx)?;
        if lock(&self.core.scan.state).finished {
            self.end_scan(End::Done, tx)?;
        }
        self.turn_error_scrub(tx)
    }

    /// Begins what the tree of vdevs needs, as it is now: with the group that a disk joins, its
    /// resilver runs. If nothing else does, a scrub begins that is `due`. Stores how far scans are.
    /// First pass only.
    pub(crate) fn sync_scan(&self, due: bool, tx: &Tx) -> Result<()> {
        let (core, scan) = (&self.core, &self.core.scan);
        if core.rebuilds.is_active() && scan.is_unfinished() {
            self.end_scan(End::Canceled, tx)?;
        }
        self.assess_leaves(tx)?;
        if due && !scan.is_unfinished() {
            self.begin_scan(FUNC_SCRUB, tx)?;
        }
        let checkpoint = {
            let mut state = lock(&scan.state);
            let mut checkpoint = state.checkpoint.take().filter(|_| state.stored.phys.is_running());
            if let Some(position) = &mut checkpoint {
                position.phys.queue_obj = state.stored.phys.queue_obj;
                position.phys.flags |= state.stored.phys.flags & FLAG_SCRUB_PAUSED;
            }
            if checkpoint.is_none() && state.gone.iter().any(|gone| gone.txg == tx.txg()) {
                checkpoint = Some(state.stored.clone());
            }
            checkpoint.map(|mut position| {
                state.gone.iter().for_each(|gone| position.follow(gone));
                position.phys.processed = state.processed(core.storage.scan_processed());
                position
            })
        };
        if let Some(position) = checkpoint {
            scan.store(&self.dsl.mos, position, tx)?;
        }
        self.sync_errlog(tx)
    }

    pub(super) fn run_scan_command(&self, command: ScanCommand, tx: &Tx) -> Result<()> {
        let scan = &self.core.scan;
        let (paused, errors) = {
            let state = lock(&scan.state);
            (state.stored.phys.is_paused(), state.errors.stored)
        };
        match command {
            ScanCommand::ScrubErrors if errors.is_paused() => self.pause_error_scrub(false, tx),
            ScanCommand::ScrubErrors => self.begin_error_scrub(tx),
            ScanCommand::Pause if errors.is_running() => self.pause_error_scrub(true, tx),
            ScanCommand::Stop if errors.is_running() => self.end_error_scrub(false, tx),
            ScanCommand::Scrub if paused => self.set_paused(false, tx),
            ScanCommand::Scrub => self.begin_scan(FUNC_SCRUB, tx),
            ScanCommand::Pause if !lock(&scan.state).stored.phys.is_running() => Ok(()),
            ScanCommand::Pause => self.set_paused(true, tx),
            ScanCommand::Stop => self.end_scan(End::Canceled, tx),
            ScanCommand::Resilver => {
                let running = lock(&scan.state).stored.phys;
                scan.try_again();
                if running.is_running() && running.func == FUNC_RESILVER {
                    self.end_scan(End::Restarting, tx)?;
                    self.begin_scan(FUNC_RESILVER, tx)?;
                }
                Ok(())
            }
        }
    }

    fn set_paused(&self, paused: bool, tx: &Tx) -> Result<()> {
        let scan = &self.core.scan;
        let mut position = {
            let mut state = lock(&scan.state);
            let now = self.dsl.now();
            if paused {
                state.pace.paused = now;
            } else {
                state.pace.spent_paused += now.saturating_sub(state.pace.paused);
                state.pace.paused = 0;
            }
            state.stored.clone()
        };
        position.phys.flags =
            position.phys.flags & !FLAG_SCRUB_PAUSED | if paused { FLAG_SCRUB_PAUSED } else { 0 };
        scan.store(&self.dsl.mos, position, tx)?;
        scan.wake();
        self.core.sysevent(if paused { "scrub_paused" } else { "scrub_resume" });
        Ok(())
    }

    fn begin_scan(&self, func: u64, tx: &Tx) -> Result<()> {
        let (core, scan) = (&self.core, &self.core.scan);
        let mut phys = ScanPhys {
            func,
            state: STATE_SCANNING,
            max_txg: tx.txg(),
            start_time: self.dsl.now(),
            to_examine: core.storage.space().allocated,
            ..ScanPhys::default()
        };
        if let Some((min, max)) = core.dtl.wanted(&core.storage, &|_| true) {
            (phys.min_txg, phys.max_txg) = (min, max);
        }
        // Where little is of interest, trees that are old as a whole are passed by, and tables
        // would have to be gone through.
        let is_whole = phys.min_txg <= TXG_INITIAL;
        phys.ddt_class_max = if is_whole { Class::Duplicate } else { Class::Ditto } as u64;
        self.clear_error_scrub(tx)?;
        core.storage.begin_scan();
        core.dtl.begin_scan();
        core.errlog.begin_scan();
        core.config_dirty.store(true, std::sync::atomic::Ordering::SeqCst);
        let leaves = core.dtl.spaces(&core.storage).into_keys().collect();
        scan.store_with(&self.dsl.mos, Position { phys, ..Position::default() }, tx, |state| {
            state.begin_anew(phys);
            state.leaves = leaves;
            state.pace = Pace { start: phys.start_time, ..Pace::default() };
        })?;
        scan.wake();
        match func {
            FUNC_RESILVER => core.resilver_sysevent("resilver_start", Resilver::Healing),
            _ => core.sysevent("scrub_start"),
        }
        let text = format!("func={func} mintxg={} maxtxg={}", phys.min_txg, phys.max_txg);
        self.note_scan("scan setup", &text, tx);
        Ok(())
    }

    fn end_scan(&self, end: End, tx: &Tx) -> Result<()> {
        let (core, scan) = (&self.core, &self.core.scan);
        let event = match end {
            End::Done => "scan done",
            End::Canceled => "scan cancelled",
            End::Restarting => "scan aborted, restarting",
        };
        self.note_scan(event, &format!("errors={}", core.errlog.count(&self.dsl.mos)?), tx);
        let (mut phys, unread) = {
            let mut state = lock(&scan.state);
            let last = state.checkpoint.take().filter(|_| end == End::Done);
            let queue_obj = state.stored.phys.queue_obj;
            let unread = last.as_ref().is_some_and(|position| position.unread);
            let mut phys = last.map_or(state.live, |position| position.phys);
            phys.queue_obj = queue_obj;
            phys.processed = state.processed(core.storage.scan_processed());
            (phys, unread)
        };
        phys.flags &= !FLAG_SCRUB_PAUSED;
        phys.state = if end == End::Done { STATE_FINISHED } else { STATE_CANCELED };
        phys.end_time = self.dsl.now();
        // What could not be read for now may be what a disk lacks: then it lacks it still.
        let others_wait = end == End::Done && !unread && {
            // Nothing is believed of what a disk has taken and may still lose.
            core.storage.flush_all().map_err(|_| PoolError::Suspended)?;
            core.dtl.excise(&core.storage, phys.max_txg, tx.touch(), &|_| true)
        };
        core.errlog.end_scan(Ending::Replace);
        let hopeless = (!others_wait).then(|| core.dtl.spaces(&core.storage));
        scan.store_with(&self.dsl.mos, Position { phys, ..Position::default() }, tx, |state| {
            state.begin_anew(phys);
            if end == End::Done {
                state.hopeless = hopeless;
            }
        })?;
        scan.wake();
        if (end, phys.func) == (End::Done, FUNC_SCRUB) {
            scan.scrubbed_to(&self.dsl.mos, phys.max_txg, tx)?;
        }
        match (end, phys.func) {
            (End::Done, FUNC_RESILVER) => core.resilver_sysevent("resilver_finish", Resilver::Healing),
            (End::Done, _) => core.sysevent("scrub_finish"),
            (End::Canceled, _) => core.sysevent("scrub_abort"),
            (End::Restarting, _) => {}
        }
        Ok(())
    }

    /// Has a resilver begin where a leaf lacks something that others have.
    fn assess_leaves(&self, tx: &Tx) -> Result<()> {
        let (core, scan) = (&self.core, &self.core.scan);
        let wanting = core.dtl.spaces(&core.storage);
        if wanting.is_empty() || core.rebuilds.is_active() || core.env.quirk(Quirk::NoResilver) {
            return Ok(());
        }
        let (phys, hopeless, joined, done) = {
            let state = lock(&scan.state);
            let joined = wanting.keys().any(|guid| !state.leaves.contains(guid));
            (state.stored.phys, state.hopeless.as_ref() == Some(&wanting), joined, state.percent_done())
        };
        let resilvering = phys.is_running() && phys.func == FUNC_RESILVER;
        if resilvering && (!joined || done >= DEFER_PERCENT) {
            return Ok(());
        }
        if !resilvering && hopeless {
            return Ok(());
        }
        if phys.is_running() {
            self.end_scan(End::Restarting, tx)?;
        }
        self.begin_scan(FUNC_RESILVER, tx)
    }

    pub(super) fn note_scan(&self, event: &str, text: &str, tx: &Tx) {
        self.dsl.record(Record::internal(event, text, tx.txg()), tx);
    }
}
