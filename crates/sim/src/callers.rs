//! Callers: clients of a file system change names in it, several at the same time, as servers do it
//! for them: each call has a name by which it is known when it is sent again, and its answer is
//! given when what it did is on stable storage. The power goes at some of the writes to the disks,
//! sometimes again during the import; elsewhere the program dies and the machine goes on, with what
//! is in memory that outlives programs. Then every call is asked for.
//!
//! What a directory holds tells which of its client's calls have happened: no two moments of it are
//! the same. Of those the next program knows the answer, or at least that they have happened; of
//! all others it knows nothing, and after a power failure of none. A run is a function of its seed.

use std::collections::VecDeque;
use std::sync::Mutex;

use engine_api::{
    Change, CreateMode, Cred, DirLimit, Engine, FileSystem, NewNode, NodeId, RenameMode, SetAttr, SetTime,
    Time,
};
use env::lock;
use stdx::call::{CallId, working_on};
use stdx::prng::Prng;

use crate::disk::SimDisks;
use crate::ends::{End, Recorded, crash_imports, switch_off};
use crate::machine::{POOL, World, properties};
use crate::memory::SimMemory;
use crate::swarm::{Layout, Swarm};
use crate::workload::failed;

const DATASET: &str = "sim/calls";
const CALLERS: usize = 4;
/// Of the time that a call gives what it makes, in a second record: it tells whether the call was
/// done as a whole. Names of what has none begin with [`WITHOUT_TIME`].
const NANOS: u32 = 5;
const WITHOUT_TIME: char = 'e';

/// What to run.
#[derive(Clone, Debug)]
pub struct Options {
    pub seed: u64,
    /// From an import to a power failure, or to the death of the program.
    pub lives: usize,
    /// Of each client in a life, at the most.
    pub calls: u64,
    /// Writes and flushes of each life at which it ends.
    pub cuts: usize,
}

impl Options {
    pub fn new(seed: u64) -> Options {
        Options { seed, lives: 3, calls: 30, cuts: 24 }
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
    /// Calls that nobody had answered, and that had happened, or had not.
    pub answered_again: u64,
    pub to_be_done: u64,
}

/// The names in a client's directory, the oldest first.
type Names = VecDeque<String>;

/// A call, and when: in writes and flushes of the disks.
struct Call {
    digest: [u8; 32],
    answer: Vec<u8>,
    begin: usize,
    /// It is answered.
    end: Option<usize>,
    /// What the directory holds when it has happened.
    after: Names,
}

/// What a client did in a life.
struct Journal {
    first: Names,
    calls: Vec<Call>,
}

struct Case<'a> {
    options: &'a Options,
    swarm: Swarm,
    tally: Tally,
    /// Calls so far.
    last: Mutex<u64>,
}

/// Runs a seed. `Err` says what is wrong with the engine.
pub fn run(options: &Options) -> Result<Tally, String> {
    let mut prng = Prng::new(options.seed);
    let layout = *prng.pick(&[Layout::Single, Layout::Single, Layout::Mirror]).expect("some");
    let logs: &[usize] = prng.pick(&[&[][..], &[], &[1], &[2]]).expect("some");
    let swarm = Swarm::draw(&mut prng).calm(layout, logs);
    let mut case = Case { options, swarm, tally: Tally::default(), last: Mutex::new(0) };
    let mut world = World::of(case.swarm.clone(), &mut prng);
    world.memory = Some(SimMemory::new(&world.disks));
    let mut names = case.create(&mut world, &mut prng)?;
    for _ in 0..options.lives {
        let recorded = case.live(&mut world, names, &mut prng)?;
        (world, names) = case.cut(&recorded, &mut prng)?;
    }
    Ok(case.tally)
}

fn directory(fs: &dyn FileSystem, caller: usize) -> engine_api::Result<NodeId> {
    Ok(fs.lookup(&Cred::root(), fs.root(), format!("caller-{caller}").as_bytes())?.node)
}

