//! What was written and is not durable yet, for disks that go and come back.
//!
//! A disk that loses power loses what its cache held, and a flush that failed says nothing about
//! what was lost. So the writes of syncing context are remembered here until a flush has succeeded
//! on every vdev; when a disk has been opened anew meanwhile, they are all written again before the
//! next flush. Until then readers get them from here, not from disks that may have lost them
//! ([`Unflushed::recall`]). Their bytes are shared with whoever wrote them, and are no more than
//! may be dirty in one transaction group.
//!
//! Only syncing context rewrites and flushes what is remembered; an operator only opens disks
//! ([`Unflushed::reopening`]). Blocks that logs lead to are written, and remembered, beside it:
//! such a one may land while a flush is under way that does not cover it, or be remembered when the
//! others have been written again. The blocks of logs themselves nobody writes again: who writes
//! them asks whether they may have been lost before their flush ([`Unflushed::losses`]).

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::{Mutex, PoisonError, RwLock, RwLockReadGuard};

use env::lock;

use crate::Payload;
use crate::vdev::{Io, Op};

#[derive(Default)]
struct Writes {
    /// By top-level vdev and offset, with their numbers.
    by_place: BTreeMap<(u32, u64), (u64, Io)>,
    /// How many were ever remembered.
    count: u64,
}

/// See the module.
#[derive(Default)]
pub struct Unflushed {
    writes: Mutex<Writes>,
    /// Grows before and after disks are opened anew.
    losses: AtomicU64,
    /// As many of these are made good: what was remembered then has been written again.
    made_good: AtomicU64,
    /// Held for writing while disks are opened anew, for reading during a flush: which handle it
    /// was must be certain.
    handles: RwLock<()>,
}

impl Unflushed {
    /// Takes note of writes that have landed; `losses` is [`Unflushed::losses`] before they began.
    /// What they overlap was given up before, or has been written over.
    pub fn note<'a>(&self, written: impl Iterator<Item = (u32, &'a Io)>, losses: u64) {
        let mut writes = lock(&self.writes);
        for (vdev, io) in written {
            let Op::Write(payload) = &io.op else { continue };
            forget(&mut writes.by_place, vdev, io.offset, payload);
            writes.count += 1;
            let number = writes.count;
            writes.by_place.insert((vdev, io.offset), (number, io.clone()));
        }
        drop(writes);
        if self.losses() != losses {
            self.set_stale();
        }
    }

    /// All of them, in order.
    pub fn all(&self) -> Vec<(u32, Io)> {
        lock(&self.writes).by_place.iter().map(|((vdev, _), (_, io))| (*vdev, io.clone())).collect()
    }

    /// How many were ever remembered.
    pub fn count(&self) -> u64 {
        lock(&self.writes).count
    }

    /// The first so many are durable.
    pub fn clear(&self, count: u64) {
        lock(&self.writes).by_place.retain(|_, (number, _)| *number > count);
    }

    /// Whether they have to be written again.
    pub fn is_stale(&self) -> bool {
        self.losses() != self.made_good.load(SeqCst)
    }

    /// They have been written again, as they were when there were so many [`Unflushed::losses`].
    pub fn make_good(&self, losses: u64) {
        self.made_good.fetch_max(losses, SeqCst);
    }

    /// What was written at this place, `len` bytes, if the disks may have lost it. Space is given
    /// to another block only once the one before it is dead, so who knows of a block finds that one
    /// or none.
    pub fn recall(&self, vdev: u32, offset: u64, len: usize) -> Option<Payload> {
        if !self.is_stale() {
            return None;
        }
        match &lock(&self.writes).by_place.get(&(vdev, offset))?.1.op {
            Op::Write(payload) if payload.len() >= len => Some(payload.cut(len)),
            _ => None,
        }
    }

    /// What was written before this may be lost.
    pub fn set_stale(&self) {
        self.losses.fetch_add(1, SeqCst);
    }

    /// Grows when what had been written may have been lost. If it is the same before a write and
    /// after its flush, that was not.
    pub fn losses(&self) -> u64 {
        self.losses.load(SeqCst)
    }

    /// While it lives, no disk is opened anew.
    pub fn handles(&self) -> RwLockReadGuard<'_, ()> {
        self.handles.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens disks anew: what is remembered has to be written again.
    pub fn reopening<T>(&self, open: impl FnOnce() -> T) -> T {
        let _alone = self.handles.write().unwrap_or_else(PoisonError::into_inner);
        // A flush of the new handle must not pass for one of the old, nor may anybody read what it
        // lacks.
        self.losses.fetch_add(1, SeqCst);
        let opened = open();
        self.set_stale();
        opened
    }
}

fn forget(writes: &mut BTreeMap<(u32, u64), (u64, Io)>, vdev: u32, offset: u64, payload: &Payload) {
    let end = offset + payload.len() as u64;
    let len = |io: &Io| match &io.op {
        Op::Write(payload) | Op::Repair { payload, .. } | Op::Supply { payload, .. } => payload.len() as u64,
        Op::Read(_) | Op::Heal { .. } => 0,
    };
    let before = writes.range((vdev, 0)..(vdev, offset)).next_back();
    let before = before.filter(|((_, start), (_, io))| start + len(io) > offset).map(|(key, _)| *key);
    let inside = writes.range((vdev, offset)..(vdev, end)).map(|(key, _)| *key);
    let dead: Vec<(u32, u64)> = before.into_iter().chain(inside).collect();
    for key in dead {
        writes.remove(&key);
    }
}

#[cfg(test)]
mod tests;
