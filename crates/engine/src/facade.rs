//! The engine as `engine-api` has it: pools by name, file systems by dataset, everything as plain
//! data.
//!
//! [`LocalEngine`] holds the imported pools; [`pool::LocalPool`] is one of them. Nothing is decided
//! here: names are looked up, types are converted, refusals of the layers below pass through
//! unchanged.

mod activity;
mod cachefile;
mod change;
mod compatibility;
mod condition;
mod convert;
mod counting;
mod dedup;
mod diff;
mod discover;
mod family;
mod format;
mod identity;
mod inject;
mod intent;
mod measure;
mod naming;
mod places;
mod pool;
mod pool_api;
mod pool_props;
mod quotas;
mod receive;
mod rights;
mod send;
mod status;
mod transit;
mod volume_copy;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ::pool::kept::Kept;
use ::pool::spa::config::Host;
use ::pool::spa::create::{CreateSpec, Surroundings, create};
use ::pool::spa::diagnose::Verdict;
use ::pool::spa::import::{ImportSpec, import};
use ::pool::spa::labels::{self, FoundPool};
use ::pool::spa::rewind::Rewind;
use ::pool::txg::Limits;
use engine_api::{
    ActiveFault, Breakdown, CacheFileSearch, Condemn, Counts, Diagnostics, Engine, Error, Fault, FeatureInfo,
    FileSystemCounts, ImportOptions, Importable, NoPolicy, Place, PlaceName, Policy, Pool, PoolSpec,
    PropertyChange, Result, Served, ServedVolume, Serving, TokenContents, Tunable, VolumeCounts, Zevent,
};
use env::watch::{AtWork, Watch};
use env::{DiskError, Env, Keepsake, Nanos, OpenMode, lock};
use ondisk::label::config::PoolState;
use refusal::{Action, ImportFault, LockFault, Reason, Refused};
use stdx::patience::hurried;
use storage::arc::Cache;
use storage::keeper::STEP_LIMIT;
use storage::labels::Device;
use storage::{Cause, Leash};

use crate::advise::rehearsal::Stage;
use activity::Activity;
use cachefile::{CacheFile, CacheFiles};
use convert::api_error;
use format::ZplFormat;
use pool::LocalPool;
use rights::administrators_only;
use transit::Transits;

/// What an engine is started with.
#[derive(Clone, Debug)]
pub struct Options {
    /// Bytes of the block cache.
    pub cache: usize,
    /// Bytes that others of the program hold, which the cache gives way for.
    pub outside: Arc<AtomicUsize>,
    /// Bytes that may be dirty in memory, of one pool.
    pub dirty: u64,
    /// Where pools are looked for when nobody says.
    pub search: Vec<String>,
    /// Of this machine; 0 where there is none.
    pub hostid: u64,
    /// Where the machine's administrator may give it another (zgenhostid(8)), while the program
    /// runs.
    pub hostid_file: Option<PathBuf>,
    pub hostname: String,
    /// The cache file of pools of which nobody says another.
    pub cachefile: Option<String>,
    /// Where the advisor rehearses.
    pub stage: Option<Arc<dyn Stage>>,
    /// What the program has to say about what is asked of pools.
    pub policy: Arc<dyn Policy>,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            cache: 256 << 20,
            outside: Arc::default(),
            dirty: 128 << 20,
            search: vec!["/dev".into()],
            hostid: 0,
            hostid_file: None,
            hostname: "localhost".into(),
            cachefile: None,
            stage: None,
            policy: Arc::new(NoPolicy),
        }
    }
}

/// The engine on this machine.
pub struct LocalEngine {
    around: Surroundings,
    options: Options,
    pools: Mutex<BTreeMap<String, Arc<LocalPool>>>,
    /// Pools that come and go.
    transits: Arc<Transits>,
    /// One create at a time: they look for devices that are free.
    creating: Mutex<()>,
    /// What is done to whole pools.
    watch: Arc<Watch>,
    generation: Arc<AtomicU64>,
    injections: inject::Injections,
    activity: Arc<Activity>,
    cache_files: CacheFiles,
    /// Who has the identity of which other dataset.
    holders: Mutex<BTreeMap<activity::Guids, activity::Guids>>,
}

/// How pools make and read file systems.
pub(crate) fn zpl_format(env: &Env) -> Arc<dyn ::pool::dsl::FsFormat> {
    Arc::new(ZplFormat::new(env.clone()))
}

