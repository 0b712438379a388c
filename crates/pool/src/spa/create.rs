//! Making a pool: devices, vdev tree, and the first transaction group, which writes everything a
//! pool is born with.
//!
//! Nothing of the pool exists before that group's uberblock. Until then only the devices' labels
//! are touched, and they are cleared again when something fails. Sources: module/zfs/spa.c
//! (`spa_create`), vdev.c (`vdev_metaslab_set_size`), dsl_pool.c (`dsl_pool_create`).

use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, Mutex, OnceLock};

use dmu::bpobj::Bpobj;
use dmu::zap::{Value, Zap, ZapParams};
use dmu::{ObjectSpec, Objset, ObjsetPolicy, ReadOnlyAdmission, Tx};
use env::{DiskError, Env, Tunable};
use ondisk::bpobj::BpobjForm;
use ondisk::feature::Feature;
use ondisk::label::MIN_DEVICE;
use ondisk::label::config::{PoolState, key};
use ondisk::nvlist::NvList;
use ondisk::object_type::{ObjectType, pool_directory};
use ondisk::objset::ObjsetType;
use ondisk::version;
use storage::arc::Cache;
use storage::{Bias, OpenError, OpenIntent, Storage, VdevConfig, VdevKind};

use crate::ddt::Ddt;
use crate::deferred::Deferred;
use crate::dsl::{Dsl, DslParts, FsFormat};
use crate::feature::Features;
use crate::frees::FreeQueue;
use crate::history;
use crate::kept::Kept;
use crate::mos::{MosOwner, MosUsage};
use crate::prop::RawProps;
use crate::removed::Removed;
use crate::spa::config::{Host, PoolConfig};
use crate::spa::dtl::DirtyTimeLogs;
use crate::spa::import::ALLOCATION_BIAS;
use crate::spa::in_use::OpenPools;
use crate::spa::spares::SparesInUse;
use crate::spa::{Core, Pool, TXG_INITIAL, alloc_packed};
use crate::space::{SpaceMaps, VdevSpace};
use crate::sweep::Sweeps;
use crate::txg::{Limits, Txgs};
use crate::zevent::Zevents;
use crate::{PoolError, Result};

/// Most devices of a raidz.
const RAIDZ_MAX: usize = 255;

/// A vdev to make.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VdevSpec {
    Leaf(String),
    Mirror(Vec<VdevSpec>),
    Raidz {
        /// Devices that may be lost, 1 to 3.
        parity: u64,
        children: Vec<VdevSpec>,
    },
}

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

/// Makes a pool and imports it.
pub fn create(around: &Surroundings, spec: &CreateSpec) -> Result<Arc<Pool>> {
    let env = &around.env;
    let tops = Tops { data: &spec.vdevs, special: &spec.special, dedup: &spec.dedup, logs: &spec.logs };
    let has_classes = spec.features.iter().any(|feature| feature.name == CLASSES);
    check_specs(tops)?;
    let extras = (&spec.cache[..], &spec.spares[..]);
    check_version((spec.version, has_classes), tops, extras, Purpose::Create(&spec.name))?;
    let own = tops.all().flat_map(|(_, top)| leaf_paths(std::slice::from_ref(top)));
    let paths: Vec<String> = own.chain(spec.cache.clone()).collect();
    around.open_pools.refuse_used(env, &paths, &spec.spares, spec.force)?;
    let guid = new_guid(env);
    let tree = plan_tree(env, guid, tops, spec.ashift);
    let storage = Storage::new(env.clone(), around.cache.clone(), guid);
    storage.open_tree(&tree, OpenIntent::Create).map_err(|error| unusable(&spec.name, &error))?;
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
    let pool = first_group(around, spec, storage.clone(), config);
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
    let txgs = Txgs::new(env.clone(), around.limits, TXG_INITIAL);
    txgs.observe(around.lender());
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

    let core = Arc::new(Core {
        env: env.clone(),
        storage: storage.clone(),
        mos: mos.clone(),
        txgs: txgs.clone(),
        frees: frees.clone(),
        features: features.clone(),
        maps,
        removed: Removed::none(mos.clone()),
        ddt: Ddt::none(env, &mos, &storage),
        sweeps: Sweeps::new(env.clone()),
        dtl: DirtyTimeLogs::default(),
        name: Arc::new(Mutex::new(spec.temporary_name.as_ref().unwrap_or(&spec.name).clone())),
        version: Arc::new(AtomicU64::new(spec.version)),
        config: Mutex::new(config),
        config_dirty: AtomicBool::new(true),
        config_written: Mutex::default(),
        lacks_zaps: AtomicBool::new(false),
        has_logs: AtomicBool::new(false),
        config_object,
        deferred: Some(deferred),
        readonly: false,
        altroot: spec.altroot.clone(),
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
    });
    core.keep_in(around.kept.as_ref(), None, false);
    core.add_caches(&spec.cache, spec.ashift, Purpose::Create(&spec.name))?;
    core.add_spares(&spec.spares, Purpose::Create(&spec.name))?;
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
    txgs.start(pool.clone(), &|worker| pool.core.storage.spawn(worker));
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

pub(crate) fn dsl_parts(
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

/// The feature that counts vdevs set apart.
pub(super) const CLASSES: &str = "allocation_classes";

/// What a top-level vdev is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Role {
    Log,
    Blocks(Bias),
}

/// Top-level vdevs to make, by what they are for.
#[derive(Clone, Copy)]
pub(super) struct Tops<'a> {
    pub data: &'a [VdevSpec],
    pub special: &'a [VdevSpec],
    pub dedup: &'a [VdevSpec],
    pub logs: &'a [VdevSpec],
}

