//! What a session does: its commands, from when all of one has come until it is answered, and those
//! that are ended before their time.
//!
//! What was quick lately, reads in memory say, the reader that brought it does by itself: that
//! costs no change of threads. All else is the crew's, so that what comes behind overtakes it. What
//! has to be on stable storage before it ends is put aside ([`sockets::keepers`]). A task that is
//! ended before its time is not executed any more, or, where it is already, has another answer or
//! none.
//!
//! A task belongs to the connection that brought its command: its data comes there, and there it is
//! answered.
//!
//! Source: RFC 7143 4.2.2, 4.2.3, 11.5, 11.6.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use analytics::{Live, Protocol};
use scsi::{Answer, Begun, Ending, LogicalUnit, Status, Tasks};
use sockets::pace::FAST;
use sockets::{Lease, lock};

use super::connection::Connection;
use super::{Session, State, Turn};
use crate::cdb::{class_of, name_of};
use crate::gather::Gathered;
use crate::limits::SHORT_ANSWER;
use crate::pdu::initiator::Command;
use crate::stats::Kind;

/// A command that is under way.
pub struct Task {
    tag: u32,
    lun: u64,
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

impl Task {
    pub fn is_of(&self, connection: &Arc<Connection>) -> bool {
        Arc::ptr_eq(&self.connection, connection)
    }
}

/// A panic is a broken invariant in the engine; it must not take the session along.
fn unless_it_panics<T>(work: impl FnOnce() -> T, otherwise: impl FnOnce(Answer) -> T) -> T {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| {
        tracing::error!("a command ended in a panic");
        otherwise(Answer::failed())
    })
}

impl Session {
    /// Has a command executed, and answered by its connection, whose reader brings it.
    pub fn run(self: &Arc<Self>, connection: &Arc<Connection>, gathered: Gathered, turn: Option<Turn<'_>>) {
        // All before is done before, and all after comes after.
        if gathered.command.is_ordered {
            connection.see_off();
            let _alone = self.gate.write().unwrap_or_else(PoisonError::into_inner);
            self.settle(|_| true);
            let live = self.observe(&gathered.command);
            let task = self.begin(connection, &gathered.command);
            self.hand_on(task, gathered, live);
            self.settle(|_| true);
            return;
        }
        let gate = self.gate.read().unwrap_or_else(PoisonError::into_inner);
        let live = self.observe(&gathered.command);
        let task = self.begin(connection, &gathered.command);
        drop((gate, turn));
        let is_quick = |class| self.pace.of(class) < FAST;
        if class_of(&gathered.command).is_some_and(is_quick) {
            self.execute(&task, gathered, task.begun, live);
        } else {
            self.hand_on(task, gathered, live);
        }
    }

    /// A command has come, as a whole; `None`: nobody looks.
    fn observe(&self, command: &Command) -> Option<Box<Live>> {
        let operation = || name_of(command.cdb[0]);
        self.observer.begin((Protocol::Iscsi, operation), &self.client, self.account.as_ref())
    }

    fn begin(&self, connection: &Arc<Connection>, command: &Command) -> Arc<Task> {
        let (tag, lun, begun) = (command.tag, command.lun, Instant::now());
        let (fate, executed) = (OnceLock::new(), AtomicBool::new(false));
        let task = Arc::new(Task { tag, lun, connection: connection.clone(), begun, fate, executed });
        let is_unit = lock(&self.state).stats.contains_key(&lun) || self.target().unit(lun).is_some();
        let mut state = lock(&self.state);
        state.tasks.push(task.clone());
        state.working += 1;
        // Numbers that nobody has are not counted: there are too many.
        if is_unit {
            state.stats.entry(lun).or_default().begin();
        }
        task
    }

    fn hand_on(self: &Arc<Self>, task: Arc<Task>, gathered: Gathered, live: Option<Box<Live>>) {
        let session = self.clone();
        self.crew.submit(move || {
            session.execute(&task, gathered, Instant::now(), live);
            task.connection.deliver();
        });
    }

