//! A session: the connections of one initiator's port to a target, and what they have in common.
//!
//! Commands come in the order of their numbers, whichever connection brings them: one that is ahead
//! waits in its connection's reader until those before it came by others and were handed on. A
//! session of one connection has no others: there such a command is passed over, and so is one that
//! is behind. The window of numbers that an initiator may use shrinks by what is being worked on.
//!
//! What was quick lately, reads in memory say, the reader that brought it does by itself: that
//! costs no change of threads. All else is the crew's, so that what comes behind overtakes it. What
//! has to be on stable storage before it ends is put aside ([`crate::keepers`]). A task that is
//! ended before its time is not executed any more, or, where it is already, has another answer or
//! none.
//!
//! A task belongs to the connection that brought its command: its data comes there, and there it is
//! answered. A connection that ends without having logged out takes the whole session with it, for
//! there is no recovery within a session.
//!
//! Source: RFC 7143 4.2.2, 4.2.3, 7.1.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError, RwLock, Weak};
use std::time::{Duration, Instant};

use scsi::codes;
use scsi::{Answer, Begun, Ending, LogicalUnit, Nexus, Status, Target, Tasks};
use sockets::Lease;
use sockets::pace::{FAST, Pace};

use crate::catalogue::Catalogue;
use crate::conn::Connection;
use crate::crew::Crew;
use crate::gather::Gathered;
use crate::limits::{BLIND, DRAIN, LOG_OUT, LONG, MOST_READ, SHORT_ANSWER, TURN, WINDOW};
use crate::login::{Failure, Member, NO_SESSION, TOO_MANY_CONNECTIONS};
use crate::parameters::Parameters;
use crate::pdu::flags::READS;
use crate::pdu::{Pdu, at};
use crate::stats::{SessionStats, UnitStats};
use crate::watch::Event;

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
    /// Itself.
    own: Weak<Session>,
    view: Mutex<View>,
    pub crew: Arc<Crew>,
    pace: Pace<CLASSES>,
    state: Mutex<State>,
    /// Anything of the state.
    changed: Condvar,
    /// Read by those who begin a task, written by one that is to be alone.
    gate: RwLock<()>,
}

/// What the session sees, as of a generation of the catalogue; `None`: it has not looked yet.
struct View {
    generation: Option<u64>,
    /// The session is over: it looks no more.
    closed: bool,
    target: Arc<Target>,
}

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

/// Of a command's second byte (SBC-3).
const FORCE_UNIT_ACCESS: u8 = 0x08;

/// Kinds of commands that a reader may do by itself.
const CLASSES: usize = 6;

/// Which of them a command is: it reads, writes or compares, much or little. `None`: it always
/// waits, or is rare.
fn class_of(command: &Pdu) -> Option<usize> {
    let kind = match command.cdb(0) {
        // What is to be read from stable storage has to get there first.
        codes::READ_10 | codes::READ_12 | codes::READ_16 if command.cdb(1) & FORCE_UNIT_ACCESS == 0 => 0,
        codes::WRITE_10 | codes::WRITE_12 | codes::WRITE_16 => 1,
        codes::COMPARE_AND_WRITE => 2,
        _ => return None,
    };
    Some(2 * kind + usize::from(command.u32(at::EXPECTED_LEN) as usize > LONG))
}

/// Bytes that a command's answer may come to, as it says itself, and as its initiator expects: the
/// unit reads as the command says, whatever part of that is sent.
pub fn weight(command: &Pdu) -> usize {
    const BLOCK: usize = 512;
    let expected = command.expected(READS);
    // Of SBC-3: where each has the number of its blocks.
    let blocks = match command.cdb(0) {
        codes::READ_10 => usize::from(u16::from_be_bytes(command.field(at::CDB + 7))),
        codes::READ_12 => command.u32(at::CDB + 6) as usize,
        codes::READ_16 => command.u32(at::CDB + 10) as usize,
        codes::READ_6 => usize::from(command.cdb(4).wrapping_sub(1)) + 1,
        _ => 0,
    };
    let read = blocks.saturating_mul(BLOCK);
    SHORT_ANSWER + expected.min(MOST_READ).max(if read > MOST_READ { 0 } else { read })
}

