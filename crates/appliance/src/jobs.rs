//! Jobs: long work with a number, a progress and an end.
//!
//! Who begins a job runs its work, on a thread of his choice; a job whose work is dropped or panics
//! has failed. A client that stops waiting finds its job again by number, at the next program too:
//! the last [`KEPT`] that ended are remembered, and written down in a [`Ledger`]. What ran when the
//! program ended has failed then. A job of [`REMEDIES`] is written down at its end alone: it does
//! not wait for the disk that the ledger is on.
//!
//! A change is whole or not at all, so most jobs cannot be cancelled. One whose work says that it
//! can ([`Reporter::set_cancellable`]) may be asked to end, by who has asked for it and by
//! operators, and does so at its next step.
//!
//! Invariant: nobody sees that a job has ended before that is written down, or could not be.

mod ledger;
mod log;

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use api_types::{Job, JobLog, JobResult, JobState, Problem, Progress};
use engine_api::{Cancel, Error};
use stdx::behalf::Actor;
use stdx::panics;

use crate::Failure;

use ledger::Book;
pub use ledger::{Clock, Entry, Ledger, Record};

/// Ended jobs remembered.
const KEPT: usize = 256;
/// Jobs that run at one time, and more of them that bring back what others may be waiting for.
const RUNNING: usize = 32;
const REMEDIES: [&str; 3] = ["pool.clear", "pool.online", "pool.replace"];
/// And of guests, who are no administrators: running, of these each user's, and ended ones
/// remembered.
const GUESTS: usize = 8;
const OF_ONE_GUEST: usize = 3;
const GUESTS_KEPT: usize = 64;
/// Together.
pub const MOST: usize = RUNNING + 8 + GUESTS;

struct State {
    /// Number of the next job.
    next: u64,
    jobs: BTreeMap<u64, Known>,
}

/// A job, and how its work hears that nobody wants it any more.
struct Known {
    entry: Entry,
    cancel: Cancel,
}

impl State {
    /// The jobs of administrators, or those of guests.
    fn of_kin(&self, administrators: bool) -> impl Iterator<Item = &Entry> {
        let entries = self.jobs.values().map(|known| &known.entry);
        entries.filter(move |entry| entry.of_administrators == administrators)
    }

    /// Forgets the oldest of those that have ended, where they are too many.
    fn forget(&mut self, administrators: bool) {
        let kept = if administrators { KEPT } else { GUESTS_KEPT };
        let ended = self.of_kin(administrators).filter(|entry| !entry.is_running());
        let ended: Vec<u64> = ended.map(|entry| entry.job.id).collect();
        for id in &ended[..ended.len().saturating_sub(kept)] {
            self.jobs.remove(id);
        }
    }
}

/// All jobs.
pub struct Jobs {
    /// Is locked before `state` where both are.
    book: Mutex<Book>,
    state: Mutex<State>,
    clock: Clock,
    /// Is called after every change of any job, with what it is then.
    changed: Box<dyn Fn(&Job) + Send + Sync>,
}

/// A job was not begun, because `running` are under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooMany {
    pub running: usize,
}

/// How a running job tells where it is, and hears that it is to end.
pub struct Reporter {
    jobs: Arc<Jobs>,
    id: u64,
    cancel: Cancel,
}

impl Reporter {
    /// `done` of `total` steps; a `total` of 0 means unknown.
    pub fn step(&self, step: impl Into<String>, done: u64, total: u64) {
        let step = step.into();
        let now = (self.jobs.clock)();
        self.jobs.update(self.id, |entry| {
            log::add(&mut entry.log, &step, now);
            entry.job.progress = Progress { step, done, total };
        });
    }

    /// Whether the job can be cancelled from here on: at first it cannot. Whoever says that it
    /// cannot looks afterwards whether it was.
    pub fn set_cancellable(&self, can: bool) {
        self.jobs.update(self.id, |entry| entry.job.cancellable = can);
    }

    pub fn is_cancelled(&self) -> bool {
        self.cancel.is_cancelled()
    }

    /// For what the work calls that can be cancelled by itself.
    pub fn cancellation(&self) -> Cancel {
        self.cancel.clone()
    }
}

