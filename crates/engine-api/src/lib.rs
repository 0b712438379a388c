//! What a server, a service or an administrator can ask of the storage engine, and nothing about
//! how it is done.
//!
//! Five traits ([`Engine`], [`Diagnostics`], [`Pool`], [`FileSystem`], [`Volume`]), one that
//! callers implement ([`Watcher`]), plain data, one [`Error`]. Every call blocks until it is done;
//! every object is `Send + Sync`. What an operator sees, and what he asks for in one piece, is
//! defined once, in `api-types`, with the form that it has on the wire. Two implementations exist:
//! `engine` (the real one) and `model` (in memory, the oracle of the tests).

mod change;
mod diagnostics;
mod error;
mod fs;
mod pool;
mod stream;
mod volume;
mod watch;

pub use api_types::{
    ActiveFault, Advice, AdviceQuestion, BlockError, BlockFault, BlockKind, BlockRange, CacheFileSearch,
    Checkpoint, Condition, DatasetFilter, DatasetInfo, DatasetKind, DedupBucket, DedupEstimate, DedupTables,
    Delegation, DestroyPlan, DestroyQuery, DeviceFault, Errata, ErrorScrubStatus, FailMode, Fault,
    FaultEffect, FaultIo, FeatureInfo, Finding, Grant, Grantee, Health, HistoryRecord, ImportCondition,
    Importable, InitializeCommand, IoCounters, NewDevice, NewVdevs, PoolSpec, PoolStatus, PropKind,
    PropValue, PropertyChange, RebuildState, RebuildStatus, Removal, RemovalState, Rewound, ScanCommand,
    ScanKind, ScanState, ScanStatus, SendRequest, Source, SpaceExplained, SpaceHolder, SpacePart, SpaceUse,
    Spender, SuspendCause, SweepState, SweepStatus, TrimCommand, Tunable, UnknownFeature, Upgradable,
    VdevSpec, VdevStatus, VdevTallies, VolumePlan, Zevent,
};

/// Why a request is refused, as data.
pub use refusal;

pub use change::{Change, Committed};
pub use diagnostics::{Condemn, Diagnostics, NoDiagnostics};
pub use error::{Error, Result};
pub use fs::*;
pub use pool::*;
pub use stream::{ReceiveEvent, ReceiveRequest, Received, SendEvent, TokenContents};
pub use volume::{Volume, VolumeGeometry, VolumeId, VolumeRoom};
pub use watch::{Changed, Origin, Watcher};
