//! How far the scan of a pool is, in memory and in the meta object set; see [`crate::scan`].
//!
//! Locks: `state` and `sorted` are held for moments only, never both.

mod load;
mod sorted;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Condvar, Mutex};

use api_types::ScanCommand;
use dmu::Tx;
use env::{WorkerHandle, lock};
use ondisk::ddt::Class;
use ondisk::object_type::pool_directory;
use ondisk::scan::{ErrorScrubPhys, FLAG_VISIT_DS_AGAIN, FUNC_RESILVER, ScanPhys};
use ondisk::zbookmark::{DESTROYED_OBJSET, Zbookmark};
use ondisk::{BlkPtr, Dva};
use storage::Storage;

use crate::Result;
use crate::mos::Mos;
pub(crate) use sorted::{OF_TABLE, Sorted, Waiting};

/// See the module.
#[derive(Default)]
pub struct Scan {
    pub(crate) state: Mutex<State>,
    /// Told of each group that is durable.
    pub(crate) ended: Condvar,
    pub(crate) sorted: Mutex<Sorted>,
    pub(crate) worker: Mutex<Option<WorkerHandle>>,
    last_scrubbed: AtomicU64,
}

/// How far a scan is: what is remembered of it on disk.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Position {
    pub phys: ScanPhys,
    /// Datasets still to visit, and the group from which on their blocks are of interest; 0: from
    /// the snapshot before.
    pub queue: BTreeMap<u64, u64>,
    /// It met blocks that could not be read, which says nothing about them: disks may have been
    /// away for a while, or err. In memory only.
    pub unread: bool,
}

impl Position {
    /// Has the trees tell of everything, from their beginning; `false` if they do already.
    pub fn give_tables_up(&mut self) -> bool {
        let relied = self.phys.relies_on_tables();
        if relied {
            self.phys.ddt_class_max = Class::Ditto as u64;
            self.phys.leave_tables();
            self.phys.set_bookmark(Zbookmark::default());
            self.queue.clear();
        }
        relied
    }

    /// A dataset is no more, or not what it was.
    pub fn follow(&mut self, change: &Departure) {
        let since = self.queue.remove(&change.dataset);
        if let (Some(since), Some(heir)) = (since, change.heir) {
            self.queue.entry(heir).or_insert(since);
        }
        let at = self.phys.bookmark();
        if at.objset != change.dataset {
            return;
        }
        match change.heir {
            Some(heir) => {
                self.phys.set_bookmark(Zbookmark { objset: heir, ..at });
                self.phys.flags |= if change.again { FLAG_VISIT_DS_AGAIN } else { 0 };
            }
            None => self.phys.set_bookmark(Zbookmark::new(DESTROYED_OBJSET, 0, 0, 0)),
        }
    }
}

/// A dataset that is destroyed, or whose blocks are another's from a group on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Departure {
    pub txg: u64,
    pub dataset: u64,
    /// Who has its blocks now: a snapshot what its head had, the next in the chain what a destroyed
    /// snapshot had.
    pub heir: Option<u64>,
    /// The heir has more blocks than this had: it is visited once more.
    pub again: bool,
}

/// A command on its way.
pub(crate) struct Queued {
    pub command: ScanCommand,
    pub outcome: Arc<Mutex<Option<Result<()>>>>,
}

/// What is known of the one that runs, or of the last one.
#[derive(Default)]
pub(crate) struct ErrorScrub {
    /// As the meta object set has it, as it is on disk for good, and as the worker has it.
    pub stored: ErrorScrubPhys,
    pub durable: ErrorScrubPhys,
    pub live: ErrorScrubPhys,
    /// The group it began with.
    pub since: u64,
    /// Told apart by: grows when one begins or ends.
    pub serial: u64,
    /// Set when the worker is done: whether it saw everything.
    pub through: Option<bool>,
    /// Since when it pauses, in seconds since 1970.
    pub paused: u64,
}

impl ErrorScrub {
    /// Of a pool that is being imported: it begins with the first error.
    pub fn load(phys: ErrorScrubPhys) -> ErrorScrub {
        let again =
            ErrorScrubPhys { to_examine: phys.to_examine + phys.examined, examined: 0, cursor: 0, ..phys };
        let stored = if phys.is_running() { again } else { phys };
        ErrorScrub { stored, durable: stored, live: stored, serial: 1, ..ErrorScrub::default() }
    }

    pub fn is_active(&self) -> bool {
        self.durable.is_running() && !self.durable.is_paused()
    }
}

#[derive(Default)]
pub(crate) struct State {
    /// As the meta object set has it, and as it is on disk for good.
    pub stored: Position,
    pub durable: ScanPhys,
    /// As the worker has it; for status.
    pub live: ScanPhys,
    /// Told apart scans by: grows when one begins or ends.
    pub serial: u64,
    /// Left by the worker of this scan for the next group: all before is done.
    pub checkpoint: Option<Position>,
    /// The worker is through.
    pub finished: bool,
    /// Datasets that went or changed; until the worker has seen it.
    pub gone: Vec<Departure>,
    pub requests: BTreeMap<u64, Vec<Queued>>,
    /// Leaves that lacked something when the scan began, of an import none: each has joined since.
    pub leaves: BTreeSet<u64>,
    /// What leaves lacked when a scan ended that could not give them all: no reason to begin
    /// another.
    pub hopeless: Option<BTreeMap<u64, u64>>,
    pub pace: Pace,
    pub errors: ErrorScrub,
}

/// Of this pass, that is since the import or the beginning: for rates.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Pace {
    /// Seconds since 1970.
    pub start: u64,
    pub examined: u64,
    pub issued: u64,
    pub issued_before: u64,
    pub processed_before: u64,
    /// 0 while it runs.
    pub paused: u64,
    pub spent_paused: u64,
}

