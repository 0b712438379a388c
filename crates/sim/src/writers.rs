//! Writers who wait for the intent log, on pools with and without log devices: the power goes at
//! one write or flush after the other, also while logs are claimed and replayed; log devices fail,
//! lie, refuse, dawdle, are full or become what they were long ago, before an import begins as well
//! as afterwards; and every acknowledged write is looked for.
//!
//! ```text
//!   work on the log ─▶ power goes ─▶ import ─▶ mount: replay, check ─▶ (work) ─▶ mount the next ─▶ work …
//!                        ▲             ▲ logs begin to fail, or work again; the power may go, again and again
//!                        └─────────────┘
//! ```
//! Each byte must be as some write left it that is not older than the last one that was
//! acknowledged: the intent log brings files back beyond the last transaction group, each as far as
//! it was committed. Where the only device that had a promise lies, the promise is void, but what
//! comes back must have been written all the same.

use std::collections::BTreeMap;
use std::sync::Arc;

use engine_api::{
    Change, CreateMode, Cred, Engine, Error, FileSystem, ImportOptions, NodeId, PropertyChange, SetAttr,
    Stable,
};
use env::Nanos;
use stdx::prng::Prng;

use crate::disk::Faults;
use crate::machine::{Machine, POOL, World};
use crate::promised::Promised;
use crate::swarm::{Layout, Swarm};
use crate::workload::{Done, failed, whole};

/// Operations between two power failures, at the most.
const OPERATIONS: u64 = 60;
/// Files that are written.
pub const FILES: usize = 6;
/// Bytes of a write at the most: it lies in one block.
const WRITE_MAX: u64 = 40 << 10;
/// Of the lives of a pool, one begins with a look at all of it.
const VERIFIED: u64 = 12;
/// Datasets: one whose writers ask for what they need, and one where all is synchronous.
const DATASETS: [(&str, &str); 2] = [("sim/standard", "standard"), ("sim/always", "always")];
/// What the log was once; out of the machine's sight.
pub const OLD: &str = "/old/log";

/// What to run.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    pub seed: u64,
    /// From an import to a power failure.
    pub lives: u64,
}

impl Options {
    pub fn new(seed: u64) -> Options {
        Options { seed, lives: 60 }
    }
}

/// What happened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Power failures, of them those during an import.
    pub crashes: u64,
    pub in_imports: u64,
    /// Imports while log devices failed or were away.
    pub vexed: u64,
    /// Log blocks on log devices.
    pub on_log: u64,
}

impl std::ops::AddAssign for Tally {
    fn add_assign(&mut self, other: Tally) {
        self.crashes += other.crashes;
        self.in_imports += other.in_imports;
        self.vexed += other.vexed;
        self.on_log += other.on_log;
    }
}

/// What is wrong with log devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Vex {
    /// Writes or flushes fail now and then, or they are gone for a while.
    Fail,
    /// Writes of the first side are answered and not done, or done elsewhere; if it has another, it
    /// is also misread.
    Lie,
    /// From some moment on they take no writes, until after the next power failure or longer.
    Refuse,
    /// Seconds go by while they write.
    Dawdle,
    /// What they hold is what they held some lives ago.
    Stale,
}

/// See the module.
pub struct Writers {
    pub world: World,
    pub prng: Prng,
    pub tally: Tally,
    files: Vec<Promised>,
    vex: Vex,
    /// Whether what was promised since the last import can be kept.
    is_trusted: bool,
}

/// A pool in use.
pub struct Life {
    pub machine: Machine,
    /// The files of the datasets that are mounted, by number.
    pub open: BTreeMap<usize, (Arc<dyn FileSystem>, NodeId)>,
}

impl Life {
    pub fn pool(&self) -> Result<Arc<pool::Pool>, String> {
        self.machine.engine.pool_below(POOL).map_err(failed("the pool"))
    }

    /// The pool is whole.
    pub fn verify(&self) -> Done {
        whole(&*self.pool()?)
    }
}

/// Runs a seed. `Err` says what is wrong with the engine.
pub fn run(options: &Options) -> Result<Tally, String> {
    let mut prng = Prng::new(options.seed);
    let logs: &[usize] = prng.pick(&[&[][..], &[1], &[1], &[2], &[1, 2]]).expect("some");
    let vex = match logs {
        [2] => *prng.pick(&[Vex::Fail, Vex::Fail, Vex::Lie]).expect("some"),
        [1] => *prng
            .pick(&[Vex::Fail, Vex::Fail, Vex::Fail, Vex::Lie, Vex::Refuse, Vex::Dawdle, Vex::Stale])
            .expect("some"),
        _ => Vex::Fail,
    };
    run_on(logs, vex, options)
}

