//! Open file systems of a pool: opened at first use, kept until their dataset or pool goes.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Arc, Weak};

use ::pool::dsl::{Dataset, LongHold};
use ::pool::prop::FsProps;
use ::pool::txg::Txgs;
use ::pool::zil::LogData;
use dmu::{DmuError, Objset};
use engine_api::{DatasetFilter, DatasetKind, FileSystem, FsId, PropValue, Result, Served};
use env::{Nanos, lock};
use ondisk::objset::ObjsetType;
use ondisk::version::newest_file_system;
use refusal::{Reason, Refused};
use storage::Storage;

use super::super::activity::Guids;
use super::super::convert::api_error;
use super::super::intent::{self, FileSystemLog, Unreplayable};
use super::LocalPool;
use super::ctldir::Ctldir;
use super::open_once::{Opened, take_forgotten};
use crate::zpl::{FsSpace, Host, IntentLog, Settings, XattrStore, Zpl};

/// Snapshots that are open as file systems at the most.
const SNAPSHOTS_MAX: usize = 256;
/// How often, and for how long each time, calls under way are waited for.
const PATIENCE: u32 = 200;
const A_MOMENT: Nanos = Nanos::from_millis(5);

/// A dataset that is open as a file system.
pub(in crate::facade) struct Mounted {
    pub dataset: LongHold,
    pub fs: Arc<Zpl>,
    ctldir: Arc<Ctldir>,
}

impl Opened for Mounted {
    fn dataset(&self) -> &Dataset {
        &self.dataset
    }
}

impl Mounted {
    /// As servers get it.
    pub fn served(&self) -> Arc<dyn FileSystem> {
        self.ctldir.clone()
    }
}

/// Snapshots by guid, which is what file handles have, as of a generation of the datasets.
#[derive(Default)]
pub(super) struct SnapshotGuids {
    generation: Option<u64>,
    by_guid: HashMap<u64, u64>,
}

/// What is shared, as of a generation of the engine.
pub(super) struct SharedList {
    generation: u64,
    list: Vec<Served>,
}

struct PoolHost {
    txgs: Arc<Txgs>,
    storage: Arc<Storage>,
    dataset: LongHold,
    log: Option<FileSystemLog>,
    pool: Weak<LocalPool>,
}

impl Host for PoolHost {
    fn wait_synced(&self, txg: u64) -> std::result::Result<(), DmuError> {
        self.txgs.wait_synced(txg)
    }

    fn space(&self) -> FsSpace {
        let (referenced, available) = self.dataset.space().unwrap_or((0, 0));
        FsSpace { referenced, available }
    }

    fn is_suspended(&self) -> bool {
        self.storage.suspension().makes_wait()
    }

    fn count(&self) {
        let Some(pool) = self.pool.upgrade() else { return };
        let mounted = lock(&pool.mounted).get(&self.dataset.object()).cloned();
        mounted.inspect(|mounted| pool.counting.add(&pool.env, &mounted.fs));
    }

    fn log(&self) -> Option<&dyn IntentLog> {
        self.log.as_ref().map(|log| log as &dyn IntentLog)
    }
}

/// A value of `acltype`.
const POSIX_ACLS: u64 = 1;

fn settings(props: &FsProps) -> Settings {
    Settings {
        readonly: props.is_on("readonly"),
        atime: props.is_on("atime"),
        relatime: props.is_on("relatime"),
        xattr: match props.number("xattr") {
            0 => XattrStore::Off,
            1 => XattrStore::Directory,
            _ => XattrStore::System,
        },
        posix_acls: props.number("acltype") == POSIX_ACLS,
        recordsize: u32::try_from(props.number("recordsize")).unwrap_or(128 << 10),
    }
}

impl LocalPool {
    /// The open file system of a dataset. Where its log cannot be replayed, it can be read, and the
    /// log stays for another try.
    pub(in crate::facade) fn mount(&self, name: &str) -> Result<Arc<Mounted>> {
        let object = self.pool.dsl.object_of(name).map_err(api_error)?;
        self.mount_object(object)
    }