impl<'a> Tops<'a> {
    /// In the order in which they are numbered.
    pub fn all(self) -> impl Iterator<Item = (Role, &'a VdevSpec)> {
        let of = |role: Role, tops: &'a [VdevSpec]| tops.iter().map(move |top| (role, top));
        of(Role::Blocks(Bias::None), self.data)
            .chain(of(Role::Blocks(Bias::Special), self.special))
            .chain(of(Role::Blocks(Bias::Dedup), self.dedup))
            .chain(of(Role::Log, self.logs))
    }

    /// Whether some are set apart for some kinds of blocks.
    fn has_classes(self) -> bool {
        !self.special.is_empty() || !self.dedup.is_empty()
    }
}

/// Refuses vdevs that ZFS does not have: groups of groups, and intent logs on raidz.
pub(super) fn check_specs(tops: Tops<'_>) -> Result<()> {
    let refuse = |why: String| Err(PoolError::Refused(format!("invalid vdev specification: {why}")));
    if tops.logs.iter().any(|log| matches!(log, VdevSpec::Raidz { .. })) {
        return refuse("unsupported 'log' device: raidz".into());
    }
    for (_, spec) in tops.all() {
        let (name, least, children) = match spec {
            VdevSpec::Leaf(_) => continue,
            VdevSpec::Mirror(children) => ("mirror".to_owned(), 1, children),
            VdevSpec::Raidz { parity: parity @ 1..=3, children } => {
                (format!("raidz{parity}"), *parity as usize + 1, children)
            }
            VdevSpec::Raidz { parity, .. } => return refuse(format!("raidz with {parity} parities")),
        };
        if !children.iter().all(|child| matches!(child, VdevSpec::Leaf(_))) {
            return refuse(format!("{name} of something else than devices"));
        }
        if children.len() < least {
            return refuse(format!("{name} requires at least {least} devices"));
        }
        if children.len() > RAIDZ_MAX && matches!(spec, VdevSpec::Raidz { .. }) {
            return refuse(format!("{name} supports no more than {RAIDZ_MAX} devices"));
        }
    }
    Ok(())
}

/// Refuses devices that a pool of this version, or without feature `allocation_classes`, does not
/// have.
pub(super) fn check_version(
    (version, has_classes): (u64, bool),
    tops: Tops<'_>,
    (cache, spares): (&[String], &[String]),
    purpose: Purpose<'_>,
) -> Result<()> {
    let since = |spec: &VdevSpec| match spec {
        VdevSpec::Raidz { parity: 3.., .. } => version::RAIDZ3,
        VdevSpec::Raidz { parity: 2, .. } => version::SPARES,
        _ => version::INITIAL,
    };
    let logs_since = if tops.logs.is_empty() { version::INITIAL } else { version::LOGS };
    let vdevs_since = tops.all().map(|(_, top)| since(top)).fold(logs_since, u64::max);
    let what = if !spares.is_empty() && version < version::SPARES {
        "hot spares"
    } else if !cache.is_empty() && version < version::CACHES {
        "cache devices"
    } else if version < vdevs_since || tops.has_classes() && !has_classes {
        "these vdevs"
    } else {
        return Ok(());
    };
    Err(PoolError::Refused(match purpose {
        Purpose::Create(pool) => format!("cannot create '{pool}': unsupported version or feature"),
        Purpose::Add(pool) => format!("cannot add to '{pool}': pool must be upgraded to add {what}"),
    }))
}

