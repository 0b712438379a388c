//! Open file systems of a pool: opened at first use, kept until their dataset or pool goes.

use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Arc, Weak};

use ::pool::dsl::{Dataset, DatasetKind, ListFilter};
use ::pool::prop::FsProps;
use ::pool::txg::Txgs;
use ::pool::zil::LogData;
use dmu::DmuError;
use engine_api::{Error, FsId, Result, Served};
use env::lock;
use ondisk::objset::ObjsetType;
use storage::Storage;

use super::convert::api_error;
use super::intent::{self, FileSystemLog};
use super::pool::LocalPool;
use crate::zpl::{FsSpace, Host, IntentLog, Settings, XattrStore, Zpl};

/// A dataset that is open as a file system.
pub(super) struct Mounted {
    pub dataset: Arc<Dataset>,
    pub fs: Arc<Zpl>,
}

/// What is shared, as of a generation of the engine.
pub(super) struct SharedList {
    generation: u64,
    list: Vec<Served>,
}

/// What becomes of a log that cannot be replayed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Unreplayable {
    Keep,
    GiveUp,
}

struct PoolHost {
    txgs: Arc<Txgs>,
    storage: Arc<Storage>,
    dataset: Arc<Dataset>,
    log: Option<FileSystemLog>,
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

    fn log(&self) -> Option<&dyn IntentLog> {
        self.log.as_ref().map(|log| log as &dyn IntentLog)
    }
}

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
        recordsize: u32::try_from(props.number("recordsize")).unwrap_or(128 << 10),
    }
}

impl LocalPool {
    /// The open file system of a dataset. Where its log cannot be replayed, it can be read, and the log stays for another
    /// try.
    pub(super) fn mount(&self, name: &str) -> Result<Arc<Mounted>> {
        self.mount_or(name, Unreplayable::Keep)
    }

    /// Logs that could not be replayed are tried once more; what still cannot be done again is given up.
    pub(super) fn give_up_logs(&self) -> Result<()> {
        let failed = std::mem::take(&mut *lock(&self.unreplayable));
        for (object, name) in failed {
            lock(&self.mounted).remove(&object);
            self.mount_or(&name, Unreplayable::GiveUp)?;
        }
        Ok(())
    }

    fn mount_or(&self, name: &str, unreplayable: Unreplayable) -> Result<Arc<Mounted>> {
        let dataset = self.pool.dsl.open_dataset(name).map_err(api_error)?;
        let found = || lock(&self.mounted).get(&dataset.object()).cloned();
        if let Some(mounted) = found() {
            return Ok(mounted);
        }
        // Nobody uses a file system before its log has been replayed, once.
        let _one = lock(&self.mounting);
        if let Some(mounted) = found() {
            return Ok(mounted);
        }
        if dataset.objset().kind() != ObjsetType::Zfs {
            return Err(Error::Invalid(format!("'{name}' is not a filesystem")));
        }
        let fs = self.open_zpl(name, &dataset, unreplayable)?;
        let mounted = Arc::new(Mounted { dataset: dataset.clone(), fs });
        lock(&self.mounted).insert(dataset.object(), mounted.clone());
        Ok(mounted)
    }

    /// A file system ready for use: what its log says has been done.
    fn open_zpl(&self, name: &str, dataset: &Arc<Dataset>, unreplayable: Unreplayable) -> Result<Arc<Zpl>> {
        let props = dataset.props().map_err(api_error)?;
        let core = self.pool.core();
        let id = FsId { pool_guid: self.pool.guid(), dataset_guid: dataset.guid() };
        let open = |frozen: bool| {
            let zil = dataset.zil().filter(|_| !frozen);
            let log = zil.map(|zil| FileSystemLog::new(zil.clone(), core.features.clone()));
            let (txgs, storage) = (core.txgs.clone(), core.storage.clone());
            let host = Arc::new(PoolHost { txgs, storage, dataset: dataset.clone(), log });
            Zpl::open(dataset.objset().clone(), id, self.env.clone(), host, settings(&props), frozen)
        };
        if core.readonly || dataset.is_snapshot() || dataset.readonly().is_some() {
            return open(true);
        }
        let fs = open(false)?;
        if let Some(zil) = dataset.zil() {
            intent::set_mode(zil, &props);
            if let Err(why) = intent::replay(&fs, zil, name) {
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
            let source: Weak<dyn LogData> = Arc::<Zpl>::downgrade(&fs);
            zil.attach(source);
        }
        fs.drain_unlinked()?;
        Ok(fs)
    }

    /// Properties may have changed: tell the open file systems.
    pub(super) fn refresh_file_systems(&self) {
        let open: Vec<Arc<Mounted>> = lock(&self.mounted).values().cloned().collect();
        for mounted in open {
            match mounted.dataset.props() {
                Ok(props) => {
                    mounted.fs.set_settings(settings(&props));
                    mounted.dataset.zil().inspect(|zil| intent::set_mode(zil, &props));
                }
                Err(error) => tracing::warn!(%error, "properties of an open file system cannot be read"),
            }
        }
    }

    /// Forgets open file systems of datasets that are about to be destroyed.
    pub(super) fn close_datasets(&self, names: &[String]) {
        for name in names {
            if let Ok(dataset) = self.pool.dsl.open_dataset(name) {
                lock(&self.mounted).remove(&dataset.object());
            }
        }
        *lock(&self.shared) = None;
    }

    pub(super) fn close_file_systems(&self) {
        lock(&self.mounted).clear();
        *lock(&self.shared) = None;
    }

    /// File systems with `sharenfs` on, opened.
    pub(super) fn served(&self) -> Vec<Served> {
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
        let filter = ListFilter {
            kinds: vec![DatasetKind::Filesystem],
            props: ["sharenfs", "canmount"].map(str::to_owned).to_vec(),
            ..ListFilter::default()
        };
        let listed = match self.pool.dsl.list(&filter) {
            Ok(listed) => listed,
            Err(error) => {
                tracing::warn!(%error, "datasets cannot be listed");
                return Vec::new();
            }
        };
        let value = |props: &[::pool::prop::Shown], name: &str| {
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
            fs: mounted.fs.clone(),
        })
    }
}