    /// As [`LocalPool::mount`], by the dataset's number.
    pub(super) fn mount_object(&self, object: u64) -> Result<Arc<Mounted>> {
        self.mount_or(object, Unreplayable::Keep)
    }

    /// Logs that could not be replayed are tried once more; what still cannot be done again is
    /// given up.
    pub(in crate::facade) fn give_up_logs(&self) -> Result<()> {
        let failed = std::mem::take(&mut *lock(&self.unreplayable));
        for object in failed.into_keys() {
            if self.close_volume(object).is_some() {
                self.open_volume_or(object, Unreplayable::GiveUp)?;
                continue;
            }
            lock(&self.mounted).remove(&object).inspect(|mounted| mounted.ctldir.detach());
            self.mount_or(object, Unreplayable::GiveUp)?;
        }
        Ok(())
    }

    fn mount_or(&self, object: u64, unreplayable: Unreplayable) -> Result<Arc<Mounted>> {
        self.open_once(&self.mounted, object, ObjsetType::Zfs, |name, dataset| {
            let fs = self.open_zpl(name, &dataset, unreplayable)?;
            let ctldir = {
                let mut ctldirs = lock(&self.ctldirs);
                // The number may have been that of a dataset that is no more.
                let known = ctldirs.get(&object).filter(|known| known.id() == fs.id()).cloned();
                known.unwrap_or_else(|| {
                    let FsId { pool_guid, dataset_guid } = fs.id();
                    let counting = self.activity.of_file_system((pool_guid, dataset_guid), name);
                    let new = Ctldir::new(self.this.clone(), object, fs.clone(), counting);
                    ctldirs.insert(object, new.clone());
                    new
                })
            };
            ctldir.attach(fs.clone());
            if dataset.is_snapshot() {
                self.close_some_snapshot(&mut lock(&self.mounted));
            } else {
                ctldir.set_snapdir(dataset.props().map_err(api_error)?.number("snapdir"));
            }
            Ok(Mounted { dataset, fs, ctldir })
        })
    }

    /// Snapshots are many, and each can be opened again at any time.
    fn close_some_snapshot(&self, mounted: &mut BTreeMap<u64, Arc<Mounted>>) {
        let snapshots =
            mounted.iter().filter(|(_, one)| one.dataset.is_snapshot()).map(|(object, _)| *object);
        let snapshots: Vec<u64> = snapshots.collect();
        if snapshots.len() < SNAPSHOTS_MAX {
            return;
        }
        for object in &snapshots[..snapshots.len() / 2] {
            mounted.remove(object).inspect(|mounted| mounted.ctldir.detach());
            self.pool.dsl.close_if_idle(*object);
        }
        lock(&self.ctldirs)
            .retain(|object, ctldir| mounted.contains_key(object) || Arc::strong_count(ctldir) > 1);
    }

    /// A snapshot of this head by its guid. What was looked for in vain is not looked for again
    /// before datasets change.
    pub(super) fn snapshot_by_guid(&self, head: u64, guid: u64) -> Result<Option<u64>> {
        let dsl = &self.pool.dsl;
        let generation = dsl.generation();
        let mut guids = lock(&self.guids);
        if guids.generation != Some(generation) {
            *guids = SnapshotGuids {
                generation: Some(generation),
                by_guid: dsl.snapshot_guids().map_err(api_error)?.into_iter().collect(),
            };
        }
        let found = guids.by_guid.get(&guid).copied();
        drop(guids);
        let Some(object) = found else { return Ok(None) };
        Ok(Some(object).filter(|object| dsl.head_of_snapshot(*object).is_ok_and(|of| of == head)))
    }

    /// What was received may be of a version that the pool is too old for.
    fn check_version(&self, version: u64) -> Result<()> {
        let pool = self.pool.dsl.version();
        if version <= newest_file_system(pool) {
            return Ok(());
        }
        Err(Refused::because(Reason::FileSystemTooNew { version, pool }).into())
    }

