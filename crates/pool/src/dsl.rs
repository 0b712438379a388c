//! Datasets: their tree, their space, their properties, and the order in which all that is synced.
//!
//! ```text
//!   pool directory ─ root_dataset ─▶ dir ─ children ─▶ dir …          [`dir`]: space, quotas, the tree
//!                                     └─ head ─▶ dataset ─ previous ─▶ snapshot …   [`dataset`]: an object set
//! ```
//! The root directory also has three children that are nobody's datasets: `$MOS` counts what the
//! meta object set uses, `$FREE` what is freed in the background, `$ORIGIN` has the empty snapshot
//! every new dataset starts from.
//!
//! Everything here changes in syncing context only: administrative changes wait in a queue
//! ([`task`]) for their transaction group. Readers in open context hold `config` shared while they
//! follow names.
//!
//! Sources: module/zfs/dsl_pool.c, dsl_dir.c, dsl_dataset.c.

pub(crate) mod bookmark;
pub(crate) mod claim;
pub(crate) mod clone;
pub(crate) mod counts;
mod crypt;
pub mod dataset;
pub(crate) mod deadlist;
pub mod deleg;
pub(crate) mod destroy;
mod destroy_snapshot;
pub mod diff;
pub mod dir;
mod explain;
mod history;
mod hold;
mod list;
pub(crate) mod livelist;
mod lock;
mod long_hold;
pub(crate) mod names;
mod open;
mod parts;
pub(crate) mod plan;
pub(crate) mod prop;
mod resume;
mod rollback;
pub(crate) mod snapshot;
mod stats;
mod swap;
pub(crate) mod task;
mod upgrade;
pub(crate) mod volume;
mod written;

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard, Weak};

use dmu::{DmuError, Objset, SyncTx, Tx};
use env::{Nanos, lock};
use ondisk::BlkPtr;
use ondisk::prop::UserspaceProp;

use crate::feature::Features;
use crate::mos::Mos;
use crate::prop::FsProps;
use crate::sums::Sums;
use crate::zil::Zil;
use crate::{PoolError, Result};

pub use dataset::Dataset;
pub use dir::{Dir, Used};
pub use long_hold::LongHold;
pub use parts::DslParts;

/// How the content of a new file system is made, without this crate knowing files.
pub trait FsFormat: Send + Sync {
    /// Fills a new object set. Syncing context.
    fn create(&self, objset: &Arc<Objset>, props: &FsProps, tx: &Tx) -> std::result::Result<(), DmuError>;

    /// Tells whose an object is, for space accounting.
    fn owner_of(&self) -> Arc<dyn dmu::accounting::OwnerOf>;

    /// Properties that the object set itself keeps: `version`, `utf8only`, `normalization`,
    /// `casesensitivity`, with their numbers.
    fn props(&self, objset: &Arc<Objset>) -> std::result::Result<Vec<(&'static str, u64)>, DmuError>;

    /// Objects that have no name any more, and wait to be freed.
    fn deleted(&self, objset: &Arc<Objset>) -> std::result::Result<Vec<u64>, DmuError>;

    /// What a user, group or project uses, or may use (0: all). `Unsupported` where that is not
    /// counted.
    fn spending(
        &self,
        objset: &Arc<Objset>,
        prop: UserspaceProp,
        id: u64,
    ) -> std::result::Result<u64, DmuError>;
}

/// The pool's room, as far as limits need it; bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PoolSpace {
    /// What can be allocated in all, parity left out.
    pub dspace: u64,
    /// Of that, what there is only because blocks are shared.
    pub saved: u64,
    /// Freed on the list for the next group.
    pub deferred_frees: u64,
    /// Freed, and not to be allocated again yet.
    pub deferred: u64,
    /// Needed by the checkpoint alone.
    pub checkpoint: u64,
    /// There is a checkpoint: what is freed may stay allocated for it.
    pub has_checkpoint: bool,
}

impl PoolSpace {
    /// What is kept back so that a full pool can still be managed (`spa_get_slop_space`).
    pub fn slop(&self) -> u64 {
        const SHIFT: u32 = 5;
        const MIN: u64 = 128 << 20;
        const MAX: u64 = 128 << 30;
        // Room that is there only because blocks are shared is no reason to keep more back.
        let real = self.dspace.saturating_sub(self.saved);
        (real >> SHIFT).min(MAX).max(MIN.min(real >> 1))
    }