impl LocalEngine {
    pub fn new(env: Env, options: Options) -> Arc<LocalEngine> {
        let (env, injections) = inject::Injections::over(env);
        let limits = Limits { dirty_max: options.dirty, ..Limits::default() };
        let cache = Cache::beside(options.cache, options.outside.clone());
        let kept = env.keepsake.clone().and_then(|memory| keep_in(memory, &env, &cache));
        let fs_format = Arc::new(ZplFormat::new(env.clone()));
        let activity = Arc::new(Activity::new(env.clock.clone()));
        let around = Surroundings {
            env,
            cache,
            limits,
            fs_format,
            spares_in_use: Arc::default(),
            open_pools: Arc::default(),
            events: Arc::default(),
            kept,
        };
        Arc::new(LocalEngine {
            around,
            options,
            pools: Mutex::default(),
            transits: Arc::default(),
            creating: Mutex::default(),
            watch: Arc::default(),
            generation: Arc::new(AtomicU64::new(1)),
            injections,
            activity,
            cache_files: CacheFiles::default(),
            holders: Mutex::default(),
        })
    }

    /// Takes disks into use that had vanished and are there again, and new ones in their place
    /// where a pool wants that (`autoreplace`). To be called every few seconds, by a thread that
    /// may wait for transaction groups.
    pub fn look_for_disks(&self) {
        let pools = self.local_pools();
        self.around.kept.as_ref().inspect(|kept| kept.trim());
        // One pool that is suspended meanwhile does not keep the others waiting.
        pools.iter().for_each(|pool| hurried(|| pool.inner().look_for_disks()));
    }

    /// Writes the cache files anew where something has changed. To be called after changes, and
    /// every few seconds: disks come and go by themselves.
    pub fn write_cache_files(&self) {
        let listed = |pool: &Arc<LocalPool>| (pool.cachefile(), pool.inner().clone());
        let pools = || self.local_pools().iter().map(listed).collect();
        self.cache_files.write(pools, self.options.cachefile.as_deref());
    }

    fn host(&self) -> Host {
        let given = self.options.hostid_file.as_deref().and_then(env::text::hostid);
        Host { id: given.unwrap_or(self.options.hostid), name: self.options.hostname.clone() }
    }

    /// The pools at these places, or where a cache file says.
    fn look_for_pools(
        &self,
        search: &[String],
        cachefile: Option<&CacheFileSearch>,
    ) -> Result<Vec<FoundPool>> {
        let env = &self.around.env;
        let Some(cachefile) = cachefile else {
            let places = if search.is_empty() { &self.options.search } else { search };
            return Ok(labels::search(env, places));
        };
        let mut found = Vec::new();
        for cached in cachefile::read(cachefile)? {
            let there = labels::search(env, &cached.places);
            found.extend(there.into_iter().filter(|pool| pool.guid == cached.guid));
        }
        Ok(found)
    }

    fn local_pool(&self, name: &str) -> Result<Arc<LocalPool>> {
        lock(&self.pools).get(name).cloned().ok_or_else(|| no_such_pool(name))
    }

    fn local_pools(&self) -> Vec<Arc<LocalPool>> {
        lock(&self.pools).values().cloned().collect()
    }

    fn adopt(&self, pool: Arc<::pool::Pool>, cachefile: CacheFile) -> Arc<LocalPool> {
        let (around, generation) = (self.around.env.clone(), self.generation.clone());
        let Options { stage, policy, cachefile: default, .. } = self.options.clone();
        let pool = LocalPool::new(
            around,
            pool,
            generation,
            stage,
            policy,
            self.activity.clone(),
            (cachefile, default),
        );
        pool.do_volumes_again();
        lock(&self.pools).insert(pool.name(), pool.clone());
        self.generation.fetch_add(1, SeqCst);
        pool
    }

