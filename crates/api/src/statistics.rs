//! Counts of all parts of the appliance, gathered at one moment for whoever asks.

use std::collections::BTreeMap;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use api_types::{DiskStatistics, Job, JobState, JobStatistics, PoolStatus, Statistics, VdevStatus};
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use counters::Sums;

use crate::app::{App, Shared};

/// Places of what this interface counts: answers by the first digit of their status, and jobs.
const JOBS_BEGUN: usize = 6;
const JOBS_DONE: usize = 7;
const JOBS_FAILED: usize = 8;

/// What this interface counts, and since when.
pub struct Tally {
    began: Instant,
    /// Since 1970, by the clock as it was then.
    run: Duration,
    sums: Sums<9>,
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

    fn jobs(&self) -> JobStatistics {
        let sums = self.sums.get();
        let (done, failed) = (sums[JOBS_DONE], sums[JOBS_FAILED]);
        JobStatistics { running: sums[JOBS_BEGUN].saturating_sub(done + failed), done, failed }
    }

    fn answers(&self) -> BTreeMap<String, u64> {
        let sums = self.sums.get();
        (1..=5).map(|digit| (format!("{digit}xx"), sums[digit])).collect()
    }
}

/// Counts the answers of all requests that come to the table.
pub async fn counted(State(app): State<Shared>, request: Request, next: Next) -> Response {
    let answer = next.run(request).await;
    // A status has three digits, the first of them 1 to 5 in all that is answered here.
    app.tally.sums.add(usize::from(answer.status().as_u16() / 100).min(5), 1);
    answer
}

/// All counts as they are now.
pub fn of(app: &App, pools: &[PoolStatus]) -> Statistics {
    let (file_systems, volumes) = app.engine().activity();
    Statistics {
        run: app.tally.run.as_nanos() as u64,
        uptime: app.tally.began.elapsed().as_nanos() as u64,
        file_systems,
        volumes,
        disks: pools.iter().flat_map(disks).collect(),
        program: app.program.statistics(),
        api: app.tally.answers(),
        jobs: app.tally.jobs(),
    }
}

/// All pools, by name.
pub fn pools(app: &App) -> Vec<PoolStatus> {
    let mut pools: Vec<_> = app.engine().pools().iter().map(|pool| pool.status()).collect();
    pools.sort_by(|a, b| a.name.cmp(&b.name));
    pools
}

/// The disks of a pool, each once: a spare in use is a disk of the tree.
fn disks(pool: &PoolStatus) -> Vec<DiskStatistics> {
    let mut found = Vec::new();
    for top in &pool.root.children {
        let class = if top.is_log { "log" } else { top.class.as_deref().unwrap_or("data") };
        leaves(pool, top, class, &mut found);
    }
    pool.cache.iter().for_each(|disk| leaves(pool, disk, "cache", &mut found));
    pool.spares.iter().for_each(|disk| leaves(pool, disk, "spare", &mut found));
    let mut names = std::collections::HashSet::new();
    found.retain(|disk| names.insert(disk.name.clone()));
    found
}

fn leaves(pool: &PoolStatus, vdev: &VdevStatus, class: &str, found: &mut Vec<DiskStatistics>) {
    if !vdev.children.is_empty() {
        vdev.children.iter().for_each(|child| leaves(pool, child, class, found));
        return;
    }
    found.push(DiskStatistics {
        pool: pool.name.clone(),
        name: vdev.path.clone().unwrap_or_else(|| vdev.name.clone()),
        class: class.to_owned(),
        health: vdev.health,
        read_errors: vdev.read_errors,
        write_errors: vdev.write_errors,
        checksum_errors: vdev.checksum_errors,
        io: vdev.io,
    });
}
