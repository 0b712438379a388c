//! Jobs: long work with a number, a progress and an end.
//!
//! A job runs on a blocking thread. It is never cancelled, since the change that it makes is whole or not at all; a
//! client that stops waiting finds it again by number. The last [`KEPT`] that ended are remembered.

use crate::caller::on_behalf;
use crate::problem::problem;
use api_types::{Job, JobResult, JobState, Problem, Progress, kind};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::watch;

/// Ended jobs remembered.
const KEPT: usize = 256;
/// Jobs that run at one time, and more of them that bring back what others may be waiting for.
const RUNNING: usize = 32;
const REMEDIES: [&str; 3] = ["pool.clear", "pool.online", "pool.replace"];
/// Together.
pub const MOST: usize = RUNNING + 8;

struct State {
    next: u64,
    jobs: BTreeMap<u64, Job>,
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
        if let Some(job) = self.lock().jobs.get_mut(&id) {
            change(job);
        }
        self.changed.send_modify(|generation| *generation += 1);
    }

    pub fn all(&self) -> Vec<Job> {
        self.lock().jobs.values().cloned().collect()
    }

    pub fn get(&self, id: u64) -> Option<Job> {
        self.lock().jobs.get(&id).cloned()
    }

    fn register(&self, kind: &str, target: &str) -> Result<Job, Problem> {
        let mut state = self.lock();
        let running = state.jobs.values().filter(|job| job.state == JobState::Running).count();
        if running >= if REMEDIES.contains(&kind) { MOST } else { RUNNING } {
            return Err(problem(kind::BUSY, format!("{running} jobs are running already; try again later")));
        }
        while state.jobs.len() - running > KEPT {
            let oldest = state.jobs.values().find(|job| job.state != JobState::Running).map(|job| job.id);
            oldest.and_then(|id| state.jobs.remove(&id));
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
        state.jobs.insert(job.id, job.clone());
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
