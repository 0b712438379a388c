//! Bringing a pool into memory.
//!
//! Labels lead to an uberblock, the uberblock to the meta object set, and that holds the
//! configuration that is believed: the tree is opened twice, first as the labels tell it, then as
//! the pool itself does. Whatever this program cannot honour is refused before anything is written;
//! where only writing is out of reach (features for writing only, intent logs of datasets that
//! cannot be written, a removal under way) the pool is imported read-only, and says why.
//!
//! Sources: module/zfs/spa.c (`spa_load_impl`), spa_log_spacemap.c, lib/libzfs/libzfs_pool.c
//! (messages).

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

use api_types::Rewound;
use dmu::zap::Zap;
use dmu::{Objset, ObjsetPolicy, ReadOnlyAdmission, Tx};
use env::Env;
use ondisk::blkptr::SECTOR;
use ondisk::label::config::PoolState;
use ondisk::malformed::{Endian, u64_at};
use ondisk::object_type::pool_directory;
use ondisk::uberblock::Uberblock;
use ondisk::version;
use refusal::{Action, ImportFault, Member, Reason, Refused};
use stdx::mark::mark;
use stdx::panics;
use storage::arc::Cache;
use storage::{Bias, Leash, OpenError, OpenIntent, Storage, Tolerated, VdevConfig, VdevKind, VdevState};

use super::assemble::{Parts, Surroundings, dsl_parts};
use super::config::{Host, PoolConfig};
use super::dtl::DirtyTimeLogs;
use super::extra::Extras;
use super::labels::FoundPool;
use super::mmp;
use super::packed::read_packed;
use super::report::vdev_name;
use super::rewind::{Candidate, Rewind};
use super::status::found_vdev_state;
use super::vdev_objects::{ALLOCATION_BIAS, UNFLUSHED_TXGS};
use super::{Core, Durable, Pool};
use crate::ddt::Ddt;
use crate::deferred::Deferred;
use crate::dsl::Dsl;
use crate::dsl::claim::BackTo;
use crate::feature::{Features, judge};
use crate::frees::FreeQueue;
use crate::mos::{MosOwner, MosUsage};
use crate::removed::Removed;
use crate::space::{SpaceMaps, VdevSpace};
use crate::state::checkpoint::{CheckpointState, uberblock_of};
use crate::state::errlog::{BY_HEAD, ErrorLog};
use crate::state::rebuild::Rebuilds;
use crate::state::scan::Scan;
use crate::sweep::Sweeps;
use crate::{PoolError, Result};

/// Bytes of the cache with which a pool is looked into.
const PEEK_CACHE: usize = 4 << 20;
/// Most metaslabs of a vdev believed; OpenZFS makes 131,072 at the most
/// (`zfs_vdev_ms_count_limit`).
const METASLABS_MAX: u64 = 1 << 18;

/// How to import.
#[derive(Clone, Debug, Default)]
pub struct ImportSpec {
    pub readonly: bool,
    /// Import though the pool looks used by another host.
    pub force: bool,
    /// Import a pool that was destroyed: its devices were left as they were, but for the word in
    /// the labels.
    pub destroyed: bool,
    pub rewind: Rewind,
    /// Do not mind what cannot be read of the last groups, nor whether another host uses the pool:
    /// for who only looks.
    pub as_is: bool,
    /// Import though devices that hold intent logs are missing; what is in the logs there is lost
    /// (`-m`).
    pub missing_log: bool,
    pub new_name: Option<String>,
    /// The new name counts until the pool is exported; its devices keep the old one (`-t`).
    pub temporary: bool,
    pub altroot: Option<String>,
    pub host: Host,
    pub history: String,
    /// How far it may go; whoever holds it can cancel the import.
    pub leash: Arc<Leash>,
}

/// Blocks that an import may read before the pool's size counts.
const READS_MIN: u64 = 4 << 20;

fn refuse(pool: &str, reason: impl Into<Reason>) -> PoolError {
    Refused::new(Action::Import { pool: pool.to_owned() }, reason).into()
}

