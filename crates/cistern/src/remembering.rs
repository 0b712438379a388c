//! The engine as this daemon runs it: pools that were imported are remembered, shares can be
//! withdrawn for a while.
//!
//! Everything else passes through. The management API and the NFS server both see the engine
//! through this.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Write};
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::thread;

use engine::LocalEngine;
use engine_api::refusal::{Action, PropertyFault, Reason, Refused};
use engine_api::{
    CacheFileSearch, Change, DestroyPlan, DestroyQuery, Engine, Error, FsId, ImportOptions, Importable, Pool,
    PoolSpec, PropertyChange, ReceiveEvent, ReceiveRequest, Received, Result, SendEvent, SendRequest, Served,
    ServedVolume, TokenContents, VolumePlan,
};
use env::lock;

use crate::remember::{Memory, Remembered};

/// Pools that are imported at a time when the program starts.
const IMPORTS: usize = 8;

pub struct RememberingEngine {
    engine: Arc<LocalEngine>,
    memory: Arc<Memory>,
    /// Pools that [`RememberingEngine::import_remembered`] still has to import: their guids by
    /// their names.
    to_come: Mutex<BTreeMap<String, u64>>,
    /// How many of these are not to come any more: imported, given up or exported.
    come: AtomicU64,
    withdrawn: Arc<Withdrawn>,
}

/// Datasets whose share was withdrawn with `zfs unshare`: until `zfs share`, or until somebody says
/// anew how they are shared.
#[derive(Default)]
struct Withdrawn {
    names: Mutex<BTreeSet<String>>,
    /// Added to the engine's generation: grows when a share is withdrawn or offered again.
    changes: AtomicU64,
}

impl Withdrawn {
    fn change(&self, change: impl FnOnce(&mut BTreeSet<String>)) {
        change(&mut lock(&self.names));
        self.changes.fetch_add(1, SeqCst);
    }

    fn contains(&self, dataset: &str) -> bool {
        lock(&self.names).contains(dataset)
    }

    /// What a change says of sharing counts for a dataset and all below it, that are there then.
    fn follow(&self, change: &Change) {
        use std::slice::from_ref;
        let told = match change {
            Change::SetProperties { name, props } if props.iter().any(|prop| is_of_sharing(&prop.name)) => {
                from_ref(name)
            }
            Change::Inherit { name, property, .. } if is_of_sharing(property) => from_ref(name),
            Change::Destroy { names, .. } => names,
            Change::Rename { from, .. } => from_ref(from),
            _ => return,
        };
        let is_told = |name: &String| {
            let at = |above: &String| {
                name.strip_prefix(above.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            };
            told.iter().any(at)
        };
        self.change(|names| names.retain(|name| !is_told(name)));
    }
}

fn is_of_sharing(property: &str) -> bool {
    matches!(property, "sharenfs" | "sharesmb" | "mountpoint") || property == iscsi::PROPERTY
}

impl RememberingEngine {
    pub fn new(engine: Arc<LocalEngine>, memory: Memory) -> Arc<RememberingEngine> {
        let to_come = memory.absent().into_iter().map(|pool| (pool.name, pool.guid)).collect();
        Arc::new(RememberingEngine {
            engine,
            memory: Arc::new(memory),
            to_come: Mutex::new(to_come),
            come: AtomicU64::new(0),
            withdrawn: Arc::default(),
        })
    }

    /// Imports what was imported when the daemon last ran, side by side: one that takes its time
    /// does not keep the others. A pool that cannot be is logged, and still remembered. What was
    /// kept of others is dropped.
    pub fn import_remembered(&self) {
        let remembered = self.memory.absent();
        if !remembered.is_empty() {
            let guids: Vec<u64> = remembered.iter().map(|pool| pool.guid).collect();
            self.engine.keep_only(&guids);
        }
        let threads = remembered.len().min(IMPORTS);
        let left = Mutex::new(remembered.into_iter());
        let import_some = || {
            loop {
                let next = lock(&left).next();
                let Some(pool) = next else { break };
                self.import_again(pool);
            }
        };
        thread::scope(|scope| {
            // This thread does the same, and all of it where there can be no more threads.
            for _ in 1..threads {
                let begun = thread::Builder::new().name("import".into()).spawn_scoped(scope, import_some);
                drop(begun.inspect_err(|error| tracing::warn!(%error, "imports wait for each other")));
            }
            import_some();
        });
        self.engine.write_cache_files();
    }

