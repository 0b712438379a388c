//! Pools, their devices and their history.

use crate::{Condition, DedupTables, ImportCondition, PropertyChange};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Health of a vdev or pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
pub enum Health {
    Online,
    Degraded,
    Faulted,
    Offline,
    Unavail,
    Removed,
    Suspended,
}

impl Health {
    /// As in `zpool status`.
    pub fn name(self) -> &'static str {
        match self {
            Health::Online => "ONLINE",
            Health::Degraded => "DEGRADED",
            Health::Faulted => "FAULTED",
            Health::Offline => "OFFLINE",
            Health::Unavail => "UNAVAIL",
            Health::Removed => "REMOVED",
            Health::Suspended => "SUSPENDED",
        }
    }
}

/// A vdev to make.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum VdevSpec {
    /// A file, block device or partition, by absolute path.
    Leaf(String),
    Mirror(Vec<VdevSpec>),
    Raidz {
        /// Devices that may be lost, 1 to 3.
        parity: u64,
        children: Vec<VdevSpec>,
    },
}

/// `POST /v1/pools`
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PoolSpec {
    pub name: String,
    /// What it is called until it is exported, instead.
    pub temporary_name: Option<String>,
    pub vdevs: Vec<VdevSpec>,
    /// For intent logs.
    pub logs: Vec<VdevSpec>,
    /// For metadata and small blocks.
    pub special: Vec<VdevSpec>,
    /// For dedup tables.
    pub dedup: Vec<VdevSpec>,
    /// Paths of cache devices.
    pub cache: Vec<String>,
    /// Paths of hot spares.
    pub spares: Vec<String>,
    /// Pool properties and `feature@…`.
    pub props: Vec<PropertyChange>,
    /// Properties of the root file system.
    pub fs_props: Vec<PropertyChange>,
    pub no_features: bool,
    pub force: bool,
    pub mountpoint: Option<String>,
    pub altroot: Option<String>,
    pub history: String,
}

/// `POST /v1/pools/{name}/vdevs`
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PoolAdd {
    /// On the wire, its fields are members of the request.
    #[serde(flatten)]
    pub vdevs: NewVdevs,
    pub force: bool,
    pub history: String,
}

/// Vdevs to add, by what they are for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct NewVdevs {
    #[serde(rename = "vdevs")]
    pub data: Vec<VdevSpec>,
    /// For intent logs.
    pub logs: Vec<VdevSpec>,
    /// For metadata and small blocks.
    pub special: Vec<VdevSpec>,
    /// For dedup tables.
    pub dedup: Vec<VdevSpec>,
    /// Paths of cache devices.
    pub cache: Vec<String>,
    /// Paths of hot spares.
    pub spares: Vec<String>,
    /// log2 of the smallest write of new top-level vdevs; `None`: what the devices like best.
    pub ashift: Option<u64>,
}

/// `POST /v1/pools/{name}/remove` and `/detach`
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PoolVdev {
    /// Of the vdev.
    pub guid: u64,
    pub history: String,
}

/// `POST /v1/pools/{name}/online`
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PoolOnline {
    /// Of the vdev.
    pub guid: u64,
    /// Use what the device has more than before, too.
    pub expand: bool,
    pub history: String,
}

/// `POST /v1/pools/{name}/reguid`
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PoolReguid {
    /// The new one; else any.
    pub guid: Option<u64>,
    pub history: String,
}

/// `POST /v1/pools/{name}/checkpoint`
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PoolCheckpoint {
    /// Give up the checkpoint there is, instead of taking one.
    pub discard: bool,
    pub history: String,
}

/// `POST /v1/pools/{name}/reopen`
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PoolReopen {
    pub history: String,
}

/// `POST /v1/pools/{name}/offline`
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PoolOffline {
    /// Of the vdev.
    pub guid: u64,
    /// Until the next import only.
    pub temporary: bool,
    /// Faulted, rather than taken offline: the pool takes it for broken, and a spare steps in.
    pub fault: bool,
    pub history: String,
}

