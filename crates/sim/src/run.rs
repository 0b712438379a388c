//! One run: a pool is made, worked on, crashed and checked, again and again, all from one seed.
//!
//! ```text
//!   create ─▶ work ─▶ power goes at a drawn write ─▶ restart ─▶ import ─▶ check ─▶ work …        ─▶ export ─▶ check
//!               └──▶ clean export ─────────────────────┘  └ the power may go here too
//! ```
//! Checked after each import: everything promised is there; each workload finds one of the states
//! that were possible at the end of the group the pool came back in; and [`pool::verify`] finds the
//! pool whole.

use std::path::PathBuf;

use engine_api::{Change, Engine, Error, TrimCommand};
use pool::verify::{Options as VerifyOptions, verify};
use stdx::prng::Prng;

use crate::export;
use crate::machine::{Machine, POOL, World};
use crate::swarm::Swarm;
use crate::workload::datasets::DatasetWork;
use crate::workload::files::{FILES, FileWork};
use crate::workload::objects::ObjectWork;
use crate::workload::snapshots::SnapshotWork;
use crate::workload::{Done, Life, Workload, failed};

/// What to run.
#[derive(Clone, Debug)]
pub struct Options {
    pub seed: u64,
    pub crashes: u32,
    /// Operations of a life at the most.
    pub operations: u32,
    pub verbose: bool,
    /// Let disks fail, where the seed has it so.
    pub faults: bool,
    /// The disks lie about flushes: then the run must fail.
    pub lying: bool,
    /// Ask zdb in the end, over files in this folder, which exists.
    pub zdb: Option<PathBuf>,
}

impl Options {
    pub fn new(seed: u64) -> Options {
        Options { seed, crashes: 10, operations: 400, verbose: false, faults: true, lying: false, zdb: None }
    }
}

/// What happened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    pub crashes: u32,
    pub exports: u32,
    pub operations: u64,
    /// Writes and flushes.
    pub events: u64,
    /// The last transaction group.
    pub txg: u64,
    pub trace: u64,
}

/// How a life ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Crash,
    Export,
}

struct Run {
    options: Options,
    world: World,
    prng: Prng,
    work: Vec<Box<dyn Workload>>,
    weights: Vec<u32>,
    summary: Summary,
}

/// Runs a seed. `Err` says what is wrong with the engine.
pub fn run(options: &Options) -> Result<Summary, String> {
    let mut prng = Prng::new(options.seed);
    let world = World::new(&mut prng);
    let swarm = &world.swarm;
    if options.verbose {
        eprintln!("{swarm:?}");
    }
    let mut work: Vec<Box<dyn Workload>> =
        vec![Box::<ObjectWork>::default(), Box::<FileWork>::default(), Box::<DatasetWork>::default()];
    if swarm.work[3] > 0 {
        work.push(Box::<SnapshotWork>::default());
    }
    let weights = swarm.work[..work.len()].to_vec();
    let options = options.clone();
    let mut run = Run { options, world, prng, work, weights, summary: Summary::default() };
    run.all_lives()?;
    run.summary.events = run.world.disks.events();
    run.summary.trace = run.world.trace.hash();
    Ok(run.summary)
}

impl Run {
    fn all_lives(&mut self) -> Done {
        let mut end = self.first_life()?;
        while self.summary.crashes < self.options.crashes {
            let machine = self.import()?;
            end = self.live(machine, true)?;
        }
        // The last life must end well.
        while end != End::Export {
            let machine = self.import()?;
            end = self.live(machine, false)?;
        }
        // And what it left is looked at once more.
        let machine = self.import()?;
        self.live(machine, false)?;
        self.ask_zdb()
    }

    fn first_life(&mut self) -> Result<End, String> {
        while self.prng.chance(1, 8) {
            self.world.disks.cut_after(self.prng.below(200));
            let created = self.world.boot().create(&self.world.swarm);
            match created {
                Err(error) if self.world.disks.is_on() => {
                    return Err(format!("creating the pool: {error:?}"));
                }
                Ok(_) | Err(_) => self.power_cycle(),
            }
        }
        let machine = self.world.boot();
        let api = machine.create(&self.world.swarm).map_err(failed("creating the pool"))?;
        let pool = machine.engine.pool_below(POOL).map_err(failed("the new pool"))?;
        let life = Life { world: &self.world, machine: &machine, api, pool, verbose: self.options.verbose };
        for work in &mut self.work {
            work.create(&life)?;
        }
        if self.options.faults {
            self.world.start_faults();
        }
        if self.options.lying {
            self.world.swarm.paths().concat().iter().for_each(|path| self.world.disks.set_lying(path, true));
        }
        drop(life);
        self.live(machine, true)
    }

