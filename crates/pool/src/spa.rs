//! A pool in memory: how it comes there ([`create`], [`import`]) and how it leaves
//! ([`Pool::export`]).
//!
//! [`Core`] is everything below datasets; [`Pool`] adds those. While a pool is imported for
//! writing, its configuration in the labels says *active*, with this host's name; exporting writes
//! *exported*, so that another host may take it.

mod assemble;
pub mod config;
pub mod create;
pub mod diagnose;
mod disks;
mod draft;
pub(crate) mod dtl;
mod errata;
pub(crate) mod events;
pub mod extra;
mod grow;
pub mod import;
pub mod in_use;
pub mod labels;
mod logs;
mod members;
pub mod mmp;
mod packed;
mod place;
mod report;
pub mod rewind;
mod service;
mod settle;
pub mod spares;
mod spec;
pub mod status;
mod suspend;
mod topology;
mod turn_up;
mod vdev_objects;
mod vdevs;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex, OnceLock};

use api_types::Rewound;
use dmu::zap::Zap;
use dmu::{Objset, ObjsetPolicy, ReadOnlyAdmission, Tx};
use env::{Env, lock};
use ondisk::BlkPtr;
use ondisk::label::config::PoolState;
use ondisk::object_type::pool_directory;
use ondisk::uberblock::Uberblock;
use storage::metaslab::DEFER_TXGS;
use storage::{FailMode, Storage, VdevConfig, VdevState};

use crate::ddt::Ddt;
use crate::deferred::Deferred;
use crate::dsl::{Dsl, PoolSpace};
use crate::feature::Features;
use crate::frees::FreeQueue;
use crate::kept::{Kept, KeptPool};
use crate::mos::MosOwner;
use crate::removed::Removed;
use crate::space::{MapCx, MapForm, SpaceMaps};
use crate::state::checkpoint::CheckpointState;
use crate::state::errlog::ErrorLog;
use crate::state::rebuild::Rebuilds;
use crate::state::scan::Scan;
use crate::sweep::Sweeps;
use crate::txg::Txgs;
use crate::zevent::Zevents;
use crate::zil::ZilStats;
use crate::{PoolError, Result};
use config::PoolConfig;
use packed::write_packed;
use vdev_objects::UNFLUSHED_TXGS;

/// The first transaction group of a pool (`TXG_INITIAL`): room for two deferrals before it.
pub const TXG_INITIAL: u64 = 4;
/// An imported pool.
pub struct Pool {
    pub(crate) core: Arc<Core>,
    pub dsl: Arc<Dsl>,
}

/// The pool below its datasets.
pub struct Core {
    pub env: Env,
    pub storage: Arc<Storage>,
    pub mos: Arc<Objset>,
    pub txgs: Arc<Txgs>,
    pub(crate) frees: Arc<FreeQueue>,
    pub features: Arc<Features>,
    pub maps: Arc<SpaceMaps>,
    pub removed: Arc<Removed>,
    pub ddt: Arc<Ddt>,
    pub sweeps: Sweeps,
    pub(crate) dtl: dtl::DirtyTimeLogs,
    pub(crate) name: Arc<Mutex<String>>,
    /// As in [`crate::dsl::DslParts`].
    pub(crate) version: Arc<AtomicU64>,
    pub(crate) config: Mutex<PoolConfig>,
    /// The labels and the MOS have an older configuration.
    pub(crate) config_dirty: AtomicBool,
    /// What this group has written into the MOS, and has yet to put into labels.
    pub(crate) config_written: Mutex<Option<PoolConfig>>,
    /// The vdevs have no ZAPs: the pool was last used by a program from before these.
    pub(crate) lacks_zaps: AtomicBool,
    /// Log space maps have been read and not yet retired.
    pub(crate) has_logs: AtomicBool,
    /// Objects of the MOS.
    pub(crate) config_object: u64,
    pub(crate) deferred: Option<Deferred>,
    pub readonly: bool,
    pub altroot: Option<String>,
    /// Spares and cache devices.
    pub extras: extra::Extras,
    pub(crate) spares_in_use: Arc<spares::SparesInUse>,
    pub(crate) open_pools: Arc<in_use::OpenPools>,
    /// What the intent logs of all datasets did.
    pub zil_stats: Arc<ZilStats>,
    pub(crate) topology: topology::Topology,
    pub(crate) diagnosis: diagnose::Diagnosis,
    pub checkpoint: CheckpointState,
    pub scan: Arc<Scan>,
    pub(crate) rebuilds: Rebuilds,
    pub(crate) errlog: Arc<ErrorLog>,
    pub(crate) durable: Mutex<Durable>,
    pub(crate) events: Arc<Zevents>,
    /// States of disks that events have told of.
    pub(crate) told_states: Mutex<BTreeMap<u64, VdevState>>,
    pub mmp: Arc<mmp::Mmp>,
    /// Datasets whose intent logs, or parts of them, were on devices missing at import: what they
    /// had promised may be lost.
    pub lost_logs: Mutex<Vec<String>>,
    /// An encrypted dataset has a key of version 0; see [`errata`].
    pub(crate) has_old_keys: AtomicBool,
    /// The import went back to an older group.
    pub rewound: Option<Rewound>,
    /// What outlives the program; none where there is no memory for it, or nothing is written.
    pub kept: OnceLock<Arc<KeptPool>>,
}

