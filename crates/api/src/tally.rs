//! What this interface counts itself: its answers, and jobs.

use std::collections::BTreeMap;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use api_types::{Job, JobState, JobStatistics};
use counters::Sums;

/// Places of what this interface counts: answers by the first digit of their status, jobs, and
/// what browsers report of the console.
const JOBS_BEGUN: usize = 6;
const JOBS_DONE: usize = 7;
const JOBS_FAILED: usize = 8;
const REPORTS: usize = 9;

/// What this interface counts, and since when.
pub struct Tally {
    began: Instant,
    /// Since 1970, by the clock as it was then.
    run: Duration,
    sums: Sums<10>,
}

impl Default for Tally {
    fn default() -> Tally {
        // A clock that is before 1970 is as good as one that is wrong otherwise.
        let run = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Tally { began: Instant::now(), run, sums: Sums::default() }
    }
}

impl Tally {
    pub fn job_begins(&self) {
        self.sums.add(JOBS_BEGUN, 1);
    }

    /// It may have ended.
    pub fn job(&self, job: &Job) {
        match job.state {
            JobState::Running => {}
            JobState::Done => self.sums.add(JOBS_DONE, 1),
            JobState::Failed => self.sums.add(JOBS_FAILED, 1),
        }
    }

    /// Of this status.
    pub fn answer(&self, status: u16) {
        // It has three digits, the first of them 1 to 5 in all that is answered here.
        self.sums.add(usize::from(status / 100).min(5), 1);
    }

    /// A browser says that the console did what its policy forbids.
    pub fn report(&self) {
        self.sums.add(REPORTS, 1);
    }

    pub fn reports(&self) -> u64 {
        self.sums.get()[REPORTS]
    }

    /// When it began: nanoseconds since 1970, by the clock as it was then.
    pub fn run(&self) -> u64 {
        self.run.as_nanos() as u64
    }

    /// Nanoseconds since then.
    pub fn uptime(&self) -> u64 {
        self.began.elapsed().as_nanos() as u64
    }

    pub fn jobs(&self) -> JobStatistics {
        let sums = self.sums.get();
        let (done, failed) = (sums[JOBS_DONE], sums[JOBS_FAILED]);
        JobStatistics { running: sums[JOBS_BEGUN].saturating_sub(done + failed), done, failed }
    }

    /// By the first digit of their status.
    pub fn answers(&self) -> BTreeMap<String, u64> {
        let sums = self.sums.get();
        (1..=5).map(|digit| (format!("{digit}xx"), sums[digit])).collect()
    }
}