/// Imports a pool.
pub fn import(around: &Surroundings, found: &FoundPool, spec: &ImportSpec) -> Result<Arc<Pool>> {
    let name = spec.new_name.clone().unwrap_or_else(|| found.config.name.clone());
    let failed = |fault: ImportFault| refuse(&found.config.name, fault);
    if !spec.as_is {
        mmp::watch(&around.env, found, &spec.host, &spec.leash).map_err(failed)?;
    }
    check_label(&found.config, spec).map_err(failed)?;
    let _coming = around.open_pools.announce(found.guid);
    let attempt = |spec: &ImportSpec, candidate: &Candidate| {
        let intent = if spec.readonly { OpenIntent::ReadOnly } else { OpenIntent::ReadWrite };
        let storage = Storage::new(around.env.clone(), around.cache.clone(), found.guid);
        storage.heed(spec.leash.clone());
        let result = contained(&around.env, || {
            let loading = Loading {
                around,
                found,
                spec,
                storage: &storage,
                intent,
                name: &name,
                stragglers: found.stragglers(),
                frees: Arc::default(),
                usage: Arc::default(),
            };
            loading.load(candidate)
        });
        if !matches!(result, Ok(Loaded::Pool(_))) {
            storage.close();
        }
        result
    };
    let readonly = ImportSpec { readonly: true, ..spec.clone() };
    let mut failure = PoolError::Corrupt("no valid uberblock".into());
    for candidate in spec.rewind.candidates(found.uberblocks()) {
        for spec in [spec, &readonly] {
            match attempt(spec, &candidate) {
                Ok(Loaded::Pool(pool)) => {
                    spec.leash.let_go();
                    pool.core.open_pools.enter(&pool.core);
                    return Ok(pool);
                }
                Ok(Loaded::ReadOnlyOnly) => {}
                Err(_) if spec.leash.is_cancelled() => return Err(failed(ImportFault::Cancelled)),
                Err(error) if spec.leash.is_over() => {
                    tracing::warn!(pool = name, %error, "it has more blocks to read than it has room for");
                    return Err(failed(ImportFault::Damaged));
                }
                Err(error @ (PoolError::Refused(_) | PoolError::Suspended)) => return Err(error),
                Err(error) => {
                    tracing::warn!(pool = name, txg = candidate.uberblock.txg, %error, "cannot be opened");
                    failure = error;
                    break;
                }
            }
        }
    }
    Err(failed(match failure {
        PoolError::Corrupt(_) | PoolError::Io | PoolError::NotFound => ImportFault::Damaged,
        other => ImportFault::Failed { message: other.to_string() },
    }))
}

/// A panic while a pool is read is an error of that pool; in a simulation it is what the run looks
/// for.
fn contained<T>(env: &Env, work: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        if env.driver.is_cooperative() {
            resume_unwind(panic);
        }
        let what = panics::text(&*panic).unwrap_or("panic");
        tracing::error!(what, "an import met a defect of this program");
        Err(PoolError::Corrupt(format!("a defect of this program: {what}")))
    })
}

/// Why a pool that is whole cannot be imported here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unsupported {
    /// It is of a version that nobody knows here.
    Version,
    /// It cannot be read without these features, by guid.
    Features(Vec<String>),
}

impl Unsupported {
    fn of(config: &PoolConfig) -> Option<Unsupported> {
        if !version::is_known(config.version) {
            return Some(Unsupported::Version);
        }
        let active = config.features_for_read.iter().map(|guid| (guid.as_str(), false));
        let unreadable = judge(active).unreadable;
        (!unreadable.is_empty()).then_some(Unsupported::Features(unreadable))
    }
}

/// What a pool that is not imported says of itself.
pub struct Peeked {
    /// Its tree of vdevs, with the paths where disks were found; if it cannot be read, what the
    /// labels say.
    pub tree: VdevConfig,
    /// All devices are there, and yet the pool cannot be read.
    pub damaged: bool,
    /// The labels say why it cannot be imported; nothing else of it was read.
    pub unsupported: Option<Unsupported>,
}