pub(super) fn leaf_paths(vdevs: &[VdevSpec]) -> Vec<String> {
    let of = |vdev: &VdevSpec| match vdev {
        VdevSpec::Leaf(path) => vec![path.clone()],
        VdevSpec::Mirror(children) | VdevSpec::Raidz { children, .. } => leaf_paths(children),
    };
    vdevs.iter().flat_map(of).collect()
}

fn unusable(pool: &str, error: &OpenError) -> PoolError {
    let OpenError::BadDisk { why, .. } = error else { return PoolError::Invalid(error.to_string()) };
    Purpose::Create(pool).refuse(*why, &error.to_string())
}

/// What devices are wanted for, with the pool's name.
#[derive(Clone, Copy)]
pub(super) enum Purpose<'a> {
    Create(&'a str),
    Add(&'a str),
}

impl Purpose<'_> {
    /// A device cannot be had: OpenZFS's words where it has some (lib/libzfs/libzfs_pool.c,
    /// `zpool_create`, `zpool_add`), else `otherwise`.
    pub fn refuse(self, why: DiskError, otherwise: &str) -> PoolError {
        let least = MIN_DEVICE >> 20;
        let what = match (why, self) {
            (DiskError::OutOfRange, Purpose::Create(_)) => {
                format!("one or more devices is less than the minimum size ({least}M)")
            }
            (DiskError::OutOfRange, Purpose::Add(_)) => {
                format!("device is less than the minimum size ({least}M)")
            }
            (DiskError::Busy, Purpose::Create(_)) => {
                "one or more vdevs refer to the same device, or one of\n\
                 the devices is part of an active md or lvm device"
                    .into()
            }
            (DiskError::Busy, Purpose::Add(_)) => "one or more vdevs refer to the same device".into(),
            _ => otherwise.to_owned(),
        };
        PoolError::Refused(match self {
            Purpose::Create(pool) => format!("cannot create '{pool}': {what}"),
            Purpose::Add(pool) => format!("cannot add to '{pool}': {what}"),
        })
    }
}

pub(super) fn new_guid(env: &Env) -> u64 {
    loop {
        let guid = env.entropy.u64();
        if guid != 0 {
            return guid;
        }
    }
}

fn plan_tree(env: &Env, guid: u64, tops: Tops<'_>, ashift: Option<u64>) -> VdevConfig {
    let mut root = VdevConfig::new(VdevKind::Root, 0, guid);
    root.create_txg = Some(TXG_INITIAL);
    root.children = tops.all().enumerate().map(|(id, top)| plan_top(env, id as u64, top, ashift)).collect();
    root
}

/// A top-level vdev with this number.
pub(super) fn plan_top(
    env: &Env,
    id: u64,
    (role, spec): (Role, &VdevSpec),
    ashift: Option<u64>,
) -> VdevConfig {
    let mut top = plan_vdev(env, id, spec);
    top.ashift = ashift;
    match role {
        Role::Log => top.is_log = true,
        Role::Blocks(bias) => top.bias = bias,
    }
    top
}

pub(super) fn plan_vdev(env: &Env, id: u64, spec: &VdevSpec) -> VdevConfig {
    let mut vdev = match spec {
        VdevSpec::Leaf(path) => {
            let kind = if env.disks.is_block_device(path) { VdevKind::Disk } else { VdevKind::File };
            let mut leaf = VdevConfig::new(kind, id, new_guid(env));
            leaf.path = Some(path.clone());
            leaf
        }
        VdevSpec::Mirror(children) => plan_group(env, id, VdevKind::Mirror, children),
        VdevSpec::Raidz { parity, children } => plan_group(env, id, VdevKind::Raidz(*parity), children),
    };
    vdev.create_txg = Some(TXG_INITIAL);
    vdev
}

fn plan_group(env: &Env, id: u64, kind: VdevKind, children: &[VdevSpec]) -> VdevConfig {
    let mut group = VdevConfig::new(kind, id, new_guid(env));
    group.children =
        children.iter().enumerate().map(|(id, child)| plan_vdev(env, id as u64, child)).collect();
    group
}