/// The newest tree that is on disk for good.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Durable {
    pub txg: u64,
    pub root: BlkPtr,
}

impl Core {
    /// The meta object set of a durable group, to be read only.
    pub(crate) fn durable_mos(&self, durable: Durable) -> Result<Arc<Objset>> {
        let (storage, frees) = (self.storage.clone(), self.frees.clone());
        let owner = MosOwner { storage: storage.clone(), frees, usage: Arc::default() };
        let (admission, policy) = (ReadOnlyAdmission::shared(), ObjsetPolicy::meta());
        Ok(Objset::open(storage, durable.root, Arc::new(owner), admission, policy)?)
    }

    /// The pool comes into use, from this uberblock on where it is not new; `back`: later groups
    /// are given up. Nothing of it was written yet.
    pub(crate) fn keep_in(&self, kept: Option<&Arc<Kept>>, from: Option<&Uberblock>, back: bool) {
        let guid = lock(&self.config).guid;
        if let Some(kept) = kept.and_then(|kept| kept.of_pool(guid, from, back)) {
            self.kept.get_or_init(|| kept);
        }
    }

    pub fn version(&self) -> u64 {
        self.version.load(SeqCst)
    }

    /// The vdevs as the pool is configured.
    pub(crate) fn tree(&self) -> VdevConfig {
        lock(&self.config).tree.clone()
    }

    /// The number of a top-level vdev's ZAP; `None` if it has none, or there is no such vdev.
    pub(crate) fn top_zap(&self, top: u32) -> Option<u64> {
        let config = lock(&self.config);
        config.tree.children.get(top as usize).and_then(|vdev| vdev.top_zap).filter(|zap| *zap != 0)
    }

    pub(crate) fn guid_sum(&self) -> u64 {
        lock(&self.config).tree.guid_sum()
    }

    pub(crate) fn map_form(&self) -> MapForm {
        MapForm {
            two_words: self.features.is_active("spacemap_v2"),
            histogram: self.features.is_enabled("spacemap_histogram"),
        }
    }

    pub(crate) fn map_cx<'a>(&'a self, pass: u32, tx: &'a Tx) -> MapCx<'a> {
        MapCx { storage: &self.storage, form: self.map_form(), features: &self.features, pass, tx }
    }

    /// Gives the space of a block back. Syncing context.
    pub(crate) fn free_now(&self, bp: &BlkPtr, tx: &Tx) {
        self.scan.freed(bp);
        self.storage.free(bp, tx.touch());
    }

    /// Puts a freed block on the list that the next group frees.
    pub(crate) fn defer_free(&self, bp: &BlkPtr, tx: &Tx) -> Result<()> {
        let deferred = self.deferred.as_ref();
        deferred.ok_or_else(|| PoolError::Corrupt("no deferred list".into()))?.defer(bp, tx)
    }

    /// Takes references away from deduplicated blocks, as far as this group may; the rest waits for
    /// the next.
    pub(crate) fn release_references(&self, bps: Vec<BlkPtr>, tx: &Tx) -> Result<()> {
        let stay = self.ddt.release(bps);
        if stay.is_empty() {
            return Ok(());
        }
        let deferred = self.deferred.as_ref();
        deferred.ok_or_else(|| PoolError::Corrupt("no deferred list".into()))?.defer_all(&stay, tx)
    }

    /// Frees what the group before put on the list.
    pub(crate) fn free_deferred(&self, tx: &Tx) -> Result<()> {
        let Some(deferred) = &self.deferred else { return Ok(()) };
        deferred.free_all(&mut |bp| self.free_now(bp, tx), &mut |bps| self.ddt.release(bps), tx)
    }

    /// Writes the packed configuration into the MOS if it changed.
    pub(crate) fn write_config(&self, tx: &Tx) -> Result<()> {
        let packed = {
            let mut config = lock(&self.config);
            let features = self.features.for_labels();
            if config.features_for_read != features || config.version != self.version() {
                config.features_for_read = features;
                config.version = self.version();
                self.config_dirty.store(true, SeqCst);
            }
            if !self.config_dirty.swap(false, SeqCst) {
                return Ok(());
            }
            config.txg = tx.txg();
            *lock(&self.config_written) = Some(config.clone());
            config.to_mos_nvlist().encode_xdr()
        };
        write_packed(&self.mos, self.config_object, &packed, tx)
    }

    /// The configuration to put into labels in this group; `None` if they have it. It is the one
    /// that the MOS has: what has changed since it was written there is for the next group, in both
    /// places.
    pub(crate) fn config_for_labels(&self) -> Option<PoolConfig> {
        lock(&self.config_written).take()
    }

