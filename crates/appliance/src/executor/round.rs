//! What is to be done now: tasks for pools that are at nothing, and for programs.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;
use std::time::Duration;

use api_types::{
    AutoSyncPolicy, FailureClass, NextRun, RunReason, ServiceLogEntry, ServiceSpec, ServiceState, SnapTarget,
};
use engine_api::Pool;
use services::autosnap::coverage::Named;
use services::autosync::memory::Memory;
use services::instance::Instance;
use services::property::{self, Policy};
use services::time::Time;

use super::shelf::Tended;
use super::sync::{Extent, Session};
use super::task::{Look, Names, Task, Ticket, What};
use super::work::{Run, Syncing, Work, Working};
use super::{Known, Services, State, facts};
use crate::NotServed;

/// The longest time between two rounds, and between two looks at which datasets there are, where
/// that may have changed.
pub(super) const ROUND: i64 = 60;
/// Seconds between two looks at what is kept for others who read here.
pub(super) const READERS: i64 = 6 * 3_600;
/// Datasets that are looked at together at most.
const MOST: usize = 20_000;
/// Programs at once.
const PROGRAMS: usize = 4;
/// Replications at once.
const SYNCS: usize = 2;
/// Seconds that a run waits for a pool.
pub(super) const PATIENCE: i64 = 60;

impl Services {
    /// What is to be done now, and when to ask again if nothing stirs.
    pub fn due(&self) -> (Vec<Task>, Duration) {
        let pools = self.engine.pools();
        let generation = self.engine.served_generation();
        let mut state = self.lock();
        if state.is_ending {
            return (Vec::new(), Duration::ZERO);
        }
        let now = self.observe(&mut state);
        let here: BTreeSet<u64> = pools.iter().map(|pool| pool.guid()).collect();
        state.generation = generation;
        if state.names.keys().any(|guid| !here.contains(guid)) {
            state.names.retain(|guid, _| here.contains(guid));
            state.sleeping.retain(|guid, _| here.contains(guid));
            let homeless =
                |it: &&mut Working| it.instance.home.is_some_and(|home| !here.contains(&home.pool));
            state.services.values_mut().filter(homeless).for_each(Working::leave);
            self.cover(&mut state, now);
        }
        follow(&mut state, &pools, now);
        self.give_up_waiting(&mut state, &pools, now);
        let mut tasks = self.names(&mut state, &pools, generation, now);
        tasks.extend(self.runs(&mut state, &pools, now));
        tasks.extend(self.readers(&mut state, now));
        let next = state.services.values().filter_map(|service| Some(service.next(now)?.at)).min();
        let old = state.names.values().filter(|known| known.generation != Some(generation));
        let reading = old.map(|known| known.at.saturating_add(known.rest)).min();
        let wait =
            next.into_iter().chain(reading).min().map_or(ROUND, |at| at.saturating_sub(now).clamp(1, ROUND));
        (tasks, Duration::from_secs(wait.unsigned_abs()))
    }

    /// What time it is. Another dispute is told; the clock is kept.
    pub(super) fn observe(&self, state: &mut State) -> Time {
        let before = state.belief.dispute.is_some();
        state.belief = state.clock.observe(self.world.reading());
        let (now, dispute) = (state.belief.now, state.belief.dispute);
        if dispute.is_some() != before {
            match &dispute {
                Some(it) => {
                    let (wall, believed) = (it.wall, it.believed);
                    tracing::warn!(
                        wall,
                        believed,
                        "the clock is not believed: services go by the time that passes"
                    );
                }
                None => tracing::warn!(now, "the clock is believed again"),
            }
            for service in state.services.values().filter(|it| it.instance.state != ServiceState::Disabled) {
                self.note(service, service.instance.state, now, vec![ServiceLogEntry::Clock { dispute }]);
            }
        }
        let is_at_work = state.services.values().any(|it| it.instance.state != ServiceState::Disabled);
        let is_old = state.kept_clock.is_none_or(|at| at.abs_diff(now) >= 60);
        if (is_at_work && is_old) || dispute.is_some() != before {
            state.kept_clock = Some(now);
            if let Err(fault) = self.shelf.note_clock(&state.clock) {
                tracing::error!(?fault, "what time it is was not kept");
            }
        }
        now
    }

    fn task(&self, ticket: Ticket, what: What) -> Option<Task> {
        // Who asks for tasks has it.
        Some(Task::new(self.this.upgrade()?, ticket, what))
    }

