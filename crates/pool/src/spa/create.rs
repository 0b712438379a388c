//! Making a pool: devices, vdev tree, and the first transaction group, which writes everything a
//! pool is born with.
//!
//! Nothing of the pool exists before that group's uberblock. Until then only the devices' labels
//! are touched, and they are cleared again when something fails. Sources: module/zfs/spa.c
//! (`spa_create`), dsl_pool.c (`dsl_pool_create`).

use std::sync::Arc;

use api_types::VdevSpec;
use dmu::bpobj::Bpobj;
use dmu::zap::{Zap, ZapParams};
use dmu::{ObjectSpec, Objset, ObjsetPolicy, ReadOnlyAdmission, Tx};
use env::Env;
use ondisk::bpobj::BpobjForm;
use ondisk::feature::Feature;
use ondisk::label::config::{PoolState, key};
use ondisk::nvlist::NvList;
use ondisk::object_type::{ObjectType, pool_directory};
use ondisk::objset::ObjsetType;
use ondisk::version;
use refusal::Action;
use storage::{OpenError, OpenIntent, Storage, VdevConfig, VdevKind};

use super::assemble::{Parts, dsl_parts};
use super::config::{Host, PoolConfig};
use super::packed::alloc_packed;
use super::spec::{
    CLASSES, Tops, check_specs, check_version, leaf_paths, new_guid, plan_top, refuse_device, size_metaslabs,
};
use super::vdev_objects::{make_top_objects, make_zap_list};
use super::{Core, Pool, TXG_INITIAL};
use crate::ddt::Ddt;
use crate::deferred::Deferred;
use crate::dsl::Dsl;
use crate::feature::Features;
use crate::frees::FreeQueue;
use crate::history;
use crate::mos::{MosOwner, MosUsage};
use crate::prop::RawProps;
use crate::space::SpaceMaps;
use crate::{PoolError, Result};

pub use super::assemble::Surroundings;

/// A pool to make. Names, properties and features have been checked.
pub struct CreateSpec {
    pub name: String,
    /// What it is called until it is exported, instead.
    pub temporary_name: Option<String>,
    /// One that [`version::is_known`].
    pub version: u64,
    pub vdevs: Vec<VdevSpec>,
    /// Top-level vdevs that hold intent logs and nothing else.
    pub logs: Vec<VdevSpec>,
    /// Those for metadata and small blocks, and those for dedup tables.
    pub special: Vec<VdevSpec>,
    pub dedup: Vec<VdevSpec>,
    /// Paths of cache devices.
    pub cache: Vec<String>,
    /// Paths of hot spares.
    pub spares: Vec<String>,
    /// None, unless the version is that of feature flags.
    pub features: Vec<&'static Feature>,
    /// log2 of the smallest write; `None`: what the devices like best.
    pub ashift: Option<u64>,
    /// Pool properties to keep in the pool.
    pub props: Vec<(String, String)>,
    /// Properties of the root dataset.
    pub fs_props: RawProps,
    pub compatibility: Option<String>,
    pub comment: Option<String>,
    pub altroot: Option<String>,
    pub host: Host,
    /// Take devices that hold another pool.
    pub force: bool,
    /// For the pool's history.
    pub history: String,
}

/// Makes a pool and imports it.
pub fn create(around: &Surroundings, spec: &CreateSpec) -> Result<Arc<Pool>> {
    let env = &around.env;
    let tops = Tops { data: &spec.vdevs, special: &spec.special, dedup: &spec.dedup, logs: &spec.logs };
    let has_classes = spec.features.iter().any(|feature| feature.name == CLASSES);
    check_specs(tops)?;
    let extras = (&spec.cache[..], &spec.spares[..]);
    let action = Action::Create { name: spec.name.clone() };
    check_version((spec.version, has_classes), tops, extras, &action)?;
    let own = tops.all().flat_map(|(_, top)| leaf_paths(std::slice::from_ref(top)));
    let paths: Vec<String> = own.chain(spec.cache.clone()).collect();
    around.open_pools.refuse_used(env, &paths, &spec.spares, spec.force)?;
    let guid = new_guid(env);
    let tree = plan_tree(env, guid, tops, spec.ashift);
    let storage = Storage::new(env.clone(), around.cache.clone(), guid);
    storage.open_tree(&tree, OpenIntent::Create).map_err(|error| unusable(&action, &error))?;
    storage.update_config(|root| root.children.iter_mut().for_each(|top| size_metaslabs(env, top)));
    let config = PoolConfig {
        version: spec.version,
        name: spec.name.clone(),
        state: PoolState::Active,
        txg: TXG_INITIAL,
        guid,
        host: spec.host.clone(),
        comment: spec.comment.clone(),
        compatibility: spec.compatibility.clone(),
        features_for_read: Vec::new(),
        vdev_children: tree.children.len() as u64,
        tree: storage.config(),
        pairs: NvList::new(),
    };
    for leaf in storage.leaves() {
        let blank =
            NvList::new().with(key::POOL_TXG, 0u64).with(key::POOL_STATE, PoolState::Destroyed as u64);
        leaf.device.init(&blank).map_err(|_| PoolError::Io)?;
    }
    let pool = first_group(around, spec, storage.clone(), config, &action);
    if pool.is_err() {
        for leaf in storage.leaves() {
            // The devices are as useless as before; what failed first is what the operator hears.
            let _ = leaf.device.clear();
        }
        storage.close();
    }
    pool
}

