//! Power failures under synchronous writers, on pools with and without log devices: the power goes at one write or flush
//! after the other, also while logs are claimed and replayed; log devices fail, lie, refuse, dawdle, are full or become
//! what they were long ago; and every acknowledged write is looked for afterwards.
//!
//! Each byte must be as some write left it that is not older than the last one that was acknowledged: the intent log
//! brings files back beyond the last transaction group, each as far as it was committed. Where the only device that had
//! a promise lies, the promise is void, but what comes back must have been written all the same.

use std::sync::Arc;
use std::time::{Duration, Instant};

use engine_api::{
    Change, CreateMode, Cred, Engine, Error, FileSystem, ImportOptions, NodeId, PropertyChange, SetAttr,
    Stable,
};
use env::Nanos;
use pool::verify::{Options as VerifyOptions, verify};
use sim::disk::Faults;
use sim::machine::{Machine, POOL, World};
use sim::promised::Promised;
use sim::swarm::{Layout, Swarm};
use stdx::prng::Prng;

/// Power failures of the tests of failing logs and of the others, and the time after which a test is content with fewer.
const CRASHES: u64 = 1_200;
const CRASHES_OF_OTHERS: u64 = 540;
const TIME: Duration = Duration::from_secs(110);
/// Operations between two of them, at the most.
const OPERATIONS: u64 = 60;
const FILES: usize = 6;
/// Bytes of a write at the most: it lies in one block.
const WRITE_MAX: u64 = 40 << 10;
/// Lives of one pool.
const LIVES: u64 = 60;
/// What the log was once, and what it should be; out of the machine's sight.
const OLD: &str = "/old/log";
const RIGHT: &str = "/old/right";
/// A write of which each takes a log block for itself.
const LARGE: usize = 120 << 10;

/// What is wrong with log devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Vex {
    /// Writes or flushes fail now and then.
    Fail,
    /// Writes of the first side are answered and not done, or done elsewhere.
    Lie,
    /// From some moment on they take no writes, until after the next power failure or longer.
    Refuse,
    /// Seconds go by while they write.
    Dawdle,
    /// What they hold is what they held some lives ago.
    Stale,
}

pub(crate) struct Writers {
    pub(crate) world: World,
    pub(crate) prng: Prng,
    files: Vec<Promised>,
    vex: Vex,
    /// Whether what was promised since the last import can be kept.
    is_trusted: bool,
    on_log: u64,
}

/// A pool in use.
pub(crate) struct Life {
    pub(crate) machine: Machine,
    open: Vec<(Arc<dyn FileSystem>, NodeId)>,
}

/// Datasets: one whose writers ask for what they need, and one where all is synchronous.
const DATASETS: [(&str, &str); 2] = [("sim/standard", "standard"), ("sim/always", "always")];

impl Writers {
    pub(crate) fn new(seed: u64, logs: &'static [usize], vex: Vex) -> Writers {
        let mut prng = Prng::new(seed);
        let layout = if prng.chance(1, 3) { Layout::Mirror } else { Layout::Single };
        let swarm = Swarm::draw(&mut prng).calm(layout, logs);
        let mut world = World::of(swarm, &mut prng);
        for path in [OLD, RIGHT] {
            world.disks.add(path, world.swarm.disk_size, world.swarm.sector);
        }
        let machine = world.boot();
        let api = machine.create(&world.swarm).expect("a pool");
        let mut files = Vec::new();
        for (dataset, sync) in DATASETS {
            let props = vec![PropertyChange { name: "sync".into(), value: sync.into() }];
            let change = Change::CreateFilesystem { name: dataset.into(), parents: false, props };
            api.commit(&change, "").expect("a file system");
            let fs = api.open_fs(dataset).expect("a file system");
            for n in 0..FILES / DATASETS.len() {
                let name = format!("file{n}");
                let attr = SetAttr { mode: Some(0o644), ..SetAttr::default() };
                fs.create(&Cred::root(), fs.root(), name.as_bytes(), CreateMode::Guarded, &attr)
                    .expect("a file");
                files.push(Promised::new(dataset, name));
            }
        }
        drop(api);
        machine.engine.export(POOL, false).expect("it can be exported");
        drop(machine);
        world.disks.restart(Swarm::draw_loss(&mut prng));
        let mut writers = Writers { world, prng, files, vex, is_trusted: false, on_log: 0 };
        writers.is_trusted = writers.keeps_promises();
        if !logs.is_empty() {
            writers.world.disks.copy(&writers.log(), OLD);
        }
        writers
    }