impl Scan {
    /// Ends the worker; the scan goes on with the next import.
    pub(crate) fn stop(&self) {
        let worker = lock(&self.worker).take();
        worker.inspect(WorkerHandle::stop_and_join);
    }

    /// Has the worker look whether it can go on.
    pub(crate) fn wake(&self) {
        let worker = lock(&self.worker).clone();
        worker.inspect(WorkerHandle::wake);
    }

    /// What leaves lack is a reason for another resilver, be it that the last one could not give it
    /// to them.
    pub(crate) fn try_again(&self) {
        lock(&self.state).hopeless = None;
    }

    /// A block's space is about to be given back: nobody may look at it any more.
    pub(crate) fn freed(&self, bp: &BlkPtr) {
        let issued = lock(&self.sorted).remove(bp);
        if issued > 0 {
            lock(&self.state).pace.issued += issued;
        }
    }

    /// More than one pointer leads to a block, and one did: the tables did not show it to the scan
    /// if it is past them, and when trees lead there, it will seem that they did. Syncing context.
    pub(crate) fn rose(&self, storage: &Storage, bp: &BlkPtr) {
        let (serial, phys) = {
            let state = lock(&self.state);
            (state.serial, state.stored.phys)
        };
        if !phys.is_running() || !phys.relies_on_tables() || bp.is_gang() {
            return;
        }
        let mut examined = 0;
        let mut sorted = lock(&self.sorted);
        sorted.turn_to(serial);
        for copy in wanted_copies(storage, &phys, bp) {
            examined += bp.dva(copy).asize - sorted.add(Waiting::new(*bp, copy, OF_TABLE));
        }
        drop(sorted);
        lock(&self.state).pace.examined += examined;
        self.wake();
    }

    /// The group is durable: those who wait for a scan may see what became of it.
    pub(crate) fn sync_done(&self) {
        let mut state = lock(&self.state);
        state.durable = state.stored.phys;
        state.errors.durable = state.errors.stored;
        drop(state);
        self.ended.notify_all();
    }

    /// A dataset goes or changes with this group. Syncing context.
    pub(crate) fn dataset_gone(&self, departure: Departure) {
        let mut state = lock(&self.state);
        if state.stored.phys.is_running() {
            state.gone.push(departure);
        }
    }

    /// Whether a scan has begun that has not ended, be it that it pauses.
    pub(crate) fn is_unfinished(&self) -> bool {
        lock(&self.state).stored.phys.is_running()
    }

    /// The group before which blocks are of interest to the scan that runs; 0 if none does.
    pub(crate) fn max_txg(&self) -> u64 {
        let phys = lock(&self.state).stored.phys;
        if phys.is_running() { phys.max_txg } else { 0 }
    }

    /// Whether something runs that leaves blocks to be looked at: pauses do not count.
    pub fn is_running(&self) -> bool {
        let state = lock(&self.state);
        state.stored.phys.is_running() && !state.stored.phys.is_paused()
    }

    /// Whether the scan that runs is a resilver.
    pub(crate) fn is_resilvering(&self) -> bool {
        let phys = lock(&self.state).stored.phys;
        phys.is_running() && phys.func == FUNC_RESILVER
    }

    /// Whether a scrub of errors has begun that has not ended, be it that it pauses.
    pub(crate) fn is_scrubbing_errors(&self) -> bool {
        lock(&self.state).errors.stored.is_running()
    }

    pub(crate) fn store_errors(&self, mos: &Mos, phys: ErrorScrubPhys, tx: &Tx) -> Result<()> {
        mos.set(pool_directory::OBJECT, pool_directory::ERRORSCRUB, phys.to_words().as_slice(), tx)?;
        let mut state = lock(&self.state);
        (state.errors.stored, state.errors.live) = (phys, phys);
        Ok(())
    }
}

impl Drop for Scan {
    /// Lets the worker see that its pool is gone.
    fn drop(&mut self) {
        self.wake();
    }
}

impl State {
    /// Another scan than before, or none: what the worker still does for the last one counts for
    /// nothing.
    pub fn begin_anew(&mut self, phys: ScanPhys) {
        self.serial += 1;
        self.live = phys;
        (self.checkpoint, self.finished) = (None, false);
        self.gone.clear();
    }

    /// Bytes rewritten in all, of which so many were since the scan was taken up here.
    pub fn processed(&self, now: u64) -> u64 {
        self.pace.processed_before + now
    }

    /// Of what this scan has to read.
    pub fn percent_done(&self) -> u64 {
        let all = self.live.to_examine.saturating_sub(self.live.skipped).max(1);
        (self.pace.issued_before + self.pace.issued).saturating_mul(100) / all
    }
}

/// Whether the scan is for blocks of this age.
pub(crate) fn is_due(phys: &ScanPhys, bp: &BlkPtr) -> bool {
    // Of a block that was there when its pointer was written, the bytes are older.
    let birth = bp.physical_birth();
    birth > phys.min_txg && birth < phys.max_txg
}

/// The copies of a block that a scan has to look at.
pub(crate) fn wanted_copies(storage: &Storage, phys: &ScanPhys, bp: &BlkPtr) -> Vec<usize> {
    let (psize, birth, dvas) = (bp.psize(), bp.physical_birth(), bp.dvas());
    let needs = |dva: &Dva| phys.func != FUNC_RESILVER || storage.needs_resilver(dva, psize, birth);
    let is_wanted = |copy: &usize| dvas[*copy].is_valid() && needs(&dvas[*copy]);
    if is_due(phys, bp) { (0..dvas.len()).filter(is_wanted).collect() } else { Vec::new() }
}
