//! Streams of datasets. A request is one line of JSON, and for a receive the stream after it, in a
//! body of any length. The answer comes while that is read: frames of a kind, a length and so many
//! bytes, of which the last is an event that says how it ended.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Problem, PropertyChange, Warnings};

/// The kind of a frame that is part of a stream.
pub const FRAME_DATA: u8 = b'd';
/// The kind of a frame that is a [`StreamEvent`] as JSON.
pub const FRAME_EVENT: u8 = b'e';
/// Bytes before a frame's own: its kind, and how many there are (little endian).
pub const FRAME_HEAD: usize = 5;
/// What stands before a frame of so many bytes.
pub fn frame_head(kind: u8, len: u32) -> [u8; FRAME_HEAD] {
    [kind, len as u8, (len >> 8) as u8, (len >> 16) as u8, (len >> 24) as u8]
}

/// Kind and length of a frame.
pub fn read_frame_head([kind, a, b, c, d]: [u8; FRAME_HEAD]) -> (u8, u32) {
    (kind, u32::from(a) | u32::from(b) << 8 | u32::from(c) << 16 | u32::from(d) << 24)
}

/// The longest request line, in bytes.
pub const REQUEST_MAX: usize = 1 << 20;

/// `POST /v1/receive`
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Receive {
    /// A dataset, or a snapshot to be made.
    pub target: String,
    /// What was sent keeps its path below the target, without the pool's name.
    pub keep_path: bool,
    /// It keeps the last part of its name.
    pub keep_tail: bool,
    /// Give up what the target has beyond what the stream starts from.
    pub force: bool,
    pub dry_run: bool,
    pub verbose: bool,
    /// Mount nothing.
    pub no_mount: bool,
    /// The snapshot that what is received is to be a clone of.
    pub origin: Option<String>,
    pub props: Vec<PropertyChange>,
    /// Properties not to be received.
    pub exclude: Vec<String>,
    /// Leave out the holds that were sent.
    pub skip_holds: bool,
    /// Keep what has been received when the stream ends early, to be resumed.
    pub resumable: bool,
    /// Take what cannot be read any more of the snapshot that was sent, and nothing else.
    pub heal: bool,
    pub history: String,
}

/// What is told while a stream flows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StreamEvent {
    /// To be shown as it is.
    Line(String),
    /// To be shown beside the output; no failure.
    Note(String),
    /// What a token says, as it is shown.
    Token(String),
    /// A snapshot will be sent: bytes, about. All are told before the first begins.
    Planned { snapshot: String, from: Option<String>, size: u64 },
    /// A dataset of the tree is left out, with all below it: it has no such snapshot. `is_new`: it
    /// is younger.
    Skipped { dataset: String, is_new: bool },
    /// A snapshot is being sent.
    Begins(String),
    /// So many blocks of it have been looked at, told now and then.
    Visited(u64),
    /// One dataset's stream was received: its bytes, and nanoseconds it took.
    Received { bytes: u64, nanos: u64 },
    /// The end; what went wrong beside the work.
    Done(Warnings),
    /// The end, too.
    Failed(Problem),
}

/// `POST /v1/datasets/{name}/abort-receive`: destroys what a receive that can be resumed has left.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct AbortReceive {
    pub history: String,
}

/// `POST /v1/send`
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SendRequest {
    /// With `saved` a dataset. Left alone where there is a token.
    pub snapshot: String,
    /// The rest of a stream that was interrupted: property `receive_resume_token` of its receiver.
    pub token: Option<String>,
    /// What an interrupted receive has left there, as far as it came.
    pub saved: bool,
    /// The snapshot or bookmark that the stream starts from, by its full name.
    pub from: Option<String>,
    /// Blocks above 128 KiB are not cut up.
    pub large_blocks: bool,
    /// What is small enough for block pointers is sent that small.
    pub embed: bool,
    /// Blocks are sent as compressed as they are.
    pub compress: bool,
    /// All snapshots from `from` on.
    pub intermediates: bool,
    /// With everything below, properties, all snapshots and clones.
    pub replicate: bool,
    /// With the properties that it has itself.
    pub props: bool,
    /// With those that it was sent.
    pub backup: bool,
    pub holds: bool,
    /// Datasets of the tree that have no such snapshot are left out.
    pub skip_missing: bool,
    /// Datasets that are left out, with all below them.
    pub exclude: Vec<String>,
    /// Only say what would be sent.
    pub dry_run: bool,
}
