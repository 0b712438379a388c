//! Putting a pool together in memory, one that is being made and one that was found:
//! [`Core::blank`] is the only place that names every field of [`Core`].

use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, Mutex, OnceLock};

use dmu::Objset;
use env::Env;
use storage::Storage;
use storage::arc::Cache;

use super::Core;
use super::config::PoolConfig;
use super::in_use::OpenPools;
use super::spares::SparesInUse;
use crate::ddt::Ddt;
use crate::deferred::Deferred;
use crate::dsl::{DslParts, FsFormat};
use crate::feature::Features;
use crate::frees::FreeQueue;
use crate::kept::Kept;
use crate::mos::MosUsage;
use crate::removed::Removed;
use crate::space::SpaceMaps;
use crate::sweep::Sweeps;
use crate::txg::{Limits, Txgs};
use crate::zevent::Zevents;

/// What pools are made in and of.
#[derive(Clone)]
pub struct Surroundings {
    pub env: Env,
    pub cache: Arc<Cache>,
    pub limits: Limits,
    pub fs_format: Arc<dyn FsFormat>,
    pub spares_in_use: Arc<SparesInUse>,
    pub open_pools: Arc<OpenPools>,
    /// Where what happens is told.
    pub events: Arc<Zevents>,
    /// Memory that outlives the program.
    pub kept: Option<Arc<Kept>>,
}

impl Surroundings {
    /// Tells the cache how much of its limit unwritten data takes.
    pub(crate) fn lender(&self) -> crate::txg::Observer {
        let cache = self.cache.clone();
        Box::new(move |bytes| cache.lend(bytes))
    }
}

/// What a new pool and one that was found both give.
pub(super) struct Parts {
    pub storage: Arc<Storage>,
    pub mos: Arc<Objset>,
    pub frees: Arc<FreeQueue>,
    pub features: Arc<Features>,
    pub maps: Arc<SpaceMaps>,
    pub ddt: Arc<Ddt>,
    pub deferred: Option<Deferred>,
    pub config: PoolConfig,
    pub config_object: u64,
    /// What it is called here.
    pub name: String,
    pub altroot: Option<String>,
    /// The group after which transactions begin; see [`Txgs::new`].
    pub txg: u64,
}

impl Core {
    /// A pool of these parts, not read-only, that remembers nothing: a new one. An import replaces
    /// the fields that it has read; a new field that is kept on disk must be set there, too.
    pub(super) fn blank(around: &Surroundings, parts: Parts) -> Core {
        let env = &around.env;
        let txgs = Txgs::new(env.clone(), around.limits, parts.txg);
        txgs.observe(around.lender());
        Core {
            env: env.clone(),
            txgs,
            removed: Removed::none(parts.mos.clone()),
            storage: parts.storage,
            mos: parts.mos,
            frees: parts.frees,
            features: parts.features,
            maps: parts.maps,
            ddt: parts.ddt,
            sweeps: Sweeps::new(env.clone()),
            dtl: Default::default(),
            name: Arc::new(Mutex::new(parts.name)),
            version: Arc::new(AtomicU64::new(parts.config.version)),
            config: Mutex::new(parts.config),
            config_dirty: AtomicBool::new(true),
            config_written: Mutex::default(),
            lacks_zaps: AtomicBool::new(false),
            has_logs: AtomicBool::new(false),
            config_object: parts.config_object,
            deferred: parts.deferred,
            readonly: false,
            altroot: parts.altroot,
            extras: Default::default(),
            spares_in_use: around.spares_in_use.clone(),
            open_pools: around.open_pools.clone(),
            zil_stats: Arc::default(),
            topology: Default::default(),
            diagnosis: Default::default(),
            checkpoint: Default::default(),
            scan: Arc::default(),
            rebuilds: Default::default(),
            errlog: Arc::default(),
            durable: Default::default(),
            events: around.events.clone(),
            told_states: Mutex::default(),
            mmp: Arc::default(),
            lost_logs: Default::default(),
            has_old_keys: AtomicBool::new(false),
            rewound: None,
            kept: OnceLock::new(),
        }
    }
}

/// What the datasets of a pool are built on.
pub(super) fn dsl_parts(
    core: &Arc<Core>,
    mos_usage: Arc<MosUsage>,
    fs_format: Arc<dyn FsFormat>,
) -> DslParts {
    let for_space = Arc::downgrade(core);
    DslParts {
        env: core.env.clone(),
        storage: core.storage.clone(),
        mos: core.mos.clone(),
        txgs: core.txgs.clone(),
        frees: core.frees.clone(),
        features: core.features.clone(),
        events: core.events.clone(),
        hostid: core.host().id,
        pool_name: core.name.clone(),
        fs_format,
        readonly: core.readonly,
        version: core.version.clone(),
        mos_usage,
        zil_stats: core.zil_stats.clone(),
        scan: core.scan.clone(),
        errlog: core.errlog.clone(),
        space: Arc::new(move || for_space.upgrade().map_or_else(Default::default, |core| core.space())),
    }
}
