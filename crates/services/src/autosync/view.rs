//! What a plan is made from: a dataset, and its replica.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::time::Time;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Snapshot {
    /// Without its dataset.
    pub name: String,
    pub guid: u64,
    pub createtxg: u64,
    /// When this service made it; `None`: another did.
    pub stamp: Option<Time>,
    /// By this service.
    pub held: bool,
    /// It has a clone, or somebody else holds it.
    pub needed: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bookmark {
    /// Without its dataset.
    pub name: String,
    pub guid: u64,
    pub createtxg: u64,
    /// Whoever has the source says that it is this service's.
    #[serde(default)]
    pub own: bool,
}

/// The dataset that is replicated.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    pub guid: u64,
    /// In any order.
    pub snapshots: Vec<Snapshot>,
    pub bookmarks: Vec<Bookmark>,
    /// Bytes since the newest snapshot.
    pub written: u64,
    /// Bytes that would come free if the snapshots went that this service made, or holds where it
    /// makes none.
    pub kept: u64,
    /// Whether this service makes snapshots of it. Where it may not, all that there are count as
    /// made for it, when each was made, and are needed by whoever made them.
    pub makes: bool,
}

impl Source {
    /// Those that this service made, or that were made for it, oldest first.
    pub(super) fn own(&self) -> Vec<&Snapshot> {
        let mut own: Vec<&Snapshot> = self.snapshots.iter().filter(|it| it.stamp.is_some()).collect();
        own.sort_by_key(|it| it.createtxg);
        own
    }

    pub(super) fn by_guid(&self, guid: u64) -> Option<&Snapshot> {
        self.snapshots.iter().find(|it| it.guid == guid)
    }
}

/// What there is where the replica should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// It is not known.
    Unreachable,
    /// No dataset.
    Absent,
    There(Replica),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replica {
    /// Its [`super::stamp::REPLICA`].
    pub relation: Option<String>,
    pub readonly: bool,
    /// Which of its snapshots go is decided there.
    pub keeps: bool,
    /// In any order. Whether this service holds one is not looked at.
    pub snapshots: Vec<Snapshot>,
    /// What an interrupted receive has left.
    pub partial: Option<Partial>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Partial {
    /// The source has the rest.
    Resumable,
    /// The source has not what it was of.
    Useless,
}

/// All that a plan is made from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct View {
    pub source: Source,
    pub target: Target,
    /// A snapshot that is older is not new enough.
    pub wanted: Time,
    /// Something of it was on a replica before.
    pub sent_before: bool,
    /// guids of bookmarks that this service made.
    pub bookmarks: BTreeSet<u64>,
    /// Since when nothing could be sent.
    pub failing_since: Option<Time>,
    /// What was written to the source later, its view may lack.
    pub as_of: Time,
    pub now: Time,
}
