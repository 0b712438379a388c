//! What came of a task: noted, and followed by the end of its run.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use api_types::{
    FailureClass, ScriptEnd, ServiceFailure, ServiceLogEntry, ServiceSpec, ServiceState, SnapFinding,
    SnapSkipReason, SnapSkipped,
};
use engine_api::Error;
use services::autosnap::coverage::Named;
use services::autosync::memory::LISTING;
use services::backoff::Backoff;
use services::time::Time;
use stdx::prng::Prng;

use super::round::{READERS, ROUND, extent};
use super::sync::{Extent, Fault, Settled};
use super::task::{Looked, Outcome, Ticket};
use super::tend::Tending;
use super::tier;
use super::work::{Snapshots, Work, Working};
use super::{Known, Services, State, class};
use crate::{Failure, NotServed};

/// Datasets of a pool for which the reading of them rests a second, so that it takes less than a
/// hundredth of a processor; and how long it rests at least.
const A_SECOND: usize = 200;
const SHORTEST: i64 = 2;
/// Seconds until a pool is asked again that could not be read.
const SOON: Time = 60;
/// And at most, when that has failed again and again.
const LATE: Time = 3_600;

impl Services {
    /// Takes the outcome of a task.
    pub(super) fn hand_in(&self, ticket: &Ticket, outcome: Outcome) {
        let mut state = self.lock();
        let now = state.belief.now;
        if ticket.pool != 0 {
            state.busy.remove(&ticket.pool);
        }
        match &ticket.service {
            // It is of no pool: it was about what is kept for readers, whatever became of it.
            None if ticket.pool == 0 => state.readers_at = Some(now.saturating_add(READERS)),
            None => self.learn(&mut state, ticket.pool, outcome, now),
            Some((id, edition)) => {
                if ticket.pool == 0 {
                    state.running.remove(id);
                    state.syncing.remove(id);
                }
                // It may have been removed or set anew.
                if let Some(mut service) = state.services.remove(id) {
                    if service.edition == *edition {
                        self.take(&mut state, &mut service, ticket.pool, outcome, now);
                    }
                    state.services.insert(id.clone(), service);
                }
            }
        }
        self.stir(&mut state);
    }

    /// Which datasets a pool has.
    fn learn(&self, state: &mut State, pool: u64, outcome: Outcome, now: Time) {
        let before = state.names.get(&pool).map(|known| known.names.clone());
        let (mut at, mut datasets) = (now, usize::MAX);
        let (names, generation): (Arc<Vec<Named>>, _) = match outcome {
            Outcome::Names { names: Ok((names, kept)), generation, serial } => {
                datasets = kept.datasets;
                // Something was set meanwhile, and what was read of it may be old; or somebody
                // wants to know of other datasets.
                let is_old = serial != state.serial || self.settle(state, pool, &kept, now);
                if is_old {
                    at = Time::MIN;
                }
                (Arc::new(names), Some(generation).filter(|_| !is_old))
            }
            Outcome::Names { names: Err(error), .. } => {
                tracing::warn!(pool, %error, "which datasets there are is not known to services");
                (before.clone().unwrap_or_default(), None)
            }
            _ => (before.clone().unwrap_or_default(), None),
        };
        let was_stale = state.names.get(&pool).is_none_or(|known| known.generation.is_none());
        let is_new = was_stale || before.as_ref() != Some(&names);
        let rest = i64::try_from(datasets / A_SECOND).unwrap_or(ROUND).clamp(SHORTEST, ROUND);
        state.names.insert(pool, Known { names, generation, at, rest });
        if is_new {
            self.cover(state, now);
        }
    }

    fn take(&self, state: &mut State, service: &mut Working, pool: u64, outcome: Outcome, now: Time) {
        match outcome {
            Outcome::Look(looked) => self.looked(state, service, pool, *looked, now),
            Outcome::NotRead { datasets, why } => {
                if let Work::Snapshots(snapshots) = &mut service.work
                    && let Some(part) = snapshots.parts.get_mut(&pool)
                {
                    let wait = (SOON << part.unread.min(6)).min(LATE);
                    part.unread += 1;
                    datasets.iter().for_each(|dataset| part.agenda.set(*dataset, now + wait));
                }
                let name = self.name_of(pool);
                self.fail(service, name, class::of(&why), why.into());
            }
            Outcome::Tended(tended) => self.tended(state, service, pool, tended, now),
            Outcome::Tiered(done) => self.tiered(service, done, now),
            Outcome::Ran { end, output } => self.ran(service, end, output, now),
            Outcome::Names { .. } | Outcome::Synced | Outcome::Relieved => {}
            Outcome::Lost => {
                let subject = if pool == 0 { service.instance.id.clone() } else { self.name_of(pool) };
                self.fail(service, subject, FailureClass::Fatal, NotServed::Defect.into());
            }
        }
        if let Some(run) = &mut service.run {
            run.open.remove(&pool);
            if run.open.is_empty() {
                self.end_run(service, &mut state.random, now);
            }
        }
    }

