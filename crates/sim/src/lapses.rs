//! Lapses: a disk misses some writes and catches up. When the pool says that it has everything,
//! other disks leave, and the pool has to live on what that disk has.
//!
//! ```text
//!   all whole ──lapse of one disk──▶ it catches up ──the pool: "it has everything"──▶ the power goes
//!       ▲                                  ▲ └──disturbed now and then                    │
//!       └──mended, every copy is good──┐   └──restarts                                    ▼
//!                                      └──all that was promised is there── import without others that it can stand for
//! ```
//! Stories of [`crate::attrition`] meet all of this too, but seldom in this order, and what is
//! believed too early is mostly mended before anybody has to rely on it. Here each round is one
//! such order, as short as it can be: nothing comes between the word of the pool and the proof.
//! Disks are honest: they fail, are away or lose their power, but what they took and flushed they
//! keep. So a disk is whole without a scrub, whenever the pool says so.

use std::collections::BTreeSet;

use engine_api::{Change, CreateMode, Cred, NewDevice, NewVdevs, ScanCommand, SetAttr, Stable};
use env::Nanos;
use stdx::prng::Prng;
use storage::VdevState;

use crate::attrition::bays::{all_paths, new_world};
use crate::attrition::frozen::found_again;
use crate::attrition::mend;
use crate::attrition::shape::{Shape, Side};
use crate::disk::Faults;
use crate::disk::image::Image;
use crate::machine::{Machine, POOL, World};
use crate::promised::Promised;
use crate::swarm::{Layout, Swarm};
use crate::workload::{Done, Life, failed};

const FILES: usize = 4;
/// Bytes of a file, and of a write at the most.
const FILE: usize = 96 << 10;
const WRITE_MAX: u64 = 16 << 10;
/// Calls in a stretch of work, at the most.
const CALLS: u64 = 12;
/// Looks at a disk that catches up; after so many of them somebody helps, after so many the machine
/// is restarted.
const PATIENCE: u32 = 1200;
const HELP: u32 = 40;
const RESTART: u32 = 150;
/// Between two looks, at the most.
const LOOK: Nanos = Nanos::from_millis(100);

const LAYOUTS: [Layout; 9] = [
    Layout::Mirror,
    Layout::Mirror,
    Layout::ThreeWay,
    Layout::StripeOfMirrors,
    Layout::Raidz(1, &[3]),
    Layout::Raidz(1, &[4]),
    Layout::Raidz(1, &[3, 3]),
    Layout::Raidz(2, &[4]),
    Layout::Raidz(3, &[5]),
];

/// What to run.
#[derive(Clone, Debug)]
pub struct Options {
    pub seed: u64,
    /// Lapses.
    pub rounds: u64,
    pub verbose: bool,
}

impl Options {
    pub fn new(seed: u64) -> Options {
        Options { seed, rounds: 8, verbose: false }
    }
}

/// What came of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Lapses, each followed by a proof.
    pub rounds: u64,
    /// Of each kind of them.
    pub refused: u64,
    pub missed: u64,
    pub copied: u64,
    pub represented: u64,
    /// Disks that were not there for the proofs.
    pub gone: u64,
}

impl std::ops::AddAssign for Tally {
    fn add_assign(&mut self, other: Tally) {
        self.rounds += other.rounds;
        self.refused += other.refused;
        self.missed += other.missed;
        self.copied += other.copied;
        self.represented += other.represented;
        self.gone += other.gone;
    }
}

/// Runs a seed. `Err` says what is wrong with the engine.
pub fn run(options: &Options) -> Result<Tally, String> {
    let mut trial = Trial::begin(Prng::new(options.seed), options.verbose)?;
    for round in 0..options.rounds {
        trial.round().map_err(|why| format!("round {round}: {why}"))?;
    }
    Ok(trial.tally)
}

struct Trial {
    world: World,
    prng: Prng,
    machine: Option<Machine>,
    files: Vec<Promised>,
    verbose: bool,
    tally: Tally,
}

/// A disk that is to stand for what it was given, and one that comes back only when it does.
struct Witness {
    path: String,
    late: Option<String>,
}

