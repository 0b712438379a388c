//! `cistern serve`: start everything, wait to be told to stop, stop everything in the opposite
//! order.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Duration;

use api::{AlertDesk, ApiServer, Config, HistoryConfig};
use appliance::Appliance;
use engine::{LocalEngine, Options as EngineOptions};
use engine_api::Engine;
use env::{Clock, Env, Keepsake, MemoryFile};
use mounter::Mounter;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use sockets::inherited::Inherited;
use sockets::{Budget, Limits};
use stdx::behalf::{Actor, on_behalf_of};
use stdx::os_error::words;

use crate::alerting::{self, Alerting, Sights};
use crate::bench::rehearse::Children;
use crate::disk_watch::Watches;
use crate::house::House;
use crate::job_list::JobList;
use crate::local::Local;
use crate::mount_list::MountList;
use crate::options::{HELP, Options, parse};
use crate::protocols::{self, Parts, Protocol};
use crate::remember::Memory;
use crate::remembering::RememberingEngine;
use crate::services::{self, Runner};
use crate::trial::Trial;
use crate::versions::Keeper;
use crate::{config_file, first_start, host, keep, logging};

/// How long servers wait for the pools of the last run. A client that asks for one that is still to
/// come is told to ask again, which it does after seconds: a start that takes less is not noticed.
const START_PATIENCE: Duration = Duration::from_secs(10);
/// How often it is looked whether a row of the history is due.
const HISTORY_LOOK: Duration = Duration::from_secs(1);

/// Exit status of the daemon.
pub fn run(args: &[String]) -> i32 {
    let args = config_file::with_file(args, Path::new(config_file::USUAL));
    let options = match args.and_then(|args| parse(&args, host::memory(), host::is_root())) {
        Ok(Some(options)) => options,
        Ok(None) => {
            print!("{HELP}");
            return 0;
        }
        Err(why) => {
            eprintln!("cistern serve: {why}\nsee 'cistern serve --help'");
            return 2;
        }
    };
    if let Err(why) = logging::start(options.log.as_deref()) {
        eprintln!("cistern serve: {why}\nsee 'cistern serve --help'");
        return 2;
    }
    match Daemon::start(&options) {
        Ok(daemon) => daemon.run_until_told(),
        Err(why) => {
            eprintln!("cistern serve: {why}");
            1
        }
    }
}

struct Daemon {
    engine: Arc<RememberingEngine>,
    local: Arc<Local>,
    api: ApiServer,
    house: House,
    keeper: Arc<Keeper>,
    services: Runner,
    protocols: Vec<Box<dyn Protocol>>,
    watches: Watches,
    alerting: Option<Alerting>,
    keep: Option<Arc<MemoryFile>>,
    /// Signals to end.
    told: Receiver<i32>,
}