fn first_group(
    around: &Surroundings,
    spec: &CreateSpec,
    storage: Arc<Storage>,
    config: PoolConfig,
    action: &Action,
) -> Result<Arc<Pool>> {
    let env = &around.env;
    let tx = Tx::syncing(TXG_INITIAL);
    let frees = Arc::new(FreeQueue::default());
    let mos_usage = Arc::new(MosUsage::default());
    let owner = MosOwner { storage: storage.clone(), frees: frees.clone(), usage: mos_usage.clone() };
    let mos = Objset::create(
        storage.clone(),
        ObjsetType::Meta,
        Arc::new(owner),
        ReadOnlyAdmission::shared(),
        ObjsetPolicy::meta().of_pool(spec.version),
        TXG_INITIAL,
    );
    let salt = ZapParams::salted(env.entropy.u64());
    let directory = ObjectSpec::new(ObjectType::OBJECT_DIRECTORY);
    let directory = Zap::claim(&mos, pool_directory::OBJECT, directory, salt, &tx)?;

    let maps = SpaceMaps::new(mos.clone());
    let mut config = config;
    make_vdev_objects(&mos, &storage, &maps, &mut config.tree, env, &tx)?;
    storage.update_config(|root| *root = config.tree.clone());
    storage.attach_space(maps.clone());

    let features = Arc::new(Features::none(mos.clone()));
    let config_object = alloc_packed(&mos, &tx)?;
    directory.add(pool_directory::CONFIG, config_object, &tx)?;
    directory.add(pool_directory::CREATION_VERSION, spec.version, &tx)?;
    storage.set_net_of_parity(spec.version >= version::DEFLATE);
    if storage.is_net_of_parity() {
        directory.add(pool_directory::DEFLATE, 1u64, &tx)?;
    }
    let deferred = Bpobj::alloc(&mos, BpobjForm::of_pool(spec.version), &tx)?;
    directory.add(pool_directory::SYNC_BPOBJ, deferred, &tx)?;
    let deferred = Deferred::open(&mos, deferred)?;
    let mut checksum_salt = [0; 32];
    env.entropy.fill(&mut checksum_salt);
    storage.set_salt(storage::Salt(checksum_salt));
    directory.add(pool_directory::CHECKSUM_SALT, &checksum_salt[..], &tx)?;

    let core = Arc::new(Core::blank(
        around,
        Parts {
            ddt: Ddt::none(env, &mos, &storage),
            storage: storage.clone(),
            mos: mos.clone(),
            frees: frees.clone(),
            features: features.clone(),
            maps,
            deferred: Some(deferred),
            config,
            config_object,
            name: spec.temporary_name.as_ref().unwrap_or(&spec.name).clone(),
            altroot: spec.altroot.clone(),
            txg: TXG_INITIAL,
        },
    ));
    core.keep_in(around.kept.as_ref(), None, false);
    core.add_caches(&spec.cache, spec.ashift, action)?;
    core.add_spares(&spec.spares, action)?;
    let dsl = Dsl::create(dsl_parts(&core, mos_usage, around.fs_format.clone()), &tx)?;
    if spec.version >= version::FEATURES {
        features.create(env.entropy.u64(), &tx)?;
    }
    for feature in &spec.features {
        features.enable(feature, env.entropy.u64(), &tx)?;
    }
    for _ in spec.special.iter().chain(&spec.dedup) {
        features.increment(CLASSES, &tx)?;
    }
    mos.set_policy(features.mos_policy(spec.version));
    dsl.create_root(&spec.fs_props, &tx)?;
    if spec.version >= version::HISTORY {
        history::create(&mos, storage.deflated_capacity(), &tx)?;
    }
    dsl.init_pool_props(&spec.props, &tx)?;
    dsl.set_hostname(&spec.host.name);
    dsl.set_altroot(spec.altroot.clone());
    let pool = Arc::new(Pool { core, dsl });
    pool.sync_txg(TXG_INITIAL)?;
    pool.core.txgs.start(pool.clone(), &|worker| pool.core.storage.spawn(worker));
    pool.core.scan.start(&pool);
    pool.core.rebuilds.start(&pool);
    pool.dsl.log_command(&spec.history)?;
    pool.stand_by();
    pool.core.sweeps.start(&pool.core.storage, &pool.core.txgs);
    pool.follow_props()?;
    pool.core.open_pools.enter(&pool.core);
    pool.core.sysevent("pool_create");
    Ok(pool)
}

fn unusable(action: &Action, error: &OpenError) -> PoolError {
    match error {
        OpenError::BadDisk { path, why } => refuse_device(action, path, *why),
        _ => PoolError::Invalid(error.to_string()),
    }
}

fn plan_tree(env: &Env, guid: u64, tops: Tops<'_>, ashift: Option<u64>) -> VdevConfig {
    let mut root = VdevConfig::new(VdevKind::Root, 0, guid);
    root.create_txg = Some(TXG_INITIAL);
    root.children = tops.all().enumerate().map(|(id, top)| plan_top(env, id as u64, top, ashift)).collect();
    root
}

/// The objects that vdevs have: ZAPs for each top-level vdev and leaf, all listed in one more, and
/// metaslab arrays.
fn make_vdev_objects(
    mos: &Arc<Objset>,
    storage: &Storage,
    maps: &SpaceMaps,
    root: &mut VdevConfig,
    env: &Env,
    tx: &Tx,
) -> Result<()> {
    let all = make_zap_list(mos, env, tx)?;
    for top in &mut root.children {
        let space = make_top_objects(mos, &all, top, env, tx)?;
        maps.add_vdev(space);
        storage.init_metaslabs(space.vdev, space.metaslab_shift, space.metaslab_count, Vec::new());
    }
    Ok(())
}