    /// Brings the changes that log space maps hold home to the metaslabs' own maps, and frees the
    /// logs.
    pub(crate) fn retire_log_space_maps(&self, tx: &Tx) -> Result<()> {
        if !self.has_logs.swap(false, SeqCst) {
            return Ok(());
        }
        self.maps.flush_unflushed(&self.map_cx(1, tx))?;
        let directory = Zap::open(&self.mos, pool_directory::OBJECT)?;
        let logs = directory.lookup_u64(pool_directory::LOG_SPACEMAP_ZAP)?;
        for entry in Zap::open(&self.mos, logs)?.entries()? {
            self.maps.free_map(entry.value.first(), &self.features, tx)?;
        }
        self.mos.free(logs, tx)?;
        directory.remove(pool_directory::LOG_SPACEMAP_ZAP, tx)?;
        self.forget_unflushed_txgs(tx)?;
        self.features.decrement("log_spacemap", tx)
    }

    /// Removes the arrays that tell how far each metaslab's own map is complete: now all are.
    fn forget_unflushed_txgs(&self, tx: &Tx) -> Result<()> {
        let tops: Vec<u64> = lock(&self.config).tree.children.iter().filter_map(|top| top.top_zap).collect();
        for top in tops {
            let zap = Zap::open(&self.mos, top)?;
            if let Some(array) = zap.find_u64(UNFLUSHED_TXGS)? {
                self.mos.free(array, tx)?;
                zap.remove(UNFLUSHED_TXGS, tx)?;
            }
        }
        Ok(())
    }

    /// Space as datasets see it.
    pub fn space(&self) -> PoolSpace {
        let space = self.storage.space();
        let deferred_frees = self.deferred.as_ref().map_or(0, |deferred| deferred.space().used);
        // A block that several pointers share is charged to each: there is room for as much more.
        let saved = self.ddt.saved();
        let dspace = self.storage.deflated_capacity() + saved;
        PoolSpace {
            dspace,
            saved,
            deferred_frees,
            deferred: space.deferred,
            checkpoint: self.checkpoint.space(),
            has_checkpoint: self.checkpoint.txg() != 0,
        }
    }
}

impl Pool {
    pub fn core(&self) -> &Arc<Core> {
        &self.core
    }

    pub fn name(&self) -> String {
        lock(&self.core.name).clone()
    }

    pub fn guid(&self) -> u64 {
        lock(&self.core.config).guid
    }

    /// The configuration as labels will have it.
    pub fn config(&self) -> PoolConfig {
        lock(&self.core.config).clone()
    }

    /// Ends the use of the pool: everything is written, the labels say `state`, the devices are
    /// closed. Works on a pool that has lost its devices too; then `Err` tells that the labels
    /// could not be written. Nobody waits for disks any more.
    pub fn close(&self, state: PoolState) -> Result<()> {
        let core = &self.core;
        core.sysevent(if state == PoolState::Destroyed { "pool_destroy" } else { "pool_export" });
        core.storage.give_up();
        core.sweeps.stop();
        core.scan.stop();
        core.rebuilds.stop();
        let mut written = Ok(());
        if !core.readonly && !core.txgs.is_stopped() {
            written = self.dsl.close_all().and_then(|()| {
                lock(&core.config).state = state;
                core.config_dirty.store(true, SeqCst);
                // An import reads what the last groups wrote, and refuses what it cannot read: that
                // is then nothing of the datasets. The first of these groups has what was still
                // open.
                for _ in 0..DEFER_TXGS + 2 {
                    core.txgs.sync_empty()?;
                }
                Ok(())
            });
        }
        let stopped = core.txgs.stop();
        core.stop_heart();
        core.storage.close();
        core.spares_in_use.release_all(&self.name());
        core.open_pools.leave(core);
        if let Some(kept) = core.kept.get().filter(|_| written.is_ok() && stopped.is_ok()) {
            kept.let_go(state == PoolState::Destroyed);
        }
        written.and(if core.readonly { Ok(()) } else { stopped.map_err(PoolError::from) })
    }

    /// Begins to follow properties that have an effect outside of transaction groups; to be called
    /// when they have changed.
    pub fn follow_props(&self) -> Result<()> {
        let props = self.dsl.pool_props()?;
        let is_on = |name: &str| props.iter().any(|(key, value)| key == name && value.number() == Some(1));
        let core = &self.core;
        core.sweeps.set_automatic(&core.storage, is_on("autotrim"));
        core.mmp.set(&core.env, is_on("multihost"));
        let failmode = props.iter().find(|(key, _)| key == "failmode").and_then(|(_, value)| value.number());
        core.storage.suspension().set_mode(FailMode::from_raw(failmode.unwrap_or(0)));
        Ok(())
    }

    /// [`Pool::close`] as exported.
    pub fn export(&self) -> Result<()> {
        self.close(PoolState::Exported)
    }

    /// [`Pool::close`] as destroyed: it can be imported again with `-D` until its disks are used
    /// otherwise.
    pub fn destroy(&self) -> Result<()> {
        self.close(PoolState::Destroyed)
    }
}
