//! Jobs: long work with a number, a progress and an end.
//!
//! A job runs on a blocking thread. It is never cancelled, since the change that it makes is whole
//! or not at all; a client that stops waiting finds it again by number. The last [`KEPT`] that
//! ended are remembered.

use crate::caller::{asker, on_behalf};
use crate::problem::problem;
use api_types::{Job, JobResult, JobState, Problem, Progress, kind};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use stdx::behalf::Caller;
use tokio::sync::watch;

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
    /// Grows at every change of any job.
    changed: watch::Sender<u64>,
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

impl Jobs {
    pub fn new() -> Arc<Jobs> {
        let state = Mutex::new(State { next: 1, jobs: BTreeMap::new() });
        Arc::new(Jobs { state, changed: watch::Sender::new(0) })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Plain data: a panic elsewhere can't have left it half-changed.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn update(&self, id: u64, change: impl FnOnce(&mut Job)) {
        if let Some(owned) = self.lock().jobs.get_mut(&id) {
            change(&mut owned.job);
        }
        self.changed.send_modify(|generation| *generation += 1);
    }

    /// Those that who asks in this task may see.
    pub fn all(&self) -> Vec<Job> {
        let asker = asker();
        let state = self.lock();
        let seen = state.jobs.values().filter(|owned| owned.is_seen_by(&asker));
        seen.map(|owned| owned.job.clone()).collect()
    }

    fn get(&self, id: u64) -> Option<Job> {
        let asker = asker();
        let state = self.lock();
        state.jobs.get(&id).filter(|owned| owned.is_seen_by(&asker)).map(|owned| owned.job.clone())
    }

    fn register(&self, kind: &str, target: &str) -> Result<Job, Problem> {
        let owner = asker();
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
            return Err(problem(kind::BUSY, format!("{running} jobs are running already; try again later")));
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
        Ok(job)
    }

    /// Start `work` on a blocking thread.
    pub fn start(
        self: &Arc<Self>,
        kind: &str,
        target: &str,
        work: impl FnOnce(&Reporter) -> Result<JobResult, Problem> + Send + 'static,
    ) -> Result<Job, Problem> {
        let job = self.register(kind, target)?;
        let reporter = Reporter { jobs: Arc::clone(self), id: job.id };
        let (jobs, id) = (Arc::clone(self), job.id);
        let running = tokio::task::spawn_blocking(on_behalf(move || work(&reporter)));
        tokio::spawn(async move {
            let ended = match running.await {
                Ok(ended) => ended,
                Err(panic) => {
                    Err(problem(kind::INTERNAL, format!("the job ended in a fault of ours: {panic}")))
                }
            };
            jobs.update(id, |job| match ended {
                Ok(result) => (job.state, job.result) = (JobState::Done, Some(result)),
                Err(why) => (job.state, job.problem) = (JobState::Failed, Some(why)),
            });
        });
        Ok(job)
    }

    /// The job when it ends or, if `progress` is set, when it gets on; at the latest after `wait`.
    pub async fn wait(&self, id: u64, wait: Duration, progress: bool) -> Option<Job> {
        let mut changed = self.changed.subscribe();
        let first = self.get(id)?;
        let settled =
            |job: &Job| job.state != JobState::Running || progress && job.progress != first.progress;
        let deadline = tokio::time::sleep(wait);
        tokio::pin!(deadline);
        loop {
            changed.borrow_and_update();
            let job = self.get(id)?;
            if settled(&job) {
                return Some(job);
            }
            tokio::select! {
                _ = changed.changed() => {}
                _ = &mut deadline => return Some(job),
            }
        }
    }
}
