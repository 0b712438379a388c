//! The executor of services: reads the facts, has the planners of crate `services` decide, carries
//! out what they say as it stands, and keeps what came of it.
//!
//! One thread asks again and again what is to be done ([`Services::due`]) and waits in between
//! ([`Services::wait`]). A [`Task`] is for one pool or one program, and is carried out on a thread
//! of its own ([`Task::perform`]). At a pool there is one task at a time, so one that hangs holds
//! up its own work alone; a suspended one answers at once that it is.
//!
//! Invariants:
//! - What time it is, the planners' clock says: no stamp of a wall clock that leaps has anything
//!   destroyed.
//! - The lock is held while the shelf writes, and never while a pool is used. Who sets a service
//!   holds `changing` as well, outermost, and meanwhile changes what its home keeps.
//! - A snapshot knows itself whose it is, from the moment it is made. So a crash between the change
//!   and its note on the shelf makes nothing twice.
//! - A look that finds nothing to do is no run: it leaves no line in the log.

mod ask;
mod carry;
mod class;
mod facts;
mod hand_in;
mod home;
mod line;
mod round;
mod settle;
mod shelf;
pub(crate) mod sync;
mod task;
mod tend;
mod tier;
mod work;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::Duration;

use api_types::{
    PeerRead, Problem, RsyncEnd, ScriptEnd, ScriptPolicy, ServiceEvent, ServiceLog, ServiceLogEntry,
    ServiceState, SleepingPolicy, SnapTarget, SshHost,
};
use engine_api::{Cancel, Engine};
use jiff::tz::TimeZone;
use services::autosnap::coverage::Named;
use services::autotier::command::Said;
use services::clock::{Belief, Clock, Reading};
use services::time::Time;
use stdx::prng::Prng;

use crate::Failure;

pub(crate) use facts::filter;
pub use line::{Bounds, Broken, Ended, Line};
pub use shelf::{Kept, Memory, Shelf, ShelfFault, Spoilt};
use sync::{Elsewhere, Fault, Peer};
pub(crate) use sync::{Guest, hold_tag, marked, replica_of};
pub use task::Task;
pub use tier::Errand;
use work::Working;

/// How often it is seen whether there are other pools or datasets.
const GLANCE: Duration = Duration::from_secs(1);

