//! Scans: scrub, which reads everything and repairs what is bad, and resilver, which gives disks
//! what they lack. A scrub of known errors only is a thing apart ([`errors`]).
//!
//! A pool has one scan at a time, and remembers it (`dsl_scan_phys`, with the queue of datasets
//! still to visit), so that it goes on after a crash, here or in OpenZFS. Two parties share the
//! work:
//!
//! ```text
//!   worker `scan`  walk the trees of the last durable group ([`walk`]) ─▶ blocks by place ([`sorted`])
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
//! dataset that is destroyed meanwhile, or snapshotted, the heir is walked ([`Departure`]).
//!
//! Before the trees a scan goes through the tables of deduplication, for the blocks that several
//! pointers lead to: each is read once, and pointers to it are passed by. Tables do not say who has
//! a block. So if one of these is bad, the tables count for nothing: everything is looked at where
//! trees lead to it, and is the error of all who have it. A block that comes to have more pointers
//! than one when the tables were seen waits to be healed at once ([`Scan::rose`]). What waits is
//! lost with the memory, so a scan that goes on after an import begins with the tables again if
//! they have changed since it began.
//!
//! Locks: `state` and `sorted` are held for moments only, never both.
//!
//! Sources: module/zfs/dsl_scan.c, include/sys/dsl_scan.h, module/zfs/vdev.c (`vdev_dtl_reassess`).

mod errors;
pub(crate) mod load;
mod request;
mod sorted;
mod status;
mod sync;
mod walk;
mod worker;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Condvar, Mutex};

use dmu::{Objset, ObjsetPolicy, ReadOnlyAdmission};
use env::{Nanos, WorkerHandle, lock};
use ondisk::BlkPtr;
use ondisk::ddt::Class;
use ondisk::scan::{FLAG_VISIT_DS_AGAIN, ScanPhys};
use ondisk::zbookmark::{DESTROYED_OBJSET, Zbookmark};
use storage::Storage;

use crate::mos::MosOwner;
use crate::spa::Core;
use crate::{Pool, Result};
pub use request::ScanCommand;
use sorted::{OF_TABLE, Sorted, Waiting};
pub use status::ScanReport;

/// See the module.
#[derive(Default)]
pub struct Scan {
    state: Mutex<State>,
    /// Told of each group that is durable.
    ended: Condvar,
    sorted: Mutex<Sorted>,
    worker: Mutex<Option<WorkerHandle>>,
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
    fn give_tables_up(&mut self) -> bool {
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
    fn follow(&mut self, change: &Departure) {
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

#[derive(Default)]
struct State {
    /// As the meta object set has it, and as it is on disk for good.
    stored: Position,
    durable: ScanPhys,
    /// As the worker has it; for status.
    live: ScanPhys,
    /// Told apart scans by: grows when one begins or ends.
    serial: u64,
    /// Left by the worker of this scan for the next group: all before is done.
    checkpoint: Option<Position>,
    /// The worker is through.
    finished: bool,
    /// Datasets that went or changed; until the worker has seen it.
    gone: Vec<Departure>,
    requests: BTreeMap<u64, Vec<request::Queued>>,
    /// Leaves that lacked something when the scan began, of an import none: each has joined since.
    leaves: BTreeSet<u64>,
    /// What leaves lacked when a scan ended that could not give them all: no reason to begin
    /// another.
    hopeless: Option<BTreeMap<u64, u64>>,
    pace: Pace,
    errors: errors::ErrorScrub,
}

/// Of this pass, that is since the import or the beginning: for rates.
#[derive(Clone, Copy, Default, Debug)]
struct Pace {
    /// Seconds since 1970.
    start: u64,
    examined: u64,
    issued: u64,
    issued_before: u64,
    processed_before: u64,
    /// 0 while it runs.
    paused: u64,
    spent_paused: u64,
}

/// The meta object set of a durable group, to be read only.
pub(crate) fn durable_mos(core: &Core, durable: Durable) -> Result<Arc<Objset>> {
    let owner = MosOwner { storage: core.storage.clone(), frees: core.frees.clone(), usage: Arc::default() };
    let (admission, policy) = (ReadOnlyAdmission::shared(), ObjsetPolicy::meta());
    Ok(Objset::open(core.storage.clone(), durable.root, Arc::new(owner), admission, policy)?)
}

/// The newest tree that is on disk for good.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Durable {
    pub txg: u64,
    pub root: BlkPtr,
}

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

    /// Ends the worker; the scan goes on with the next import.
    pub(crate) fn stop(&self) {
        let worker = lock(&self.worker).take();
        if let Some(worker) = worker {
            worker.stop_and_join();
        }
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
        for copy in walk::wanted_copies(storage, &phys, bp) {
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
}

impl Drop for Scan {
    /// Lets the worker see that its pool is gone.
    fn drop(&mut self) {
        self.wake();
    }
}

/// What one step of the worker may do at the most.
#[derive(Clone, Copy, Debug)]
struct Budget {
    until: Nanos,
    blocks: u64,
}