/// The same with these log devices, by the number of their sides.
pub fn run_on(logs: &'static [usize], vex: Vex, options: &Options) -> Result<Tally, String> {
    let mut writers = Writers::new(options.seed, logs, vex)?;
    for life in 0..options.lives {
        // One write or flush later each time: so every one of them is met.
        let told = writers.live(1 + life * 2 % 97, life % VERIFIED == VERIFIED - 1);
        told.map_err(|why| format!("logs {logs:?}, {vex:?}, life {life}: {why}"))?;
    }
    Ok(writers.tally)
}

impl Writers {
    pub fn new(seed: u64, logs: &'static [usize], vex: Vex) -> Result<Writers, String> {
        let mut prng = Prng::new(seed);
        let layout = if prng.chance(1, 3) { Layout::Mirror } else { Layout::Single };
        let swarm = Swarm::draw(&mut prng).calm(layout, logs);
        let mut world = World::of(swarm, &mut prng);
        world.disks.add(OLD, world.swarm.disk_size, world.swarm.sector);
        let machine = world.boot();
        let api = machine.create(&world.swarm).map_err(failed("creating the pool"))?;
        let mut files = Vec::new();
        for (dataset, sync) in DATASETS {
            let props = vec![PropertyChange { name: "sync".into(), value: sync.into() }];
            let change = Change::CreateFilesystem { name: dataset.into(), parents: false, props };
            api.commit(&change, "").map_err(failed("a file system"))?;
            let fs = api.open_fs(dataset).map_err(failed("a file system"))?;
            for n in 0..FILES / DATASETS.len() {
                let name = format!("file{n}");
                let attr = SetAttr { mode: Some(0o644), ..SetAttr::default() };
                let made = fs.create(&Cred::root(), fs.root(), name.as_bytes(), CreateMode::Guarded, &attr);
                made.map_err(failed("a file"))?;
                files.push(Promised::new(dataset, name));
            }
        }
        drop(api);
        machine.engine.export(POOL, false).map_err(failed("export"))?;
        drop(machine);
        world.disks.restart(Swarm::draw_loss(&mut prng));
        let mut writers = Writers { world, prng, tally: Tally::default(), files, vex, is_trusted: false };
        writers.is_trusted = writers.keeps_promises();
        if !logs.is_empty() {
            writers.world.disks.copy(&writers.log(), OLD);
        }
        Ok(writers)
    }

    /// Somebody has what was promised, whatever the disks do.
    fn keeps_promises(&self) -> bool {
        self.vex != Vex::Lie || self.world.swarm.logs.iter().all(|sides| *sides > 1)
    }

    /// The first log device.
    pub fn log(&self) -> String {
        self.world.swarm.log_paths()[0][0].clone()
    }

    /// From an import to a power failure; `after`: at which write or flush of the work it comes.
    fn live(&mut self, after: u64, thorough: bool) -> Done {
        let life = self.begin()?;
        if thorough {
            life.verify()?;
        }
        self.vex_logs(&life)?;
        self.world.disks.cut_after(after);
        for _ in 0..OPERATIONS {
            if !self.world.disks.is_on() {
                break;
            }
            self.step(&life)?;
        }
        self.end(life)
    }

    /// The power goes.
    pub fn end(&mut self, life: Life) -> Done {
        self.tally.on_log += life.pool()?.core().zil_stats.slog.count.get();
        drop(life);
        self.power_cycle();
        if self.vex == Vex::Stale && self.prng.chance(1, 3) {
            self.world.disks.copy(OLD, &self.log());
            self.is_trusted = false;
        } else if self.vex == Vex::Stale && self.prng.chance(1, 3) {
            self.world.disks.copy(&self.log(), OLD);
        }
        Ok(())
    }

    pub fn power_cycle(&mut self) {
        let loss = Swarm::draw_loss(&mut self.prng);
        self.world.disks.restart(loss);
        self.tally.crashes += 1;
    }

