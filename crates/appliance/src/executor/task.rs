//! A piece of work of a service, for one pool or one program.
//!
//! It is carried out on a thread of its own, for a pool may take long to answer, and then its
//! outcome is handed in. A task that is dropped on the way, by a panic or for want of a thread,
//! hands in that it is lost.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use api_types::{ScriptEnd, ScriptPolicy, SnapNext, SnapTarget};
use engine_api::{Cancel, Error, Pool};
use services::autosnap::coverage::{Coverage, Named};
use services::autosnap::plan::plan;
use services::autosnap::policy::Policy as SnapPolicy;
use services::autosnap::state::State;
use services::property::Policy;
use services::time::Time;
use services::upkeep::Upkeep;
use stdx::behalf::{Actor, Way, on_behalf_of};
use stdx::patience::hurried;

use super::carry::{Carried, carry};
use super::shelf::Tended;
use super::sync::{self, Extent, Fault, Office, Session, Settled};
use super::{Services, facts, home, tend, tier};

/// Snapshots that are read for one look: more datasets are looked at afterwards.
pub const MOST_READ: usize = 200_000;

/// See the module.
pub struct Task {
    services: Arc<Services>,
    ticket: Option<Ticket>,
    pub what: What,
}

/// Whose it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ticket {
    /// guid of its pool; 0: of none.
    pub pool: u64,
    /// Id and edition of the service; `None`: it is for all.
    pub service: Option<(String, u64)>,
}

/// What is to be done.
pub enum What {
    Names(Box<Names>),
    Look(Box<Look>),
    Tend {
        pool: Arc<dyn Pool>,
        upkeep: Upkeep,
        scrub: bool,
        tended: Tended,
        stop: Cancel,
        now: Time,
    },
    Sync(Box<Session>),
    Tier(Box<tier::Session>),
    Run {
        policy: ScriptPolicy,
        stop: Cancel,
    },
    /// Lets go what was kept too long for others who read here.
    Readers {
        now: Time,
    },
}

/// Which datasets a pool has, and what they keep of services.
pub struct Names {
    pub pool: Arc<dyn Pool>,
    pub targets: Vec<SnapTarget>,
    /// Services that this machine keeps, and a dataset of this pool may keep from now on.
    pub moving: Vec<(String, Policy)>,
    pub generation: u64,
    /// Of what was set when this was begun.
    pub serial: u64,
}

/// At datasets that are due.
pub struct Look {
    pub pool: Arc<dyn Pool>,
    /// By guid and name.
    pub datasets: Vec<(u64, String)>,
    pub policy: Arc<SnapPolicy>,
    pub coverage: Arc<Coverage>,
    pub state: State,
    /// They were replicas, and are none any more.
    pub is_promoted: bool,
    pub stop: Cancel,
    pub now: Time,
}

/// What came of it.
pub enum Outcome {
    Names {
        names: Result<(Vec<Named>, home::Kept), Error>,
        generation: u64,
        serial: u64,
    },
    Look(Box<Looked>),
    /// What was looked at could not be read.
    NotRead {
        datasets: Vec<u64>,
        why: Error,
    },
    Tended(Result<tend::Tending, Error>),
    /// What came of each dataset was noted before.
    Synced,
    /// What is kept for readers was looked at, and what failed was told.
    Relieved,
    Tiered(tier::Done),
    Ran {
        end: ScriptEnd,
        output: String,
    },
    /// A fault of ours.
    Lost,
}

pub struct Looked {
    pub carried: Carried,
    pub next: BTreeMap<u64, SnapNext>,
    /// guids of those that are not there any more, and of those that are still to be looked at.
    pub gone: Vec<u64>,
    pub left: Vec<u64>,
    /// guid → name of those that were looked at.
    pub names: BTreeMap<u64, String>,
}

impl Task {
    pub fn new(services: Arc<Services>, ticket: Ticket, what: What) -> Task {
        Task { services, ticket: Some(ticket), what }
    }