/// Looks into the newest group of a pool without changing anything.
pub fn peek(around: &Surroundings, found: &FoundPool) -> Peeked {
    let labels = found.tree();
    if let Some(why) = Unsupported::of(&found.config) {
        return Peeked { tree: labels, damaged: false, unsupported: Some(why) };
    }
    // What was read before, while the pool was in use, must not hide what has become of it.
    let storage = Storage::new(around.env.clone(), Cache::new(PEEK_CACHE), found.guid);
    let lenient = Tolerated { logs: true, unknown: true };
    let look = || -> Result<VdevConfig> {
        let refused = |error: OpenError| PoolError::Corrupt(error.to_string());
        storage.open_tree_without(&labels, OpenIntent::ReadOnly, lenient).map_err(refused)?;
        read_last(&storage, &found.stragglers());
        let newest = found.uberblocks().into_iter().next().ok_or(PoolError::Io)?;
        let mos = open_mos(&storage, &newest, &Arc::default(), &Arc::default())?;
        let directory = Zap::open(&mos, pool_directory::OBJECT)?;
        let config = read_packed(&mos, directory.lookup_u64(pool_directory::CONFIG)?)?;
        let mut tree = PoolConfig::from_nvlist(&config)?.tree;
        found.fix_paths(&mut tree);
        storage.update_config(|root| *root = tree);
        // Headings are a nicety: what is set apart for what may be out of sight.
        let _ = read_biases(&mos, &storage);
        Ok(storage.config())
    };
    let seen = look();
    let damaged = seen.is_err() && storage.refuse_missing(Tolerated::default()).is_ok();
    storage.close();
    Peeked { tree: seen.unwrap_or(labels), damaged, unsupported: None }
}

enum Loaded {
    Pool(Arc<Pool>),
    /// It has intent logs that cannot be claimed: nothing was written, and nothing may be.
    ReadOnlyOnly,
}

/// What the labels alone forbid.
fn check_label(config: &PoolConfig, spec: &ImportSpec) -> std::result::Result<(), ImportFault> {
    let unsupported = Unsupported::of(config);
    if unsupported == Some(Unsupported::Version) {
        return Err(ImportFault::UnknownVersion);
    }
    if config.state == PoolState::Destroyed && !spec.destroyed {
        return Err(ImportFault::NotFound);
    }
    if let Some(Unsupported::Features(unreadable)) = unsupported {
        refuse_features(unreadable)?;
    }
    let foreign = config.host.id != 0 && config.host.id != spec.host.id;
    if config.state != PoolState::Exported && foreign && !spec.force {
        return Err(ImportFault::Foreign { host: config.host.name.clone(), hostid: config.host.id });
    }
    Ok(())
}

fn refuse_features(guids: Vec<String>) -> std::result::Result<(), ImportFault> {
    if guids.is_empty() { Ok(()) } else { Err(ImportFault::Features { guids }) }
}

/// An attempt to bring a pool into memory.
struct Loading<'a> {
    around: &'a Surroundings,
    found: &'a FoundPool,
    spec: &'a ImportSpec,
    storage: &'a Arc<Storage>,
    intent: OpenIntent,
    /// What it is called here.
    name: &'a str,
    stragglers: Vec<u64>,
    frees: Arc<FreeQueue>,
    usage: Arc<MosUsage>,
}

/// The group that becomes the pool, and what it leads to.
struct Root {
    candidate: Candidate,
    /// It is the checkpoint, as a group that is not on disk yet.
    is_checkpoint: bool,
    mos: Arc<Objset>,
    directory: Zap,
}

impl Root {
    /// The group of the checkpoint that the pool went back to. Also where the program died right
    /// after that.
    fn checkpointed(&self) -> Option<u64> {
        Some(self.candidate.uberblock.checkpoint_txg).filter(|txg| *txg != 0)
    }
}

