//! A session: the connections of one initiator's port to a target, and what they have in common.
//!
//! Commands come in the order of their numbers, whichever connection brings them: one that is ahead
//! waits in its connection's reader until those before it came by others and were handed on. A
//! session of one connection has no others: there such a command is passed over, and so is one that
//! is behind. The window of numbers that an initiator may use shrinks by what is being worked on.
//!
//! A connection that ends without having logged out takes the whole session with it, for there is
//! no recovery within a session.
//!
//! Below here are how its initiator is reached (`connection`), what it does (`tasks`), and what it
//! sees (`view`).
//!
//! Source: RFC 7143 4.2.2, 7.1.

mod connection;
mod tasks;
mod view;

use std::collections::BTreeMap;
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, RwLock, Weak};
use std::time::{Duration, Instant};

use analytics::Observer;
use scsi::Nexus;
use sockets::lock;
use sockets::pace::Pace;
use sockets::workers::{self, Workers};

use crate::catalogue::Catalogue;
use crate::cdb::CLASSES;
use crate::limits::{BLIND, CREW, DRAIN, IDLE_THREAD, LOG_OUT, THREAD_STACK, TURN, WINDOW};
use crate::member::Member;
use crate::parameters::Parameters;
use crate::pdu::target::{Event, Failure};
use crate::stats::{Counting, SessionStats, UnitStats};

pub use connection::{Connection, Wire};
use tasks::Task;
use view::View;

/// See the module.
pub struct Session {
    /// Never 0.
    pub handle: u16,
    pub initiator: String,
    pub nexus: Nexus,
    /// `None`: a discovery session.
    pub target: Option<String>,
    pub user: Option<String>,
    pub parameters: Parameters,
    pub catalogue: Arc<Catalogue>,
    counting: Counting,
    observer: Arc<Observer>,
    /// Initiator and user, for who looks at commands.
    client: Arc<str>,
    account: Option<Arc<str>>,
    /// Itself.
    own: Weak<Session>,
    view: Mutex<View>,
    /// The threads that work on its commands.
    pub crew: Workers,
    pace: Pace<CLASSES>,
    state: Mutex<State>,
    /// Anything of the state.
    changed: Condvar,
    /// Read by those who begin a task, written by one that is to be alone.
    gate: RwLock<()>,
}

#[derive(Default)]
struct State {
    connections: Vec<Arc<Connection>>,
    tasks: Vec<Arc<Task>>,
    /// Tasks that have no answer yet.
    working: u32,
    /// The number of the next command, and the last that may be used.
    expected: u32,
    most: u32,
    /// A command has its turn, and is not handed on yet.
    turn: bool,
    /// Threads that wait for anything to change.
    waiting: usize,
    /// Nobody joins any more.
    closed: bool,
    /// Nothing of it is under way any more.
    over: bool,
    /// Since when it has seen nothing, and whether it has been asked to log out for that.
    blind: Option<(Instant, bool)>,
    /// By unit, as commands name it.
    stats: BTreeMap<u64, UnitStats>,
}

/// A command's turn: it lasts until the command is handed on.
pub struct Turn<'a>(&'a Session);

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let mut state = lock(&self.0.state);
        state.turn = false;
        self.0.tell(state);
    }
}

impl State {
    /// The connection that its initiator calls so.
    fn find(&self, number: u16) -> Option<Arc<Connection>> {
        self.connections.iter().find(|one| one.number() == number).cloned()
    }

    /// How far ahead of the next a number is, of those that the window leaves.
    fn ahead(&self, number: u32) -> Option<u32> {
        let left = self.most.wrapping_sub(self.expected).wrapping_add(1);
        Some(number.wrapping_sub(self.expected)).filter(|ahead| left <= WINDOW && *ahead < left)
    }
}