    fn import_again(&self, Remembered { guid, name, devices }: Remembered) {
        if !lock(&self.to_come).contains_key(&name) {
            return; // Somebody has exported it in the meantime.
        }
        let options = ImportOptions { search: devices, ..ImportOptions::default() };
        let imported = self.engine.import(&guid.to_string(), &options);
        let is_wanted = self.comes_no_more(&name);
        match imported.map(drop) {
            Ok(()) if is_wanted => {
                self.memory.came(guid);
                tracing::info!(pool = name, "imported");
            }
            // Somebody has exported it in the meantime.
            Ok(()) => match self.engine.export(&name, false) {
                Ok(()) => tracing::info!(pool = name, "exported again"),
                Err(error) => tracing::error!(pool = name, %error, "cannot be exported again"),
            },
            Err(error) if is_wanted => tracing::error!(pool = name, %error, "cannot be imported"),
            Err(error) => tracing::info!(pool = name, %error, "is not imported, as it was exported"),
        }
    }

    /// From now on it is not to come any more. Whether it was until now.
    fn comes_no_more(&self, name: &str) -> bool {
        let was_to_come = lock(&self.to_come).remove(name).is_some();
        if was_to_come {
            self.come.fetch_add(1, SeqCst);
        }
        was_to_come
    }

    /// Names of the pools that are still to come.
    pub fn to_come(&self) -> Vec<String> {
        lock(&self.to_come).keys().cloned().collect()
    }

    /// Whether a pool is being imported, or is about to be.
    fn is_coming(&self, name: &str) -> bool {
        lock(&self.to_come).contains_key(name) || self.engine.is_coming(name)
    }

    /// Whether a pool that was imported when the daemon last ran is not here: still to come, or not
    /// to be had.
    pub fn is_absent(&self, pool: &str) -> bool {
        self.memory.absent().iter().any(|absent| absent.name == pool)
    }

    /// For the end of the program: every pool is exported, and none forgotten. Its disks may have
    /// changed by themselves: spares step in.
    pub fn export_all(&self) -> Result<()> {
        self.memory.save(&*self.engine);
        self.engine.export_all()
    }

    /// See [`LocalEngine::keeps_nothing`].
    pub fn keeps_nothing(&self) -> bool {
        self.engine.keeps_nothing()
    }

    pub fn withdraw(&self, dataset: &str) {
        self.withdrawn.change(|names| {
            names.insert(dataset.to_owned());
        });
    }

    pub fn offer(&self, dataset: &str) {
        self.withdrawn.change(|names| {
            names.remove(dataset);
        });
    }

    /// Datasets that [`RememberingEngine::withdraw`] was the last to be told of.
    pub fn withdrawn(&self) -> Vec<String> {
        lock(&self.withdrawn.names).iter().cloned().collect()
    }

    fn remembering<T>(&self, done: Result<T>) -> Result<T> {
        if done.is_ok() {
            self.memory.save(&*self.engine);
            self.engine.write_cache_files();
        }
        done
    }

    fn guarded(&self, pool: Arc<dyn Pool>) -> Arc<dyn Pool> {
        Arc::new(Guarded {
            pool,
            engine: self.engine.clone(),
            memory: self.memory.clone(),
            withdrawn: self.withdrawn.clone(),
        })
    }
}

fn not_to_be_set(property: &str, value: String, message: String) -> Error {
    let property = property.to_owned();
    Refused::new(Action::SetTo { property, value }, PropertyFault::Value { message }).into()
}

/// A share that no client could use is refused when it is made, not when it is mounted; its secrets
/// are not kept in the clear.
fn check_shares(props: &mut [PropertyChange]) -> Result<()> {
    for prop in props.iter_mut().filter(|prop| prop.name == iscsi::PROPERTY) {
        iscsi::parse_share(&prop.value)
            .map_err(|why| not_to_be_set(&prop.name, iscsi::without_secrets(&prop.value), why))?;
        prop.value = iscsi::sealed(&prop.value);
    }
    for prop in props.iter().filter(|prop| prop.name == "sharenfs") {
        nfs::parse_sharenfs(&prop.value).map_err(|why| not_to_be_set(&prop.name, prop.value.clone(), why))?;
    }
    Ok(())
}

impl Engine for RememberingEngine {
    fn create(&self, spec: &PoolSpec) -> Result<Arc<dyn Pool>> {
        let mut spec = spec.clone();
        check_shares(&mut spec.fs_props)?;
        spec.history = iscsi::without_secrets(&spec.history);
        self.remembering(self.engine.create(&spec)).map(|pool| self.guarded(pool))
    }