/// A panic is a broken invariant in the engine; it must not take the session along.
fn unless_it_panics<T>(work: impl FnOnce() -> T, otherwise: impl FnOnce(Answer) -> T) -> T {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| {
        tracing::error!("a command ended in a panic");
        otherwise(Answer::failed())
    })
}

/// A command that is under way.
pub struct Task {
    pub tag: u32,
    pub lun: u64,
    connection: Arc<Connection>,
    begun: Instant,
    /// What comes first: it is answered, or ended before its time.
    fate: OnceLock<Fate>,
    /// Nothing of it is under way any more, but that it may not be on stable storage, and its
    /// answer.
    executed: AtomicBool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    Answered,
    /// Nobody waits for the answer any more.
    Aborted,
    /// Others have ended it, which is the answer.
    Cleared,
}

/// A command's turn: it lasts until the command is handed on.
pub struct Turn<'a>(&'a Session);

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.turn = false;
        self.0.tell(state);
    }
}

impl Task {
    pub fn is_of(&self, connection: &Arc<Connection>) -> bool {
        Arc::ptr_eq(&self.connection, connection)
    }
}

pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
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
    pub fn new(member: &Member, handle: u16, catalogue: Arc<Catalogue>) -> Arc<Session> {
        let state = State {
            connections: Vec::new(),
            tasks: Vec::new(),
            working: 0,
            expected: member.command_number,
            most: member.command_number.wrapping_add(WINDOW - 1),
            turn: false,
            waiting: 0,
            closed: false,
            over: false,
            blind: None,
            stats: BTreeMap::new(),
        };
        Arc::new_cyclic(|own| Session {
            handle,
            initiator: member.initiator.clone(),
            nexus: member.nexus.clone(),
            target: member.target.clone(),
            user: member.user.clone(),
            parameters: member.parameters.clone(),
            catalogue,
            own: own.clone(),
            view: Mutex::new(View { generation: None, closed: false, target: Arc::default() }),
            crew: Arc::default(),
            pace: Pace::new([Duration::ZERO; CLASSES]),
            state: Mutex::new(state),
            changed: Condvar::new(),
            gate: RwLock::new(()),
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
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
        let mut state = self.state();
        if state.closed {
            return Err(NO_SESSION);
        }
        let old = state.find(connection.number());
        if old.is_none() && state.connections.len() >= self.parameters.max_connections {
            return Err(TOO_MANY_CONNECTIONS);
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
        let mut state = self.state();
        state.connections.retain(|one| !Arc::ptr_eq(one, connection));
        let is_last = state.connections.is_empty();
        state.closed |= is_last;
        self.tell(state);
        if is_last {
            self.look_away();
            let mut state = self.state();
            state.over = true;
            self.tell(state);
        }
        is_last
    }

    /// Ends all of its connections.
    pub fn cut(&self) {
        let mut state = self.state();
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
        let connections = self.state().connections.clone();
        for connection in connections {
            let told = told.clone();
            self.crew.submit(Box::new(move || {
                connection.announce(event);
                drop(told);
            }));
        }
    }

    /// Looks whether there is still anything for it to see: it is asked to log out where there is
    /// not, and later ended. False: all is well.
    pub fn look(&self) -> bool {
        let sees = self.target.is_none() || self.target().units().next().is_some();
        let mut state = self.state();
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
        let state = self.state();
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
        drop(self.wait(self.state(), DRAIN, |state| !state.over));
    }

    // ── The order of commands ──

    /// The numbers that every answer has: of the command that is expected, and of the last that may
    /// come.
    pub fn window(&self) -> (u32, u32) {
        let mut state = self.state();
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
        let mut state = self.state();
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
        drop(self.wait(self.state(), TURN, is_behind));
    }

    // ── Tasks ──

    /// What it sees now.
    pub fn target(&self) -> Arc<Target> {
        let mut view = lock(&self.view);
        let generation = Some(self.catalogue.generation());
        if view.generation != generation
            && !view.closed
            && let Some(target) = &self.target
        {
            let user = self.user.as_deref();
            let target = Arc::new(self.catalogue.view(target, &self.initiator, user, self.nexus.port));
            let before = std::mem::replace(&mut view.target, target);
            self.turn(&before, &view.target, view.generation.is_none());
            view.generation = generation;
        }
        view.target.clone()
    }

    /// Joins the units that it sees, and leaves those that it does not see any more. That a number
    /// stands for another unit, for one or for none now is told, but `at_first`.
    fn turn(&self, before: &Target, now: &Target, at_first: bool) {
        let own: Weak<dyn Tasks> = self.own.clone();
        let is_gone = |unit: &&Arc<LogicalUnit>| !now.units().any(|one| Arc::ptr_eq(one, unit));
        before.units().filter(is_gone).for_each(|unit| unit.leave(&self.nexus, &own));
        now.units().for_each(|unit| unit.join(&self.nexus, own.clone()));
        if !at_first && !before.inventory().eq(now.inventory()) {
            now.units().for_each(|unit| unit.luns_changed(&self.nexus));
        }
    }

    fn look_away(&self) {
        let own: Weak<dyn Tasks> = self.own.clone();
        let mut view = lock(&self.view);
        view.closed = true;
        let before = std::mem::take(&mut view.target);
        before.units().for_each(|unit| unit.leave(&self.nexus, &own));
    }

    /// Tasks that are under way.
    pub fn tasks(&self) -> usize {
        self.state().tasks.len()
    }

    pub fn stats(&self) -> SessionStats {
        let target = self.target();
        let state = self.state();
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

    /// Has a command executed, and answered by its connection, whose reader brings it.
    pub fn run(self: &Arc<Self>, connection: &Arc<Connection>, gathered: Gathered, turn: Option<Turn<'_>>) {
        // Ordered, and head of queue: all before is done before, and all after comes after.
        if matches!(gathered.command.flags() & 7, 2 | 3) {
            connection.see_off();
            let _alone = self.gate.write().unwrap_or_else(PoisonError::into_inner);
            self.settle(|_| true);
            let task = self.begin(connection, &gathered.command);
            self.hand_on(task, gathered);
            self.settle(|_| true);
            return;
        }
        let gate = self.gate.read().unwrap_or_else(PoisonError::into_inner);
        let task = self.begin(connection, &gathered.command);
        drop((gate, turn));
        let is_quick = |class| self.pace.of(class) < FAST;
        if class_of(&gathered.command).is_some_and(is_quick) {
            self.execute(&task, gathered);
        } else {
            self.hand_on(task, gathered);
        }
    }

    fn begin(&self, connection: &Arc<Connection>, command: &Pdu) -> Arc<Task> {
        let (tag, lun, begun) = (command.tag(), command.lun(), Instant::now());
        let (fate, executed) = (OnceLock::new(), AtomicBool::new(false));
        let task = Arc::new(Task { tag, lun, connection: connection.clone(), begun, fate, executed });
        let is_unit = self.state().stats.contains_key(&lun) || self.target().unit(lun).is_some();
        let mut state = self.state();
        state.tasks.push(task.clone());
        state.working += 1;
        // Numbers that nobody has are not counted: there are too many.
        if is_unit {
            state.stats.entry(lun).or_default().begin();
        }
        task
    }

    fn hand_on(self: &Arc<Self>, task: Arc<Task>, gathered: Gathered) {
        let session = self.clone();
        self.crew.submit(Box::new(move || {
            session.execute(&task, gathered);
            task.connection.deliver();
        }));
    }

    /// Does it, and answers it or puts it aside: somebody has to send that, and keep what is
    /// promised.
    fn execute(self: &Arc<Self>, task: &Arc<Task>, gathered: Gathered) {
        let Gathered { command, data, mut lease } = gathered;
        let cdb: [u8; 16] = command.field(32);
        let watch = class_of(&command).map(|class| self.pace.watch(class));
        let work = || match task.fate.get() {
            Some(_) => Begun::Ended(cleared()),
            None => self.target().begin(&self.nexus, task.lun, &cdb, &data),
        };
        let begun = unless_it_panics(work, Begun::Ended);
        if let Some(watch) = watch {
            self.pace.end(watch);
        }
        match begun {
            Begun::Ended(answer) => self.end(task, &command, answer, lease),
            promised => {
                let state = self.state();
                task.executed.store(true, SeqCst);
                self.tell(state);
                let (session, task) = (self.clone(), task.clone());
                let connection = task.connection.clone();
                // Its data is the volume's by now.
                lease.iter_mut().for_each(|lease| lease.resize(SHORT_ANSWER));
                connection.promise(Box::new(move || {
                    let answer = unless_it_panics(|| promised.end(), |failed| failed);
                    session.end(&task, &command, answer, lease);
                }));
            }
        }
    }

    fn end(&self, task: &Arc<Task>, command: &Pdu, answer: Answer, lease: Option<Lease>) {
        let (bytes, took) = (answer.taken.max(answer.data.len()), task.begun.elapsed());
        let mut state = self.state();
        // The answer tells already that there is room for another.
        state.working -= 1;
        if let Some(stats) = state.stats.get_mut(&task.lun).filter(|stats| stats.queue > 0) {
            stats.end(command.cdb(0), bytes, took);
        }
        task.executed.store(true, SeqCst);
        self.tell(state);
        match task.fate.get_or_init(|| Fate::Answered) {
            Fate::Answered => task.connection.answer(command, answer, lease),
            Fate::Cleared => task.connection.answer(command, cleared(), lease),
            Fate::Aborted => {}
        }
        let mut state = self.state();
        state.tasks.retain(|one| !Arc::ptr_eq(one, task));
        self.tell(state);
    }

    /// Waits until there is none of these tasks any more.
    pub fn settle(&self, which: impl Fn(&Task) -> bool) {
        drop(self.wait(self.state(), Duration::MAX, |state| state.tasks.iter().any(|task| which(task))));
    }

    /// Nobody hears of these commands any more, and nothing of them is under way afterwards. False:
    /// there were none, but for those that had been answered.
    pub fn abort(&self, which: impl Fn(u32, u64) -> bool) -> bool {
        let (tasks, some) = self.cut_short(which, Fate::Aborted);
        self.settle(|task| tasks.iter().any(|one| std::ptr::eq(&**one, task)));
        some
    }

    /// Ends commands before their time, by tag and unit: those that were begun, and whether there
    /// were any that have no answer yet.
    fn cut_short(&self, which: impl Fn(u32, u64) -> bool, fate: Fate) -> (Vec<Arc<Task>>, bool) {
        let state = self.state();
        let wanted = state.tasks.iter().filter(|task| which(task.tag, task.lun));
        let tasks: Vec<Arc<Task>> = wanted.cloned().collect();
        let connections = state.connections.clone();
        drop(state);
        // What came first stays.
        let ends = |task: &Arc<Task>| *task.fate.get_or_init(|| fate) != Fate::Answered;
        let mut some = tasks.iter().filter(|task| ends(task)).count() > 0;
        for connection in connections {
            let commands = connection.abandon(&which);
            if commands.is_empty() {
                continue;
            }
            some = true;
            // Whoever has them ended is not to wait for an initiator that does not listen.
            self.crew.submit(Box::new(move || {
                if fate == Fate::Cleared {
                    commands.iter().for_each(|command| connection.answer(command, cleared(), None));
                }
                // There is room for the data of others now.
                connection.ask();
                connection.deliver();
            }));
        }
        (tasks, some)
    }
}

/// What the initiator of a command hears that others have ended.
fn cleared() -> Answer {
    Answer::bare(Status::TaskAborted, None)
}

impl Tasks for Session {
    fn abort(&self, unit: &LogicalUnit, told: bool) -> Option<Ending> {
        let target = lock(&self.view).target.clone();
        let is_for = |lun| target.unit(lun).is_some_and(|one| std::ptr::eq(&**one, unit));
        let fate = if told { Fate::Cleared } else { Fate::Aborted };
        let (tasks, some) = self.cut_short(|_, lun| is_for(lun), fate);
        if !some {
            return None;
        }
        let own = self.own.upgrade()?;
        Some(Ending::new(move || {
            let is_under_way = |_: &State| tasks.iter().any(|task| !task.executed.load(SeqCst));
            drop(own.wait(own.state(), Duration::MAX, is_under_way));
        }))
    }
}