    /// A pool that waits for its disks is let go of only by `force`; its last changes are lost.
    fn close(&self, name: &str, destroy: bool, force: bool) -> Result<()> {
        if destroy && self.is_coming(name) {
            return Err(Refused::new(Action::Destroy { name: name.to_owned() }, Reason::Importing).into());
        }
        // Nothing of an import is left that is cancelled; one that had just come to its end is
        // exported as any other pool.
        if !destroy && self.transits.cancel(&self.around.env, name) && self.local_pool(name).is_err() {
            return Ok(());
        }
        let pool = self.local_pool(name)?;
        let _at_work = self.at_work(if destroy { "destroy" } else { "export" }, name);
        let export = || Action::Export { pool: name.to_owned() };
        let busy = || Refused::new(export(), Reason::PoolBusy);
        let _transit = self.transits.go(name, pool.guid()).ok_or_else(busy)?;
        // Somebody may have been quicker.
        self.local_pool(name)?;
        let suspension = pool.inner().core().storage.suspension();
        let is_lost = suspension.is_suspended() && suspension.cause() != Some(Cause::Fault);
        if suspension.is_waiting() && !force {
            let action = if destroy { Action::Destroy { name: name.to_owned() } } else { export() };
            return Err(Refused::new(action, Reason::Suspended).into());
        }
        if !destroy && !force && self.around.spares_in_use.has_shared_in_use(name) {
            return Err(Refused::new(export(), Reason::SharedSpare { pool: name.to_owned() }).into());
        }
        if destroy && let Some((snapshot, until)) = pool.inner().dsl.first_lock().map_err(api_error)? {
            let until = engine_api::lock::time(until);
            let action = Action::Destroy { name: name.to_owned() };
            return Err(Refused::new(action, LockFault::HasLocked { snapshot, until }).into());
        }
        pool.inner().give_up();
        lock(&self.pools).remove(name);
        self.generation.fetch_add(1, SeqCst);
        let closed = catch_unwind(AssertUnwindSafe(|| {
            pool.close_file_systems();
            if destroy { pool.inner().destroy() } else { pool.inner().export() }
        }));
        // A pool whose sync has panicked may have left its locks poisoned: it goes all the same,
        // and its devices with it.
        let closed = closed.unwrap_or_else(|_| {
            pool.inner().core().storage.close();
            Err(::pool::PoolError::Suspended)
        });
        // Who lets go of a pool that is suspended for lack of disks knows that its labels are not
        // written.
        if is_lost { Ok(()) } else { closed.map_err(api_error) }
    }

    /// Guards no data, so a panic under it spoils nothing for the next.
    fn one_create(&self) -> MutexGuard<'_, ()> {
        self.creating.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that something is being done to a whole pool.
    fn at_work(&self, what: &str, pool: &str) -> AtWork {
        self.watch.begin(format!("{what} of '{pool}'"), self.around.env.clock.now())
    }

    /// Names who does not come to an end, in the log and as events. To be called every few seconds,
    /// by a thread that does nothing else; whoever is stuck does not hold it up.
    pub fn name_stuck(&self) {
        let env = &self.around.env;
        let now = env.clock.now();
        for late in self.watch.overdue(now, STEP_LIMIT) {
            let took = now.since(late.since).0;
            tracing::error!(who = late.what, seconds = took / 1_000_000_000, "does not come to an end");
            let payload = vec![("zio_delta", took.into()), ("cistern_who", late.what.as_str().into())];
            self.around.events.post(env, "ereport.fs.zfs.deadman", payload);
        }
        self.local_pools().iter().for_each(|pool| pool.inner().core().tell_stuck(now));
    }

    /// Imports under way are cancelled, and none begins any more: the program is about to end.
    pub fn stop_imports(&self) {
        self.transits.close();
    }

    /// Exports every pool, for the end of the program; the first failure is told after all were
    /// tried.
    pub fn export_all(&self) -> Result<()> {
        self.transits.close();
        self.transits.settle(&self.around.env);
        let names: Vec<String> = lock(&self.pools).keys().cloned().collect();
        let outcome = Mutex::new(Ok(()));
        // Side by side: one that takes its time does not keep the others.
        self.around.env.driver.par_map(names.len(), &|i| {
            if let Err(error) = self.close(&names[i], false, true) {
                *lock(&outcome) = Err(error);
            }
        });
        outcome.into_inner().expect("a panic has been passed on")
    }

    /// The pool below the interface, for tools that look at its insides: the simulator asks it for
    /// groups.
    pub fn pool_below(&self, name: &str) -> Result<Arc<::pool::Pool>> {
        Ok(self.local_pool(name)?.inner().clone())
    }

    /// Whether a pool of this name is just being imported.
    pub fn is_coming(&self, name: &str) -> bool {
        self.transits.is_coming(name)
    }

