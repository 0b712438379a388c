//! One imported pool: that of the layer below, what is open of it, and what servers are given.
//!
//! A dataset is opened once ([`open_once`]), as a file system ([`serve`]) or as a volume
//! ([`volumes`]). Servers keep a handle of it, [`ctldir::Ctldir`] or [`volumes::VolumeHandle`]. A
//! handle knows its pool and asks that for what is open now, and a pool finds the handle again by
//! the dataset's number: so all of these are parts of the pool.
//!
//! Nothing here asks whether a caller may do what he asks for: the methods of `engine_api::Pool`
//! do, which are above this ([`super::pool_api`]). A handle that changes a dataset itself
//! (directories in `.zfs/snapshot`, notes of a volume) calls `make_change` there, which asks too.

mod ctldir;
mod open_once;
mod serve;
mod snapdir;
mod standing;
mod volumes;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex, Weak};

use ::pool::dsl::LongHold;
use engine_api::{Error, Policy, Result, ServedVolume};
use env::{Env, lock};

use super::activity::{Activity, Guids};
use super::cachefile::CacheFile;
use super::counting::Counting;
use crate::advise::rehearsal::Stage;
use ctldir::Ctldir;
use open_once::OpenTable;
use serve::{Mounted, SharedList, SnapshotGuids};
pub(super) use standing::Standing;
use volumes::{OpenVolume, VolumeHandle};

/// See the module.
pub(super) struct LocalPool {
    pub(super) env: Env,
    pub(super) pool: Arc<::pool::Pool>,
    /// Open file systems by dataset object.
    mounted: OpenTable<Mounted>,
    /// One file system is opened at a time.
    mounting: Mutex<()>,
    /// What servers are given of each dataset that was ever open.
    ctldirs: Mutex<BTreeMap<u64, Arc<Ctldir>>>,
    guids: Mutex<SnapshotGuids>,
    shared: Mutex<Option<SharedList>>,
    /// What its datasets say of themselves.
    standing: Mutex<Arc<Standing>>,
    /// Open volumes by dataset object, and what servers are given of each that was ever open.
    volumes: OpenTable<OpenVolume>,
    volume_handles: Mutex<BTreeMap<u64, Arc<VolumeHandle>>>,
    /// By property, as of a generation: the volumes that it says are to be served.
    served_volumes: Mutex<BTreeMap<String, (u64, Vec<ServedVolume>)>>,
    /// Names of datasets, by object, whose logs could not be replayed: they are read-only.
    pub(super) unreplayable: Mutex<BTreeMap<u64, String>>,
    /// The engine's: grows with every change of what may be served.
    generation: Arc<AtomicU64>,
    /// Where the advisor rehearses.
    pub(super) stage: Option<Arc<dyn Stage>>,
    /// The engine's.
    pub(super) policy: Arc<dyn Policy>,
    pub(super) counting: Arc<Counting>,
    /// The engine's.
    activity: Arc<Activity>,
    cachefile: Mutex<CacheFile>,
    default_cachefile: Option<String>,
    this: Weak<LocalPool>,
}

impl LocalPool {
    pub fn new(
        env: Env,
        pool: Arc<::pool::Pool>,
        generation: Arc<AtomicU64>,
        stage: Option<Arc<dyn Stage>>,
        policy: Arc<dyn Policy>,
        activity: Arc<Activity>,
        (cachefile, default_cachefile): (CacheFile, Option<String>),
    ) -> Arc<LocalPool> {
        Arc::new_cyclic(|this| LocalPool {
            this: this.clone(),
            ctldirs: Mutex::default(),
            guids: Mutex::default(),
            env,
            pool,
            mounted: Mutex::default(),
            mounting: Mutex::default(),
            shared: Mutex::default(),
            standing: Mutex::default(),
            volumes: Mutex::default(),
            volume_handles: Mutex::default(),
            served_volumes: Mutex::default(),
            unreplayable: Mutex::default(),
            generation,
            stage,
            policy,
            counting: Arc::default(),
            activity,
            cachefile: Mutex::new(cachefile),
            default_cachefile,
        })
    }

    /// What is called how now, of what is open.
    pub(in crate::facade) fn names_of_open(&self, wanted: &HashSet<Guids>) -> HashMap<Guids, String> {
        let mut names = self.names_of_file_systems(wanted);
        names.extend(self.names_of_volumes(wanted));
        names
    }

    fn named<'a>(
        &self,
        open: impl Iterator<Item = &'a LongHold>,
        wanted: &HashSet<Guids>,
    ) -> HashMap<Guids, String> {
        let pool = self.pool.guid();
        let wanted = open.filter(|dataset| wanted.contains(&(pool, dataset.guid())));
        // One that cannot be told now is called as it was when it was opened.
        wanted.filter_map(|dataset| Some(((pool, dataset.guid()), dataset.name().ok()?))).collect()
    }

    /// In which cache file it stands.
    pub(super) fn cachefile(&self) -> CacheFile {
        lock(&self.cachefile).clone()
    }

    pub(super) fn set_cachefile(&self, cachefile: CacheFile) {
        *lock(&self.cachefile) = cachefile;
    }

    /// The same as property; `None` where it is the daemon's own.
    pub(super) fn cachefile_shown(&self) -> Option<String> {
        self.cachefile().shown(self.default_cachefile.as_deref())
    }

    pub fn inner(&self) -> &Arc<::pool::Pool> {
        &self.pool
    }

    /// What a change means for open file systems and volumes, and for those who serve datasets.
    pub(super) fn after_change(&self) {
        self.refresh();
        self.generation.fetch_add(1, SeqCst);
    }

    /// What a change means for open file systems and volumes.
    pub(super) fn refresh(&self) {
        self.refresh_file_systems();
        self.refresh_volumes();
    }

    /// Whatever may read from disks is refused at once while the pool waits for an operator, as
    /// every ioctl of OpenZFS with POOL_CHECK_SUSPENDED is: nobody who administers it is to be
    /// stuck in it.
    pub(super) fn not_suspended(&self) -> Result<()> {
        if self.pool.core().storage.is_suspended() { Err(Error::Suspended) } else { Ok(()) }
    }
}
