//! Copies: a tree of datasets with a history of its own, sent in every way there is and received
//! beside it.
//!
//! ```text
//!   sim/a ──changes──@1──changes──@2── …       file systems, volumes and clones, one below the other
//!     │  -R with -I or -i, -I, -i, from bookmarks; -L -e -c -p -b -h; cut anywhere and resumed
//!     ▼
//!   sim/b                                      the whole tree: names, origins, contents, properties, holds
//!   sim/fs, sim/volume                         two datasets of it, from snapshot to snapshot
//!     ▼
//!   sim/again                                  a copy of the copy sim/fs
//! ```
//! What was received equals what was sent, and so do heads that nobody wrote to; the copy of the
//! tree is written to at times, which the next receive takes back (-F). Copies are bookmarked as
//! the tree is; no receive disturbs that, and their bookmarks are as good to send from. The last
//! receive of a story is recorded, and the power goes at some of its writes (`cuts`): what can be
//! seen then was sent like that, whole, or waits to be resumed; and the same stream, or the rest of
//! it, makes the copy what it was to be. A run is a function of its seed.

pub(crate) mod contents;
mod cuts;
pub(crate) mod source;
mod transfer;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use engine_api::{Change, DatasetKind, Engine, SendRequest};
use stdx::prng::Prng;

use crate::export;
use crate::machine::{POOL, World};
use crate::swarm::Swarm;
use crate::workload::{Done, Life, failed};
use contents::{Contents, Marks, Seen, later_than, marks, see};
use cuts::Recorded;
use source::Source;
use transfer::Transfer;

/// The tree, and its copy.
const SOURCE: &str = "sim/a";
const COPY: &str = "sim/b";
/// A volume of the tree.
const VOLUME: &str = "sim/a/volume";
/// A copy of the tree's top that is copied itself.
const FIRST: &str = "sim/fs";

/// What to run.
#[derive(Clone, Debug)]
pub struct Options {
    pub seed: u64,
    /// Snapshots of the tree, each with changes before it.
    pub rounds: usize,
    /// Writes and flushes of the last receive at which the power goes.
    pub cuts: usize,
    pub verbose: bool,
    /// Ask zdb in the end, over files in this folder, which exists.
    pub zdb: Option<PathBuf>,
}

impl Options {
    pub fn new(seed: u64) -> Options {
        Options { seed, rounds: 5, cuts: 8, verbose: false, zdb: None }
    }
}

/// What happened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Streams that were received whole.
    pub streams: u64,
    /// Streams that were cut, and gone on with.
    pub resumed: u64,
    /// Power failures.
    pub cuts: u64,
    /// Of them, those after which there was a receive to go on with.
    pub left: u64,
}

/// Runs a seed. `Err` says what is wrong with the engine.
pub fn run(options: &Options) -> Result<Tally, String> {
    let mut prng = Prng::new(options.seed);
    let mut world = World::of(Swarm { disk_size: 160 << 20, ..Swarm::draw_calm(&mut prng) }, &mut prng);
    if options.verbose {
        eprintln!("{:?}", world.swarm);
    }
    let machine = world.boot();
    let api = machine.create(&world.swarm).map_err(failed("creating the pool"))?;
    let pool = machine.engine.pool_below(POOL).map_err(failed("the new pool"))?;
    let life = Life { world: &world, machine: &machine, api, pool, verbose: options.verbose };
    let mut copies = Copies::begin(&life, prng.fork())?;
    for _ in 1..options.rounds {
        copies.round(false)?;
    }
    let recorded = copies.round(true)?.ok_or("nothing was recorded")?;
    let Copies { mut tally, contents, .. } = copies;
    drop(life);
    machine.engine.export(POOL, false).map_err(failed("export"))?;
    drop(machine);
    if let Some(dir) = &options.zdb {
        export::write_files(&world.disks, &world.swarm.all_paths(), dir)?;
        export::zdb(dir)?;
    }
    recorded.cut(&world.swarm, &contents, options, prng, &mut tally)?;
    Ok(tally)
}