    /// Somebody has what was promised, whatever the disks do.
    fn keeps_promises(&self) -> bool {
        self.vex != Vex::Lie || self.world.swarm.logs.iter().all(|sides| *sides > 1)
    }

    fn log(&self) -> String {
        self.world.swarm.log_paths()[0][0].clone()
    }

    /// From an import to a power failure; `after`: at which write or flush of the work it comes.
    fn live(&mut self, after: u64, thorough: bool) {
        let life = self.begin();
        self.check(&life);
        if thorough {
            let pool = life.machine.engine.pool_below(POOL).expect("it is imported");
            let report = verify(&pool, VerifyOptions { data: true }, &mut |_, _| {}).expect("it can be read");
            assert!(report.is_clean(), "{:?}", report.problems);
        }
        self.vex_logs(&life);
        self.world.disks.cut_after(after);
        for _ in 0..OPERATIONS {
            if !self.world.disks.is_on() {
                break;
            }
            self.step(&life);
        }
        self.end(life);
    }

    fn end(&mut self, life: Life) {
        let pool = life.machine.engine.pool_below(POOL).expect("it is imported");
        self.on_log += pool.core().zil_stats.slog.count.get();
        drop(pool);
        drop(life);
        self.power_cycle();
        if self.vex == Vex::Stale && self.prng.chance(1, 3) {
            self.world.disks.copy(OLD, &self.log());
            self.is_trusted = false;
        } else if self.vex == Vex::Stale && self.prng.chance(1, 3) {
            self.world.disks.copy(&self.log(), OLD);
        }
    }

    fn power_cycle(&mut self) {
        let loss = Swarm::draw_loss(&mut self.prng);
        self.world.disks.restart(loss);
    }

    /// Switches on, sometimes more than once: the power may go while logs are claimed and replayed.
    pub(crate) fn begin(&mut self) -> Life {
        // Without an operator at hand nobody would wait for disks that have gone for good.
        while !self.world.has_operator && self.prng.chance(1, 5) {
            self.world.disks.cut_after(self.prng.below(60));
            let opened = self.open();
            assert!(opened.is_ok() || !self.world.disks.is_on(), "{:?}", opened.map(drop));
            drop(opened);
            self.power_cycle();
        }
        self.open().expect("it can be imported")
    }

    fn open(&mut self) -> Result<Life, Error> {
        let machine = self.world.boot();
        let api = match machine.engine.import(POOL, &ImportOptions::default()) {
            // A log that cannot be written cannot be opened; if it may hold promises, it is missed.
            Err(_) if self.vex == Vex::Refuse && self.world.disks.is_on() => {
                self.refuse(false);
                machine.engine.import(POOL, &ImportOptions::default())?
            }
            api => api?,
        };
        let open = |file: &Promised| {
            let fs = api.open_fs(file.dataset)?;
            let node = fs.lookup(&Cred::root(), fs.root(), file.name.as_bytes())?.node;
            Ok((fs, node))
        };
        let open = self.files.iter().map(open).collect::<Result<_, Error>>()?;
        Ok(Life { machine, open })
    }

    fn refuse(&self, writes: bool) {
        self.world
            .swarm
            .log_paths()
            .concat()
            .iter()
            .for_each(|log| self.world.disks.set_read_only(log, writes));
    }

