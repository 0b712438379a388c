//! One case: the power goes at an event of a story, disks come to harm, and somebody switches on
//! again.
//!
//! *Within* what redundancy allows the pool must be imported, and each file be as it may be after a
//! power failure. Now and then the power goes during that import too; or the pool is mended, must
//! then be whole on every disk, and as many other disks come to harm: what was resilvered and
//! repaired has to bear that alone.
//!
//! *Beyond* it anything may be refused; but what is given must have been written there once. Half
//! of these pools lose so much while they are off, the others while they run, each of these only
//! for a while: when the disks are back, all is there that was promised before and in between.

mod back;
mod beyond;

use engine_api::{Cred, Engine, FileSystem, ImportOptions, Stable};
use stdx::prng::Prng;

use super::bays::{is_large, new_world};
use super::frozen::{Frozen, content};
use super::harm::{Harm, Harms};
use super::mend;
use super::shape::Shape;
use super::story::{Mark, Story};
use crate::disk::Faults;
use crate::disk::image::Image;
use crate::machine::{Machine, POOL, World};
use crate::promised::Promised;
use crate::swarm::Swarm;
use crate::workload::{Done, Life, failed, whole};

/// Bytes written to each file of a pool that is to be mended.
const WRITE: u64 = 8 << 10;

/// What came of cases.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Power failures, with harm to disks or without, each followed by a recovery that was checked.
    pub cases: u64,
    /// Of them, those with disks harmed, as many as redundancy allows at the most.
    pub within: u64,
    /// Those with more disks harmed, and how many of these pools were imported all the same.
    pub beyond: u64,
    pub beyond_imported: u64,
    /// Of those that lost more than they could while they ran: calls that were answered, and that
    /// failed.
    pub answered: u64,
    pub failed: u64,
    /// Pools made whole again.
    pub mended: u64,
    /// Imports that might go back to an older group, and did.
    pub rewindable: u64,
    pub rewound: u64,
}

impl std::ops::AddAssign for Tally {
    fn add_assign(&mut self, other: Tally) {
        self.cases += other.cases;
        self.within += other.within;
        self.beyond += other.beyond;
        self.beyond_imported += other.beyond_imported;
        self.answered += other.answered;
        self.failed += other.failed;
        self.mended += other.mended;
        self.rewindable += other.rewindable;
        self.rewound += other.rewound;
    }
}

/// The disks at the moment when the power goes, and as they were some time before; in the order of
/// the tape.
pub(super) struct Moment<'a> {
    pub images: &'a [Image],
    pub earlier: &'a [Image],
    /// The marks before and after.
    pub marks: [&'a Mark; 2],
    /// The pool has had the same disks for as long as an import can go back.
    pub is_steady: bool,
}

pub(super) struct Case<'a> {
    story: &'a Story,
    moment: &'a Moment<'a>,
    world: World,
    prng: Prng,
    verbose: bool,
    tally: Tally,
}

impl<'a> Case<'a> {
    pub fn new(story: &'a Story, moment: &'a Moment<'a>, mut prng: Prng, verbose: bool) -> Case<'a> {
        let world = new_world(story.swarm.clone(), &mut prng);
        world.time.advance_to(moment.marks[1].now);
        Case { story, moment, world, prng, verbose, tally: Tally::default() }
    }

    /// Whether everything can be had from sound disks that are not harmed, whichever of the two
    /// marks the pool comes back at, or in between: what caught up in the meantime may not have
    /// done so yet. In an outage any disk may lack something.
    fn is_held(&self, harmed: Harmed<'_>) -> bool {
        let [before, after] = self.moment.marks;
        if after.is_after_outage {
            return before.is_unharmed(harmed) && after.is_unharmed(harmed);
        }
        let late = after.shape.caught_up_since(&before.shape);
        before.is_held(harmed) && after.is_held(&|path| harmed(path) || late.contains(path))
    }

    /// `beyond`: more is lost than redundancy allows, if there is anything to be lost; else that is
    /// drawn.
    pub fn run(mut self, beyond: bool) -> Result<Tally, String> {
        let marks = self.moment.marks;
        let beyond = self.prng.chance(1, 8) || beyond;
        if beyond && self.prng.chance(1, 2) && self.is_held(&|_| false) {
            return self.lose_for_a_while();
        }
        let shapes: Vec<&Shape> = marks.iter().map(|mark| &mark.shape).collect();
        let harms = draw_harms(&mut self.prng.fork(), &shapes, self.story.tape.paths(), beyond, &|harmed| {
            self.is_held(harmed)
        });
        if self.verbose {
            marks.iter().for_each(|mark| eprintln!("  at {}: {:?}", mark.at, mark.shape));
            eprintln!("  {harms:?}");
        }
        self.lay_all(&harms);
        self.tally.cases += 1;
        if !self.is_held(&|path| harms.of(path).is_some()) {
            return self.look_beyond(!harms.is_any_failing());
        }
        self.tally.within += u64::from(!harms.is_empty());
        while self.prng.chance(1, 6) {
            self.crash_import()?;
        }
        let files = self.files(self.moment.marks.map(|mark| &mark.spans[..]));
        let machine = self.world.boot();
        let may_go_back = self.prng.chance(1, 8);
        self.tally.rewindable += u64::from(may_go_back);
        let life = match may_go_back {
            true => back::import_without_need(&self.world, &machine, self.verbose)?,
            false => import(&self.world, &machine, self.verbose)?,
        };
        let found = check(&life, &files).map_err(|why| format!("{why}; {:?}", Shape::of(&life.pool)))?;
        if self.prng.chance(1, 3) {
            self.check_frozen(&life)?;
        }
        if self.prng.chance(1, 4) {
            whole(&life.pool)?;
        }
        if self.prng.chance(1, 8) {
            drop(life);
            self.mend(machine, found)?;
        }
        Ok(self.tally)
    }

    /// The files with the states that may come back: what was promised before the step, and all
    /// that the step may have done.
    fn files(&self, [before, after]: [&[(usize, usize)]; 2]) -> Vec<Candidate<'a>> {
        let spans = before.iter().zip(after).map(|(before, after)| (before.0, after.1));
        self.story.files.iter().zip(spans).map(|(file, span)| Candidate { file, span }).collect()
    }