    /// What a pool is called now.
    pub(super) fn name_of(&self, pool: u64) -> String {
        let found = self.engine.pools().into_iter().find(|it| it.guid() == pool);
        found.map_or_else(|| pool.to_string(), |it| it.name())
    }

    /// Notes that something failed, until it succeeds.
    pub(super) fn fail(&self, service: &mut Working, subject: String, class: FailureClass, why: Failure) {
        let problem = Box::new((self.problem)(why));
        tracing::warn!(id = service.instance.id, subject, ?class, %problem, "a part of a service failed");
        service.troubles.insert(subject.clone(), ServiceFailure { class, subject, problem });
        if let Some(run) = &mut service.run {
            run.is_told = true;
        }
    }

    fn looked(&self, state: &mut State, service: &mut Working, pool: u64, looked: Looked, now: Time) {
        let Looked { carried, next, gone, left, names } = looked;
        let Work::Snapshots(snapshots) = &mut service.work else { return };
        service.memory.snapshots.settle(&carried.plan, &carried.failed, &mut state.random);
        let coverage = snapshots.coverage.clone();
        service.memory.snapshots.retain(|dataset| coverage.datasets.contains_key(&dataset));
        if let Some(part) = snapshots.parts.get_mut(&pool) {
            part.unread = 0;
            for (dataset, next) in next {
                // What was stopped in the middle is looked at once it may go on.
                part.agenda.set(dataset, if carried.stopped { now } else { next.at.max(now + 1) });
                part.next.insert(dataset, next);
            }
            for failed in &carried.failed {
                let backoff = service.memory.snapshots.backoff(failed.dataset, failed.work);
                if let Some(backoff) = backoff.filter(|it| it.class == FailureClass::Retriable) {
                    part.agenda.hasten(failed.dataset, backoff.until.max(now + 1));
                }
            }
            for dataset in gone {
                part.agenda.remove(dataset);
                part.next.remove(&dataset);
            }
            left.iter().for_each(|dataset| part.agenda.set(*dataset, now));
        }
        snapshots.remember(&names, &carried.plan.findings, &carried.plan.skipped);
        for name in names.values().filter(|name| !carried.why.contains_key(*name)) {
            service.troubles.remove(name);
        }
        service.troubles.remove(&self.name_of(pool));
        if let Some(run) = &mut service.run {
            run.done += carried.made;
            run.destroyed += carried.destroyed;
        }
        for (dataset, (class, why)) in carried.why {
            self.fail(service, dataset, class, why.into());
        }
    }

    fn tended(
        &self,
        state: &mut State,
        service: &mut Working,
        pool: u64,
        outcome: Result<Tending, Error>,
        now: Time,
    ) {
        let name = self.name_of(pool);
        let before = service.memory.upkeep.get(&pool).copied();
        let (tended, at) = match outcome {
            Ok(Tending { tended, began, at }) => {
                service.troubles.remove(&name);
                if let Some(run) = service.run.as_mut().filter(|_| began) {
                    run.done += 1;
                }
                (tended, at)
            }
            Err(why) => {
                let mut tended = before.unwrap_or_default();
                let class = class::of(&why);
                let backoff = Backoff::after(tended.backoff, class, now, &mut state.random);
                tended.backoff = Some(backoff);
                self.fail(service, name, class, why.into());
                let at = if class == FailureClass::Retriable { backoff.until } else { Time::MAX };
                (tended, at)
            }
        };
        if let Work::Upkeep { pools, .. } = &mut service.work {
            pools.entry(pool).and_modify(|next| *next = at);
        }
        service.memory.upkeep.insert(pool, tended);
        if before != Some(tended) {
            self.note(service, service.instance.state, now, Vec::new());
        }
    }