    /// Log devices fail or are well again.
    fn vex_logs(&mut self, life: &Life) {
        let logs = self.world.swarm.log_paths();
        for (side, path) in logs.iter().flat_map(|sides| sides.iter().enumerate()) {
            let drawn = Swarm::draw_log_faults(&mut self.prng);
            let faults = match self.vex {
                Vex::Fail => drawn,
                Vex::Lie if side == 0 => {
                    Faults { lost: drawn.write, misdirected: drawn.flush, ..Faults::default() }
                }
                _ => Faults::default(),
            };
            self.world.disks.set_faults(path, faults);
            if self.vex == Vex::Dawdle {
                self.world.disks.set_slow(path, Nanos::from_millis(self.prng.below(4_000)));
            }
        }
        self.refuse(false);
        if !logs.is_empty() {
            let api = life.machine.engine.pool(POOL).expect("it is imported");
            api.commit(&Change::ClearErrors { guid: None }, "").expect("errors can be cleared");
        }
    }

    pub(crate) fn step(&mut self, life: &Life) {
        if self.vex == Vex::Refuse && self.prng.chance(1, 20) {
            self.refuse(true);
        }
        let n = self.prng.below(FILES as u64) as usize;
        let (fs, node) = &life.open[n];
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
                let pool = life.machine.engine.pool(POOL).expect("it is imported");
                pool.sync().map(|_| (0..FILES).collect())
            }
        };
        self.answered(done);
    }

    fn write(&mut self, life: &Life, n: usize, offset: usize, data: &[u8], stable: Stable) {
        let (fs, node) = &life.open[n];
        let file = &mut self.files[n];
        file.write(offset, data);
        let answer = fs.write(&Cred::root(), *node, offset as u64, data, stable);
        let promised = stable != Stable::Unstable || file.dataset == "sim/always";
        self.answered(answer.map(|_| if promised { vec![n] } else { Vec::new() }));
    }

    /// Files that an answer makes promises of.
    fn answered(&mut self, done: engine_api::Result<Vec<usize>>) {
        // An answer that comes when the power is off is none.
        if !self.world.disks.is_on() {
            return;
        }
        let promised = done.expect("nothing fails but log devices");
        promised.into_iter().for_each(|n| self.files[n].promise());
    }

    fn draw_write(&mut self) -> (usize, Vec<u8>) {
        let most = *self.prng.pick(&[16, 600, WRITE_MAX]).expect("some");
        let mut data = vec![0; self.prng.below(most) as usize + 1];
        self.prng.fill(&mut data);
        (self.prng.below(WRITE_MAX) as usize, data)
    }

    /// Finds each file among what it may be, and goes on from there.
    pub(crate) fn check(&mut self, life: &Life) {
        for (file, (fs, node)) in self.files.iter_mut().zip(&life.open) {
            let size = fs.getattr(*node).expect("its attributes").size as usize;
            let found = fs.read(&Cred::root(), *node, 0, size).expect("it can be read").to_vec();
            let is_possible = file.may_be(&found, self.is_trusted);
            assert!(is_possible, "{}/{} has lost what was promised", file.dataset, file.name);
            file.restart(found);
        }
        self.is_trusted = self.keeps_promises();
    }
}

fn crash_on(logs: &'static [usize], vex: Vex, crashes_max: u64, first_seed: u64) {
    let begun = Instant::now();
    let (mut crashes, mut on_log) = (0, 0);
    let mut seed = first_seed;
    while crashes < crashes_max && (crashes == 0 || begun.elapsed() < TIME) {
        let told = std::panic::catch_unwind(|| {
            let mut writers = Writers::new(seed, logs, vex);
            // One write or flush later each time: so every one of them is met.
            (0..LIVES).for_each(|life| writers.live(1 + life * 2 % 97, life % 12 == 11));
            writers.on_log
        });
        on_log += told.unwrap_or_else(|_| panic!("logs {logs:?}, {vex:?}, seed {seed}"));
        crashes += LIVES;
        seed += 1;
    }
    println!("{crashes} power failures on logs {logs:?}, {vex:?}, {on_log} log blocks on log devices");
    assert_eq!(on_log > 0, !logs.is_empty());
}

