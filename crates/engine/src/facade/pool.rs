//! One imported pool: `engine_api::Pool` over `pool::Pool`.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex, Weak};

use ::pool::change::Change as PoolChange;
use ::pool::dsl::{DatasetKind as PoolKind, ListFilter, Listed};
use ::pool::errlog::HurtObject;
use ::pool::recv::Step;
use ::pool::spa::members::NewDisk;
use ::pool::spa::vdevs::NewVdevs;
use ::pool::sweep::{SweepCommand, SweepKind, SweepRefusal};
use engine_api::{
    Advice, AdviceQuestion, Change, Committed, Counts, DatasetFilter, DatasetInfo, DatasetKind,
    DedupEstimate, Delegation, DestroyPlan, DestroyQuery, DiffEntry, Error, FileSystem, HistoryRecord,
    InitializeCommand, Pool, PoolStatus, PropValue, PropertyChange, ReceiveEvent, ReceiveRequest, Received,
    Result, SendEvent, SendRequest, ServedVolume, SpaceExplained, SpaceUse, Spender, TrimCommand, Upgradable,
    VdevTallies, Volume, VolumePlan,
};
use env::{Env, lock};

use super::cachefile::CacheFile;
use super::convert::{api_error, delegation, pool_grant, prop_value, scan_command, space_explained};
use super::counting::Counting;
use super::ctldir::Ctldir;
use super::open_once::OpenTable;
use super::rights::Deed;
use super::serve::{Mounted, SharedList, SnapshotGuids};
use super::volumes::{OpenVolume, VolumeHandle};
use super::{cachefile, compatibility, measure, pool_props, quotas, vdev_spec};
use crate::advise::rehearsal::Stage;
use crate::zpl::path::path_of;

pub(super) struct LocalPool {
    pub(super) env: Env,
    pub(super) pool: Arc<::pool::Pool>,
    /// Open file systems by dataset object.
    pub(super) mounted: OpenTable<Mounted>,
    /// One file system is opened at a time.
    pub(super) mounting: Mutex<()>,
    /// What servers are given of each dataset that was ever open.
    pub(super) ctldirs: Mutex<BTreeMap<u64, Arc<Ctldir>>>,
    pub(super) guids: Mutex<SnapshotGuids>,
    pub(super) shared: Mutex<Option<SharedList>>,
    /// Open volumes by dataset object, and what servers are given of each that was ever open.
    pub(super) volumes: OpenTable<OpenVolume>,
    pub(super) volume_handles: Mutex<BTreeMap<u64, Arc<VolumeHandle>>>,
    /// By property, as of a generation: the volumes that it says are to be served.
    pub(super) served_volumes: Mutex<BTreeMap<String, (u64, Vec<ServedVolume>)>>,
    /// Names of datasets, by object, whose logs could not be replayed: they are read-only.
    pub(super) unreplayable: Mutex<BTreeMap<u64, String>>,
    /// The engine's: grows with every change of what may be served.
    pub(super) generation: Arc<AtomicU64>,
    /// Where the advisor rehearses.
    pub(super) stage: Option<Arc<dyn Stage>>,
    pub(super) counting: Arc<Counting>,
    cachefile: Mutex<CacheFile>,
    default_cachefile: Option<String>,
    pub(super) this: Weak<LocalPool>,
}

impl LocalPool {
    pub fn new(
        env: Env,
        pool: Arc<::pool::Pool>,
        generation: Arc<AtomicU64>,
        stage: Option<Arc<dyn Stage>>,
        (cachefile, default_cachefile): (CacheFile, Option<String>),
    ) -> Arc<LocalPool> {
        Arc::new_cyclic(|this| LocalPool {
            this: this.clone(),
            ctldirs: Mutex::default(),
            guids: Mutex::default(),
            env,
            pool,
            mounted: Mutex::default(),
            mounting: Mutex::default(),
            shared: Mutex::default(),
            volumes: Mutex::default(),
            volume_handles: Mutex::default(),
            served_volumes: Mutex::default(),
            unreplayable: Mutex::default(),
            generation,
            stage,
            counting: Arc::default(),
            cachefile: Mutex::new(cachefile),
            default_cachefile,
        })
    }

