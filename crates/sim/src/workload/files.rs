//! A file system, every call of which is made of the engine and of `model::MemFs`; they must answer
//! alike.
//!
//! After a crash it is as at the end of a group, and what its intent log has to add is there too:
//! see [`oracle`].

mod op;
mod oracle;

use std::mem::discriminant;
use std::sync::{Arc, Mutex};

use engine_api::{Attr, Change, Error, FileSystem, NodeId, NodeKind, Time};
use env::{Nanos, lock};
use model::{MemFs, dump};
use stdx::prng::Prng;

use super::{Done, Life, Workload, failed};
use crate::history::History;
use crate::machine::properties;
use op::{Op, Outcome, Taste, Which};
use oracle::{Promises, Stage};

/// The file system's name.
pub const FILES: &str = "sim/files";
/// Nodes known at a time.
const NODES: usize = 60;

/// A node as the engine and as the model name it.
#[derive(Clone, Copy, Debug)]
struct Known {
    engine: NodeId,
    model: NodeId,
    is_dir: bool,
}

/// The model's clock: stands where the engine's stood when an operation began.
type Hand = Arc<Mutex<Time>>;

/// See the module.
pub struct FileWork {
    fs: Option<Arc<dyn FileSystem>>,
    hand: Hand,
    history: History<Stage>,
    promises: Promises,
    /// The root first.
    known: Vec<Known>,
    taste: Option<Taste>,
    /// One for each `open` that no `close` has answered.
    opened: Vec<Known>,
}

impl Default for FileWork {
    fn default() -> FileWork {
        let hand = Hand::default();
        let history = History::new(Stage { number: 0, fs: MemFs::new(clock(&hand)) }, 0);
        FileWork {
            fs: None,
            hand,
            history,
            promises: Promises::default(),
            known: Vec::new(),
            taste: None,
            opened: Vec::new(),
        }
    }
}

fn clock(hand: &Hand) -> model::Clock {
    let hand = hand.clone();
    Box::new(move || *lock(&hand))
}

fn now(life: &Life<'_>) -> Time {
    let wall = life.world.time.wall();
    Time { secs: wall.secs, nanos: wall.nanos }
}

impl FileWork {
    fn fs(&self) -> Arc<dyn FileSystem> {
        self.fs.as_ref().expect("opened").clone()
    }

    /// Begins anew with a state that is durable as of `txg`.
    fn remember(&mut self, fs: Arc<MemFs>, txg: u64) {
        let stage = Stage { number: 0, fs };
        self.history = match self.promises.sync {
            "disabled" => History::new(stage, txg),
            _ => History::of_every_state(stage, txg),
        };
        self.promises.forget();
    }

    fn do_one(&mut self, life: &Life<'_>, op: &Op) -> Done {
        // No two operations happen at the same moment.
        life.world.time.advance(Nanos::from_micros(1));
        let (began, earliest) = (now(life), life.open_txg());
        *lock(&self.hand) = began;
        let known = self.known.clone();
        let answer = op.run(&*self.fs(), &|which: Which| known[which].engine);
        let latest = life.open_txg();
        life.say(|| format!("{} → {}", short(op), outcome(&answer)));
        let is_covered = self.promises.covers(op);
        if !life.is_on() {
            // Whatever it answered: it was done, or it was not.
            let _ = self.apply(op, &known, earliest, u64::MAX);
            if is_covered {
                self.promises.tries(self.history.now().number);
            }
            return Ok(());
        }
        if matches!(answer, Err(Error::NoSpace | Error::Quota)) {
            return Ok(());
        }
        // A call that fails changes nothing, and is in no group.
        let expected = if op.is_read() || answer.is_err() {
            op.run(&*self.history.now().fs, &|which: Which| known[which].model)
        } else {
            self.apply(op, &known, earliest, latest)
        };
        self.history.synced(life.synced());
        if is_covered {
            let number = self.history.now().number;
            self.promises.tries(number);
            if answer.is_ok() {
                self.promises.keep(op.node().map(|node| known[node].model), number);
            }
        }
        self.agree(op, answer, expected, (now(life) == began).then_some(began))
    }

