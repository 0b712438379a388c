//! Power failures under synchronous writers, on pools with and without log devices: the power goes at one write or flush
//! after the other, log devices fail now and then, and every acknowledged write is looked for afterwards.
//!
//! Each byte must be as some write left it that is not older than the last one that was acknowledged: the intent log
//! brings files back beyond the last transaction group, each as far as it was committed.

use std::sync::Arc;
use std::time::{Duration, Instant};

use engine_api::Stable;
use engine_api::{
    Change, CreateMode, Cred, Engine, FileSystem, ImportOptions, NodeId, PropertyChange, SetAttr,
};
use pool::verify::{Options as VerifyOptions, verify};
use sim::disk::Faults;
use sim::machine::{Machine, POOL, World};
use sim::swarm::{Layout, Swarm};
use stdx::prng::Prng;

/// Power failures of each test, and the time after which it is content with fewer.
const CRASHES: u64 = 2_700;
const TIME: Duration = Duration::from_secs(110);
/// Operations between two of them, at the most.
const OPERATIONS: u64 = 60;
const FILES: usize = 6;
/// Bytes of a write at the most: it lies in one block.
const WRITE_MAX: u64 = 40 << 10;
/// Lives of one pool.
const LIVES: u64 = 60;

/// One file: all it has been since its last promise.
#[derive(Clone)]
struct File {
    dataset: &'static str,
    name: String,
    /// The first is the oldest that may come back.
    states: Vec<Vec<u8>>,
}

impl File {
    fn now(&self) -> &[u8] {
        self.states.last().expect("it is something")
    }

    /// Whether each byte is what some write left there that is not older than the last promise. Writes that nobody
    /// promised may come back in part: a large one is in several log blocks, and what is fetched for a record is what
    /// the file has at that moment.
    fn may_be(&self, found: &[u8]) -> bool {
        let lengths = self.states.iter().map(Vec::len);
        let fits = lengths.clone().min() <= Some(found.len()) && Some(found.len()) <= lengths.max();
        fits && found
            .iter()
            .enumerate()
            .all(|(at, byte)| self.states.iter().any(|state| state.get(at).unwrap_or(&0) == byte))
    }

    /// Everything up to here is promised.
    fn promise(&mut self) {
        self.states.drain(..self.states.len() - 1);
    }
}

pub(crate) struct Writers {
    pub(crate) world: World,
    pub(crate) prng: Prng,
    files: Vec<File>,
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
    pub(crate) fn new(seed: u64, logs: &'static [usize]) -> Writers {
        let mut prng = Prng::new(seed);
        let layout = if prng.chance(1, 3) { Layout::Mirror } else { Layout::Single };
        let drawn = Swarm::draw(&mut prng);
        let swarm = Swarm {
            layout,
            logs,
            disk_size: 64 << 20,
            faults: None,
            absences: false,
            props: Vec::new(),
            gang: [0, 1],
            ..drawn
        };
        let mut world = World::of(swarm, &mut prng);
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
                files.push(File { dataset, name, states: vec![Vec::new()] });
            }
        }
        drop(api);
        machine.engine.export(POOL, false).expect("it can be exported");
        drop(machine);
        world.disks.restart(Swarm::draw_loss(&mut prng));
        Writers { world, prng, files, on_log: 0 }
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
        let pool = life.machine.engine.pool_below(POOL).expect("it is imported");
        self.on_log += pool.core().zil_stats.slog.count.get();
        drop(pool);
        drop(life);
        let loss = Swarm::draw_loss(&mut self.prng);
        self.world.disks.restart(loss);
    }

    pub(crate) fn begin(&mut self) -> Life {
        let machine = self.world.boot();
        let api = machine.engine.import(POOL, &ImportOptions::default()).expect("it can be imported");
        let open = |file: &File| {
            let fs = api.open_fs(file.dataset).expect("a file system");
            let node = fs.lookup(&Cred::root(), fs.root(), file.name.as_bytes()).expect("the file").node;
            (fs, node)
        };
        let open = self.files.iter().map(open).collect();
        Life { machine, open }
    }

    /// Log devices fail or are well again.
    fn vex_logs(&mut self, life: &Life) {
        let logs = self.world.swarm.log_paths().concat();
        if logs.is_empty() {
            return;
        }
        for path in &logs {
            let rate = *self.prng.pick(&[0, 0, 0, 20_000, 1_000_000]).expect("some");
            let faults = match self.prng.chance(1, 2) {
                true => Faults { write: rate, ..Faults::default() },
                false => Faults { flush: rate, ..Faults::default() },
            };
            self.world.disks.set_faults(path, faults);
        }
        let api = life.machine.engine.pool(POOL).expect("it is imported");
        api.commit(&Change::ClearErrors { guid: None }, "").expect("errors can be cleared");
    }

    pub(crate) fn step(&mut self, life: &Life) {
        let n = self.prng.below(FILES as u64) as usize;
        let (fs, node) = &life.open[n];
        let cred = Cred::root();
        let done = match self.prng.weighted(&[6, 6, 3, 3, 1, 1]) {
            kind @ 0..=2 => {
                let stable = [Stable::FileSync, Stable::Unstable, Stable::DataSync][kind];
                let (offset, data) = self.draw_write();
                let file = &mut self.files[n];
                let mut next = file.now().to_vec();
                next.resize(next.len().max(offset + data.len()), 0);
                next[offset..offset + data.len()].copy_from_slice(&data);
                // Done or not if the power goes: both may come back.
                file.states.push(next);
                let answer = fs.write(&cred, *node, offset as u64, &data, stable);
                let promised = stable != Stable::Unstable || file.dataset == "sim/always";
                answer.map(|_| if promised { vec![n] } else { Vec::new() })
            }
            3 => fs.commit(*node).map(|_| vec![n]),
            4 => {
                let same = |file: &File| file.dataset == self.files[n].dataset;
                fs.sync().map(|()| (0..FILES).filter(|&n| same(&self.files[n])).collect())
            }
            _ => {
                let pool = life.machine.engine.pool(POOL).expect("it is imported");
                pool.sync().map(|_| (0..FILES).collect())
            }
        };
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
            assert!(file.may_be(&found), "{}/{} has lost what was promised", file.dataset, file.name);
            file.states = vec![found];
        }
    }
}

fn crash_on(logs: &'static [usize], first_seed: u64) {
    let begun = Instant::now();
    let (mut crashes, mut on_log) = (0, 0);
    let mut seed = first_seed;
    while crashes < CRASHES && (crashes == 0 || begun.elapsed() < TIME) {
        let told = std::panic::catch_unwind(|| {
            let mut writers = Writers::new(seed, logs);
            // One write or flush later each time: so every one of them is met.
            (0..LIVES).for_each(|life| writers.live(1 + life * 2 % 97, life % 12 == 11));
            writers.on_log
        });
        on_log += told.unwrap_or_else(|_| panic!("logs {logs:?}, seed {seed}"));
        crashes += LIVES;
        seed += 1;
    }
    println!("{crashes} power failures on logs {logs:?}, {on_log} log blocks on log devices");
    assert_eq!(on_log > 0, !logs.is_empty());
}

#[test]
fn writers_without_log_devices_lose_nothing() {
    crash_on(&[], 1);
}

#[test]
fn writers_on_a_single_log_lose_nothing() {
    crash_on(&[1], 1_000);
}

#[test]
fn writers_on_a_mirrored_log_lose_nothing() {
    crash_on(&[2], 2_000);
}

#[test]
fn writers_on_two_logs_lose_nothing() {
    crash_on(&[1, 2], 3_000);
}