/// The work of a job that has begun. If it panics, or is dropped before it was run, the job has
/// failed with the problem that [`Jobs::begin`] was given.
pub struct Work {
    reporter: Reporter,
    fault: Option<Problem>,
    /// Nothing may keep it from being begun.
    is_remedy: bool,
}

impl Work {
    /// The job is written down first, where it is no remedy. A panic goes on after the job has
    /// ended in it.
    pub fn run(mut self, work: impl FnOnce(&Reporter) -> Result<JobResult, Problem>) {
        if !self.is_remedy {
            self.reporter.jobs.write(self.reporter.id, |_| {});
        }
        let ended = catch_unwind(AssertUnwindSafe(|| work(&self.reporter)));
        let Some(mut fault) = self.fault.take() else { return };
        match ended {
            Ok(ended) => self.reporter.jobs.end(self.reporter.id, ended),
            Err(panic) => {
                if let Some(text) = panics::text(&*panic) {
                    fault.detail = format!("{}: {text}", fault.detail);
                }
                self.reporter.jobs.end(self.reporter.id, Err(fault));
                resume_unwind(panic);
            }
        }
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        if let Some(fault) = self.fault.take() {
            self.reporter.jobs.end(self.reporter.id, Err(fault));
        }
    }
}

impl Jobs {
    /// `record` is what the ledger has of the program before; what ran then has failed as
    /// `interrupted` says. `changed` is called after every change of any job but its
    /// beginning, and may not wait.
    pub fn new(
        record: Record,
        ledger: impl Ledger + 'static,
        interrupted: &Problem,
        changed: impl Fn(&Job) + Send + Sync + 'static,
    ) -> Arc<Jobs> {
        let mut state = State { next: record.next.max(1), jobs: BTreeMap::new() };
        for mut entry in record.jobs {
            if entry.is_running() {
                // Nobody knows when the program ended.
                finish(&mut entry.job, Err(interrupted.clone()), None);
            }
            entry.job.asked_by = Some(entry.owner);
            state.next = state.next.max(entry.job.id.saturating_add(1));
            state.jobs.insert(entry.job.id, Known { entry, cancel: Cancel::default() });
        }
        state.forget(true);
        state.forget(false);
        let clock = ledger.clock();
        let mut book = Book::new(ledger);
        book.replace(state.next, state.jobs.values().map(|known| known.entry.clone()).collect());
        Arc::new(Jobs { book: Mutex::new(book), state: Mutex::new(state), clock, changed: Box::new(changed) })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Plain data: a panic elsewhere can't have left it half-changed.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn update(&self, id: u64, change: impl FnOnce(&mut Entry)) {
        let changed = self.lock().jobs.get_mut(&id).map(|known| {
            change(&mut known.entry);
            known.entry.job.clone()
        });
        if let Some(job) = changed {
            (self.changed)(&job);
        }
    }

    /// Changes a job, and writes it down before anybody sees the change. To be called by whoever
    /// runs its work.
    fn write(&self, id: u64, change: impl FnOnce(&mut Job)) {
        // A panic leaves the book as it was; what it left of the ledger, the ledger knows.
        let mut book = self.book.lock().unwrap_or_else(PoisonError::into_inner);
        let (entry, next) = {
            let state = self.lock();
            (state.jobs.get(&id).map(|known| known.entry.clone()), state.next)
        };
        let Some(mut entry) = entry else { return };
        change(&mut entry.job);
        if !book.add(&entry, next) {
            let (jobs, next) = {
                let state = self.lock();
                let others = state.jobs.values().map(|known| &known.entry);
                let as_now = |other: &Entry| if other.job.id == id { &entry } else { other }.clone();
                (others.map(as_now).collect(), state.next)
            };
            book.replace(next, jobs);
        }
        if let Some(known) = self.lock().jobs.get_mut(&id) {
            known.entry = entry;
        }
    }

    fn end(&self, id: u64, ended: Result<JobResult, Problem>) {
        let now = (self.clock)();
        self.write(id, |job| finish(job, ended, Some(now)));
        let ended = self.lock().jobs.get(&id).map(|known| known.entry.job.clone());
        if let Some(job) = ended {
            (self.changed)(&job);
        }
    }

