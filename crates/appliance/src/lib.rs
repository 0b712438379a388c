//! What an appliance does around its pools, whoever asks and by whichever protocol: file systems
//! are mounted and shared, unmounted before a change that moves or ends them and mounted again
//! after it; long work is a job.
//!
//! Every call blocks until it is done, and knows neither HTTP nor the texts of commands. What was
//! not done is a [`Failure`], what went wrong beside what was done a [`Warning`]: both are data.
//! Only a job ends with a problem as clients get it, which whoever begins the job makes. Mounts and
//! shares themselves are made by whoever implements [`LocalMounts`].

mod candidate;
mod datasets;
mod executor;
mod failover;
mod failure;
mod files;
mod jobs;
mod local;
mod mounting;
mod mounts;
mod pools;
mod receive;
mod sharing;
mod snapshots;

pub use executor::{
    Bounds, Broken, Ended, Errand, Kept, Line, Memory, Services, Shelf, ShelfFault, Spoilt, Task, World,
};
/// Replicas, by whichever way they are reached.
pub mod replication {
    pub use crate::executor::sync::{
        Claim, Content, Elsewhere, Fault, Fill, Found, Given, Guest, Incoming, Live, Offered, Origin,
        Original, Patience, Peer, ReadClaim, Reading, Taken,
    };
    pub use services::autosnap::coverage::Named;
    pub use services::autosync::stamp;
    pub use services::autosync::view::{Snapshot, Source};
    pub use services::names::{is_dataset, is_part};
    pub use services::time::Time;
}
pub use failover::Promoted;
pub use failure::{
    Failure, NotMountable, NotReplicated, NotRestored, NotServed, Release, RemoteFault, Result, Verb, Warning,
};
pub use files::OpenFile;
pub use jobs::{Clock, Entry, Jobs, Ledger, MOST as MOST_JOBS, Record, Reporter, TooMany, Work};
pub use local::{LocalMount, LocalMounts, LocalShare, MountSpec, mount_props, mount_word};
pub use mounting::{Outcome, Told, untold};
pub use receive::ReceiveTold;

use std::sync::{Arc, Mutex};

use engine_api::{Engine, Error, Pool};

/// The engine, and the machine that its file systems are mounted on.
pub struct Appliance {
    pub engine: Arc<dyn Engine>,
    pub local: Arc<dyn LocalMounts>,
    /// File systems are mounted when they are created, imported or get a mount point.
    pub auto_mount: bool,
    /// Held by whoever fails over.
    turn: Mutex<()>,
}

impl Appliance {
    pub fn new(engine: Arc<dyn Engine>, local: Arc<dyn LocalMounts>, auto_mount: bool) -> Appliance {
        Appliance { engine, local, auto_mount, turn: Mutex::new(()) }
    }

    /// # Errors
    /// [`Failure::NoSuchPool`], and the engine's.
    pub fn pool(&self, name: &str) -> Result<Arc<dyn Pool>> {
        self.engine.pool(name).map_err(|error| match error {
            Error::NotFound => Failure::NoSuchPool { pool: name.to_owned() },
            other => Failure::Engine(other),
        })
    }

    /// The pool that a dataset, snapshot or bookmark of that name lies in.
    ///
    /// # Errors
    /// As [`Appliance::pool`].
    pub fn pool_of(&self, dataset: &str) -> Result<Arc<dyn Pool>> {
        let end = dataset.find(['/', '@', '#']).unwrap_or(dataset.len());
        self.pool(&dataset[..end])
    }
}

#[cfg(test)]
mod tests;