    /// What there is for datasets and slop (`dsl_pool_adjustedsize`).
    fn most(&self) -> u64 {
        self.dspace.saturating_sub(self.checkpoint).saturating_sub(self.deferred_frees)
    }

    /// What the root directory may use; a quarter or half of the slop for those who free space.
    pub fn adjusted(&self, slop_shift: u32) -> u64 {
        self.most().saturating_sub(self.slop() >> slop_shift)
    }
}

/// See the module.
pub struct Dsl {
    pub(crate) parts: DslParts,
    pub(crate) mos: Mos,
    this: Weak<Dsl>,
    special: Mutex<Special>,
    dirs: Mutex<HashMap<u64, Weak<Dir>>>,
    /// Open ones; kept while somebody uses them or they are dirty.
    datasets: Mutex<HashMap<u64, Arc<Dataset>>>,
    /// What receives write: inconsistent, and nobody else's; and what they left while that is sent.
    /// Numbers of receives by dataset.
    receiving: Mutex<BTreeMap<u64, u64>>,
    /// Held while a dataset is opened.
    opening: Mutex<()>,
    config: RwLock<()>,
    altroot: Mutex<Option<String>>,
    hostname: Mutex<String>,
    /// What `parts.space` said after the last sync: it is asked for by every transaction.
    space: Mutex<Option<PoolSpace>>,
    generation: AtomicU64,
    /// The wall clock's seconds when the pool was opened, and when that was.
    opened_at: (i64, Nanos),
    pub(crate) changes: task::Queue,
}

/// What the pool's directory leads to. Directories stay in core.
#[derive(Clone, Default)]
struct Special {
    root: Option<Arc<Dir>>,
    mos_dir: Option<Arc<Dir>>,
    free_dir: Option<Arc<Dir>>,
    /// The snapshot `$ORIGIN@$ORIGIN`.
    origin_snap: Option<u64>,
    empty_bpobj: Option<u64>,
    free_bpobj: Option<u64>,
    bptree: Option<u64>,
    /// Livelists of destroyed clones.
    deleted_clones: Option<u64>,
}

impl Dsl {
    pub(crate) fn features(&self) -> &Features {
        &self.parts.features
    }

    /// The root of a dataset's object set as the last group has it, by number.
    pub fn root_of(&self, dataset: u64) -> Result<BlkPtr> {
        Ok(self.mos.dataset(dataset)?.bp)
    }

    pub(crate) fn arc(&self) -> Result<Arc<Dsl>> {
        self.this.upgrade().ok_or(PoolError::Suspended)
    }

    /// What a block counts for in allocated bytes.
    pub(crate) fn dsize(&self, bp: &BlkPtr) -> u64 {
        if bp.is_embedded() { 0 } else { self.parts.store().dsize(bp) }
    }

