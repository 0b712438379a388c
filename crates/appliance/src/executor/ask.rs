//! What administrators and operators ask of services.

use std::collections::BTreeMap;
use std::sync::Arc;

use api_types::{
    ClockDispute, NextRun, RunReason, Schedule, Service, ServiceClock, ServiceCommand, ServiceCreate,
    ServiceLog, ServiceLogEntry, ServicePlan, ServiceSpec, ServiceState, SlowPool, SnapForecast,
};
use engine_api::Cancel;
use services::autosnap::forecast::forecast;
use services::autosnap::plan::plan;
use services::autosnap::view::View;
use services::instance::Instance;
use services::schedule::Calendar;
use services::time::{DAY, Time};

use super::round::{PATIENCE, targets};
use super::shelf::{Kept, Memory, ShelfFault};
use super::work::{Work, Working};
use super::{Services, State, facts};
use crate::{Failure, NotServed, Result};

/// Days that are planned ahead.
const MOST_DAYS: u32 = 366;
/// Runs that are foretold.
const MOST_RUNS: usize = 1_000;
/// Snapshots that are read for a plan.
const MOST_READ: usize = 100_000;

impl From<ShelfFault> for Failure {
    fn from(fault: ShelfFault) -> Failure {
        Failure::Service(match fault {
            ShelfFault::Missing => NotServed::NoShelf,
            ShelfFault::TooMany => NotServed::TooMany,
            ShelfFault::Full => NotServed::NotKept { why: "the system disk is full".to_owned() },
            ShelfFault::Failed(why) => NotServed::NotKept { why },
        })
    }
}

fn missing(id: &str) -> Failure {
    NotServed::Unknown { id: id.to_owned() }.into()
}

impl Services {
    /// All of them, by id.
    pub fn all(&self) -> Vec<Service> {
        let state = self.lock();
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

    /// # Errors
    /// [`NotServed::Unknown`].
    pub fn one(&self, id: &str) -> Result<Service> {
        let state = self.lock();
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
        let is_of_pools = !matches!(service.work, Work::Script { .. });
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
        }
    }

    /// Makes a service.
    pub fn create(&self, asked: ServiceCreate) -> Result<Service> {
        let ServiceCreate { id, spec, enabled } = asked;
        let mut state = self.lock();
        if state.services.contains_key(&id) {
            return Err(NotServed::Exists { id }.into());
        }
        let now = state.belief.now;
        let instance = Instance::new(&id, spec, now);
        let mut instance = instance.ok_or_else(|| NotServed::BadId { id: id.clone() })?;
        if enabled {
            instance.command(ServiceCommand::Enable, now).map_err(NotServed::NotNow)?;
        }
        self.put(&mut state, Kept { instance, memory: Memory::default() }, now)
    }

    /// Sets all of what a service does. What it remembers stays; what is under way stops.
    pub fn set(&self, id: &str, spec: ServiceSpec) -> Result<Service> {
        let mut state = self.lock();
        let now = state.belief.now;
        let service = state.services.get(id).ok_or_else(|| missing(id))?;
        let mut kept = service.kept();
        if std::mem::discriminant(&kept.instance.spec) != std::mem::discriminant(&spec) {
            return Err(NotServed::OtherKind { id: id.to_owned() }.into());
        }
        kept.instance.spec = spec;
        kept.instance.restarted(now);
        self.put(&mut state, kept, now)
    }

    /// Takes a service that was made or set. What the one before had under way stops.
    fn put(&self, state: &mut State, kept: Kept, now: Time) -> Result<Service> {
        let edition = state.edition + 1;
        let id = kept.instance.id.clone();
        let working = Working::new(edition, kept, &|name| self.world.zone(name));
        let mut working = working.map_err(NotServed::Fault)?;
        self.shelf.set(&working.kept(), &[ServiceLog { at: now, entry: ServiceLogEntry::Set }])?;
        state.edition = edition;
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
    fn read_names_again(&self, state: &mut State) {
        state.names.values_mut().for_each(|known| (known.generation, known.at) = (None, Time::MIN));
    }

    /// What can be asked of a service in the state that it is in.
    pub fn command(&self, id: &str, command: ServiceCommand) -> Result<Service> {
        let mut state = self.lock();
        let now = state.belief.now;
        let service = state.services.get_mut(id).ok_or_else(|| missing(id))?;
        let before = service.instance.clone();
        match &service.run {
            // It looks whether there is anything to do, and looks once more.
            Some(run) if !run.is_told && command == ServiceCommand::Run => service.instance.asked = true,
            _ => service.instance.command(command, now).map_err(NotServed::NotNow)?,
        }
        match command {
            ServiceCommand::Enable if before.state == ServiceState::Disabled => {
                service.stop = Cancel::default();
                service.hasten(now);
            }
            ServiceCommand::Disable => service.stop.cancel(),
            ServiceCommand::Clear => {
                service.memory.snapshots.clear();
                service.memory.upkeep.values_mut().for_each(|tended| tended.backoff = None);
                service.troubles.clear();
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

    /// Forgets a service; its snapshots stay. What it has under way stops.
    pub fn remove(&self, id: &str) -> Result<()> {
        let mut state = self.lock();
        if !state.services.contains_key(id) {
            return Err(missing(id));
        }
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
        let belief = self.lock().belief;
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
            let state = self.lock();
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
            ServiceSpec::Script(policy) => {
                Ok(ServicePlan { runs: self.times(&policy.schedule, served, now, until), ..planned })
            }
        }
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
        let wanted = {
            let state = self.lock();
            targets(state.services.get(id).ok_or_else(|| missing(id))?).to_vec()
        };
        let mut names = std::collections::BTreeMap::new();
        for pool in &pools {
            names.insert(
                pool.guid(),
                Arc::new(facts::names(&**pool, &facts::targets_in(&**pool, &pools, &wanted))?),
            );
        }
        // A copy: what is only asked changes nothing.
        let (work, memory) = {
            let state = self.lock();
            let service = state.services.get(id).ok_or_else(|| missing(id))?;
            let Kept { mut instance, memory } = service.kept();
            let work = Work::new(id, &instance.spec, &|name| self.world.zone(name));
            let Work::Snapshots(mut snapshots) = work.map_err(NotServed::Fault)? else {
                return Ok(planned);
            };
            if let ServiceSpec::AutoSnap(policy) = &mut instance.spec {
                snapshots.cover(policy, &names, planned.now);
            }
            (snapshots, memory.snapshots)
        };
        let (mut views, mut left_out): (Vec<View>, u64) = (Vec::new(), 0);
        for pool in &pools {
            let Some(part) = work.parts.get(&pool.guid()) else { continue };
            let datasets: Vec<_> = part.names.iter().map(|(guid, name)| (*guid, name.clone())).collect();
            if datasets.is_empty() {
                continue;
            }
            let taken: usize = views.iter().map(|view| view.snapshots.len()).sum();
            let read = facts::views(&**pool, &datasets, MOST_READ.saturating_sub(taken).max(1))?;
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
