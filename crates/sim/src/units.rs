//! Units: several initiators at work on volumes, all at the same time, with what hypervisors
//! offload. They write, with FUA and without, fill, unmap, have the target copy, and take locks
//! from each other by COMPARE AND WRITE. What they do is recorded; then the power goes at some of
//! the writes to the disks, sometimes again during the import, and what is found is held against
//! the [`journal`]: what was promised is there, locks are whole and had one winner at a time, every
//! sector is as somebody left it. Elsewhere the program dies and the machine goes on, with what the
//! disks were told and what is in memory that outlives programs: then all that was answered is
//! there. The next life of the pool begins where the last of these ends has left it.
//!
//! Commands take the way of the iSCSI target's, behind its transport: through `scsi`. A run is a
//! function of its seed.

mod check;
mod initiator;
mod journal;
mod locks;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

use engine_api::{Change, Engine, Pool, Volume};
use scsi::{Identity, LogicalUnit, Target, TargetPort};
use stdx::prng::Prng;

use crate::ends::{End, Recorded, crash_imports, switch_off};
use crate::export;
use crate::machine::{POOL, World, properties};
use crate::memory::SimMemory;
use crate::swarm::{Layout, Swarm};
use crate::workload::{Done, failed};
use initiator::{Initiator, SECTORS, Shared, UNITS, locks, values};
use journal::{Cut, Journal, Kind, SECTOR};

const VOLUMES: [&str; UNITS] = ["sim/v0", "sim/v1"];

/// What to run.
#[derive(Clone, Debug)]
pub struct Options {
    pub seed: u64,
    /// From an import to a power failure, or to the death of the program.
    pub lives: usize,
    /// Of each initiator in a life, at the most.
    pub commands: u64,
    /// Writes and flushes of each life at which it ends.
    pub cuts: usize,
    pub verbose: bool,
    /// The disks lie about flushes: then the run must fail.
    pub lying: bool,
    /// Ask zdb in the end, over files in this folder, which exists.
    pub zdb: Option<PathBuf>,
}

impl Options {
    pub fn new(seed: u64) -> Options {
        Options { seed, lives: 4, commands: 40, cuts: 24, verbose: false, lying: false, zdb: None }
    }
}

/// What happened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    pub calls: u64,
    /// Power failures.
    pub cuts: u64,
    /// Deaths of the program alone.
    pub deaths: u64,
    /// Locks that were taken, and that somebody else had been faster to take.
    pub won: u64,
    pub lost: u64,
}

/// Circumstances of a run.
struct Case<'a> {
    options: &'a Options,
    swarm: Swarm,
    /// Property `sync` of both volumes.
    sync: &'static str,
    tally: Tally,
}

/// Runs a seed. `Err` says what is wrong with the engine.
pub fn run(options: &Options) -> Result<Tally, String> {
    let mut prng = Prng::new(options.seed);
    let layout = *prng.pick(&[Layout::Single, Layout::Single, Layout::Mirror]).expect("some");
    let logs: &[usize] = prng.pick(&[&[][..], &[], &[1], &[2]]).expect("some");
    let swarm = Swarm::draw(&mut prng).calm(layout, logs);
    let sync = *prng.pick(&["standard", "standard", "always"]).expect("some");
    let mut case = Case { options, swarm, sync, tally: Tally::default() };
    let mut world = World::of(case.swarm.clone(), &mut prng);
    world.memory = Some(SimMemory::new(&world.disks));
    if options.verbose {
        eprintln!("{:?}, sync={sync}", case.swarm);
    }
    case.create(&mut world, &mut prng)?;
    let mut first = vec![vec![0; SECTORS as usize]; UNITS];
    let mut last_value = 0;
    for _ in 0..options.lives {
        let recorded = case.live(&mut world, Journal::new(first, last_value), &mut prng)?;
        last_value = recorded.journal.last_value();
        (world, first) = case.cut(&recorded, &mut prng)?;
    }
    if let Some(dir) = &options.zdb {
        let machine = world.boot();
        machine.import().map_err(failed("import"))?;
        machine.engine.export(POOL, false).map_err(failed("export"))?;
        drop(machine);
        export::write_files(&world.disks, &world.swarm.all_paths(), dir)?;
        export::zdb(dir)?;
    }
    Ok(case.tally)
}

fn open(api: &dyn Pool) -> engine_api::Result<Vec<Arc<dyn Volume>>> {
    VOLUMES.iter().map(|name| api.open_volume(name)).collect()
}

/// Both volumes as units of one target.
fn target(volumes: Vec<Arc<dyn Volume>>) -> Target {
    let unit = |(number, volume): (usize, Arc<dyn Volume>)| {
        let identity = Identity {
            id: volume.id().dataset_guid.into(),
            serial: number.to_string(),
            name: VOLUMES[number].to_owned(),
        };
        (number as u16, LogicalUnit::open(volume, identity).expect("its reservations are known"))
    };
    let units: BTreeMap<u16, Arc<LogicalUnit>> = volumes.into_iter().enumerate().map(unit).collect();
    let name = "iqn.2026-01.org.cistern:sim".to_owned();
    let port = TargetPort { id: 1, name: format!("{name},t,0x0001") };
    Target::new(name, vec![port], units)
}

