//! A pool in use while its disks come, go and fail, recorded write by write.
//!
//! Some disks are *weak*, as many of each vdev as it can lose at once: they fail reads and writes, lose writes they have
//! answered or put them elsewhere, and lie about flushes. The others are sound, and an operator works on the pool: scrubs,
//! takes disks out of use, replaces and attaches them, pulls one out, has spares. He never takes away what only the weak
//! could stand in for, or those that he has pulled, be it that the pool has not noticed yet: within these limits nothing
//! may go wrong at any moment, and every acknowledged write must stay.
//!
//! After every step a *mark* is left: how far the tape is, what was promised, which disks have everything.

use std::collections::BTreeSet;
use std::sync::Arc;

use engine_api::{
    Change, CreateMode, Cred, Engine, Error, FileSystem, NewDevice, NewVdevs, NodeId, ScanCommand, SetAttr,
    Stable, TrimCommand, VdevSpec,
};
use env::Nanos;
use stdx::prng::Prng;

use super::mend;
use super::shape::{Shape, Side};
use crate::disk::Faults;
use crate::disk::tape::Tape;
use crate::machine::{Machine, POOL, World};
use crate::promised::Promised;
use crate::swarm::{Layout, Swarm};
use crate::workload::{Done, Life, failed};

/// Disks beside those of the pool at first.
const FREE: usize = 3;
const FILES: usize = 4;
/// Bytes that a file has from the beginning, and of a write at the most.
const FILE: usize = 40 << 10;
const WRITE_MAX: u64 = 12 << 10;
/// Steps of a story, at least and below.
const STEPS: [u64; 2] = [40, 110];

const LAYOUTS: [Layout; 12] = [
    Layout::Single,
    Layout::Mirror,
    Layout::Mirror,
    Layout::ThreeWay,
    Layout::StripeOfMirrors,
    Layout::Raidz(1, &[3]),
    Layout::Raidz(1, &[4]),
    Layout::Raidz(1, &[3, 3]),
    Layout::Raidz(2, &[4]),
    Layout::Raidz(2, &[5]),
    Layout::Raidz(3, &[5]),
    Layout::Raidz(3, &[6]),
];