impl Trial {
    /// A pool with some files in it.
    fn begin(mut prng: Prng, verbose: bool) -> Result<Trial, String> {
        let drawn = Swarm::draw(&mut prng);
        let keep = ["recordsize", "compression", "copies", "redundant_metadata"];
        let props = drawn.props.iter().copied().filter(|(name, _)| keep.contains(name)).collect();
        let layout = *prng.pick(&LAYOUTS).expect("some");
        let swarm = Swarm { props, ..drawn.calm(layout, &[]) };
        if verbose {
            eprintln!("{swarm:?}");
        }
        let mut world = new_world(swarm, &mut prng);
        let machine = world.boot();
        let api = machine.create(&world.swarm).map_err(failed("creating the pool"))?;
        let fs = api.open_fs(POOL).map_err(failed("the file system"))?;
        let mut files = Vec::new();
        for n in 0..FILES {
            let mut file = Promised::new(POOL, format!("file{n}"));
            let attr = SetAttr { mode: Some(0o644), ..SetAttr::default() };
            let made = fs.create(&Cred::root(), fs.root(), file.name.as_bytes(), CreateMode::Guarded, &attr);
            let node = made.map_err(failed("a file"))?.attr.node;
            let mut data = vec![0; FILE];
            prng.fill(&mut data);
            fs.write(&Cred::root(), node, 0, &data, Stable::Unstable).map_err(failed("filling a file"))?;
            file.restart(data);
            files.push(file);
        }
        api.sync().map_err(failed("the first files"))?;
        Ok(Trial { world, prng, machine: Some(machine), files, verbose, tally: Tally::default() })
    }

