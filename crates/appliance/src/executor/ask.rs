//! What administrators and operators ask of services.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, MutexGuard, PoisonError};
use std::time::Duration;

use api_types::{
    AlertKind, AutoSyncPolicy, ClockDispute, NextRun, PeerRelation, PolicyFault, PolicyWake, RunReason,
    Schedule, Service, ServiceClock, ServiceCommand, ServiceCreate, ServiceLog, ServiceLogEntry, ServicePlan,
    ServiceSpec, ServiceState, SleepingPolicy, SlowPool, SnapForecast, SyncOrigin, SyncReplica, SyncTarget,
};
use engine_api::{Cancel, Error, Pool};
use services::autosnap::coverage::Named;
use services::autosnap::forecast::forecast;
use services::autosnap::plan::plan;
use services::autosnap::view::View;
use services::autosync::memory::Memory as Synced;
use services::failover::Question;
use services::instance::{Home, Instance};
use services::property::{self, Policy};
use services::schedule::Calendar;
use services::time::{DAY, Time};

use super::round::{PATIENCE, all_of, extent, session, targets};
use super::shelf::{Kept, Memory, ShelfFault};
use super::sync::{Extent, Peer};
use super::work::{Lodging, Work, Working};
use super::{Services, State, facts, home, sync, tier};
use crate::{Failure, NotServed, Result};

/// Days that are planned ahead.
const MOST_DAYS: u32 = 366;
/// Runs that are foretold.
const MOST_RUNS: usize = 1_000;
/// Replicas that lag and are told of.
const MOST_LAGS: usize = 100;
/// How long a stream that is broken off is waited for.
const PAUSE: Duration = Duration::from_secs(60);
/// Snapshots that are read for a plan.
const MOST_READ: usize = 100_000;

impl From<ShelfFault> for Failure {
    fn from(fault: ShelfFault) -> Failure {
        Failure::Service(match fault {
            ShelfFault::Missing => NotServed::NoShelf,
            ShelfFault::TooMany => NotServed::TooMany,
            ShelfFault::Full | ShelfFault::Failed(_) => NotServed::NotKept { why: fault.why() },
        })
    }
}

/// Who keeps what a service is set to do.
enum Lodged {
    Home(Box<Lodging>),
    /// It has no home: this machine does.
    Nowhere,
    /// Its home takes nothing now.
    NotNow(Error),
}

impl Lodged {
    fn lodging(self) -> Option<Lodging> {
        match self {
            Lodged::Home(lodging) => Some(*lodging),
            Lodged::Nowhere | Lodged::NotNow(_) => None,
        }
    }
}

/// What a service is set to do that replicates to this peer, or from it; and whether it pulls.
fn policy_with<'a>(peer: &str, service: &'a Working) -> Option<(&'a AutoSyncPolicy, bool)> {
    let ServiceSpec::AutoSync(policy) = &service.instance.spec else { return None };
    let pulls = matches!(&policy.origin, SyncOrigin::Peer { peer: known } if known == peer);
    let sends = matches!(&policy.target, SyncTarget::Peer { peer: known, .. } if known == peer);
    (pulls || sends).then_some((policy, pulls))
}

/// Whether two services replicate from different sources.
fn is_of_other_source(before: &ServiceSpec, after: &ServiceSpec) -> bool {
    let (ServiceSpec::AutoSync(before), ServiceSpec::AutoSync(after)) = (before, after) else { return false };
    (&before.source, &before.origin) != (&after.source, &after.origin)
}

fn missing(id: &str) -> Failure {
    NotServed::Unknown { id: id.to_owned() }.into()
}

impl Services {
    /// All of them, by id.
    pub fn all(&self) -> Vec<Service> {
        let state = self.lock_now();
        state.services.values().map(|service| self.shown(&state, service)).collect()
    }