/// `POST /v1/pools/{name}/attach` and `/replace`
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PoolAttach {
    /// Of the vdev that is mirrored or replaced.
    pub guid: u64,
    /// On the wire, its fields are members of the request. Only a replacement may do without a
    /// path.
    #[serde(flatten)]
    pub new: NewDevice,
    pub history: String,
}

/// A device that is to join a vdev.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct NewDevice {
    /// `None` where it lies at the place of the one that it replaces.
    pub path: Option<String>,
    /// Use one that looks in use.
    pub force: bool,
    /// log2 of its sector, where it is not to be asked itself.
    pub ashift: Option<u64>,
    /// Resilver it sequentially: all that is allocated, in the order of places, and a scrub after
    /// that.
    pub sequential: bool,
}

impl NewDevice {
    /// The device at this path, as it is.
    pub fn at(path: &str) -> NewDevice {
        NewDevice { path: Some(path.to_owned()), ..NewDevice::default() }
    }
}

/// `POST /v1/pools/{name}/clear`
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PoolClear {
    /// One vdev; else all.
    pub guid: Option<u64>,
    pub history: String,
}

/// What to do about the trimming of disks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TrimCommand {
    #[default]
    Start,
    Suspend,
    Cancel,
}

/// What to do about the initializing of disks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum InitializeCommand {
    #[default]
    Start,
    Suspend,
    Cancel,
    /// As if it had never been done.
    Forget,
}

/// `POST /v1/pools/{name}/initialize`
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PoolInitialize {
    /// Of the disks.
    pub guids: Vec<u64>,
    pub command: InitializeCommand,
    /// What is written, eight bytes again and again; otherwise what OpenZFS writes.
    pub value: Option<u64>,
    pub history: String,
}

/// `POST /v1/pools/{name}/trim`
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PoolTrim {
    pub guids: Vec<u64>,
    pub command: TrimCommand,
    /// Bytes a second; 0: as fast as it goes.
    pub rate: u64,
    pub history: String,
}

/// How far a disk has been told which of its space is free.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SweepState {
    #[default]
    Never,
    Running,
    Suspended,
    Canceled,
    Complete,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct SweepStatus {
    pub state: SweepState,
    pub percent: u8,
    /// When it was begun, or has ended: seconds since 1970.
    pub time: u64,
    /// The disk can be told.
    pub supported: bool,
}

/// `POST /v1/pools/{name}/scan`
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PoolScan {
    pub command: ScanCommand,
    pub history: String,
}

/// What is asked of scans.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ScanCommand {
    /// Begins, or goes on after a pause.
    #[default]
    Scrub,
    /// Only what the error log names. That takes feature `head_errlog`.
    ScrubErrors,
    Pause,
    Stop,
    /// Begins again, with all disks that lack something.
    Resilver,
}

/// `POST /v1/imports`
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PoolImport {
    /// Name or decimal guid.
    pub which: String,
    pub new_name: Option<String>,
    /// The new name counts until the pool is exported.
    pub temporary: bool,
    /// Folders or device paths; empty: where the appliance keeps looking by itself.
    pub search: Vec<String>,
    pub cachefile: Option<CacheFileSearch>,
    pub readonly: bool,
    pub force: bool,
    /// Only pools that were destroyed, instead of only those that were not.
    pub destroyed: bool,
    pub rewind: bool,
    /// With `rewind`: however far.
    pub extreme: bool,
    /// Go back to this transaction group, or the newest before it.
    pub rewind_txg: Option<u64>,
    /// The checkpoint becomes the pool; what was done since is given up.
    pub to_checkpoint: bool,
    /// Though log devices are missing: what was in the intent logs there is lost.
    pub missing_log: bool,
    pub dry_run: bool,
    pub no_mount: bool,
    /// Temporary mount options.
    pub mount_options: Vec<String>,
    pub altroot: Option<String>,
    pub props: Vec<PropertyChange>,
    pub history: String,
}

/// `POST /v1/importable`
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ImportSearch {
    pub search: Vec<String>,
    pub cachefile: Option<CacheFileSearch>,
}

