//! Pools and the engine that holds them.

use crate::{
    Advice, AdviceQuestion, Change, Committed, Counts, DedupEstimate, DedupTables, Delegation, Diagnostics,
    FileSystem, FsId, NodeKind, PropertyChange, ReceiveEvent, ReceiveRequest, Received, Result, SendEvent,
    SendRequest, Time, TokenContents, VdevTallies, Volume,
};
use std::io::{Read, Write};
use std::sync::Arc;

/// A vdev as an operator gives it to `zpool create`.
#[derive(Clone, Debug, PartialEq, Eq)]
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

/// Vdevs to add, by what they are for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NewVdevs {
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

/// A device that is to join a vdev.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
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

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PoolSpec {
    pub name: String,
    /// `-t`: what it is called until it is exported, instead.
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
    /// `-o`: pool properties and `feature@…`, as text.
    pub props: Vec<PropertyChange>,
    /// `-O`: properties of the root dataset.
    pub fs_props: Vec<PropertyChange>,
    /// `-d`: no feature is enabled but those named.
    pub no_features: bool,
    /// Use devices that look in use, and mismatched replication levels.
    pub force: bool,
    /// `-m`
    pub mountpoint: Option<String>,
    /// `-R`
    pub altroot: Option<String>,
    /// The command line, for the pool's history.
    pub history: String,
}

/// Where pools are looked for that a cache file names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CacheFileSearch {
    pub path: String,
    /// In the folders of the devices that it names (`-s`), instead of at their paths.
    pub scan: bool,
}

/// What an import may do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImportOptions {
    /// Folders or device paths to search; empty means where the engine keeps looking by itself.
    pub search: Vec<String>,
    /// `-c`: looks there instead.
    pub cachefile: Option<CacheFileSearch>,
    pub new_name: Option<String>,
    /// `-t`: the new name counts until the pool is exported; its devices keep the old one.
    pub temporary: bool,
    pub readonly: bool,
    /// `-D`: only pools that were destroyed, instead of only those that were not.
    pub destroyed: bool,
    /// Import though another host seems to use it.
    pub force: bool,
    /// `-F`: go back to an older transaction group where the newest can't be opened.
    pub rewind: bool,
    /// `-X` with `-F`: however far.
    pub extreme: bool,
    /// `-T`: to this transaction group, or the newest before it.
    pub rewind_txg: Option<u64>,
    /// `--rewind-to-checkpoint`: the checkpoint becomes the pool; what was done since is given up.
    pub to_checkpoint: bool,
    /// `-m`: import though log devices are missing; what was in the intent logs there is lost.
    pub missing_log: bool,
    /// `-n` with `-F`: only say whether it would work, and what it would cost.
    pub dry_run: bool,
    /// `-N`: mount nothing.
    pub no_mount: bool,
    pub altroot: Option<String>,
    pub props: Vec<PropertyChange>,
    pub history: String,
}

/// Health of a vdev or pool, in OpenZFS's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Health {
    Online,
    Degraded,
    Faulted,
    Offline,
    Unavail,
    Removed,
    Suspended,
}

/// A pool found on devices that are not imported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Importable {
    pub name: String,
    pub guid: u64,
    pub health: Health,
    pub vdevs: VdevStatus,
    /// OpenZFS's `status:` sentence, where something needs saying.
    pub status: Option<String>,
    /// OpenZFS's `action:` sentence.
    pub action: String,
    pub exported: bool,
    pub destroyed: bool,
    /// Last host that used it: (hostid, hostname).
    pub host: Option<(u64, String)>,
}