    /// Makes the call of the model, and notes when it happened.
    fn apply(&mut self, op: &Op, known: &[Known], earliest: u64, latest: u64) -> engine_api::Result<Outcome> {
        let hand = self.hand.clone();
        let mut expected = None;
        let fork = |old: &Stage| Stage { number: old.number, fs: old.fs.fork(clock(&hand)) };
        // The past keeps the copy: the present has the open files.
        self.history.note(earliest, latest, fork, |now| {
            expected = Some(op.run(&*now.fs, &|which: Which| known[which].model));
            now.number += 1;
        });
        expected.expect("it was applied")
    }

    /// Compares two answers, times only of an operation that did not wait; a new node becomes
    /// known.
    fn agree(
        &mut self,
        op: &Op,
        answer: engine_api::Result<Outcome>,
        expected: engine_api::Result<Outcome>,
        began: Option<Time>,
    ) -> Done {
        let differ = |what: String| Err(format!("{}: {what}", short(op)));
        match (answer, expected) {
            (Ok(answer), Ok(expected)) => {
                if let Op::Open { node } = op {
                    self.opened.push(self.known[*node]);
                }
                if answer.bytes != expected.bytes {
                    return differ(different_bytes(&answer.bytes, &expected.bytes));
                }
                if answer.names != expected.names {
                    return differ(format!("{:?}, expected {:?}", answer.names, expected.names));
                }
                if let (Some(found), Some(wanted)) = (answer.attr, expected.attr) {
                    if let Some(what) = different_attrs(&found, &wanted, began) {
                        return differ(what);
                    }
                    if op.makes() {
                        self.learn(Known {
                            engine: found.node,
                            model: wanted.node,
                            is_dir: found.kind == NodeKind::Dir,
                        });
                    }
                }
                Ok(())
            }
            (Err(answer), Err(expected)) if discriminant(&answer) == discriminant(&expected) => Ok(()),
            (answer, expected) => differ(format!("{}, expected {}", outcome(&answer), outcome(&expected))),
        }
    }

    fn learn(&mut self, new: Known) {
        if self.known.iter().any(|known| known.engine == new.engine) {
            return;
        }
        if self.known.len() >= NODES {
            self.known.remove(1);
        }
        self.known.push(new);
    }

    /// Closes the node that was opened first, if it is known still.
    fn close_one(&mut self, life: &Life<'_>) -> Done {
        if !life.is_on() || self.opened.is_empty() {
            return Ok(());
        }
        let first = self.opened.remove(0);
        let which = self.known.iter().position(|known| known.engine == first.engine);
        let which = which.unwrap_or_else(|| {
            self.known.push(first);
            self.known.len() - 1
        });
        self.do_one(life, &Op::Close { node: which })
    }

    /// Pairs the nodes of both sides by their names.
    fn learn_all(&mut self, found: &dyn FileSystem) -> Done {
        let model = self.history.now().fs.clone();
        self.known = vec![Known { engine: found.root(), model: model.root(), is_dir: true }];
        let mut at = 0;
        while at < self.known.len() && self.known.len() < NODES {
            let dir = self.known[at];
            at += 1;
            let root = engine_api::Cred::root();
            let limit = engine_api::DirLimit { entries: 1000, name_bytes: 1 << 20, with_attr: false };
            let Ok(page) = model.readdir(&root, dir.model, 0, limit) else { continue };
            for entry in page.entries {
                let attr = found.lookup(&root, dir.engine, &entry.name).map_err(failed("lookup"))?;
                let is_dir = attr.kind == NodeKind::Dir;
                self.learn(Known { engine: attr.node, model: entry.node, is_dir });
            }
        }
        Ok(())
    }
}

fn different_bytes(found: &[u8], wanted: &[u8]) -> String {
    let at = found.iter().zip(wanted).position(|(a, b)| a != b).unwrap_or(found.len().min(wanted.len()));
    format!("{} bytes, expected {}; the first difference is at {at}", found.len(), wanted.len())
}

