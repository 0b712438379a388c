//! Which disk is to be given up, by how often it errs.
//!
//! Storage tells every error of every disk ([`storage::Reports`]). A disk that errs [`ERRORS`]
//! times within [`WITHIN`] is judged: for I/O errors it is *faulted*, taken out of use if the pool
//! can do without it; for wrong bytes it is *degraded*, which is a word for the operator, for it is
//! used as before. One bad sector now and then is neither: it is repaired and counted. A vdev's
//! properties `io_n`, `io_t`, `checksum_n`, `checksum_t` would set other numbers; only the defaults
//! are built.
//!
//! The verdict goes into the configuration. It holds while the pool is in use, until `zpool clear`:
//! an import judges anew, for what was wrong may have been a cable of the other machine. An
//! operator's (`zpool offline -f`) holds beyond that.
//!
//! One other rule is storage's: a disk that has vanished, or failed to flush, is faulted at once if
//! the pool can do without it, for nothing it says can be believed until it is opened anew.
//!
//! Sources: cmd/zed/agents/zfs_diagnosis.c (numbers, what is counted), fmd_serd.c (N events in T),
//! zfs_retire.c (fault for io, degrade for checksum), module/zfs/vdev.c (`vdev_fault`,
//! `vdev_degrade`, the persistent state in `vdev_alloc`).

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Arc, Mutex, Weak};

use env::DiskError::Gone;
use env::{Nanos, Next, Worker, lock};
use ondisk::label::config::key;
use storage::{DiskReport, VdevConfig, VdevState, What};

use super::{Core, Pool};
use crate::{PoolError, Result};

/// `DEFAULT_IO_N`, `DEFAULT_CHECKSUM_N`
const ERRORS: usize = 10;
/// `DEFAULT_IO_T`, `DEFAULT_CHECKSUM_T`
const WITHIN: Nanos = Nanos::from_secs(600);

/// Soft error rate discrimination: fires when the last N events came within T.
#[derive(Debug, Default)]
struct Serd(VecDeque<Nanos>);

impl Serd {
    fn record(&mut self, at: Nanos) -> bool {
        self.0.push_back(at);
        if self.0.len() > ERRORS {
            self.0.pop_front();
        }
        self.0.len() == ERRORS && at.since(self.0[0]) <= WITHIN
    }
}

/// What disks have done lately, by guid.
#[derive(Debug, Default)]
pub struct Diagnosis(Mutex<BTreeMap<u64, Case>>);

#[derive(Debug, Default)]
struct Case {
    io: Serd,
    checksum: Serd,
    /// An operator has said so, until the next import.
    is_set_aside: bool,
}

/// What becomes of a disk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    Fault,
    Degrade,
}

/// Reasons, as the configuration has them: it has erred too often; an operator said so.
const ERR_EXCEEDED: &str = "err_exceeded";
const EXTERNAL: &str = "external";

impl Diagnosis {
    fn record(&self, report: &DiskReport, at: Nanos) -> Option<Verdict> {
        let mut cases = lock(&self.0);
        let case = cases.entry(report.guid).or_default();
        match report.what {
            What::Checksum => case.checksum.record(at).then_some(Verdict::Degrade),
            // A disk that has vanished is not one that errs: it may be back any moment, and as good
            // as before.
            What::Read(Gone) | What::Write(Gone) | What::Flush(Gone) => None,
            What::Read(_) | What::Write(_) | What::Flush(_) => case.io.record(at).then_some(Verdict::Fault),
        }
    }

    /// Whether an operator has faulted a disk until the next import.
    pub(super) fn is_set_aside(&self, guid: u64) -> bool {
        lock(&self.0).get(&guid).is_some_and(|case| case.is_set_aside)
    }

    fn forget(&self, guid: Option<u64>) {
        lock(&self.0).retain(|case, _| guid.is_some_and(|guid| guid != *case));
    }
}

impl Core {
    /// Starts to judge disks.
    pub(super) fn watch_disks(self: &Arc<Core>) {
        let worker = self.storage.spawn(Box::new(Diagnoser(Arc::downgrade(self))));
        self.storage.reports().set_reader(worker);
    }

    fn judge(&self, report: &DiskReport, at: Nanos) {
        self.disk_ereport(report);
        let Some(verdict) = self.diagnosis.record(report, at) else { return };
        if self.condemn(report.guid, verdict, ERR_EXCEEDED) {
            tracing::error!(guid = report.guid, ?verdict, "a disk has erred too often");
        }
    }

