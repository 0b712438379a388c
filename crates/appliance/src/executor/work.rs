//! A service at work: what is known of it while the program runs.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use api_types::{
    AutoSnapPolicy, AutoSyncPolicy, AutoTierPolicy, FailureClass, LastRun, NextLook, NextRun, RunReason,
    ServiceFailure, ServiceFault, ServiceSpec, ServiceState, SnapFinding, SnapNext, SnapSkipped, StateCause,
    SyncReplica, SyncStatus, TierStatus,
};
use engine_api::Cancel;
use services::autosnap::agenda::Agenda;
use services::autosnap::coverage::{Coverage, Named, cover};
use services::autosnap::policy::Policy;
use services::autosync;
use services::autosync::memory::LISTING;
use services::autotier;
use services::instance::Instance;
use services::property::Policy as KeptPolicy;
use services::schedule::Zones;
use services::script::Script;
use services::time::Time;
use services::upkeep::Upkeep;

use super::shelf::{Kept, Memory};
use super::sync::{Progress, replica_of};
use super::tier;

/// Failures of a run that are told.
const TOLD: usize = 16;
/// Findings that are shown.
const SHOWN: usize = 100;

/// A service.
pub struct Working {
    /// Another number whenever it is made anew or set: what was begun for another is not its own.
    pub edition: u64,
    pub instance: Instance,
    pub memory: Memory,
    pub work: Work,
    /// Ends what is under way.
    pub stop: Cancel,
    pub run: Option<Run>,
    /// What fails at present: dataset, pool or program → why.
    pub troubles: BTreeMap<String, ServiceFailure>,
    /// Where its policy is kept, if a dataset does and is here.
    pub lodging: Option<Lodging>,
}

/// What the home of a service keeps of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lodging {
    pub policy: KeptPolicy,
    /// What the home is called.
    pub dataset: String,
    /// It was a replica, and somebody said that it is none any more.
    pub is_promoted: bool,
}

/// What it does, ready to be planned with.
pub enum Work {
    Snapshots(Box<Snapshots>),
    Upkeep { upkeep: Upkeep, scrub: bool, pools: BTreeMap<u64, Time> },
    Sync(Box<Syncing>),
    Tier(Box<Tiering>),
    Script { script: Box<Script> },
}

/// An auto-snap service.
pub struct Snapshots {
    pub policy: Arc<Policy>,
    pub coverage: Arc<Coverage>,
    /// guid of a pool → what it covers there.
    pub parts: BTreeMap<u64, Part>,
    /// What the last look at each dataset found: by its name.
    pub findings: BTreeMap<String, Vec<SnapFinding>>,
    /// And what was due and was not made.
    pub skipped: BTreeMap<String, Vec<SnapSkipped>>,
}

/// An auto-sync service.
pub struct Syncing {
    pub policy: Arc<autosync::policy::Policy>,
    pub findings: Vec<SnapFinding>,
    /// guid of a source → its name.
    pub names: BTreeMap<u64, String>,
    pub progress: Arc<Progress>,
}

/// An auto-tier service.
pub struct Tiering {
    pub policy: Arc<autotier::policy::Policy>,
    pub findings: Vec<SnapFinding>,
    /// guid and name; `None`: it is not here.
    pub source: Option<(u64, String)>,
    pub progress: Arc<tier::Progress>,
}

/// What a service covers in one pool.
#[derive(Default)]
pub struct Part {
    /// guid of a dataset → its name.
    pub names: BTreeMap<u64, String>,
    pub agenda: Agenda,
    /// guid of a dataset → what is next for it.
    pub next: BTreeMap<u64, SnapNext>,
    /// How often it could not be read, since it could.
    pub unread: u32,
}

/// A run under way.
pub struct Run {
    pub reason: RunReason,
    pub began: Time,
    /// Pools, or 0 for a program, that it waits for.
    pub open: BTreeSet<u64>,
    pub done: u64,
    pub destroyed: u64,
    /// As it was before: a look that finds nothing to do is no run.
    pub before: Instance,
    /// It is one by now.
    pub is_told: bool,
    /// What failed of it does not end the whole service's work.
    pub is_partial: bool,
}

impl Working {
    pub fn new(edition: u64, kept: Kept, zones: Zones<'_>) -> Result<Working, ServiceFault> {
        let Kept { instance, memory } = kept;
        let mut work = Work::new(&instance.id, &instance.spec, zones)?;
        if let Work::Sync(syncing) = &mut work {
            syncing.names.clone_from(&memory.sync.listed);
        }
        let (stop, troubles) = (Cancel::default(), BTreeMap::new());
        Ok(Working { edition, instance, memory, work, stop, run: None, troubles, lodging: None })
    }