    /// In which cache file it stands.
    pub(super) fn cachefile(&self) -> CacheFile {
        lock(&self.cachefile).clone()
    }

    /// The same as property; `None` where it is the daemon's own.
    pub(super) fn cachefile_shown(&self) -> Option<String> {
        self.cachefile().shown(self.default_cachefile.as_deref())
    }

    pub fn inner(&self) -> &Arc<::pool::Pool> {
        &self.pool
    }

    /// A file system keeps its version itself.
    fn upgrade_file_system(&self, name: &str, props: &[PropertyChange]) -> Result<()> {
        let Some(version) = props.iter().find(|prop| prop.name == "version") else { return Ok(()) };
        // What is no number is "current".
        let version = version.value.parse().unwrap_or(ondisk::znode::VERSION);
        let fs = self.mount(name)?.fs.clone();
        fs.upgrade(version)?;
        // Who asks for the newest version waits until all is counted (`zfs_ioc_userspace_upgrade`).
        self.counting.add(&self.env, &fs);
        while fs.lacks_accounting() {
            let txg = self.pool.core().txgs.synced();
            self.pool.core().txgs.wait_synced(txg + 1).map_err(|error| api_error(error.into()))?;
        }
        self.pool.core().txgs.sync_now().map_err(|error| api_error(error.into()))?;
        Ok(())
    }

    /// What a change means for open file systems, and for those who serve them.
    pub(super) fn after_change(&self) {
        self.refresh_file_systems();
        self.refresh_volumes();
        self.generation.fetch_add(1, SeqCst);
    }

    fn trim(&self, guids: &[u64], command: TrimCommand, history: &str) -> ::pool::Result<u64> {
        let command = match command {
            TrimCommand::Start { rate } => SweepCommand::Start { how: (rate > 0).then_some(rate) },
            TrimCommand::Suspend => SweepCommand::Suspend,
            TrimCommand::Cancel => SweepCommand::Cancel,
        };
        self.sweep(guids, SweepKind::Trim, command, history)
    }

    fn initialize(&self, guids: &[u64], command: InitializeCommand, history: &str) -> ::pool::Result<u64> {
        let command = match command {
            InitializeCommand::Start { value } => SweepCommand::Start { how: value },
            InitializeCommand::Suspend => SweepCommand::Suspend,
            InitializeCommand::Cancel => SweepCommand::Cancel,
            InitializeCommand::Forget => SweepCommand::Forget,
        };
        self.sweep(guids, SweepKind::Initialize, command, history)
    }

    /// `Refused` in the words of `zpool`, a line for each disk that cannot be.
    fn sweep(
        &self,
        guids: &[u64],
        kind: SweepKind,
        command: SweepCommand,
        history: &str,
    ) -> ::pool::Result<u64> {
        let (txg, refused) = self.pool.sweep(guids, kind, command, history)?;
        if refused.is_empty() {
            return Ok(txg);
        }
        let report = self.pool.report();
        let line = |(guid, why): &(u64, SweepRefusal)| {
            format!("cannot {} '{}': {}", kind.name(), report.root.name_of(*guid), why.words(kind))
        };
        Err(::pool::PoolError::Refused(refused.iter().map(line).collect::<Vec<_>>().join("\n")))
    }

    /// A change of datasets or properties; gives its transaction group.
    fn commit_datasets(&self, change: &Change, history: &str) -> Result<u64> {
        let inner = pool_change(change).ok_or_else(|| Error::Unsupported("this change".into()))?;
        if let Change::SetPoolProperties { props } = change {
            let refuse = |why| Error::Refused(format!("cannot set property for '{}': {why}", self.name()));
            compatibility::check(props).map_err(refuse)?;
        }
        let txg = match change {
            Change::Destroy { names, .. } => self.without(names, || self.pool.dsl.commit(inner, history)),
            Change::Rollback { snapshot } => {
                let head = snapshot.split('@').next().unwrap_or_default().to_owned();
                self.without(&[head], || self.pool.dsl.commit(inner, history))
            }
            Change::SetProperties { name, props } => match new_size(props) {
                Some(size) => self.resize(name, size, || self.pool.dsl.commit(inner, history)),
                None => self.pool.dsl.commit(inner, history),
            },
            _ => self.pool.dsl.commit(inner, history),
        };
        let txg = txg.map_err(api_error)?;
        if let Change::SetProperties { name, props } = change {
            self.upgrade_file_system(name, props)?;
        }
        if matches!(change, Change::SetPoolProperties { .. }) {
            self.pool.follow_props().map_err(api_error)?;
        }
        self.after_change();
        Ok(txg)
    }