    /// Drops what an earlier process kept of pools that are none of these.
    pub fn keep_only(&self, guids: &[u64]) {
        self.around.kept.as_ref().inspect(|kept| kept.keep_only(guids));
    }

    /// Whether the memory that outlives the program has nothing that another would need.
    pub fn keeps_nothing(&self) -> bool {
        self.around.kept.as_ref().is_none_or(|kept| kept.is_empty())
    }
}

/// What an earlier process has left in this memory. It counts with the cache.
fn keep_in(memory: Arc<dyn Keepsake>, env: &Env, cache: &Arc<Cache>) -> Option<Arc<Kept>> {
    let cache = cache.clone();
    let kept = Kept::open(memory, env.clock.clone(), Box::new(move |bytes| cache.lend(bytes)));
    kept.inspect_err(|error| {
        tracing::error!(%error, "writes of volumes that are not flushed die with the program: no memory can be had for them");
    })
    .ok()
}

fn no_such_pool(name: &str) -> Error {
    Refused::new(Action::Open { name: name.to_owned() }, Reason::NoPool).into()
}

/// How far an import may go back.
fn rewind(options: &ImportOptions) -> Rewind {
    match options.rewind_txg {
        _ if options.to_checkpoint => Rewind::Checkpoint,
        Some(txg) => Rewind::To(txg),
        None if options.rewind && options.extreme => Rewind::Extreme,
        None if options.rewind => Rewind::Safe,
        None => Rewind::Never,
    }
}

/// What a pool serves: nothing where a panic has left its locks poisoned, for the others must go
/// on.
fn served_of(pool: &Arc<LocalPool>) -> Vec<Served> {
    catch_unwind(AssertUnwindSafe(|| pool.served())).unwrap_or_default()
}

impl Engine for LocalEngine {
    fn create(&self, spec: &PoolSpec) -> Result<Arc<dyn Pool>> {
        let policy = &*self.options.policy;
        let mut fs_props = spec.fs_props.clone();
        policy.admit(&mut fs_props)?;
        administrators_only()?;
        let _at_work = self.at_work("creation", &spec.name);
        let _one = self.one_create();
        let settings = pool_props::for_create(spec)?;
        let action = || Action::Create { name: spec.name.clone() };
        let exists = || Refused::new(action(), Reason::PoolExists);
        let name = spec.temporary_name.as_ref().unwrap_or(&spec.name);
        pool_props::check_name(name)?;
        let _transit = self.transits.go(name, 0).ok_or_else(exists)?;
        if lock(&self.pools).contains_key(name) {
            return Err(exists().into());
        }
        if let Some(mountpoint) = &spec.mountpoint {
            fs_props.push(PropertyChange { name: "mountpoint".into(), value: mountpoint.clone() });
        }
        let (limits, fs_props) = quotas::take(&fs_props).map_err(|fault| Refused::new(action(), fault))?;
        let fs_props = settings.root_props(action(), &fs_props)?;
        let create_spec = CreateSpec {
            name: spec.name.clone(),
            temporary_name: spec.temporary_name.clone(),
            version: settings.version,
            vdevs: spec.vdevs.clone(),
            logs: spec.logs.clone(),
            special: spec.special.clone(),
            dedup: spec.dedup.clone(),
            cache: spec.cache.clone(),
            spares: spec.spares.clone(),
            features: settings.features,
            ashift: settings.ashift,
            props: settings.stored,
            fs_props,
            compatibility: settings.compatibility,
            comment: settings.comment,
            altroot: spec.altroot.clone(),
            host: self.host(),
            force: spec.force,
            history: policy.recorded(&spec.history),
        };
        let pool = self.adopt(create(&self.around, &create_spec).map_err(api_error)?, settings.cachefile);
        if !limits.is_empty() {
            pool.set_limits(name, &limits)?;
        }
        Ok(pool)
    }

    fn features(&self) -> Vec<FeatureInfo> {
        pool_props::supported()
    }

    fn importable(&self, search: &[String], cachefile: Option<&CacheFileSearch>) -> Result<Vec<Importable>> {
        administrators_only()?;
        let imported: Vec<u64> = lock(&self.pools).values().map(|pool| pool.guid()).collect();
        let found = self.look_for_pools(search, cachefile)?;
        let host = self.host();
        Ok(found
            .iter()
            .filter(|pool| !imported.contains(&pool.guid))
            .map(|pool| discover::importable(&self.around, pool, &host))
            .collect())
    }