    /// What its thread is called.
    pub fn name(&self) -> &'static str {
        match self.what {
            What::Names(_) | What::Look(_) | What::Tend { .. } | What::Readers { .. } => "service-pool",
            What::Sync(_) => "service-sync",
            What::Tier(_) => "service-tier",
            What::Run { .. } => "service-script",
        }
    }

    /// Carries it out, as a service: with an administrator's rights, and without waiting for an
    /// operator.
    pub fn perform(mut self) {
        let actor = Arc::new(Actor { way: Way::Service, ..Actor::itself() });
        let work = || on_behalf_of(actor, || hurried(|| self.work()));
        // A panic is told by the hook, as any is.
        let outcome = catch_unwind(AssertUnwindSafe(work)).unwrap_or(Outcome::Lost);
        if let Some(ticket) = self.ticket.take() {
            self.services.hand_in(&ticket, outcome);
        }
    }

    fn work(&self) -> Outcome {
        match &self.what {
            What::Names(asked) => {
                let Names { pool, targets, moving, generation, serial } = &**asked;
                self.services.move_home(moving, *serial);
                let read = || Ok((facts::names(&**pool, targets)?, home::read(&**pool)?));
                Outcome::Names { names: read(), generation: *generation, serial: *serial }
            }
            What::Look(look) => self.look(look),
            What::Tend { pool, upkeep, scrub, tended, stop, now } => {
                let id = self.id();
                Outcome::Tended(tend::tend((&**pool, id), upkeep, *scrub, *tended, stop, *now))
            }
            What::Sync(session) => {
                sync::run(&*self.services.engine, &*self.services.world, session, self);
                Outcome::Synced
            }
            What::Tier(session) => {
                self.begin();
                let Services { engine, world, .. } = &*self.services;
                Outcome::Tiered(tier::run(&**engine, &**world, session, &|| self.services.now()))
            }
            What::Readers { now } => {
                let Services { engine, world, .. } = &*self.services;
                sync::relieve_readers(&**engine, &**world, *now);
                Outcome::Relieved
            }
            What::Run { policy, stop } => {
                self.begin();
                let (end, output) = self.services.run_script(policy, stop);
                Outcome::Ran { end, output }
            }
        }
    }

    fn look(&self, look: &Look) -> Outcome {
        let read = match facts::views(&*look.pool, &look.datasets, look.is_promoted, MOST_READ) {
            Ok(read) => read,
            Err(why) => {
                let datasets = look.datasets.iter().map(|(guid, _)| *guid).collect();
                return Outcome::NotRead { datasets, why };
            }
        };
        let facts::Read { views, gone, left } = read;
        let names = views.iter().map(|view| (view.dataset.guid, view.dataset.name.clone())).collect();
        let planned = plan(&look.policy, &look.coverage, &look.state, &views, look.now);
        drop(views);
        if !planned.plan.groups.is_empty() || !planned.plan.destroys.is_empty() {
            self.begin();
        }
        let carried = carry(&*look.pool, self.id(), planned.plan, look.policy.lock, &look.stop);
        Outcome::Look(Box::new(Looked { carried, next: planned.next, gone, left, names }))
    }

    /// There is something to do: it is a run.
    fn begin(&self) {
        if let Some((id, edition)) = self.service() {
            self.services.tell_run(id, *edition);
        }
    }

    fn service(&self) -> Option<&(String, u64)> {
        self.ticket.as_ref().and_then(|ticket| ticket.service.as_ref())
    }

    fn id(&self) -> &str {
        self.service().map_or("", |(id, _)| id)
    }
}

impl Office for Task {
    fn now(&self) -> Time {
        self.services.now()
    }

    fn begin(&self) {
        Task::begin(self);
    }

    fn settle(&self, dataset: u64, settled: Settled) {
        if let Some((id, edition)) = self.service() {
            self.services.note_synced(id, *edition, dataset, settled);
        }
    }

    fn cover(&self, names: Vec<Named>, due: (Time, bool)) -> Option<Extent> {
        let (id, edition) = self.service()?;
        self.services.note_listed(id, *edition, names, due)
    }

    fn unlisted(&self, why: Fault) {
        if let Some((id, edition)) = self.service() {
            self.services.note_unlisted(id, *edition, why);
        }
    }
}

impl Drop for Task {
    fn drop(&mut self) {
        if let Some(ticket) = self.ticket.take() {
            self.services.hand_in(&ticket, Outcome::Lost);
        }
    }
}