    pub(crate) fn reading(&self) -> RwLockReadGuard<'_, ()> {
        self.config.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn changing(&self) -> RwLockWriteGuard<'_, ()> {
        self.config.write().unwrap_or_else(PoisonError::into_inner)
    }

    fn special<R>(&self, f: impl FnOnce(&mut Special) -> R) -> R {
        f(&mut lock(&self.special))
    }

    /// Mountpoints are shown below this path.
    pub fn set_altroot(&self, altroot: Option<String>) {
        *lock(&self.altroot) = altroot;
    }

    /// What the history calls this host.
    pub fn set_hostname(&self, name: &str) {
        name.clone_into(&mut lock(&self.hostname));
    }

    /// The directory of the whole pool.
    pub fn root(&self) -> Result<Arc<Dir>> {
        self.special(|special| special.root.clone()).ok_or(PoolError::NotFound)
    }

    pub(crate) fn empty_bpobj(&self) -> Option<u64> {
        self.special(|special| special.empty_bpobj)
    }

    pub(crate) fn origin_snap(&self) -> Option<u64> {
        self.special(|special| special.origin_snap)
    }

    fn space(&self) -> PoolSpace {
        *lock(&self.space).get_or_insert_with(|| self.parts.space())
    }

    /// What the root may use, for `available`.
    pub fn pool_size(&self) -> u64 {
        self.space().adjusted(0)
    }

    /// Grows with every administrative change: what was learnt of datasets before may be stale.
    pub fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    pub(crate) fn changed(&self) {
        self.generation.fetch_add(1, Ordering::AcqRel);
    }

    pub(crate) fn pool_room(&self, netfree: bool) -> dir::PoolRoom {
        let space = self.space();
        let size = space.adjusted(u32::from(netfree)).saturating_sub(space.deferred);
        let most = space.most().saturating_sub(space.deferred);
        dir::PoolRoom { size, deferred: space.deferred, most, free: self.parts.store().deflated_free() }
    }

    /// Bytes left of what the root may use, with a part of the slop.
    fn unused(&self, slop_shift: u32) -> u64 {
        let space = self.space();
        let used = self.root().map_or(u64::MAX, |root| root.phys().used_bytes);
        space.adjusted(slop_shift).saturating_sub(space.deferred).saturating_sub(used)
    }

    /// Whether so many bytes more can be used, without what is kept for administrators.
    pub(crate) fn has_room(&self, bytes: u64) -> bool {
        self.unused(0) >= bytes
    }

    /// Whether administrative changes find no room any more.
    pub(crate) fn is_full(&self) -> bool {
        self.unused(0) == 0
    }

    /// While there is a checkpoint, freeing what was destroyed takes space instead of giving any:
    /// where hardly any is left, it waits until the checkpoint is discarded
    /// (`spa_suspend_async_destroy`).
    pub(crate) fn puts_off_destroys(&self) -> bool {
        self.space().has_checkpoint && self.unused(2) == 0
    }

    /// Whether an intent log may have `size` bytes among the pool's blocks: groups must find room
    /// for all that they have promised, and logs are not counted there. Half of the slop stays in
    /// hand for what is promised after this.
    pub(crate) fn can_spare(&self, size: u64) -> bool {
        let promised = self.root().map_or(u64::MAX, |root| root.in_flight());
        let kept = promised.saturating_add(self.space().slop() / 2);
        kept.saturating_add(size) <= self.parts.store().deflated_free()
    }

    /// A directory by its object; in core it is unique.
    pub(crate) fn dir(&self, object: u64) -> Result<Arc<Dir>> {
        if let Some(dir) = lock(&self.dirs).get(&object).and_then(Weak::upgrade) {
            return Ok(dir);
        }
        let phys = self.mos.dir(object)?;
        if phys.parent_obj == 0 {
            return self.remember(Dir::new(object, None, self.parts.name(), phys));
        }
        let parent = self.dir(phys.parent_obj)?;
        let children = self.mos.entries(parent.phys().child_dir_zapobj)?;
        let name = children.into_iter().find(|(_, value)| value.first() == object).map(|(name, _)| name);
        let name = name.ok_or(DmuError::Corrupt { object, block: 0 })?;
        self.remember(Dir::new(object, Some(parent), name, phys))
    }

    /// As [`Dsl::dir`], of a child whose name is known.
    pub(crate) fn child_dir(&self, parent: &Arc<Dir>, name: &str, object: u64) -> Result<Arc<Dir>> {
        if let Some(dir) = lock(&self.dirs).get(&object).and_then(Weak::upgrade) {
            return Ok(dir);
        }
        let phys = self.mos.dir(object)?;
        self.remember(Dir::new(object, Some(parent.clone()), name.to_owned(), phys))
    }

    fn remember(&self, dir: Dir) -> Result<Arc<Dir>> {
        let mut dirs = lock(&self.dirs);
        if let Some(known) = dirs.get(&dir.object).and_then(Weak::upgrade) {
            return Ok(known);
        }
        if dirs.len() >= 1024 && dirs.len().is_power_of_two() {
            dirs.retain(|_, dir| dir.strong_count() > 0);
        }
        let dir = Arc::new(dir);
        dirs.insert(dir.object, Arc::downgrade(&dir));
        Ok(dir)
    }

    pub(crate) fn open_datasets(&self) -> Vec<Arc<Dataset>> {
        lock(&self.datasets).values().cloned().collect()
    }

    pub(crate) fn if_open(&self, object: u64) -> Option<Arc<Dataset>> {
        lock(&self.datasets).get(&object).cloned()
    }

    pub(crate) fn is_receiving(&self, object: u64) -> bool {
        lock(&self.receiving).contains_key(&object)
    }

    /// The dataset that a receive writes.
    pub(crate) fn received_by(&self, number: u64) -> Result<u64> {
        let receiving = lock(&self.receiving);
        let found = receiving.iter().find_map(|(object, by)| (*by == number).then_some(*object));
        found.ok_or(PoolError::NotFound)
    }

    pub(crate) fn begin_receiving(&self, object: u64, number: u64) {
        lock(&self.receiving).insert(object, number);
    }

    /// As [`Dsl::begin_receiving`], where nobody receives.
    pub(crate) fn try_begin_receiving(&self, object: u64, number: u64) -> bool {
        let mut receiving = lock(&self.receiving);
        let is_free = !receiving.contains_key(&object);
        receiving.entry(object).or_insert(number);
        is_free
    }

    pub(crate) fn end_receiving(&self, object: u64) {
        lock(&self.receiving).remove(&object);
    }

    pub(crate) fn forget_dir(&self, object: u64) {
        lock(&self.dirs).remove(&object);
    }

    /// An open dataset is not what its number leads to any more. Syncing context.
    pub(crate) fn forget_dataset(&self, object: u64) {
        lock(&self.datasets).remove(&object).inspect(|dataset| dataset.forget());
    }

    /// Closes a dataset that nobody else uses.
    pub(crate) fn close_idle(&self, object: u64) {
        let mut datasets = lock(&self.datasets);
        let idle = |dataset: &Arc<Dataset>| Arc::strong_count(dataset) == 1 && !dataset.is_in_use();
        if datasets.get(&object).is_some_and(idle) {
            datasets.remove(&object);
        }
    }

    /// Changes a dataset's numbers, in core too if it is open. Syncing context.
    pub(crate) fn edit_dataset(
        &self,
        object: u64,
        tx: &Tx,
        f: impl FnOnce(&mut ondisk::dsl_dataset::DslDatasetPhys),
    ) -> Result<()> {
        let mut phys = self.mos.dataset(object)?;
        f(&mut phys);
        self.mos.put_dataset(object, &phys, tx)?;
        if let Some(open) = self.if_open(object) {
            open.core.reload(&phys);
        }
        Ok(())
    }

    // ── Syncing ──

    fn dirty_datasets(&self, txg: u64) -> Vec<Arc<Dataset>> {
        let mut dirty = self.open_datasets();
        dirty.retain(|dataset| dataset.objset().is_dirty(txg));
        dirty.sort_by_key(|dataset| dataset.object());
        dirty
    }

    /// Writes every dataset that is dirty in this group and counts what that took. Again in later
    /// passes for new ones.
    pub fn sync_datasets(&self, sync: &SyncTx) -> Result<()> {
        let tx = Tx::syncing(sync.txg);
        for dataset in self.dirty_datasets(sync.txg) {
            for name in dataset::features_in_use(dataset.objset()) {
                dataset.core.activate(self, name, &tx)?;
            }
            if let Some(zil) = dataset.zil() {
                zil.sync(&self.parts.frees, &tx);
            }
            let root = dataset.objset().sync(sync)?;
            dataset.core.settle(self, Some(root), &tx)?;
        }
        Ok(())
    }

    /// Counts what the meta object set used in the pass before.
    pub fn sync_dirs(&self, tx: &Tx) -> Result<()> {
        let sums = self.parts.mos_usage.take();
        let Some(dir) = self.special(|special| special.mos_dir.clone()) else { return Ok(()) };
        if sums == Sums::default() {
            return Ok(());
        }
        Ok(dir.used(&self.mos, Used::Head, sums, tx)?)
    }

    /// The group is durable.
    pub fn sync_done(&self, txg: u64) {
        for dataset in self.open_datasets() {
            dataset.objset().sync_done(txg);
            dataset.zil().inspect(|zil| zil.sync_done(txg));
        }
        for dir in lock(&self.dirs).values().filter_map(Weak::upgrade) {
            dir.settle(txg);
        }
        self.changes.sync_done(txg);
        lock(&self.datasets).retain(|_, dataset| Arc::strong_count(dataset) > 1 || dataset.is_in_use());
        *lock(&self.space) = None;
        if self.is_freeing() && !self.puts_off_destroys() {
            // Freeing goes on in the next group at once, even if nobody else has anything to write.
            self.parts.txgs.request_sync();
        }
    }

    /// No dataset admits writes any more, and none has an intent log: the pool is being exported.
    /// Busy datasets are the caller's affair.
    pub fn close_all(&self) -> Result<()> {
        let datasets = self.open_datasets();
        for dataset in &datasets {
            dataset.core.refuse_writes("pool is being exported");
        }
        for zil in datasets.iter().filter_map(|dataset| dataset.zil()) {
            zil.retire()?;
        }
        Ok(())
    }

    /// The intent log of a dataset, if it has one in memory.
    pub(crate) fn log_in_use(&self, name: &str) -> Option<Arc<Zil>> {
        let _config = self.reading();
        let object = self.find_dir(name).ok()?.phys().head_dataset_obj;
        self.if_open(object)?.zil().cloned()
    }
}

#[cfg(test)]
mod tests;