    /// Which datasets there are, of pools where that may have changed and where somebody wants to
    /// know.
    fn names(&self, state: &mut State, pools: &[Arc<dyn Pool>], generation: u64, now: Time) -> Vec<Task> {
        let at_work = state.services.values().filter(|service| is_at_work(service));
        let targets: Vec<SnapTarget> = at_work.flat_map(targets).cloned().collect();
        let mut tasks = Vec::new();
        for pool in pools {
            let guid = pool.guid();
            let is_known = state.names.get(&guid).is_some_and(|known| {
                known.generation == Some(generation)
                    || (known.at..known.at.saturating_add(known.rest)).contains(&now)
            });
            if is_known || state.busy.contains_key(&guid) {
                continue;
            }
            let targets = facts::targets_in(&**pool, pools, &targets);
            let ticket = Ticket { pool: guid, service: None };
            let moving = moving(state, &pool.name());
            let (pool, serial) = (pool.clone(), state.serial);
            let what = What::Names(Box::new(Names { pool, targets, moving, generation, serial }));
            state.busy.insert(guid, now);
            tasks.extend(self.task(ticket, what));
        }
        tasks
    }

    /// Every service covers what there is now.
    pub(super) fn cover(&self, state: &mut State, now: Time) {
        let names: BTreeMap<u64, Arc<Vec<Named>>> =
            state.names.iter().map(|(guid, Known { names, .. })| (*guid, names.clone())).collect();
        for service in state.services.values_mut() {
            let (is_new, there): (bool, BTreeSet<&String>) =
                match (&mut service.work, &mut service.instance.spec) {
                    (Work::Snapshots(snapshots), ServiceSpec::AutoSnap(policy)) => {
                        let is_new = snapshots.cover(policy, &names, now);
                        let parts = snapshots.parts.values();
                        (is_new, parts.flat_map(|part| part.names.values()).collect())
                    }
                    // What is elsewhere its sessions list.
                    (Work::Sync(syncing), ServiceSpec::AutoSync(policy)) if policy.origin.is_here() => {
                        (syncing.cover(policy, &all_of(&names)), syncing.names.values().collect())
                    }
                    (Work::Tier(tiering), ServiceSpec::AutoTier(policy)) => {
                        (tiering.cover(policy, &names), tiering.source.iter().map(|(_, name)| name).collect())
                    }
                    _ => continue,
                };
            // What is gone fails no more.
            service.troubles.retain(|subject, _| !subject.contains('/') || there.contains(subject));
            if !is_new {
                continue;
            }
            // What it covers has another name, or is known by its guid from now on.
            if let Err(fault) = self.shelf.set(&service.kept(), &[]) {
                tracing::error!(id = service.instance.id, ?fault, "what this service covers was not kept");
            }
        }
    }

    /// What is kept for others who read here, from time to time.
    fn readers(&self, state: &mut State, now: Time) -> Option<Task> {
        state.readers_at.filter(|at| *at <= now)?;
        state.readers_at = None;
        self.task(Ticket { pool: 0, service: None }, What::Readers { now })
    }

    fn runs(&self, state: &mut State, pools: &[Arc<dyn Pool>], now: Time) -> Vec<Task> {
        let mut tasks = Vec::new();
        let ids: Vec<String> = state.services.keys().cloned().collect();
        for id in ids {
            // It is taken out meanwhile, so that pools can be noted as busy.
            let Some(mut service) = state.services.remove(&id) else { continue };
            let due = service.next(now).filter(|next| next.at <= now && service.run.is_none());
            if let Some(NextRun { reason, .. }) = due {
                tasks.extend(self.begin(state, &mut service, pools, reason, now));
            }
            state.services.insert(id, service);
        }
        tasks
    }

    /// A run does not wait for a pool that does not answer: what it has to say is taken later.
    fn give_up_waiting(&self, state: &mut State, pools: &[Arc<dyn Pool>], now: Time) {
        let State { services, random, .. } = state;
        for service in services.values_mut() {
            let Some(run) = service.run.as_mut().filter(|run| now - run.began > PATIENCE) else { continue };
            let slow: Vec<u64> = run.open.iter().copied().filter(|pool| *pool != 0).collect();
            if slow.is_empty() {
                continue;
            }
            run.open.retain(|pool| *pool == 0);
            for pool in pools.iter().filter(|pool| slow.contains(&pool.guid())) {
                let why = NotServed::Slow { pool: pool.name() };
                self.fail(service, pool.name(), FailureClass::Retriable, why.into());
            }
            self.end_run(service, random, now);
        }
    }

