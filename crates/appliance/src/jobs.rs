//! Jobs: long work with a number, a progress and an end.
//!
//! A job is never cancelled, since the change that it makes is whole or not at all; a client that
//! stops waiting finds it again by number. The last [`KEPT`] that ended are remembered. Who begins
//! a job runs its work, on a thread of his choice; a job whose work is dropped or panics has
//! failed.

use std::any::Any;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use api_types::{Job, JobResult, JobState, Problem, Progress};
use stdx::behalf::Caller;

/// Ended jobs remembered.
const KEPT: usize = 256;
/// Jobs that run at one time, and more of them that bring back what others may be waiting for.
const RUNNING: usize = 32;
const REMEDIES: [&str; 3] = ["pool.clear", "pool.online", "pool.replace"];
/// And of guests, who are no administrators: running, and ended ones remembered.
const GUESTS: usize = 8;
const GUESTS_KEPT: usize = 64;
/// Together.
pub const MOST: usize = RUNNING + 8 + GUESTS;

struct State {
    next: u64,
    jobs: BTreeMap<u64, Owned>,
}

/// A job, and who has asked for it: nobody else sees it but administrators.
struct Owned {
    job: Job,
    owner: Arc<Caller>,
}

impl Owned {
    fn is_seen_by(&self, caller: &Caller) -> bool {
        caller.is_administrator || self.owner.user == caller.user
    }
}

/// All jobs.
pub struct Jobs {
    state: Mutex<State>,
    /// Is called after every change of any job.
    changed: Box<dyn Fn() + Send + Sync>,
}

/// A job was not begun, because `running` are under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooMany {
    pub running: usize,
}

/// How a running job tells where it is.
pub struct Reporter {
    jobs: Arc<Jobs>,
    id: u64,
}

impl Reporter {
    /// `done` of `total` steps; a `total` of 0 means unknown.
    pub fn step(&self, step: impl Into<String>, done: u64, total: u64) {
        let step = step.into();
        self.jobs.update(self.id, |job| job.progress = Progress { step, done, total });
    }
}

/// The work of a job that has begun. If it panics, or is dropped before it was run, the job has
/// failed with the problem that [`Jobs::begin`] was given.
pub struct Work {
    reporter: Reporter,
    fault: Option<Problem>,
}

impl Work {
    /// A panic goes on after the job has ended in it.
    pub fn run(mut self, work: impl FnOnce(&Reporter) -> Result<JobResult, Problem>) {
        let ended = catch_unwind(AssertUnwindSafe(|| work(&self.reporter)));
        let Some(mut fault) = self.fault.take() else { return };
        match ended {
            Ok(ended) => self.reporter.jobs.end(self.reporter.id, ended),
            Err(panic) => {
                if let Some(text) = text_of(&*panic) {
                    fault.detail = format!("{}: {text}", fault.detail);
                }
                self.reporter.jobs.end(self.reporter.id, Err(fault));
                resume_unwind(panic);
            }
        }
    }
}

/// What a panic says.
fn text_of(panic: &(dyn Any + Send)) -> Option<&str> {
    panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied())
}

impl Drop for Work {
    fn drop(&mut self) {
        if let Some(fault) = self.fault.take() {
            self.reporter.jobs.end(self.reporter.id, Err(fault));
        }
    }
}

impl Jobs {
    /// `changed` is called after every change of any job, and may not wait.
    pub fn new(changed: impl Fn() + Send + Sync + 'static) -> Arc<Jobs> {
        let state = Mutex::new(State { next: 1, jobs: BTreeMap::new() });
        Arc::new(Jobs { state, changed: Box::new(changed) })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Plain data: a panic elsewhere can't have left it half-changed.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn update(&self, id: u64, change: impl FnOnce(&mut Job)) {
        if let Some(owned) = self.lock().jobs.get_mut(&id) {
            change(&mut owned.job);
        }
        (self.changed)();
    }

    fn end(&self, id: u64, ended: Result<JobResult, Problem>) {
        self.update(id, |job| match ended {
            Ok(result) => (job.state, job.result) = (JobState::Done, Some(result)),
            Err(why) => (job.state, job.problem) = (JobState::Failed, Some(why)),
        });
    }

    /// Those that a caller may see.
    pub fn all(&self, caller: &Caller) -> Vec<Job> {
        let state = self.lock();
        let seen = state.jobs.values().filter(|owned| owned.is_seen_by(caller));
        seen.map(|owned| owned.job.clone()).collect()
    }

    /// The job of that number, where the caller may see it.
    pub fn get(&self, id: u64, caller: &Caller) -> Option<Job> {
        let state = self.lock();
        state.jobs.get(&id).filter(|owned| owned.is_seen_by(caller)).map(|owned| owned.job.clone())
    }

    /// A job for `owner`, whose work is to be run now. `fault` is how it ended if the work does not
    /// come to its end.
    pub fn begin(
        self: &Arc<Self>,
        kind: &str,
        target: &str,
        owner: Arc<Caller>,
        fault: Problem,
    ) -> Result<(Job, Work), TooMany> {
        let mut state = self.lock();
        // Guests and administrators take nothing from each other.
        let of_kin = |of: &&Owned| of.owner.is_administrator == owner.is_administrator;
        let is_running = |of: &&Owned| of.job.state == JobState::Running;
        let running = state.jobs.values().filter(of_kin).filter(is_running).count();
        let (most, kept) = match (owner.is_administrator, REMEDIES.contains(&kind)) {
            (true, true) => (MOST - GUESTS, KEPT),
            (true, false) => (RUNNING, KEPT),
            (false, _) => (GUESTS, GUESTS_KEPT),
        };
        if running >= most {
            return Err(TooMany { running });
        }
        let ended = state.jobs.values().filter(of_kin).filter(|of| !is_running(of)).map(|of| of.job.id);
        let ended: Vec<u64> = ended.collect();
        for id in &ended[..ended.len().saturating_sub(kept)] {
            state.jobs.remove(id);
        }
        let job = Job {
            id: state.next,
            kind: kind.to_owned(),
            target: target.to_owned(),
            state: JobState::Running,
            progress: Progress::default(),
            result: None,
            problem: None,
        };
        state.next += 1;
        state.jobs.insert(job.id, Owned { job: job.clone(), owner });
        let reporter = Reporter { jobs: Arc::clone(self), id: job.id };
        Ok((job, Work { reporter, fault: Some(fault) }))
    }
}

#[cfg(test)]
mod tests;