    /// As `zpool status -v` names it (lib/libzfs/libzfs_pool.c, `zpool_obj_to_path`).
    fn name_of_hurt(&self, hurt: &HurtObject) -> String {
        let object = hurt.object;
        if hurt.dataset == 0 {
            return format!("<metadata>:<{object:#x}>");
        }
        let Some(dataset) = &hurt.dataset_name else {
            return format!("<{:#x}>:<{object:#x}>", hurt.dataset);
        };
        let open = self.pool.dsl.open_dataset(dataset).map_err(api_error);
        match open.and_then(|open| path_of(open.objset(), object)) {
            Ok(path) => format!("{dataset}:{path}"),
            Err(_) => format!("{dataset}:<{object:#x}>"),
        }
    }

    /// Whatever may read from disks is refused at once while the pool waits for an operator, as
    /// every ioctl of OpenZFS with POOL_CHECK_SUSPENDED is: nobody who administers it is to be
    /// stuck in it.
    pub(super) fn not_suspended(&self) -> Result<()> {
        if self.pool.core().storage.is_suspended() { Err(Error::Suspended) } else { Ok(()) }
    }
}

fn pairs(props: &[PropertyChange]) -> Vec<(String, String)> {
    props.iter().map(|prop| (prop.name.clone(), prop.value.clone())).collect()
}

/// What a volume's size is to be; what is no number is refused later.
fn new_size(props: &[PropertyChange]) -> Option<u64> {
    stdx::number::parse(&props.iter().find(|prop| prop.name == "volsize")?.value).ok()
}

/// `None`: a change this version of the engine does not know.
fn pool_change(change: &Change) -> Option<PoolChange> {
    Some(match change {
        Change::CreateFilesystem { name, parents, props } => {
            PoolChange::CreateFilesystem { name: name.clone(), parents: *parents, props: pairs(props) }
        }
        Change::CreateVolume { name, parents, sparse, props } => PoolChange::CreateVolume {
            name: name.clone(),
            parents: *parents,
            sparse: *sparse,
            props: pairs(props),
        },
        Change::Destroy { names, defer } => PoolChange::Destroy { names: names.clone(), defer: *defer },
        Change::Snapshot { names, recursive, props } => {
            PoolChange::Snapshot { names: names.clone(), recursive: *recursive, props: pairs(props) }
        }
        Change::Rollback { snapshot } => PoolChange::Rollback { snapshot: snapshot.clone() },
        Change::Clone { snapshot, name, parents, props } => PoolChange::Clone {
            snapshot: snapshot.clone(),
            name: name.clone(),
            parents: *parents,
            props: pairs(props),
        },
        Change::Promote { name } => PoolChange::Promote { name: name.clone() },
        Change::Bookmark { source, name } => {
            PoolChange::Bookmark { source: source.clone(), name: name.clone() }
        }
        Change::Hold { snapshots, tag, recursive } => {
            PoolChange::Hold { snapshots: snapshots.clone(), tag: tag.clone(), recursive: *recursive }
        }
        Change::Release { snapshots, tag, recursive } => {
            PoolChange::Release { snapshots: snapshots.clone(), tag: tag.clone(), recursive: *recursive }
        }
        Change::SetProperties { name, props } => {
            PoolChange::SetProperties { name: name.clone(), props: pairs(props) }
        }
        Change::Inherit { name, property, received } => {
            PoolChange::Inherit { name: name.clone(), property: property.clone(), received: *received }
        }
        Change::Rename { from, to, parents, recursive } => PoolChange::Rename {
            from: from.clone(),
            to: to.clone(),
            parents: *parents,
            recursive: *recursive,
        },
        Change::AbortReceive { name } => PoolChange::Receive(Step::Abort { name: name.clone() }),
        Change::Allow { name, grants } => {
            PoolChange::Allow { name: name.clone(), grants: grants.iter().map(pool_grant).collect() }
        }
        Change::Unallow { name, grants, recursive } => PoolChange::Unallow {
            name: name.clone(),
            grants: grants.iter().map(pool_grant).collect(),
            recursive: *recursive,
        },
        Change::SetPoolProperties { props } => PoolChange::SetPoolProperties { props: pairs(props) },
        _ => return None,
    })
}