/// One vdev of the tree and what was counted on it since import.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VdevStatus {
    /// As `zpool status` names it: a path's last part, `mirror-0`, or the pool's name at the root.
    pub name: String,
    /// `root`, `mirror`, `file`, `disk`, `missing`, …
    pub kind: String,
    /// A log device, or a mirror of them.
    pub is_log: bool,
    /// What a top-level vdev was set apart for: `special` or `dedup`.
    pub class: Option<String>,
    pub path: Option<String>,
    pub guid: u64,
    pub health: Health,
    /// What is wrong, in `zpool status`'s words.
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
    pub physical: u64,
    /// Percent, of top-level vdevs.
    pub fragmentation: Option<u8>,
    /// The sequential resilver of a top-level vdev that runs, or ran last.
    pub rebuild: Option<RebuildStatus>,
    /// Of a disk: how far it has been told which of its space is free, and how far that was written
    /// to.
    pub trim: SweepStatus,
    pub initialize: SweepStatus,
    /// Bytes that the devices have more than the pool uses; of the root and top-level vdevs.
    pub expandable: u64,
    /// Bytes that only the pool's checkpoint needs; of the root and top-level vdevs.
    pub checkpoint: u64,
    /// Of a hot spare: the pool that it is in use by.
    pub used_by: Option<String>,
    pub io: IoCounters,
    pub children: Vec<VdevStatus>,
}

/// How a sequential resilver is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RebuildState {
    Running,
    Canceled,
    Finished,
}

/// The sequential resilver of a top-level vdev. Amounts in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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

/// How going over the free space of a disk is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum SweepState {
    #[default]
    Never,
    Running,
    Suspended,
    Canceled,
    Complete,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct SweepStatus {
    pub state: SweepState,
    pub percent: u8,
    /// When it was begun, or has ended: seconds since 1970.
    pub time: u64,
    /// The disk can do that.
    pub supported: bool,
}

/// Totals since import.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct IoCounters {
    pub read_ops: u64,
    pub write_ops: u64,
    pub read_bytes: u64,
    pub write_bytes: u64,
    /// Nanoseconds spent in reads and writes, added up.
    pub read_nanos: u64,
    pub write_nanos: u64,
}

/// What an import that went back to an older transaction group cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rewound {
    /// Of the group: seconds since 1970.
    pub time: u64,
    /// Seconds between it and the newest.
    pub lost: u64,
    /// Blocks of data that cannot be read.
    pub data_errors: u64,
}

/// How far a removal of a top-level vdev is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RemovalState {
    Running,
    Finished,
    Canceled,
}

/// What a scan is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScanKind {
    /// Everything is read, what is bad is repaired.
    Scrub,
    /// Disks get what they lack.
    Resilver,
}

/// How a scan is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScanState {
    Running,
    Paused,
    Finished,
    Canceled,
}

/// A removal of a top-level vdev. Times in seconds since 1970, amounts in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ErrorScrubStatus {
    pub state: ScanState,
    pub start: u64,
    pub end: u64,
    pub to_examine: u64,
    pub examined: u64,
    /// Since when it pauses.
    pub paused: u64,
}

/// A state of the pool that can be gone back to, or what is left of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    /// It cannot be gone back to any more: its space is being given back.
    pub discarding: bool,
    /// When it was taken, in seconds since 1970.
    pub time: u64,
    /// Bytes that only it needs.
    pub space: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PoolStatus {
    pub name: String,
    pub guid: u64,
    pub health: Health,
    pub txg: u64,
    pub root: VdevStatus,
    /// Devices that are no part of the tree: shown, and left alone.
    pub cache: Vec<VdevStatus>,
    pub spares: Vec<VdevStatus>,
    /// OpenZFS's `status:` and `action:` sentences.
    pub status: Option<String>,
    pub action: Option<String>,
    /// The name of OpenZFS's page about that, where there is one.
    pub msgid: Option<String>,
    pub scan: Option<ScanStatus>,
    pub error_scrub: Option<ErrorScrubStatus>,
    /// The last removal of a top-level vdev.
    pub removal: Option<Removal>,
    pub checkpoint: Option<Checkpoint>,
    pub dedup: DedupTables,
    /// The import went back to an older transaction group.
    pub rewound: Option<Rewound>,
    /// Permanent data errors counted.
    pub data_errors: u64,
    pub readonly: bool,
}

/// Where a value comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// Statistics have no source: `-`.
    None,
    Default,
    Local,
    Inherited(String),
    Received,
    Temporary,
}

