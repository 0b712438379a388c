//! `engine_api::Pool` of an imported pool: asks the engine's policy and whether the caller may, has
//! the parts of the pool do what is asked for, and says what came of it.
//!
//! The policy sees what others ask for. What the engine does by itself goes past it:
//! `make_change` and `list_datasets` are for that.
//!
//! A change is taken apart here: the cache file of a pool and the quotas of users, which the layer
//! below does not keep, go their own way, and the rest is one change of that layer.

use std::io::{Read, Write};
use std::sync::Arc;

use ::pool::change::Premise;
use ::pool::errlog::HurtObject;
use ::pool::sweep::{SweepCommand, SweepKind};
use engine_api::{
    Advice, AdviceQuestion, Change, Committed, Counts, DatasetFilter, DatasetInfo, DatasetPage, DatasetPlace,
    DedupEstimate, Delegation, DestroyPlan, DestroyQuery, DiffEntry, Error, FileSystem, HistoryRecord,
    Identity, InitializeCommand, Pool, PoolStatus, PropValue, PropertyChange, ReceiveEvent, ReceiveRequest,
    Received, Result, Secrets, SendEvent, SendRequest, SpaceExplained, SpaceUse, Spender, TrimCommand,
    Upgradable, VdevTallies, Volume, VolumePlan,
};
use refusal::{Action, Refused, SweepFault};
use stdx::premise;

use super::change::{new_size, pool_change};
use super::convert::api_error;
use super::pool::LocalPool;
use super::rights::{Deed, Landing, administrators_only};
use super::{cachefile, compatibility, measure, pool_props, quotas};
use crate::zpl::path::path_of;

impl LocalPool {
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