fn new_vdevs(new: &engine_api::NewVdevs) -> NewVdevs {
    NewVdevs {
        data: new.data.iter().map(vdev_spec).collect(),
        logs: new.logs.iter().map(vdev_spec).collect(),
        special: new.special.iter().map(vdev_spec).collect(),
        dedup: new.dedup.iter().map(vdev_spec).collect(),
        cache: new.cache.clone(),
        spares: new.spares.clone(),
        ashift: new.ashift,
    }
}

fn new_disk(new: &engine_api::NewDevice) -> NewDisk {
    NewDisk { path: new.path.clone(), force: new.force, ashift: new.ashift, rebuild: new.sequential }
}

fn kind(kind: PoolKind) -> DatasetKind {
    match kind {
        PoolKind::Filesystem => DatasetKind::Filesystem,
        PoolKind::Volume => DatasetKind::Volume,
        PoolKind::Snapshot => DatasetKind::Snapshot,
        PoolKind::Bookmark => DatasetKind::Bookmark,
    }
}

fn pool_kinds(kinds: &[DatasetKind]) -> Vec<PoolKind> {
    let of = |kind: &DatasetKind| match kind {
        DatasetKind::Filesystem => PoolKind::Filesystem,
        DatasetKind::Volume => PoolKind::Volume,
        DatasetKind::Snapshot => PoolKind::Snapshot,
        DatasetKind::Bookmark => PoolKind::Bookmark,
    };
    kinds.iter().map(of).collect()
}

fn info(listed: Listed) -> DatasetInfo {
    DatasetInfo {
        name: listed.name,
        kind: kind(listed.kind),
        guid: listed.guid,
        createtxg: listed.createtxg,
        props: listed.props.into_iter().map(prop_value).collect(),
    }
}

impl Pool for LocalPool {
    fn name(&self) -> String {
        self.pool.name()
    }

    fn guid(&self) -> u64 {
        self.pool.guid()
    }

    fn status(&self) -> PoolStatus {
        self.whole_status()
    }

    fn properties(&self, names: &[String]) -> Result<Vec<PropValue>> {
        pool_props::all(self, &self.status(), names)
    }

    fn upgradable(&self) -> Result<Upgradable> {
        Ok(pool_props::upgradable(&self.pool))
    }

    fn datasets(&self, filter: &DatasetFilter) -> Result<Vec<DatasetInfo>> {
        self.not_suspended()?;
        let wanted = pool_kinds(&filter.kinds);
        let filter = ListFilter {
            roots: filter.roots.clone(),
            depth: filter.depth,
            kinds: wanted,
            props: filter.props.clone(),
        };
        let found = self.pool.dsl.list(&filter).map_err(api_error)?;
        self.only_visible(found.into_iter().map(info).collect())
    }