/// How a value is shown to people; the value itself is always the exact (`-p`) form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PropKind {
    /// Bytes: 1.50G
    Size,
    /// A plain count.
    Count,
    /// Hundredths: 1.00x
    Ratio,
    Percent,
    /// Seconds since 1970.
    Time,
    /// Shown as it is.
    Text,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PropValue {
    pub name: String,
    /// The exact form; empty where it does not apply (shown as `-`), `none` where 0 means none.
    pub value: String,
    pub kind: PropKind,
    pub source: Source,
    /// What a stream said of it, whether that counts or not.
    pub received: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DatasetKind {
    Filesystem,
    Volume,
    Snapshot,
    Bookmark,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DatasetInfo {
    pub name: String,
    pub kind: DatasetKind,
    pub guid: u64,
    pub createtxg: u64,
    /// In `zfs get all`'s order; user properties last.
    pub props: Vec<PropValue>,
}

/// Which datasets to list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DatasetFilter {
    /// Empty: every dataset of the pool.
    pub roots: Vec<String>,
    /// How deep below the roots; `None`: all the way.
    pub depth: Option<u32>,
    /// Empty: file systems and volumes.
    pub kinds: Vec<DatasetKind>,
    /// Only these properties; empty: all.
    pub props: Vec<String>,
}

/// What is to be destroyed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DestroyQuery {
    /// A dataset, or snapshots of one: `fs@a`, `fs@a%c,e`.
    pub name: String,
    /// With everything below; of snapshots, those of the same names below.
    pub recursive: bool,
    /// With all clones.
    pub clones: bool,
    /// Snapshots that something keeps are no obstacle.
    pub defer: bool,
}

/// What goes, and what comes back.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DestroyPlan {
    /// In the order in which they go: whatever depends on another before it.
    pub names: Vec<String>,
    /// Bytes.
    pub bytes: u64,
}

/// Whose space is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spender {
    User,
    Group,
    Project,
}

/// What one user, group or project uses and may use in a file system. `None`: nobody counts that
/// there, or there is nothing to say; limits of 0 are none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SpaceUse {
    pub id: u64,
    /// Bytes.
    pub used: Option<u64>,
    pub quota: Option<u64>,
    pub objects_used: Option<u64>,
    pub objects_quota: Option<u64>,
}

/// Who holds a part of what a dataset uses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SpaceHolder {
    /// Files that have a name, or a volume; as compressed.
    Contents,
    /// So many files without a name, open still or not given back yet.
    Deleted(u64),
    Metadata,
    /// What blocks take beyond their compressed size; less than nothing where they need less parity
    /// than the pool's ratio has.
    Overhead,
    /// Blocks that only these snapshots have, all from the first to the last, with the clones of
    /// these.
    Snapshots {
        first: String,
        last: String,
        clones: Vec<String>,
    },
    RefReservation,
    Child(String),
    /// Held back by a child's reservation.
    ChildReservation(String),
    Receiving,
    /// The pool's own objects.
    Pool,
    Freeing,
    /// Changed while this was looked at.
    Other,
}

/// What a dataset's `used` is made of. Bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpaceExplained {
    pub used: u64,
    /// Of the dataset itself, what no snapshot has.
    pub unique: u64,
    /// On disks, of the dataset's own blocks, parity counted.
    pub raw: u64,
    /// Largest first; their sum is `used`.
    pub parts: Vec<(SpaceHolder, i64)>,
}

/// What became of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiffKind {
    Added,
    Removed,
    Modified,
    Renamed,
    /// It has so many names more, or fewer.
    Links(i64),
}

/// A node that is not what it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiffEntry {
    pub kind: DiffKind,
    pub node: NodeKind,
    pub ctime: Time,
    /// From the root on.
    pub path: Vec<u8>,
    /// Where it is now, if it was renamed.
    pub to: Option<Vec<u8>>,
}

/// One record of `zpool history`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistoryRecord {
    /// Seconds since 1970.
    pub time: u64,
    /// The command, or for internal events what happened.
    pub text: String,
    pub txg: Option<u64>,
    pub internal: bool,
    pub user: Option<String>,
    pub host: Option<String>,
}