impl Case<'_> {
    fn create(&self, world: &mut World, prng: &mut Prng) -> Done {
        let machine = world.boot();
        let api = machine.create(&self.swarm).map_err(failed("creating the pool"))?;
        for name in VOLUMES {
            let props = [
                ("volsize", &*(SECTORS * SECTOR as u64).to_string()),
                ("volblocksize", *prng.pick(&["4K", "8K", "16K", "64K"]).expect("some")),
                ("compression", *prng.pick(&["off", "lz4"]).expect("some")),
                ("logbias", *prng.pick(&["latency", "throughput"]).expect("some")),
                ("sync", self.sync),
            ];
            let change = Change::CreateVolume {
                name: name.to_owned(),
                parents: false,
                sparse: prng.chance(1, 2),
                props: properties(&props),
            };
            api.commit(&change, "").map_err(failed(name))?;
        }
        drop(api);
        machine.engine.export(POOL, false).map_err(failed("export"))
    }

    /// Imports the pool, and records what initiators do then.
    fn live(
        &mut self,
        world: &mut World,
        journal: Journal,
        prng: &mut Prng,
    ) -> Result<Recorded<Journal>, String> {
        let machine = world.boot();
        let api = machine.import().map_err(failed("import"))?;
        let target = target(open(&*api).map_err(failed("opening the volumes"))?);
        api.sync().map_err(failed("sync"))?;
        if self.options.lying {
            world.swarm.all_paths().iter().for_each(|path| world.disks.set_lying(path, true));
        }
        let memory = world.memory.clone().ok_or("programs have no memory")?;
        memory.start_tape();
        world.disks.start_tape();
        let journal = Mutex::new(journal);
        let shared = Shared {
            target: &target,
            journal: &journal,
            disks: &world.disks,
            clock: &*machine.env.clock,
            pool: &*api,
            is_always: self.sync == "always",
            is_copying: &AtomicBool::new(false),
            verbose: self.options.verbose,
        };
        let count = prng.range(2, 4) as usize;
        let mut done: Vec<Done> = vec![Ok(()); count];
        let callers = done.iter_mut().enumerate().map(|(number, done)| {
            let mut initiator = Initiator::new(&shared, number, prng.fork());
            let commands = prng.range(1, self.options.commands) as usize;
            let caller = move || *done = initiator.work(commands);
            Box::new(caller) as Box<dyn FnOnce() + Send>
        });
        machine.driver.run_callers(callers.collect());
        done.into_iter().collect::<Done>()?;
        let memory = memory.take_tape().ok_or("no tape runs")?;
        let tape = world.disks.take_tape().ok_or("no tape runs")?;
        Initiator::new(&shared, count, prng.fork()).read_all()?;
        let now = machine.env.clock.now();
        let journal = journal.into_inner().map_err(|_| "an initiator has panicked")?;
        journal.check_answers(&locks())?;
        let exchanges = |lost: bool| {
            let is_one =
                |call: &&journal::Call| matches!(call.kind, Kind::Exchange { .. }) && call.lost == lost;
            journal.calls.iter().filter(is_one).count() as u64
        };
        self.tally.calls += journal.calls.len() as u64;
        self.tally.won += exchanges(false);
        self.tally.lost += exchanges(true);
        Ok(Recorded { tape, memory, journal, now })
    }

    /// Lets the power go everywhere in a life, or the program die; gives the machine as the last
    /// end left it, and what was on it.
    fn cut(
        &mut self,
        recorded: &Recorded<Journal>,
        prng: &mut Prng,
    ) -> Result<(World, Vec<Vec<u64>>), String> {
        let (swarm, cuts, len) = (self.swarm.clone(), self.options.cuts, recorded.tape.len());
        // Nobody would notice a disk that lies.
        let may_die = !self.options.lying;
        let draw = |prng: &mut Prng| if may_die && prng.chance(1, 2) { End::Program } else { End::Power };
        recorded.end(&swarm, cuts, prng, draw, |world, (n, end, at), prng| {
            let cut = match end {
                End::Program => Cut::Program(at),
                End::Power => Cut::Power(at),
            };
            let what = |why| format!("cut {n}, {cut:?} of {len}: {why}");
            let found = self.look(world, (n, end), prng).map_err(what)?;
            recorded.journal.check_after(cut, &found, &locks()).map_err(what)?;
            match end {
                End::Program => self.tally.deaths += 1,
                End::Power => self.tally.cuts += 1,
            }
            Ok(found)
        })
    }

    /// Starts, perhaps more than once, and reads everything.
    fn look(
        &self,
        world: &mut World,
        (n, end): (usize, End),
        prng: &mut Prng,
    ) -> Result<Vec<Vec<u64>>, String> {
        crash_imports(world, 4, end, |api| open(api).map(drop), prng)?;
        let machine = world.boot();
        let api = machine.import().map_err(failed("import"))?;
        let mut found = Vec::new();
        for (name, volume) in VOLUMES.iter().zip(open(&*api).map_err(failed("opening the volumes"))?) {
            let read = volume.read(0, SECTORS as usize * SECTOR).map_err(failed(name))?;
            found.push(values(&read.to_vec()).map_err(|why| format!("{name}: {why}"))?);
        }
        drop(api);
        switch_off(world, machine, n)?;
        Ok(found)
    }
}