    fn commit(&self, change: &Change, history: &str) -> Result<Committed> {
        if !matches!(change, Change::ClearErrors { .. }) {
            self.not_suspended()?;
        }
        self.permit(Deed::Change(change))?;
        let vdevs = match change {
            Change::AddVdevs { vdevs, force } => {
                Some(self.pool.add_vdevs(&new_vdevs(vdevs), *force, history))
            }
            Change::RemoveVdev { guid } => Some(self.pool.remove_vdev(*guid, history)),
            Change::OnlineVdev { guid, expand } => Some(self.pool.online_vdev(*guid, *expand, history)),
            Change::OfflineVdev { guid, temporary } => {
                Some(self.pool.offline_vdev(*guid, *temporary, history))
            }
            Change::FaultVdev { guid, temporary } => Some(self.pool.fault_vdev(*guid, *temporary, history)),
            Change::AttachVdev { guid, new } => Some(self.pool.attach_vdev(*guid, &new_disk(new), history)),
            Change::DetachVdev { guid } => Some(self.pool.detach_vdev(*guid, history)),
            Change::ReplaceVdev { guid, new } => Some(self.pool.replace_vdev(*guid, &new_disk(new), history)),
            Change::ReopenVdevs => Some(self.pool.reopen(history)),
            Change::TakeCheckpoint => Some(self.pool.take_checkpoint(history)),
            Change::DiscardCheckpoint => Some(self.pool.discard_checkpoint(history)),
            Change::Reguid { guid } => Some(self.pool.reguid(*guid, history)),
            Change::TrimVdevs { guids, command } => Some(self.trim(guids, *command, history)),
            Change::InitializeVdevs { guids, command } => Some(self.initialize(guids, *command, history)),
            Change::Scan(command) => Some(self.pool.scan_command(scan_command(*command), history)),
            Change::ClearErrors { guid } => Some(self.pool.clear_errors(*guid, history)),
            _ => None,
        };
        if let Some(done) = vdevs {
            let txg = done.map_err(api_error)?;
            if matches!(change, Change::ClearErrors { guid: None }) {
                self.give_up_logs()?;
            }
            self.after_change();
            return Ok(Committed { txg });
        }
        let (cachefile, rest) = cachefile::split(&self.name(), change)?;
        if let Some(cachefile) = cachefile {
            *lock(&self.cachefile) = cachefile;
            if rest.is_none() {
                self.pool.dsl.log_command(history).map_err(api_error)?;
                return Ok(Committed { txg: 0 });
            }
        }
        let change = rest.as_ref().unwrap_or(change);
        let (limits, rest) = quotas::split(change)?;
        let txg = match &rest {
            Some(rest) => self.commit_datasets(rest, history)?,
            None => 0,
        };
        if let Change::SetProperties { name, .. }
        | Change::CreateFilesystem { name, .. }
        | Change::Clone { name, .. } = change
            && !limits.is_empty()
        {
            let txg = self.set_limits(name, &limits)?;
            if rest.is_none() {
                self.pool.dsl.log_command(history).map_err(api_error)?;
            }
            return Ok(Committed { txg });
        }
        Ok(Committed { txg })
    }

    fn permits(&self, change: &Change) -> Result<()> {
        self.permit(Deed::Change(change))
    }

    fn plan_create(&self, change: &Change) -> Result<Option<VolumePlan>> {
        let Some(change) = pool_change(change) else { return Ok(None) };
        let plan = self.pool.dsl.plan_create(&change).map_err(api_error)?;
        Ok(plan.map(|plan| VolumePlan {
            size: plan.size,
            block: plan.block,
            limit: plan.limit.to_owned(),
            reserved: plan.reserved,
        }))
    }

    fn plan_destroy(&self, query: &DestroyQuery) -> Result<DestroyPlan> {
        self.not_suspended()?;
        let DestroyQuery { name, recursive, clones, defer } = query.clone();
        let query = ::pool::dsl::DestroyQuery { name, recursive, clones, defer };
        let plan = self.pool.dsl.plan_destroy(&query).map_err(api_error)?;
        Ok(DestroyPlan { names: plan.names, bytes: plan.bytes })
    }

    fn send(
        &self,
        request: &SendRequest,
        stream: &mut dyn Write,
        tell: &mut dyn FnMut(SendEvent),
    ) -> Result<()> {
        self.permit(Deed::Send(request))?;
        self.run_send(request, stream, tell)
    }

    fn receive(
        &self,
        request: &ReceiveRequest,
        stream: &mut dyn Read,
        tell: &mut dyn FnMut(ReceiveEvent),
    ) -> Result<Received> {
        self.permit(Deed::Receive(request))?;
        let received = self.run_receive(request, stream, tell)?;
        if !request.dry_run {
            self.pool.dsl.log_command(&request.history).map_err(api_error)?;
        }
        Ok(received)
    }

    fn space_use(&self, dataset: &str, of: Spender) -> Result<Vec<SpaceUse>> {
        self.not_suspended()?;
        self.permit(Deed::SpaceUse(dataset, of))?;
        LocalPool::space_use(self, dataset, of)
    }