/// A file system that is open for serving.
#[derive(Clone)]
pub struct Served {
    pub dataset: String,
    pub id: FsId,
    /// Where clients see it; `None` for mountpoint=none or legacy.
    pub mountpoint: Option<String>,
    /// The property as set: `off`, `on` or options.
    pub sharenfs: String,
    pub readonly: bool,
    /// What the pool keeps on its disks, the same wherever it is imported, and no protocol tells.
    /// Pools of old software have none.
    pub secret: Option<[u8; 32]>,
    pub fs: Arc<dyn FileSystem>,
}

/// A feature that pools can be given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FeatureInfo {
    pub name: String,
    /// In OpenZFS's words.
    pub description: String,
    /// Programs without it can still read the pool.
    pub readonly_compatible: bool,
}

/// What an upgrade of a pool would bring.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Upgradable {
    /// The pool's version.
    pub version: u64,
    /// Features that the pool could be given.
    pub disabled: Vec<String>,
    /// Of these, those that its property `compatibility` admits.
    pub requested: Vec<String>,
    /// That property says `legacy`: no upgrade is wanted.
    pub stays_legacy: bool,
}

/// A volume that is open for serving.
#[derive(Clone)]
pub struct ServedVolume {
    pub dataset: String,
    /// The property as set: what it is served as.
    pub share: String,
    /// When it came to be, in this pool: seconds since 1970.
    pub created: u64,
    pub volume: Arc<dyn Volume>,
}

/// A volume that would be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VolumePlan {
    /// Bytes: of it, whole blocks; of a block.
    pub size: u64,
    pub block: u64,
    /// The property that keeps space for it, and how many bytes: 0 for none.
    pub limit: String,
    pub reserved: u64,
}

/// An imported pool.
pub trait Pool: Send + Sync {
    fn name(&self) -> String;
    fn guid(&self) -> u64;
    fn status(&self) -> PoolStatus;
    /// Pool properties, `feature@…` last; all where `names` is empty.
    fn properties(&self, names: &[String]) -> Result<Vec<PropValue>>;
    /// What an upgrade would bring.
    fn upgradable(&self) -> Result<Upgradable>;
    /// In name order, parents first.
    fn datasets(&self, filter: &DatasetFilter) -> Result<Vec<DatasetInfo>>;
    /// Done and on stable storage; `Err`: nothing changed. `history` is the command line to record,
    /// empty for none.
    fn commit(&self, change: &Change, history: &str) -> Result<Committed>;
    /// Whether whom this thread works for may make a change: `commit` asks the same. For who has to
    /// prepare it.
    fn permits(&self, change: &Change) -> Result<()>;
    /// Judges the properties of a dataset that a change would make, and nothing else of it; gives
    /// what would come of them where that is a volume.
    fn plan_create(&self, change: &Change) -> Result<Option<VolumePlan>>;
    /// What destroying takes along. `Refused` says in OpenZFS's words why it cannot be.
    fn plan_destroy(&self, query: &DestroyQuery) -> Result<DestroyPlan>;
    /// Sends a snapshot; `tell` hears what before it is sent. `Refused` says in OpenZFS's words why
    /// it is not, or no further.
    fn send(
        &self,
        request: &SendRequest,
        stream: &mut dyn Write,
        tell: &mut dyn FnMut(SendEvent),
    ) -> Result<()>;
    /// Takes a stream in; `tell` hears what is done. `Refused` says in OpenZFS's words why it is
    /// not, or no further.
    fn receive(
        &self,
        request: &ReceiveRequest,
        stream: &mut dyn Read,
        tell: &mut dyn FnMut(ReceiveEvent),
    ) -> Result<Received>;
    /// What all users, groups or projects of a file system or snapshot use and may use, by id.
    fn space_use(&self, dataset: &str, of: Spender) -> Result<Vec<SpaceUse>>;
    /// What the space that a file system or volume uses is made of, to the byte.
    fn explain_space(&self, dataset: &str) -> Result<SpaceExplained>;
    /// What became of a file system's nodes since a snapshot: until another, or now. `tell` hears
    /// of each. `Refused` says in OpenZFS's words why they cannot be compared.
    fn diff(&self, from: &str, to: &str, tell: &mut dyn FnMut(DiffEntry)) -> Result<()>;
    /// How many files of a file system have no name and are not freed yet.
    fn deleted_files(&self, dataset: &str) -> Result<u64>;
    /// The tags that hold a snapshot, and when they were put on it, in seconds since 1970.
    fn holds(&self, snapshot: &str) -> Result<Vec<(String, u64)>>;
    /// What is delegated at a dataset, then at each above it; nothing of those where nothing is.
    fn delegations(&self, dataset: &str) -> Result<Vec<Delegation>>;
    fn history(&self, internal: bool) -> Result<Vec<HistoryRecord>>;
    fn open_fs(&self, dataset: &str) -> Result<Arc<dyn FileSystem>>;
    fn open_volume(&self, dataset: &str) -> Result<Arc<dyn Volume>>;
    /// Nobody waits any more for the devices of a pool that is suspended: what waits fails, and the
    /// pool can be exported.
    fn give_up(&self);
    /// Write out everything and wait for it; gives the transaction group.
    fn sync(&self) -> Result<u64>;
    /// The same with a group of its own, though nothing has changed.
    fn sync_empty(&self) -> Result<u64>;
    /// Read the tables of deduplication, so that memory has them as far as it can.
    fn prefetch_dedup_tables(&self) -> Result<()>;
    /// What is hurt for good, one name for each: `dataset:/path`, or numbers where it has none.
    fn errors(&self) -> Result<Vec<String>>;
    /// What the intent logs did, as the kstat `zil`.
    fn log_counts(&self) -> Counts;
    /// Of every vdev, the root and cache devices included.
    fn vdev_tallies(&self) -> Vec<VdevTallies>;
    /// What log devices, memory and cache devices would change.
    fn advise(&self, question: &AdviceQuestion) -> Result<Advice>;
    /// What deduplication of a dataset and all below it would bring; it reads all of its metadata.
    fn estimate_dedup(&self, dataset: &str) -> Result<DedupEstimate>;
}