impl Loading<'_> {
    fn failed(&self, fault: ImportFault) -> PoolError {
        refuse(&self.found.config.name, fault)
    }

    fn load(&self, newest: &Candidate) -> Result<Loaded> {
        let labels = self.open_by_labels()?;
        let root = self.find_root(newest)?;
        let core = Arc::new(self.read(&root, &labels)?);
        let dsl = Dsl::open(dsl_parts(&core, self.usage.clone(), self.around.fs_format.clone()))?;
        dsl.set_hostname(&self.spec.host.name);
        dsl.set_altroot(self.spec.altroot.clone());
        let pool = Arc::new(Pool { core, dsl });
        pool.look_for_old_keys();
        if pool.core.readonly {
            return Ok(Loaded::Pool(pool));
        }
        if pool.dsl.has_logs_out_of_reach()? {
            tracing::warn!(
                pool = self.name,
                "imported read-only: it has intent logs in datasets that cannot be written"
            );
            return Ok(Loaded::ReadOnlyOnly);
        }
        self.commit(&pool, &root)?;
        self.start(&pool, &root)?;
        Ok(Loaded::Pool(pool))
    }

    /// Opens the tree as the labels tell it.
    fn open_by_labels(&self) -> Result<VdevConfig> {
        let tree = self.found.tree();
        // Of devices that were not found, only the pool's own configuration tells whether they hold
        // logs.
        let lenient = Tolerated { logs: true, unknown: true };
        let opened = self.storage.open_tree_without(&tree, self.intent, lenient);
        opened.map_err(|error| self.failed(open_fault(error)))?;
        let sectors = self.storage.tops().iter().map(|top| top.asize / SECTOR).sum::<u64>();
        self.spec.leash.allow(READS_MIN + sectors);
        read_last(self.storage, &self.stragglers);
        Ok(tree)
    }

    fn open_mos(&self, uberblock: &Uberblock) -> Result<Arc<Objset>> {
        open_mos(self.storage, uberblock, &self.frees, &self.usage).map_err(|error| {
            match self.storage.refuse_missing(Tolerated::default()) {
                Ok(()) => error,
                Err(missing) => self.failed(open_fault(missing)),
            }
        })
    }

    /// The group that was asked for: the `newest`, or the checkpoint that it has.
    fn find_root(&self, newest: &Candidate) -> Result<Root> {
        let mut candidate = newest.clone();
        let mut mos = self.open_mos(&candidate.uberblock)?;
        let is_checkpoint = self.spec.rewind == Rewind::Checkpoint;
        if is_checkpoint {
            let kept = uberblock_of(&Zap::open(&mos, pool_directory::OBJECT)?)?;
            let kept = kept.ok_or_else(|| refuse(&self.found.config.name, Reason::NoCheckpoint))?;
            if kept.txg >= newest.uberblock.txg {
                return Err(PoolError::Corrupt("a checkpoint of a later group".into()));
            }
            let now = self.around.env.clock.wall().secs.max(0) as u64;
            candidate = newest.of_checkpoint(kept, now);
            mos = self.open_mos(&candidate.uberblock)?;
        }
        let directory = Zap::open(&mos, pool_directory::OBJECT)?;
        Ok(Root { candidate, is_checkpoint, mos, directory })
    }

    /// The configuration that the pool itself has, and its object. The tree is opened as that tells
    /// it.
    fn open_by_config(&self, root: &Root, labels: &VdevConfig) -> Result<(u64, PoolConfig)> {
        let object = root.directory.lookup_u64(pool_directory::CONFIG)?;
        let mut config = PoolConfig::from_nvlist(&read_packed(&root.mos, object)?)?;
        self.found.fix_paths(&mut config.tree);
        follow_moves(self.around, &mut config.tree);
        let tolerated = Tolerated { logs: self.spec.missing_log, unknown: false };
        let opened = if config.tree == *labels {
            self.storage.refuse_missing(tolerated)
        } else {
            self.storage.open_tree_without(&config.tree, self.intent, tolerated)
        };
        opened.map_err(|error| match error {
            OpenError::MissingLog { .. } => self.failed(missing_logs(self.found, &config.tree)),
            other => self.failed(open_fault(other)),
        })?;
        read_last(self.storage, &self.stragglers);
        Ok((object, config))
    }

    /// The features, and the guids of those that forbid to write. Storage learns what the pool's
    /// format asks of it.
    fn open_features(&self, root: &Root, version: u64) -> Result<(Arc<Features>, Vec<String>)> {
        let features = Arc::new(Features::open(root.mos.clone())?);
        root.mos.set_policy(features.mos_policy(version));
        let verdict = features.verdict()?;
        refuse_features(verdict.unreadable).map_err(|fault| self.failed(fault))?;
        let deflate = root.directory.find_u64(pool_directory::DEFLATE)?;
        self.storage.set_net_of_parity(deflate.unwrap_or(0) != 0);
        if let Some(salt) = root.directory.find(pool_directory::CHECKSUM_SALT)? {
            let bytes = salt.as_bytes().and_then(|bytes| <[u8; 32]>::try_from(bytes).ok());
            let bytes = bytes.ok_or_else(|| PoolError::Corrupt("checksum salt".into()))?;
            self.storage.set_salt(storage::Salt(bytes));
        }
        Ok((features, verdict.unwritable))
    }

    /// Whether the pool is not to be written, or cannot be.
    fn is_readonly(&self, root: &Root, removed: &Removed, unwritable: &[String]) -> Result<bool> {
        if self.spec.readonly {
            return Ok(true);
        }
        if !unwritable.is_empty() {
            tracing::warn!(pool = self.name, features = ?unwritable, "imported read-only: features for writing are not built");
            return Ok(true);
        }
        let is_removing = removed.is_removing() || root.directory.contains(pool_directory::OBSOLETE_BPOBJ)?;
        if is_removing {
            tracing::warn!(
                pool = self.name,
                "imported read-only: a device is being removed, which is not built"
            );
        }
        Ok(is_removing)
    }

    /// The newest group that there is.
    fn newest(&self, root: &Root) -> Uberblock {
        let found = if root.is_checkpoint { None } else { self.found.uberblocks().into_iter().next() };
        found.unwrap_or_else(|| root.candidate.uberblock.clone())
    }

    /// Reads all that a group says of the pool.
    fn read(&self, root: &Root, labels: &VdevConfig) -> Result<Core> {
        let Root { candidate, mos, directory, .. } = root;
        let (env, storage, spec, uberblock) =
            (&self.around.env, self.storage, self.spec, &candidate.uberblock);
        let (config_object, mut config) = self.open_by_config(root, labels)?;
        let removed = Removed::open(mos, directory, &config.tree, storage)?;
        read_biases(mos, storage)?;
        config.tree = storage.config();
        let (features, unwritable) = self.open_features(root, config.version)?;
        let dtl = DirtyTimeLogs::load(mos, &config.tree, uberblock.txg);
        self.stragglers.iter().for_each(|guid| storage.caught_up(*guid));
        dtl.mark(storage);
        let (maps, has_logs) = open_space(mos, storage, &config.tree, directory)?;
        let readonly = self.is_readonly(root, &removed, &unwritable)?;
        let data_errors = if spec.as_is { 0 } else { candidate.check(storage, mos)? };
        let newest = self.newest(root);
        let rewound = (newest.txg != uberblock.txg).then(|| Rewound {
            time: uberblock.timestamp,
            lost: newest.timestamp.saturating_sub(uberblock.timestamp),
            data_errors,
        });
        let sweeps = Sweeps::load(env.clone(), mos, &config.tree)?;
        if !spec.temporary {
            config.name = self.name.to_owned();
        }
        config.state = PoolState::Active;
        config.host = spec.host.clone();
        let deferred = directory.find_u64(pool_directory::SYNC_BPOBJ)?;
        let deferred = deferred.map(|object| Deferred::open(mos, object)).transpose()?;
        let checkpoint = CheckpointState::load(mos, directory, &config.tree, uberblock)?;
        storage.set_checkpoint(checkpoint.txg());
        let ddt = Ddt::open(env, mos, storage, directory)?;
        let scan = Arc::new(Scan::load(mos, directory)?);
        dtl.resume(scan.max_txg());
        let rebuilds = Rebuilds::load(env, mos, &config.tree, uberblock.txg)?;
        let scanning = scan.is_unfinished() || scan.is_scrubbing_errors();
        let errlog = ErrorLog::load(directory, scanning, features.is_enabled(BY_HEAD))?;
        let parts = Parts {
            storage: storage.clone(),
            mos: mos.clone(),
            frees: self.frees.clone(),
            features,
            maps,
            ddt,
            deferred,
            config,
            config_object,
            name: self.name.to_owned(),
            altroot: spec.altroot.clone(),
            // What is written next must be newer than all that was written, also after going back.
            txg: if readonly { uberblock.txg } else { newest.txg },
        };
        Ok(Core {
            removed,
            sweeps,
            dtl,
            lacks_zaps: AtomicBool::new(!directory.contains(pool_directory::VDEV_ZAP_MAP)?),
            has_logs: AtomicBool::new(has_logs),
            readonly,
            extras: Extras::read(mos, directory, self.found),
            errlog: Arc::new(errlog),
            checkpoint,
            scan,
            rebuilds,
            durable: Mutex::new(Durable { txg: uberblock.txg, root: uberblock.root_bp }),
            rewound,
            ..Core::blank(self.around, parts)
        })
    }

    /// Writes for the first time: that this host has the pool, and the uberblock.
    fn commit(&self, pool: &Pool, root: &Root) -> Result<()> {
        let (core, uberblock) = (&pool.core, &root.candidate.uberblock);
        mmp::claim(&self.around.env, self.storage, uberblock, &self.found.config, &self.spec.host)
            .map_err(|fault| self.failed(fault))?;
        let back = core.rewound.is_some() || root.checkpointed().is_some();
        core.keep_in(self.around.kept.as_ref(), Some(uberblock), back);
        let committed = if root.is_checkpoint {
            // From here on the checkpoint is the pool: what was done since is given up, and its
            // space used.
            core.checkpoint.gone_back(uberblock.checkpoint_txg);
            self.storage.commit_uberblock(uberblock, None)
        } else {
            self.storage.finish_commit(uberblock)
        };
        committed.map_err(|_| PoolError::Suspended)
    }

    /// Takes the pool into use: its first group, then its workers.
    fn start(&self, pool: &Arc<Pool>, root: &Root) -> Result<()> {
        pool.follow_props()?;
        pool.core.open_cache();
        pool.core.open_spares();
        let back_to = match root.checkpointed() {
            Some(txg) => Some(BackTo { txg, is_checkpoint: true }),
            None => {
                let txg = root.candidate.uberblock.txg;
                pool.core.rewound.map(|_| {
                    mark("import goes back to an older group");
                    BackTo { txg, is_checkpoint: false }
                })
            }
        };
        begin(pool, back_to, self.spec.missing_log)?;
        pool.core.resume_rebuilds();
        pool.core.scan.start(pool);
        pool.core.rebuilds.start(pool);
        if let Err(error) = pool.dsl.sweep_unfinished() {
            tracing::error!(pool = self.name, %error, "what unfinished receives have left stays");
        }
        pool.dsl.log_command(&self.spec.history)?;
        pool.stand_by();
        pool.core.sweeps.start(&pool.core.storage, &pool.core.txgs);
        pool.core.sysevent("pool_import");
        Ok(())
    }
}