    /// A dataset keeps its policy, and is not here, or was not looked at yet.
    pub fn is_away(&self) -> bool {
        self.instance.home.is_some() && self.lodging.is_none()
    }

    /// Its home is not here any more, or keeps it no more.
    pub fn leave(&mut self) {
        self.stop.cancel();
        self.lodging = None;
    }

    /// Its home is here.
    pub fn come(&mut self, lodging: Lodging, now: Time) {
        if self.is_away() && self.instance.state != ServiceState::Disabled {
            self.stop = Cancel::default();
            self.hasten(now);
        }
        self.lodging = Some(lodging);
    }

    /// What it covers was a replica and is none any more.
    pub fn is_promoted(&self) -> bool {
        self.lodging.as_ref().is_some_and(|lodging| lodging.is_promoted)
    }

    pub fn kept(&self) -> Kept {
        Kept { instance: self.instance.clone(), memory: self.memory.clone() }
    }

    /// When its work is due next, whatever state it is in.
    fn due(&self, now: Time) -> Option<NextRun> {
        match &self.work {
            Work::Snapshots(snapshots) => {
                let at = snapshots.parts.values().filter_map(|part| part.agenda.next()).min()?;
                Some(NextRun { at, reason: RunReason::Scheduled })
            }
            Work::Upkeep { pools, .. } => {
                let at = pools.values().copied().min()?;
                Some(NextRun { at, reason: RunReason::Scheduled })
            }
            Work::Sync(syncing) => {
                let ServiceSpec::AutoSync(policy) = &self.instance.spec else { return None };
                let subjects = syncing.subjects(policy);
                self.memory.sync.next(&syncing.policy, subjects, self.instance.served, now)
            }
            Work::Tier(tiering) => {
                let is_interrupted = self.instance.cause == StateCause::Interrupted;
                tiering.policy.next(self.instance.served, is_interrupted, now)
            }
            Work::Script { script } => {
                use services::script::Step;
                match script.step(self.instance.served, None, now) {
                    Step::Run { reason, .. } => Some(NextRun { at: now, reason }),
                    Step::Wait { until } => Some(NextRun { at: until?, reason: RunReason::Scheduled }),
                    Step::Running => None,
                }
            }
        }
    }

    /// When it runs next, and why.
    pub fn next(&self, now: Time) -> Option<NextRun> {
        if self.is_away() { None } else { self.instance.next(self.due(now), now) }
    }

    /// What it looks at next.
    pub fn next_look(&self) -> Option<NextLook> {
        let Work::Snapshots(snapshots) = &self.work else { return None };
        if !matches!(self.instance.state, ServiceState::Online | ServiceState::Degraded) {
            return None;
        }
        let next = snapshots.parts.values().flat_map(|part| part.next.values()).min_by_key(|next| next.at)?;
        Some(NextLook { dataset: next.dataset.clone(), reason: next.reason.clone() })
    }

    pub fn is_running(&self) -> bool {
        self.instance.state == ServiceState::Running
    }

    pub fn covers(&self) -> u64 {
        match &self.work {
            Work::Snapshots(snapshots) => snapshots.coverage.datasets.len() as u64,
            Work::Upkeep { pools, .. } => pools.len() as u64,
            Work::Sync(syncing) => syncing.names.len() as u64,
            Work::Tier(tiering) => u64::from(tiering.source.is_some()),
            Work::Script { .. } => 1,
        }
    }

    pub fn findings(&self) -> Vec<SnapFinding> {
        let snapshots = match &self.work {
            Work::Snapshots(snapshots) => snapshots,
            Work::Sync(syncing) => return syncing.findings.clone(),
            Work::Tier(tiering) => return tiering.findings.clone(),
            Work::Upkeep { .. } | Work::Script { .. } => return Vec::new(),
        };
        let of_policy = snapshots.policy.findings().iter();
        let of_coverage = snapshots.coverage.findings.iter();
        let of_looks = snapshots.findings.values().flatten();
        of_policy.chain(of_coverage).chain(of_looks).take(SHOWN).cloned().collect()
    }

    /// What was due and was not made at the last looks, but for what has not changed.
    pub fn skipped(&self) -> Vec<SnapSkipped> {
        let Work::Snapshots(snapshots) = &self.work else { return Vec::new() };
        snapshots.skipped.values().flatten().take(SHOWN).cloned().collect()
    }