    fn life(&self) -> Result<Life<'_>, String> {
        Life::of(&self.world, self.machine.as_ref().expect("it is on"), self.verbose)
    }

    fn shape(&self) -> Result<Shape, String> {
        Ok(Shape::of(&self.life()?.pool))
    }

    fn say(&self, line: impl FnOnce() -> String) -> Done {
        self.life()?.say(line);
        Ok(())
    }

    fn round(&mut self) -> Done {
        let shape = self.shape()?;
        let sides: Vec<Side> = shape.sides().into_iter().cloned().collect();
        let disk = self.prng.pick(&sides).expect("a pool has disks").clone();
        let can_be_copied = !matches!(self.world.swarm.layout, Layout::Raidz(..));
        let witness = match self.prng.weighted(&[3, 3, if can_be_copied { 3 } else { 0 }, 3]) {
            0 => self.refuse(&disk)?,
            1 => self.miss(&disk)?,
            2 => self.copy(&disk)?,
            _ => self.represent(&disk)?,
        };
        self.prove(&witness)?;
        self.tally.rounds += 1;
        self.all_back()?;
        let life = self.life()?;
        mend::mend(&life, false)?;
        life.say(|| "it is whole".to_owned());
        drop(life);
        self.sync()
    }

    // ── What disks come to ──

    /// It takes no writes, here and there or all over, for a while.
    fn refuse(&mut self, disk: &Side) -> Result<Witness, String> {
        self.tally.refused += 1;
        self.say(|| format!("{} refuses writes", disk.path))?;
        self.refuse_for_a_while(&disk.path)?;
        if self.prng.chance(1, 2) {
            self.restart()?;
        }
        Ok(Witness { path: disk.path.clone(), late: None })
    }

    fn refuse_for_a_while(&mut self, path: &str) -> Done {
        let rate = *self.prng.pick(&[50_000, 300_000, 1_000_000]).expect("some");
        let stuck = self.prng.chance(2, 3);
        let faults = if stuck { (rate, 0) } else { (0, rate) };
        self.world.disks.set_faults(path, Faults { stuck: faults.0, write: faults.1, ..Faults::default() });
        self.work()?;
        self.world.disks.set_faults(path, Faults::default());
        Ok(())
    }

    /// It is away for some groups. What gives them to it is disturbed.
    fn miss(&mut self, disk: &Side) -> Result<Witness, String> {
        self.tally.missed += 1;
        self.say(|| format!("{} is away", disk.path))?;
        self.leave(disk)?;
        self.work()?;
        self.sync()?;
        self.come_back(&disk.path)?;
        for _ in 0..self.prng.below(3) {
            self.disturb(disk)?;
        }
        Ok(Witness { path: disk.path.clone(), late: None })
    }

    fn leave(&mut self, disk: &Side) -> Done {
        if self.prng.chance(1, 2) {
            let temporary = self.prng.chance(1, 2);
            return self.change(&Change::OfflineVdev { guid: disk.guid, temporary }).map(drop);
        }
        self.world.disks.pull(&disk.path, Swarm::draw_loss(&mut self.prng));
        Ok(())
    }

    fn come_back(&mut self, path: &str) -> Done {
        self.world.disks.set_away(path, false);
        self.world.disks.come_back();
        self.help()
    }

    /// While a disk catches up it loses its power, refuses writes, or has to go on after a restart.
    fn disturb(&mut self, disk: &Side) -> Done {
        match self.prng.below(4) {
            0 => {
                self.say(|| format!("{} refuses writes while it catches up", disk.path))?;
                self.refuse_for_a_while(&disk.path)
            }
            1 => self.restart(),
            _ => {
                self.say(|| format!("{} loses its power while it catches up", disk.path))?;
                let loss = Swarm::draw_loss(&mut self.prng);
                self.world.disks.outage_of(vec![disk.path.clone()], self.prng.below(40), loss);
                self.work()?;
                self.come_back(&disk.path)
            }
        }
    }

    /// Another disk takes its place, or joins it, by a sequential rebuild that is disturbed.
    fn copy(&mut self, disk: &Side) -> Result<Witness, String> {
        let free = self.free()?;
        let Some(path) = self.prng.pick(&free).cloned() else { return self.miss(disk) };
        self.say(|| format!("{path} is given what {} has", disk.path))?;
        let new =
            NewDevice { path: Some(path.clone()), force: true, sequential: true, ..NewDevice::default() };
        let change = match self.prng.chance(2, 3) {
            true => Change::ReplaceVdev { guid: disk.guid, new },
            false => Change::AttachVdev { guid: disk.guid, new },
        };
        if !self.change(&change)? {
            return self.miss(disk);
        }
        self.tally.copied += 1;
        self.refuse_for_a_while(&path)?;
        Ok(Witness { path, late: None })
    }

    /// A hot spare stands in for it; it comes back when all hangs on the spare.
    fn represent(&mut self, disk: &Side) -> Result<Witness, String> {
        let spares = self.life()?.pool.report().spares.len();
        if spares == 0 {
            let free = self.free()?;
            let Some(path) = self.prng.pick(&free).cloned() else { return self.miss(disk) };
            let vdevs = NewVdevs { spares: vec![path], ..NewVdevs::default() };
            if !self.change(&Change::AddVdevs { vdevs, force: true })? {
                return self.miss(disk);
            }
        }
        self.say(|| format!("a spare is to stand in for {}", disk.path))?;
        let before: BTreeSet<u64> = self.shape()?.sides().into_iter().map(|side| side.guid).collect();
        self.world.disks.pull(&disk.path, Swarm::draw_loss(&mut self.prng));
        for _ in 0..HELP {
            self.work()?;
            self.sync()?;
            let spare = self.shape()?.sides().into_iter().find(|side| !before.contains(&side.guid)).cloned();
            if let Some(spare) = spare {
                self.tally.represented += 1;
                return Ok(Witness { path: spare.path, late: Some(disk.path.clone()) });
            }
        }
        // The only spare may be of no use.
        self.come_back(&disk.path)?;
        Ok(Witness { path: disk.path.clone(), late: None })
    }

    // ── What is promised ──

    /// The disk has everything, as the pool says; then nobody else who can be done without is
    /// there.
    fn prove(&mut self, witness: &Witness) -> Done {
        loop {
            self.wait_for(witness)?;
            if self.prng.chance(1, 2) {
                break;
            }
            self.write()?;
            self.sync()?;
            if self.is_whole(&witness.path)? {
                break;
            }
        }
        let gone = self.others(witness)?;
        self.say(|| format!("all hangs on {}; without {gone:?}", witness.path))?;
        self.tally.gone += gone.len() as u64;
        self.machine = None;
        self.world.disks.restart(Swarm::draw_loss(&mut self.prng));
        for path in &gone {
            match self.prng.chance(1, 4) {
                true => self.world.disks.set_image(path, Image::default()),
                false => self.world.disks.set_away(path, true),
            }
        }
        if let Some(late) = &witness.late {
            self.world.disks.set_away(late, false);
        }
        self.import()?;
        if self.prng.chance(1, 2) { self.work() } else { Ok(()) }
    }

    fn is_whole(&self, path: &str) -> Result<bool, String> {
        Ok(self.shape()?.sides().into_iter().any(|side| side.path == path && side.is_whole))
    }

    fn wait_for(&mut self, witness: &Witness) -> Done {
        for look in 1..PATIENCE {
            if self.is_whole(&witness.path)? {
                return Ok(());
            }
            if look % HELP == 0 {
                self.world.disks.come_back();
                self.help()?;
            }
            if look % RESTART == 0 {
                self.restart()?;
            }
            let span = Nanos(self.prng.below(LOOK.0));
            self.life()?.machine.env.clock.sleep(span);
            if self.prng.chance(1, 8) {
                self.sync()?;
            }
        }
        Err(format!("{} does not catch up: {:?}", witness.path, self.shape()?))
    }

    /// As many as the pool can do without, beside that one.
    fn others(&mut self, witness: &Witness) -> Result<BTreeSet<String>, String> {
        let shape = self.shape()?;
        let mut paths: Vec<String> = shape.sides().into_iter().map(|side| side.path.clone()).collect();
        paths.retain(|path| *path != witness.path && Some(path) != witness.late.as_ref());
        let mut gone = BTreeSet::new();
        while !paths.is_empty() {
            let path = paths.swap_remove(self.prng.below(paths.len() as u64) as usize);
            if shape.is_held(&|other| other != path && !gone.contains(other)) {
                gone.insert(path);
            }
        }
        Ok(gone)
    }

    fn all_back(&mut self) -> Done {
        for path in all_paths(&self.world.swarm) {
            self.world.disks.set_away(&path, false);
        }
        self.world.disks.come_back();
        self.help()
    }

    // ── What people do ──

    fn free(&self) -> Result<Vec<String>, String> {
        let shape = self.shape()?;
        let report = self.life()?.pool.report();
        let spares: Vec<String> = report.spares.iter().filter_map(|vdev| vdev.stat.path.clone()).collect();
        let used =
            |path: &String| shape.sides().iter().any(|side| side.path == *path) || spares.contains(path);
        Ok(all_paths(&self.world.swarm).filter(|path| !used(path)).collect())
    }

    /// Whether it was done.
    fn change(&self, change: &Change) -> Result<bool, String> {
        self.life()?.change(change)
    }

    /// Whoever is out of use is used again.
    fn help(&self) -> Done {
        self.change(&Change::ClearErrors { guid: None })?;
        for side in self.shape()?.sides() {
            if side.state == VdevState::Offline {
                self.change(&Change::OnlineVdev { guid: side.guid, expand: false })?;
            }
        }
        self.change(&Change::Scan(ScanCommand::Resilver)).map(drop)
    }

    fn restart(&mut self) -> Done {
        self.say(|| "a restart".to_owned())?;
        self.machine = None;
        self.world.disks.restart(Swarm::draw_loss(&mut self.prng));
        self.import()
    }

    /// Files are as they may be then.
    fn import(&mut self) -> Done {
        let machine = self.world.boot();
        let api = machine.import().map_err(failed("import"))?;
        self.machine = Some(machine);
        let fs = api.open_fs(POOL).map_err(failed("the file system"))?;
        found_again(&*fs, &mut self.files)
    }

    fn work(&mut self) -> Done {
        for _ in 0..self.prng.below(CALLS) + 1 {
            match self.prng.weighted(&[5, 2, 1]) {
                0 => self.write()?,
                1 => self.sync()?,
                _ => {
                    let span = Nanos::from_millis(self.prng.below(3000));
                    self.life()?.machine.env.clock.sleep(span);
                }
            }
        }
        Ok(())
    }

    fn sync(&mut self) -> Done {
        self.life()?.pool.core().txgs.sync_now().map_err(failed("sync"))?;
        self.files.iter_mut().for_each(Promised::promise);
        Ok(())
    }

    fn write(&mut self) -> Done {
        let n = self.prng.below(FILES as u64) as usize;
        let most = *self.prng.pick(&[16, 600, WRITE_MAX]).expect("some");
        let mut data = vec![0; self.prng.below(most) as usize + 1];
        self.prng.fill(&mut data);
        let offset = self.prng.below((FILE - data.len()) as u64) as usize;
        let stable = *self.prng.pick(&[Stable::FileSync, Stable::Unstable]).expect("some");
        self.files[n].write(offset, &data);
        let fs = self.life()?.api.open_fs(POOL).map_err(failed("the file system"))?;
        let node = fs.lookup(&Cred::root(), fs.root(), self.files[n].name.as_bytes());
        let node = node.map_err(failed(&self.files[n].name))?.node;
        fs.write(&Cred::root(), node, offset as u64, &data, stable).map_err(failed("a write"))?;
        if stable != Stable::Unstable {
            self.files[n].promise();
        }
        Ok(())
    }
}