    /// How old the newest snapshot of a dataset may be, in seconds, and which service says so: by
    /// the guids of the datasets that auto-snap services with such a limit cover. Those that are
    /// disabled say nothing; of several the strictest counts.
    pub fn stale_limits(&self) -> BTreeMap<u64, (u64, String)> {
        let mut limits: BTreeMap<u64, (u64, String)> = BTreeMap::new();
        for service in self.lock().services.values() {
            let ServiceSpec::AutoSnap(policy) = &service.instance.spec else { continue };
            let (Some(limit), Work::Snapshots(snapshots)) = (policy.stale_after, &service.work) else {
                continue;
            };
            if service.instance.state == ServiceState::Disabled {
                continue;
            }
            for guid in snapshots.coverage.datasets.keys() {
                let said = (limit, service.instance.id.clone());
                limits
                    .entry(*guid)
                    .and_modify(|known| *known = said.clone().min(known.clone()))
                    .or_insert(said);
            }
        }
        limits
    }

    /// Replicas that lag by more than their services allow; of those that are disabled, none. No
    /// more than [`MOST_LAGS`].
    pub fn lags(&self) -> Vec<AlertKind> {
        let state = self.lock_now();
        let now = state.belief.now;
        let mut lags = Vec::new();
        for service in state.services.values() {
            let ServiceSpec::AutoSync(AutoSyncPolicy { lag: Some(limit), .. }) = &service.instance.spec
            else {
                continue;
            };
            if service.instance.state == ServiceState::Disabled {
                continue;
            }
            let late = |it: &SyncReplica| {
                let since = it.current.unwrap_or(service.instance.since);
                u64::try_from(now.saturating_sub(since)).is_ok_and(|seconds| seconds > *limit)
            };
            // Those that lag most come first.
            let replicas = service.sync(now).map_or_else(Vec::new, |status| status.replicas);
            lags.extend(replicas.into_iter().filter(late).map(|it| AlertKind::ReplicaLags {
                service: service.instance.id.clone(),
                dataset: it.dataset,
                current: it.current,
                limit: *limit,
            }));
        }
        lags.truncate(MOST_LAGS);
        lags
    }

    /// # Errors
    /// [`NotServed::Unknown`].
    pub fn one(&self, id: &str) -> Result<Service> {
        let state = self.lock_now();
        let service = state.services.get(id).ok_or_else(|| missing(id))?;
        Ok(self.shown(&state, service))
    }

    /// What a service is set to do.
    pub fn spec(&self, id: &str) -> Result<ServiceSpec> {
        let state = self.lock();
        Ok(state.services.get(id).ok_or_else(|| missing(id))?.instance.spec.clone())
    }

    fn shown(&self, state: &State, service: &Working) -> Service {
        let now = state.belief.now;
        // A look that has found nothing to do so far is no run.
        let silent = service.run.as_ref().filter(|run| !run.is_told && service.is_running());
        let instance = silent.map_or(&service.instance, |run| &run.before);
        let Instance { id, spec, state: status, cause, since, last, .. } = instance.clone();
        let slow = state.busy.iter().filter(|(_, since)| now - **since > PATIENCE);
        let slow = slow.map(|(pool, since)| SlowPool { pool: self.name_of(*pool), since: *since });
        let is_of_pools = !matches!(service.work, Work::Script { .. } | Work::Tier(_) | Work::Sync(_));
        let named = service.lodging.as_ref().map(|lodging| lodging.dataset.clone());
        let home = service.instance.home.and_then(|_| named.or_else(|| property::home_of(&spec)));
        Service {
            id,
            spec,
            state: status,
            cause,
            since,
            last,
            next: service.next(now),
            next_look: service.next_look(),
            covers: service.covers(),
            findings: service.findings(),
            skipped: service.skipped(),
            waits_for: slow.filter(|_| is_of_pools).collect(),
            clock: state.belief.dispute,
            home,
            away: service.is_away(),
            sync: service.sync(now),
            tier: service.tier(now),
        }
    }

