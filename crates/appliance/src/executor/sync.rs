//! Replication, carried out: a session looks at datasets one after the other, parents first, and at
//! each as often as there is something to do for it.
//!
//! Invariants:
//! - What came of a dataset is noted before the next is looked at.
//! - A replica is begun only where the one above it is whole: what was received in part cannot be
//!   given up once it has children.
//! - The source is changed, and a snapshot of a replica destroyed, only while the names are those
//!   of the same datasets and snapshots as in the plan.
//! - A stream that moves no byte for as long as the policy says is broken off. What is broken off
//!   goes on where it was.

mod conduit;
mod foreign;
mod fresh;
mod guest;
mod host;
mod origin;
mod pace;
mod peer;
mod pool;
mod source;
mod ssh;
mod ssh_source;

use std::collections::HashSet;
use std::io::Write;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use api_types::{
    FailureClass, Problem, SnapTarget, SyncOrigin, SyncPlan, SyncSending, SyncSide, SyncStep, SyncTarget,
};
use engine_api::refusal::{Refused, SendFault};
use engine_api::{Adopted, Cancel, DatasetKind, Engine, Error, Pool, PropertyChange, SendEvent};
use services::autosnap::coverage::Named;
use services::autosync::memory::Synced;
use services::autosync::plan::{Plan, plan, relieve};
use services::autosync::policy::Policy;
use services::autosync::stamp;
use services::autosync::view::{Partial, Replica, Source, Target, View};
use services::time::Time;

use super::{World, class};
use crate::{Failure, NotServed};
pub use guest::{Claim, Guest, Offered, ReadClaim, Taken};
pub use origin::{Content, Elsewhere, Given, Origin, Original, Patience, Reading};
use pace::Paced;
pub use peer::{Fill, Found, Incoming, Live, Peer};
use pool::PoolPeer;
pub use pool::marked;
use source::Here;
pub use source::tag as hold_tag;
use ssh::SshPeer;
use ssh_source::SshSource;

/// Rounds of one dataset: what broke off, what came up meanwhile, what is new, and what goes.
const ROUNDS: u32 = 12;
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
    pub source: SnapTarget,
    pub origin: SyncOrigin,
    pub target: SyncTarget,
    pub stuck_after: u32,
    /// Nothing is known of a source that is elsewhere before the session has listed it.
    pub extent: Extent,
    /// Up to when the schedule was served, and whether it was asked for.
    pub due: (Time, bool),
    pub stop: Cancel,
    pub progress: Arc<Progress>,
}

/// What a session looks at.
#[derive(Default)]
pub struct Extent {
    /// The name of the source.
    pub root: String,
    /// guid, name and memory of each dataset: parents first.
    pub datasets: Vec<(u64, String, Synced)>,
    /// Names of other datasets of the service, of which nothing has got to a replica yet. Empty
    /// where all of `datasets` have begun.
    pub unbegun: HashSet<String>,
    /// A snapshot that is older is not new enough.
    pub wanted: Time,
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
    /// A source that is elsewhere was listed: what of it is to be looked at; `None`: the service is
    /// another by now.
    fn cover(&self, names: Vec<Named>, due: (Time, bool)) -> Option<Extent>;
    /// It was not.
    fn unlisted(&self, why: Fault);
}

/// What a session has to do with.
#[derive(Clone, Copy)]
struct Around<'a> {
    engine: &'a dyn Engine,
    world: &'a dyn World,
    origin: &'a dyn Origin,
    peer: &'a dyn Peer,
}

/// A dataset that is looked at, with what is read of it.
struct Look<'a> {
    session: &'a Session,
    wanted: Time,
    of: Original,
    around: Around<'a>,
    /// The replica's name, and that of the one above it, if that has to come first.
    target: String,
    first: Option<String>,
    synced: Synced,
    /// The replica has a snapshot, as far as is known.
    is_begun: bool,
    /// What the replica keeps of what clients know the source by, when it was read last.
    known_as: Option<(u64, u64)>,
    sent: u64,
    destroyed: u64,
}