/// The first group of the import. Before anything else it takes into use what intent logs lead to;
/// where the import went `back_to` a group, it drops the logs. A log that cannot be read to its end
/// is dropped from there on where that is `tolerated`.
fn begin(pool: &Arc<Pool>, back_to: Option<BackTo>, tolerated: bool) -> Result<()> {
    let txgs = &pool.core.txgs;
    let claimed = {
        let tx = Tx::held(txgs.enter_now()?);
        let missing = pool.core.missing_logs();
        let mut claimed = pool.dsl.claim_logs(tx.txg(), &|vdev| missing.contains(&vdev), back_to)?;
        if !tolerated && let Some((_, vdev)) = claimed.unknown.first() {
            let config = pool.config();
            return Err(refuse(&config.name, without_logs(config.tree.children.get(*vdev as usize))));
        }
        claimed.lost.append(&mut claimed.unknown);
        claimed.store(&tx);
        claimed
    };
    pool.core.note_lost_logs(&claimed.lost);
    txgs.start(pool.clone(), &|worker| pool.core.storage.spawn(worker));
    // Nothing on disk may look as if it came from the future (`spa_claim_max_txg`).
    loop {
        let synced = txgs.sync_empty()?;
        if synced >= claimed.newest {
            return Ok(());
        }
    }
}

