//! The engine as this daemon runs it: pools that were imported are remembered, and not denied while
//! they are still to come; shares can be withdrawn for a while.
//!
//! The management API and all servers see the engine through this. They get the engine's own pools:
//! what the daemon has to say about those, it says as their policy ([`crate::policy`]).

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::thread;

use engine::{LocalEngine, Options};
use engine_api::refusal::{Action, ImportFault, Reason, Refused};
use engine_api::{
    Breakdown, CacheFileSearch, Counts, Diagnostics, Engine, Error, FeatureInfo, FileSystemCounts,
    ImportOptions, Importable, Place, PlaceName, Pool, PoolSpec, Result, Served, ServedVolume, Serving,
    TokenContents, VolumeCounts,
};
use env::{Env, lock};
use stdx::behalf::actor;

use crate::policy::DaemonPolicy;
use crate::remember::{Memory, Remembered};

/// Pools that are imported at a time when the program starts.
const IMPORTS: usize = 8;

pub struct RememberingEngine {
    engine: Arc<LocalEngine>,
    policy: Arc<DaemonPolicy>,
    /// Pools that [`RememberingEngine::import_remembered`] still has to import: their guids by
    /// their names.
    to_come: Mutex<BTreeMap<String, u64>>,
    /// How many of these are not to come any more: imported, given up or exported.
    come: AtomicU64,
}

impl RememberingEngine {
    pub fn new(env: Env, options: Options, memory: Memory) -> Arc<RememberingEngine> {
        let to_come = memory.absent().into_iter().map(|pool| (pool.name, pool.guid)).collect();
        let policy = Arc::new(DaemonPolicy::new(memory));
        let engine = LocalEngine::new(env, Options { policy: policy.clone(), ..options });
        policy.belongs_to(&engine);
        let (to_come, come) = (Mutex::new(to_come), AtomicU64::new(0));
        Arc::new(RememberingEngine { engine, policy, to_come, come })
    }

    /// The engine itself, for those who tend it.
    pub fn local(&self) -> Arc<LocalEngine> {
        self.engine.clone()
    }

    /// Imports what was imported when the daemon last ran, side by side: one that takes its time
    /// does not keep the others. A pool that cannot be is logged, and still remembered. What was
    /// kept of others is dropped.
    pub fn import_remembered(&self) {
        let remembered = self.policy.memory.absent();
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

    fn import_again(&self, pool: Remembered) {
        if !lock(&self.to_come).contains_key(&pool.name) {
            return; // Somebody has exported it in the meantime.
        }
        let imported = self.import_as_remembered(&pool);
        let Remembered { guid, name, .. } = pool;
        let is_wanted = self.comes_no_more(&name);
        match imported {
            Ok(Found::Here(guid_now)) if is_wanted => {
                self.policy.memory.came(guid);
                if guid_now != guid {
                    self.policy.write_down();
                }
                tracing::info!(pool = name, "imported");
            }
            Ok(Found::Destroyed) => {
                self.policy.memory.forget(&name);
                self.policy.write_down();
                tracing::info!(pool = name, guid, "was destroyed");
            }
            // Somebody has exported it in the meantime.
            Ok(Found::Here(_)) => match self.engine.export(&name, false) {
                Ok(()) => tracing::info!(pool = name, "exported again"),
                Err(error) => tracing::error!(pool = name, %error, "cannot be exported again"),
            },
            Err(error) if is_wanted => tracing::error!(pool = name, %error, "cannot be imported"),
            Err(error) => tracing::info!(pool = name, %error, "is not imported, as it was exported"),
        }
    }

    /// Imports a pool by its guid, or by the one that it was being given when the daemon was
    /// killed: what is done to a pool is on its disks before it is written down.
    fn import_as_remembered(&self, pool: &Remembered) -> Result<Found> {
        let options = ImportOptions { search: pool.devices.clone(), ..ImportOptions::default() };
        let import =
            |guid: u64| self.engine.import(&guid.to_string(), &options).map(|pool| Found::Here(pool.guid()));
        let imported = import(pool.guid);
        if !imported.as_ref().is_err_and(is_not_found) {
            return imported;
        }
        let found = self.engine.importable(&pool.devices, None)?;
        if found.iter().any(|found| found.guid == pool.guid && found.destroyed) {
            return Ok(Found::Destroyed);
        }
        renumbered(pool, &found).map_or(imported, import)
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
        self.policy.memory.absent().iter().any(|absent| absent.name == pool)
    }

    /// Names of all of these.
    pub fn absent(&self) -> Vec<String> {
        self.policy.memory.absent().into_iter().map(|pool| pool.name).collect()
    }

    /// For the end of the program: every pool is exported, and none forgotten. Its disks may have
    /// changed by themselves: spares step in.
    pub fn export_all(&self) -> Result<()> {
        self.policy.memory.save(|| self.engine.pools());
        self.engine.export_all()
    }

    /// See [`LocalEngine::keeps_nothing`].
    pub fn keeps_nothing(&self) -> bool {
        self.engine.keeps_nothing()
    }

    pub fn withdraw(&self, dataset: &str) {
        self.policy.withdrawn.withdraw(dataset);
    }

    pub fn offer(&self, dataset: &str) {
        self.policy.withdrawn.offer(dataset);
    }

    /// Datasets that [`RememberingEngine::withdraw`] was the last to be told of.
    pub fn withdrawn(&self) -> Vec<String> {
        self.policy.withdrawn.names()
    }

    fn remembering<T>(&self, done: Result<T>) -> Result<T> {
        if done.is_ok() {
            self.policy.write_down();
        }
        done
    }
}

/// What became of a pool that is remembered.
enum Found {
    /// It is imported, with this guid.
    Here(u64),
    Destroyed,
}

fn is_not_found(error: &Error) -> bool {
    matches!(error, Error::Refused(refused) if refused.reason == Reason::Import(ImportFault::NotFound))
}

/// The guid by which a pool is on its devices now: the only one of its name there that was in use
/// to the last. A pool that was exported or destroyed is left alone.
fn renumbered(pool: &Remembered, found: &[Importable]) -> Option<u64> {
    let in_use = |found: &&Importable| found.name == pool.name && !found.exported && !found.destroyed;
    let mut guids = found.iter().filter(in_use).map(|found| found.guid);
    guids.next().filter(|_| guids.next().is_none())
}

impl Engine for RememberingEngine {
    fn create(&self, spec: &PoolSpec) -> Result<Arc<dyn Pool>> {
        let name = spec.temporary_name.as_ref().unwrap_or(&spec.name);
        if lock(&self.to_come).contains_key(name) {
            return Err(Refused::new(Action::Create { name: name.clone() }, Reason::Importing).into());
        }
        self.remembering(self.engine.create(spec))
    }