    /// Makes a service. Its home keeps its policy, or this machine where it has none, or none that
    /// takes it now.
    pub fn create(&self, asked: ServiceCreate) -> Result<Service> {
        let ServiceCreate { id, mut spec, enabled } = asked;
        let _changing = self.changing();
        let now = {
            let state = self.lock_now();
            if state.services.contains_key(&id) {
                return Err(NotServed::Exists { id }.into());
            }
            state.belief.now
        };
        self.check(&id, &spec)?;
        self.resolve(&id, &mut spec);
        let instance = Instance::new(&id, spec, now);
        let mut instance = instance.ok_or_else(|| NotServed::BadId { id: id.clone() })?;
        if enabled {
            instance.command(ServiceCommand::Enable, now).map_err(NotServed::NotNow)?;
        }
        let mut kept = Kept { instance, memory: Memory::default() };
        let lodged = self.keep_at_home(&mut kept, "create")?;
        if let Lodged::NotNow(error) = &lodged {
            tracing::warn!(id, %error, "this machine keeps this service until its pool takes it");
        }
        let home = kept.instance.home;
        let made = self.put(&mut self.lock(), kept, lodged.lodging(), now);
        if let (Err(_), Some(home)) = (&made, home)
            && let Err(why) = self.take_from_home(&id, home, "remove")
        {
            tracing::error!(id, ?why, "this service was not made, and its home keeps it");
        }
        made
    }

    /// Sets all of what a service does. What it remembers stays; what is under way stops.
    pub fn set(&self, id: &str, spec: ServiceSpec) -> Result<Service> {
        let _changing = self.changing();
        self.set_with(id, spec, |_| {})
    }

