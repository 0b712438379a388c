//! Replication, carried out: a session looks at datasets one after the other, parents first, and at
//! each as often as there is something to do for it.
//!
//! Invariants:
//! - What came of a dataset is noted before the next is looked at.
//! - The source is changed, and a snapshot of a replica destroyed, only while the names are those
//!   of the same datasets and snapshots as in the plan.
//! - A stream that moves no byte for as long as the policy says is broken off. What is broken off
//!   goes on where it was.

mod conduit;
mod peer;
mod pool;
mod source;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use api_types::{FailureClass, Problem, SyncPlan, SyncSending, SyncSide, SyncStep, SyncTarget};
use engine_api::refusal::{Reason, SendFault};
use engine_api::{Cancel, DatasetKind, Engine, Error, Pool, PropertyChange, SendEvent, SendRequest};
use services::autosync::memory::Synced;
use services::autosync::plan::{Plan, plan, relieve};
use services::autosync::policy::Policy;
use services::autosync::stamp;
use services::autosync::view::{Partial, Replica, Source, Target, View};
use services::time::Time;
use stdx::premise::{Premise, relying_on};

use super::carry::history;
use super::class;
use crate::{Failure, NotServed};
use peer::{Found, Incoming, Peer};
use pool::PoolPeer;
use source::Here;

/// Rounds of one dataset: what broke off, what came up meanwhile, what is new, and what goes.
const ROUNDS: u32 = 12;
/// Snapshots that are made together.
const TOGETHER: usize = 1_000;
/// Properties of the source that a new replica is given: they say how data is written, and what
/// permissions it has. None of them mounts, shares or runs anything.
const GIVEN: [&str; 5] = ["compression", "recordsize", "acltype", "aclinherit", "xattr"];

/// Why something was not done for a dataset.
pub type Fault = (FailureClass, Failure);

fn of_engine(error: Error) -> Fault {
    (class::of(&error), error.into())
}

/// What is sent now.
#[derive(Default)]
pub struct Progress {
    now: Mutex<Option<SyncSending>>,
    bytes: Arc<AtomicU64>,
}

impl Progress {
    pub fn sending(&self, now: Time) -> Option<SyncSending> {
        let sending = self.now.lock().unwrap_or_else(PoisonError::into_inner).clone()?;
        let seconds = u64::try_from(now.saturating_sub(sending.since)).unwrap_or(0);
        Some(SyncSending { bytes: self.bytes.load(Relaxed), seconds, ..sending })
    }

    fn set(&self, sending: Option<SyncSending>) {
        self.bytes.store(0, Relaxed);
        *self.now.lock().unwrap_or_else(PoisonError::into_inner) = sending;
    }
}

/// What a session has to do.
pub struct Session {
    pub id: String,
    pub policy: Arc<Policy>,
    pub target: SyncTarget,
    pub stuck_after: u32,
    /// The name of the source, and guid, name and memory of each dataset that is looked at: parents
    /// first.
    pub root: String,
    pub datasets: Vec<(u64, String, Synced)>,
    pub wanted: Time,
    pub stop: Cancel,
    pub progress: Arc<Progress>,
}

/// What came of a dataset.
pub struct Settled {
    pub synced: Synced,
    /// Snapshots that got to the replica, and snapshots and bookmarks that were destroyed.
    pub sent: u64,
    pub destroyed: u64,
    pub fault: Option<Fault>,
    /// Another dataset has its name now, or none: which there are is to be read anew.
    pub is_gone: bool,
}

/// What a session asks of those that run it.
pub trait Office {
    fn now(&self) -> Time;
    /// There is something to do.
    fn begin(&self);
    fn settle(&self, dataset: u64, settled: Settled);
}

/// A dataset that is looked at, with what is read of it.
struct Look<'a> {
    session: &'a Session,
    here: Here,
    peer: &'a dyn Peer,
    /// The replica's name.
    target: String,
    synced: Synced,
    /// When the source was written out.
    as_of: Time,
    sent: u64,
    destroyed: u64,
}