impl Session {
    pub fn new(
        member: &Member,
        handle: u16,
        catalogue: Arc<Catalogue>,
        (counting, observer): (Counting, Arc<Observer>),
    ) -> Arc<Session> {
        let state = State {
            expected: member.command_number,
            most: member.command_number.wrapping_add(WINDOW - 1),
            ..State::default()
        };
        let crew = workers::Config {
            name: |_| "iscsi-crew".to_owned(),
            threads: CREW,
            stack: THREAD_STACK,
            idle_age: IDLE_THREAD,
        };
        Arc::new_cyclic(|own| Session {
            handle,
            initiator: member.initiator.clone(),
            nexus: member.nexus.clone(),
            target: member.target.clone(),
            user: member.user.clone(),
            parameters: member.parameters.clone(),
            catalogue,
            counting,
            observer,
            client: member.initiator.as_str().into(),
            account: member.user.as_deref().map(Arc::from),
            own: own.clone(),
            view: Mutex::default(),
            crew: Workers::new(crew),
            pace: Pace::new([Duration::ZERO; CLASSES]),
            state: Mutex::new(state),
            changed: Condvar::new(),
            gate: RwLock::new(()),
        })
    }

    /// Waits as long as something holds, but not for ever where there is a limit.
    fn wait<'a>(
        &self,
        mut state: MutexGuard<'a, State>,
        limit: Duration,
        mut holds: impl FnMut(&State) -> bool,
    ) -> MutexGuard<'a, State> {
        state.waiting += 1;
        let waited = self.changed.wait_timeout_while(state, limit, |state| holds(state));
        let mut state = waited.unwrap_or_else(PoisonError::into_inner).0;
        state.waiting -= 1;
        state
    }

    /// Tells those who wait that something has changed.
    fn tell(&self, state: MutexGuard<'_, State>) {
        if state.waiting > 0 {
            self.changed.notify_all();
        }
    }

    // ── Connections ──

    /// One more connection, in the place of one that had its number.
    pub fn join(&self, connection: &Arc<Connection>) -> Result<(), Failure> {
        let mut state = lock(&self.state);
        if state.closed {
            return Err(Failure::NoSession);
        }
        let old = state.find(connection.number());
        if old.is_none() && state.connections.len() >= self.parameters.max_connections {
            return Err(Failure::TooManyConnections);
        }
        state.connections.push(connection.clone());
        if let Some(old) = old {
            self.cut_one(state, &old);
        }
        Ok(())
    }

    /// A connection is over; what it had begun is finished. True: with it the session is.
    pub fn leave(&self, connection: &Arc<Connection>, in_order: bool) -> bool {
        if !in_order {
            self.cut();
        }
        self.settle(|task| task.is_of(connection));
        let mut state = lock(&self.state);
        state.connections.retain(|one| !Arc::ptr_eq(one, connection));
        let is_last = state.connections.is_empty();
        state.closed |= is_last;
        self.tell(state);
        if is_last {
            self.look_away();
            let mut state = lock(&self.state);
            state.over = true;
            self.tell(state);
        }
        is_last
    }

    /// Ends all of its connections.
    pub fn cut(&self) {
        let mut state = lock(&self.state);
        if !state.closed && state.connections.is_empty() {
            state.over = true;
        }
        state.closed = true;
        state.connections.iter().for_each(|connection| connection.cut());
        self.tell(state);
    }

    /// Tells its initiator what it has not asked for, by all of its connections; nobody waits for
    /// one that does not listen. `told` goes when all have heard it.
    pub fn announce(&self, event: Event, told: &Sender<()>) {
        let connections = lock(&self.state).connections.clone();
        for connection in connections {
            let told = told.clone();
            self.crew.submit(move || {
                connection.announce(event);
                drop(told);
            });
        }
    }

    /// Looks whether there is still anything for it to see: it is asked to log out where there is
    /// not, and later ended. False: all is well.
    pub fn look(&self) -> bool {
        let sees = self.target.is_none() || self.target().units().next().is_some();
        let mut state = lock(&self.state);
        if sees {
            state.blind = None;
            return false;
        }
        let (since, asked) = state.blind.get_or_insert_with(|| (Instant::now(), false));
        let blind = since.elapsed();
        let asks = blind >= BLIND && !std::mem::replace(asked, *asked || blind >= BLIND);
        drop(state);
        if asks {
            tracing::info!(
                initiator = self.initiator,
                target = self.target,
                "sees nothing: asked to log out"
            );
            self.announce(Event::LogOut(LOG_OUT), &mpsc::channel().0);
        }
        if blind >= BLIND + Duration::from_secs(LOG_OUT.into()) {
            self.cut();
        }
        true
    }

    /// Ends one of its connections, which has logged out by another; false if there is no such.
    pub fn log_out(&self, number: u16) -> bool {
        let state = lock(&self.state);
        let found = state.find(number);
        if let Some(found) = &found {
            self.cut_one(state, found);
        }
        found.is_some()
    }

    /// Ends a connection, and waits until it is gone.
    fn cut_one(&self, state: MutexGuard<'_, State>, connection: &Arc<Connection>) {
        connection.cut();
        self.changed.notify_all();
        drop(
            self.wait(state, DRAIN, |state| state.connections.iter().any(|one| Arc::ptr_eq(one, connection))),
        );
    }

    /// A session that was cut, for as long as that may take.
    pub fn wait_until_over(&self) {
        drop(self.wait(lock(&self.state), DRAIN, |state| !state.over));
    }

    // ── The order of commands ──

    /// The numbers that every answer has: of the command that is expected, and of the last that may
    /// come.
    pub fn window(&self) -> (u32, u32) {
        let mut state = lock(&self.state);
        let most = state.expected.wrapping_add(WINDOW.saturating_sub(state.working)).wrapping_sub(1);
        // The window only ever moves on.
        if most.wrapping_sub(state.most) < 1 << 31 {
            state.most = most;
        }
        (state.expected, state.most)
    }

    /// Waits until it is a command's turn, if that may come. `None`: it is to be passed over.
    pub fn admit(&self, connection: &Connection, number: u32) -> Option<Turn<'_>> {
        let may_come = |state: &State| match state.ahead(number) {
            Some(0) => state.turn && !state.closed && !connection.is_cut(),
            Some(_) => state.connections.len() > 1 && !state.closed && !connection.is_cut(),
            None => false,
        };
        let mut state = lock(&self.state);
        while may_come(&state) {
            state = self.wait(state, TURN, may_come);
            // Whoever has the turn may take any time; a number that is missing may not.
            if !state.turn {
                break;
            }
        }
        if state.turn || state.ahead(number) != Some(0) {
            return None;
        }
        state.turn = true;
        state.expected = state.expected.wrapping_add(1);
        Some(Turn(self))
    }

    /// Waits for the commands before an immediate one's number, which other connections may still
    /// bring.
    pub fn catch_up(&self, connection: &Connection, number: u32) {
        let is_behind = |state: &State| {
            let is_ahead = state.turn || state.ahead(number).is_some_and(|ahead| ahead > 0);
            is_ahead && state.connections.len() > 1 && !state.closed && !connection.is_cut()
        };
        drop(self.wait(lock(&self.state), TURN, is_behind));
    }

    // ── Tasks ──

    /// Tasks that are under way.
    pub fn tasks(&self) -> usize {
        lock(&self.state).tasks.len()
    }

    pub fn stats(&self) -> SessionStats {
        let target = self.target();
        let state = lock(&self.state);
        let unit = |(lun, stats): (&u64, &UnitStats)| {
            let volume = target.unit(*lun).map_or_else(String::new, |unit| unit.identity.name.clone());
            UnitStats { lun: (*lun >> 48) as u16 & 0x3fff, volume, ..stats.clone() }
        };
        SessionStats {
            initiator: self.nexus.initiator.to_string(),
            target: self.target.clone().unwrap_or_default(),
            group: self.nexus.port,
            connections: state.connections.len(),
            units: state.stats.iter().map(unit).collect(),
        }
    }
}