/// Logs are missing.
fn missing_logs(found: &FoundPool, tree: &VdevConfig) -> ImportFault {
    let missing = |top: &&VdevConfig| top.is_log && found_vdev_state(found, top) == VdevState::Unavail;
    without_logs(tree.children.iter().filter(missing))
}

/// These logs are missing, or are there and do not give what they have.
fn without_logs<'a>(tops: impl IntoIterator<Item = &'a VdevConfig>) -> ImportFault {
    let member = |top: &VdevConfig| Member {
        name: config_name(top),
        is_log: top.is_log,
        devices: top.children.iter().map(config_name).collect(),
    };
    ImportFault::MissingLogs { logs: tops.into_iter().map(member).collect() }
}

fn config_name(vdev: &VdevConfig) -> String {
    vdev_name(&vdev.kind, vdev.path.as_deref(), vdev.guid, vdev.id)
}

fn open_fault(error: OpenError) -> ImportFault {
    match error {
        OpenError::MissingTop { .. } | OpenError::MissingLog { .. } => ImportFault::Unavailable,
        OpenError::Unsupported { kind } => ImportFault::VdevKind { kind },
        other => ImportFault::Configuration { message: other.to_string() },
    }
}

/// An image file that was copied onto a device is a disk from now on: OpenZFS opens no device as a
/// file. A disk that was copied into a file stays what it is, for it may go back.
fn follow_moves(around: &Surroundings, tree: &mut VdevConfig) {
    tree.visit_mut(&mut |vdev| {
        let is_device = |path: &String| around.env.disks.is_block_device(path);
        if vdev.kind == VdevKind::File && vdev.path.as_ref().is_some_and(is_device) {
            vdev.kind = VdevKind::Disk;
        }
    });
}