    /// Sometimes the power goes while the pool is imported, perhaps again and again.
    fn crash_imports(&mut self) -> Done {
        while self.prng.chance(1, 4) {
            if self.prng.chance(1, 2) {
                self.world.disks.cut_after(self.prng.below(60));
            } else {
                self.world.disks.cut_near_flush(self.prng.below(8), self.prng.below(4));
            }
            let machine = self.world.boot();
            // Opening replays intent logs: those too are met half done.
            let opened = machine.import().and_then(|api| api.open_fs(FILES).map(drop));
            drop(machine);
            match opened {
                Err(error) if self.world.disks.is_on() => return Err(format!("import: {error:?}")),
                Ok(()) | Err(_) => self.power_cycle(),
            }
        }
        Ok(())
    }

    /// Switches off and on; what was written and not flushed is lost or not.
    fn power_cycle(&mut self) {
        let loss = Swarm::draw_loss(&mut self.prng);
        if self.options.verbose {
            eprintln!("  power cycle: {} writes pending, {loss:?}", self.world.disks.pending());
        }
        self.world.disks.restart(loss);
        self.world.age_caches(&mut self.prng);
        self.summary.crashes += 1;
    }

    /// Imports the pool and checks everything.
    fn import(&mut self) -> Result<Machine, String> {
        if self.world.swarm.absences && self.options.faults {
            self.world.set_away(false);
            let away = self.prng.chance(1, 4);
            if away {
                self.world.set_away(true);
            }
        }
        // What an import writes is a group without changes: the state is that of the group it found
        // first.
        let txg = self.world.boot().newest_group().ok_or("no pool is found")?;
        self.crash_imports()?;
        let machine = self.world.boot();
        let api = machine.import().map_err(failed("import"))?;
        let pool = machine.engine.pool_below(POOL).map_err(failed("the imported pool"))?;
        let life = Life { world: &self.world, machine: &machine, api, pool, verbose: self.options.verbose };
        life.say(|| format!("imported; the newest uberblock was of group {txg}"));
        if life.pool.core().readonly {
            return Err("the pool came back read-only".to_owned());
        }
        whole(&life)?;
        for work in &mut self.work {
            if txg < work.promised() {
                return Err(format!(
                    "group {} was promised, but the pool came back in {txg}",
                    work.promised()
                ));
            }
            work.open(&life)?;
            work.check(&life, txg)?;
        }
        self.summary.txg = life.synced();
        if self.options.faults {
            vex_spare_devices(&life, &mut self.prng)?;
        }
        drop(life);
        Ok(machine)
    }

    /// Works until the power goes, or until everything is exported.
    fn live(&mut self, machine: Machine, may_crash: bool) -> Result<End, String> {
        let life = Life::of(&self.world, &machine, self.options.verbose)?;
        let export = !may_crash || self.prng.chance(1, 10);
        if may_crash && !export {
            let length = life.world.swarm.draw_life(&mut self.prng);
            if self.prng.chance(1, 2) {
                life.world.disks.cut_after(length);
            } else {
                // A group has a few dozen writes or many, but few flushes.
                let events = if self.prng.chance(1, 2) { 0 } else { self.prng.below(8) };
                life.world.disks.cut_near_flush(length / 32, events);
            }
        }
        let operations = self.prng.below(u64::from(self.options.operations)) + 1;
        let mut done = Ok(());
        for _ in 0..operations {
            if !life.is_on() || done.is_err() {
                break;
            }
            done = step(&mut self.work, &self.weights, &life, &mut self.prng);
            self.summary.operations += 1;
        }
        if life.is_on() {
            done?;
        }
        let on = life.is_on();
        let ended = if export && on {
            export_pool(&mut self.work, life)
        } else {
            drop(life);
            Ok(End::Crash)
        };
        self.work.iter_mut().for_each(|work| work.close());
        drop(machine);
        if ended == Ok(End::Crash) {
            self.power_cycle();
        } else if ended.is_ok() {
            // Nothing that was exported may still be in the disks' caches only.
            self.world.disks.restart(crate::disk::Loss { kept: 0, torn: 0 });
            self.summary.exports += 1;
        }
        ended
    }

    fn ask_zdb(&mut self) -> Done {
        let Some(dir) = &self.options.zdb else { return Ok(()) };
        let swarm = &self.world.swarm;
        export::write_files(&self.world.disks, &swarm.all_paths(), dir)?;
        export::zdb(dir)
    }
}