    /// Begins a run: tasks for what is due and can be done now. There may be none.
    fn begin(
        &self,
        state: &mut State,
        service: &mut Working,
        pools: &[Arc<dyn Pool>],
        reason: RunReason,
        now: Time,
    ) -> Vec<Task> {
        if reason == RunReason::Asked {
            service.hasten(now);
        }
        // Who was asked to run waits for what is under way.
        let knows_all =
            pools.iter().all(|pool| state.names.contains_key(&pool.guid())) || targets(service).is_empty();
        let mut work: Vec<(u64, What)> = Vec::new();
        match &service.work {
            Work::Sync(syncing) if state.syncing.len() < SYNCS => {
                let ServiceSpec::AutoSync(policy) = &service.instance.spec else { return Vec::new() };
                let due = (service.instance.served, reason == RunReason::Asked);
                let agenda = service.memory.sync.agenda(&syncing.policy, syncing.subjects(policy), due, now);
                let mut session = session(service, syncing, policy, due);
                let root = policy.source.dataset.clone();
                let memory = &service.memory.sync;
                session.extent = extent(memory, syncing, root, &agenda.datasets, agenda.wanted);
                // A source that is elsewhere is served once it could be listed.
                if policy.origin.is_here() {
                    service.instance.served = agenda.served;
                }
                if !agenda.datasets.is_empty() {
                    state.syncing.insert(service.instance.id.clone());
                    work.push((0, What::Sync(Box::new(session))));
                }
            }
            Work::Sync(_) => {}
            Work::Tier(tiering) => {
                let ServiceSpec::AutoTier(policy) = &service.instance.spec else { return Vec::new() };
                if state.running.len() < PROGRAMS && knows_all && !self.engine.is_to_come(None) {
                    let id = &service.instance.id;
                    state.running.insert(id.clone());
                    work.push((0, What::Tier(Box::new(tiering.session(id, policy, &service.stop)))));
                }
            }
            Work::Snapshots(_) | Work::Upkeep { .. } => {
                for pool in pools.iter().filter(|pool| !state.busy.contains_key(&pool.guid())) {
                    work.extend(due_at(service, pool, now).map(|what| (pool.guid(), what)));
                }
            }
            Work::Script { .. } => {
                let ServiceSpec::Script(policy) = &service.instance.spec else { return Vec::new() };
                if state.running.len() < PROGRAMS {
                    state.running.insert(service.instance.id.clone());
                    work.push((0, What::Run { policy: policy.clone(), stop: service.stop.clone() }));
                }
            }
        }
        let is_free = state.busy.is_empty()
            && state.running.len() < PROGRAMS
            && state.syncing.len() < SYNCS
            && knows_all;
        if work.is_empty() && (reason != RunReason::Asked || !is_free) {
            return Vec::new();
        }
        let open: BTreeSet<u64> = work.iter().map(|(pool, _)| *pool).collect();
        let before = service.instance.clone();
        let is_told = reason == RunReason::Asked;
        service.run = Some(Run {
            reason: reason.clone(),
            began: now,
            open,
            done: 0,
            destroyed: 0,
            before,
            is_told,
            is_partial: false,
        });
        service.instance.began(reason, now);
        if is_told && !work.is_empty() {
            self.note(service, ServiceState::Online, now, Vec::new());
        }
        if work.is_empty() {
            self.end_run(service, &mut state.random, now);
        }
        let id = service.instance.id.clone();
        let tasks = work.into_iter().filter_map(|(pool, what)| {
            if pool != 0 {
                state.busy.insert(pool, now);
            }
            let ticket = Ticket { pool, service: Some((id.clone(), service.edition)) };
            self.task(ticket, what)
        });
        tasks.collect()
    }
}

/// Scrubs and trims are for the pools that are here now.
fn follow(state: &mut State, pools: &[Arc<dyn Pool>], now: Time) {
    for service in state.services.values_mut() {
        let (
            Work::Upkeep { pools: known, .. },
            ServiceSpec::AutoScrub(policy) | ServiceSpec::AutoTrim(policy),
        ) = (&mut service.work, &service.instance.spec)
        else {
            continue;
        };
        if service.instance.home.is_some() && service.lodging.is_none() {
            known.clear();
            continue;
        }
        let wanted =
            pools.iter().filter(|pool| policy.pools.is_empty() || policy.pools.contains(&pool.name()));
        let wanted: BTreeSet<u64> = wanted.map(|pool| pool.guid()).collect();
        known.retain(|guid, _| wanted.contains(guid));
        for guid in wanted {
            known.entry(guid).or_insert(now);
        }
    }
}

fn is_at_work(service: &Working) -> bool {
    service.instance.state != ServiceState::Disabled && !service.is_away()
}

/// Services that this machine keeps, and whose home is in a pool of this name.
fn moving(state: &State, pool: &str) -> Vec<(String, Policy)> {
    let machines = state.services.values().filter(|service| service.instance.home.is_none());
    let policy = |service: &Working| {
        let Instance { id, spec, state, .. } = &service.instance;
        let home = property::home_of(spec).filter(|home| facts::is_in(home, pool))?;
        let disabled = *state == ServiceState::Disabled;
        property::at_home(spec, &home)?;
        Some((id.clone(), Policy { disabled, spec: spec.clone() }))
    };
    machines.filter_map(policy).collect()
}