    fn import(&self, which: &str, options: &ImportOptions) -> Result<Arc<dyn Pool>> {
        administrators_only()?;
        let _at_work = self.at_work("import", which);
        let found = self.look_for_pools(&options.search, options.cachefile.as_ref())?;
        let pool = discover::choose(found, which, options.destroyed)?;
        let name = options.new_name.clone().unwrap_or_else(|| pool.config.name.clone());
        let refuse = |reason: Reason| Refused::new(Action::Import { pool: which.to_owned() }, reason);
        let exists = || refuse(ImportFault::NameTaken.into());
        let leash = Arc::new(Leash::default());
        options.cancel.on_cancel({
            let leash = leash.clone();
            move || leash.cancel()
        });
        let _transit = self.transits.come(&name, pool.guid, leash.clone()).ok_or_else(exists)?;
        if lock(&self.pools).values().any(|imported| imported.guid() == pool.guid || imported.name() == name)
        {
            return Err(exists().into());
        }
        pool_props::check_name(&name)?;
        let cachefile = CacheFile::of_new(&options.props, options.altroot.is_some() || options.temporary)
            .map_err(|fault| refuse(fault.into()))?;
        let spec = ImportSpec {
            readonly: options.readonly || options.dry_run,
            force: options.force,
            destroyed: options.destroyed,
            rewind: rewind(options),
            as_is: false,
            missing_log: options.missing_log,
            new_name: options.new_name.clone(),
            temporary: options.temporary,
            altroot: options.altroot.clone(),
            host: self.host(),
            history: self.options.policy.recorded(&options.history),
            leash,
        };
        let pool = import(&self.around, &pool, &spec).map_err(api_error)?;
        let local = self.adopt(pool, cachefile);
        let props = cachefile::without(&options.props);
        if !props.is_empty() && !options.dry_run {
            local.make_change(&engine_api::Change::SetPoolProperties { props }, "")?;
        }
        if options.dry_run {
            let shown: Arc<dyn Pool> = local.clone();
            lock(&self.pools).remove(&local.name());
            local.close_file_systems();
            local.inner().export().map_err(api_error)?;
            return Ok(shown);
        }
        if !local.inner().core().readonly
            && let Err(error) = local.inner().dsl.release_temporary()
        {
            tracing::warn!(%error, pool = name, "temporary snapshots stay until the next import");
        }
        Ok(local)
    }

    fn export(&self, name: &str, force: bool) -> Result<()> {
        administrators_only()?;
        self.close(name, false, force)
    }

    fn destroy(&self, name: &str, force: bool) -> Result<()> {
        administrators_only()?;
        self.close(name, true, force)
    }

    fn pool(&self, name: &str) -> Result<Arc<dyn Pool>> {
        Ok(lock(&self.pools).get(name).cloned().ok_or(Error::NotFound)?)
    }

    fn pools(&self) -> Vec<Arc<dyn Pool>> {
        lock(&self.pools).values().map(|pool| pool.clone() as Arc<dyn Pool>).collect()
    }

    fn read_token(&self, token: &str) -> Result<TokenContents> {
        send::read_token(token).map(|token| token.contents())
    }

    fn label_clear(&self, path: &str, force: bool) -> Result<()> {
        administrators_only()?;
        let refuse = |reason: Reason| Refused::new(Action::ClearLabel { path: path.to_owned() }, reason);
        let failed = |error: DiskError| refuse(Reason::Os { message: error.to_string() });
        if let Some(found) = labels::probe(&self.around.env, path) {
            discover::refuse_labelclear(path, &found, force)?;
        } else if let Some((state, pool)) = self.around.open_pools.owner_of_extra(&self.around.env, path) {
            let state = if state == PoolState::Spare { "SPARE" } else { "L2CACHE" }.to_owned();
            let path = path.to_owned();
            return Err(refuse(Reason::NotClearable { path, state, pool, can_force: false }).into());
        }
        let disk = self.around.env.disks.open(path, OpenMode::ReadWrite).map_err(failed)?;
        let device = Device::locate(disk).map_err(failed)?;
        match device.clear_valid().map_err(failed)? {
            0 => Err(refuse(Reason::NoLabel).into()),
            _ => Ok(()),
        }
    }

