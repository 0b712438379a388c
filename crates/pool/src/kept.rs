//! What volumes were told and no durable group has, kept where the death of the program leaves it.
//!
//! A write of a volume that nobody has flushed is answered when it is in memory. Where the machine
//! goes on and the program dies, its client will not send it again: a page cache would have kept
//! it. So every change of a volume is also noted in memory that outlives the process
//! ([`env::Keepsake`]), inside its transaction and before it is answered. What is noted of a group
//! goes when the group is durable. The next import finds the rest, and does it again, in order,
//! before anybody is served.
//!
//! ```text
//!   write ─▶ overlay of group N ─▶ note(N) ─▶ answered      N is durable: all notes of N go
//!   death, import: the uberblock is of group M ─▶ notes up to M go ─▶ intent logs ─▶ the other notes, in order ─▶ served
//! ```
//! **All** changes are noted, flushed or not: the intent log of a volume holds some of them, in the
//! same order. So doing all of them again after the log has been replayed ends with what the last
//! of them left. What could not be noted for lack of room must be durable with its group before it
//! is answered ([`Noted::No`]).
//!
//! Memory is handed out in chunks of [`CHUNK`] bytes, each for one group of one pool, so that
//! nothing ever has to be looked for. Several callers fill several chunks. A note is bytes between
//! a head and a tail, written in this order: a death in the middle leaves no tail.
//!
//! ```text
//!   │ magic, chunks, levels │ pools: guid, two groups with the checksums of their roots │ chunks: guid, group, life │ chunks …
//!   │ answers to calls: [`replies`]
//!   chunk: │ head (9 words) │ bytes │ tail │ padding to 8 │ head …       a life is 0, or never was that of another chunk
//! ```
//! Invariants:
//! - A pool's notes count only where its uberblock has the root that this program wrote last, or
//!   was about to write: where another host or an older program changed the pool meanwhile, or an
//!   import goes back, they are dropped, and that is told.
//! - Before an import writes anything, the notes that it will do again are marked so ([`AGAIN`]):
//!   the numbers of its own groups say nothing about them. They go when what they say is durable,
//!   volume by volume, the oldest first: what a death in between leaves can be done again once
//!   more.

mod arena;
mod replies;

use std::sync::Arc;

use dmu::DmuError;
use ondisk::uberblock::Uberblock;
use stdx::call::{CallId, Keeping};

pub use arena::{Again, Kept};
pub use replies::Happened;

/// Bytes for what clients were answered.
pub const ANSWERS: u64 = replies::LEVEL * replies::LEVELS;

/// Bytes of a chunk.
pub const CHUNK: u64 = 1 << 20;
/// In the place of a group: to be done again.
const AGAIN: u64 = u64::MAX;

/// A change of a volume.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change<'a> {
    Bytes(&'a [u8]),
    /// So many bytes read as zeroes.
    Hole(u64),
}

/// Whether a change was noted.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Noted {
    /// It can be answered.
    Yes,
    /// Likewise, and its group should be written soon: it has filled its share.
    Soon,
    /// It can be answered when its group is durable.
    No,
}

/// A volume: the dataset's object and guid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct VolumeKey {
    pub object: u64,
    pub guid: u64,
}

/// What is noted of one pool.
pub struct KeptPool {
    kept: Arc<Kept>,
    guid: u64,
    /// Where its groups are written down.
    slot: usize,
}

impl KeptPool {
    /// Notes a change of a volume at `offset`. The caller is in group `txg`, and lets nobody else
    /// change these bytes.
    pub fn note(&self, txg: u64, volume: VolumeKey, offset: u64, change: Change<'_>) -> Noted {
        self.kept.note((self.guid, txg), volume, offset, change)
    }

    /// The uberblock is about to be written. Where that cannot be noted, later notes will not be
    /// believed: none are taken.
    pub(crate) fn syncing(&self, uberblock: &Uberblock) {
        self.kept.write_root(self.slot, self.guid, uberblock);
    }

    /// What is noted up to this group is needed no more.
    pub(crate) fn durable(&self, txg: u64) {
        self.kept.drop_groups(self.guid, txg);
    }

    /// The pool has been let go of, with all that was in it; see [`Kept::let_go`].
    pub(crate) fn let_go(&self, destroyed: bool) {
        self.kept.let_go(self.guid, self.slot, destroyed);
    }

    // ── What clients were answered ──

    /// The place for the answer to a call that has changed something of a dataset, by its guid, in
    /// this group. The caller is in it.
    pub fn note_call(&self, call: &CallId, dataset: u64, txg: u64) -> Option<Arc<dyn Keeping>> {
        self.kept.replies.as_ref()?.note(call, (self.guid, dataset), txg)
    }

    /// The records of a log up to this one have been done again, in groups up to `txg`. The log is
    /// still there.
    pub fn replayed(&self, log: u64, record: u64, txg: u64) {
        self.kept.replies.as_ref().inspect(|replies| replies.replayed(self.guid, log, record, txg));
    }

    /// The dataset is open: what was in its log has been done again, and nothing else has happened.
    pub fn opened(&self, dataset: u64) {
        self.kept.replies.as_ref().inspect(|replies| replies.opened(self.guid, dataset));
    }

    /// What is known of a call that an earlier program has done to a dataset that is open.
    pub fn recall(&self, dataset: u64, digest: &[u8; 32]) -> Option<Happened> {
        self.kept.replies.as_ref()?.recall((self.guid, dataset), digest)
    }

    /// Volumes with something to be done again.
    pub fn waiting(&self) -> Vec<VolumeKey> {
        self.kept.waiting(self.guid)
    }

    /// What is to be done again to a volume, the oldest first.
    pub fn again(&self, volume: VolumeKey) -> Result<Vec<Again>, DmuError> {
        self.kept.again(self.guid, volume).map_err(|_| DmuError::Io)
    }

    /// The bytes of a change, `None` where it left a hole.
    pub fn bytes(&self, again: &Again) -> Result<Option<Vec<u8>>, DmuError> {
        self.kept.bytes(again).map_err(|_| DmuError::Io)
    }

    /// What was to be done again to a volume is durable, or given up.
    pub fn done(&self, volume: VolumeKey) {
        self.kept.done(self.guid, volume);
    }
}

#[cfg(test)]
mod tests;