/// The engine: pools by name.
pub trait Engine: Send + Sync {
    fn create(&self, spec: &PoolSpec) -> Result<Arc<dyn Pool>>;
    /// The features that pools can be given, in OpenZFS's order.
    fn features(&self) -> Vec<FeatureInfo>;
    /// Searches folders and device paths; empty means the engine's own places.
    fn importable(&self, search: &[String], cachefile: Option<&CacheFileSearch>) -> Result<Vec<Importable>>;
    /// By name or decimal guid.
    fn import(&self, which: &str, options: &ImportOptions) -> Result<Arc<dyn Pool>>;
    fn export(&self, name: &str, force: bool) -> Result<()>;
    fn destroy(&self, name: &str, force: bool) -> Result<()>;
    /// An imported pool by its name. Errors: [`Error::NotFound`]; `Refused` where it is still to
    /// come.
    fn pool(&self, name: &str) -> Result<Arc<dyn Pool>>;
    fn pools(&self) -> Vec<Arc<dyn Pool>>;
    /// What a token of `zfs send -t` says. `Refused` says in OpenZFS's words what is wrong with it.
    fn read_token(&self, token: &str) -> Result<TokenContents>;
    /// `zpool labelclear`
    fn label_clear(&self, path: &str, force: bool) -> Result<()>;
    /// Every file system that may be served now (canmount, encryption and pool state allow it), in
    /// name order.
    fn served(&self) -> Vec<Served>;
    /// One of them, for a file handle.
    fn served_by_id(&self, id: FsId) -> Option<Served>;
    /// Every volume of which this property of the user's is set, and not to `off`; in name order.
    fn served_volumes(&self, property: &str) -> Vec<ServedVolume>;
    /// Grows whenever the answer of `served` or `served_volumes` may have changed.
    fn served_generation(&self) -> u64;
    /// What is told of troubles, and how some are made.
    fn diagnostics(&self) -> &dyn Diagnostics;
    /// What the cache did, which all pools share, as the kstat `arcstats`.
    fn cache_counts(&self) -> Counts;
}
