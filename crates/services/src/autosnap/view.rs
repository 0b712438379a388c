//! The facts that a plan is made of.

use crate::freshness::Facts;
use crate::time::{FIRST, Time};

use super::stamp::Stamp;

/// One dataset and all its snapshots, as they are at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct View {
    pub dataset: Dataset,
    /// In any order.
    pub snapshots: Vec<Snapshot>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dataset {
    pub name: String,
    pub guid: u64,
    pub created: Time,
    /// Bytes written since the newest snapshot; since creation where there is none.
    pub written: u64,
    pub used: u64,
    pub available: u64,
    /// Bytes that would be free without any snapshot.
    pub used_by_snapshots: u64,
    /// Destroyed snapshots of this pool have not given back all their space yet.
    pub freeing: bool,
    /// A stream is being received into it, or may be resumed.
    pub receiving: bool,
    /// It is kept the same as another dataset.
    pub replica: bool,
    /// The pool is neither suspended nor imported read-only.
    pub writable: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// Without the dataset's name.
    pub name: String,
    pub guid: u64,
    pub createtxg: u64,
    /// As the pool has it.
    pub created: Time,
    /// Bytes written between the snapshot before and this one.
    pub written: u64,
    /// Bytes that only this one holds.
    pub unique: u64,
    pub holds: u32,
    pub clones: u32,
    /// Who needs it as a base, if anybody does.
    pub needed_by: Option<String>,
    /// [`super::stamp::PROPERTY`], where it was set on this snapshot itself: neither inherited nor
    /// received. `None`: not set, or no stamp.
    pub stamp: Option<Stamp>,
}

impl View {
    /// How fresh its newest snapshot is, whoever made it. What was made in the future does not
    /// count: the next older one does, or none.
    pub fn freshness(&self, now: Time) -> Facts {
        let made = |it: &Snapshot| it.stamp.as_ref().map_or(it.created, |stamp| stamp.at);
        let past = self.snapshots.iter().filter(|it| made(it) <= now);
        let newest = past.max_by_key(|it| (it.createtxg, made(it))).map(made);
        let since = if self.dataset.created <= now { self.dataset.created } else { FIRST };
        Facts { newest, since, unchanged: self.dataset.written == 0 }
    }
}
