//! Pools and the engine that holds them.

use crate::{
    Advice, AdviceQuestion, Breakdown, CacheFileSearch, Cancel, Change, Committed, DatasetFilter,
    DatasetInfo, DatasetPage, DatasetPlace, DedupEstimate, Delegation, DestroyPlan, DestroyQuery,
    Diagnostics, FeatureInfo, FileSystem, FileSystemCounts, HistoryRecord, Identity, Importable, NodeKind,
    Place, PlaceName, PoolSpec, PoolStatus, PropValue, PropertyChange, ReceiveEvent, ReceiveRequest,
    Received, Result, SendEvent, SendRequest, Serving, SpaceExplained, SpaceUse, Spender, Time,
    TokenContents, Upgradable, VdevTallies, Volume, VolumeCounts, VolumePlan,
};
use std::io::{Read, Write};
use std::sync::Arc;

/// Numbers under the names that OpenZFS's kstats have for them: totals since start (or import), and
/// sizes in bytes as of now. What is not in the list does not exist here and counts as 0.
pub type Counts = Vec<(&'static str, u64)>;

/// What an import may do.
#[derive(Clone, Debug, Default)]
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
    /// Whoever asked can take it back until the pool is imported.
    pub cancel: Cancel,
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

/// Whether a list has what the policy shows to nobody who does not ask for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Secrets {
    Hidden,
    Shown,
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
    /// In name order, parents first; snapshots and bookmarks behind their dataset, oldest first.
    fn datasets(&self, filter: &DatasetFilter) -> Result<Vec<DatasetInfo>> {
        Ok(self.datasets_page(filter, Secrets::Hidden, None, usize::MAX)?.datasets)
    }
    /// Of these so many at most, from behind a place on, which is one of the first root's. It reads
    /// no more than the page takes, and may have fewer though more follow. Secrets are for
    /// administrators, else `Denied`.
    fn datasets_page(
        &self,
        filter: &DatasetFilter,
        secrets: Secrets,
        after: Option<&DatasetPlace>,
        limit: usize,
    ) -> Result<DatasetPage>;
    /// What can be set of a dataset, snapshot or bookmark, with its values.
    fn settings(&self, dataset: &str) -> Result<DatasetInfo>;
    /// What clients know a dataset by once it is no replica, with what seals its handles, which is
    /// for administrators.
    fn identity(&self, dataset: &str) -> Result<Identity>;
    /// What this thread relies on (`stdx::premise`) is compared with [`Pool::settings`] in one step
    /// with a change of datasets; where it does not hold, `Refused` says so.
    ///
    /// Done and on stable storage; `Err`: nothing changed. `history` is the command line to record,
    /// empty for none.
    fn commit(&self, change: &Change, history: &str) -> Result<Committed>;
    /// Whether whom this thread works for may make a change: `commit` asks the same. For who has to
    /// prepare it.
    fn permits(&self, change: &Change) -> Result<()>;
    /// Judges the properties of a dataset that a change would make, and nothing else of it; gives
    /// what would come of them where that is a volume.
    fn plan_create(&self, change: &Change) -> Result<Option<VolumePlan>>;
    /// What destroying takes along. `Refused` says why it cannot be.
    fn plan_destroy(&self, query: &DestroyQuery) -> Result<DestroyPlan>;
    /// Sends a snapshot; `tell` hears what before it is sent. `Refused` says why it is not, or no
    /// further.
    fn send(
        &self,
        request: &SendRequest,
        stream: &mut dyn Write,
        tell: &mut dyn FnMut(SendEvent),
    ) -> Result<()>;
    /// Takes a stream in; `tell` hears what is done. `Refused` says why it is not, or no further.
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
    /// of each. `Refused` says why they cannot be compared.
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
pub trait Engine: Serving {
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
    /// What a token of `zfs send -t` says. `Refused` says what is wrong with it.
    fn read_token(&self, token: &str) -> Result<TokenContents>;
    /// `zpool labelclear`
    fn label_clear(&self, path: &str, force: bool) -> Result<()>;
    /// What is told of troubles, and how some are made.
    fn diagnostics(&self) -> &dyn Diagnostics;
    /// What the cache did, which all pools share, as the kstat `arcstats`.
    fn cache_counts(&self) -> Counts;
    /// What was asked of file systems and of volumes since the engine began.
    fn activity(&self) -> (Breakdown<FileSystemCounts>, Breakdown<VolumeCounts>);
    /// What these are called now, in the order asked, as far as they are open. A name in a large
    /// directory is searched for in all of it: this is not for the path of a request.
    fn names_of(&self, places: &[Place]) -> Vec<PlaceName>;
}
