//! Services, run: the machine's clocks and database, and the threads that do the work.
//!
//! One thread asks what is to be done ([`appliance::Services`]), and each task gets a thread of its
//! own. At the daemon's end tasks stop at their next step; what does not for a while is left
//! behind.

mod programs;
mod rsync;
mod shelf;
mod ssh;
mod tail;

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use api_types::{PeerFault, PeerRead, RsyncEnd, ScriptEnd, ScriptPolicy, SnapTarget, SshHost};
use appliance::replication::{Elsewhere, Fault, Peer};
use appliance::{Broken, Errand, Line, LocalMounts, Services, World};
use engine_api::{Cancel, Engine};
use env::{Clock, Entropy};
use jiff::tz::TimeZone;
use machine::Machine;
use peers::{Book, Remote, Sources};
use services::autotier::command::Said;
use services::clock::Reading;
use stdx::os_error::words;

use crate::host;
use crate::trial::{PAUSE, Trial};
use shelf::Cabinet;
use ssh::Ssh;

/// How long the daemon's end waits for what is under way.
const GRACE: Duration = Duration::from_secs(5);

/// The world as services see it.
struct Here {
    clock: Arc<dyn Clock>,
    entropy: Arc<dyn Entropy>,
    boot: u64,
    trial: Option<Arc<Trial>>,
    /// `None`: the database could not be opened.
    peers: Option<Arc<Book>>,
    ssh: Ssh,
    local: Arc<dyn LocalMounts>,
}

impl World for Here {
    fn reading(&self) -> Reading {
        let (wall, ahead) = match &self.trial {
            Some(trial) => trial.now(),
            None => (self.clock.wall().secs, 0),
        };
        // Where the kernel does not say it, time passes with this program.
        let passed = host::uptime().unwrap_or_else(|| self.clock.now().0 / 1_000_000_000);
        // In a trial, time has passed that was left out.
        Reading { boot: self.boot, monotonic: passed.saturating_add_signed(ahead), wall }
    }

    fn passed(&self) -> Duration {
        Duration::from_nanos(self.clock.now().0)
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

    fn original(&self, peer: &str, service: &str, guid: u64) -> Result<bool, Fault> {
        let asked = match &self.peers {
            Some(book) => book.original(peer, service, guid),
            None => Err(PeerFault::NoIdentity.into()),
        };
        asked.map_err(|why| peers::fault(peer, why))
    }

    fn peer(&self, name: &str, service: &str, sources: BTreeMap<String, u64>) -> Box<dyn Peer> {
        Box::new(match &self.peers {
            Some(book) => book.remote(name, service, sources),
            None => Remote::new(name.to_owned(), service.to_owned(), sources, Err(PeerFault::NoIdentity)),
        })
    }

    fn readers(&self) -> Result<Vec<(String, Vec<PeerRead>)>, String> {
        let Some(book) = &self.peers else { return Ok(Vec::new()) };
        let peers = book.all().map_err(|why| format!("{why:?}"))?;
        Ok(peers.into_iter().filter(|it| !it.reads.is_empty()).map(|it| (it.name, it.reads)).collect())
    }

    fn source(&self, name: &str, service: &str, source: &SnapTarget) -> Box<dyn Elsewhere> {
        Box::new(match &self.peers {
            Some(book) => book.sources(name, service, source),
            None => {
                let (name, service) = (name.to_owned(), service.to_owned());
                Sources::new(name, service, source.clone(), Err(PeerFault::NoIdentity))
            }
        })
    }

    fn connect(&self, place: &SshHost, stop: &Cancel) -> Result<Box<dyn Line>, Broken> {
        self.ssh.connect(place, stop)
    }

    fn keys(&self) -> (String, String) {
        self.ssh.keys()
    }

    fn mounts(&self) -> Vec<(String, String)> {
        self.local.mounted().into_iter().map(|mount| (mount.dataset, mount.mountpoint)).collect()
    }

    fn folder(&self, path: &str) -> Option<String> {
        // What cannot be looked at can be no target.
        let path = fs::canonicalize(path).ok().filter(|path| path.is_dir())?;
        Some(path.to_str()?.to_owned())
    }

    fn flush(&self, path: &str) -> Result<(), String> {
        rsync::flush(path).map_err(|error| words(&error))
    }

    fn rsync(&self, errand: &Errand<'_>, told: &mut dyn FnMut(Said)) -> (RsyncEnd, String) {
        let folder = if errand.by_ssh { self.ssh.ready() } else { Ok(Path::new("/")) };
        match folder {
            Ok(folder) => rsync::run(errand, folder, told, self.entropy.u64()),
            Err(message) => (RsyncEnd::NotStarted { message }, String::new()),
        }
    }
}

/// The services of a daemon, with what the database has of them. `state`: its folder.
pub fn open(
    engine: Arc<dyn Engine>,
    (machine, state): (Option<Arc<Machine>>, &Path),
    (clock, trial): (Arc<dyn Clock>, Option<Arc<Trial>>),
    entropy: Arc<dyn Entropy>,
    peers: Option<Arc<Book>>,
    local: Arc<dyn LocalMounts>,
) -> Arc<Services> {
    let ssh = Ssh::new(state, entropy.clone());
    let world = Arc::new(Here { clock, entropy, boot: host::boot(), trial, peers, ssh, local });
    Services::new(engine, world, Arc::new(Cabinet(machine)), api::problem)
}

/// The thread that has services do their work.
pub struct Runner {
    services: Arc<Services>,
    thread: JoinHandle<()>,
}

impl Runner {
    /// To be called when the pools of the last run are here, or still to come.
    pub fn start(services: Arc<Services>, trial: Option<Arc<Trial>>) -> io::Result<Runner> {
        let at_work = services.clone();
        let thread = thread::Builder::new()
            .name("services".to_owned())
            .spawn(move || work(&at_work, trial.as_deref()))?;
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

fn work(services: &Services, trial: Option<&Trial>) {
    loop {
        let (tasks, mut wait) = services.due();
        if let Some(trial) = trial.filter(|_| tasks.is_empty() && services.rest(Duration::ZERO)) {
            let next = services.all().into_iter().filter_map(|service| Some(service.next?.at));
            if let Some(next) = next.min() {
                trial.leap(next);
                wait = PAUSE;
            }
        }
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