    /// How far replication is, of an auto-sync service.
    pub fn sync(&self, now: Time) -> Option<SyncStatus> {
        let (Work::Sync(syncing), ServiceSpec::AutoSync(policy)) = (&self.work, &self.instance.spec) else {
            return None;
        };
        let replica = |(guid, name): (&u64, &String)| {
            let synced = self.memory.sync.datasets.get(guid);
            SyncReplica {
                dataset: name.clone(),
                target: replica_of(&policy.target, &policy.source.dataset, name),
                snapshot: synced.and_then(|it| it.snapshot.clone()),
                current: synced.and_then(|it| it.current),
            }
        };
        let mut replicas: Vec<SyncReplica> = syncing.names.iter().map(replica).collect();
        if replicas.is_empty() && !policy.origin.is_here() {
            // What there is elsewhere is not known yet, and none of it is here.
            replicas.push(replica((&LISTING, &policy.source.dataset)));
        }
        replicas.sort_by(|a, b| (a.current, &a.dataset).cmp(&(b.current, &b.dataset)));
        replicas.truncate(SHOWN);
        Some(SyncStatus { replicas, sending: syncing.progress.sending(now) })
    }

    /// How far a session is, of an auto-tier service that runs.
    pub fn tier(&self, now: Time) -> Option<TierStatus> {
        let Work::Tier(tiering) = &self.work else { return None };
        tiering.progress.status(now)
    }

    /// Whether each dataset waits for a person.
    pub fn is_stopped(&self) -> bool {
        let Work::Sync(syncing) = &self.work else { return false };
        let is_stopped = |guid: &u64| {
            let backoff = self.memory.sync.datasets.get(guid).and_then(|it| it.backoff);
            backoff.is_some_and(|it| it.class != FailureClass::Retriable)
        };
        let is_each = !syncing.names.is_empty() && syncing.names.keys().all(is_stopped);
        is_each || is_stopped(&LISTING)
    }

    /// What has failed is tried again. What is replicated has a memory of its own for that.
    pub fn forget_failures(&mut self) {
        self.memory.snapshots.clear();
        self.memory.upkeep.values_mut().for_each(|tended| tended.backoff = None);
        self.troubles.clear();
    }

    /// Everything is to be looked at.
    pub fn hasten(&mut self, now: Time) {
        match &mut self.work {
            Work::Snapshots(snapshots) => {
                for part in snapshots.parts.values_mut() {
                    part.names.keys().for_each(|guid| part.agenda.hasten(*guid, now));
                }
            }
            Work::Upkeep { pools, .. } => pools.values_mut().for_each(|at| *at = now.min(*at)),
            // What is asked is looked at, whatever is due.
            Work::Sync(_) | Work::Tier(_) | Work::Script { .. } => {}
        }
    }

    /// How a run that has ended went, with what fails still.
    pub fn summary(&self, run: &Run, now: Time) -> LastRun {
        let mut failures: Vec<ServiceFailure> = self.troubles.values().cloned().collect();
        let failed = failures.len() as u64;
        // Who cuts the list keeps what matters most.
        failures.sort_by_key(|failure| std::cmp::Reverse(weight(failure.class)));
        failures.truncate(TOLD);
        let (reason, done, destroyed) = (run.reason.clone(), run.done, run.destroyed);
        LastRun { began: run.began, ended: now, reason, done, destroyed, failures, failed }
    }
}

fn weight(class: FailureClass) -> u8 {
    match class {
        FailureClass::Retriable => 0,
        FailureClass::NeedsPerson => 1,
        FailureClass::Fatal => 2,
    }
}

impl Work {
    pub fn new(id: &str, spec: &ServiceSpec, zones: Zones<'_>) -> Result<Work, ServiceFault> {
        let upkeep = |policy, scrub| {
            Ok(Work::Upkeep { upkeep: Upkeep::new(policy, zones)?, scrub, pools: BTreeMap::new() })
        };
        match spec {
            ServiceSpec::AutoSnap(policy) => {
                let checked =
                    Policy::new(id, policy, zones).map_err(|faults| ServiceFault::Snap { faults })?;
                Ok(Work::Snapshots(Box::new(Snapshots {
                    policy: Arc::new(checked),
                    coverage: Arc::default(),
                    parts: BTreeMap::new(),
                    findings: BTreeMap::new(),
                    skipped: BTreeMap::new(),
                })))
            }
            ServiceSpec::AutoScrub(policy) => upkeep(policy, true),
            ServiceSpec::AutoTrim(policy) => upkeep(policy, false),
            ServiceSpec::AutoSync(policy) => {
                let checked = autosync::policy::Policy::new(id, policy, zones)
                    .map_err(|faults| ServiceFault::Sync { faults })?;
                Ok(Work::Sync(Box::new(Syncing {
                    policy: Arc::new(checked),
                    findings: Vec::new(),
                    names: BTreeMap::new(),
                    progress: Arc::default(),
                })))
            }
            ServiceSpec::AutoTier(policy) => {
                let checked = autotier::policy::Policy::new(id, policy, zones)
                    .map_err(|faults| ServiceFault::Tier { faults })?;
                Ok(Work::Tier(Box::new(Tiering {
                    policy: Arc::new(checked),
                    findings: Vec::new(),
                    source: None,
                    progress: Arc::default(),
                })))
            }
            ServiceSpec::Script(policy) => Ok(Work::Script { script: Box::new(Script::new(policy, zones)?) }),
        }
    }
}