impl Daemon {
    fn start(options: &Options) -> Result<Daemon, String> {
        // First of all: they are known by their numbers.
        let inherited = Arc::new(Inherited::take().map_err(|error| words(&error))?);
        // Before anything is open: a signal during the start must not leave pools active.
        let signals = Signals::new([SIGINT, SIGTERM, SIGHUP]).map_err(|error| error.to_string())?;
        fs::create_dir_all(&options.state)
            .map_err(|error| format!("{}: {}", options.state.display(), words(&error)))?;
        let state = options.state.canonicalize().map_err(|error| error.to_string())?;
        let keep = match &options.keep {
            Some(folder) => keep::open(folder, &state, options.dirty)?,
            None => None,
        };
        let keepsake = keep.clone().map(|file| file as Arc<dyn Keepsake>);
        let real = Env::real();
        let (clock, entropy) = (real.clock.clone(), real.entropy.clone());
        let trial = Trial::open(&state, options.trial, clock.clone())?;
        let calendar = trial.clone().map_or(clock.clone(), |trial| trial as Arc<dyn Clock>);
        let env = Env { keepsake, clock: calendar.clone(), ..real };
        host::allow_many_files();
        // What clients make the servers hold is part of what the cache promises.
        let budget = Arc::new(Budget::new(Limits::within(options.cache)));
        let engine_options = engine_options(options, &state, &budget, env.entropy.u64());
        let memory = Memory::load(&state).map_err(|error| {
            format!("{}: the list of pools cannot be read: {error}", state.join("pools").display())
        })?;
        let jobs = JobList::load(&state, env.clock.clone()).map_err(|error| {
            format!("{}: the list of jobs cannot be read: {error}", state.join("jobs").display())
        })?;
        let is_first = memory.absent().is_empty();
        let engine = RememberingEngine::new(env, engine_options, memory);
        let local = open_local(options, &engine, &state, &budget)?;
        let told = heed_signals(signals, engine.local(), local.clone())?;
        // The socket first: it tells whether another daemon runs here, before any disk is touched.
        let socket = options.socket.clone().unwrap_or_else(|| state.join("cistern.sock"));
        let mut house = House::open(&state, clock.clone(), entropy.clone());
        let desk = house.machine().and_then(|it| alerting::open(it, &calendar, &entropy));
        let keeper = Keeper::new(engine.clone(), house.machine(), clock, &state, host::name());
        let time = (calendar.clone(), trial.clone());
        let (peers, kept) = (house.peers(), (house.machine(), state.as_path()));
        let (others, asked, mounts) = (peers.clone(), peers.clone(), local.clone());
        let services = services::open(engine.clone(), kept, time, entropy.clone(), others, mounts);
        let config = Config {
            socket: socket.clone(),
            inherited: inherited.unix(&socket),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            accounts: house.accounts(),
            https: house.https(options.https, &inherited),
            keeper: Some(keeper.clone()),
            services: Some(services.clone()),
            history: Some(history(&state, calendar, trial.is_some())),
            desk: desk.clone().map(|desk| desk as Arc<dyn AlertDesk>),
            peers,
            // This program, whatever has taken the place of its file since.
            shell: Some(PathBuf::from("/proc/self/exe")),
        };
        let appliance = Appliance::new(engine.clone(), local.clone(), options.automount);
        let api = api::serve(config, appliance, local.clone(), jobs)
            .map_err(|error| format!("{}: {}", socket.display(), words(&error)))?;
        local.remove_dead();
        bring_back(&engine, &local, &api).map_err(|error| words(&error))?;
        if options.first_start && is_first && engine.pools().is_empty() {
            let make = || first_start::make(&*engine, &state);
            let (user, group) = host::owner().unwrap_or_default();
            let owner = Actor::administrator(user, group);
            on_behalf_of(Arc::new(owner), make).map_err(|error| format!("first start: {error}"))?;
        }
        let protocols = protocols::start(&Parts {
            options,
            engine: &engine,
            local: &local,
            budget: &budget,
            inherited: &inherited,
            entropy: &entropy,
            socket: &socket,
        })?;
        if let Some(socket) = inherited.rest().first() {
            return Err(format!("socket {socket} was handed over, and no option names its address"));
        }
        keeper.start().map_err(|error| error.to_string())?;
        let at_work = services.clone();
        let services = Runner::start(services, trial.clone()).map_err(|error| error.to_string())?;
        let watches = Watches::start(engine.local()).map_err(|error| error.to_string())?;
        let (every, certificate) = (options.checks_every, Box::new(api.certificate()));
        let sights = Sights {
            engine: engine.clone(),
            services: at_work,
            keeper: keeper.clone(),
            peers: asked,
            certificate,
            leaps: trial.is_some(),
            history: Box::new(api.history()),
            statistics: Box::new(api.statistics()),
            watched: Box::new(api.watched()),
            every,
        };
        let alerting = desk.map(|desk| Alerting::start(desk, sights)).transpose();
        let alerting = alerting.map_err(|error| error.to_string())?;
        announce(&engine, &socket, &protocols, &house.lines(&api));
        Ok(Daemon { engine, local, api, house, keeper, services, protocols, watches, alerting, keep, told })
    }

    fn run_until_told(mut self) -> i32 {
        let signal = self.told.recv().ok();
        let why = signal.map_or("no more signals".into(), |n| format!("signal {n}"));
        say(&format!("stopping ({why})"));
        // From now on no pool waits for lost devices: whoever does must end too.
        self.engine.pools().iter().for_each(|pool| pool.give_up());
        self.services.stop();
        self.protocols.iter().for_each(|protocol| protocol.stop());
        self.api.stop();
        if let Some(alerting) = &self.alerting {
            alerting.close();
        }
        self.house.close();
        self.keeper.close();
        drop(self.watches);
        self.local.unmount_all();
        let exported = self.engine.export_all();
        if let Some(keep) = self.keep.take().filter(|_| self.engine.keeps_nothing())
            && let Err(error) = keep.remove()
        {
            tracing::warn!(%error, "an empty file in memory stays");
        }
        match exported {
            Ok(()) => {
                say("all pools exported");
                0
            }
            Err(error) => {
                say(&format!("a pool could not be exported: {error}"));
                1
            }
        }
    }
}

/// What serves local mounts.
fn open_local(
    options: &Options,
    engine: &Arc<RememberingEngine>,
    state: &Path,
    budget: &Budget,
) -> Result<Arc<Local>, String> {
    let limits = fuse::Limits::within(options.cache, budget.held());
    let mounter = options.mount_broker.clone().map_or_else(Mounter::here, Mounter::broker);
    let list = MountList::in_state(state);
    let opened = Local::new(engine.clone(), list, mounter, limits, search(options, state));
    opened.map_err(|error| words(&error))
}