/// Runs a session.
pub fn run(engine: &dyn Engine, world: &dyn World, session: &Session, office: &dyn Office) {
    let Some(elsewhere) = session.elsewhere(world) else {
        let here = session.here(engine, office.now());
        return session.run((engine, world, &here), &session.extent, office);
    };
    match elsewhere.names() {
        Ok(names) => {
            if let Some(extent) = office.cover(names, session.due) {
                session.run((engine, world, &*elsewhere), &extent, office);
            }
        }
        // It was broken off.
        Err(_) if session.stop.is_cancelled() => {}
        Err(fault) => office.unlisted(fault),
    }
}

/// What would be done now. `cover`: what of a source that is elsewhere is to be looked at.
pub fn foretell(
    (engine, world): (&dyn Engine, &dyn World),
    session: &Session,
    now: Time,
    cover: &dyn Fn(Vec<Named>) -> Extent,
    problem: fn(Failure) -> Problem,
) -> Result<Vec<SyncPlan>, Failure> {
    match session.elsewhere(world) {
        None => {
            let here = session.here(engine, now);
            session.foretell((engine, world, &here), &session.extent, now, problem)
        }
        Some(elsewhere) => {
            let extent = cover(elsewhere.names().map_err(|(_, why)| why)?);
            session.foretell((engine, world, &*elsewhere), &extent, now, problem)
        }
    }
}

fn pool_of(engine: &dyn Engine, dataset: &str) -> Result<Arc<dyn Pool>, Fault> {
    let pool = dataset.split(['/', '@']).next().unwrap_or_default();
    engine.pool(pool).map_err(|error| match error {
        Error::NotFound => (FailureClass::Retriable, Failure::NoSuchPool { pool: pool.to_owned() }),
        other => of_engine(other),
    })
}

/// This machine, and the side of the sources.
type Sides<'a> = (&'a dyn Engine, &'a dyn World, &'a dyn Origin);

impl Session {
    /// The side of the sources, where it is not this machine.
    fn elsewhere<'a>(&'a self, world: &'a dyn World) -> Option<Box<dyn Elsewhere + 'a>> {
        match &self.origin {
            SyncOrigin::Here => None,
            SyncOrigin::Ssh(place) => {
                Some(Box::new(SshSource::new(world, place, (&self.id, &self.source), &self.stop)))
            }
            SyncOrigin::Peer { peer } => Some(world.source(peer, &self.id, &self.source)),
        }
    }

    fn here<'a>(&'a self, engine: &'a dyn Engine, now: Time) -> Here<'a> {
        let names = self.extent.datasets.iter().map(|(_, name, _)| name.as_str());
        Here::new(engine, &self.id, names, now)
    }

    fn peer<'a>(&'a self, (engine, world, _): Sides<'a>, extent: &Extent) -> Box<dyn Peer + 'a> {
        match &self.target {
            SyncTarget::Pool { .. } => Box::new(PoolPeer { engine, id: &self.id }),
            SyncTarget::Peer { peer, .. } => {
                let replica = |name: &str| replica_of(&self.target, &extent.root, name);
                let sources = extent.datasets.iter().map(|(guid, name, _)| (replica(name), *guid));
                world.peer(peer, &self.id, sources.collect())
            }
            SyncTarget::Ssh(there) => {
                let service = (self.id.as_str(), extent.datasets.len() > 1);
                Box::new(SshPeer::new(world, there, service, &self.stop))
            }
        }
    }