/// Time, chance and programs, which the caller gives.
pub trait World: Send + Sync {
    fn reading(&self) -> Reading;
    /// Time that has passed since some moment, by a clock that never leaps: for rates.
    fn passed(&self) -> Duration;
    /// The rules of a time zone by its name, or of the machine's own; `None`: there is none.
    fn zone(&self, name: Option<&str>) -> Option<TimeZone>;
    fn seed(&self) -> u64;
    /// Runs a program within its bounds, and gives how it ended and the last of what it wrote.
    fn run(&self, policy: &ScriptPolicy, stop: &Cancel) -> (ScriptEnd, String);
    /// Whether the source of a replica that a peer's service sends here is in use there.
    fn original(&self, peer: &str, service: &str, guid: u64) -> Result<bool, Fault>;
    /// Another appliance, as the target of a service: replica → guid of its source.
    fn peer(&self, name: &str, service: &str, sources: BTreeMap<String, u64>) -> Box<dyn Peer>;
    /// Other appliances that may read here, by name, and what.
    ///
    /// # Errors
    /// Why that is not known, for people.
    fn readers(&self) -> std::result::Result<Vec<(String, Vec<PeerRead>)>, String>;
    /// Another appliance, as the source of a service.
    fn source(&self, name: &str, service: &str, source: &SnapTarget) -> Box<dyn Elsewhere>;
    /// Connects to a host by SSH.
    ///
    /// # Errors
    /// Within a bound of its own.
    fn connect(&self, place: &SshHost, stop: &Cancel) -> Result<Box<dyn Line>, Broken>;
    /// The public key that this machine shows to others, and the file of keys of hosts.
    fn keys(&self) -> (String, String);
    /// The file systems that are mounted on this machine, and where.
    fn mounts(&self) -> Vec<(String, String)>;
    /// A folder of this machine by its path without symbolic links; `None`: there is none.
    fn folder(&self, path: &str) -> Option<String>;
    /// Has all be durable that was written to the file system at a path.
    ///
    /// # Errors
    /// Why not, for people.
    fn flush(&self, path: &str) -> std::result::Result<(), String>;
    /// Runs rsync, and tells what it says. Gives how it ended, and the last of what it wrote as its
    /// errors.
    fn rsync(&self, errand: &Errand<'_>, told: &mut dyn FnMut(Said)) -> (RsyncEnd, String);
}

/// See the module.
pub struct Services {
    engine: Arc<dyn Engine>,
    world: Arc<dyn World>,
    shelf: Arc<dyn Shelf>,
    /// Makes of a failure what clients are told.
    problem: fn(Failure) -> Problem,
    listener: OnceLock<Box<dyn Fn(ServiceEvent) + Send + Sync>>,
    this: Weak<Services>,
    /// Held by whoever sets a service, from what he reads to what he has written.
    changing: Mutex<()>,
    state: Mutex<State>,
    /// Rings when there may be something to do.
    bell: Condvar,
}

struct State {
    clock: Clock,
    belief: Belief,
    services: BTreeMap<String, Working>,
    /// guid of a pool → at what it is, and since when.
    busy: BTreeMap<u64, Time>,
    /// Services whose program runs.
    running: BTreeSet<String>,
    /// Services that replicate.
    syncing: BTreeSet<String>,
    /// guid of a pool → the datasets that services may cover there.
    names: BTreeMap<u64, Known>,
    /// guid of a pool → policies there that are not at work.
    sleeping: BTreeMap<u64, Vec<SleepingPolicy>>,
    /// How often something was set.
    serial: u64,
    /// Of the engine, when it was last asked what is to be done.
    generation: u64,
    random: Prng,
    /// Number of the last edition of a service.
    edition: u64,
    /// When the clock was kept last.
    kept_clock: Option<Time>,
    /// When what is kept for readers is looked at next; `None`: that is under way.
    readers_at: Option<Time>,
    is_stirred: bool,
    is_ending: bool,
}

struct Known {
    names: Arc<Vec<Named>>,
    /// Of the engine, before they were read; `None`: they are to be read again.
    generation: Option<u64>,
    /// When they were read.
    at: Time,
    /// Seconds until they are read again at the earliest.
    rest: i64,
}

impl Services {
    /// With what the shelf has. What ran when the program ended was interrupted.
    pub fn new(
        engine: Arc<dyn Engine>,
        world: Arc<dyn World>,
        shelf: Arc<dyn Shelf>,
        problem: fn(Failure) -> Problem,
    ) -> Arc<Services> {
        let kept = shelf.clock().unwrap_or_else(|fault| {
            tracing::error!(?fault, "what time it was when the program ended is not known");
            None
        });
        let mut clock = kept.unwrap_or_default();
        let belief = clock.observe(world.reading());
        let random = Prng::new(world.seed());
        let state = State {
            clock,
            belief,
            services: BTreeMap::new(),
            busy: BTreeMap::new(),
            running: BTreeSet::new(),
            syncing: BTreeSet::new(),
            names: BTreeMap::new(),
            sleeping: BTreeMap::new(),
            serial: 0,
            generation: 0,
            random,
            edition: 0,
            kept_clock: None,
            readers_at: Some(Time::MIN),
            is_stirred: false,
            is_ending: false,
        };
        let services = Arc::new_cyclic(|this| Services {
            engine,
            world,
            shelf,
            problem,
            listener: OnceLock::new(),
            this: this.clone(),
            changing: Mutex::new(()),
            state: Mutex::new(state),
            bell: Condvar::new(),
        });
        services.load();
        services
    }