    fn features(&self) -> Vec<engine_api::FeatureInfo> {
        self.engine.features()
    }

    fn importable(&self, search: &[String], cachefile: Option<&CacheFileSearch>) -> Result<Vec<Importable>> {
        self.engine.importable(search, cachefile)
    }

    fn import(&self, which: &str, options: &ImportOptions) -> Result<Arc<dyn Pool>> {
        self.remembering(self.engine.import(which, options)).map(|pool| self.guarded(pool))
    }

    fn export(&self, name: &str, force: bool) -> Result<()> {
        // One that is still to come is not imported any more.
        let was_to_come = self.comes_no_more(name);
        let mut done = self.engine.export(name, force);
        if was_to_come && self.engine.pool(name).is_err() {
            done = Ok(());
        }
        if done.is_ok() {
            self.memory.forget(name);
        }
        self.remembering(done)
    }

    fn destroy(&self, name: &str, force: bool) -> Result<()> {
        if lock(&self.to_come).contains_key(name) {
            return Err(Refused::new(Action::Destroy { name: name.to_owned() }, Reason::Importing).into());
        }
        self.remembering(self.engine.destroy(name, force))
    }

    fn pool(&self, name: &str) -> Result<Arc<dyn Pool>> {
        match self.engine.pool(name) {
            Ok(pool) => Ok(self.guarded(pool)),
            Err(Error::NotFound) if self.is_coming(name) => {
                Err(Refused::because(Reason::ImportingWait).into())
            }
            Err(error) => Err(error),
        }
    }

    fn pools(&self) -> Vec<Arc<dyn Pool>> {
        self.engine.pools().into_iter().map(|pool| self.guarded(pool)).collect()
    }

    fn read_token(&self, token: &str) -> Result<TokenContents> {
        self.engine.read_token(token)
    }

    fn label_clear(&self, path: &str, force: bool) -> Result<()> {
        self.engine.label_clear(path, force)
    }

    fn served(&self) -> Vec<Served> {
        self.engine.served().into_iter().filter(|served| !self.withdrawn.contains(&served.dataset)).collect()
    }

    fn served_by_id(&self, id: FsId) -> Option<Served> {
        self.engine.served_by_id(id).filter(|served| !self.withdrawn.contains(&served.dataset))
    }

    fn served_volumes(&self, property: &str) -> Vec<ServedVolume> {
        let volumes = self.engine.served_volumes(property);
        volumes.into_iter().filter(|served| !self.withdrawn.contains(&served.dataset)).collect()
    }

    fn served_generation(&self) -> u64 {
        self.engine.served_generation() + self.withdrawn.changes.load(SeqCst) + self.come.load(SeqCst)
    }

    fn is_to_come(&self, pool: Option<u64>) -> bool {
        lock(&self.to_come).values().any(|guid| pool.is_none_or(|wanted| wanted == *guid))
    }

    fn diagnostics(&self) -> &dyn engine_api::Diagnostics {
        self.engine.diagnostics()
    }

