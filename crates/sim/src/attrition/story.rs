//! A pool in use while its disks come, go and fail, recorded write by write.
//!
//! Some disks are *weak*, as many of each vdev as it can lose at once: they fail reads and writes,
//! lose writes they have answered or put them elsewhere, and lie about flushes. Or they are honest:
//! they fail, but what they take they keep; then they have everything whenever the pool says so.
//! The others are sound, and an operator works on the pool: scrubs, takes disks out of use,
//! replaces and attaches them, by larger ones too, pulls one out, has spares, logs and caches,
//! snapshots and clones, switches off, with a word or without, and puts disks into other bays. He
//! never takes away what only the weak could stand in for, or those that he has pulled, be it that
//! the pool has not noticed yet: within these limits nothing may go wrong at any moment, and every
//! acknowledged write must stay. Now and then more disks than redundancy allows lose their power
//! for a while, and the pool is suspended; or all give wrong bytes for a while.
//!
//! After every step a *mark* is left: how far the tape is, what was promised, which disks have
//! everything.

mod change;
mod outage;
mod power;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use engine_api::{Change, CreateMode, Cred, Engine, FileSystem, NodeId, SetAttr, Stable};
use env::Nanos;
use stdx::prng::Prng;

use super::bays::{all_paths, new_world};
use super::frozen::{Frozen, content};
use super::groups::Groups;
use super::mend;
use super::shape::Shape;
use crate::disk::Faults;
use crate::disk::tape::Tape;
use crate::machine::{Machine, POOL, World, properties};
use crate::promised::Promised;
use crate::swarm::{Layout, Swarm};
use crate::workload::{Done, Life, failed};