/// What a service wants to know of.
pub(super) fn targets(service: &Working) -> &[SnapTarget] {
    match &service.instance.spec {
        ServiceSpec::AutoSnap(policy) => &policy.targets,
        ServiceSpec::AutoSync(policy) if !policy.origin.is_here() => &[],
        ServiceSpec::AutoSync(policy) => std::slice::from_ref(&policy.source),
        ServiceSpec::AutoTier(policy) => std::slice::from_ref(&policy.source),
        ServiceSpec::AutoScrub(_) | ServiceSpec::AutoTrim(_) | ServiceSpec::Script(_) => &[],
    }
}

/// What a service has to do at a pool now.
fn due_at(service: &Working, pool: &Arc<dyn Pool>, now: Time) -> Option<What> {
    let guid = pool.guid();
    match &service.work {
        Work::Snapshots(snapshots) => {
            let part = snapshots.parts.get(&guid)?;
            let due = part.agenda.due(now, MOST);
            let named = |guid: &u64| Some((*guid, part.names.get(guid)?.clone()));
            let mut datasets: Vec<(u64, String)> = due.iter().filter_map(named).collect();
            if datasets.is_empty() {
                return None;
            }
            // In the order of names, so that what is made together is listed together.
            datasets.sort_by(|a, b| a.1.cmp(&b.1));
            Some(What::Look(Box::new(Look {
                pool: pool.clone(),
                datasets,
                policy: snapshots.policy.clone(),
                coverage: snapshots.coverage.clone(),
                state: service.memory.snapshots.clone(),
                is_promoted: service.is_promoted(),
                stop: service.stop.clone(),
                now,
            })))
        }
        Work::Upkeep { upkeep, scrub, pools } => {
            let is_due = pools.get(&guid).is_some_and(|at| *at <= now);
            let served = service.instance.served;
            let known = service.memory.upkeep.get(&guid).copied();
            let tended = known.map_or(Tended { served, ..Tended::default() }, |tended| Tended {
                served: tended.served.max(served),
                ..tended
            });
            is_due.then(|| What::Tend {
                pool: pool.clone(),
                upkeep: upkeep.clone(),
                scrub: *scrub,
                tended,
                stop: service.stop.clone(),
                now,
            })
        }
        Work::Sync(_) | Work::Tier(_) | Work::Script { .. } => None,
    }
}

/// A session of a service that replicates, with nothing to look at yet. `due`: up to when its
/// schedule was served, and whether it was asked to run.
pub(super) fn session(
    service: &Working,
    syncing: &Syncing,
    policy: &AutoSyncPolicy,
    due: (Time, bool),
) -> Session {
    Session {
        id: service.instance.id.clone(),
        policy: syncing.policy.clone(),
        source: policy.source.clone(),
        origin: policy.origin.clone(),
        target: policy.target.clone(),
        stuck_after: policy.stuck_after,
        extent: Extent::default(),
        due,
        stop: service.stop.clone(),
        progress: syncing.progress.clone(),
    }
}

/// These datasets of a service, with what it remembers of them.
pub(super) fn extent(
    memory: &Memory,
    syncing: &Syncing,
    root: String,
    datasets: &[u64],
    wanted: Time,
) -> Extent {
    let named = |guid: &u64| {
        let synced = memory.datasets.get(guid).cloned().unwrap_or_default();
        Some((*guid, syncing.names.get(guid)?.clone(), synced))
    };
    let mut datasets: Vec<_> = datasets.iter().filter_map(named).collect();
    // Parents first.
    datasets.sort_by(|a, b| a.1.cmp(&b.1));
    let has_begun = |guid: &u64| memory.datasets.get(guid).is_some_and(|synced| synced.snapshot.is_some());
    let mut unbegun = HashSet::new();
    if datasets.iter().any(|(guid, ..)| !has_begun(guid)) {
        let looked_at: HashSet<u64> = datasets.iter().map(|(guid, ..)| *guid).collect();
        let others = syncing.names.iter().filter(|(guid, _)| !looked_at.contains(guid) && !has_begun(guid));
        unbegun.extend(others.map(|(_, name)| name.clone()));
    }
    Extent { root, datasets, unbegun, wanted }
}

/// The datasets of all pools.
pub(super) fn all_of(pools: &BTreeMap<u64, Arc<Vec<Named>>>) -> Vec<Named> {
    pools.values().flat_map(|names| names.iter().cloned()).collect()
}