    /// A file system ready for use: what its log says has been done.
    fn open_zpl(&self, name: &str, dataset: &LongHold, unreplayable: Unreplayable) -> Result<Arc<Zpl>> {
        let props = dataset.props().map_err(api_error)?;
        let core = self.pool.core();
        let id = FsId { pool_guid: self.pool.guid(), dataset_guid: dataset.guid() };
        let open = |frozen: bool| {
            let zil = dataset.zil().filter(|_| !frozen);
            let log = zil.map(|zil| FileSystemLog {
                zil: zil.clone(),
                features: core.features.clone(),
                dataset: id.dataset_guid,
                kept: core.kept.get().cloned(),
            });
            let (txgs, storage) = (core.txgs.clone(), core.storage.clone());
            let host =
                Arc::new(PoolHost { txgs, storage, dataset: dataset.clone(), log, pool: self.this.clone() });
            let (objset, env) = (dataset.objset().clone(), self.env.clone());
            let fs = Zpl::open(objset, id, env, host, settings(&props), frozen)?;
            self.check_version(fs.version())?;
            Ok(fs)
        };
        if core.readonly || dataset.is_snapshot() || dataset.readonly().is_some() {
            return open(true);
        }
        let fs = open(false)?;
        if let Some(zil) = dataset.zil() {
            intent::set_mode(zil, &props);
            let kept = core.kept.get().map(|kept| &**kept);
            if let Err(why) = intent::replay(&fs, zil, name, kept) {
                if unreplayable == Unreplayable::Keep {
                    tracing::error!(
                        name,
                        why,
                        "the intent log cannot be replayed: the file system is read-only, and its log is kept"
                    );
                    lock(&self.unreplayable).insert(dataset.object(), name.to_owned());
                    return open(true);
                }
                tracing::error!(name, why, "the intent log is given up: its last records are lost");
                zil.abandon().map_err(|error| api_error(error.into()))?;
            }
            kept.inspect(|kept| kept.opened(id.dataset_guid));
            let source: Weak<dyn LogData> = Arc::<Zpl>::downgrade(&fs);
            zil.attach(source);
        }
        fs.drain_unlinked()?;
        self.counting.add(&self.env, &fs);
        Ok(fs)
    }

    /// Properties may have changed: tell the open file systems. Those that are no more are closed.
    pub(super) fn refresh_file_systems(&self) {
        take_forgotten(&self.mounted).iter().for_each(|mounted| mounted.ctldir.detach());
        let open: Vec<Arc<Mounted>> = lock(&self.mounted).values().cloned().collect();
        for mounted in open {
            match mounted.dataset.props() {
                Ok(props) => {
                    mounted.fs.set_settings(settings(&props));
                    if !mounted.dataset.is_snapshot() {
                        mounted.ctldir.set_snapdir(props.number("snapdir"));
                    }
                    mounted.dataset.zil().inspect(|zil| intent::set_mode(zil, &props));
                }
                Err(error) => tracing::warn!(%error, "properties of an open file system cannot be read"),
            }
        }
    }

    /// Makes a change for which nobody may have these datasets open: they are closed, who comes
    /// waits, and who is in the middle of a call is waited for.
    pub(in crate::facade) fn without<T>(&self, names: &[String], change: impl FnOnce() -> T) -> T {
        let _nobody_opens = lock(&self.mounting);
        for name in names.iter().filter(|name| !name.contains('#')) {
            let Ok(object) = self.pool.dsl.object_of(name) else { continue };
            if let Some(zvol) = self.close_volume(object) {
                self.wait_for_calls(&zvol);
            }
            let mounted = lock(&self.mounted).remove(&object);
            if let Some(ctldir) = lock(&self.ctldirs).get(&object) {
                ctldir.detach();
            }
            let Some(mounted) = mounted else { continue };
            self.wait_for_calls(&mounted);
            self.wait_for_calls(&mounted.fs);
        }
        *lock(&self.shared) = None;
        change()
    }