/// What an operator or a writer does, and how often.
const ACTS: [(Act, u32); 20] = [
    (Act::Write, 24),
    (Act::Commit, 3),
    (Act::Sync, 5),
    (Act::Sleep, 4),
    (Act::Settle, 4),
    (Act::Scan, 4),
    (Act::Offline, 3),
    (Act::Online, 3),
    (Act::Detach, 1),
    (Act::Attach, 2),
    (Act::Replace, 4),
    (Act::Spare, 2),
    (Act::Unspare, 1),
    (Act::Pull, 2),
    (Act::Plug, 3),
    (Act::Clear, 2),
    (Act::Trim, 1),
    (Act::Reguid, 1),
    (Act::Add, 1),
    (Act::Restart, 2),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Act {
    Write,
    Commit,
    Sync,
    Sleep,
    Settle,
    Scan,
    Offline,
    Online,
    Detach,
    Attach,
    Replace,
    Spare,
    Unspare,
    Pull,
    Plug,
    Clear,
    Trim,
    Reguid,
    Add,
    Restart,
}

/// How things were between two steps.
pub struct Mark {
    /// Events on the tape.
    pub at: usize,
    pub now: Nanos,
    pub shape: Shape,
    /// Of each file, the states that might come back.
    pub spans: Vec<(usize, usize)>,
}

/// What was recorded.
pub struct Story {
    pub swarm: Swarm,
    pub tape: Tape,
    pub marks: Vec<Mark>,
    pub files: Vec<Promised>,
    pub weak: BTreeSet<String>,
    /// The world as it was left, exported.
    pub world: World,
}

/// Paths of disks that no pool has at first.
pub fn free_paths() -> impl Iterator<Item = String> {
    (1..=FREE).map(|n| format!("/sim/free{n}"))
}

/// Paths of all disks there are.
pub fn all_paths(swarm: &Swarm) -> impl Iterator<Item = String> {
    swarm.all_paths().into_iter().chain(free_paths())
}

fn draw_swarm(prng: &mut Prng) -> Swarm {
    let drawn = Swarm::draw(prng);
    let keep = ["recordsize", "compression", "copies", "redundant_metadata"];
    let props = drawn.props.iter().copied().filter(|(name, _)| keep.contains(name)).collect();
    Swarm {
        layout: *prng.pick(&LAYOUTS).expect("some"),
        logs: &[],
        caches: 0,
        disk_size: 64 << 20,
        faults: None,
        absences: false,
        gang: *prng.pick(&[[0, 1], [0, 1], [0, 1], [1, 6]]).expect("some"),
        props,
        ..drawn
    }
}

fn draw_faults(prng: &mut Prng) -> Faults {
    let mut rate = |most: u64| if prng.chance(1, 2) { prng.below(most) as u32 } else { 0 };
    Faults {
        read: rate(30_000),
        corrupt: rate(30_000),
        write: rate(4_000),
        flush: rate(4_000),
        lost: rate(50_000),
        misdirected: rate(10_000),
    }
}

/// A story being told.
struct Teller {
    world: World,
    prng: Prng,
    machine: Option<Machine>,
    open: Vec<(Arc<dyn FileSystem>, NodeId)>,
    files: Vec<Promised>,
    weak: BTreeSet<String>,
    weights: Vec<u32>,
    marks: Vec<Mark>,
    verbose: bool,
}

impl Story {
    /// Works on a pool, and leaves it exported.
    pub fn tell(prng: &mut Prng, verbose: bool) -> Result<Story, String> {
        let swarm = draw_swarm(prng);
        if verbose {
            eprintln!("{swarm:?}");
        }
        let mut teller = Teller::begin(swarm, prng.fork(), verbose)?;
        let steps = teller.prng.range(STEPS[0], STEPS[1]);
        for _ in 0..steps {
            teller.mark()?;
            teller.step()?;
        }
        teller.end()
    }
}

impl Teller {
    /// A pool with some files in it.
    fn begin(swarm: Swarm, mut prng: Prng, verbose: bool) -> Result<Teller, String> {
        let mut world = World::of(swarm, &mut prng);
        let (size, sector) = (world.swarm.disk_size, world.swarm.sector);
        free_paths().for_each(|path| world.disks.add(&path, size, sector));
        let machine = world.boot();
        let api = machine.create(&world.swarm).map_err(failed("creating the pool"))?;
        let weights = ACTS.iter().map(|(_, weight)| if prng.chance(1, 4) { 0 } else { *weight });
        let mut weights: Vec<u32> = weights.collect();
        weights[0] = ACTS[0].1;
        let mut teller = Teller {
            world,
            prng,
            machine: Some(machine),
            open: Vec::new(),
            files: Vec::new(),
            weak: BTreeSet::new(),
            weights,
            marks: Vec::new(),
            verbose,
        };
        let fs = api.open_fs(POOL).map_err(failed("the file system"))?;
        for n in 0..FILES {
            let mut file = Promised::new(POOL, format!("file{n}"));
            let attr = SetAttr { mode: Some(0o644), ..SetAttr::default() };
            let made = fs.create(&Cred::root(), fs.root(), file.name.as_bytes(), CreateMode::Guarded, &attr);
            let node = made.map_err(failed("a file"))?.attr.node;
            let mut data = vec![0; FILE];
            teller.prng.fill(&mut data);
            fs.write(&Cred::root(), node, 0, &data, Stable::Unstable).map_err(failed("filling a file"))?;
            file.restart(data);
            teller.files.push(file);
            teller.open.push((fs.clone(), node));
        }
        api.sync().map_err(failed("the first files"))?;
        // What is recorded begins with a disk's cache being empty.
        teller.life()?.pool.core().txgs.sync_now().map_err(failed("the first files"))?;
        teller.world.disks.start_tape();
        if teller.prng.chance(2, 3) {
            teller.weaken();
        }
        if verbose {
            eprintln!("weak: {:?}", teller.weak);
        }
        Ok(teller)
    }

    fn weaken(&mut self) {
        self.weak.extend(self.world.swarm.weak_sides());
        for path in &self.weak {
            self.world.disks.set_faults(path, draw_faults(&mut self.prng));
            if self.prng.chance(1, 3) {
                self.world.disks.set_lying(path, true);
            }
        }
    }

    fn life(&self) -> Result<Life<'_>, String> {
        let machine = self.machine.as_ref().expect("it is on");
        let api = machine.engine.pool(POOL).map_err(failed("the pool"))?;
        let pool = machine.engine.pool_below(POOL).map_err(failed("the pool"))?;
        Ok(Life { world: &self.world, machine, api, pool, verbose: self.verbose })
    }

    fn mark(&mut self) -> Done {
        let shape = Shape::of(&self.life()?.pool);
        if !shape.is_held(&|path| self.is_sound(path)) {
            return Err(format!("sound disks have not everything any more: {shape:?}"));
        }
        let spans = self.files.iter().map(Promised::span).collect();
        let (at, now) = (self.world.disks.taped(), self.world.time.now());
        self.marks.push(Mark { at, now, shape, spans });
        Ok(())
    }

    /// Whether a disk does what it should, as nobody but the operator may know.
    fn is_sound(&self, path: &str) -> bool {
        !self.weak.contains(path) && !self.world.disks.is_away(path)
    }

    fn step(&mut self) -> Done {
        let [some, of] = self.world.swarm.gang;
        let gang = self.prng.chance(u64::from(some), u64::from(of));
        self.life()?.machine.env.quirks.set(env::Quirk::ForceGang, gang);
        let (act, _) = ACTS[self.prng.weighted(&self.weights)];
        self.life()?.say(|| format!("{act:?} at {} on the tape", self.world.disks.taped()));
        match act {
            Act::Write => self.write(),
            Act::Restart => self.restart(),
            Act::Commit => {
                let n = self.prng.below(FILES as u64) as usize;
                let (fs, node) = &self.open[n];
                fs.commit(*node).map_err(failed("commit"))?;
                self.files[n].promise();
                Ok(())
            }
            Act::Sync => {
                self.life()?.pool.core().txgs.sync_now().map_err(failed("sync"))?;
                self.files.iter_mut().for_each(Promised::promise);
                Ok(())
            }
            Act::Sleep => {
                let span = Nanos::from_millis(self.prng.below(6000));
                self.life()?.machine.env.clock.sleep(span);
                Ok(())
            }
            Act::Settle => {
                self.life()?.machine.driver.settle();
                Ok(())
            }
            Act::Pull => {
                let shape = Shape::of(&self.life()?.pool);
                if let Some(side) = self.dispensable(&shape) {
                    self.life()?.say(|| format!("pull {}", side.path));
                    self.world.disks.set_away(&side.path, true);
                }
                Ok(())
            }
            Act::Plug => {
                let away: Vec<String> = self.away().collect();
                if let Some(path) = self.prng.pick(&away) {
                    self.life()?.say(|| format!("plug {path}"));
                    self.world.disks.set_away(path, false);
                }
                self.change(&Change::ClearErrors { guid: None })
            }
            _ => match self.draw(act)? {
                Some(change) => self.change(&change),
                None => Ok(()),
            },
        }
    }

    fn away(&self) -> impl Iterator<Item = String> {
        all_paths(&self.world.swarm).filter(|path| self.world.disks.is_away(path))
    }

    /// A disk without which sound ones still have everything.
    fn dispensable(&mut self, shape: &Shape) -> Option<Side> {
        let without = |side: &Side| shape.is_held(&|path: &str| self.is_sound(path) && path != side.path);
        let sides: Vec<Side> = shape.sides().into_iter().filter(|side| without(side)).cloned().collect();
        self.prng.pick(&sides).cloned()
    }

    /// A disk that nobody uses.
    fn free(&mut self, shape: &Shape) -> Option<String> {
        let sides: BTreeSet<&str> = shape.sides().into_iter().map(|side| side.path.as_str()).collect();
        let spares = self.spares();
        let free: Vec<String> = all_paths(&self.world.swarm)
            .filter(|path| !sides.contains(path.as_str()) && !spares.iter().any(|(_, spare)| spare == path))
            .filter(|path| self.is_sound(path))
            .collect();
        self.prng.pick(&free).cloned()
    }

    fn spares(&self) -> Vec<(u64, String)> {
        let report = self.life().expect("the pool is imported").pool.report();
        let spare = |spare: &pool::spa::status::VdevReport| {
            (spare.stat.guid, spare.stat.path.clone().unwrap_or_default())
        };
        report.spares.iter().map(spare).collect()
    }

    /// What the operator wants, if there is anything to do it with.
    fn draw(&mut self, act: Act) -> Result<Option<Change>, String> {
        let shape = Shape::of(&self.life()?.pool);
        let sides: Vec<Side> = shape.sides().into_iter().cloned().collect();
        let any = self.prng.pick(&sides).expect("a pool has disks").guid;
        let new = |path: String| NewDevice { path: Some(path), force: true, ..NewDevice::default() };
        Ok(match act {
            Act::Scan => {
                use ScanCommand::{Pause, Resilver, Scrub, Stop};
                Some(Change::Scan(*self.prng.pick(&[Scrub, Scrub, Pause, Stop, Resilver]).expect("some")))
            }
            Act::Offline => {
                let temporary = self.prng.chance(1, 2);
                self.dispensable(&shape).map(|side| Change::OfflineVdev { guid: side.guid, temporary })
            }
            Act::Online => Some(Change::OnlineVdev { guid: any, expand: self.prng.chance(1, 8) }),
            Act::Detach => self.dispensable(&shape).map(|side| Change::DetachVdev { guid: side.guid }),
            Act::Attach => self.free(&shape).map(|path| Change::AttachVdev { guid: any, new: new(path) }),
            Act::Replace => self.free(&shape).map(|path| Change::ReplaceVdev { guid: any, new: new(path) }),
            Act::Spare => self.free(&shape).map(|path| Change::AddVdevs {
                vdevs: NewVdevs { spares: vec![path], ..NewVdevs::default() },
                force: true,
            }),
            Act::Unspare => {
                let spares = self.spares();
                self.prng.pick(&spares).map(|(guid, _)| Change::RemoveVdev { guid: *guid })
            }
            Act::Clear => Some(Change::ClearErrors { guid: None }),
            Act::Trim => Some(Change::TrimVdevs {
                guids: sides.iter().map(|side| side.guid).collect(),
                command: TrimCommand::Start { rate: 0 },
            }),
            Act::Reguid => Some(Change::Reguid { guid: None }),
            Act::Add => {
                let paths: Vec<String> = free_paths().filter(|path| self.is_unused(path, &shape)).collect();
                let top = VdevSpec::Mirror(paths.iter().take(2).cloned().map(VdevSpec::Leaf).collect());
                let vdevs = NewVdevs { data: vec![top], ..NewVdevs::default() };
                (paths.len() >= 2).then_some(Change::AddVdevs { vdevs, force: true })
            }
            _ => unreachable!("no change"),
        })
    }

    fn is_unused(&self, path: &str, shape: &Shape) -> bool {
        let used = shape.sides().iter().any(|side| side.path == path);
        !used && !self.spares().iter().any(|(_, spare)| spare == path) && !self.world.disks.is_away(path)
    }

    /// Refusals are the operator's business.
    fn change(&self, change: &Change) -> Done {
        let life = self.life()?;
        life.say(|| format!("{change:?}"));
        match life.api.commit(change, "") {
            Ok(_) => Ok(()),
            Err(Error::Refused(why)) => {
                life.say(|| format!("refused: {why}"));
                Ok(())
            }
            Err(Error::Busy | Error::NotFound) => Ok(()),
            Err(error) => Err(format!("{change:?}: {error:?}")),
        }
    }

    fn write(&mut self) -> Done {
        let n = self.prng.below(FILES as u64) as usize;
        let most = *self.prng.pick(&[16, 600, WRITE_MAX]).expect("some");
        let mut data = vec![0; self.prng.below(most) as usize + 1];
        self.prng.fill(&mut data);
        let offset = self.prng.below((FILE - data.len()) as u64) as usize;
        let stable = *self.prng.pick(&[Stable::FileSync, Stable::Unstable]).expect("some");
        self.files[n].write(offset, &data);
        let (fs, node) = &self.open[n];
        fs.write(&Cred::root(), *node, offset as u64, &data, stable).map_err(failed("a write"))?;
        if stable != Stable::Unstable {
            self.files[n].promise();
        }
        Ok(())
    }

    /// Exports and imports.
    fn restart(&mut self) -> Done {
        self.life()?.say(|| "export and import".to_owned());
        self.open.clear();
        let machine = self.machine.take().expect("it is on");
        machine.engine.export(POOL, false).map_err(failed("export"))?;
        self.files.iter_mut().for_each(Promised::promise);
        drop(machine);
        let machine = self.world.boot();
        let api = machine.import().map_err(failed("import"))?;
        self.machine = Some(machine);
        let fs = api.open_fs(POOL).map_err(failed("the file system"))?;
        for file in &self.files {
            let found = fs.lookup(&Cred::root(), fs.root(), file.name.as_bytes());
            self.open.push((fs.clone(), found.map_err(failed("a file"))?.node));
        }
        Ok(())
    }

    /// Everything is well again, and the pool gets whole by itself.
    fn end(mut self) -> Result<Story, String> {
        self.mark()?;
        for path in self.world.swarm.all_paths() {
            self.world.disks.set_faults(&path, Faults::default());
            self.world.disks.set_lying(&path, false);
        }
        let tape = self.world.disks.take_tape().expect("it runs");
        mend::mend(&self.life()?, true)?;
        self.life()?.say(|| "it is whole".to_owned());
        for (file, (fs, node)) in self.files.iter().zip(&self.open) {
            let found = fs.read(&Cred::root(), *node, 0, 2 * FILE).map_err(failed("reading a file"))?;
            if found.to_vec() != file.now() {
                return Err(format!("{} is not what was written last", file.name));
            }
        }
        self.open.clear();
        let machine = self.machine.take().expect("it is on");
        machine.engine.export(POOL, false).map_err(failed("export"))?;
        drop(machine);
        let Teller { world, files, weak, marks, .. } = self;
        Ok(Story { swarm: world.swarm.clone(), tape, marks, files, weak, world })
    }
}
