//! Streams: a dataset's content on its way from one pool to another, in OpenZFS's format.

use crate::PropertyChange;

/// `zfs receive`
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReceiveRequest {
    /// A dataset, or a snapshot to be made.
    pub target: String,
    /// `-d`: what was sent keeps its name below the target, but for that of the pool.
    pub keep_path: bool,
    /// `-e`: it keeps the last part of its name.
    pub keep_tail: bool,
    /// `-F`: give up what the target has beyond what the stream starts from.
    pub force: bool,
    /// `-n`: only say what would be done.
    pub dry_run: bool,
    /// `-v`: tell what is done.
    pub verbose: bool,
    /// `-o origin=`: the snapshot that what is received is to be a clone of.
    pub origin: Option<String>,
    /// `-o`
    pub props: Vec<PropertyChange>,
    /// User properties that the snapshot is given as it becomes visible.
    pub marks: Vec<PropertyChange>,
    /// `-x`
    pub exclude: Vec<String>,
    /// `-h`: leave out the holds that were sent.
    pub skip_holds: bool,
    /// `-s`: what has been received is kept when the stream ends early, to be resumed.
    pub resumable: bool,
    /// `-c`: what cannot be read any more of the snapshot that was sent is taken from the stream;
    /// nothing else changes.
    pub heal: bool,
    /// Takes a stream of one snapshot alone. One of several can destroy and rename, and sets
    /// properties.
    pub single: bool,
    pub history: String,
}

/// What is told while a stream is received.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReceiveEvent {
    /// To be shown as it is.
    Line(String),
    /// One stream is done: its bytes, and nanoseconds it took.
    Done { bytes: u64, nanos: u64 },
}

/// A stream was received.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Received {
    /// File systems that are new, or have this name now: to be mounted.
    pub new: Vec<String>,
    /// File systems that were there and are others now, as a whole: where they are mounted, to be
    /// mounted anew.
    pub replaced: Vec<String>,
    /// Datasets that are gone, or have other names: to be unmounted.
    pub gone: Vec<String>,
    /// The dataset that the first stream went to.
    pub top: Option<String>,
    /// What went wrong beside the work.
    pub warnings: Vec<String>,
    /// What is worth saying, and no failure.
    pub notes: Vec<String>,
}

/// What a token of `zfs send -t` says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TokenContents {
    /// The snapshot that is to be sent, as its sender called it.
    pub snapshot: String,
    /// Its guid, and that of what the stream starts from; 0: from nothing.
    pub guid: u64,
    pub from_guid: u64,
    /// All of it, as it is shown.
    pub shown: String,
}

/// What is told while something is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SendEvent {
    /// What a token says, as it is shown.
    Token(String),
    /// A snapshot that will be sent: bytes, about. All of them are told before the first begins.
    Planned { snapshot: String, from: Option<String>, size: u64 },
    /// A dataset of the tree is left out, with all below it: it has no such snapshot. `is_new`: it
    /// is younger.
    Skipped { dataset: String, is_new: bool },
    /// It is being sent.
    Begins(String),
    /// So many blocks of it have been looked at, told now and then.
    Visited(u64),
}