    /// Snapshots and clones: those of both marks are there, others may be.
    fn check_frozen(&self, life: &Life<'_>) -> Done {
        let [before, after] = self.moment.marks.map(|mark| &mark.frozen[..]);
        let is_in = |all: &[Frozen], one: &Frozen| all.iter().any(|other| other.name == one.name);
        for frozen in before {
            if is_in(after, frozen) { frozen.check(life)? } else { frozen.distrust(life)? }
        }
        after.iter().filter(|frozen| !is_in(before, frozen)).try_for_each(|frozen| frozen.distrust(life))
    }

    /// Puts all disks where they are when the power is back, which goes now.
    fn lay_all(&mut self, harms: &Harms) {
        for (n, path) in self.story.tape.paths().iter().enumerate() {
            let mut image = self.moment.images[n].clone();
            image.crash(self.story.swarm.sector, Swarm::draw_loss(&mut self.prng), &mut self.prng);
            self.lay(harms, n, path, image);
        }
    }

    /// Puts a disk where it is when the power is back.
    fn lay(&mut self, harms: &Harms, n: usize, path: &str, mut image: Image) {
        let (disks, place) = (&self.world.disks, harms.place(path));
        let harm = harms.of(path);
        if let Some(harm) = harm {
            let (size, sector) = (disks.size(path), self.story.swarm.sector);
            harm.apply(&mut image, &self.moment.earlier[n], size, sector, &mut self.prng);
        }
        disks.set_image(place, image);
        disks.set_away(place, harm == Some(Harm::Away));
        disks.set_faults(place, harm.map_or_else(Faults::default, Harm::faults));
    }

    /// The power goes during an import too.
    fn crash_import(&mut self) -> Done {
        if self.prng.chance(1, 2) {
            self.world.disks.cut_after(self.prng.below(80));
        } else {
            self.world.disks.cut_near_flush(self.prng.below(8), self.prng.below(4));
        }
        let machine = self.world.boot();
        let opened = machine.import().and_then(|api| api.open_fs(POOL).map(drop));
        drop(machine);
        if let Err(error) = opened
            && self.world.disks.is_on()
        {
            return Err(format!("import: {error:?}"));
        }
        self.world.disks.restart(Swarm::draw_loss(&mut self.prng));
        self.tally.cases += 1;
        Ok(())
    }