fn with_time(mode: u32, number: u64) -> SetAttr {
    let time = SetTime::To(Time { secs: number as i64, nanos: NANOS });
    SetAttr { mode: Some(mode), mtime: Some(time), ..SetAttr::default() }
}

/// A change of names in a directory. The oldest names go first, and some are always left: so no
/// moment comes again.
fn change(
    fs: &dyn FileSystem,
    dir: NodeId,
    names: &mut Names,
    number: u64,
    prng: &mut Prng,
) -> engine_api::Result<()> {
    let root = &Cred::root();
    let set = with_time(0o644, number);
    let find = |name: &str| fs.lookup(root, dir, name.as_bytes()).map(|attr| attr.node);
    let oldest = if names.len() > 1 && prng.chance(1, 2) { names.pop_front() } else { None };
    let kind = oldest.as_ref().map_or("", |name| &name[..1]);
    match (oldest.as_deref(), prng.below(6)) {
        (Some(old), 0..2) => {
            let name = format!("{kind}{number}");
            fs.rename(root, (dir, old.as_bytes()), (dir, name.as_bytes()), RenameMode::Replace)?;
            names.push_back(name);
        }
        (Some(old), _) if kind == "d" => _ = fs.rmdir(root, dir, old.as_bytes())?,
        (Some(old), _) => _ = fs.remove(root, dir, old.as_bytes())?,
        (None, how) => {
            let file = names.iter().find(|name| name.starts_with('f')).cloned();
            let (kind, what) = match how {
                0 => ("d", Some(NewNode::Dir)),
                // A long one fills a log block almost by itself.
                1 => {
                    let most = *prng.pick(&[300, 3500]).expect("some");
                    ("s", Some(NewNode::Symlink { target: vec![b'x'; 1 + prng.below(most) as usize] }))
                }
                3 => ("e", None),
                _ => ("f", None),
            };
            let name = format!("{kind}{number}");
            match (what, file) {
                (Some(what), _) => _ = fs.make(root, dir, name.as_bytes(), &what, &set)?,
                (None, Some(file)) if how == 2 => _ = fs.link(root, find(&file)?, dir, name.as_bytes())?,
                (None, _) if how == 3 => {
                    let mode = CreateMode::Exclusive { verifier: number };
                    _ = fs.create(root, dir, name.as_bytes(), mode, &SetAttr::default())?;
                }
                _ => _ = fs.create(root, dir, name.as_bytes(), CreateMode::Guarded, &set)?,
            }
            names.push_back(name);
        }
    }
    Ok(())
}

/// All names that there are.
fn list(fs: &dyn FileSystem, dir: NodeId) -> engine_api::Result<Vec<String>> {
    let limit = DirLimit { entries: 10_000, name_bytes: 1 << 20, with_attr: false };
    let page = fs.readdir(&Cred::root(), dir, 0, limit)?;
    let mut names: Vec<String> =
        page.entries.iter().map(|entry| String::from_utf8_lossy(&entry.name).into_owned()).collect();
    names.sort();
    Ok(names)
}

fn sorted(names: &Names) -> Vec<String> {
    let mut names: Vec<String> = names.iter().cloned().collect();
    names.sort();
    names
}