    /// Switches on, sometimes more than once: the power may go while logs are claimed and replayed,
    /// and most of all there log devices may not do what they should. Everything is held against
    /// what it may be; now and then one dataset is written before the other is mounted, whose log
    /// waits.
    pub fn begin(&mut self) -> Result<Life, String> {
        // Without an operator at hand nobody would wait for disks that have gone for good.
        while !self.world.has_operator && self.prng.chance(1, 2) {
            self.crash_import()?;
        }
        self.vex_import();
        let mut life = self.import().map_err(failed("import"))?;
        let mut datasets = DATASETS.map(|(dataset, _)| dataset);
        if self.prng.chance(1, 2) {
            datasets.reverse();
        }
        for dataset in datasets {
            if !life.open.is_empty() && self.prng.chance(1, 3) {
                for _ in 0..self.prng.below(OPERATIONS) {
                    self.step(&life)?;
                }
            }
            self.mount(&mut life, dataset).map_err(failed(dataset))?;
            self.check(&life, dataset)?;
        }
        self.is_trusted = self.keeps_promises();
        Ok(life)
    }

    /// The power goes while labels are written, or at any other moment.
    fn crash_import(&mut self) -> Done {
        self.vex_import();
        let disks = self.world.swarm.all_paths().len() as u64;
        if self.prng.chance(1, 3) {
            self.world.disks.cut_after(self.prng.below(60));
        } else {
            self.world.disks.cut_near_flush(self.prng.below(4 * disks), self.prng.below(4));
        }
        let opened = self.open();
        if let Err(error) = &opened
            && self.world.disks.is_on()
        {
            return Err(format!("import: {error:?}"));
        }
        drop(opened);
        self.power_cycle();
        self.tally.in_imports += 1;
        Ok(())
    }

    /// What is wrong with log devices when an import begins, or will be before it ends.
    fn vex_import(&mut self) {
        let logs = self.world.swarm.log_paths();
        if self.vex != Vex::Fail || logs.is_empty() || self.prng.chance(1, 3) {
            return;
        }
        self.tally.vexed += 1;
        for path in logs.concat() {
            let rate = *self.prng.pick(&[0, 300_000, 1_000_000]).expect("some");
            let faults = match self.prng.chance(1, 2) {
                true => Faults { write: rate, ..Faults::default() },
                false => Faults { flush: rate, ..Faults::default() },
            };
            self.world.disks.set_faults(&path, faults);
        }
        // All sides of a log: one of them may have been the only one to take what was promised
        // last.
        let gone = self.prng.pick(&logs).expect("some").clone();
        match self.prng.below(8) {
            0 => gone.iter().for_each(|path| self.world.disks.set_away(path, true)),
            1 | 2 => {
                let loss = Swarm::draw_loss(&mut self.prng);
                self.world.disks.outage_of(gone, self.prng.below(60), loss);
            }
            _ => {}
        }
    }

    /// Whether a log device is not there, or without power.
    fn is_any_gone(&self) -> bool {
        let logs = self.world.swarm.log_paths().concat();
        self.world.disks.is_out() || logs.iter().any(|log| self.world.disks.is_away(log))
    }

    /// Imports and mounts everything.
    pub fn open(&mut self) -> Result<Life, Error> {
        let mut life = self.import()?;
        DATASETS.iter().try_for_each(|(dataset, _)| self.mount(&mut life, dataset))?;
        Ok(life)
    }

    fn import(&mut self) -> Result<Life, Error> {
        let machine = self.world.boot();
        match machine.engine.import(POOL, &ImportOptions::default()) {
            // A log that is not there or cannot be written cannot be opened; if it may hold
            // promises, it is missed.
            Err(Error::Refused(_))
                if (self.vex == Vex::Refuse || self.is_any_gone()) && self.world.disks.is_on() =>
            {
                self.bring_back();
                machine.engine.import(POOL, &ImportOptions::default())?;
            }
            imported => drop(imported?),
        }
        Ok(Life { machine, open: BTreeMap::new() })
    }

    /// Its log is replayed.
    fn mount(&self, life: &mut Life, dataset: &str) -> Result<(), Error> {
        let fs = life.machine.engine.pool(POOL)?.open_fs(dataset)?;
        for (n, file) in self.files.iter().enumerate().filter(|(_, file)| file.dataset == dataset) {
            let node = fs.lookup(&Cred::root(), fs.root(), file.name.as_bytes())?.node;
            life.open.insert(n, (fs.clone(), node));
        }
        Ok(())
    }

    /// All log devices are there, and can be opened.
    fn bring_back(&self) {
        self.world.disks.come_back();
        self.world.swarm.log_paths().concat().iter().for_each(|log| self.world.disks.set_away(log, false));
        self.refuse(false);
    }

    fn refuse(&self, writes: bool) {
        let logs = self.world.swarm.log_paths().concat();
        logs.iter().for_each(|log| self.world.disks.set_read_only(log, writes));
    }