    fn diagnostics(&self) -> &dyn Diagnostics {
        self
    }

    fn cache_counts(&self) -> Counts {
        let devices: usize = self.local_pools().iter().map(|pool| pool.status().cache.len()).sum();
        let cache = &self.around.cache;
        measure::cache_counts(&cache.stats(), cache.room() as u64, devices as u64)
    }

    fn activity(&self) -> (Breakdown<FileSystemCounts>, Breakdown<VolumeCounts>) {
        self.activity.seen(|wanted| self.names_of_open(wanted))
    }

    fn names_of(&self, places: &[Place]) -> Vec<PlaceName> {
        naming::names_of(&self.local_pools(), places)
    }
}

impl LocalEngine {
    /// What these datasets are called now, as far as they are open.
    fn names_of_open(&self, wanted: &HashSet<activity::Guids>) -> HashMap<activity::Guids, String> {
        let of_pool = |pool: Arc<LocalPool>| {
            // One that a panic has left with poisoned locks is passed over.
            catch_unwind(AssertUnwindSafe(|| hurried(|| pool.names_of_open(wanted)))).unwrap_or_default()
        };
        self.local_pools().into_iter().flat_map(of_pool).collect()
    }
}

impl Serving for LocalEngine {
    fn served(&self) -> Vec<Served> {
        let pools = self.local_pools();
        let mut served = pools.iter().flat_map(served_of).collect();
        identity::places(&pools, &mut lock(&self.holders)).name(&mut served);
        served
    }

    fn served_volumes(&self, property: &str) -> Vec<ServedVolume> {
        let of = |pool: &Arc<LocalPool>| {
            catch_unwind(AssertUnwindSafe(|| pool.served_volumes(property))).unwrap_or_default()
        };
        let pools = self.local_pools();
        let mut served = pools.iter().flat_map(of).collect();
        identity::places(&pools, &mut lock(&self.holders)).name_volumes(&mut served);
        served
    }

    fn served_generation(&self) -> u64 {
        self.generation.load(SeqCst)
    }
}

impl Diagnostics for LocalEngine {
    fn zevents(&self, eid: u64, patience: u64) -> Vec<Zevent> {
        self.around.events.after(&self.around.env, eid, Nanos(patience))
    }

    fn clear_zevents(&self) -> u64 {
        self.around.events.clear()
    }

    fn inject(&self, fault: &Fault) -> Result<ActiveFault> {
        let pool = self.local_pool(match fault {
            Fault::Device(fault) => &fault.pool,
            Fault::Blocks(fault) => &fault.pool,
        })?;
        self.injections.inject(&pool, fault)
    }

    fn drop_cache(&self) {
        self.local_pools()
            .iter()
            .for_each(|pool| self.around.cache.forget_pool(pool.inner().core().storage.pool_guid()));
    }

    fn injected(&self) -> Vec<ActiveFault> {
        self.injections.active()
    }

    fn tunables(&self) -> Vec<Tunable> {
        let env = &self.around.env;
        let shown = |info: &env::TunableInfo| Tunable {
            name: info.name.to_owned(),
            value: env.tunable(info.tunable),
            default: info.default,
            min: info.min,
            max: info.max,
            about: info.about.to_owned(),
        };
        env::TUNABLES.iter().map(shown).collect()
    }

    fn set_tunable(&self, name: &str, value: u64) -> Result<()> {
        let tunable = env::Tunable::named(name).ok_or(Error::NotFound)?;
        if !self.around.env.tunables.set(tunable, value) {
            return Err(Error::Invalid(format!("{name} cannot be {value}")));
        }
        // Whoever watches a pool goes by the pace that its last sign of life tells.
        if matches!(tunable, env::Tunable::MultihostInterval | env::Tunable::MultihostFailIntervals) {
            self.local_pools().iter().for_each(|pool| pool.inner().core().mmp.pace_changed());
        }
        Ok(())
    }

    fn cancel_fault(&self, id: u64) -> bool {
        self.injections.cancel(id)
    }

    fn condemn(&self, pool: &str, guid: u64, how: Condemn) -> Result<()> {
        let pool = self.local_pool(pool)?;
        let verdict = match how {
            Condemn::Fault => Verdict::Fault,
            Condemn::Degrade => Verdict::Degrade,
        };
        pool.inner().condemn(guid, verdict).map_err(api_error)
    }
}