/// Runs a session.
pub fn run(engine: &dyn Engine, session: &Session, office: &dyn Office) {
    let peer = session.peer(engine);
    let as_of = office.now();
    session.write_out(engine);
    if session.datasets.len() > 1 {
        session.snapshot_together(engine, &*peer, office, as_of);
    }
    for (guid, name, synced) in &session.datasets {
        if session.stop.is_cancelled() {
            return;
        }
        let mut look = match session.look((engine, &*peer), as_of, (*guid, name), synced) {
            Ok(look) => look,
            Err(fault) => {
                let (synced, fault) = (synced.clone(), Some(fault));
                office.settle(*guid, Settled { synced, sent: 0, destroyed: 0, fault, is_gone: true });
                continue;
            }
        };
        let fault = look.run(office).err();
        if fault.is_some() && session.stop.is_cancelled() {
            // It was broken off, and goes on where it was.
            return;
        }
        let is_gone = fault.is_some() && look.here.is_gone();
        let Look { synced, sent, destroyed, .. } = look;
        office.settle(*guid, Settled { synced, sent, destroyed, fault, is_gone });
    }
}

/// What would be done now.
pub fn foretell(
    engine: &dyn Engine,
    session: &Session,
    now: Time,
    problem: fn(Failure) -> Problem,
) -> Result<Vec<SyncPlan>, Failure> {
    let (peer, as_of) = (session.peer(engine), now);
    session.write_out(engine);
    let plan_of = |(guid, name, synced): &(u64, String, Synced)| {
        let look = session.look((engine, &*peer), as_of, (*guid, name), synced).map_err(|(_, why)| why)?;
        let (view, unreachable) = look.view(now).map_err(|(_, why)| why)?;
        let Plan { steps, refusal, .. } = plan(&session.policy, &view);
        let unreachable = unreachable.map(|(_, why)| Box::new(problem(why)));
        Ok(SyncPlan { dataset: name.clone(), target: look.target, steps, refusal, unreachable })
    };
    session.datasets.iter().map(plan_of).collect()
}

fn pool_of(engine: &dyn Engine, dataset: &str) -> Result<Arc<dyn Pool>, Fault> {
    let pool = dataset.split(['/', '@']).next().unwrap_or_default();
    engine.pool(pool).map_err(|error| match error {
        Error::NotFound => (FailureClass::Retriable, Failure::NoSuchPool { pool: pool.to_owned() }),
        other => of_engine(other),
    })
}

/// The guid of a dataset, its name, and the snapshot that it is to get.
type Together = (u64, String, String);

impl Session {
    fn peer<'a>(&'a self, engine: &'a dyn Engine) -> Box<dyn Peer + 'a> {
        match &self.target {
            SyncTarget::Pool { .. } => Box::new(PoolPeer { engine, id: &self.id }),
        }
    }

    fn look<'a>(
        &'a self,
        (engine, peer): (&dyn Engine, &'a dyn Peer),
        as_of: Time,
        (guid, name): (u64, &str),
        synced: &Synced,
    ) -> Result<Look<'a>, Fault> {
        let here = Here { pool: pool_of(engine, name)?, name: name.to_owned(), guid };
        let target = replica_of(&self.target, &self.root, name);
        let synced = synced.clone();
        Ok(Look { session: self, here, peer, target, synced, as_of, sent: 0, destroyed: 0 })
    }

    /// A pool counts what was written to a dataset once it is on its disks.
    fn write_out(&self, engine: &dyn Engine) {
        let pools: BTreeSet<&str> =
            self.datasets.iter().filter_map(|(_, name, _)| name.split('/').next()).collect();
        for pool in pools {
            // What is not there or does not answer is told of each dataset.
            if let Err((_, why)) = pool_of(engine, pool).and_then(|pool| pool.sync().map_err(of_engine)) {
                tracing::debug!(pool, ?why, "not written out");
            }
        }
    }

    /// Makes what new snapshots there are to be in one transaction group. What cannot be made so is
    /// made one by one, later.
    fn snapshot_together(&self, engine: &dyn Engine, peer: &dyn Peer, office: &dyn Office, as_of: Time) {
        let now = office.now();
        let mut wanted: BTreeMap<u64, (Arc<dyn Pool>, Vec<Together>)> = BTreeMap::new();
        for (guid, name, synced) in &self.datasets {
            let Ok(look) = self.look((engine, peer), as_of, (*guid, name), synced) else { continue };
            let Ok((view, _)) = look.view(now) else { continue };
            for step in plan(&self.policy, &view).steps {
                let SyncStep::Snapshot { snapshot } = step else { continue };
                let pool = look.here.pool.clone();
                let (_, datasets) = wanted.entry(pool.guid()).or_insert((pool, Vec::new()));
                datasets.push((*guid, name.clone(), format!("{name}@{snapshot}")));
            }
        }
        for (pool, datasets) in wanted.into_values() {
            for some in datasets.chunks(TOGETHER) {
                office.begin();
                let things = some.iter().map(|(guid, name, _)| (name.clone(), *guid)).collect();
                let names = some.iter().map(|(.., snapshot)| snapshot.clone()).collect();
                let change = source::snapshots(&self.id, names, now);
                let commit = || pool.commit(&change, &history(&self.id));
                if let Err(error) = relying_on(Some(Premise::Same { things }), commit) {
                    tracing::warn!(id = self.id, %error, "snapshots were not made together");
                }
            }
        }
    }
}

