//! The machine's database, as requests use it: on blocking threads, so many at a time.
//!
//! Who wants to come in has a password hashed, which takes time and memory. So strangers have
//! places of their own for it, and who is in has others: no flood of logins keeps an administrator
//! from changing a password. Likewise what takes long keeps nobody from being looked up.
//!
//! Invariant: whoever finds no place in time is refused, and waits no longer.

use crate::caller::Asker;
use crate::denied::Unserved;
use crate::problem::defect;
use machine::{Machine, Outside};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio::time::timeout;

/// Calls at one time that look something up or write it down, those that search or copy the
/// database, and those that hash a password, of strangers and of others: the database itself
/// computes two and one at a time.
const LOOKUPS: usize = 8;
const LONG: usize = 2;
const OF_STRANGERS: usize = 4;
const OF_KNOWN: usize = 2;
/// Blocking threads that they take together.
pub const THREADS: usize = LOOKUPS + LONG + OF_STRANGERS + OF_KNOWN;
/// How long a call waits for its place.
const PATIENCE: Duration = Duration::from_secs(5);

/// The database, and what it takes beside it.
pub struct Accounts {
    machine: Arc<Machine>,
    pub outside: Arc<dyn Outside>,
    /// Where backups go.
    pub backups: PathBuf,
    lookups: Arc<Semaphore>,
    long: Arc<Semaphore>,
    of_strangers: Arc<Semaphore>,
    of_known: Arc<Semaphore>,
}

impl Accounts {
    pub fn new(machine: Arc<Machine>, outside: Arc<dyn Outside>, backups: PathBuf) -> Accounts {
        let places = |count| Arc::new(Semaphore::new(count));
        let (lookups, long) = (places(LOOKUPS), places(LONG));
        let (of_strangers, of_known) = (places(OF_STRANGERS), places(OF_KNOWN));
        Accounts { machine, outside, backups, lookups, long, of_strangers, of_known }
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

    /// Runs what hashes no password, and searches or copies much.
    pub async fn long<T, E>(
        &self,
        work: impl FnOnce(&Machine) -> Result<T, E> + Send + 'static,
    ) -> Result<T, Unserved>
    where
        T: Send + 'static,
        E: Into<Unserved> + Send + 'static,
    {
        self.run(&self.long, work).await
    }

    /// Runs what hashes a password for who asks.
    pub async fn hashing<T, E>(
        &self,
        asker: &Asker,
        work: impl FnOnce(&Machine) -> Result<T, E> + Send + 'static,
    ) -> Result<T, Unserved>
    where
        T: Send + 'static,
        E: Into<Unserved> + Send + 'static,
    {
        let places = if asker.is_stranger() { &self.of_strangers } else { &self.of_known };
        self.run(places, work).await
    }

    /// For a thread of the program that is no request's.
    pub fn machine(&self) -> &Machine {
        &self.machine
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
            Err(panic) => Err(defect(&panic).into()),
        }
    }
}