    fn ran(&self, service: &mut Working, end: ScriptEnd, output: String, now: Time) {
        let id = service.instance.id.clone();
        let class = match end {
            ScriptEnd::Exited { status: 0 } | ScriptEnd::Stopped => None,
            ScriptEnd::Exited { .. }
            | ScriptEnd::Signal { .. }
            | ScriptEnd::TimedOut { .. }
            | ScriptEnd::TooManyProcesses { .. } => Some(FailureClass::Retriable),
            ScriptEnd::NotStarted { .. } => Some(FailureClass::NeedsPerson),
        };
        let program = match &service.instance.spec {
            ServiceSpec::Script(policy) => policy.program.clone(),
            ServiceSpec::AutoSnap(_)
            | ServiceSpec::AutoSync(_)
            | ServiceSpec::AutoTier(_)
            | ServiceSpec::AutoScrub(_)
            | ServiceSpec::AutoTrim(_) => id,
        };
        service.troubles.clear();
        if let Some(run) = &mut service.run {
            service.instance.served = service.instance.served.max(run.began);
            run.done += u64::from(class.is_none() && end != ScriptEnd::Stopped);
        }
        self.note(
            service,
            service.instance.state,
            now,
            vec![ServiceLogEntry::Program { end: end.clone(), output }],
        );
        if let Some(class) = class {
            self.fail(service, program.clone(), class, NotServed::Script { program, end }.into());
        }
    }

    fn tiered(&self, service: &mut Working, done: tier::Done, now: Time) {
        let tier::Done { copied, removed, fault, is_partial } = done;
        service.troubles.clear();
        if let Some(run) = &mut service.run {
            service.instance.served = service.instance.served.max(run.began);
            (run.done, run.destroyed, run.is_partial) = (copied, removed, is_partial);
        }
        if let Some((class, why)) = fault {
            let ServiceSpec::AutoTier(policy) = &service.instance.spec else { return };
            let subject = policy.source.dataset.clone();
            self.fail(service, subject, class, why);
        }
        self.note(service, service.instance.state, now, Vec::new());
    }

    /// Notes what came of a dataset that is replicated.
    pub(super) fn note_synced(&self, id: &str, edition: u64, dataset: u64, settled: Settled) {
        let mut state = self.lock();
        let now = state.belief.now;
        let State { services, random, .. } = &mut *state;
        let Some(service) = services.get_mut(id).filter(|it| it.edition == edition) else { return };
        let Settled { mut synced, sent, destroyed, fault, is_gone } = settled;
        let Work::Sync(syncing) = &service.work else { return };
        let name = syncing.names.get(&dataset).cloned().unwrap_or_else(|| dataset.to_string());
        if let Some(run) = &mut service.run {
            run.done += sent;
            run.destroyed += destroyed;
        }
        match fault {
            None => {
                synced.succeeded();
                service.troubles.remove(&name);
            }
            Some((class, why)) => {
                synced.failed(class, now, random);
                self.fail(service, name, class, why);
            }
        }
        let is_new = service.memory.sync.datasets.get(&dataset) != Some(&synced);
        service.memory.sync.datasets.insert(dataset, synced);
        if is_new && sent + destroyed > 0 {
            self.note(service, service.instance.state, now, Vec::new());
        }
        if is_gone {
            self.read_names_again(&mut state);
        }
        self.stir(&mut state);
    }

    /// Notes which datasets a source has that is elsewhere. Gives what is to be looked at.
    pub(super) fn note_listed(
        &self,
        id: &str,
        edition: u64,
        names: Vec<Named>,
        due: (Time, bool),
    ) -> Option<Extent> {
        let mut state = self.lock();
        let now = state.belief.now;
        let service = state.services.get_mut(id).filter(|it| it.edition == edition)?;
        let (Work::Sync(syncing), ServiceSpec::AutoSync(policy)) =
            (&mut service.work, &mut service.instance.spec)
        else {
            return None;
        };
        let is_new = syncing.cover(policy, &names) || service.memory.sync.listed != syncing.names;
        if service.memory.sync.datasets.get(&LISTING).is_some_and(|it| it.backoff.is_some()) {
            service.troubles.remove(&policy.source.dataset);
        }
        let there: BTreeSet<&String> = syncing.names.values().collect();
        service.troubles.retain(|subject, _| there.contains(subject));
        service.memory.sync.listed(syncing.names.clone(), now);
        let agenda = service.memory.sync.agenda(&syncing.policy, syncing.names.keys().copied(), due, now);
        service.instance.served = agenda.served;
        let root = policy.source.dataset.clone();
        let extent = extent(&service.memory.sync, syncing, root, &agenda.datasets, agenda.wanted);
        if is_new && let Err(fault) = self.shelf.set(&service.kept(), &[]) {
            tracing::error!(id, ?fault, "what this service covers was not kept");
        }
        Some(extent)
    }

