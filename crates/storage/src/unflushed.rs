//! What was written and is not durable yet, for disks that go and come back.
//!
//! A disk that loses power loses what its cache held, and a flush that failed says nothing about what was lost. So the
//! writes of syncing context are remembered here until a flush has succeeded on every vdev; when a disk has been opened
//! anew meanwhile, they are all written again before the next flush. Their bytes are shared with whoever wrote them, and
//! are no more than may be dirty in one transaction group.
//!
//! Only syncing context writes, remembers, rewrites and flushes; an operator only opens disks ([`Unflushed::reopening`]).

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Mutex, PoisonError, RwLock, RwLockReadGuard};

use env::lock;

use crate::Payload;
use crate::vdev::{Io, Op};

/// See the module.
#[derive(Default)]
pub struct Unflushed {
    /// By top-level vdev and offset.
    writes: Mutex<BTreeMap<(u32, u64), Io>>,
    /// A disk was opened anew since they were written.
    stale: AtomicBool,
    /// Held for writing while disks are opened anew, for reading during a flush: which handle it was must be certain.
    handles: RwLock<()>,
}

impl Unflushed {
    /// Takes note of writes that have landed. What they overlap was given up before, or has been written over.
    pub fn note<'a>(&self, written: impl Iterator<Item = (u32, &'a Io)>) {
        let mut writes = lock(&self.writes);
        for (vdev, io) in written {
            let Op::Write(payload) = &io.op else { continue };
            forget(&mut writes, vdev, io.offset, payload);
            writes.insert((vdev, io.offset), io.clone());
        }
    }

    /// All of them, in order.
    pub fn all(&self) -> Vec<(u32, Io)> {
        lock(&self.writes).iter().map(|((vdev, _), io)| (*vdev, io.clone())).collect()
    }

    /// They are durable.
    pub fn clear(&self) {
        lock(&self.writes).clear();
    }

    /// Whether they have to be written again; answering ends that.
    pub fn take_stale(&self) -> bool {
        self.stale.swap(false, SeqCst)
    }

    pub fn is_stale(&self) -> bool {
        self.stale.load(SeqCst)
    }

    pub fn set_stale(&self) {
        self.stale.store(true, SeqCst);
    }

    /// While it lives, no disk is opened anew.
    pub fn handles(&self) -> RwLockReadGuard<'_, ()> {
        self.handles.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens disks anew: what is remembered has to be written again.
    pub fn reopening<T>(&self, open: impl FnOnce() -> T) -> T {
        let _alone = self.handles.write().unwrap_or_else(PoisonError::into_inner);
        let opened = open();
        self.set_stale();
        opened
    }
}

fn forget(writes: &mut BTreeMap<(u32, u64), Io>, vdev: u32, offset: u64, payload: &Payload) {
    let end = offset + payload.len() as u64;
    let len = |io: &Io| match &io.op {
        Op::Write(payload) | Op::Repair { payload, .. } | Op::Supply { payload, .. } => payload.len() as u64,
        Op::Read(_) | Op::Heal { .. } => 0,
    };
    let before = writes.range((vdev, 0)..(vdev, offset)).next_back();
    let before = before.filter(|((_, start), io)| start + len(io) > offset).map(|(key, _)| *key);
    let inside = writes.range((vdev, offset)..(vdev, end)).map(|(key, _)| *key);
    let dead: Vec<(u32, u64)> = before.into_iter().chain(inside).collect();
    for key in dead {
        writes.remove(&key);
    }
}

#[cfg(test)]
mod tests;