/// Until the dirty time logs are known: what one of several disks in a place of a raidz gives, it
/// gives for all of them.
fn read_last(storage: &Storage, stragglers: &[u64]) {
    for guid in stragglers {
        storage.mark_behind(*guid);
    }
}

/// The meta object set of a group, of which directory and configuration can be read.
fn open_mos(
    storage: &Arc<Storage>,
    uberblock: &Uberblock,
    frees: &Arc<FreeQueue>,
    usage: &Arc<MosUsage>,
) -> Result<Arc<Objset>> {
    let owner = MosOwner { storage: storage.clone(), frees: frees.clone(), usage: usage.clone() };
    let (root, owner) = (uberblock.root_bp, Arc::new(owner));
    let mos = Objset::open(storage.clone(), root, owner, ReadOnlyAdmission::shared(), ObjsetPolicy::meta())?;
    // A root that opens may still lead nowhere.
    let directory = Zap::open(&mos, pool_directory::OBJECT)?;
    read_packed(&mos, directory.lookup_u64(pool_directory::CONFIG)?)?;
    Ok(mos)
}

/// Learns from the top-level vdevs' ZAPs which of them were set apart for what.
fn read_biases(mos: &Arc<Objset>, storage: &Storage) -> Result<()> {
    let mut biases = Vec::new();
    for (index, top) in storage.config().children.iter().enumerate() {
        let Some(zap) = top.top_zap.filter(|zap| *zap != 0) else { continue };
        let value = Zap::open(mos, zap)?.find(ALLOCATION_BIAS)?;
        let bias = value.as_ref().and_then(|value| value.as_text()).map_or(Bias::None, Bias::from_name);
        biases.push((index, bias));
    }
    storage.update_config(|root| {
        for (index, bias) in biases {
            root.children[index].bias = bias;
        }
    });
    Ok(())
}

