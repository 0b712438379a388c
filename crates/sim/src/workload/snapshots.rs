//! Snapshots and what is done with them: clones, promotions, rollbacks, tags, bookmarks, other
//! names, destroying.
//!
//! The model knows what each head holds, and of each snapshot what its head held when it was taken
//! ([`points`]). Content changes by single calls of a file system whose intent log is not used; all
//! else by changes, each of which is in one group. So after a crash all of it is as at the end of
//! that group: heads, snapshots in their order with their content, where clones come from, tags and
//! bookmarks.

mod draw;
mod points;

use std::collections::BTreeSet;
use std::sync::Arc;

use engine_api::{
    Change, CreateMode, Cred, DatasetFilter, DatasetKind, DirLimit, Error, FileSystem, SetAttr, Stable,
};
use stdx::prng::Prng;

use super::{Done, Life, Workload, failed, is_full};
use crate::history::History;
use crate::machine::properties;
use points::{Files, Head, Picture, Points, Snapshot, TREE};

const FILES: [&str; 3] = ["a", "b", "c"];
/// Bytes of a file and of a write, at the most.
const END: u64 = 48 << 10;
const WRITE: u64 = 16 << 10;

/// See the module.
pub struct SnapshotWork {
    history: History<Points>,
}

impl Default for SnapshotWork {
    fn default() -> SnapshotWork {
        SnapshotWork { history: History::new(Points::begin(), 0) }
    }
}

/// One call that changes the content of a head.
enum Call {
    Create,
    Write(u64, Vec<u8>),
    Truncate(u64),
    Remove,
}

impl Call {
    fn draw(has_file: bool, prng: &mut Prng) -> Call {
        if !has_file {
            return Call::Create;
        }
        match prng.weighted(&[12, 3, 2]) {
            0 => {
                let mut data = vec![0; prng.below(WRITE) as usize + 1];
                prng.fill(&mut data);
                Call::Write(prng.below(END - data.len() as u64), data)
            }
            1 => Call::Truncate(prng.below(END)),
            _ => Call::Remove,
        }
    }

    fn run(&self, fs: &dyn FileSystem, name: &str) -> engine_api::Result<()> {
        let (root, name) = (Cred::root(), name.as_bytes());
        let node = || fs.lookup(&root, fs.root(), name).map(|found| found.node);
        match self {
            Call::Create => {
                fs.create(&root, fs.root(), name, CreateMode::Guarded, &SetAttr::default()).map(drop)
            }
            Call::Write(offset, data) => fs.write(&root, node()?, *offset, data, Stable::Unstable).map(drop),
            Call::Truncate(size) => {
                let set = SetAttr { size: Some(*size), ..SetAttr::default() };
                fs.setattr(&root, node()?, &set).map(drop)
            }
            Call::Remove => fs.remove(&root, fs.root(), name).map(drop),
        }
    }

    fn apply(&self, files: &mut Files, name: &str) {
        if let Call::Remove = self {
            files.remove(name);
            return;
        }
        let bytes = Arc::make_mut(files.entry(name.to_owned()).or_default());
        match self {
            Call::Create | Call::Remove => {}
            Call::Write(offset, data) => {
                let from = *offset as usize;
                bytes.resize(bytes.len().max(from + data.len()), 0);
                bytes[from..from + data.len()].copy_from_slice(data);
            }
            Call::Truncate(size) => bytes.resize(*size as usize, 0),
        }
    }
}

fn read_all(fs: &dyn FileSystem) -> engine_api::Result<Files> {
    let root = Cred::root();
    let limit = DirLimit { entries: 1000, name_bytes: 1 << 16, with_attr: false };
    let mut files = Files::new();
    for entry in fs.readdir(&root, fs.root(), 0, limit)?.entries {
        let node = fs.lookup(&root, fs.root(), &entry.name)?.node;
        let bytes = fs.read(&root, node, 0, END as usize + 1)?.to_vec();
        files.insert(String::from_utf8_lossy(&entry.name).into_owned(), Arc::new(bytes));
    }
    Ok(files)
}

/// What is there.
fn find(life: &Life<'_>) -> Result<Picture, String> {
    let filter = DatasetFilter {
        roots: vec![TREE.to_owned()],
        kinds: vec![DatasetKind::Filesystem, DatasetKind::Snapshot, DatasetKind::Bookmark],
        props: ["origin", "defer_destroy"].map(str::to_owned).to_vec(),
        ..DatasetFilter::default()
    };
    let listed = life.api.datasets(&filter).map_err(failed("listing datasets"))?;
    let mut found = Picture::new();
    for one in &listed {
        let value = |name: &str| {
            let prop = one.props.iter().find(|prop| prop.name == name);
            prop.map_or("", |prop| prop.value.as_str())
        };
        let fact = match one.kind {
            DatasetKind::Filesystem => {
                let below = format!("{}@", one.name);
                let names = listed.iter().filter_map(|other| other.name.strip_prefix(&below));
                Head::fact(value("origin"), &names.collect::<Vec<_>>())
            }
            DatasetKind::Snapshot => {
                let tags = life.api.holds(&one.name).map_err(failed("holds"))?;
                let tags: Vec<&str> = tags.iter().map(|(tag, _)| tag.as_str()).collect();
                Snapshot::fact(&tags, value("defer_destroy") == "on")
            }
            DatasetKind::Bookmark | DatasetKind::Volume => {
                found.insert(one.name.clone(), Default::default());
                continue;
            }
        };
        let files = life.api.open_fs(&one.name).and_then(|fs| read_all(&*fs));
        found.insert(one.name.clone(), (fact, files.map_err(failed(&one.name))?));
    }
    Ok(found)
}

