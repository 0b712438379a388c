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
    /// `-x`
    pub exclude: Vec<String>,
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
    /// File systems that are new: to be mounted.
    pub new: Vec<String>,
}

/// `zfs send`
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SendRequest {
    pub snapshot: String,
    /// `-i`: the snapshot or bookmark that the stream starts from, by its full name.
    pub from: Option<String>,
    /// `-L`: blocks above 128 KiB are not cut up.
    pub large_blocks: bool,
    /// `-e`: what is small enough for block pointers is sent that small.
    pub embed: bool,
    /// `-c`: blocks are sent as compressed as they are.
    pub compress: bool,
    /// `-n`: only say what would be sent.
    pub dry_run: bool,
}

/// What is about to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SendEvent {
    pub snapshot: String,
    pub from: Option<String>,
    /// Bytes, about.
    pub size: u64,
}
