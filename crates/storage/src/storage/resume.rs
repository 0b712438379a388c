//! A suspended pool from inside: who meets a failure beyond redundancy waits here, and what makes
//! trying again sound.
//!
//! See [`crate::suspend`] for the idea and [`crate::unflushed`] for what is written again.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use env::{DiskError, IoClass};
use stdx::patience::is_hurried;

use super::{Storage, flush};
use crate::flight::Flight;
use crate::suspend::Cause;
use crate::vdev::leaf::Leaf;
use crate::vdev::open::{Top, Tree};
use crate::vdev::status::VdevState;
use crate::{ReadError, WriteError, suspend};

/// Writes that are repeated together.
const BATCH: usize = 256;

impl Storage {
    /// Makes durable everything that syncing context wrote before the call, logs included. A disk
    /// that cannot is faulted if the pool can do without it: what it has lost is unknown. Syncing
    /// context.
    pub fn flush_all(&self) -> Result<(), WriteError> {
        loop {
            if self.flush_once().is_ok() {
                return Ok(());
            }
            self.park(WriteError::Io)?;
        }
    }

    fn flush_once(&self) -> Result<(), WriteError> {
        let _handles = loop {
            self.write_again()?;
            let handles = self.unflushed.handles();
            if !self.unflushed.is_stale() {
                break handles;
            }
        };
        let (tree, count) = (self.tree(), self.unflushed.count());
        let tops: Vec<u32> = tree.tops.iter().filter(|top| !top.is_log).map(|top| top.id).collect();
        let logs: Vec<u32> = tree.tops.iter().filter(|top| top.is_log).map(|top| top.id).collect();
        let flushed = flush::flush(self.env(), &tree, &[&tops[..], &logs[..]].concat());
        if !flushed.iter().all(|(top, durable)| *durable || logs.contains(top)) {
            return Err(WriteError::Io);
        }
        self.unflushed.clear(count);
        Ok(())
    }

    /// After a failure beyond redundancy: suspends the pool and waits. `Ok`: it is resumed, what
    /// the disks may have lost is there again, and what failed is to be tried again. A pool that
    /// nobody can resume gives back the error at once. Syncing context.
    pub(crate) fn park(&self, error: WriteError) -> Result<(), WriteError> {
        loop {
            self.wait_resumed(error)?;
            if self.write_again().is_ok() {
                return Ok(());
            }
        }
    }

    /// Suspends the pool and waits until it is resumed; who is in a hurry does not.
    pub(crate) fn wait_resumed(&self, error: WriteError) -> Result<(), WriteError> {
        let suspension = self.suspension();
        if !suspension.is_patient() {
            return Err(error);
        }
        suspension.suspend(Cause::Io);
        if !is_hurried() && suspension.park() { Ok(()) } else { Err(error) }
    }

    /// Writes what is not certain to be on the disks, if one of them has been opened anew. Syncing
    /// context.
    fn write_again(&self) -> Result<(), WriteError> {
        let losses = self.losses();
        if !self.unflushed.is_stale() {
            return Ok(());
        }
        let writes = self.unflushed.all();
        tracing::info!(blocks = writes.len(), "writing again what the disks may have lost");
        let tree = self.tree();
        let counts = |leaf: &Arc<Leaf>| (leaf.counters.taken.count(), leaf.counters.refused.count());
        let before: Vec<(u64, u64)> = tree.leaves.iter().map(counts).collect();
        for batch in writes.chunks(BATCH) {
            let class = IoClass::AsyncWrite;
            let done = Flight::take_off(self.env(), &tree, class, batch.to_vec()).land(&|_, _| true);
            if done.iter().any(Result::is_err) {
                return Err(WriteError::Io);
            }
        }
        self.unflushed.make_good(losses);
        tree.leaves.iter().zip(before).for_each(|(leaf, (taken, refused))| leaf.settle(taken, refused));
        Ok(())
    }

    /// Opens disks anew that have vanished, have failed to flush or were faulted: all, or the one
    /// of this guid. Logs are not touched: what they hold counts only until its group is durable.
    /// Says which are open again.
    pub fn reopen(&self, guid: Option<u64>) -> Vec<u64> {
        let tree = self.tree();
        let data = |leaf: &&Arc<Leaf>| tree.top(leaf.top).is_some_and(|top| !top.is_log);
        let asked = |leaf: &&Arc<Leaf>| guid.is_none_or(|guid| guid == leaf.guid);
        let leaves = tree.leaves.iter().filter(data).filter(asked);
        let wanting: Vec<&Arc<Leaf>> = leaves.filter(|leaf| wants_reopening(leaf)).collect();
        if wanting.is_empty() {
            return Vec::new();
        }
        self.unflushed.reopening(|| {
            let opened = wanting.into_iter().filter(|leaf| self.reopen_leaf(leaf).is_ok());
            opened.map(|leaf| leaf.guid).collect()
        })
    }

    fn reopen_leaf(&self, leaf: &Leaf) -> Result<(), DiskError> {
        leaf.reopen(self.env(), &self.guids()).inspect_err(|error| {
            tracing::warn!(path = leaf.path, guid = leaf.guid, %error, "a disk cannot be opened again");
        })
    }

    /// Grows when disks may have lost what they took and had not flushed: for whoever writes and
    /// flushes beside syncing context ([`Storage::write_log`]).
    pub fn losses(&self) -> u64 {
        self.unflushed.losses()
    }

    /// Lets a suspended pool go on; `Err` if it still lacks disks, or has been given up.
    pub fn resume(&self) -> Result<(), WriteError> {
        let tree = self.tree();
        if !tree.tops.iter().filter(|top| !top.is_log).all(|top| is_there(&tree, top)) {
            return Err(WriteError::Io);
        }
        // What a disk refused is written again, be it that none was opened anew, or retried by who
        // waits.
        self.unflushed.set_stale();
        let whole = tree.leaves.iter().filter(|leaf| leaf.is_whole());
        whole.for_each(|leaf| leaf.counters.missed_write.store(false, Relaxed));
        if self.suspension().resume() { Ok(()) } else { Err(WriteError::Suspended) }
    }

    /// Nobody waits for lost disks any more: what fails, fails.
    pub fn give_up(&self) {
        self.suspension().give_up();
    }

    /// Whether a failed read is worth waiting for: disks are missing that an operator may bring
    /// back, and whoever asks may wait.
    pub(crate) fn awaits(&self, error: ReadError) -> bool {
        use ReadError::{Checksum, Io, Missing};
        let insists = suspend::insists();
        let waits = insists || self.suspension().mode() != suspend::FailMode::Continue;
        let could_help = error == Missing || (insists && matches!(error, Io | Checksum));
        waits && could_help && self.suspension().is_patient()
    }
}

fn wants_reopening(leaf: &Leaf) -> bool {
    leaf.needs_reopening() || leaf.state() == VdevState::Faulted
}

/// Whether all disks are there that a top-level vdev cannot do without: those that have vanished
/// and could be spared were faulted.
fn is_there(tree: &Tree, top: &Top) -> bool {
    let lacks = |leaf: usize| tree.leaves[leaf].is_whole() && tree.leaves[leaf].needs_reopening();
    top.vdev.is_readable(&tree.leaves, None) && !top.vdev.leaves().into_iter().any(lacks)
}