const FILES: usize = 4;
/// Snapshots and clones at a time.
const FROZEN: usize = 3;
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
const ACTS: [(Act, u32); 26] = [
    (Act::Write, 24),
    (Act::Read, 3),
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
    (Act::Remove, 2),
    (Act::Pull, 2),
    (Act::Plug, 3),
    (Act::Clear, 2),
    (Act::Trim, 1),
    (Act::Initialize, 1),
    (Act::Reguid, 1),
    (Act::Add, 3),
    (Act::Freeze, 2),
    (Act::Thaw, 1),
    (Act::Restart, 3),
    (Act::Outage, 2),
    (Act::Blur, 1),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Act {
    Write,
    Read,
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
    Remove,
    Pull,
    Plug,
    Clear,
    Trim,
    Initialize,
    Reguid,
    Add,
    /// A snapshot, or a clone of one.
    Freeze,
    Thaw,
    Restart,
    /// Disks without which there is nothing lose their power for a while.
    Outage,
    /// All disks give wrong bytes for a while.
    Blur,
}

/// How things were between two steps.
pub struct Mark {
    /// Events on the tape.
    pub at: usize,
    pub now: Nanos,
    /// Of the pool; 0 while it is off.
    pub guid: u64,
    pub shape: Shape,
    /// Of each file, the states that might come back.
    pub spans: Vec<(usize, usize)>,
    /// Snapshots and clones that are there.
    pub frozen: Vec<Frozen>,
    /// Paths of the disks that are not to be trusted.
    weak: BTreeSet<String>,
    /// More disks were without power since the mark before than the pool can do without. Who came
    /// back may have lacked something for a while, which neither mark tells.
    pub is_after_outage: bool,
}

impl Mark {
    /// Whether all disks of the pool are to be trusted, and none is harmed.
    pub fn is_unharmed(&self, is_harmed: &dyn Fn(&str) -> bool) -> bool {
        self.shape.sides().iter().all(|side| !self.weak.contains(&side.path) && !is_harmed(&side.path))
    }

    /// Whether the pool was the same with the same disks.
    pub fn is_like(&self, other: &Mark) -> bool {
        self.guid == other.guid && self.guid != 0 && self.shape.is_of(&other.shape)
    }

    /// Whether everything can be had from sound disks that are not harmed.
    pub fn is_held(&self, is_harmed: &dyn Fn(&str) -> bool) -> bool {
        self.shape.is_held(&|path| !self.weak.contains(path) && !is_harmed(path))
    }
}

/// What was recorded.
pub struct Story {
    pub swarm: Swarm,
    pub tape: Tape,
    pub marks: Vec<Mark>,
    pub files: Vec<Promised>,
    pub groups: Groups,
    /// The world as it was left, exported.
    pub world: World,
}

fn draw_swarm(prng: &mut Prng) -> Swarm {
    let drawn = Swarm::draw(prng);
    let keep = ["recordsize", "compression", "copies", "redundant_metadata"];
    let props = drawn.props.iter().copied().filter(|(name, _)| keep.contains(name)).collect();
    let layout = *prng.pick(&LAYOUTS).expect("some");
    let gang = *prng.pick(&[[0, 1], [0, 1], [0, 1], [1, 6]]).expect("some");
    Swarm { gang, props, ..drawn.calm(layout, &[]) }
}

fn draw_faults(prng: &mut Prng) -> Faults {
    let mut rate = |most: u64| if prng.chance(1, 2) { prng.below(most) as u32 } else { 0 };
    Faults {
        read: rate(30_000),
        corrupt: rate(30_000),
        write: rate(4_000),
        stuck: rate(40_000),
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
    groups: Groups,
    /// `zpool scrub -e` is known here.
    by_head: bool,
    frozen: Vec<Frozen>,
    /// Snapshots and clones so far.
    freezes: usize,
    weak: BTreeSet<String>,
    /// The weak are honest, and had failed at so many writes and flushes when the last mark was
    /// left.
    honest: Option<BTreeMap<String, u64>>,
    weights: Vec<u32>,
    marks: Vec<Mark>,
    /// There was an outage since the last of them.
    had_outage: bool,
    verbose: bool,
}

impl Story {
    /// Works on a pool, and leaves it exported. `for_zdb`: as a pool that zdb knows.
    pub fn tell(prng: &mut Prng, for_zdb: bool, verbose: bool) -> Result<Story, String> {
        let swarm = draw_swarm(prng);
        if verbose {
            eprintln!("{swarm:?}");
        }
        let mut teller = Teller::begin(swarm, prng.fork(), for_zdb, verbose)?;
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
    fn begin(swarm: Swarm, mut prng: Prng, for_zdb: bool, verbose: bool) -> Result<Teller, String> {
        let mut world = new_world(swarm, &mut prng);
        let machine = world.boot();
        let api = machine.create(&world.swarm).map_err(failed("creating the pool"))?;
        let mut switch = |of| if prng.chance(1, of) { "on" } else { "off" };
        let mut props = properties(&[("autoexpand", switch(2)), ("autoreplace", switch(4))]);
        let failmode = *prng.pick(&["wait", "wait", "continue", "panic"]).expect("some");
        let by_head = prng.chance(1, 2) && !for_zdb;
        props.extend(properties(&[("failmode", failmode)]));
        props.extend(properties(&[("feature@head_errlog", "enabled")]).into_iter().filter(|_| by_head));
        let set = api.commit(&Change::SetPoolProperties { props }, "");
        set.map_err(failed("setting properties"))?;
        // Each story is fond of some acts, and does without others.
        let often =
            |weight: u32, prng: &mut Prng| weight * prng.pick(&[0, 0, 1, 1, 1, 1, 1, 4]).expect("some");
        let mut weights: Vec<u32> = ACTS.iter().map(|(_, weight)| often(*weight, &mut prng)).collect();
        weights[0] = ACTS[0].1;
        let mut teller = Teller {
            world,
            prng,
            machine: Some(machine),
            open: Vec::new(),
            files: Vec::new(),
            groups: Groups::new(0, &[]),
            by_head,
            frozen: Vec::new(),
            freezes: 0,
            weak: BTreeSet::new(),
            honest: None,
            weights,
            marks: Vec::new(),
            had_outage: false,
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
        teller.groups = Groups::new(teller.life()?.synced(), &teller.files);
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
        let honest = self.prng.chance(1, 2);
        for path in &self.weak {
            let faults = draw_faults(&mut self.prng);
            if honest {
                self.world.disks.set_faults(path, Faults { corrupt: 0, lost: 0, misdirected: 0, ..faults });
                continue;
            }
            self.world.disks.set_faults(path, faults);
            if self.prng.chance(1, 3) {
                self.world.disks.set_lying(path, true);
            }
        }
        self.honest = honest.then(BTreeMap::new);
    }

    /// The weak disks that cannot be trusted since the last mark, whatever the pool says.
    fn distrusted(&mut self) -> BTreeSet<String> {
        let Some(known) = &mut self.honest else { return self.weak.clone() };
        let now = |path: &String| (path.clone(), self.world.disks.failures(path));
        let before = std::mem::replace(known, self.weak.iter().map(now).collect());
        let has_failed = |path: &&String| known[*path] != before.get(*path).copied().unwrap_or_default();
        self.weak.iter().filter(has_failed).cloned().collect()
    }

    fn life(&self) -> Result<Life<'_>, String> {
        Life::of(&self.world, self.machine.as_ref().expect("it is on"), self.verbose)
    }

    fn mark(&mut self) -> Done {
        let shape = Shape::of(&self.life()?.pool);
        self.leave_mark(shape)
    }

    fn leave_mark(&mut self, shape: Shape) -> Done {
        if !shape.is_held(&|path| self.is_sound(path)) {
            return Err(format!("sound disks have not everything any more: {shape:?}"));
        }
        let spans = self.files.iter().map(Promised::span).collect();
        let (at, now) = (self.world.disks.taped(), self.world.time.now());
        let guid = if self.machine.is_some() { self.life()?.pool.guid() } else { 0 };
        let (frozen, weak) = (self.frozen.clone(), self.distrusted());
        if let Some(before) = self.marks.last_mut() {
            before.weak.extend(weak.iter().cloned());
        }
        let is_after_outage = std::mem::take(&mut self.had_outage);
        self.marks.push(Mark { at, now, guid, shape, spans, frozen, weak, is_after_outage });
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
            Act::Read => self.read(),
            Act::Freeze => self.freeze(),
            Act::Thaw => self.thaw(),
            Act::Restart => self.restart(),
            Act::Outage => self.outage(),
            Act::Blur => self.blur(),
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
                    self.world.disks.pull(&side.path, Swarm::draw_loss(&mut self.prng));
                }
                Ok(())
            }
            Act::Plug => {
                let away: Vec<String> = self.away().collect();
                if let Some(path) = self.prng.pick(&away) {
                    self.life()?.say(|| format!("plug {path}"));
                    self.world.disks.set_away(path, false);
                }
                self.change(&Change::ClearErrors { guid: None }).map(drop)
            }
            _ => match self.draw(act)? {
                Some(change) => self.change(&change).map(drop),
                None => Ok(()),
            },
        }
    }

    fn away(&self) -> impl Iterator<Item = String> {
        all_paths(&self.world.swarm).filter(|path| self.world.disks.is_away(path))
    }

    /// Whether it was done. Refusals are the operator's business.
    fn change(&self, change: &Change) -> Result<bool, String> {
        self.life()?.change(change)
    }

    fn write(&mut self) -> Done {
        let n = self.prng.below(FILES as u64) as usize;
        let most = *self.prng.pick(&[16, 600, WRITE_MAX]).expect("some");
        let mut data = vec![0; self.prng.below(most) as usize + 1];
        self.prng.fill(&mut data);
        let offset = self.prng.below((FILE - data.len()) as u64) as usize;
        let stable = *self.prng.pick(&[Stable::FileSync, Stable::Unstable]).expect("some");
        self.files[n].write(offset, &data);
        let (fs, node) = self.open[n].clone();
        let before = self.life()?.open_txg();
        let written = fs.write(&Cred::root(), node, offset as u64, &data, stable);
        let after = if written.is_ok() { self.life()?.open_txg() } else { u64::MAX };
        self.groups.note(before, after, &self.files);
        written.inspect_err(|_| self.files[n].fail()).map_err(failed("a write"))?;
        if stable != Stable::Unstable {
            self.files[n].promise();
        }
        Ok(())
    }

    fn read(&mut self) -> Done {
        let n = self.prng.below((FILES + self.frozen.len()) as u64) as usize;
        if let Some(frozen) = n.checked_sub(FILES) {
            return self.frozen[frozen].check(&self.life()?);
        }
        let found = content(&*self.open[n].0, &self.files[n].name).map_err(failed("a read"))?;
        if found != self.files[n].now() {
            Err(format!("{} is something else", self.files[n].name))
        } else {
            Ok(())
        }
    }

    /// All that was written before is durable with it.
    fn freeze(&mut self) -> Done {
        if self.frozen.len() >= FROZEN {
            return Ok(());
        }
        self.freezes += 1;
        let snapshots: Vec<&Frozen> = self.frozen.iter().filter(|frozen| frozen.is_snapshot()).collect();
        let origin = if self.prng.chance(1, 3) { self.prng.pick(&snapshots) } else { None };
        let (frozen, change) = if let Some(origin) = origin {
            let (snapshot, name) = (origin.name.clone(), format!("{POOL}/c{}", self.freezes));
            let clone = Change::Clone { snapshot, name: name.clone(), parents: false, props: Vec::new() };
            (origin.copied(name), clone)
        } else {
            let name = format!("{POOL}@s{}", self.freezes);
            let names = vec![name.clone()];
            let snapshot = Change::Snapshot { names, recursive: false, props: Vec::new() };
            (Frozen::now(name, &self.files), snapshot)
        };
        if self.change(&change)? {
            self.frozen.push(frozen);
            self.files.iter_mut().for_each(Promised::promise);
        }
        Ok(())
    }

    /// Destroys a snapshot or clone, if nothing comes from it.
    fn thaw(&mut self) -> Done {
        let names: Vec<String> = self.frozen.iter().map(|frozen| frozen.name.clone()).collect();
        let Some(name) = self.prng.pick(&names).cloned() else { return Ok(()) };
        let change = Change::Destroy { names: vec![name.clone()], defer: false };
        if self.change(&change)? {
            self.frozen.retain(|frozen| frozen.name != name);
        }
        Ok(())
    }

    /// Everything is well again, and the pool gets whole by itself.
    fn end(mut self) -> Result<Story, String> {
        self.mark()?;
        for path in all_paths(&self.world.swarm) {
            self.world.disks.set_faults(&path, Faults::default());
            self.world.disks.set_lying(&path, false);
        }
        let tape = self.world.disks.take_tape().expect("it runs");
        mend::mend(&self.life()?, true)?;
        self.life()?.say(|| "it is whole".to_owned());
        for (file, (fs, _)) in self.files.iter().zip(&self.open) {
            let found = content(&**fs, &file.name).map_err(failed("reading a file"))?;
            if found != file.now() {
                return Err(format!("{} is not what was written last", file.name));
            }
        }
        for frozen in &self.frozen {
            frozen.check(&self.life()?)?;
        }
        self.open.clear();
        let machine = self.machine.take().expect("it is on");
        machine.engine.export(POOL, false).map_err(failed("export"))?;
        drop(machine);
        let Teller { world, files, groups, marks, .. } = self;
        Ok(Story { swarm: world.swarm.clone(), tape, marks, files, groups, world })
    }
}