impl Case<'_> {
    fn create(&self, world: &mut World, prng: &mut Prng) -> Result<Vec<Names>, String> {
        let machine = world.boot();
        let api = machine.create(&self.swarm).map_err(failed("creating the pool"))?;
        let sync = *prng.pick(&["standard", "standard", "standard", "always"]).expect("some");
        let change = Change::CreateFilesystem {
            name: DATASET.to_owned(),
            parents: false,
            props: properties(&[("sync", sync)]),
        };
        api.commit(&change, "").map_err(failed(DATASET))?;
        let fs = api.open_fs(DATASET).map_err(failed(DATASET))?;
        let mut all = Vec::new();
        for caller in 0..CALLERS {
            let (root, name) = (&Cred::root(), format!("caller-{caller}"));
            let set = with_time(0o755, 0);
            let made = fs
                .make(root, fs.root(), name.as_bytes(), &NewNode::Dir, &set)
                .map_err(failed("a directory"))?;
            let file = fs.create(root, made.attr.node, b"f", CreateMode::Guarded, &set);
            file.map_err(failed("a file"))?;
            all.push(Names::from(["f".to_owned()]));
        }
        drop((fs, api));
        machine.engine.export(POOL, false).map_err(failed("export"))?;
        Ok(all)
    }

    /// Imports the pool, and records what clients do then.
    fn live(
        &mut self,
        world: &mut World,
        names: Vec<Names>,
        prng: &mut Prng,
    ) -> Result<Recorded<Vec<Journal>>, String> {
        let machine = world.boot();
        let api = machine.import().map_err(failed("import"))?;
        let fs = api.open_fs(DATASET).map_err(failed(DATASET))?;
        api.sync().map_err(failed("sync"))?;
        let memory = world.memory.clone().ok_or("programs have no memory")?;
        memory.start_tape();
        world.disks.start_tape();
        let mut done: Vec<Result<Journal, String>> = Vec::new();
        done.resize_with(CALLERS, || Err("it has not begun".to_owned()));
        let callers = done.iter_mut().zip(names).enumerate().map(|(caller, (done, names))| {
            let mut prng = prng.fork();
            let (fs, disks, last) = (&*fs, &world.disks, &self.last);
            let calls = prng.range(1, self.options.calls);
            let caller = move || *done = work(fs, disks, (caller, names), (last, calls), &mut prng);
            Box::new(caller) as Box<dyn FnOnce() + Send>
        });
        machine.driver.run_callers(callers.collect());
        let journals = done.into_iter().collect::<Result<Vec<Journal>, String>>()?;
        let memory = memory.take_tape().ok_or("no tape runs")?;
        let tape = world.disks.take_tape().ok_or("no tape runs")?;
        self.tally.calls += journals.iter().map(|journal| journal.calls.len() as u64).sum::<u64>();
        Ok(Recorded { tape, memory, journal: journals, now: machine.env.clock.now() })
    }

    /// Lets the power go everywhere in a life, or the program die; gives the machine as the last
    /// end left it, and what was in it.
    fn cut(
        &mut self,
        recorded: &Recorded<Vec<Journal>>,
        prng: &mut Prng,
    ) -> Result<(World, Vec<Names>), String> {
        let (swarm, cuts, len) = (self.swarm.clone(), self.options.cuts, recorded.tape.len());
        let draw = |prng: &mut Prng| if prng.chance(1, 4) { End::Power } else { End::Program };
        recorded.end(&swarm, cuts, prng, draw, |world, (n, end, at), prng| {
            let what = |why| format!("cut {n}, {end:?} at {at} of {len}: {why}");
            let names = self.look(world, &recorded.journal, (n, end, at), prng).map_err(what)?;
            match end {
                End::Program => self.tally.deaths += 1,
                End::Power => self.tally.cuts += 1,
            }
            Ok(names)
        })
    }

    /// Starts, perhaps more than once, and asks for every call.
    fn look(
        &mut self,
        world: &mut World,
        journals: &[Journal],
        (n, end, at): (usize, End, usize),
        prng: &mut Prng,
    ) -> Result<Vec<Names>, String> {
        crash_imports(world, 3, end, |api| api.open_fs(DATASET).map(drop), prng)?;
        let machine = world.boot();
        let api = machine.import().map_err(failed("import"))?;
        let fs = api.open_fs(DATASET).map_err(failed(DATASET))?;
        let mut all = Vec::new();
        for (caller, journal) in journals.iter().enumerate() {
            let names = self.check(&*fs, caller, journal, (end, at));
            all.push(names.map_err(|why| format!("caller {caller}: {why}"))?);
        }
        drop((fs, api));
        switch_off(world, machine, n)?;
        Ok(all)
    }

    /// Which calls have happened, and what is known of all of them; gives what the directory holds.
    fn check(
        &mut self,
        fs: &dyn FileSystem,
        caller: usize,
        journal: &Journal,
        (end, at): (End, usize),
    ) -> Result<Names, String> {
        let dir = directory(fs, caller).map_err(failed("the directory"))?;
        let found = list(fs, dir).map_err(failed("the directory"))?;
        for name in found.iter().filter(|name| !name.starts_with(WITHOUT_TIME)) {
            let attr = fs.lookup(&Cred::root(), dir, name.as_bytes()).map_err(failed(name))?;
            if attr.mtime.nanos != NANOS {
                return Err(format!("{name} was made by half: {attr:?}"));
            }
        }
        let moments = std::iter::once(&journal.first).chain(journal.calls.iter().map(|call| &call.after));
        let moments: Vec<&Names> = moments.collect();
        let happened = moments.iter().position(|names| sorted(names) == found);
        let happened = happened.ok_or_else(|| format!("it never held {found:?}"))?;
        for (number, call) in (1..).zip(&journal.calls) {
            let has = number <= happened;
            let is_answered = call.end.is_some_and(|end| end <= at);
            if is_answered && !has {
                return Err(format!("call {number} was answered, and has not happened"));
            }
            if call.begin > at && has {
                return Err(format!("call {number} had not begun, and has happened"));
            }
            let known = fs.happened(&call.digest).map_err(failed("asking"))?;
            match known {
                Some(known) if !has || end == End::Power => {
                    return Err(format!("call {number} is said to have happened: {known:?}"));
                }
                Some(known) if known.answer.as_ref().is_some_and(|answer| *answer != call.answer) => {
                    return Err(format!("call {number} is answered {known:?}"));
                }
                // Of what happens in memory between two writes some may be missing.
                Some(known) if call.end.is_some_and(|end| end < at) && known.answer.is_none() => {
                    return Err(format!("call {number} was answered, and nobody knows what"));
                }
                None if has && end == End::Program => {
                    return Err(format!("call {number} has happened, and nobody knows it"));
                }
                _ => {}
            }
            if !is_answered && call.begin <= at && end == End::Program {
                self.tally.answered_again += u64::from(has);
                self.tally.to_be_done += u64::from(!has);
            }
        }
        Ok(moments[happened].clone())
    }
}