impl Syncing {
    /// What there may be something to do for: its datasets, and the listing of a source that is
    /// elsewhere.
    pub fn subjects(&self, policy: &AutoSyncPolicy) -> impl Iterator<Item = u64> {
        let listing = (!policy.origin.is_here()).then_some(LISTING);
        self.names.keys().copied().chain(listing)
    }

    /// Covers what is there now. Whether the source has another name or guid than before.
    pub fn cover(&mut self, policy: &mut AutoSyncPolicy, all: &[Named]) -> bool {
        let Coverage { datasets, findings, targets } = cover(std::slice::from_ref(&policy.source), all);
        let covered = all.iter().filter(|it| datasets.contains_key(&it.guid));
        self.names = covered.map(|it| (it.guid, it.name.clone())).collect();
        self.findings = findings;
        let Some(source) = targets.into_iter().next().filter(|source| *source != policy.source) else {
            return false;
        };
        policy.source = source;
        true
    }
}

impl Tiering {
    /// Covers what is there now. Whether the source has another name or guid than before.
    pub fn cover(&mut self, policy: &mut AutoTierPolicy, pools: &BTreeMap<u64, Arc<Vec<Named>>>) -> bool {
        let all: Vec<Named> = pools.values().flat_map(|names| names.iter().cloned()).collect();
        let Coverage { datasets, findings, targets } = cover(std::slice::from_ref(&policy.source), &all);
        self.source = all.into_iter().find(|it| datasets.contains_key(&it.guid)).map(|it| (it.guid, it.name));
        self.findings = findings;
        let Some(source) = targets.into_iter().next().filter(|source| *source != policy.source) else {
            return false;
        };
        policy.source = source;
        true
    }

    /// A session of this service.
    pub fn session(&self, id: &str, policy: &AutoTierPolicy, stop: &Cancel) -> tier::Session {
        tier::Session {
            id: id.to_owned(),
            policy: self.policy.clone(),
            spec: policy.clone(),
            source: self.source.clone(),
            stop: stop.clone(),
            progress: self.progress.clone(),
        }
    }
}

impl Snapshots {
    /// Covers what is there now. What is new is to be looked at. Whether the targets have other
    /// names or guids than before.
    pub fn cover(
        &mut self,
        policy: &mut AutoSnapPolicy,
        pools: &BTreeMap<u64, Arc<Vec<Named>>>,
        now: Time,
    ) -> bool {
        let all: Vec<Named> = pools.values().flat_map(|names| names.iter().cloned()).collect();
        let coverage = cover(&policy.targets, &all);
        for (pool, names) in pools {
            let part = self.parts.entry(*pool).or_default();
            let covered = names.iter().filter(|it| coverage.datasets.contains_key(&it.guid));
            let names: BTreeMap<u64, String> = covered.map(|it| (it.guid, it.name.clone())).collect();
            for gone in part.names.keys().filter(|guid| !names.contains_key(guid)) {
                part.agenda.remove(*gone);
                part.next.remove(gone);
            }
            for new in names.keys().filter(|guid| !part.names.contains_key(guid)) {
                part.agenda.set(*new, now);
            }
            part.names = names;
        }
        self.parts.retain(|pool, _| pools.contains_key(pool));
        let there: BTreeSet<&String> = self.parts.values().flat_map(|part| part.names.values()).collect();
        self.findings.retain(|dataset, _| there.contains(dataset));
        self.skipped.retain(|dataset, _| there.contains(dataset));
        let is_new = coverage.targets != policy.targets;
        policy.targets.clone_from(&coverage.targets);
        self.coverage = Arc::new(coverage);
        is_new
    }
}