    /// `Refused` says it of each disk that cannot be.
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
        let of_one = |(guid, fault): (u64, SweepFault)| {
            let device = report.root.name_of(guid);
            let action = match kind {
                SweepKind::Trim => Action::Trim { device },
                SweepKind::Initialize => Action::Initialize { device },
            };
            Refused::new(action, fault)
        };
        Err(Refused::several(refused.into_iter().map(of_one).collect()).into())
    }

    /// A change of datasets or properties; gives its transaction group.
    fn commit_datasets(&self, change: &Change, history: &str) -> Result<u64> {
        let inner = pool_change(change).ok_or_else(|| Error::Unsupported("this change".into()))?;
        if let Change::SetPoolProperties { props } = change {
            let refuse = |fault| Refused::new(Action::SetProperty { name: self.name() }, fault);
            compatibility::check(props).map_err(refuse)?;
        }
        let premise = self.premise();
        let commit = || self.pool.dsl.commit_on(premise, inner, history);
        let txg = match change {
            Change::Destroy { names, .. } => self.without(names, commit),
            Change::Rollback { snapshot } => {
                let head = snapshot.split('@').next().unwrap_or_default().to_owned();
                self.without(&[head], commit)
            }
            Change::SetProperties { name, props } => match new_size(props) {
                Some(size) => self.resize(name, size, commit),
                None => commit(),
            },
            _ => commit(),
        };
        let txg = txg.map_err(api_error)?;
        if let Change::SetProperties { name, props } = change {
            self.upgrade_file_system(name, props)?;
        }
        if matches!(change, Change::SetPoolProperties { .. }) {
            self.pool.follow_props().map_err(api_error)?;
        }
        // Servers list all datasets when the generation grows. Snapshots are not in that list.
        match change.is_of_snapshots() {
            true => self.refresh(),
            false => self.after_change(),
        }
        Ok(txg)
    }

    /// What the change that is about to be made relies on.
    fn premise(&self) -> Option<Premise> {
        let (dataset, versions) = match premise::take()? {
            premise::Premise::Version { subject, versions } => (subject, versions),
            premise::Premise::Same { things } => return Some(Premise::Same { things, without: None }),
            premise::Premise::Without { things, property } => {
                return Some(Premise::Same { things, without: Some(property) });
            }
        };
        let policy = self.policy.clone();
        let holds = move |mut now: DatasetInfo| {
            now.props.iter_mut().for_each(|prop| policy.show(prop));
            versions.contains(&now.version())
        };
        Some(Premise::Settings { dataset, holds: Arc::new(holds) })
    }

    /// As [`Pool::datasets`], past the policy.
    pub(super) fn list_datasets(&self, filter: &DatasetFilter) -> Result<Vec<DatasetInfo>> {
        Ok(self.list_page(filter, None, usize::MAX)?.datasets)
    }

    fn list_page(
        &self,
        filter: &DatasetFilter,
        after: Option<&DatasetPlace>,
        limit: usize,
    ) -> Result<DatasetPage> {
        self.not_suspended()?;
        let DatasetPage { datasets, next } = self.pool.dsl.page(filter, after, limit).map_err(api_error)?;
        Ok(DatasetPage { datasets: self.only_visible(datasets)?, next })
    }

    /// As [`Pool::commit`], past the policy.
    pub(super) fn make_change(&self, change: &Change, history: &str) -> Result<Committed> {
        if !matches!(change, Change::ClearErrors { .. }) {
            self.not_suspended()?;
        }
        self.permit(Deed::Change(change))?;
        let vdevs = match change {
            Change::AddVdevs { vdevs, force } => Some(self.pool.add_vdevs(vdevs, *force, history)),
            Change::RemoveVdev { guid } => Some(self.pool.remove_vdev(*guid, history)),
            Change::OnlineVdev { guid, expand } => Some(self.pool.online_vdev(*guid, *expand, history)),
            Change::OfflineVdev { guid, temporary } => {
                Some(self.pool.offline_vdev(*guid, *temporary, history))
            }
            Change::FaultVdev { guid, temporary } => Some(self.pool.fault_vdev(*guid, *temporary, history)),
            Change::AttachVdev { guid, new } => Some(self.pool.attach_vdev(*guid, new, history)),
            Change::DetachVdev { guid } => Some(self.pool.detach_vdev(*guid, history)),
            Change::ReplaceVdev { guid, new } => Some(self.pool.replace_vdev(*guid, new, history)),
            Change::ReopenVdevs => Some(self.pool.reopen(history)),
            Change::TakeCheckpoint => Some(self.pool.take_checkpoint(history)),
            Change::DiscardCheckpoint => Some(self.pool.discard_checkpoint(history)),
            Change::Reguid { guid } => Some(self.pool.reguid(*guid, history)),
            Change::TrimVdevs { guids, command, rate } => {
                Some(self.sweep(guids, SweepKind::Trim, trim_command(*command, *rate), history))
            }
            Change::InitializeVdevs { guids, command, value } => {
                let command = initialize_command(*command, *value);
                Some(self.sweep(guids, SweepKind::Initialize, command, history))
            }
            Change::Scan(command) => Some(self.pool.scan_command(*command, history)),
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
            self.set_cachefile(cachefile);
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
}

fn trim_command(command: TrimCommand, rate: u64) -> SweepCommand {
    match command {
        TrimCommand::Start => SweepCommand::Start { how: (rate > 0).then_some(rate) },
        TrimCommand::Suspend => SweepCommand::Suspend,
        TrimCommand::Cancel => SweepCommand::Cancel,
    }
}

fn initialize_command(command: InitializeCommand, value: Option<u64>) -> SweepCommand {
    match command {
        InitializeCommand::Start => SweepCommand::Start { how: value },
        InitializeCommand::Suspend => SweepCommand::Suspend,
        InitializeCommand::Cancel => SweepCommand::Cancel,
        InitializeCommand::Forget => SweepCommand::Forget,
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

    fn datasets_page(
        &self,
        filter: &DatasetFilter,
        secrets: Secrets,
        after: Option<&DatasetPlace>,
        limit: usize,
    ) -> Result<DatasetPage> {
        if secrets == Secrets::Shown {
            administrators_only()?;
        }
        let mut page = self.list_page(filter, after, limit)?;
        let props = page.datasets.iter_mut().flat_map(|info| &mut info.props);
        props.for_each(|prop| match secrets {
            Secrets::Hidden => self.policy.show(prop),
            Secrets::Shown => self.policy.reveal(prop),
        });
        Ok(page)
    }

    fn settings(&self, dataset: &str) -> Result<DatasetInfo> {
        self.not_suspended()?;
        let mut info = self.pool.dsl.settings(dataset).map_err(api_error)?;
        info.props.iter_mut().for_each(|prop| self.policy.show(prop));
        Ok(info)
    }

    fn identity(&self, dataset: &str) -> Result<Identity> {
        administrators_only()?;
        self.not_suspended()?;
        self.identity_of(dataset)
    }

    fn commit(&self, change: &Change, history: &str) -> Result<Committed> {
        let mut change = change.clone();
        if let Change::CreateFilesystem { props, .. }
        | Change::CreateVolume { props, .. }
        | Change::SetProperties { props, .. }
        | Change::Snapshot { props, .. }
        | Change::Clone { props, .. } = &mut change
        {
            self.policy.admit(props)?;
        }
        let done = self.make_change(&change, &self.policy.recorded(history))?;
        self.policy.committed(&change);
        Ok(done)
    }

    fn permits(&self, change: &Change) -> Result<()> {
        self.permit(Deed::Change(change))
    }

    fn plan_create(&self, change: &Change) -> Result<Option<VolumePlan>> {
        let Some(change) = pool_change(change) else { return Ok(None) };
        self.pool.dsl.plan_create(&change).map_err(api_error)
    }

    fn plan_destroy(&self, query: &DestroyQuery) -> Result<DestroyPlan> {
        self.not_suspended()?;
        self.pool.dsl.plan_destroy(query).map_err(api_error)
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
        let mut request = request.clone();
        self.policy.admit(&mut request.props)?;
        // Each dataset of the stream is asked about again when it is known where it comes to lie.
        let landing = Landing { into: &request.target, origin: None };
        self.permit(Deed::Receive(&request, landing))?;
        let received = self.run_receive(&request, stream, tell)?;
        if !request.dry_run {
            self.pool.dsl.log_command(&self.policy.recorded(&request.history)).map_err(api_error)?;
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
        self.pool.dsl.explain(dataset).map_err(api_error)
    }

    fn diff(&self, from: &str, to: &str, tell: &mut dyn FnMut(DiffEntry)) -> Result<()> {
        self.not_suspended()?;
        self.permit(Deed::Diff(from))?;
        self.permit(Deed::Diff(to))?;
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
        self.pool.dsl.delegations(dataset).map_err(api_error)
    }

    fn history(&self, internal: bool) -> Result<Vec<HistoryRecord>> {
        self.not_suspended()?;
        self.permit(Deed::Inspect)?;
        self.pool.dsl.history(internal).map_err(api_error)
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
        self.permit(Deed::Operate)?;
        self.pool.core().ddt.prefetch().map_err(api_error)
    }

    fn errors(&self) -> Result<Vec<String>> {
        self.not_suspended()?;
        self.permit(Deed::Inspect)?;
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
        self.permit(Deed::Inspect)?;
        Ok(crate::advise::advise(&self.pool, question, self.stage.as_deref()))
    }

    fn estimate_dedup(&self, dataset: &str) -> Result<DedupEstimate> {
        self.not_suspended()?;
        self.permit(Deed::Inspect)?;
        super::dedup::estimate(&self.pool, dataset)
    }
}