/// A dataset that is copied from one of its snapshots to the next.
struct Single {
    of: &'static str,
    to: &'static str,
    /// The round that it has come to.
    base: Option<usize>,
    /// `-L`, from the first stream on.
    large_blocks: bool,
}

/// A story being told.
struct Copies<'a> {
    life: &'a Life<'a>,
    prng: Prng,
    source: Source,
    contents: Contents,
    round: usize,
    /// The round that the copy of the tree has come to.
    base: Option<usize>,
    large_blocks: bool,
    /// The tree may be sent without the snapshots in between.
    leaves_out: bool,
    singles: Vec<Single>,
    /// Bookmarks that copies have been given.
    marks: BTreeMap<&'static str, Marks>,
    tally: Tally,
}

impl<'a> Copies<'a> {
    fn begin(life: &'a Life<'a>, mut prng: Prng) -> Result<Copies<'a>, String> {
        let source = Source::create(life)?;
        let mut single = |of, to| Single { of, to, base: None, large_blocks: prng.chance(1, 2) };
        let singles = vec![single(SOURCE, FIRST), single(VOLUME, "sim/volume"), single(FIRST, "sim/again")];
        Ok(Copies {
            life,
            large_blocks: prng.chance(1, 2),
            leaves_out: prng.chance(1, 2),
            prng,
            source,
            contents: Contents::default(),
            round: 0,
            base: None,
            singles,
            marks: BTreeMap::new(),
            tally: Tally::default(),
        })
    }

    /// Changes, a snapshot, and copies of it; with `recorded` one of them is, and is no rest of
    /// another.
    fn round(&mut self, recorded: bool) -> Result<Option<Recorded>, String> {
        let spared = self.base.into_iter().chain(self.singles.iter().filter_map(|single| single.base));
        let spared: Vec<usize> = spared.collect();
        for _ in 0..self.prng.range(2, 30) {
            self.source.step(self.life, &mut self.prng, self.base, &spared)?;
        }
        self.round += 1;
        self.source.snapshot(self.life, &mut self.prng, self.round)?;
        self.contents.learn(&*self.life.api, SOURCE)?;
        let chosen = if recorded { Some(self.prng.below(3) as usize) } else { None };
        // Of the copy of a copy nothing is recorded: it is received as the others are.
        let chosen = chosen.map(|chosen| if chosen == 2 { self.singles.len() } else { chosen });
        for n in 0..self.singles.len() {
            if chosen.is_none() && self.prng.chance(3, 4) && self.is_there(n) {
                let transfer = self.next_of(n);
                self.pass(&transfer)?;
                self.singles[n].base = Some(self.round);
                self.check_single(n, &transfer)?;
                self.mark(self.singles[n].to)?;
            }
        }
        let Some(chosen) = chosen else {
            if self.prng.chance(2, 3) {
                let transfer = self.next_of_tree();
                self.leave_out(&transfer)?;
                if self.base.is_some() && self.prng.chance(1, 3) {
                    source::disturb(self.life, &mut self.prng, COPY)?;
                }
                self.pass(&transfer)?;
                self.base = Some(self.round);
                self.check_tree(&transfer)?;
                self.mark(COPY)?;
            }
            return Ok(None);
        };
        let transfer = if chosen < self.singles.len() { self.next_of(chosen) } else { self.next_of_tree() };
        self.life.say(|| format!("recorded: {transfer:?}"));
        let marks = self.marks.get(transfer.to).cloned().unwrap_or_default();
        let recorded = Recorded::record(self.life, transfer, marks)?;
        self.contents.check(&*self.life.api, recorded.root())?;
        Ok(Some(recorded))
    }

    /// How the whole tree is sent.
    fn next_of_tree(&mut self) -> Transfer {
        let send = SendRequest {
            snapshot: format!("{SOURCE}@{}", self.round),
            from: self.base.map(|base| format!("{SOURCE}@{base}")),
            intermediates: self.base.is_some() && !(self.leaves_out && self.prng.chance(2, 3)),
            replicate: true,
            holds: true,
            large_blocks: self.large_blocks,
            embed: self.prng.chance(1, 2),
            compress: self.prng.chance(1, 2),
            ..SendRequest::default()
        };
        Transfer { send, to: COPY, force: true, resumable: self.prng.chance(1, 2) }
    }

    /// Notes what the copy will not have: snapshots in between that no clone was made of.
    fn leave_out(&mut self, transfer: &Transfer) -> Done {
        if transfer.send.from.is_none() || transfer.send.intermediates {
            return Ok(());
        }
        let api = &*self.life.api;
        let copied: BTreeSet<u64> = see(api, COPY)?.into_iter().map(|one| one.guid).collect();
        let seen = see(api, SOURCE)?;
        let origins: BTreeSet<&str> = seen.iter().map(|one| one.origin.as_str()).collect();
        let now = format!("@{}", self.round);
        let is_left_out = |one: &&Seen| {
            one.kind == DatasetKind::Snapshot
                && !one.name.ends_with(&now)
                && !origins.contains(&*one.name)
                && !copied.contains(&one.guid)
        };
        self.source.left_out.extend(seen.iter().filter(is_left_out).map(|one| one.guid));
        Ok(())
    }

    /// How one dataset is sent.
    fn next_of(&mut self, n: usize) -> Transfer {
        let Single { of, to, base, large_blocks } = self.singles[n];
        let from = base.map(|base| format!("{of}@{base}"));
        let has_from = from.as_ref().is_some_and(|from| self.life.pool.dsl.object_of(from).is_ok());
        let from = match base {
            Some(base) if !has_from || self.prng.chance(1, 3) => Some(format!("{of}#{base}")),
            _ => from,
        };
        let is_bookmark = from.as_ref().is_some_and(|from| from.contains('#'));
        let send = SendRequest {
            snapshot: format!("{of}@{}", self.round),
            intermediates: from.is_some() && !is_bookmark && self.prng.chance(1, 2),
            from,
            large_blocks,
            embed: self.prng.chance(1, 2),
            compress: self.prng.chance(1, 2),
            props: self.prng.chance(1, 3),
            backup: self.prng.chance(1, 6),
            holds: self.prng.chance(1, 3),
            ..SendRequest::default()
        };
        Transfer { send, to, force: false, resumable: self.prng.chance(1, 2) }
    }

    /// Sends and receives; a stream of one snapshot may be cut on its way, again and again.
    fn pass(&mut self, transfer: &Transfer) -> Done {
        self.life.say(|| format!("{transfer:?}"));
        let api = &*self.life.api;
        let mut stream = transfer.stream(api)?;
        let mut cuts = if transfer.is_simple() && transfer.resumable { self.prng.below(3) } else { 0 };
        while cuts > 0 {
            cuts -= 1;
            let len = self.prng.below(stream.len() as u64) as usize;
            if transfer.receive(api, &stream[..len]).is_ok() {
                return Err(format!("{len} bytes of {} were taken for all", stream.len()));
            }
            if let Some(token) = transfer::token_of(api, transfer.to)? {
                stream = transfer.rest(api, &token)?;
                self.tally.resumed += 1;
            }
        }
        self.tally.streams += 1;
        transfer.receive(api, &stream)
    }

    /// What one dataset is to be copied from has come.
    fn is_there(&self, n: usize) -> bool {
        self.life.pool.dsl.object_of(&format!("{}@{}", self.singles[n].of, self.round)).is_ok()
    }

    /// A copy has the bookmarks that it was given, and gets one of what has come.
    fn mark(&mut self, copy: &'static str) -> Done {
        let api = &*self.life.api;
        let (wanted, found) = (self.marks.entry(copy).or_default(), marks(api, copy)?);
        if *wanted != found {
            return Err(format!("{copy} was given bookmarks {wanted:?}, has {found:?}"));
        }
        let round = self.round;
        let (source, name) = (format!("{copy}@{round}"), format!("{copy}#{round}"));
        commit(self.life, &Change::Bookmark { source, name })?;
        let found = marks(api, copy)?;
        // It names the same as the one that was made of what was sent.
        let theirs = marks(api, if copy == "sim/volume" { VOLUME } else { SOURCE })?;
        let short = round.to_string();
        if found.get(&short) != theirs.get(&short) {
            return Err(format!(
                "{copy}#{round} is of {:?}, not {:?}",
                found.get(&short),
                theirs.get(&short)
            ));
        }
        *self.marks.entry(copy).or_default() = found;
        Ok(())
    }

    fn check_single(&self, n: usize, transfer: &Transfer) -> Done {
        let Single { of, to, .. } = self.singles[n];
        let (api, send) = (&*self.life.api, &transfer.send);
        self.contents.check(api, to)?;
        let base = send.from.as_ref().and_then(|from| from.split(['@', '#']).nth(1));
        let mut sent = later_than(api, of, base.filter(|_| send.intermediates))?;
        if !send.intermediates {
            sent.retain(|(name, _)| *name == self.round.to_string());
        }
        let came = later_than(api, to, base)?;
        if sent != came {
            return Err(format!("of {of} were sent {sent:?}, {to} got {came:?}"));
        }
        let has_props = send.props || send.backup;
        if has_props {
            self.check_props(of, to, send.backup)?;
        }
        for (name, _) in sent {
            let (from, there) = (format!("{of}@{name}"), format!("{to}@{name}"));
            if has_props {
                self.check_props(&from, &there, send.backup)?;
            }
            if send.holds {
                self.check_holds(&from, &there)?;
            }
        }
        Ok(())
    }

    /// All of the tree is there but for what was left out, and nothing else.
    fn check_tree(&self, transfer: &Transfer) -> Done {
        let api = &*self.life.api;
        self.contents.check(api, COPY)?;
        let outline = |root: &str| -> Result<Vec<(String, String)>, String> {
            let name = |seen: &Seen| (seen.name[root.len()..].to_owned(), seen.origin.replacen(root, "", 1));
            let is_left_out = |seen: &&Seen| root == SOURCE && self.source.left_out.contains(&seen.guid);
            Ok(see(api, root)?.iter().filter(|seen| !is_left_out(seen)).map(name).collect())
        };
        let (wanted, found) = (outline(SOURCE)?, outline(COPY)?);
        if wanted != found {
            return Err(format!("the tree is {wanted:#?}, its copy {found:#?}"));
        }
        for (name, _) in &wanted {
            let (from, to) = (format!("{SOURCE}{name}"), format!("{COPY}{name}"));
            self.check_props(&from, &to, transfer.send.backup)?;
            if name.contains('@') {
                self.check_holds(&from, &to)?;
            }
        }
        Ok(())
    }

    fn check_props(&self, from: &str, to: &str, backup: bool) -> Done {
        let dsl = &self.life.pool.dsl;
        let wanted = dsl.sendable_props(from, backup).map_err(failed(from))?;
        let found = dsl.sendable_props(to, true).map_err(failed(to))?;
        if wanted == found {
            return Ok(());
        }
        Err(format!("{from} has {wanted:?}, {to} received {found:?}"))
    }

    fn check_holds(&self, from: &str, to: &str) -> Done {
        let tags = |name: &str| -> Result<Vec<String>, String> {
            let tags = self.life.api.holds(name).map_err(failed(name))?;
            Ok(tags.into_iter().map(|(tag, _)| tag).collect())
        };
        let (wanted, found) = (tags(from)?, tags(to)?);
        if wanted == found { Ok(()) } else { Err(format!("{from} is held by {wanted:?}, {to} by {found:?}")) }
    }
}

/// Makes a change that must succeed.
fn commit(life: &Life<'_>, change: &Change) -> Done {
    life.api.commit(change, "").map(drop).map_err(|error| format!("{change:?}: {error:?}"))
}