    /// All disks work again, or are replaced; the pool becomes whole and is written; then other
    /// disks are harmed.
    fn mend(&mut self, machine: Machine, mut files: Vec<Promised>) -> Done {
        let paths = self.story.tape.paths();
        paths.iter().for_each(|path| self.world.disks.set_faults(path, Faults::default()));
        let life = Life::of(&self.world, &machine, self.verbose)?;
        let fs = life.api.open_fs(POOL).map_err(failed("the file system"))?;
        for file in &mut files {
            write(&mut self.prng, &*fs, file).map_err(failed("a write"))?;
        }
        drop(fs);
        // A disk that came back as it was once looks whole.
        mend::mend(&life, true)?;
        files.iter_mut().for_each(Promised::promise);
        let shape = Shape::of(&life.pool);
        drop(life);
        if self.prng.chance(1, 2) {
            machine.engine.export(POOL, false).map_err(failed("export"))?;
        }
        drop(machine);
        self.world.disks.restart(Swarm::draw_loss(&mut self.prng));
        let is_held = |harmed: Harmed<'_>| shape.is_held(&|path| !harmed(path));
        let harms = draw_harms(&mut self.prng.fork(), &[&shape], paths, false, &is_held);
        if self.verbose {
            eprintln!("  mended; then {harms:?}");
        }
        let images: Vec<Image> = paths.iter().map(|path| self.world.disks.image(path)).collect();
        for (n, (path, image)) in paths.iter().zip(images).enumerate() {
            self.lay(&harms, n, path, image);
        }
        self.tally.cases += 1;
        self.tally.mended += 1;
        self.tally.within += u64::from(!harms.is_empty());
        let machine = self.world.boot();
        let life =
            import(&self.world, &machine, self.verbose).map_err(|why| format!("after mending: {why}"))?;
        let files: Vec<Candidate<'_>> =
            files.iter().map(|file| Candidate { file, span: file.span() }).collect();
        check(&life, &files).map(drop).map_err(|why| format!("after mending: {why}"))
    }
}

/// Whether the disk of this path is harmed.
type Harmed<'a> = &'a dyn Fn(&str) -> bool;

/// Harms to some disks of these shapes: as many as leave everything held, or just more.
fn draw_harms(
    prng: &mut Prng,
    shapes: &[&Shape],
    all: &[String],
    beyond: bool,
    is_held: &dyn Fn(Harmed<'_>) -> bool,
) -> Harms {
    let is_member =
        |path: &&String| shapes.iter().any(|shape| shape.sides().iter().any(|side| side.path == **path));
    let (mut members, others): (Vec<&String>, Vec<&String>) = all.iter().partition(is_member);
    let mut harms = Harms::default();
    let most = *prng.pick(&[0, 1, 2, members.len()]).expect("some");
    while !members.is_empty() && (beyond || harms.len() < most) {
        let path = members.swap_remove(prng.below(members.len() as u64) as usize);
        let held = is_held(&|harmed| harmed == path || harms.of(harmed).is_some());
        if held || beyond {
            harms.add(path, Harm::draw(prng));
        }
        if !held && beyond {
            break;
        }
    }
    // Disks that are none of the pool's may be anything.
    for path in others {
        if prng.chance(1, 6) {
            harms.add(path, Harm::draw(prng));
        }
    }
    if prng.chance(1, 8) {
        let mut any = || prng.pick(all).expect("some").clone();
        let (a, b) = (any(), any());
        if is_large(&a) == is_large(&b) {
            harms.swap(&a, &b);
        }
    }
    harms
}

/// A file and what it may be.
struct Candidate<'a> {
    file: &'a Promised,
    span: (usize, usize),
}

fn import<'m>(world: &'m World, machine: &'m Machine, verbose: bool) -> Result<Life<'m>, String> {
    import_as(world, machine, verbose, &ImportOptions::default())
}

fn import_as<'m>(
    world: &'m World,
    machine: &'m Machine,
    verbose: bool,
    options: &ImportOptions,
) -> Result<Life<'m>, String> {
    let api = machine.import_as(options).map_err(failed("import"))?;
    let pool = machine.engine.pool_below(POOL).map_err(failed("the imported pool"))?;
    if pool.core().readonly && !options.readonly {
        return Err("the pool came back read-only".to_owned());
    }
    Ok(Life { world, machine, api, pool, verbose })
}

/// Writes somewhere in a file; whether that was promised. What fails may have been done.
fn write(prng: &mut Prng, fs: &dyn FileSystem, file: &mut Promised) -> engine_api::Result<bool> {
    let node = fs.lookup(&Cred::root(), fs.root(), file.name.as_bytes())?.node;
    let mut data = vec![0; prng.below(WRITE) as usize + 1];
    prng.fill(&mut data);
    let offset = prng.below(WRITE);
    let stable = *prng.pick(&[Stable::FileSync, Stable::Unstable]).expect("some");
    file.write(offset as usize, &data);
    fs.write(&Cred::root(), node, offset, &data, stable).inspect_err(|_| file.fail())?;
    Ok(stable == Stable::FileSync)
}

/// Every file is as it may be; gives them as they are.
fn check(life: &Life<'_>, files: &[Candidate<'_>]) -> Result<Vec<Promised>, String> {
    let fs = life.api.open_fs(POOL).map_err(failed("the file system"))?;
    let mut there = Vec::new();
    for Candidate { file, span } in files {
        let found = content(&*fs, &file.name).map_err(failed(&file.name))?;
        if !file.may_have_been(&found, *span) {
            return Err(format!("{} is nothing that it may be", file.name));
        }
        let mut file = Promised::new(file.dataset, file.name.clone());
        file.restart(found);
        there.push(file);
    }
    Ok(there)
}