/// Imports what was imported when the program last ran, and mounts what was mounted. What is not
/// here after a while is waited for no more: it comes later.
fn bring_back(engine: &Arc<RememberingEngine>, local: &Arc<Local>, api: &ApiServer) -> std::io::Result<()> {
    // Of no room: what was sent was taken, or is given back.
    let (tell, told) = mpsc::sync_channel(0);
    let import = {
        let (engine, mount) = (engine.clone(), mount_back(local, api));
        move || {
            engine.import_remembered();
            if tell.send(()).is_err() {
                mount();
            }
        }
    };
    thread::Builder::new().name("import".into()).spawn(import)?;
    if told.recv_timeout(START_PATIENCE).is_err() {
        let pools = engine.to_come().join(", ");
        tracing::warn!(pools, "still being imported; what is in them is served later");
    }
    drop(told);
    mount_back(local, api)();
    Ok(())
}

/// Mounts what was mounted when the program last ran, and what wants to be by itself.
fn mount_back(local: &Arc<Local>, api: &ApiServer) -> impl FnOnce() + Send + use<> {
    let (local, mount_all) = (local.clone(), api.mount_all());
    move || {
        local.mount_remembered();
        if !local.is_stopping() {
            mount_all();
        }
    }
}

/// The signals to end, for whoever waits for them. The first also ends imports, which may take as
/// long as they like, those of the start included, and mounting; with the second the program ends
/// at once. A terminal that is closed ends nobody: its signal is passed over.
fn heed_signals(
    mut signals: Signals,
    engine: Arc<LocalEngine>,
    local: Arc<Local>,
) -> Result<Receiver<i32>, String> {
    let (tell, told) = mpsc::channel();
    let listen = move || {
        let mut is_told = false;
        for signal in signals.forever().filter(|signal| *signal != SIGHUP) {
            if is_told {
                say(&format!("told again (signal {signal}): ending without exporting"));
                std::process::exit(1);
            }
            is_told = true;
            engine.stop_imports();
            local.stop_mounting();
            // Nobody listens any more where the start has failed.
            let _ = tell.send(signal);
        }
    };
    let thread = thread::Builder::new().name("signals".to_owned()).spawn(listen);
    thread.map(|_| told).map_err(|error| error.to_string())
}

/// To whoever listens still.
fn say(text: &str) {
    drop(writeln!(std::io::stderr(), "cistern: {text}"));
}

fn engine_options(options: &Options, state: &Path, budget: &Budget, random: u64) -> EngineOptions {
    let (hostid, hostid_file) = host::id(state, random);
    EngineOptions {
        cache: options.cache,
        outside: budget.held(),
        dirty: options.dirty,
        search: search(options, state),
        hostid,
        hostid_file,
        hostname: host::name(),
        cachefile: cachefile(options, state),
        stage: Children::of_this_program(),
        ..EngineOptions::default()
    }
}

/// Whole, as property `cachefile` has it.
fn cachefile(options: &Options, state: &Path) -> Option<String> {
    let path = match options.cachefile.as_deref() {
        Some("none") => return None,
        Some(path) => std::path::absolute(path).unwrap_or_else(|_| PathBuf::from(path)),
        None => state.join("zpool.cache"),
    };
    Some(path.to_string_lossy().into_owned())
}

/// Where and when what is done is noted.
fn history(state: &Path, clock: Arc<dyn Clock>, leaps: bool) -> HistoryConfig {
    // A clock that is before 1970 is as good as one that is wrong otherwise.
    let clock = Box::new(move || u64::try_from(clock.wall().secs).unwrap_or(0));
    HistoryConfig {
        path: state.join("history"),
        panes: state.join("analytics.db"),
        clock,
        look: if leaps { HISTORY_LOOK / 10 } else { HISTORY_LOOK },
    }
}

fn search(options: &Options, state: &Path) -> Vec<String> {
    if !options.search.is_empty() {
        return options.search.clone();
    }
    let disks: PathBuf = state.join("disks");
    vec!["/dev".to_owned(), disks.to_string_lossy().into_owned()]
}

/// Says what is served where.
fn announce(engine: &RememberingEngine, socket: &Path, protocols: &[Box<dyn Protocol>], more: &[String]) {
    println!("Cistern is running.");
    println!("  management   CISTERN_SOCKET={}", socket.display());
    for pool in engine.pools() {
        let status = pool.status();
        println!(
            "  pool         {} ({}, {} of {} used)",
            status.name,
            format!("{:?}", status.health).to_uppercase(),
            cli::nicebytes(status.root.allocated),
            cli::nicebytes(status.root.size)
        );
    }
    for name in engine.to_come() {
        println!("  pool         {name} (still being imported)");
    }
    for line in protocols.iter().flat_map(|protocol| protocol.lines()).chain(more.iter().cloned()) {
        println!("  {line}");
    }
    println!("Ctrl-C exports the pools and stops.");
}