    fn run(&self, sides: Sides<'_>, extent: &Extent, office: &dyn Office) {
        let peer = self.peer(sides, extent);
        let (engine, world, origin) = sides;
        let around = Around { engine, world, origin, peer: &*peer };
        if extent.datasets.len() > 1 {
            self.snapshot_together(around, extent, office);
        }
        let replica = |name: &String| replica_of(&self.target, &extent.root, name);
        let mut missing: HashSet<String> = extent.unbegun.iter().map(replica).collect();
        for (guid, name, synced) in &extent.datasets {
            if self.stop.is_cancelled() {
                return;
            }
            let mut look = self.look(around, extent, (*guid, name), synced);
            let above = look.target.rsplit_once('/').map(|(above, _)| above);
            look.first = above.filter(|above| missing.contains(*above)).map(str::to_owned);
            let fault = look.run(office).err();
            if fault.is_some() && !look.is_begun {
                missing.insert(look.target.clone());
            }
            if fault.is_some() && self.stop.is_cancelled() {
                // It was broken off, and goes on where it was.
                return;
            }
            let is_gone = fault.is_some() && origin.is_gone(&look.of);
            let Look { synced, sent, destroyed, .. } = look;
            office.settle(*guid, Settled { synced, sent, destroyed, fault, is_gone });
        }
    }

    fn foretell(
        &self,
        sides: Sides<'_>,
        extent: &Extent,
        now: Time,
        problem: fn(Failure) -> Problem,
    ) -> Result<Vec<SyncPlan>, Failure> {
        let peer = self.peer(sides, extent);
        let (engine, world, origin) = sides;
        let around = Around { engine, world, origin, peer: &*peer };
        let plan_of = |(guid, name, synced): &(u64, String, Synced)| {
            let mut look = self.look(around, extent, (*guid, name), synced);
            let (view, unreachable) = look.view(false, now).map_err(|(_, why)| why)?;
            let Plan { steps, refusal, .. } = plan(&self.policy, &view);
            let unreachable = unreachable.map(|(_, why)| Box::new(problem(why)));
            Ok(SyncPlan { dataset: name.clone(), target: look.target, steps, refusal, unreachable })
        };
        extent.datasets.iter().map(plan_of).collect()
    }

    fn look<'a>(
        &'a self,
        around: Around<'a>,
        extent: &Extent,
        (guid, name): (u64, &str),
        synced: &Synced,
    ) -> Look<'a> {
        Look {
            session: self,
            wanted: extent.wanted,
            of: Original { guid, name: name.to_owned() },
            around,
            target: replica_of(&self.target, &extent.root, name),
            first: None,
            synced: synced.clone(),
            is_begun: synced.snapshot.is_some(),
            known_as: None,
            sent: 0,
            destroyed: 0,
        }
    }

    /// Makes what new snapshots there are to be at one moment. What cannot be made so is made one
    /// by one, later.
    fn snapshot_together(&self, around: Around<'_>, extent: &Extent, office: &dyn Office) {
        let now = office.now();
        let mut wanted = Vec::new();
        for (guid, name, synced) in &extent.datasets {
            let mut look = self.look(around, extent, (*guid, name), synced);
            let Ok((view, _)) = look.view(false, now) else { continue };
            for step in plan(&self.policy, &view).steps {
                let SyncStep::Snapshot { snapshot } = step else { continue };
                wanted.push((look.of.clone(), snapshot));
            }
        }
        if !wanted.is_empty() {
            office.begin();
            around.origin.make_together(&wanted, now);
        }
    }
}

/// The name of the replica of a dataset below a root.
pub fn replica_of(target: &SyncTarget, root: &str, dataset: &str) -> String {
    format!("{}{}", target.dataset(), dataset.strip_prefix(root).unwrap_or_default())
}

/// Lets go what was kept for others who read here, beyond the budgets of what they may read.
pub fn relieve_readers(engine: &dyn Engine, world: &dyn World, now: Time) {
    let readers = match world.readers() {
        Ok(readers) => readers,
        Err(why) => return tracing::warn!(why, "what is kept for other appliances could not be looked at"),
    };
    for (name, reads) in readers {
        match (Guest { engine, name: &name, grants: &[], reads: &reads }).relieve(now) {
            Ok(0) => {}
            Ok(datasets) => {
                tracing::warn!(peer = name, datasets, "a peer was away for longer than its budget");
            }
            Err((_, why)) => tracing::warn!(peer = name, ?why, "what is kept for a peer could not be let go"),
        }
    }
}

