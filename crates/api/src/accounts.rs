//! The machine's database, as requests use it: on blocking threads, so many at a time.
//!
//! Who wants to come in has a password hashed, which takes time and memory; so logins have places
//! of their own, and a flood of them holds up nobody who is in already.
//!
//! Invariant: whoever finds no place in time is refused, and waits no longer.

use crate::denied::Unserved;
use crate::problem::refuse;
use api_types::kind;
use machine::{Machine, Outside};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio::time::timeout;

/// Calls at one time that look something up or write it down, and those that hash a password: of
/// these the database itself computes two at a time.
const LOOKUPS: usize = 8;
const HASHES: usize = 4;
/// Blocking threads that they take together.
pub const THREADS: usize = LOOKUPS + HASHES;
/// How long a call waits for its place.
const PATIENCE: Duration = Duration::from_secs(5);

/// The database, and what it takes beside it.
pub struct Accounts {
    machine: Arc<Machine>,
    pub outside: Arc<dyn Outside>,
    /// Where backups go.
    pub backups: PathBuf,
    lookups: Arc<Semaphore>,
    hashes: Arc<Semaphore>,
}

impl Accounts {
    pub fn new(machine: Arc<Machine>, outside: Arc<dyn Outside>, backups: PathBuf) -> Accounts {
        let places = |count| Arc::new(Semaphore::new(count));
        let (lookups, hashes) = (places(LOOKUPS), places(HASHES));
        Accounts { machine, outside, backups, lookups, hashes }
    }

    /// Runs what hashes no password.
    pub async fn quick<T, E>(
        &self,
        work: impl FnOnce(&Machine) -> Result<T, E> + Send + 'static,
    ) -> Result<T, Unserved>
    where
        T: Send + 'static,
        E: Into<Unserved> + Send + 'static,
    {
        self.run(&self.lookups, work).await
    }

    /// Runs what hashes a password.
    pub async fn hashing<T, E>(
        &self,
        work: impl FnOnce(&Machine) -> Result<T, E> + Send + 'static,
    ) -> Result<T, Unserved>
    where
        T: Send + 'static,
        E: Into<Unserved> + Send + 'static,
    {
        self.run(&self.hashes, work).await
    }

    async fn run<T, E>(
        &self,
        places: &Arc<Semaphore>,
        work: impl FnOnce(&Machine) -> Result<T, E> + Send + 'static,
    ) -> Result<T, Unserved>
    where
        T: Send + 'static,
        E: Into<Unserved> + Send + 'static,
    {
        let Ok(place) = timeout(PATIENCE, places.clone().acquire_owned()).await else {
            return Err(Unserved::no_room("too many requests about accounts are under way"));
        };
        let machine = self.machine.clone();
        // The place is the thread's: who goes away meanwhile does not make room for another.
        let work = move || {
            let _place = place;
            work(&machine)
        };
        match tokio::task::spawn_blocking(work).await {
            Ok(outcome) => outcome.map_err(Into::into),
            Err(panic) => Err(refuse(kind::INTERNAL, format!("a fault of ours: {panic}")).into()),
        }
    }
}