/// In words, where two pictures differ.
fn different(found: &Picture, wanted: &Picture) -> String {
    let names: BTreeSet<&String> = found.keys().chain(wanted.keys()).collect();
    let describe = |picture: &Picture, name: &String| match picture.get(name) {
        Some((fact, files)) => {
            let sizes: Vec<(&String, usize)> =
                files.iter().map(|(name, bytes)| (name, bytes.len())).collect();
            format!("{fact}, files {sizes:?}")
        }
        None => "not there".to_owned(),
    };
    let wrong = names.into_iter().filter(|name| found.get(*name) != wanted.get(*name));
    let told =
        wrong.map(|name| format!("{name}: {}, expected {}", describe(found, name), describe(wanted, name)));
    told.collect::<Vec<_>>().join("; ")
}

impl SnapshotWork {
    fn call(&mut self, life: &Life<'_>, prng: &mut Prng) -> Done {
        let heads: Vec<&String> = self.history.now().heads.keys().collect();
        let head = (*prng.pick(&heads).expect("the tree stays")).clone();
        let name = *prng.pick(&FILES).expect("some");
        let call = Call::draw(self.history.now().heads[&head].files.contains_key(name), prng);
        let earliest = life.open_txg();
        let done = life.api.open_fs(&head).and_then(|fs| call.run(&*fs, name));
        let latest = match done {
            _ if !life.is_on() => u64::MAX,
            Ok(()) => life.open_txg(),
            Err(Error::NoSpace | Error::Quota) => return Ok(()),
            Err(error) => return Err(format!("{head}, {name}: {error:?}")),
        };
        self.history.note(earliest, latest, Clone::clone, |now| {
            call.apply(&mut now.heads.get_mut(&head).expect("it was picked").files, name);
        });
        Ok(())
    }

    fn change(&mut self, life: &Life<'_>, prng: &mut Prng) -> Done {
        let change = draw::change(self.history.now(), prng);
        life.say(|| format!("{change:?}"));
        let next = self.history.now().after(&change);
        let earliest = life.open_txg();
        let (from, until) = match (life.api.commit(&change, ""), &next) {
            (_, None) if !life.is_on() => return Ok(()),
            // The power went: it was done, or it was not.
            (_, Some(_)) if !life.is_on() => (earliest, u64::MAX),
            (Ok(_), None) => return Err(format!("{change:?} was not refused")),
            (Ok(committed), Some(_)) => (committed.txg, committed.txg),
            (Err(Error::Refused(_) | Error::NotFound), None) => return Ok(()),
            (Err(Error::NoSpace | Error::Quota), _) => return Ok(()),
            (Err(Error::Refused(refused)), _) if is_full(&refused) => return Ok(()),
            (Err(error), _) => return Err(format!("{change:?}: {error:?}")),
        };
        self.history.note(from, until, Clone::clone, |now| *now = next.expect("it was not to be refused"));
        if until < u64::MAX {
            self.history.promise(life.synced());
        }
        Ok(())
    }
}

impl Workload for SnapshotWork {
    fn create(&mut self, life: &Life<'_>) -> Done {
        let props = [properties(&life.world.swarm.props), properties(&[("sync", "disabled")])].concat();
        let change = Change::CreateFilesystem { name: TREE.to_owned(), parents: false, props };
        let committed = life.api.commit(&change, "").map_err(failed("creating a file system"))?;
        self.history = History::new(Points::begin(), committed.txg);
        Ok(())
    }

    fn step(&mut self, life: &Life<'_>, prng: &mut Prng) -> Done {
        self.history.synced(life.synced());
        if prng.chance(1, 2) { self.call(life, prng) } else { self.change(life, prng) }
    }

    fn check(&mut self, life: &Life<'_>, txg: u64) -> Done {
        let found = find(life)?;
        let state = self.history.candidates(txg).find(|state| state.picture() == found).cloned();
        if let Some(state) = state {
            self.history = History::new(state, life.synced());
            return Ok(());
        }
        let likely = self.history.candidates(txg).next().map(Points::picture).unwrap_or_default();
        Err(format!("snapshots at the end of group {txg}: {}", different(&found, &likely)))
    }

    fn promised(&self) -> u64 {
        self.history.promised()
    }

    fn promise(&mut self, txg: u64) {
        self.history.promise(txg);
    }
}