    fn explain_space(&self, dataset: &str) -> Result<SpaceExplained> {
        self.not_suspended()?;
        Ok(space_explained(self.pool.dsl.explain(dataset).map_err(api_error)?))
    }

    fn diff(&self, from: &str, to: &str, tell: &mut dyn FnMut(DiffEntry)) -> Result<()> {
        self.not_suspended()?;
        self.permit(Deed::Diff(from))?;
        self.run_diff(from, to, tell)
    }

    fn deleted_files(&self, dataset: &str) -> Result<u64> {
        self.not_suspended()?;
        Ok(self.pool.dsl.deleted_objects(dataset).map_err(api_error)?.len() as u64)
    }

    fn holds(&self, snapshot: &str) -> Result<Vec<(String, u64)>> {
        self.not_suspended()?;
        self.pool.dsl.holds(snapshot).map_err(api_error)
    }

    fn delegations(&self, dataset: &str) -> Result<Vec<Delegation>> {
        self.not_suspended()?;
        let found = self.pool.dsl.delegations(dataset).map_err(api_error)?;
        Ok(found.into_iter().map(delegation).collect())
    }

    fn history(&self, internal: bool) -> Result<Vec<HistoryRecord>> {
        self.not_suspended()?;
        self.permit(Deed::Administer)?;
        let records = self.pool.dsl.history(internal).map_err(api_error)?;
        let shown = records.into_iter().map(|record| HistoryRecord {
            time: record.time,
            text: record.text,
            txg: record.txg,
            internal: record.internal,
            user: record.who.map(|who| if who == 0 { "root".to_owned() } else { who.to_string() }),
            host: record.host,
        });
        Ok(shown.collect())
    }

    fn open_fs(&self, dataset: &str) -> Result<Arc<dyn FileSystem>> {
        self.not_suspended()?;
        let mounted = self.mount(dataset)?;
        // The pool may count more than it did when this was opened.
        self.counting.add(&self.env, &mounted.fs);
        Ok(mounted.served())
    }

    fn open_volume(&self, dataset: &str) -> Result<Arc<dyn Volume>> {
        self.not_suspended()?;
        Ok(self.volume(dataset)?)
    }

    fn give_up(&self) {
        self.pool.give_up();
    }

    fn sync(&self) -> Result<u64> {
        self.not_suspended()?;
        if self.pool.core().readonly {
            return Ok(self.pool.core().txgs.synced());
        }
        self.pool.core().txgs.sync_now().map_err(|error| api_error(error.into()))
    }

    fn sync_empty(&self) -> Result<u64> {
        self.not_suspended()?;
        if self.pool.core().readonly {
            return Ok(self.pool.core().txgs.synced());
        }
        self.pool.core().txgs.sync_empty().map_err(|error| api_error(error.into()))
    }

    fn prefetch_dedup_tables(&self) -> Result<()> {
        self.not_suspended()?;
        self.permit(Deed::Administer)?;
        self.pool.core().ddt.prefetch().map_err(api_error)
    }

    fn errors(&self) -> Result<Vec<String>> {
        self.not_suspended()?;
        self.permit(Deed::Administer)?;
        let hurt = self.pool.hurt_objects().map_err(api_error)?;
        Ok(hurt.iter().map(|hurt| self.name_of_hurt(hurt)).collect())
    }

    fn log_counts(&self) -> Counts {
        measure::log_counts(&self.pool.core().zil_stats)
    }

    fn vdev_tallies(&self) -> Vec<VdevTallies> {
        let (report, mut all) = (self.pool.report(), Vec::new());
        measure::vdev_tallies(&report.root, &mut all);
        report.cache.iter().for_each(|cache| measure::vdev_tallies(cache, &mut all));
        all
    }

    fn advise(&self, question: &AdviceQuestion) -> Result<Advice> {
        self.permit(Deed::Administer)?;
        Ok(crate::advise::advise(&self.pool, question, self.stage.as_deref()))
    }

    fn estimate_dedup(&self, dataset: &str) -> Result<DedupEstimate> {
        self.not_suspended()?;
        self.permit(Deed::Administer)?;
        super::dedup::estimate(&self.pool, dataset)
    }
}