impl Look<'_> {
    /// Until there is nothing more to do for it, or something fails.
    fn run(&mut self, office: &dyn Office) -> Result<(), Fault> {
        let done = self.rounds(office);
        if done.is_err() && !self.session.stop.is_cancelled() {
            let now = office.now();
            // As it will be kept: the first failure is one from now on.
            let since = self.synced.failing_since.or(Some(now));
            let reading = Reading { counts: true, anew: false, now };
            // A source that cannot be read keeps what it has. What failed first is told.
            let Ok((source, _)) = self.around.origin.read(&self.of, reading) else { return done };
            for step in relieve(self.session.policy.absence, &source, since, now) {
                office.begin();
                self.step(&step, &source, now)?;
            }
        }
        done
    }

    fn rounds(&mut self, office: &dyn Office) -> Result<(), Fault> {
        for round in 0..ROUNDS {
            let now = office.now();
            let (view, unreachable) = self.view(round > 0, now)?;
            if let (Some(parent), Target::Absent) = (&self.first, &view.target) {
                let parent = parent.clone();
                return Err((FailureClass::Retriable, NotServed::ParentFirst { parent }.into()));
            }
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
                if let Some(identity) = self.around.origin.identity(&self.of, self.known_as)? {
                    self.around.peer.adopt(&self.target, &Adopted { identity, is_live: false })?;
                }
            }
            self.synced.current = planned.current.or(self.synced.current);
            if planned.steps.is_empty() {
                return Ok(());
            }
        }
        Err((FailureClass::Retriable, NotServed::Restless { rounds: ROUNDS }.into()))
    }

    /// What there is on both sides, and why the replica's is not known.
    fn view(&mut self, anew: bool, now: Time) -> Result<(View, Option<Fault>), Fault> {
        let counts = self.synced.failing_since.is_some();
        let (source, as_of) = self.around.origin.read(&self.of, Reading { counts, anew, now })?;
        let (target, fault) = match self.around.peer.look(&self.target) {
            Ok(None) => {
                self.is_begun = false;
                (Target::Absent, None)
            }
            Ok(Some(found)) => {
                self.known_as = found.known_as;
                self.is_begun = !found.snapshots.is_empty();
                (Target::There(self.replica(found)?), None)
            }
            Err(fault) => (Target::Unreachable, Some(fault)),
        };
        let Synced { snapshot, bookmarks, failing_since, .. } = &self.synced;
        let view = View {
            source,
            target,
            wanted: self.wanted,
            sent_before: snapshot.is_some(),
            bookmarks: bookmarks.clone(),
            failing_since: *failing_since,
            as_of,
            now,
        };
        Ok((view, fault))
    }

    fn replica(&self, found: Found) -> Result<Replica, Fault> {
        let has_rest = |token: &String| self.around.origin.has_rest(&self.of, token);
        let partial = match found.token.as_ref().map(has_rest).transpose()? {
            None => None,
            Some(true) => Some(Partial::Resumable),
            Some(false) => Some(Partial::Useless),
        };
        let Found { relation, readonly, keeps, snapshots, .. } = found;
        Ok(Replica { relation, readonly, keeps, snapshots, partial })
    }

    fn step(&mut self, step: &SyncStep, source: &Source, now: Time) -> Result<(), Fault> {
        match step {
            SyncStep::Send { snapshot, from } => {
                let stamp = self.stamp_of(source, snapshot, now);
                let is_new = from.is_none();
                let (snapshot, from) = (snapshot.clone(), from.clone());
                self.send(&Content::Snapshot { snapshot, from }, (is_new, stamp), now)?;
                self.sent += 1;
            }
            SyncStep::Resume => {
                let found = self.around.peer.look(&self.target)?;
                // Somebody else may have given it up; the next round sees that.
                let Some(token) = found.and_then(|found| found.token) else { return Ok(()) };
                let of = self.around.engine.read_token(&token).map_err(of_engine)?.snapshot;
                let of = of.split_once('@').map_or("", |(_, short)| short);
                let stamp = source.snapshots.iter().find(|it| it.name == of).and_then(|it| it.stamp);
                self.send(&Content::Rest { token }, (false, stamp), now)?;
                self.sent += 1;
            }
            SyncStep::Abort => self.around.peer.abort(&self.target)?,
            SyncStep::Stamp { snapshot, at } => {
                let value = stamp::written(&self.session.id, *at);
                self.around.peer.stamp(&format!("{}@{snapshot}", self.target), &value)?;
            }
            SyncStep::Destroy { side: SyncSide::Replica, name, guid } => {
                self.around.peer.destroy(&format!("{}{name}", self.target), *guid)?;
                self.destroyed += 1;
            }
            of_source => {
                self.around.origin.change(&self.of, of_source, now)?;
                if let SyncStep::Bookmark { snapshot } = of_source {
                    let made = source.snapshots.iter().find(|it| it.name == *snapshot);
                    self.synced.bookmarks.extend(made.map(|it| it.guid));
                }
                self.destroyed += u64::from(matches!(of_source, SyncStep::Destroy { .. }));
            }
        }
        Ok(())
    }

    /// When this service made a snapshot; one that the source had not yet when it was read, just
    /// now.
    fn stamp_of(&self, source: &Source, snapshot: &str, now: Time) -> Option<Time> {
        match source.snapshots.iter().find(|it| it.name == snapshot) {
            Some(known) => known.stamp,
            None => Some(now),
        }
    }

    /// Sends what is asked for to the replica.
    fn send(&self, content: &Content, (is_new, stamp): (bool, Option<Time>), now: Time) -> Result<(), Fault> {
        let (session, of, Around { world, origin, peer, .. }) = (self.session, &self.of, self.around);
        let stuck = Duration::from_secs(session.stuck_after.into());
        let incoming = Incoming {
            dataset: &self.target,
            props: if is_new { self.props()? } else { Vec::new() },
            stamp: stamp.map(|at| stamp::written(&session.id, at)),
            bytes: session.progress.bytes.clone(),
            stuck,
            stop: session.stop.clone(),
        };
        let mut tell = |event| {
            if let SendEvent::Planned { snapshot, size, .. } = event {
                let sending = SyncSending { snapshot, since: now, bytes: 0, size, seconds: 0 };
                session.progress.set(Some(sending));
            }
        };
        let rate = || session.policy.rate(world.reading().wall);
        let clock = || world.passed();
        let patience = Patience { stuck, stop: &session.stop };
        let mut fill = |stream: &mut (dyn Write + Send)| {
            let mut paced = Paced::new(stream, &rate, &clock, &session.stop);
            origin.send(of, content, &mut paced, &mut tell, &patience)?;
            // What is left in it is a part of the stream.
            let cut = |_| of_engine(Error::Refused(Box::new(Refused::because(SendFault::Io))));
            paced.flush().map_err(cut)
        };
        let sent = peer.receive(&incoming, &mut fill);
        session.progress.set(None);
        sent
    }

    /// What a new replica is given: it is one of this service and source, and refuses writes.
    fn props(&self) -> Result<Vec<PropertyChange>, Fault> {
        let prop = |name: &str, value: String| PropertyChange { name: name.to_owned(), value };
        let Given { kind, mut props } = self.around.origin.given(&self.of)?;
        // Whatever another machine says.
        props.retain(|it| GIVEN.contains(&&*it.name));
        props.push(prop("readonly", "on".to_owned()));
        props.push(prop(stamp::REPLICA, self.session.policy.relation(self.of.guid)));
        if kind == DatasetKind::Filesystem {
            props.push(prop("canmount", "noauto".to_owned()));
        }
        Ok(props)
    }
}