    /// Judges a disk whatever it does; false if it is judged so already or not there, or the pool
    /// cannot do without it.
    fn condemn(&self, guid: u64, verdict: Verdict, why: &str) -> bool {
        let fault = verdict == Verdict::Fault;
        let done = if fault { self.storage.fault(guid) } else { self.storage.wear(guid) };
        if done && fault {
            self.sentence(guid, why, |vdev| vdev.faulted = true);
            self.leaf_faulted(guid);
        } else if done {
            self.sentence(guid, why, |vdev| {
                vdev.pairs.set(key::DEGRADED, 1u64);
            });
        }
        self.tell_states();
        done
    }

    /// Puts a verdict into the configuration.
    fn sentence(&self, guid: u64, why: &str, verdict: impl Fn(&mut VdevConfig)) {
        let note = |vdev: &mut VdevConfig| {
            verdict(vdev);
            vdev.pairs.set(key::AUX_STATE, why);
        };
        self.rewrite_leaves(|leaf| leaf == guid, note);
        // A group that nobody waits for has it.
        drop(self.txgs.enter(false));
    }

    /// Takes verdicts back.
    pub(super) fn acquit(&self, guid: Option<u64>) {
        self.diagnosis.forget(guid);
        self.rewrite_leaves(|leaf| guid.is_none_or(|guid| guid == leaf), acquitted);
    }

    /// Forgets the verdicts of another time, but for a disk that an operator has faulted
    /// (`vdev_alloc`).
    pub(super) fn judge_anew(&self) {
        let forget = |vdev: &mut VdevConfig| {
            if !is_condemned(vdev) {
                acquitted(vdev);
            }
        };
        self.rewrite_leaves(|_| true, forget);
    }

    fn rewrite_leaves(&self, wanted: impl Fn(u64) -> bool, rewrite: impl Fn(&mut VdevConfig)) {
        let mut config = lock(&self.config);
        let before = config.tree.clone();
        let data = config.tree.children.iter_mut().filter(|top| !top.is_log);
        data.for_each(|top| {
            top.visit_mut(&mut |vdev| {
                if vdev.kind.is_leaf() && wanted(vdev.guid) {
                    rewrite(vdev);
                }
            });
        });
        if config.tree != before {
            self.config_dirty.store(true, SeqCst);
        }
    }
}

impl Pool {
    /// Has a disk thought of as if it had erred too often.
    pub fn condemn(&self, guid: u64, verdict: Verdict) -> Result<()> {
        self.judge(guid, verdict, ERR_EXCEEDED)
    }

    /// Faults a disk because an operator says so, until that is cleared, or with `temporary` until
    /// the next import; waits until that is durable.
    pub fn fault_vdev(&self, guid: u64, temporary: bool, history: &str) -> Result<u64> {
        // What the configuration calls external holds for ever.
        self.judge(guid, Verdict::Fault, if temporary { ERR_EXCEEDED } else { EXTERNAL })?;
        lock(&self.core.diagnosis.0).entry(guid).or_default().is_set_aside = temporary;
        self.list_vdevs(history)
    }

    /// One that the pool cannot do without is called degraded, and used (`vdev_fault`).
    fn judge(&self, guid: u64, verdict: Verdict, why: &str) -> Result<()> {
        let core = &self.core;
        if core.readonly {
            return Err(PoolError::ReadOnly);
        }
        let Some(before) = core.storage.leaf_state(guid) else { return Err(PoolError::NotFound) };
        let is_so = before == VdevState::Faulted && verdict == Verdict::Fault;
        if !is_so && !core.condemn(guid, verdict, why) {
            core.condemn(guid, Verdict::Degrade, why);
        }
        core.sweeps.look_for_faulted(&core.storage);
        Ok(())
    }
}

/// Whether an operator has said so.
pub(super) fn is_condemned(vdev: &VdevConfig) -> bool {
    vdev.pairs.string(key::AUX_STATE) == Some(EXTERNAL)
}

fn acquitted(vdev: &mut VdevConfig) {
    vdev.faulted = false;
    vdev.pairs.remove(key::DEGRADED);
    vdev.pairs.remove(key::AUX_STATE);
}

/// Takes what storage tells.
struct Diagnoser(Weak<Core>);

impl Worker for Diagnoser {
    fn name(&self) -> &'static str {
        "diagnose"
    }

    fn step(&mut self, now: Nanos) -> Next {
        let Some(core) = self.0.upgrade() else { return Next::Stop };
        for report in core.storage.reports().take() {
            core.judge(&report, now);
        }
        // Storage may have given a disk up by itself: it is told of, and a spare need not wait for
        // somebody to write.
        core.tell_states();
        core.watch_vdevs();
        Next::WaitForWork
    }
}

#[cfg(test)]
mod tests;