/// Where pools are looked for that a cache file names, instead of by `search`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CacheFileSearch {
    pub path: String,
    /// In the folders of the devices that it names, instead of at their paths.
    pub scan: bool,
}

/// A pool on devices that is not imported.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Importable {
    pub name: String,
    pub guid: u64,
    pub health: Health,
    pub vdevs: VdevStatus,
    /// Whether it can be imported, on the wire with its words as `status` and `action`.
    #[serde(flatten, with = "crate::condition::wire::import")]
    #[schemars(with = "crate::condition::wire::import::Told<'static>")]
    pub condition: ImportCondition,
    pub exported: bool,
    pub destroyed: bool,
    pub hostid: Option<u64>,
    pub hostname: Option<String>,
}

/// `POST /v1/pools/{name}/export` and `/destroy`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PoolRelease {
    pub force: bool,
}

/// `POST /v1/labelclear`
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct LabelClear {
    pub path: String,
    pub force: bool,
}

/// I/O since import; times in nanoseconds, added up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IoCounters {
    pub read_ops: u64,
    pub write_ops: u64,
    pub read_bytes: u64,
    pub write_bytes: u64,
    pub read_nanos: u64,
    pub write_nanos: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct VdevStatus {
    /// As in `zpool status`.
    pub name: String,
    /// `root`, `mirror`, `file`, `disk`, `missing`, …
    pub kind: String,
    /// A log device, or a mirror of them.
    #[serde(default)]
    pub is_log: bool,
    /// What a top-level vdev was set apart for: `special` or `dedup`.
    #[serde(default)]
    pub class: Option<String>,
    pub path: Option<String>,
    pub guid: u64,
    pub health: Health,
    /// What is wrong.
    pub note: Option<String>,
    pub ashift: u32,
    pub read_errors: u64,
    pub write_errors: u64,
    pub checksum_errors: u64,
    /// Bytes.
    pub allocated: u64,
    /// Bytes that can be allocated in all; 0 where a vdev has no space of its own, as below a
    /// mirror.
    pub size: u64,
    /// Bytes of the device, of a leaf; else 0.
    #[serde(default)]
    pub physical: u64,
    /// Percent.
    pub fragmentation: Option<u8>,
    /// The sequential resilver of a top-level vdev that runs, or ran last.
    #[serde(default)]
    pub rebuild: Option<RebuildStatus>,
    /// Of a disk: how far it has been told which of its space is free, and how far that was written
    /// to.
    #[serde(default)]
    pub trim: SweepStatus,
    #[serde(default)]
    pub initialize: SweepStatus,
    /// Bytes that the devices have more than the pool uses; of the root and top-level vdevs.
    #[serde(default)]
    pub expandable: u64,
    /// Bytes that only the pool's checkpoint needs; of the root and top-level vdevs.
    #[serde(default)]
    pub checkpoint: u64,
    /// Of a hot spare: the pool that it is in use by.
    #[serde(default)]
    pub used_by: Option<String>,
    pub io: IoCounters,
    pub children: Vec<VdevStatus>,
}

/// How a sequential resilver is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RebuildState {
    Running,
    Canceled,
    Finished,
}

/// The sequential resilver of a top-level vdev. Amounts in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RebuildStatus {
    pub state: RebuildState,
    /// Seconds since 1970.
    pub start: u64,
    pub end: u64,
    /// Milliseconds for which it has run.
    pub took: u64,
    /// What is allocated, as far as is known.
    pub to_scan: u64,
    /// Of that: passed by, read, and written to disks that lacked it.
    pub scanned: u64,
    pub issued: u64,
    pub rebuilt: u64,
    pub errors: u64,
    /// Since the import or the beginning, for rates: milliseconds, and bytes.
    pub pass_took: u64,
    pub pass_scanned: u64,
    pub pass_issued: u64,
}

/// What an import that went back to an older transaction group cost, or would.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Rewound {
    /// Of the group: seconds since 1970.
    pub time: u64,
    /// Seconds between it and the newest.
    pub lost: u64,
    /// Blocks of data that cannot be read.
    pub data_errors: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RemovalState {
    Running,
    Finished,
    Canceled,
}