#[test]
fn writers_without_log_devices_lose_nothing() {
    crash_on(&[], Vex::Fail, CRASHES, 1);
}

#[test]
fn writers_on_a_single_log_lose_nothing() {
    crash_on(&[1], Vex::Fail, CRASHES, 1_000);
}

#[test]
fn writers_on_a_mirrored_log_lose_nothing() {
    crash_on(&[2], Vex::Fail, CRASHES, 2_000);
}

#[test]
fn writers_on_two_logs_lose_nothing() {
    crash_on(&[1, 2], Vex::Fail, CRASHES, 3_000);
}

#[test]
fn a_side_of_a_log_that_loses_and_misdirects_writes_costs_no_promise() {
    crash_on(&[2], Vex::Lie, CRASHES_OF_OTHERS, 4_000);
}

#[test]
fn a_log_that_loses_and_misdirects_writes_brings_nothing_back_that_was_not_written() {
    crash_on(&[1], Vex::Lie, CRASHES_OF_OTHERS, 5_000);
}

#[test]
fn a_log_that_becomes_read_only_costs_no_promise() {
    crash_on(&[1], Vex::Refuse, CRASHES_OF_OTHERS, 6_000);
}

#[test]
fn a_slow_log_costs_no_promise() {
    crash_on(&[1], Vex::Dawdle, CRASHES_OF_OTHERS, 7_000);
}

#[test]
fn a_stale_log_costs_what_it_has_lost_and_nothing_later() {
    crash_on(&[1], Vex::Stale, CRASHES_OF_OTHERS, 8_000);
}

/// The log device has no room left, and what comes then is logged among the pool's own blocks.
#[test]
fn a_full_log_costs_no_promise() {
    let mut writers = Writers::new(9_000, &[1], Vex::Fail);
    (writers.world.swarm.dirty, writers.world.swarm.small_txg) = (1 << 30, false);
    for round in 0..6 {
        let life = writers.begin();
        writers.check(&life);
        let pool = life.machine.engine.pool_below(POOL).expect("it is imported");
        let stats = &pool.core().zil_stats;
        while stats.normal.count.get() == 0 {
            assert!(stats.slog.allocated.get() <= writers.world.swarm.disk_size, "it is full some time");
            let mut data = vec![0; LARGE];
            writers.prng.fill(&mut data);
            writers.write(&life, 0, 0, &data, Stable::FileSync);
        }
        drop(pool);
        writers.world.disks.cut_after(1 + round * 7);
        while writers.world.disks.is_on() {
            writers.step(&life);
        }
        writers.end(life);
    }
}

/// Logs were claimed, and then their device is what it was long ago: nothing is guessed, and nothing is lost when the
/// right one is back.
#[test]
fn a_log_that_is_stale_when_it_is_to_be_replayed_is_waited_for() {
    for seed in 9_100..9_110 {
        let mut writers = Writers::new(seed, &[1], Vex::Fail);
        let life = writers.begin();
        writers.check(&life);
        for n in (0..FILES).chain(0..FILES) {
            let (offset, data) = writers.draw_write();
            writers.write(&life, n, offset, &data, Stable::FileSync);
        }
        writers.end(life);
        writers.world.boot().import().expect("it can be imported");
        writers.power_cycle();
        writers.world.disks.copy(&writers.log(), RIGHT);
        writers.world.disks.copy(OLD, &writers.log());
        let life = writers.open().expect("it can be imported");
        for (fs, node) in &life.open {
            let written = fs.write(&Cred::root(), *node, 0, b"?", Stable::Unstable);
            assert_eq!(written.map(drop), Err(Error::ReadOnly), "seed {seed}");
        }
        drop(life);
        writers.power_cycle();
        writers.world.disks.copy(RIGHT, &writers.log());
        let life = writers.begin();
        writers.check(&life);
    }
}