    /// Does it, and answers it or puts it aside: somebody has to send that, and keep what is
    /// promised. Work on it begins now.
    fn execute(
        self: &Arc<Self>,
        task: &Arc<Task>,
        gathered: Gathered,
        now: Instant,
        mut live: Option<Box<Live>>,
    ) {
        let Gathered { command, data, mut lease } = gathered;
        let watch = class_of(&command).map(|class| self.pace.watch(class, now));
        let work = || match task.fate.get() {
            Some(_) => Begun::Ended(cleared()),
            None => self.target().begin(&self.nexus, task.lun, &command.cdb, &data),
        };
        let begun = analytics::working(&mut live, || unless_it_panics(work, Begun::Ended));
        let ended = watch.map_or_else(Instant::now, |watch| now + self.pace.end(watch));
        match begun {
            Begun::Ended(answer) => self.end(task, &command, answer, (lease, live), ended),
            promised @ Begun::Promised(..) => {
                let state = lock(&self.state);
                task.executed.store(true, SeqCst);
                self.tell(state);
                let (session, task) = (self.clone(), task.clone());
                let connection = task.connection.clone();
                // Its data is the volume's by now.
                lease.iter_mut().for_each(|lease| lease.resize(SHORT_ANSWER));
                Live::waits_for_log(&mut live);
                connection.promises.put(Box::new(move || {
                    let keep = || unless_it_panics(|| promised.end(), |failed| failed);
                    let answer = Live::keeping(&mut live, keep);
                    session.end(&task, &command, answer, (lease, live), Instant::now());
                }));
            }
        }
    }

    fn end(
        &self,
        task: &Arc<Task>,
        command: &Command,
        answer: Answer,
        (lease, live): (Option<Lease>, Option<Box<Live>>),
        ended: Instant,
    ) {
        let (bytes, took) = (answer.taken.max(answer.data.len()), ended - task.begun);
        let mut state = lock(&self.state);
        // The answer tells already that there is room for another.
        state.working -= 1;
        if let Some(stats) = state.stats.get_mut(&task.lun).filter(|stats| stats.queue > 0) {
            let kind = Kind::of(command.cdb[0]);
            stats.end(kind, bytes, took);
            self.counting.end(kind, bytes, took);
        }
        task.executed.store(true, SeqCst);
        self.tell(state);
        match task.fate.get_or_init(|| Fate::Answered) {
            Fate::Answered => task.connection.answer_observed(command, answer, lease, live),
            Fate::Cleared => task.connection.answer_observed(command, cleared(), lease, live),
            Fate::Aborted => {}
        }
        let mut state = lock(&self.state);
        state.tasks.retain(|one| !Arc::ptr_eq(one, task));
        self.tell(state);
    }

    /// Waits until there is none of these tasks any more.
    pub fn settle(&self, which: impl Fn(&Task) -> bool) {
        drop(self.wait(lock(&self.state), Duration::MAX, |state| state.tasks.iter().any(|task| which(task))));
    }

    /// Nobody hears of these commands any more, and nothing of them is under way afterwards. False:
    /// there were none, but for those that had been answered.
    pub fn abort(&self, which: impl Fn(u32, u64) -> bool) -> bool {
        let (tasks, some) = self.cut_short(which, Fate::Aborted);
        self.settle(|task| tasks.iter().any(|one| std::ptr::eq(&raw const **one, task)));
        some
    }

    /// Ends commands before their time, by tag and unit: those that were begun, and whether there
    /// were any that have no answer yet.
    fn cut_short(&self, which: impl Fn(u32, u64) -> bool, fate: Fate) -> (Vec<Arc<Task>>, bool) {
        let state = lock(&self.state);
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
            self.crew.submit(move || {
                if fate == Fate::Cleared {
                    commands.iter().for_each(|command| connection.answer(command, cleared(), None));
                }
                // There is room for the data of others now.
                connection.ask();
                connection.deliver();
            });
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
        let is_for = |lun| target.unit(lun).is_some_and(|one| std::ptr::eq(&raw const **one, unit));
        let fate = if told { Fate::Cleared } else { Fate::Aborted };
        let (tasks, some) = self.cut_short(|_, lun| is_for(lun), fate);
        if !some {
            return None;
        }
        let own = self.own.upgrade()?;
        Some(Ending::new(move || {
            let is_under_way = |_: &State| tasks.iter().any(|task| !task.executed.load(SeqCst));
            drop(own.wait(lock(&own.state), Duration::MAX, is_under_way));
        }))
    }
}