    fn load(&self) {
        let kept = match self.shelf.services() {
            Ok(kept) => kept,
            Err(ShelfFault::Missing) => return,
            Err(fault) => {
                tracing::error!(?fault, "which services there are is not known: none runs");
                return;
            }
        };
        let mut state = self.lock();
        let now = state.belief.now;
        for kept in kept {
            let loaded = kept.and_then(|mut kept| {
                kept.instance.restarted(now);
                state.edition += 1;
                let id = kept.instance.id.clone();
                let working = Working::new(state.edition, kept, &|name| self.world.zone(name));
                working.map_err(|fault| Spoilt { id, why: format!("{fault:?}") })
            });
            match loaded {
                Ok(working) => drop(state.services.insert(working.instance.id.clone(), working)),
                // It stays on the shelf as it is: a newer program may have set it.
                Err(Spoilt { id, why }) => tracing::error!(id, why, "this service cannot be run"),
            }
        }
    }

    /// Is told of each state that a service comes into; of the first that is given. It may not
    /// wait.
    pub fn tell(&self, listener: impl Fn(ServiceEvent) + Send + Sync + 'static) {
        drop(self.listener.set(Box::new(listener)));
    }

    /// What time services believe that it is.
    pub fn now(&self) -> Time {
        self.lock_now().belief.now
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // A panic while it is held leaves a service that is at most looked at once more.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The state, with what time it is now: nobody may have asked for a minute.
    fn lock_now(&self) -> MutexGuard<'_, State> {
        let mut state = self.lock();
        self.observe(&mut state);
        state
    }

    /// Waits until there may be something to do. `false`: the program ends.
    pub fn wait(&self, most: Duration) -> bool {
        let idle = |state: &mut State| !state.is_stirred && !state.is_ending;
        let mut left = most;
        loop {
            // Pools that come and go ring no bell.
            let step = left.min(GLANCE);
            let waited = self.bell.wait_timeout_while(self.lock(), step, idle);
            let (mut state, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
            left = left.saturating_sub(step);
            let is_over = left.is_zero() || state.generation != self.engine.served_generation();
            if !timeout.timed_out() || is_over {
                state.is_stirred = false;
                return !state.is_ending;
            }
        }
    }

    /// The program ends: what is under way is to stop, and nothing more begins.
    pub fn end(&self) {
        let mut state = self.lock();
        state.is_ending = true;
        state.services.values().for_each(|service| service.stop.cancel());
        self.bell.notify_all();
    }

    /// Waits until nothing is under way any more. `false`: it took longer.
    pub fn rest(&self, most: Duration) -> bool {
        let at_work = |state: &mut State| {
            !state.busy.is_empty() || !state.running.is_empty() || !state.syncing.is_empty()
        };
        let waited = self.bell.wait_timeout_while(self.lock(), most, at_work);
        let (mut state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        !at_work(&mut state)
    }

    fn stir(&self, state: &mut State) {
        state.is_stirred = true;
        self.bell.notify_all();
    }

    fn run_script(&self, policy: &ScriptPolicy, stop: &Cancel) -> (ScriptEnd, String) {
        self.world.run(policy, stop)
    }

    /// Keeps how a service stands after it did something, and tells of another state.
    fn note(&self, working: &Working, before: ServiceState, now: Time, mut entries: Vec<ServiceLogEntry>) {
        let (state, cause) = (working.instance.state, working.instance.cause.clone());
        if state != before {
            entries.push(ServiceLogEntry::State { state, cause });
            self.announce(&working.instance.id, Some(state));
        }
        let lines: Vec<ServiceLog> = entries.into_iter().map(|entry| ServiceLog { at: now, entry }).collect();
        if let Err(fault) = self.shelf.note(&working.kept(), &lines) {
            tracing::error!(id = working.instance.id, ?fault, "how this service stands was not kept");
        }
    }

    fn announce(&self, id: &str, state: Option<ServiceState>) {
        if let Some(listener) = self.listener.get() {
            listener(ServiceEvent { id: id.to_owned(), state });
        }
    }
}