/// Log and cache devices fail now and then, or are well again: the pool can do without them.
fn vex_spare_devices(life: &Life<'_>, prng: &mut Prng) -> Done {
    let (swarm, disks) = (&life.world.swarm, &life.world.disks);
    let logs = swarm.log_paths().concat();
    logs.iter().for_each(|path| disks.set_faults(path, Swarm::draw_log_faults(prng)));
    swarm.cache_paths().iter().for_each(|path| disks.set_faults(path, Swarm::draw_cache_faults(prng)));
    if logs.is_empty() {
        return Ok(());
    }
    let cleared = life.api.commit(&Change::ClearErrors { guid: None }, "");
    cleared.map(drop).map_err(failed("clearing errors"))
}

fn export_pool(work: &mut [Box<dyn Workload>], life: Life<'_>) -> Result<End, String> {
    life.say(|| "export".to_owned());
    work.iter_mut().for_each(|work| work.close());
    let txgs = life.pool.core().txgs.clone();
    let Life { machine, api, pool, .. } = life;
    drop((api, pool));
    machine.engine.export(POOL, false).map_err(failed("export"))?;
    let txg = txgs.synced();
    work.iter_mut().for_each(|work| work.promise(txg));
    Ok(End::Export)
}

/// One operation: of a workload, or one that concerns them all.
fn step(work: &mut [Box<dyn Workload>], weights: &[u32], life: &Life<'_>, prng: &mut Prng) -> Done {
    let swarm = &life.world.swarm;
    let [some, of] = swarm.gang;
    life.machine.env.quirks.set(env::Quirk::ForceGang, prng.chance(u64::from(some), u64::from(of)));
    if prng.chance(swarm.syncs, 1000) {
        life.say(|| "sync".to_owned());
        life.pool.core().txgs.sync_now().map_err(failed("sync"))?;
        work.iter_mut().for_each(|work| work.promise(life.synced()));
    } else if prng.chance(swarm.sleeps, 1000) {
        let span = env::Nanos::from_millis(prng.below(8000));
        life.say(|| format!("sleep {span:?}"));
        life.machine.env.clock.sleep(span);
    } else if swarm.trims > 0 && prng.chance(swarm.trims, 1000) {
        trim(life, prng)?;
    } else if swarm.checkpoints > 0 && prng.chance(swarm.checkpoints, 1000) {
        turn_checkpoint(life, prng)?;
    } else if prng.chance(1, 10) {
        life.machine.driver.settle();
    }
    work[prng.weighted(weights)].step(life, prng)
}

/// Has all disks told which of their space is free, or what is under way stopped. What runs already
/// goes on.
fn trim(life: &Life<'_>, prng: &mut Prng) -> Done {
    let (command, rate) = match prng.weighted(&[6, 1, 1]) {
        0 => (TrimCommand::Start, *prng.pick(&[0, 0, 1 << 20]).expect("some")),
        1 => (TrimCommand::Suspend, 0),
        _ => (TrimCommand::Cancel, 0),
    };
    life.say(|| format!("trim: {command:?}, rate {rate}"));
    let guids = life.pool.core().storage.leaves().iter().map(|leaf| leaf.guid).collect();
    match life.api.commit(&Change::TrimVdevs { guids, command, rate }, "") {
        Ok(_) | Err(Error::Refused(_)) => Ok(()),
        Err(error) if life.is_on() => Err(format!("trim: {error:?}")),
        Err(_) => Ok(()),
    }
}

/// Takes a checkpoint of the pool, or discards the one there is, more often than not before much is
/// kept for it.
fn turn_checkpoint(life: &Life<'_>, prng: &mut Prng) -> Done {
    let change = if prng.chance(1, 2) { Change::TakeCheckpoint } else { Change::DiscardCheckpoint };
    life.say(|| format!("{change:?}"));
    match life.api.commit(&change, "") {
        Ok(_) | Err(Error::Refused(_)) => Ok(()),
        Err(error) if life.is_on() => Err(format!("{change:?}: {error:?}")),
        Err(_) => Ok(()),
    }
}

/// Whether the pool is whole: what is allocated is what something refers to, and everything can be
/// read.
fn whole(life: &Life<'_>) -> Done {
    let report = verify(&life.pool, VerifyOptions { data: true }, &mut |_, _| {});
    let report = report.map_err(failed("verify"))?;
    if report.is_clean() {
        return Ok(());
    }
    let some: Vec<String> = report.problems.iter().take(8).map(|problem| format!("{problem:?}")).collect();
    Err(format!("verify finds {} problems: {}", report.problems.len(), some.join("; ")))
}