    fn set_faults(&mut self) {
        let logs = self.world.swarm.log_paths();
        for sides in &logs {
            for (side, path) in sides.iter().enumerate() {
                let drawn = Swarm::draw_log_faults(&mut self.prng);
                let misread = if sides.len() > 1 { drawn.write | drawn.flush } else { 0 };
                let faults = match self.vex {
                    Vex::Fail => drawn,
                    Vex::Lie if side == 0 => Faults {
                        lost: drawn.write,
                        misdirected: drawn.flush,
                        read: misread,
                        corrupt: misread / 2,
                        ..Faults::default()
                    },
                    _ => Faults::default(),
                };
                self.world.disks.set_faults(path, faults);
            }
        }
    }

    /// Log devices fail or are well again, under a pool in use that has forgotten what was.
    fn vex_logs(&mut self, life: &Life) -> Done {
        self.set_faults();
        self.bring_back();
        let logs = self.world.swarm.log_paths().concat();
        if logs.is_empty() {
            return Ok(());
        }
        if self.vex == Vex::Dawdle {
            for path in &logs {
                self.world.disks.set_slow(path, Nanos::from_millis(self.prng.below(4_000)));
            }
        }
        let api = life.machine.engine.pool(POOL).map_err(failed("the pool"))?;
        api.commit(&Change::ClearErrors { guid: None }, "").map(drop).map_err(failed("clearing errors"))
    }

    /// One operation.
    pub fn step(&mut self, life: &Life) -> Done {
        if self.vex == Vex::Refuse && self.prng.chance(1, 20) {
            self.refuse(true);
        }
        let (&n, (fs, node)) =
            life.open.iter().nth(self.prng.below(life.open.len() as u64) as usize).expect("some");
        let done = match self.prng.weighted(&[6, 6, 3, 3, 1, 1]) {
            kind @ 0..=2 => {
                let stable = [Stable::FileSync, Stable::Unstable, Stable::DataSync][kind];
                let (offset, data) = self.draw_write();
                return self.write(life, n, offset, &data, stable);
            }
            3 => fs.commit(*node).map(|_| vec![n]),
            4 => {
                let same = |file: &Promised| file.dataset == self.files[n].dataset;
                fs.sync().map(|()| (0..FILES).filter(|&n| same(&self.files[n])).collect())
            }
            _ => {
                let pool = life.machine.engine.pool(POOL).map_err(failed("the pool"))?;
                pool.sync().map(|_| life.open.keys().copied().collect())
            }
        };
        self.answered(done)
    }

    pub fn write(&mut self, life: &Life, n: usize, offset: usize, data: &[u8], stable: Stable) -> Done {
        let (fs, node) = &life.open[&n];
        let file = &mut self.files[n];
        file.write(offset, data);
        let answer = fs.write(&Cred::root(), *node, offset as u64, data, stable);
        let promised = stable != Stable::Unstable || file.dataset == "sim/always";
        self.answered(answer.map(|_| if promised { vec![n] } else { Vec::new() }))
    }

    /// Files that an answer makes promises of. Nothing fails but log devices.
    fn answered(&mut self, done: engine_api::Result<Vec<usize>>) -> Done {
        // An answer that comes when the power is off is none.
        if self.world.disks.is_on() {
            done.map_err(failed("an operation"))?.into_iter().for_each(|n| self.files[n].promise());
        }
        Ok(())
    }

    pub fn draw_write(&mut self) -> (usize, Vec<u8>) {
        let most = *self.prng.pick(&[16, 600, WRITE_MAX]).expect("some");
        let mut data = vec![0; self.prng.below(most) as usize + 1];
        self.prng.fill(&mut data);
        (self.prng.below(WRITE_MAX) as usize, data)
    }

    /// Finds each file of a dataset among what it may be, and goes on from there.
    fn check(&mut self, life: &Life, dataset: &str) -> Done {
        for (n, (fs, node)) in &life.open {
            let file = &mut self.files[*n];
            if file.dataset != dataset {
                continue;
            }
            let size = fs.getattr(*node).map_err(failed("attributes"))?.size as usize;
            let found = fs.read(&Cred::root(), *node, 0, size).map_err(failed("a file"))?.to_vec();
            if !file.may_be(&found, self.is_trusted) {
                return Err(format!("{}/{} has lost what was promised", file.dataset, file.name));
            }
            file.restart(found);
        }
        Ok(())
    }
}
