//! Alerts: what looks, what keeps, and what tells.
//!
//! Each check looks from a thread of its own ([`checks`]) and hands in what it has found. The
//! [`desk`] makes alerts of it, keeps them in the machine's database, and answers the API. The
//! [`post`] sends what routes are to be told, and [`week`] the weekly report. The rules are those
//! of crates `alerts` and `report`.
//!
//! Invariants: nothing here is waited for by who serves data. A check or a route that hangs holds
//! one thread, and nobody else.

mod checks;
mod desk;
mod look;
mod post;
mod route;
mod week;

use std::io;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use api::{StateKeeper, WatchedPane};
use api_types::{CertificateInfo, History, SeriesQuery, Statistics};
use appliance::Services;
use env::{Clock, Entropy};
use machine::Machine;
use peers::Book;

use crate::host;
use crate::remembering::RememberingEngine;

pub use desk::Desk;

/// All of it, at work. It ends with [`Alerting::close`].
pub struct Alerting {
    desk: Arc<Desk>,
    threads: Vec<JoinHandle<()>>,
}

/// How long the end waits for threads: as long as none of them hangs, they end at once.
const PATIENCE: Duration = Duration::from_secs(3);
const STEP: Duration = Duration::from_millis(10);

pub type Watched = dyn Fn() -> Option<Result<Vec<WatchedPane>, String>> + Send + Sync;
pub type ReadHistory = dyn Fn(&SeriesQuery) -> Option<History> + Send + Sync;

/// What checks look at, beside the machine itself.
pub struct Sights {
    pub engine: Arc<RememberingEngine>,
    /// Look after the data.
    pub services: Arc<Services>,
    /// Writes versions of the machine's state into a pool.
    pub keeper: Arc<dyn StateKeeper>,
    /// Other appliances; `None`: which there are is not known, which the log tells.
    pub peers: Option<Arc<Book>>,
    /// The certificate of HTTPS.
    pub certificate: Box<dyn Fn() -> Option<CertificateInfo> + Send + Sync>,
    /// The wall clock leaps on purpose.
    pub leaps: bool,
    /// What was noted of what the appliance does; `None`: that cannot be read.
    pub history: Box<ReadHistory>,
    /// All that is counted; `None`: nobody knows.
    pub statistics: Box<dyn Fn() -> Option<Statistics> + Send + Sync>,
    /// What panes of worksheets that have an alert find; `None`: nobody knows.
    pub watched: Box<Watched>,
    /// How often each check looks.
    pub every: Duration,
}

/// The desk of a machine's database; `None`: it cannot be read.
pub fn open(machine: Arc<Machine>, clock: &Arc<dyn Clock>, entropy: &Arc<dyn Entropy>) -> Option<Arc<Desk>> {
    match Desk::open(machine, clock.clone(), entropy.clone(), host::name()) {
        Ok(desk) => Some(Arc::new(desk)),
        Err(fault) => {
            tracing::error!(%fault, "there are no alerts: what is kept of them cannot be read");
            None
        }
    }
}

impl Alerting {
    /// Begins to look and to tell. To be called when the pools of the last run are there or still
    /// to come.
    pub fn start(desk: Arc<Desk>, sights: Sights) -> io::Result<Alerting> {
        let sights = Arc::new(sights);
        let mut threads = checks::start(&desk, &sights)?;
        threads.push(week::start(&desk, &sights)?);
        threads.push(post::start(&desk)?);
        Ok(Alerting { desk, threads })
    }

    /// Looks no more, and tells what is still to be told, for some seconds at most. What hangs is
    /// left behind.
    pub fn close(&self) {
        self.desk.end();
        let until = Instant::now() + PATIENCE;
        while !self.threads.iter().all(JoinHandle::is_finished) && Instant::now() < until {
            thread::sleep(STEP);
        }
    }
}
