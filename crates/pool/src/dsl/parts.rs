//! What datasets are built on: a plain bundle of what the whole pool shares.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use dmu::Objset;
use env::{Env, lock};
use storage::Storage;

use super::{FsFormat, PoolSpace};
use crate::feature::Features;
use crate::frees::FreeQueue;
use crate::mos::MosUsage;
use crate::state::errlog::ErrorLog;
use crate::state::scan::Scan;
use crate::txg::Txgs;
use crate::zevent::Zevents;
use crate::zil::ZilStats;

/// See the module.
#[derive(Clone)]
pub struct DslParts {
    pub env: Env,
    pub storage: Arc<Storage>,
    pub mos: Arc<Objset>,
    pub txgs: Arc<Txgs>,
    pub frees: Arc<FreeQueue>,
    pub features: Arc<Features>,
    pub events: Arc<Zevents>,
    /// Of this host; 0: it has none.
    pub hostid: u64,
    pub pool_name: Arc<Mutex<String>>,
    pub fs_format: Arc<dyn FsFormat>,
    pub readonly: bool,
    /// Of the pool; an upgrade changes it in syncing context.
    pub version: Arc<AtomicU64>,
    pub mos_usage: Arc<MosUsage>,
    pub zil_stats: Arc<ZilStats>,
    pub scan: Arc<Scan>,
    pub(crate) errlog: Arc<ErrorLog>,
    pub space: Arc<dyn Fn() -> PoolSpace + Send + Sync>,
}

impl DslParts {
    pub fn name(&self) -> String {
        lock(&self.pool_name).clone()
    }

    pub fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    pub fn space(&self) -> PoolSpace {
        (self.space)()
    }

    pub fn store(&self) -> &Arc<Storage> {
        &self.storage
    }
}
