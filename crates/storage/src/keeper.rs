//! Workers of a pool, kept apart from those of others: one that panics ends its own pool and
//! nothing else, one that takes too long can be named.
//!
//! Whoever starts a worker for a pool does it by [`Storage::spawn`]. A panic suspends the pool for
//! good ([`crate::Cause::Fault`]): what the worker had in hand may be half changed, so nothing is
//! written any more; the pool can be exported and imported again. In a simulation a panic goes on
//! to the driver: it is what a run looks for.
//!
//! How long is too long: module/zfs/spa_misc.c (`zfs_deadman_synctime_ms` for a step,
//! `zfs_deadman_ziotime_ms` for an I/O).

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Weak};

use env::watch::Watch;
use env::{Nanos, Next, Worker, WorkerHandle};
use stdx::panics;

use crate::Storage;

/// Longest step of a worker.
pub const STEP_LIMIT: Nanos = Nanos::from_secs(600);
/// Longest I/O of a disk.
pub const IO_LIMIT: Nanos = Nanos::from_secs(300);

/// A worker or disk that does not come to an end.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Stuck {
    /// The worker, or what the disk was asked for.
    pub what: String,
    pub since: Nanos,
    /// The disk.
    pub vdev: Option<u64>,
}

impl Storage {
    /// Starts a worker of this pool.
    pub fn spawn(self: &Arc<Storage>, worker: Box<dyn Worker>) -> WorkerHandle {
        let driver = &self.env().driver;
        if driver.is_cooperative() {
            return driver.spawn(worker);
        }
        driver.spawn(Box::new(Kept { worker, storage: Arc::downgrade(self), watch: self.watch().clone() }))
    }

    /// Who is stuck and was not named before. While the pool is suspended everybody waits, and that
    /// is told already.
    pub fn stuck(&self, now: Nanos) -> Vec<Stuck> {
        if self.is_suspended() {
            return Vec::new();
        }
        let steps = self.watch().overdue(now, STEP_LIMIT).into_iter();
        let steps = steps.map(|late| Stuck { what: late.what, since: late.since, vdev: None });
        let tree = self.tree();
        let disks = tree.leaves.iter().filter_map(|leaf| {
            let (what, since) = leaf.queue()?.overdue(now, IO_LIMIT)?;
            Some(Stuck { what: what.to_owned(), since, vdev: Some(leaf.guid) })
        });
        steps.chain(disks).collect()
    }
}

struct Kept {
    worker: Box<dyn Worker>,
    storage: Weak<Storage>,
    watch: Arc<Watch>,
}

impl Worker for Kept {
    fn name(&self) -> &'static str {
        self.worker.name()
    }

    fn step(&mut self, now: Nanos) -> Next {
        let name = self.worker.name();
        let _at_work = self.watch.begin(name, now);
        catch_unwind(AssertUnwindSafe(|| self.worker.step(now))).unwrap_or_else(|panic| {
            if let Some(storage) = self.storage.upgrade() {
                let text = panics::text(&*panic).unwrap_or("panic");
                storage.suspension().fault(format!("{name}: {text}"));
            }
            Next::Stop
        })
    }
}

#[cfg(test)]
mod tests;