    /// Of the sources that peers are asked about, the guids of those that are in use there. Who
    /// does not answer is not asked again, and after the first that is in use nobody is.
    pub(crate) fn originals(&self, questions: &[Question<'_>]) -> BTreeSet<u64> {
        let mut silent = BTreeSet::new();
        for Question { peer, service, source } in questions {
            if silent.contains(peer) {
                continue;
            }
            match self.world.original(peer, service, *source) {
                Ok(true) => return BTreeSet::from([*source]),
                Ok(false) => {}
                Err(why) => {
                    tracing::warn!(peer, service, ?why, "whether an original lives is not known");
                    silent.insert(peer);
                }
            }
        }
        BTreeSet::new()
    }

    /// The services that pull from peers, and from which.
    pub(crate) fn pulls(&self) -> BTreeMap<String, String> {
        let state = self.lock();
        let pulls = |(id, service): (&String, &Working)| match &service.instance.spec {
            ServiceSpec::AutoSync(AutoSyncPolicy { origin: SyncOrigin::Peer { peer }, .. }) => {
                Some((id.clone(), peer.clone()))
            }
            _ => None,
        };
        state.services.iter().filter_map(pulls).collect()
    }

    /// Whether a service replicates to this peer.
    pub(crate) fn sends_to(&self, id: &str, peer: &str) -> bool {
        let state = self.lock();
        let found = state.services.get(id).and_then(|service| policy_with(peer, service));
        found.is_some_and(|(_, pulls)| !pulls)
    }

    /// What is replicated to this peer, and from it, for its eyes.
    pub fn relations(&self, peer: &str) -> Vec<PeerRelation> {
        let state = self.lock_now();
        let now = state.belief.now;
        let relation = |service: &Working| {
            let (AutoSyncPolicy { lag: allowed, .. }, pulls) = policy_with(peer, service)?;
            let Service { id, state, cause, next, sync, .. } = self.shown(&state, service);
            let replicas = sync.map_or_else(Vec::new, |sync| sync.replicas);
            Some(PeerRelation {
                service: id,
                pulls,
                state,
                cause,
                next,
                allowed: *allowed,
                at: now,
                replicas,
            })
        };
        state.services.values().filter_map(relation).collect()
    }

    /// A peer, for a service that replicates to it: replica → guid of its source.
    pub(crate) fn peer(&self, peer: &str, id: &str, sources: BTreeMap<String, u64>) -> Box<dyn Peer> {
        self.world.peer(peer, id, sources)
    }

    /// Sets a service that replicates the other way from now on, and enables it. It remembers
    /// nothing of the way before.
    pub(crate) fn turn_round(&self, id: &str, spec: ServiceSpec) -> Result<Service> {
        let changing = self.changing();
        let set = self.set_with(id, spec, |memory| memory.sync = Default::default())?;
        drop(changing);
        match set.state {
            ServiceState::Disabled => self.command(id, ServiceCommand::Enable),
            _ => Ok(set),
        }
    }

    /// Disables a service that replicates, and waits until what is under way has ended. Whether it
    /// was enabled; one that is not here never is.
    pub(crate) fn pause(&self, id: &str) -> Result<bool> {
        let was_enabled = {
            let state = self.lock();
            let Some(service) = state.services.get(id) else { return Ok(false) };
            if !matches!(service.work, Work::Sync(_)) {
                return Ok(false);
            }
            service.instance.state != ServiceState::Disabled
        };
        if was_enabled {
            self.command(id, ServiceCommand::Disable)?;
        }
        let is_at_it = |state: &mut State| state.syncing.contains(id);
        let waited = self.bell.wait_timeout_while(self.lock(), PAUSE, is_at_it);
        let (mut state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        match is_at_it(&mut state) {
            true => Err(NotServed::StillRuns { id: id.to_owned() }.into()),
            false => Ok(was_enabled),
        }
    }

    /// `forget`: what it is not to remember.
    fn set_with(&self, id: &str, mut spec: ServiceSpec, forget: impl FnOnce(&mut Memory)) -> Result<Service> {
        let (mut kept, now) = {
            let state = self.lock_now();
            let service = state.services.get(id).ok_or_else(|| missing(id))?;
            if service.is_away() {
                return Err(NotServed::Away { id: id.to_owned() }.into());
            }
            (service.kept(), state.belief.now)
        };
        if kept.instance.spec.kind() != spec.kind() {
            return Err(NotServed::OtherKind { id: id.to_owned() }.into());
        }
        self.check(id, &spec)?;
        self.resolve(id, &mut spec);
        if is_of_other_source(&kept.instance.spec, &spec) {
            kept.memory.sync.unlist();
        }
        kept.instance.spec = spec;
        forget(&mut kept.memory);
        kept.instance.restarted(now);
        let before = kept.instance.home;
        let lodged = self.keep_at_home(&mut kept, "set")?;
        if let (Lodged::NotNow(error), Some(_)) = (&lodged, before) {
            return Err(error.clone().into());
        }
        if let Some(old) = before.filter(|old| kept.instance.home != Some(*old)) {
            // It has another home, or none: what is left here would be somebody else's.
            self.take_from_home(id, old, "set")?;
        }
        let mut state = self.lock();
        self.put(&mut state, kept, lodged.lodging(), now)
    }

    /// Has targets by the names that their datasets have now. Where a pool does not tell, they stay
    /// as they are.
    fn resolve(&self, id: &str, spec: &mut ServiceSpec) {
        if let Err(error) = home::resolve(&*self.engine, spec) {
            tracing::warn!(id, %error, "what this service is about could not be looked at");
        }
    }

    /// Only one at a time sets services.
    pub(super) fn changing(&self) -> MutexGuard<'_, ()> {
        // It guards nothing in memory.
        self.changing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a service can be run.
    pub(crate) fn check(&self, id: &str, spec: &ServiceSpec) -> Result<()> {
        Work::new(id, spec, &|name| self.world.zone(name))
            .map(drop)
            .map_err(|why| NotServed::Fault(why).into())
    }

    /// Has the home of a service keep it, and notes that in `kept`.
    fn keep_at_home(&self, kept: &mut Kept, verb: &str) -> Result<Lodged> {
        kept.instance.home = None;
        let Instance { id, spec, state, .. } = &kept.instance;
        let (id, disabled) = (id.clone(), *state == ServiceState::Disabled);
        let Some(name) = property::home_of(spec) else { return Ok(Lodged::Nowhere) };
        let place = match home::place(&*self.engine, &name) {
            Ok(Some(place)) => place,
            Ok(None) => return Ok(Lodged::Nowhere),
            Err(error) => return Ok(Lodged::NotNow(error)),
        };
        let Some(policy) = home::policy(spec, disabled, &place) else { return Ok(Lodged::Nowhere) };
        let mut is_promoted = false;
        let done = home::change(&place, &format!("cistern svc {verb} {id}"), |policies, known| {
            is_promoted = known.is_some_and(|known| known.received.is_some());
            policies.insert(id, policy.clone());
            Ok(())
        });
        let dataset = place.dataset.clone();
        match done {
            Ok(Ok(())) => {
                kept.instance.home = Some(place.home());
                Ok(Lodged::Home(Box::new(Lodging { policy, dataset, is_promoted })))
            }
            // This machine has room for it.
            Ok(Err(NotServed::Policy { fault: PolicyFault::TooLong { .. }, .. })) => Ok(Lodged::Nowhere),
            Ok(Err(why)) => Err(why.into()),
            Err(error) => Ok(Lodged::NotNow(error)),
        }
    }

    /// Has a home keep a service no more.
    fn take_from_home(&self, id: &str, home: Home, verb: &str) -> Result<()> {
        let Some(place) = home::place_of(&*self.engine, home)? else { return Ok(()) };
        let done = home::change(&place, &format!("cistern svc {verb} {id}"), |policies, _| {
            policies.remove(id);
            Ok(())
        })?;
        Ok(done?)
    }

    /// Has datasets keep what this machine kept for them, where nothing was set since `serial`.
    /// What they keep already stays.
    pub(super) fn move_home(&self, moving: &[(String, Policy)], serial: u64) {
        if moving.is_empty() {
            return;
        }
        let Ok(_changing) = self.changing.try_lock() else { return };
        if self.lock().serial != serial {
            return;
        }
        for (id, Policy { disabled, spec }) in moving {
            let Some(Ok(Some(place))) = property::home_of(spec).map(|name| home::place(&*self.engine, &name))
            else {
                continue;
            };
            let Some(policy) = home::policy(spec, *disabled, &place) else { continue };
            let done = home::change(&place, &format!("cistern svc set {id}"), |policies, _| {
                policies.entry(id.clone()).or_insert(policy);
                Ok(())
            });
            if let Err(error) = done {
                tracing::debug!(id, %error, "this machine keeps this service for now");
            }
        }
    }

    /// Policies that datasets keep and that are not at work.
    pub fn sleeping(&self) -> Vec<SleepingPolicy> {
        self.lock().sleeping.values().flatten().cloned().collect()
    }

    /// What came with a stream becomes the dataset's own, and begins: it is no replica any more.
    pub fn wake(&self, asked: PolicyWake) -> Result<()> {
        let PolicyWake { dataset, id } = asked;
        let _changing = self.changing();
        if self.lock().services.get(&id).is_some_and(|service| !service.is_away()) {
            return Err(NotServed::Exists { id }.into());
        }
        let unknown = || NotServed::NotAsleep { dataset: dataset.clone(), id: id.clone() };
        let place = home::place(&*self.engine, &dataset)?.ok_or_else(unknown)?;
        let done = home::change(&place, &format!("cistern svc wake {id}@{dataset}"), |policies, known| {
            let received = known.and_then(|known| known.received.as_deref()).ok_or_else(unknown)?;
            let policy = property::parse(received)
                .map_err(|fault| NotServed::Policy { dataset: dataset.clone(), fault })?
                .remove(&id)
                .ok_or_else(unknown)?;
            policies.insert(id.clone(), property::adopted(&policy));
            Ok(())
        })?;
        done?;
        let mut state = self.lock();
        state.serial += 1;
        self.read_names_again(&mut state);
        self.stir(&mut state);
        Ok(())
    }

    /// Takes a service that was made or set. What the one before had under way stops.
    fn put(&self, state: &mut State, kept: Kept, lodging: Option<Lodging>, now: Time) -> Result<Service> {
        let edition = state.edition + 1;
        let id = kept.instance.id.clone();
        let working = Working::new(edition, kept, &|name| self.world.zone(name));
        let mut working = working.map_err(NotServed::Fault)?;
        self.shelf.set(&working.kept(), &[ServiceLog { at: now, entry: ServiceLogEntry::Set }])?;
        (state.edition, working.lodging) = (edition, lodging);
        state.serial += 1;
        if let Some(before) = state.services.get(&id) {
            before.stop.cancel();
        }
        working.hasten(now);
        let status = working.instance.state;
        state.services.insert(id.clone(), working);
        // What it covers may be something that nobody has covered before.
        self.read_names_again(state);
        self.cover(state, now);
        self.announce(&id, Some(status));
        self.stir(state);
        let service = state.services.get(&id).ok_or_else(|| missing(&id))?;
        Ok(self.shown(state, service))
    }

    /// Which datasets there are is to be read again at once.
    pub(super) fn read_names_again(&self, state: &mut State) {
        state.names.values_mut().for_each(|known| (known.generation, known.at) = (None, Time::MIN));
    }

    /// What can be asked of a service in the state that it is in.
    pub fn command(&self, id: &str, command: ServiceCommand) -> Result<Service> {
        let _changing = self.changing();
        self.keep_command(id, command)?;
        let mut state = self.lock_now();
        state.serial += 1;
        let now = state.belief.now;
        let service = state.services.get_mut(id).ok_or_else(|| missing(id))?;
        let before = service.instance.clone();
        match &service.run {
            // It looks whether there is anything to do, and looks once more.
            Some(run) if !run.is_told && command == ServiceCommand::Run => service.instance.asked = true,
            _ => service.instance.command(command, now).map_err(NotServed::NotNow)?,
        }
        match command {
            // Who had it rest may have done what it waited for.
            ServiceCommand::Enable if before.state == ServiceState::Disabled => {
                service.stop = Cancel::default();
                service.memory.sync.try_again();
                service.forget_failures();
                service.hasten(now);
            }
            ServiceCommand::Disable => service.stop.cancel(),
            ServiceCommand::Clear => {
                service.memory.sync.clear();
                service.forget_failures();
                service.hasten(now);
            }
            ServiceCommand::Enable | ServiceCommand::Run => {}
        }
        if service.instance != before {
            let (status, cause) = (service.instance.state, service.instance.cause.clone());
            let entry = ServiceLogEntry::State { state: status, cause };
            let lines = (status != before.state).then_some(ServiceLog { at: now, entry });
            if let Err(fault) = self.shelf.set(&service.kept(), lines.as_slice()) {
                service.instance = before;
                return Err(fault.into());
            }
            if status != before.state {
                self.announce(id, Some(status));
            }
        }
        if command == ServiceCommand::Enable {
            self.read_names_again(&mut state);
        }
        self.stir(&mut state);
        let service = state.services.get(id).ok_or_else(|| missing(id))?;
        Ok(self.shown(&state, service))
    }

    /// Its home keeps whether a service is enabled.
    fn keep_command(&self, id: &str, command: ServiceCommand) -> Result<()> {
        let disabled = match command {
            ServiceCommand::Enable => false,
            ServiceCommand::Disable => true,
            ServiceCommand::Run | ServiceCommand::Clear => return Ok(()),
        };
        let (mut kept, now) = {
            let state = self.lock_now();
            let service = state.services.get(id).ok_or_else(|| missing(id))?;
            if service.is_away() {
                return Err(NotServed::Away { id: id.to_owned() }.into());
            }
            (service.kept(), state.belief.now)
        };
        let Some(home) = kept.instance.home else { return Ok(()) };
        if (kept.instance.state == ServiceState::Disabled) == disabled {
            return Ok(());
        }
        kept.instance.command(command, now).map_err(NotServed::NotNow)?;
        let Some(place) = home::place_of(&*self.engine, home)? else { return Ok(()) };
        let verb = if disabled { "disable" } else { "enable" };
        let done = home::change(&place, &format!("cistern svc {verb} {id}"), |policies, _| {
            policies.entry(id.to_owned()).and_modify(|policy| policy.disabled = disabled);
            Ok(())
        })?;
        done?;
        let mut state = self.lock();
        if let Some(lodging) = state.services.get_mut(id).and_then(|service| service.lodging.as_mut()) {
            lodging.policy.disabled = disabled;
        }
        Ok(())
    }

    /// Forgets a service; its snapshots stay. What it has under way stops. What a home that is not
    /// here keeps comes back with it.
    pub fn remove(&self, id: &str) -> Result<()> {
        let _changing = self.changing();
        let home = {
            let state = self.lock();
            let service = state.services.get(id).ok_or_else(|| missing(id))?;
            service.instance.home.filter(|_| !service.is_away())
        };
        if let Some(home) = home {
            self.take_from_home(id, home, "remove")?;
        }
        let mut state = self.lock();
        state.serial += 1;
        self.shelf.remove(id)?;
        if let Some(service) = state.services.remove(id) {
            service.stop.cancel();
        }
        self.announce(id, None);
        Ok(())
    }

    /// The newest lines of what a service did, oldest first.
    pub fn log(&self, id: &str) -> Result<Vec<ServiceLog>> {
        if !self.lock().services.contains_key(id) {
            return Err(missing(id));
        }
        Ok(self.shelf.log(id)?)
    }

    /// What time services go by.
    pub fn clock(&self) -> ServiceClock {
        let belief = self.lock_now().belief;
        ServiceClock { believed: belief.now, dispute: belief.dispute }
    }

    /// An administrator says that the clock of the machine is right.
    pub fn agree(&self) -> Result<ServiceClock> {
        let mut state = self.lock();
        let before: Option<ClockDispute> = state.belief.dispute;
        let mut clock = state.clock.clone();
        let belief = clock.agree(self.world.reading());
        self.shelf.note_clock(&clock)?;
        (state.clock, state.belief) = (clock, belief);
        if before.is_some() {
            for service in state.services.values().filter(|it| it.instance.state != ServiceState::Disabled) {
                let entries = vec![ServiceLogEntry::Clock { dispute: None }];
                self.note(service, service.instance.state, belief.now, entries);
            }
        }
        self.stir(&mut state);
        Ok(ServiceClock { believed: belief.now, dispute: belief.dispute })
    }

    /// What a service would do now, or in the next days, if it was enabled.
    pub fn plan(&self, id: &str, days: u32) -> Result<ServicePlan> {
        let (now, spec, served) = {
            let state = self.lock_now();
            let service = state.services.get(id).ok_or_else(|| missing(id))?;
            (state.belief.now, service.instance.spec.clone(), service.instance.served)
        };
        let until = now.saturating_add(i64::from(days.min(MOST_DAYS)) * DAY);
        let planned = ServicePlan { now, until, ..ServicePlan::default() };
        match &spec {
            ServiceSpec::AutoSnap(_) => self.plan_snapshots(id, planned),
            ServiceSpec::AutoScrub(policy) | ServiceSpec::AutoTrim(policy) => {
                Ok(ServicePlan { runs: self.times(&policy.schedule, served, now, until), ..planned })
            }
            ServiceSpec::AutoSync(_) => self.plan_syncs(id, planned),
            ServiceSpec::AutoTier(policy) => {
                let runs = self.times(&policy.schedule, served, now, until);
                self.plan_tier(id, ServicePlan { runs, ..planned })
            }
            ServiceSpec::Script(policy) => {
                Ok(ServicePlan { runs: self.times(&policy.schedule, served, now, until), ..planned })
            }
        }
    }

    fn plan_syncs(&self, id: &str, planned: ServicePlan) -> Result<ServicePlan> {
        let names = self.names_for(id)?;
        // A copy: what is only asked changes nothing.
        let (mut session, memory) = {
            let state = self.lock();
            let service = state.services.get(id).ok_or_else(|| missing(id))?;
            let (Work::Sync(syncing), ServiceSpec::AutoSync(policy)) =
                (&service.work, &service.instance.spec)
            else {
                return Ok(planned);
            };
            (session(service, syncing, policy, (planned.now, true)), service.memory.sync.clone())
        };
        let spec = self.spec(id)?;
        let cover = |names: Vec<Named>| self.covered(id, &spec, &memory, &names, planned.now);
        if session.origin.is_here() {
            session.extent = cover(all_of(&names));
        }
        let here = (&*self.engine, &*self.world);
        let syncs = sync::foretell(here, &session, planned.now, &cover, self.problem)?;
        Ok(ServicePlan { syncs, ..planned })
    }

    /// All that a service covers of these datasets.
    fn covered(&self, id: &str, spec: &ServiceSpec, memory: &Synced, names: &[Named], now: Time) -> Extent {
        let work = Work::new(id, spec, &|name| self.world.zone(name));
        let (Ok(Work::Sync(mut syncing)), ServiceSpec::AutoSync(policy)) = (work, spec) else {
            // It was checked when it was set, and is of another kind never.
            return Extent::default();
        };
        let mut policy = policy.clone();
        syncing.cover(&mut policy, names);
        let all: Vec<u64> = syncing.names.keys().copied().collect();
        extent(memory, &syncing, policy.source.dataset, &all, now)
    }

    fn plan_tier(&self, id: &str, planned: ServicePlan) -> Result<ServicePlan> {
        let names = self.names_for(id)?;
        // A copy: what is only asked changes nothing.
        let session = {
            let state = self.lock();
            let service = state.services.get(id).ok_or_else(|| missing(id))?;
            let mut spec = service.instance.spec.clone();
            let work = Work::new(id, &spec, &|name| self.world.zone(name)).map_err(NotServed::Fault)?;
            let (Work::Tier(mut tiering), ServiceSpec::AutoTier(policy)) = (work, &mut spec) else {
                return Ok(planned);
            };
            tiering.cover(policy, &names);
            tiering.session(id, policy, &service.stop)
        };
        let tier = tier::foretell(&*self.engine, &*self.world, &session, planned.now)?;
        Ok(ServicePlan { tier: Some(tier), ..planned })
    }

    /// The datasets that a service may cover, by pool.
    fn names_for(&self, id: &str) -> Result<BTreeMap<u64, Arc<Vec<Named>>>> {
        let pools = self.engine.pools();
        let wanted = {
            let state = self.lock();
            targets(state.services.get(id).ok_or_else(|| missing(id))?).to_vec()
        };
        let read = |pool: &Arc<dyn Pool>| {
            let names = facts::names(&**pool, &facts::targets_in(&**pool, &pools, &wanted))?;
            Ok((pool.guid(), Arc::new(names)))
        };
        pools.iter().map(read).collect()
    }

    fn times(&self, schedule: &Schedule, served: Time, now: Time, until: Time) -> Vec<NextRun> {
        // It was checked when it was set.
        let Ok(calendar) = Calendar::new(schedule, &|name| self.world.zone(name)) else { return Vec::new() };
        let due = calendar.due(served, now).map(|due| match due.missed {
            0 => NextRun { at: now, reason: RunReason::Scheduled },
            missed => NextRun { at: now, reason: RunReason::CatchUp { missed } },
        });
        let after = std::iter::successors(calendar.next_after(now), |at| calendar.next_after(*at));
        let after = after.take_while(|at| *at <= until);
        let after = after.map(|at| NextRun { at, reason: RunReason::Scheduled });
        due.into_iter().chain(after).take(MOST_RUNS).collect()
    }

    fn plan_snapshots(&self, id: &str, planned: ServicePlan) -> Result<ServicePlan> {
        let pools = self.engine.pools();
        let names = self.names_for(id)?;
        // A copy: what is only asked changes nothing.
        let (work, memory, is_promoted) = {
            let state = self.lock();
            let service = state.services.get(id).ok_or_else(|| missing(id))?;
            let is_promoted = service.is_promoted();
            let Kept { mut instance, memory } = service.kept();
            let work = Work::new(id, &instance.spec, &|name| self.world.zone(name));
            let Work::Snapshots(mut snapshots) = work.map_err(NotServed::Fault)? else {
                return Ok(planned);
            };
            if let ServiceSpec::AutoSnap(policy) = &mut instance.spec {
                snapshots.cover(policy, &names, planned.now);
            }
            (snapshots, memory.snapshots, is_promoted)
        };
        let (mut views, mut left_out): (Vec<View>, u64) = (Vec::new(), 0);
        for pool in &pools {
            let Some(part) = work.parts.get(&pool.guid()) else { continue };
            let datasets: Vec<_> = part.names.iter().map(|(guid, name)| (*guid, name.clone())).collect();
            if datasets.is_empty() {
                continue;
            }
            let taken: usize = views.iter().map(|view| view.snapshots.len()).sum();
            let read = facts::views(&**pool, &datasets, is_promoted, MOST_READ.saturating_sub(taken).max(1))?;
            left_out += read.left.len() as u64;
            views.extend(read.views);
        }
        let ServicePlan { now, until, .. } = planned;
        let snapshots = match until > now {
            true => forecast(&work.policy, &work.coverage, &memory, &views, now, until),
            false => SnapForecast {
                plans: vec![plan(&work.policy, &work.coverage, &memory, &views, now).plan],
                ends_early: None,
            },
        };
        Ok(ServicePlan { snapshots: Some(snapshots), left_out, ..planned })
    }
}