/// The name of the replica of a dataset below a root.
pub fn replica_of(target: &SyncTarget, root: &str, dataset: &str) -> String {
    format!("{}{}", target.dataset(), dataset.strip_prefix(root).unwrap_or_default())
}

impl Look<'_> {
    /// Until there is nothing more to do for it, or something fails.
    fn run(&mut self, office: &dyn Office) -> Result<(), Fault> {
        let done = self.rounds(office);
        if done.is_err() && !self.session.stop.is_cancelled() {
            let now = office.now();
            // As it will be kept: the first failure is one from now on.
            let since = self.synced.failing_since.or(Some(now));
            let source = self.here.read(&self.session.id, true).map_err(of_engine)?;
            for step in relieve(&self.session.policy, &source, since, now) {
                office.begin();
                self.step(&step, &source, now)?;
            }
        }
        done
    }

    fn rounds(&mut self, office: &dyn Office) -> Result<(), Fault> {
        for round in 0..ROUNDS {
            let now = office.now();
            if round > 0 {
                self.here.pool.sync().map_err(of_engine)?;
                self.as_of = now;
            }
            let (view, unreachable) = self.view(now)?;
            let planned = plan(&self.session.policy, &view);
            if !planned.steps.is_empty() {
                office.begin();
            }
            for step in &planned.steps {
                if self.session.stop.is_cancelled() {
                    return Err((FailureClass::Retriable, NotServed::Stopped.into()));
                }
                self.step(step, &view.source, now)?;
            }
            if let Some(fault) = unreachable {
                return Err(fault);
            }
            if let Some(refusal) = planned.refusal {
                let (dataset, why) = (self.target.clone(), refusal);
                return Err((FailureClass::NeedsPerson, NotServed::Sync { dataset, why }.into()));
            }
            if let Some(base) = planned.base {
                self.synced.snapshot = Some(base.replica);
            }
            self.synced.current = planned.current.or(self.synced.current);
            if planned.steps.is_empty() {
                return Ok(());
            }
        }
        Err((FailureClass::Retriable, NotServed::Restless { rounds: ROUNDS }.into()))
    }

    /// What there is on both sides, and why the replica's is not known.
    fn view(&self, now: Time) -> Result<(View, Option<Fault>), Fault> {
        let source =
            self.here.read(&self.session.id, self.synced.failing_since.is_some()).map_err(of_engine)?;
        let (target, fault) = match self.peer.look(&self.target) {
            Ok(None) => (Target::Absent, None),
            Ok(Some(found)) => (Target::There(self.replica(found)?), None),
            Err(fault) => (Target::Unreachable, Some(fault)),
        };
        let Synced { snapshot, bookmarks, failing_since, .. } = &self.synced;
        let view = View {
            source,
            target,
            wanted: self.session.wanted,
            sent_before: snapshot.is_some(),
            bookmarks: bookmarks.clone(),
            failing_since: *failing_since,
            as_of: self.as_of,
            now,
        };
        Ok((view, fault))
    }

    fn replica(&self, found: Found) -> Result<Replica, Fault> {
        let partial = match &found.token {
            None => None,
            Some(token) => Some(self.partial(token)?),
        };
        let Found { relation, readonly, snapshots, .. } = found;
        Ok(Replica { relation, readonly, snapshots, partial })
    }

    /// Whether the source has the rest of what was received in part.
    fn partial(&self, token: &str) -> Result<Partial, Fault> {
        let request = SendRequest { token: Some(token.to_owned()), dry_run: true, ..self.request() };
        match self.here.pool.send(&request, &mut std::io::sink(), &mut |_| {}) {
            Ok(()) => Ok(Partial::Resumable),
            Err(Error::Refused(refused)) if is_of_token(&refused.reason) => Ok(Partial::Useless),
            Err(error) => Err(of_engine(error)),
        }
    }

    fn request(&self) -> SendRequest {
        SendRequest { large_blocks: true, embed: true, compress: true, ..SendRequest::default() }
    }

    fn step(&mut self, step: &SyncStep, source: &Source, now: Time) -> Result<(), Fault> {
        match step {
            SyncStep::Send { snapshot, from } => {
                let snapshot = format!("{}@{snapshot}", self.here.name);
                let from = from.as_ref().map(|from| format!("{}{from}", self.here.name));
                let is_new = from.is_none();
                self.send(&SendRequest { snapshot, from, ..self.request() }, is_new, now)?;
                self.sent += 1;
            }
            SyncStep::Resume => {
                let found = self.peer.look(&self.target)?;
                // Somebody else may have given it up; the next round sees that.
                let Some(token) = found.and_then(|found| found.token) else { return Ok(()) };
                self.send(&SendRequest { token: Some(token), ..self.request() }, false, now)?;
                self.sent += 1;
            }
            SyncStep::Abort => self.peer.abort(&self.target)?,
            SyncStep::Stamp { snapshot, at } => {
                let value = stamp::written(&self.session.id, *at);
                self.peer.stamp(&format!("{}@{snapshot}", self.target), &value)?;
            }
            SyncStep::Destroy { side: SyncSide::Replica, name, guid } => {
                self.peer.destroy(&format!("{}{name}", self.target), *guid)?;
                self.destroyed += 1;
            }
            of_source => {
                self.here.change(&self.session.id, of_source, now).map_err(of_engine)?;
                if let SyncStep::Bookmark { snapshot } = of_source {
                    let made = source.snapshots.iter().find(|it| it.name == *snapshot);
                    self.synced.bookmarks.extend(made.map(|it| it.guid));
                }
                self.destroyed += u64::from(matches!(of_source, SyncStep::Destroy { .. }));
            }
        }
        Ok(())
    }

    /// Sends what is asked for to the replica.
    fn send(&self, request: &SendRequest, is_new: bool, now: Time) -> Result<(), Fault> {
        let session = self.session;
        let props = if is_new { self.props().map_err(of_engine)? } else { Vec::new() };
        let incoming = Incoming {
            dataset: &self.target,
            props,
            bytes: session.progress.bytes.clone(),
            stuck: Duration::from_secs(session.stuck_after.into()),
            stop: session.stop.clone(),
        };
        let mut tell = |event| {
            if let SendEvent::Planned { snapshot, size, .. } = event {
                let sending = SyncSending { snapshot, since: now, bytes: 0, size, seconds: 0 };
                session.progress.set(Some(sending));
            }
        };
        let pool = &self.here.pool;
        let sent = self.peer.receive(&incoming, &mut |stream| pool.send(request, stream, &mut tell));
        session.progress.set(None);
        sent
    }

    /// What a new replica is given: it is one of this service and source, and refuses writes.
    fn props(&self) -> engine_api::Result<Vec<PropertyChange>> {
        let prop = |name: &str, value: String| PropertyChange { name: name.to_owned(), value };
        let head = self.here.head(&GIVEN)?;
        let given = GIVEN.iter().filter_map(|name| Some(prop(name, head.own(name)?.to_owned())));
        let mut props: Vec<PropertyChange> = given.collect();
        props.push(prop("readonly", "on".to_owned()));
        props.push(prop(stamp::REPLICA, self.session.policy.relation(self.here.guid)));
        if head.kind == DatasetKind::Filesystem {
            props.push(prop("canmount", "noauto".to_owned()));
        }
        Ok(props)
    }
}

/// Whether a token cannot be followed here, now or later.
fn is_of_token(reason: &Reason) -> bool {
    matches!(
        reason,
        Reason::Send(SendFault::TokenOf { .. } | SendFault::NoTokenSource { .. } | SendFault::Token { .. })
    )
}
