//! What a server, a service or an administrator can ask of the storage engine, and nothing about
//! how it is done.
//!
//! Six traits ([`Engine`], [`Serving`], [`Diagnostics`], [`Pool`], [`FileSystem`], [`Volume`]), two
//! that callers implement ([`Watcher`], [`Policy`]), plain data, one [`Error`]. Every call blocks
//! until it is done; every object is `Send + Sync`. What an operator sees, and what he asks for in
//! one piece, is defined once, in `api-types`, with the form that it has on the wire. `engine` is
//! the real implementation. `model` has those that servers need (in memory, the oracle of the
//! tests).

mod cancel;
mod change;
mod diagnostics;
mod error;
mod fs;
mod identity;
mod place;
mod policy;
mod pool;
mod serving;
mod stream;
mod volume;
mod watch;

pub use api_types::{
    ActiveFault, Advice, AdviceQuestion, BlockError, BlockFault, BlockKind, BlockRange, Breakdown,
    CacheFileSearch, Checkpoint, Condition, CurvePoint, DatasetFilter, DatasetInfo, DatasetKind, DatasetPage,
    DatasetPlace, DatasetProperty, DedupBucket, DedupEstimate, DedupTables, Delegation, DestroyPlan,
    DestroyQuery, DeviceFault, Edit, Errata, ErrorScrubStatus, FailMode, Fault, FaultEffect, FaultIo,
    FeatureInfo, FileSystemCounts, Finding, Grant, Grantee, Health, HistoryRecord, IDENTITY, ImportCondition,
    Importable, InitializeCommand, IoCounters, Named, NewDevice, NewVdevs, PoolProperty, PoolSpec,
    PoolStatus, PropKind, PropType, PropValue, PropertyChange, REPLICA, RebuildState, RebuildStatus, Removal,
    RemovalState, Rewound, ScanCommand, ScanKind, ScanState, ScanStatus, SendRequest, Source, SpaceExplained,
    SpaceHolder, SpacePart, SpaceUse, Spender, SuspendCause, SweepState, SweepStatus, TrimCommand, Tunable,
    UnknownFeature, Upgradable, VdevSpec, VdevStatus, VdevTallies, VolumeCounts, VolumePlan, Zevent,
    is_of_machine,
};

/// Why a request is refused, as data.
pub use refusal;

/// Holds that nobody takes off before a time.
pub use api_types::lock;

pub use cancel::Cancel;
pub use change::{Change, Committed};
pub use diagnostics::{Condemn, Diagnostics};
pub use error::{Error, Result};
pub use fs::*;
pub use identity::{Adopted, HandleKey, Identity, without_key};
pub use place::{Place, PlaceName};
pub use policy::{NoPolicy, Policy};
pub use pool::*;
pub use serving::{Served, ServedVolume, Serving};
pub use stream::{ReceiveEvent, ReceiveRequest, Received, SendEvent, TokenContents};
pub use volume::{Volume, VolumeGeometry, VolumeId, VolumeRoom};
pub use watch::{Changed, Origin, Watcher};