/// Some calls of a client, one after the other.
fn work(
    fs: &dyn FileSystem,
    disks: &SimDisks,
    (caller, mut names): (usize, Names),
    (last, calls): (&Mutex<u64>, u64),
    prng: &mut Prng,
) -> Result<Journal, String> {
    // Where few wait, the records of many calls are written together, in more than one log block.
    let waits = *prng.pick(&[1, 3]).expect("some");
    let dir = directory(fs, caller).map_err(failed("the directory"))?;
    let mut journal = Journal { first: names.clone(), calls: Vec::new() };
    for _ in 0..calls {
        let number = {
            let mut last = lock(last);
            *last += 1;
            *last
        };
        let (mut digest, mut answer) = ([caller as u8; 32], vec![0; 60 + prng.below(300) as usize]);
        digest[..8].copy_from_slice(&number.to_le_bytes());
        prng.fill(&mut answer);
        let begin = disks.taped();
        let call = CallId { place: caller as u64, digest };
        let (done, keeping) = working_on(call, || change(fs, dir, &mut names, number, prng));
        done.map_err(failed("a call"))?;
        keeping.as_ref().ok_or("a call that changes something has no place for its answer")?.answer(&answer);
        journal.calls.push(Call { digest, answer, begin, end: None, after: names.clone() });
        // A share that is not `sync` answers at once.
        if prng.chance(waits, 4) {
            let promise = fs.promise(dir).map_err(failed("a promise"))?;
            promise().map_err(failed("a promise"))?;
            journal.calls.iter_mut().for_each(|call| _ = call.end.get_or_insert(disks.taped()));
        }
    }
    Ok(journal)
}