fn different_attrs(found: &Attr, wanted: &Attr, began: Option<Time>) -> Option<String> {
    let facts = |attr: &Attr| (attr.kind, attr.mode, attr.nlink, attr.uid, attr.gid, attr.size, attr.rdev);
    if facts(found) != facts(wanted) {
        return Some(format!("{:?}, expected {:?}", facts(found), facts(wanted)));
    }
    // What the operation sets to its own time must be set in both. (Other times differ by what the
    // engine waited.)
    let began = began?;
    let times = [("mtime", found.mtime, wanted.mtime), ("ctime", found.ctime, wanted.ctime)];
    let wrong = times.into_iter().find(|(_, found, wanted)| *wanted == began && *found != began);
    wrong.map(|(name, found, wanted)| format!("{name} {found:?}, expected {wanted:?}"))
}

fn outcome(result: &engine_api::Result<Outcome>) -> String {
    match result {
        Ok(_) => "done".to_owned(),
        Err(error) => format!("{error:?}"),
    }
}

/// An operation without its data.
fn short(op: &Op) -> String {
    let mut text = match op {
        Op::Write { node, offset, data, stable } => {
            format!("Write {{ node: {node}, offset: {offset}, {} bytes, {stable:?} }}", data.len())
        }
        Op::Append { node, data } => format!("Append {{ node: {node}, {} bytes }}", data.len()),
        Op::SetXattr { node, name, value, mode } => {
            format!("SetXattr {{ node: {node}, {}, {} bytes, {mode:?} }}", name.escape_ascii(), value.len())
        }
        Op::Remove { dir, name } => format!("Remove {{ dir: {dir}, {} }}", name.escape_ascii()),
        Op::Lookup { dir, name } => format!("Lookup {{ dir: {dir}, {} }}", name.escape_ascii()),
        other => format!("{other:?}"),
    };
    text.truncate(300);
    text
}

impl Workload for FileWork {
    fn create(&mut self, life: &Life<'_>) -> Done {
        let swarm = &life.world.swarm;
        let props = [properties(&swarm.props), properties(&[("sync", swarm.sync)])].concat();
        self.promises.sync = swarm.sync;
        let change = Change::CreateFilesystem { name: FILES.to_owned(), parents: false, props };
        let committed = life.api.commit(&change, "").map_err(failed("creating a file system"))?;
        self.remember(MemFs::new(clock(&self.hand)), committed.txg);
        self.open(life)?;
        self.learn_all(&*self.fs())
    }

    fn open(&mut self, life: &Life<'_>) -> Done {
        self.fs = Some(life.api.open_fs(FILES).map_err(failed("opening a file system"))?);
        Ok(())
    }

    fn close(&mut self) {
        self.fs = None;
        self.taste = None;
    }

    fn step(&mut self, life: &Life<'_>, prng: &mut Prng) -> Done {
        self.history.synced(life.synced());
        let write_max = life.world.swarm.write_max;
        let taste = self.taste.get_or_insert_with(|| Taste::draw(prng, write_max));
        let kinds: Vec<bool> = self.known.iter().map(|known| known.is_dir).collect();
        let op = taste.next(&kinds, now(life), prng);
        self.do_one(life, &op)?;
        if prng.chance(1, 30) { self.close_one(life) } else { Ok(()) }
    }

    fn check(&mut self, life: &Life<'_>, txg: u64) -> Done {
        let fs = self.fs();
        let found = dump(&*fs).map_err(failed("walking the file system"))?;
        let numbers: Vec<u64> = self.history.candidates(txg).map(|stage| stage.number).collect();
        let groups = numbers.last().copied().zip(numbers.first().copied());
        let groups = groups.ok_or_else(|| format!("no state is possible at the end of group {txg}"))?;
        let stages: Vec<&Stage> = self.history.since(txg).collect();
        let state = self.promises.find((&*fs, &found), groups, &stages, &|| clock(&self.hand));
        let state = state.map_err(|mut why| {
            why.truncate(6);
            format!("files at the end of group {txg}, or after it by the log: {}", why.join("; "))
        })?;
        self.remember(state, life.synced());
        self.opened.clear();
        self.learn_all(&*fs)
    }

    fn promised(&self) -> u64 {
        self.history.promised()
    }

    fn promise(&mut self, txg: u64) {
        self.history.promise(txg);
    }
}
