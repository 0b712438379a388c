//! What a server, a service or an administrator can ask of the storage engine, and nothing about
//! how it is done.
//!
//! Five traits ([`Engine`], [`Diagnostics`], [`Pool`], [`FileSystem`], [`Volume`]), one that
//! callers implement ([`Watcher`]), plain data, one [`Error`]. Every call blocks until it is done;
//! every object is `Send + Sync`. Nothing in here serialises: a wire form belongs to the crate that
//! owns the wire. Two implementations exist: `engine` (the real one) and `model` (in memory, the
//! oracle of the tests).

mod allow;
mod change;
mod dedup;
mod diagnostics;
mod error;
mod fs;
mod inject;
mod measure;
mod pool;
mod stream;
mod volume;
mod watch;
mod zevent;

pub use allow::{Delegation, Grant, Grantee};
pub use change::{Change, Committed, InitializeCommand, PropertyChange, ScanCommand, TrimCommand};
pub use dedup::{DedupBucket, DedupEstimate, DedupTables};
pub use diagnostics::{Diagnostics, NoDiagnostics, Tunable};
pub use error::{Error, Result};
pub use fs::*;
pub use inject::*;
pub use measure::{Advice, AdviceQuestion, Counts, Finding, VdevTallies};
pub use pool::*;
pub use stream::{ReceiveEvent, ReceiveRequest, Received, SendEvent, SendRequest, TokenContents};
pub use volume::{Volume, VolumeGeometry, VolumeId, VolumeRoom};
pub use watch::{Changed, Origin, Watcher};
pub use zevent::{Zevent, ZeventValue};