    fn cache_counts(&self) -> engine_api::Counts {
        self.engine.cache_counts()
    }
}

/// A pool that refuses shares no client could use, and whose disks are remembered.
struct Guarded {
    pool: Arc<dyn Pool>,
    engine: Arc<LocalEngine>,
    memory: Arc<Memory>,
    withdrawn: Arc<Withdrawn>,
}

/// Whether the pool is to be found by other disks afterwards, by another guid or in another cache
/// file.
fn moves(change: &Change) -> bool {
    matches!(
        change,
        Change::AddVdevs { .. }
            | Change::RemoveVdev { .. }
            | Change::AttachVdev { .. }
            | Change::DetachVdev { .. }
            | Change::ReplaceVdev { .. }
            | Change::Reguid { .. }
            | Change::SetPoolProperties { .. }
    )
}

impl Pool for Guarded {
    fn name(&self) -> String {
        self.pool.name()
    }
    fn guid(&self) -> u64 {
        self.pool.guid()
    }
    fn status(&self) -> engine_api::PoolStatus {
        self.pool.status()
    }
    fn properties(&self, names: &[String]) -> Result<Vec<engine_api::PropValue>> {
        self.pool.properties(names)
    }
    fn upgradable(&self) -> Result<engine_api::Upgradable> {
        self.pool.upgradable()
    }
    fn datasets(&self, filter: &engine_api::DatasetFilter) -> Result<Vec<engine_api::DatasetInfo>> {
        let mut datasets = self.pool.datasets(filter)?;
        let props = datasets.iter_mut().flat_map(|dataset| &mut dataset.props);
        props.filter(|prop| prop.name == iscsi::PROPERTY).for_each(|prop| {
            prop.value = iscsi::without_secrets(&prop.value);
            prop.received = prop.received.take().map(|value| iscsi::without_secrets(&value));
        });
        Ok(datasets)
    }
    fn commit(&self, change: &Change, history: &str) -> Result<engine_api::Committed> {
        let mut change = change.clone();
        if let Change::CreateFilesystem { props, .. }
        | Change::CreateVolume { props, .. }
        | Change::SetProperties { props, .. }
        | Change::Clone { props, .. } = &mut change
        {
            check_shares(props)?;
        }
        let done = self.pool.commit(&change, &iscsi::without_secrets(history))?;
        self.withdrawn.follow(&change);
        if moves(&change) {
            self.memory.save(&*self.engine);
            self.engine.write_cache_files();
        }
        Ok(done)
    }
    fn permits(&self, change: &Change) -> Result<()> {
        self.pool.permits(change)
    }
    fn plan_create(&self, change: &Change) -> Result<Option<VolumePlan>> {
        self.pool.plan_create(change)
    }
    fn plan_destroy(&self, query: &DestroyQuery) -> Result<DestroyPlan> {
        self.pool.plan_destroy(query)
    }
    fn send(
        &self,
        request: &SendRequest,
        stream: &mut dyn Write,
        tell: &mut dyn FnMut(SendEvent),
    ) -> Result<()> {
        self.pool.send(request, stream, tell)
    }
    fn receive(
        &self,
        request: &ReceiveRequest,
        stream: &mut dyn Read,
        tell: &mut dyn FnMut(ReceiveEvent),
    ) -> Result<Received> {
        let mut request = request.clone();
        check_shares(&mut request.props)?;
        request.history = iscsi::without_secrets(&request.history);
        self.pool.receive(&request, stream, tell)
    }
    fn space_use(&self, dataset: &str, of: engine_api::Spender) -> Result<Vec<engine_api::SpaceUse>> {
        self.pool.space_use(dataset, of)
    }
    fn explain_space(&self, dataset: &str) -> Result<engine_api::SpaceExplained> {
        self.pool.explain_space(dataset)
    }
    fn diff(&self, from: &str, to: &str, tell: &mut dyn FnMut(engine_api::DiffEntry)) -> Result<()> {
        self.pool.diff(from, to, tell)
    }
    fn deleted_files(&self, dataset: &str) -> Result<u64> {
        self.pool.deleted_files(dataset)
    }
    fn holds(&self, snapshot: &str) -> Result<Vec<(String, u64)>> {
        self.pool.holds(snapshot)
    }
    fn delegations(&self, dataset: &str) -> Result<Vec<engine_api::Delegation>> {
        self.pool.delegations(dataset)
    }
    fn history(&self, internal: bool) -> Result<Vec<engine_api::HistoryRecord>> {
        self.pool.history(internal)
    }
    fn open_fs(&self, dataset: &str) -> Result<Arc<dyn engine_api::FileSystem>> {
        self.pool.open_fs(dataset)
    }
    fn open_volume(&self, dataset: &str) -> Result<Arc<dyn engine_api::Volume>> {
        self.pool.open_volume(dataset)
    }
    fn give_up(&self) {
        self.pool.give_up();
    }
    fn sync(&self) -> Result<u64> {
        self.pool.sync()
    }
    fn sync_empty(&self) -> Result<u64> {
        self.pool.sync_empty()
    }
    fn prefetch_dedup_tables(&self) -> Result<()> {
        self.pool.prefetch_dedup_tables()
    }
    fn errors(&self) -> Result<Vec<String>> {
        self.pool.errors()
    }
    fn log_counts(&self) -> engine_api::Counts {
        self.pool.log_counts()
    }
    fn vdev_tallies(&self) -> Vec<engine_api::VdevTallies> {
        self.pool.vdev_tallies()
    }
    fn advise(&self, question: &engine_api::AdviceQuestion) -> Result<engine_api::Advice> {
        self.pool.advise(question)
    }
    fn estimate_dedup(&self, dataset: &str) -> Result<engine_api::DedupEstimate> {
        self.pool.estimate_dedup(dataset)
    }
}