/// Opens the space maps of all top-level vdevs that can be allocated from; tells whether log space
/// maps were read.
fn open_space(
    mos: &Arc<Objset>,
    storage: &Arc<Storage>,
    tree: &VdevConfig,
    directory: &Zap,
) -> Result<(Arc<SpaceMaps>, bool)> {
    let maps = SpaceMaps::new(mos.clone());
    let mut vdevs = Vec::new();
    for top in tree.children.iter().filter(|top| has_space(top)) {
        let shift = top.metaslab_shift.unwrap_or(0);
        let array = top.metaslab_array.unwrap_or(0);
        let asize = top.asize.unwrap_or(0);
        if !(9..=50).contains(&shift) || array == 0 {
            return Err(PoolError::Corrupt(format!("top-level vdev {} without metaslabs", top.id)));
        }
        let device =
            storage.tops().iter().find(|open| u64::from(open.id) == top.id).map_or(0, |open| open.asize);
        if asize > device || asize >> shift > METASLABS_MAX {
            return Err(PoolError::Corrupt(format!(
                "top-level vdev {} is not as large as configured",
                top.id
            )));
        }
        let vdev = VdevSpace {
            vdev: top.id as u32,
            ashift: top.ashift.unwrap_or(9) as u32,
            metaslab_shift: shift as u32,
            metaslab_count: asize >> shift,
            array,
        };
        maps.add_vdev(vdev);
        vdevs.push(vdev);
    }
    let has_logs = read_logs(mos, &maps, tree, directory)?;
    for vdev in vdevs {
        let known = maps.summaries(&vdev)?;
        storage.init_metaslabs(vdev.vdev, vdev.metaslab_shift, vdev.metaslab_count, known);
    }
    storage.attach_space(maps.clone());
    Ok((maps, has_logs))
}

fn has_space(top: &VdevConfig) -> bool {
    let old_log = top.is_log && top.metaslab_array.unwrap_or(0) == 0;
    !old_log
        && !matches!(top.kind, VdevKind::Hole | VdevKind::Missing | VdevKind::Indirect)
        && top.asize.is_some()
}

fn read_logs(mos: &Arc<Objset>, maps: &SpaceMaps, tree: &VdevConfig, directory: &Zap) -> Result<bool> {
    let Some(logs) = directory.find_u64(pool_directory::LOG_SPACEMAP_ZAP)? else { return Ok(false) };
    let mut flushed = std::collections::BTreeMap::new();
    for top in &tree.children {
        let Some(zap) = top.top_zap else { continue };
        if let Some(array) = Zap::open(mos, zap)?.find_u64(UNFLUSHED_TXGS)? {
            let count = top.asize.unwrap_or(0) >> top.metaslab_shift.unwrap_or(63).min(63);
            let bytes = mos.hold(array)?.read_bytes(0, (count * 8) as usize)?;
            flushed.insert(top.id as u32, bytes);
        }
    }
    let flushed_txg = |vdev: u32, metaslab: u64| {
        let bytes = flushed.get(&vdev).map_or(&[][..], Vec::as_slice);
        u64_at(bytes, metaslab as usize * 8, Endian::Little, "unflushed txgs").unwrap_or(0)
    };
    let mut entries: Vec<(u64, u64)> = Vec::new();
    for entry in Zap::open(mos, logs)?.entries()? {
        let txg = entry.text().and_then(|text| u64::from_str_radix(text, 16).ok());
        let txg = txg.or_else(|| entry.words.first().copied());
        let txg = txg.ok_or_else(|| PoolError::Corrupt("list of log space maps".into()))?;
        entries.push((txg, entry.value.first()));
    }
    entries.sort_unstable();
    for (txg, object) in entries {
        maps.read_log(object, txg, &flushed_txg)?;
    }
    Ok(true)
}