    /// Those that a caller may see.
    pub fn all(&self, caller: &Actor) -> Vec<Job> {
        let state = self.lock();
        let seen = state.jobs.values().filter(|known| known.entry.is_seen_by(caller));
        seen.map(|known| known.entry.job.clone()).collect()
    }

    /// The job of that number, where the caller may see it.
    pub fn get(&self, id: u64, caller: &Actor) -> Option<Job> {
        let state = self.lock();
        let seen = state.jobs.get(&id).filter(|known| known.entry.is_seen_by(caller));
        seen.map(|known| known.entry.job.clone())
    }

    /// What the job of that number did, where the caller may see it.
    pub fn log(&self, id: u64, caller: &Actor) -> Option<JobLog> {
        let state = self.lock();
        let seen = state.jobs.get(&id).filter(|known| known.entry.is_seen_by(caller));
        seen.map(|known| known.entry.log.clone())
    }

    /// Asks the job of that number to end at its next step, where the caller may see it; `Denied`
    /// where he may not end it. It ends by itself if there is no step any more.
    pub fn cancel(&self, id: u64, caller: &Actor) -> Option<Result<Job, Failure>> {
        let state = self.lock();
        let known = state.jobs.get(&id).filter(|known| known.entry.is_seen_by(caller))?;
        if !known.entry.can_be_cancelled_by(caller) {
            return Some(Err(Failure::Engine(Error::Denied)));
        }
        let job = &known.entry.job;
        Some(match (job.state, job.cancellable) {
            (JobState::Running, true) => {
                // With the lock held: it was cancellable until now.
                known.cancel.cancel();
                Ok(job.clone())
            }
            (JobState::Running, false) => Err(Failure::NotCancellable { job: id }),
            (JobState::Done | JobState::Failed, _) => Err(Failure::JobEnded { job: id }),
        })
    }

    /// A job for `owner`, whose work is to be run now. `fault` is how it ended if the work does not
    /// come to its end.
    pub fn begin(
        self: &Arc<Self>,
        kind: &str,
        target: &str,
        owner: &Actor,
        fault: Problem,
    ) -> Result<(Job, Work), TooMany> {
        let mut state = self.lock();
        // Guests and administrators take nothing from each other.
        let of_administrators = owner.is_administrator();
        let is_remedy = REMEDIES.contains(&kind);
        let running = state.of_kin(of_administrators).filter(|entry| entry.is_running());
        let owners: Vec<u32> = running.map(|entry| entry.owner).collect();
        let most = match (of_administrators, is_remedy) {
            (true, true) => MOST - GUESTS,
            (true, false) => RUNNING,
            (false, _) => GUESTS,
        };
        let own = owners.iter().filter(|other| **other == owner.user).count();
        if owners.len() >= most {
            return Err(TooMany { running: owners.len() });
        }
        if !of_administrators && own >= OF_ONE_GUEST {
            return Err(TooMany { running: own });
        }
        state.forget(of_administrators);
        let job = Job {
            id: state.next,
            kind: kind.to_owned(),
            target: target.to_owned(),
            state: JobState::Running,
            cancellable: false,
            progress: Progress::default(),
            began: Some((self.clock)()),
            ended: None,
            asked_by: Some(owner.user),
            result: None,
            problem: None,
        };
        state.next += 1;
        let entry = Entry { job: job.clone(), log: JobLog::default(), owner: owner.user, of_administrators };
        let cancel = Cancel::default();
        state.jobs.insert(job.id, Known { entry, cancel: cancel.clone() });
        let reporter = Reporter { jobs: Arc::clone(self), id: job.id, cancel };
        Ok((job, Work { reporter, fault: Some(fault), is_remedy }))
    }
}

fn finish(job: &mut Job, outcome: Result<JobResult, Problem>, ended: Option<u64>) {
    (job.cancellable, job.ended) = (false, ended);
    match outcome {
        Ok(result) => (job.state, job.result) = (JobState::Done, Some(result)),
        Err(why) => (job.state, job.problem) = (JobState::Failed, Some(why)),
    }
}

#[cfg(test)]
mod tests;