/// Metaslabs aimed at, and their smallest, usual and largest size as powers of two.
const METASLABS_WANTED: u64 = 200;
const METASLAB_SHIFT_MIN: u64 = 24;
const METASLAB_SHIFT_USUAL: u64 = 29;
const METASLAB_SHIFT_MAX: u64 = 34;
/// More metaslabs than this are not made: then they are larger than the largest size.
const METASLABS_MAX: u64 = 1 << 17;

/// Chooses the size of a new top-level vdev's metaslabs.
pub(super) fn size_metaslabs(env: &Env, top: &mut VdevConfig) {
    let least = env.tunable(Tunable::VdevMinMsCount);
    let asize = top.asize.unwrap_or(0);
    // One more than the floor of the logarithm, as ZFS's highbit64 counts.
    let highbit = |bytes: u64| u64::from(u64::BITS - bytes.leading_zeros());
    let mut shift = METASLAB_SHIFT_USUAL;
    let count = asize >> shift;
    if count < least {
        shift = highbit(asize / least);
    } else if count > METASLABS_WANTED {
        shift = highbit(asize / METASLABS_WANTED);
    }
    shift = shift.clamp(METASLAB_SHIFT_MIN, METASLAB_SHIFT_MAX);
    if asize >> shift > METASLABS_MAX {
        shift = highbit(asize / METASLABS_MAX);
    }
    top.metaslab_shift = Some(shift);
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

/// The list of all vdevs' ZAPs, of a pool that has none yet.
pub(super) fn make_zap_list(mos: &Arc<Objset>, env: &Env, tx: &Tx) -> Result<Zap> {
    let all = new_zap(mos, env, tx)?;
    Zap::open(mos, pool_directory::OBJECT)?.add(pool_directory::VDEV_ZAP_MAP, all.object(), tx)?;
    Ok(all)
}

/// ZAPs for a top-level vdev and its leaves.
pub(super) fn make_zaps(
    mos: &Arc<Objset>,
    all: &Zap,
    top: &mut VdevConfig,
    env: &Env,
    tx: &Tx,
) -> Result<()> {
    let zap = make_vdev_zap(mos, all, env, tx)?;
    top.top_zap = Some(zap);
    if let Some(bias) = top.bias.name() {
        Zap::open(mos, zap)?.add(ALLOCATION_BIAS, Value::text(bias), tx)?;
    }
    let mut failed = None;
    top.visit_mut(&mut |vdev| {
        if vdev.kind.is_leaf() {
            match make_vdev_zap(mos, all, env, tx) {
                Ok(zap) => vdev.leaf_zap = Some(zap),
                Err(error) => failed = Some(error),
            }
        }
    });
    failed.map_or(Ok(()), Err)
}

fn new_zap(mos: &Arc<Objset>, env: &Env, tx: &Tx) -> Result<Zap> {
    let spec = ObjectSpec::new(ObjectType::OTN_ZAP_METADATA);
    Ok(Zap::create(mos, spec, ZapParams::salted(env.entropy.u64()), tx)?)
}

/// A vdev's ZAP, listed among all.
pub(super) fn make_vdev_zap(mos: &Arc<Objset>, all: &Zap, env: &Env, tx: &Tx) -> Result<u64> {
    let zap = new_zap(mos, env, tx)?.object();
    all.add_int(zap, tx)?;
    Ok(zap)
}

/// The objects of a top-level vdev and its leaves; gives what its space maps need.
pub(super) fn make_top_objects(
    mos: &Arc<Objset>,
    all: &Zap,
    top: &mut VdevConfig,
    env: &Env,
    tx: &Tx,
) -> Result<VdevSpace> {
    make_zaps(mos, all, top, env, tx)?;
    let array = mos.alloc(ObjectSpec::new(ObjectType::OBJECT_ARRAY), tx)?.object();
    top.metaslab_array = Some(array);
    let shift = top.metaslab_shift.unwrap_or(METASLAB_SHIFT_USUAL) as u32;
    Ok(VdevSpace {
        vdev: top.id as u32,
        ashift: top.ashift.unwrap_or(9) as u32,
        metaslab_shift: shift,
        metaslab_count: top.asize.unwrap_or(0) >> shift,
        array,
    })
}
