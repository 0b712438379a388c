//! Administrative changes: datasets come, change and go. Each is durable when `commit` returns.

use std::collections::BTreeMap;

use engine_api::{Change, CreateMode, Cred, DatasetFilter, Error, PropertyChange, SetAttr, Stable};
use stdx::prng::Prng;

use super::{Done, Life, Workload, failed, is_full};
use crate::history::History;
use crate::machine::{POOL, properties};

const NAMES: [&str; 5] = ["sim/tree/a", "sim/tree/b", "sim/tree/a/x", "sim/tree/a/y", "sim/tree/b/x"];
const TREE: &str = "sim/tree";
/// A property of the user's, which nothing else looks at.
const NOTE: &str = "sim:note";

/// Datasets by name, with their own note if they have one.
type Datasets = BTreeMap<String, Option<String>>;

/// See the module.
pub struct DatasetWork {
    history: History<Datasets>,
}

impl Default for DatasetWork {
    fn default() -> DatasetWork {
        DatasetWork { history: History::new(Datasets::new(), 0) }
    }
}

fn draw(now: &Datasets, prng: &mut Prng) -> Change {
    let name = (*prng.pick(&NAMES).expect("some")).to_owned();
    match prng.weighted(&[4, 2, 3, 1, 2]) {
        0 => {
            let props = [("compression", "lz4"), ("recordsize", "8K"), (NOTE, "new")];
            let some = prng.below(4) as usize;
            Change::CreateFilesystem { name, parents: prng.chance(1, 2), props: properties(&props[..some]) }
        }
        1 => {
            let below = format!("{name}/");
            let inside = |other: &&String| **other == name || other.starts_with(&below);
            let names: Vec<String> = now.keys().rev().filter(inside).cloned().collect();
            Change::Destroy { names: if names.is_empty() { vec![name] } else { names }, defer: false }
        }
        2 => {
            let value = format!("{}", prng.below(1000));
            Change::SetProperties { name, props: vec![PropertyChange { name: NOTE.into(), value }] }
        }
        3 => Change::Inherit { name, property: NOTE.into(), received: false },
        _ => {
            let to = (*prng.pick(&NAMES).expect("some")).to_owned();
            Change::Rename { from: name, to, parents: false, recursive: false }
        }
    }
}

/// What a change that was not refused leads to.
fn apply(change: &Change, now: &mut Datasets) {
    match change {
        Change::CreateFilesystem { name, props, .. } => {
            for (at, _) in name.match_indices('/').skip(1) {
                now.entry(name[..at].to_owned()).or_default();
            }
            let note = props.iter().find(|prop| prop.name == NOTE).map(|prop| prop.value.clone());
            now.entry(name.clone()).or_insert(note);
        }
        Change::Destroy { names, .. } => names.iter().for_each(|name| drop(now.remove(name))),
        Change::SetProperties { name, props } => {
            now.insert(name.clone(), Some(props[0].value.clone()));
        }
        Change::Inherit { name, .. } => {
            now.insert(name.clone(), None);
        }
        Change::Rename { from, to, .. } => {
            let below = format!("{from}/");
            let moved: Vec<String> =
                now.keys().filter(|name| *name == from || name.starts_with(&below)).cloned().collect();
            for name in moved {
                let note = now.remove(&name).expect("it was listed");
                now.insert(name.replacen(from, to, 1), note);
            }
        }
        _ => unreachable!("not drawn"),
    }
}

/// Whether a change must be refused.
fn is_refused(change: &Change, now: &Datasets) -> bool {
    let parent = |name: &str| name.rsplit_once('/').expect("names have parts").0.to_owned();
    let has_parent = |name: &str| now.contains_key(&parent(name));
    match change {
        Change::CreateFilesystem { name, parents, .. } => {
            !parents && (now.contains_key(name) || !has_parent(name))
        }
        Change::Destroy { names, .. } => !names.iter().all(|name| now.contains_key(name)),
        Change::SetProperties { name, .. } | Change::Inherit { name, .. } => !now.contains_key(name),
        Change::Rename { from, to, .. } => {
            let inside = to.starts_with(&format!("{from}/"));
            !now.contains_key(from) || now.contains_key(to) || !has_parent(to) || inside
        }
        _ => unreachable!("not drawn"),
    }
}