    /// Somebody has the dataset mounted, or serves it.
    pub(in crate::facade) fn is_in_use(&self, object: u64) -> bool {
        let own = 1 + usize::from(lock(&self.mounted).contains_key(&object));
        let is_served =
            lock(&self.ctldirs).get(&object).is_some_and(|ctldir| Arc::strong_count(ctldir) > own);
        is_served || self.is_volume_in_use(object)
    }

    /// Until nobody else uses what was taken away, or for as long as is bearable.
    fn wait_for_calls<T>(&self, last: &Arc<T>) {
        for _ in 0..PATIENCE {
            if Arc::strong_count(last) == 1 {
                return;
            }
            self.env.clock.sleep(A_MOMENT);
        }
    }

    pub(in crate::facade) fn close_file_systems(&self) {
        lock(&self.ctldirs).values().for_each(|ctldir| ctldir.detach());
        lock(&self.mounted).clear();
        self.close_volumes();
        *lock(&self.shared) = None;
    }

    pub(super) fn names_of_file_systems(&self, wanted: &HashSet<Guids>) -> HashMap<Guids, String> {
        let open: Vec<Arc<Mounted>> = lock(&self.mounted).values().cloned().collect();
        self.named(open.iter().map(|mounted| &mounted.dataset), wanted)
    }

    /// The objects of the file system with this guid, if it is open.
    pub(in crate::facade) fn open_objset(&self, guid: u64) -> Option<Arc<Objset>> {
        let open: Vec<Arc<Mounted>> = lock(&self.mounted).values().cloned().collect();
        let found = open.iter().find(|mounted| mounted.dataset.guid() == guid);
        found.map(|mounted| mounted.dataset.objset().clone())
    }

    /// File systems with `sharenfs` on, opened.
    pub(in crate::facade) fn served(&self) -> Vec<Served> {
        let generation = self.generation.load(SeqCst);
        if let Some(shared) = lock(&self.shared).as_ref().filter(|shared| shared.generation == generation) {
            return shared.list.clone();
        }
        if self.pool.core().storage.suspension().is_waiting() {
            // What was shared is shared still; to look again may take until an operator comes.
            return lock(&self.shared).as_ref().map_or_else(Vec::new, |shared| shared.list.clone());
        }
        let list = self.find_shared();
        *lock(&self.shared) = Some(SharedList { generation, list: list.clone() });
        list
    }

    fn find_shared(&self) -> Vec<Served> {
        let filter = DatasetFilter {
            kinds: vec![DatasetKind::Filesystem],
            props: ["sharenfs", "canmount"].map(str::to_owned).to_vec(),
            ..DatasetFilter::default()
        };
        let listed = match self.pool.dsl.list(&filter) {
            Ok(listed) => listed,
            Err(error) => {
                tracing::warn!(%error, "datasets cannot be listed");
                return Vec::new();
            }
        };
        let value = |props: &[PropValue], name: &str| {
            props.iter().find(|prop| prop.name == name).map(|prop| prop.value.clone()).unwrap_or_default()
        };
        let shared = listed.into_iter().filter(|dataset| {
            value(&dataset.props, "sharenfs") != "off" && value(&dataset.props, "canmount") != "off"
        });
        shared.filter_map(|dataset| self.served_one(&dataset.name)).collect()
    }

    fn served_one(&self, name: &str) -> Option<Served> {
        let mounted =
            self.mount(name).inspect_err(|error| tracing::warn!(name, %error, "cannot be shared")).ok()?;
        let props = mounted.dataset.props().ok()?;
        let altroot = self.pool.core().altroot.clone();
        let mountpoint = props.mountpoint(name, altroot.as_deref());
        Some(Served {
            dataset: name.to_owned(),
            id: engine_api::FileSystem::id(&*mounted.fs),
            mountpoint: mountpoint.starts_with('/').then_some(mountpoint),
            sharenfs: props.text("sharenfs").to_owned(),
            readonly: props.is_on("readonly") || self.pool.core().readonly,
            key: self.handle_key(),
            identity: None,
            fs: mounted.served(),
        })
    }
}