/// What a scan is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ScanKind {
    /// Everything is read, what is bad is repaired.
    Scrub,
    /// Disks get what they lack.
    Resilver,
}

/// How a scan is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ScanState {
    Running,
    Paused,
    Finished,
    Canceled,
}

/// A state of the pool that can be gone back to, or what is left of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Checkpoint {
    /// It cannot be gone back to any more: its space is being given back.
    pub discarding: bool,
    /// When it was taken, in seconds since 1970; 0 where it is being discarded since an import.
    pub time: u64,
    /// Bytes that only it needs.
    pub space: u64,
}

/// A removal of a top-level vdev. Times in seconds since 1970, amounts in bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Removal {
    pub state: RemovalState,
    /// Number of the vdev, and its name where it has one still.
    pub vdev: u64,
    pub name: String,
    pub start: u64,
    pub end: u64,
    pub to_copy: u64,
    pub copied: u64,
    /// Of the mappings that all removed vdevs left.
    pub mapping: u64,
}

/// The scan that runs, or the last one. Bytes, and seconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ScanStatus {
    pub kind: ScanKind,
    pub state: ScanState,
    pub start: u64,
    pub end: u64,
    /// Bytes to look at, as was estimated when it began.
    pub to_examine: u64,
    /// Of these: found, not needed after all, and looked at.
    pub examined: u64,
    pub skipped: u64,
    pub issued: u64,
    /// Bytes repaired or resilvered.
    pub processed: u64,
    pub errors: u64,
    /// Since the import or the beginning, for rates.
    pub pass_start: u64,
    pub pass_examined: u64,
    pub pass_issued: u64,
    /// Since when it pauses, and seconds for which it did before.
    pub paused: u64,
    pub spent_paused: u64,
}

/// The scrub of known errors that runs, or the last one since the last scan. Blocks, and seconds
/// since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ErrorScrubStatus {
    pub state: ScanState,
    pub start: u64,
    pub end: u64,
    pub to_examine: u64,
    pub examined: u64,
    /// Since when it pauses.
    pub paused: u64,
}

/// `GET /v1/pools/{name}`; `GET /v1/pools` gives all.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PoolStatus {
    pub name: String,
    pub guid: u64,
    pub health: Health,
    pub txg: u64,
    pub root: VdevStatus,
    /// Devices that are no part of the tree.
    #[serde(default)]
    pub cache: Vec<VdevStatus>,
    #[serde(default)]
    pub spares: Vec<VdevStatus>,
    /// What is wrong, on the wire with its words as `status`, `action` and `msgid`.
    #[serde(flatten, with = "crate::condition::wire")]
    #[schemars(with = "crate::condition::wire::Told<'static>")]
    pub condition: Option<Condition>,
    #[serde(default)]
    pub scan: Option<ScanStatus>,
    #[serde(default)]
    pub error_scrub: Option<ErrorScrubStatus>,
    /// The last removal of a top-level vdev.
    #[serde(default)]
    pub removal: Option<Removal>,
    #[serde(default)]
    pub checkpoint: Option<Checkpoint>,
    #[serde(default)]
    pub dedup: DedupTables,
    /// The import went back to an older transaction group. The job that imported it tells that
    /// ([`crate::JobResult`]).
    #[serde(skip)]
    pub rewound: Option<Rewound>,
    /// Permanent data errors counted.
    pub data_errors: u64,
    pub readonly: bool,
}

/// Query of `GET /v1/pools/{name}/properties`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PropertiesQuery {
    /// Comma-separated; empty: all.
    pub names: String,
    /// Only what can be set: the `ETag` of that is for `If-Match`.
    pub settable: bool,
}

/// Query of `GET /v1/pools/{name}/history`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct HistoryQuery {
    pub internal: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HistoryRecord {
    /// Seconds since 1970.
    pub time: u64,
    pub text: String,
    pub txg: Option<u64>,
    pub internal: bool,
    pub user: Option<String>,
    pub host: Option<String>,
}

#[cfg(test)]
mod tests;
