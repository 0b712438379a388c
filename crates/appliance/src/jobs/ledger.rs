//! Where jobs are written down, for the next program.
//!
//! A job is added before its work runs, and again when it has ended. Numbers are reserved ahead:
//! what is written down names one that no job has got, and the next program goes on from there. A
//! job that cannot be written down is done all the same; that is logged once, until it can be.
//!
//! Invariant: no number is given to two jobs, unless nothing can be written down from the start of
//! the program on, or for more than [`SPARE`] jobs in a row.

use std::io;
use std::sync::Arc;

use api_types::{Job, JobLog, JobState};
use stdx::behalf::{Actor, Rank};

/// Numbers reserved at a time, and how many of them are spare: far more than jobs run at a time.
/// All is written anew where fewer are left, so once in hundreds of jobs.
const RESERVED: u64 = 1024;
const SPARE: u64 = 512;

/// A job, and who has asked for it: nobody else sees it but accounts and administrators.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub job: Job,
    pub log: JobLog,
    /// A user's number.
    pub owner: u32,
    /// The owner was an administrator.
    pub of_administrators: bool,
}

impl Entry {
    pub(super) fn is_seen_by(&self, caller: &Actor) -> bool {
        caller.rank >= Rank::Reader || self.is_of(caller)
    }

    /// Whether somebody may end it: who has asked for it, and whoever does the daily work.
    pub(super) fn can_be_cancelled_by(&self, caller: &Actor) -> bool {
        caller.is_operator() || self.is_of(caller)
    }

    fn is_of(&self, caller: &Actor) -> bool {
        self.owner == caller.user
    }

    pub(super) fn is_running(&self) -> bool {
        self.job.state == JobState::Running
    }
}

/// All that is written down.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Record {
    /// The first number that no job has, nor any that may be missing here.
    pub next: u64,
    /// In the order in which they were written: of several with one number the last counts.
    pub jobs: Vec<Entry>,
}

/// Tells the time, in seconds since 1970, and waits for nothing.
pub type Clock = Arc<dyn Fn() -> u64 + Send + Sync>;

/// Where jobs are written down. Calls may wait for a disk.
pub trait Ledger: Send {
    /// What tells when a job begins and ends.
    fn clock(&self) -> Clock;

    /// Adds a job that is new or has changed: it is on stable storage. False: it was not added, and
    /// all is to be replaced.
    fn add(&mut self, entry: &Entry) -> bool;

    /// Writes this instead of all that is there, which stays until the new is on stable storage.
    fn replace(&mut self, record: &Record) -> io::Result<()>;
}

/// A ledger, and what it was told.
pub(super) struct Book {
    ledger: Box<dyn Ledger>,
    /// What it has as [`Record::next`].
    reserved: u64,
    /// It could not be written when that was last tried.
    has_failed: bool,
}

impl Book {
    pub(super) fn new(ledger: impl Ledger + 'static) -> Book {
        Book { ledger: Box::new(ledger), reserved: 0, has_failed: false }
    }

    /// Adds a job. False: all is to be replaced. `next` is the number of the next job.
    pub(super) fn add(&mut self, entry: &Entry, next: u64) -> bool {
        next.saturating_add(SPARE) <= self.reserved && self.ledger.add(entry)
    }

    /// Writes all jobs, and reserves numbers.
    pub(super) fn replace(&mut self, next: u64, jobs: Vec<Entry>) {
        let record = Record { next: next.saturating_add(RESERVED), jobs };
        match self.ledger.replace(&record) {
            Ok(()) => (self.reserved, self.has_failed) = (record.next, false),
            Err(error) => {
                if !self.has_failed {
                    tracing::error!(%error, "jobs cannot be written down: a restart would forget them");
                }
                self.has_failed = true;
            }
        }
    }
}
