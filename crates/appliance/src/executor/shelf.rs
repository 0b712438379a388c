//! Where services are kept over restarts, and what is kept of one.

use std::collections::BTreeMap;

use api_types::{LastRun, ServiceLog};
use serde::{Deserialize, Serialize};
use services::autosnap::state::State;
use services::autosync::memory::Memory as Synced;
use services::backoff::Backoff;
use services::clock::Clock;
use services::instance::Instance;
use services::time::Time;

/// Keeps services. Each call is whole or not at all, and durable when it returns.
pub trait Shelf: Send + Sync {
    /// All that were kept; of what cannot be understood, the id and why.
    fn services(&self) -> Result<Vec<Result<Kept, Spoilt>>, ShelfFault>;
    /// Keeps what an administrator has set.
    fn set(&self, kept: &Kept, lines: &[ServiceLog]) -> Result<(), ShelfFault>;
    /// Keeps how a service stands, with new lines of its log.
    fn note(&self, kept: &Kept, lines: &[ServiceLog]) -> Result<(), ShelfFault>;
    /// Writes down for the audit log what a run of a service has changed.
    fn record(&self, id: &str, run: &LastRun) -> Result<(), ShelfFault>;
    fn remove(&self, id: &str) -> Result<(), ShelfFault>;
    /// The newest lines of a service's log, oldest first.
    fn log(&self, id: &str) -> Result<Vec<ServiceLog>, ShelfFault>;
    /// `None`: none was kept.
    fn clock(&self) -> Result<Option<Clock>, ShelfFault>;
    fn note_clock(&self, clock: &Clock) -> Result<(), ShelfFault>;
}

/// What is kept of a service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    pub instance: Instance,
    pub memory: Memory,
}

/// What a service remembers of its work, by its kind.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Memory {
    pub snapshots: State,
    /// guid of a pool → what is remembered of its scrubs or trims.
    pub upkeep: BTreeMap<u64, Tended>,
    pub sync: Synced,
}

/// What is remembered of a pool that is scrubbed or trimmed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tended {
    /// Up to when its schedule was served.
    pub served: Time,
    /// When this service began what is under way, as the pool has it.
    pub began: Option<Time>,
    /// It was paused at the end of its window.
    pub paused: bool,
    /// Failures since something last succeeded.
    pub backoff: Option<Backoff>,
}

/// A service that was kept and is not understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spoilt {
    pub id: String,
    pub why: String,
}

/// Why nothing could be kept, or read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ShelfFault {
    /// There is nothing to keep it in.
    Missing,
    /// There are too many services.
    TooMany,
    /// The system disk is full.
    Full,
    /// Says why, for the log.
    Failed(String),
}

impl ShelfFault {
    pub fn why(self) -> String {
        match self {
            ShelfFault::Missing => "there is no database to keep its state in".to_owned(),
            ShelfFault::TooMany => "there are too many services".to_owned(),
            ShelfFault::Full => "the system disk is full".to_owned(),
            ShelfFault::Failed(why) => why,
        }
    }
}