fn find(life: &Life<'_>) -> Result<Datasets, String> {
    let filter =
        DatasetFilter { roots: vec![TREE.into()], props: vec![NOTE.into()], ..DatasetFilter::default() };
    let listed = life.api.datasets(&filter).map_err(failed("listing datasets"))?;
    let mut found = Datasets::new();
    for dataset in listed {
        let own =
            dataset.props.iter().find(|prop| prop.name == NOTE && prop.source == engine_api::Source::Local);
        found.insert(dataset.name, own.map(|prop| prop.value.clone()));
    }
    Ok(found)
}

/// Puts some bytes into a dataset, so that destroying it has something to free.
fn fill(life: &Life<'_>, now: &Datasets, prng: &mut Prng) -> Done {
    let names: Vec<&String> = now.keys().collect();
    let Some(name) = prng.pick(&names) else { return Ok(()) };
    let mut data = vec![0; prng.below(life.world.swarm.write_max) as usize + 1];
    prng.fill(&mut data);
    life.say(|| format!("fill {name} with {} bytes", data.len()));
    let mut write = || {
        let root = Cred::root();
        let fs = life.api.open_fs(name)?;
        let file = fs.create(&root, fs.root(), b"blob", CreateMode::Unchecked, &SetAttr::default())?;
        fs.write(&root, file.attr.node, prng.below(1 << 20), &data, Stable::Unstable)
    };
    match write() {
        Ok(_) | Err(Error::NoSpace | Error::Quota) => Ok(()),
        Err(error) => Err(format!("filling {name}: {error:?}")),
    }
}

impl Workload for DatasetWork {
    fn create(&mut self, life: &Life<'_>) -> Done {
        let change = Change::CreateFilesystem { name: TREE.into(), parents: false, props: Vec::new() };
        let committed = life.api.commit(&change, "").map_err(failed("creating a dataset"))?;
        assert!(TREE.starts_with(POOL));
        self.history = History::new(Datasets::from([(TREE.to_owned(), None)]), committed.txg);
        Ok(())
    }

    fn step(&mut self, life: &Life<'_>, prng: &mut Prng) -> Done {
        self.history.synced(life.synced());
        if prng.chance(1, 3) {
            return fill(life, self.history.now(), prng);
        }
        let change = draw(self.history.now(), prng);
        life.say(|| format!("{change:?}"));
        let refused = is_refused(&change, self.history.now());
        let earliest = life.open_txg();
        match life.api.commit(&change, if prng.chance(1, 2) { "zfs change" } else { "" }) {
            Ok(_) if refused => Err(format!("{change:?} was not refused")),
            Ok(committed) => {
                self.history.note(committed.txg, committed.txg, Clone::clone, |now| apply(&change, now));
                self.history.promise(life.synced());
                Ok(())
            }
            Err(_) if refused => Ok(()),
            Err(Error::NoSpace | Error::Quota) => Ok(()),
            Err(Error::Refused(refused)) if is_full(&refused) => Ok(()),
            // The power went: it was done, or it was not.
            Err(_) if !life.is_on() => {
                self.history.note(earliest, u64::MAX, Clone::clone, |now| apply(&change, now));
                Ok(())
            }
            Err(error) => Err(format!("{change:?}: {error:?}")),
        }
    }

    fn check(&mut self, life: &Life<'_>, txg: u64) -> Done {
        let found = find(life)?;
        if self.history.candidates(txg).any(|candidate| *candidate == found) {
            self.history = History::new(found, life.synced());
            return Ok(());
        }
        let possible: Vec<&Datasets> = self.history.candidates(txg).collect();
        Err(format!("datasets at the end of group {txg}: {found:?}; possible are {possible:?}"))
    }

    fn promised(&self) -> u64 {
        self.history.promised()
    }

    fn promise(&mut self, txg: u64) {
        self.history.promise(txg);
    }
}
