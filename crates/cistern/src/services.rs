//! Services, run: the machine's clocks and database, and the threads that do the work.
//!
//! One thread asks what is to be done ([`appliance::Services`]), and each task gets a thread of its
//! own. At the daemon's end tasks stop at their next step; what does not for a while is left
//! behind.

mod programs;
mod shelf;

use std::io;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use api_types::{ScriptEnd, ScriptPolicy};
use appliance::{Services, World};
use engine_api::{Cancel, Engine};
use env::{Clock, Entropy};
use jiff::tz::TimeZone;
use machine::Machine;
use services::clock::Reading;

use crate::host;
use shelf::Cabinet;

/// How long the daemon's end waits for what is under way.
const GRACE: Duration = Duration::from_secs(5);

/// The world as services see it.
struct Here {
    clock: Arc<dyn Clock>,
    entropy: Arc<dyn Entropy>,
    boot: u64,
}

impl World for Here {
    fn reading(&self) -> Reading {
        let wall = self.clock.wall().secs;
        // Where the kernel does not say it, time passes with this program.
        let passed = host::uptime().unwrap_or_else(|| self.clock.now().0 / 1_000_000_000);
        Reading { boot: self.boot, monotonic: passed, wall }
    }

    fn zone(&self, name: Option<&str>) -> Option<TimeZone> {
        match name {
            Some(name) => TimeZone::get(name).ok(),
            None => Some(TimeZone::system()),
        }
    }

    fn seed(&self) -> u64 {
        self.entropy.u64()
    }

    fn run(&self, policy: &ScriptPolicy, stop: &Cancel) -> (ScriptEnd, String) {
        programs::run(policy, stop, self.entropy.u64())
    }
}

/// The services of a daemon, with what the database has of them.
pub fn open(
    engine: Arc<dyn Engine>,
    machine: Option<Arc<Machine>>,
    clock: Arc<dyn Clock>,
    entropy: Arc<dyn Entropy>,
) -> Arc<Services> {
    let world = Arc::new(Here { clock, entropy, boot: host::boot() });
    Services::new(engine, world, Arc::new(Cabinet(machine)), api::problem)
}

/// The thread that has services do their work.
pub struct Runner {
    services: Arc<Services>,
    thread: JoinHandle<()>,
}

impl Runner {
    /// To be called when the pools of the last run are here, or still to come.
    pub fn start(services: Arc<Services>) -> io::Result<Runner> {
        let at_work = services.clone();
        let thread = thread::Builder::new().name("services".to_owned()).spawn(move || work(&at_work))?;
        Ok(Runner { services, thread })
    }

    /// Has all stop, and waits a while for it.
    pub fn stop(self) {
        self.services.end();
        // A panic there was told, and is no reason not to end.
        drop(self.thread.join());
        if !self.services.rest(GRACE) {
            tracing::warn!("a service is still at work");
        }
    }
}

fn work(services: &Services) {
    loop {
        let (tasks, wait) = services.due();
        for task in tasks {
            let thread = thread::Builder::new().name(task.name().to_owned());
            // Dropped for want of a thread, it hands in itself.
            if let Err(error) = thread.spawn(move || task.perform()) {
                tracing::error!(%error, "there is no thread for a service");
            }
        }
        if !services.wait(wait) {
            return;
        }
    }
}