    /// Notes that a source that is elsewhere could not be listed.
    pub(super) fn note_unlisted(&self, id: &str, edition: u64, (class, why): Fault) {
        let mut state = self.lock();
        let now = state.belief.now;
        let State { services, random, .. } = &mut *state;
        let Some(service) = services.get_mut(id).filter(|it| it.edition == edition) else { return };
        let ServiceSpec::AutoSync(policy) = &service.instance.spec else { return };
        let subject = policy.source.dataset.clone();
        service.memory.sync.datasets.entry(LISTING).or_default().failed(class, now, random);
        self.fail(service, subject, class, why);
        self.stir(&mut state);
    }

    /// There is something to do: what is under way is a run, whatever becomes of the program.
    pub(super) fn tell_run(&self, id: &str, edition: u64) {
        let mut state = self.lock();
        let now = state.belief.now;
        let Some(service) = state.services.get_mut(id).filter(|it| it.edition == edition) else { return };
        let Some(run) = service.run.as_mut().filter(|run| !run.is_told) else { return };
        run.is_told = true;
        self.note(service, service.instance.state, now, Vec::new());
    }

    /// A run has ended. One that found nothing to do has not been.
    pub(super) fn end_run(&self, service: &mut Working, random: &mut Prng, now: Time) {
        let Some(run) = service.run.take() else { return };
        let is_well_again = run.before.state == ServiceState::Degraded && service.troubles.is_empty();
        let instance = &mut service.instance;
        if !run.is_told && run.done + run.destroyed == 0 && !is_well_again {
            if instance.state == ServiceState::Running {
                (instance.state, instance.since) = (run.before.state, run.before.since);
                instance.cause = run.before.cause;
                instance.backoff = run.before.backoff;
            }
            return;
        }
        let last = service.summary(&run, now);
        let whole = matches!(service.work, Work::Script { .. } | Work::Tier(_)) && !run.is_partial;
        let is_whole = whole || service.is_stopped();
        let class = last.failures.first().map(|failure| failure.class).filter(|_| is_whole);
        let backoff = class.map(|class| Backoff::after(run.before.backoff, class, now, random));
        service.instance.ended(last.clone(), backoff, now);
        if last.done + last.destroyed > 0
            && let Err(fault) = self.shelf.record(&service.instance.id, &last)
        {
            tracing::error!(
                id = service.instance.id,
                ?fault,
                "what this service did is not in the audit log"
            );
        }
        self.note(service, run.before.state, now, vec![ServiceLogEntry::Ended { run: last }]);
    }
}

impl Snapshots {
    /// Notes what a look at these datasets found, in place of what the look before did.
    fn remember(&mut self, names: &BTreeMap<u64, String>, findings: &[SnapFinding], skipped: &[SnapSkipped]) {
        for name in names.values() {
            self.findings.remove(name);
            self.skipped.remove(name);
        }
        for finding in findings {
            if let Some(dataset) = dataset_of(finding) {
                self.findings.entry(dataset.to_owned()).or_default().push(finding.clone());
            }
        }
        for skipped in skipped.iter().filter(|it| it.reason != SnapSkipReason::Unchanged) {
            self.skipped.entry(skipped.dataset.clone()).or_default().push(skipped.clone());
        }
    }
}

/// The dataset that a finding is about; `None`: it is about the policy.
fn dataset_of(finding: &SnapFinding) -> Option<&str> {
    match finding {
        SnapFinding::BudgetCannotBeHeld { dataset, .. }
        | SnapFinding::LevelGone { dataset, .. }
        | SnapFinding::TimeUnbelievable { dataset, .. } => Some(dataset),
        SnapFinding::EveryMinute { .. }
        | SnapFinding::KeepContradicts { .. }
        | SnapFinding::KeptForever { .. }
        | SnapFinding::TargetsOverlap { .. }
        | SnapFinding::TargetGone { .. }
        | SnapFinding::TargetRenamed { .. } => None,
    }
}