    fn features(&self) -> Vec<FeatureInfo> {
        self.engine.features()
    }

    fn importable(&self, search: &[String], cachefile: Option<&CacheFileSearch>) -> Result<Vec<Importable>> {
        self.engine.importable(search, cachefile)
    }

    fn import(&self, which: &str, options: &ImportOptions) -> Result<Arc<dyn Pool>> {
        self.remembering(self.engine.import(which, options))
    }

    /// One that is still to come is not imported any more, and one that is absent is forgotten.
    fn export(&self, name: &str, force: bool) -> Result<()> {
        let is_remembered = actor().is_administrator() && (self.comes_no_more(name) || self.is_absent(name));
        let mut done = self.engine.export(name, force);
        if is_remembered && matches!(self.engine.pool(name), Err(Error::NotFound)) {
            done = Ok(());
        }
        if done.is_ok() {
            self.policy.memory.forget(name);
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
            Err(Error::NotFound) if self.is_coming(name) => {
                Err(Refused::because(Reason::ImportingWait).into())
            }
            found => found,
        }
    }

    fn pools(&self) -> Vec<Arc<dyn Pool>> {
        self.engine.pools()
    }

    fn read_token(&self, token: &str) -> Result<TokenContents> {
        self.engine.read_token(token)
    }

    fn label_clear(&self, path: &str, force: bool) -> Result<()> {
        self.engine.label_clear(path, force)
    }

    fn diagnostics(&self) -> &dyn Diagnostics {
        self.engine.diagnostics()
    }

    fn cache_counts(&self) -> Counts {
        self.engine.cache_counts()
    }

    fn activity(&self) -> (Breakdown<FileSystemCounts>, Breakdown<VolumeCounts>) {
        self.engine.activity()
    }

    fn names_of(&self, places: &[Place]) -> Vec<PlaceName> {
        self.engine.names_of(places)
    }
}

/// Without the shares that are withdrawn.
impl Serving for RememberingEngine {
    fn served(&self) -> Vec<Served> {
        let mut served = self.engine.served();
        served.retain(|served| !self.policy.withdrawn.contains(&served.dataset));
        served
    }

    fn served_volumes(&self, property: &str) -> Vec<ServedVolume> {
        let mut served = self.engine.served_volumes(property);
        served.retain(|served| !self.policy.withdrawn.contains(&served.dataset));
        served
    }

    fn served_generation(&self) -> u64 {
        self.engine.served_generation() + self.policy.withdrawn.generation() + self.come.load(SeqCst)
    }

    fn is_to_come(&self, pool: Option<u64>) -> bool {
        lock(&self.to_come).values().any(|guid| pool.is_none_or(|wanted| wanted == *guid))
    }
}
