//! What is copied: a tree of datasets that changes.

use std::collections::BTreeSet;

use engine_api::{
    Change, CreateMode, Cred, DatasetKind, Error, FileSystem, NewNode, NodeId, RenameMode, Result, SetAttr,
    Stable, XattrMode,
};
use stdx::prng::Prng;

use super::contents::{Seen, see};
use super::{SOURCE, VOLUME, commit};
use crate::machine::properties;
use crate::workload::{Done, Life, failed};

/// Bytes of a volume, at first and at the most; of a file, and of a write, at the most.
const SIZE: u64 = 512 << 10;
const SIZE_MAX: u64 = 2 << 20;
const FILE: u64 = 700 << 10;
const WRITE: u64 = 200 << 10;
/// Files that come and go together.
const MANY: u64 = 40;
/// Datasets beside the volume.
const DATASETS: usize = 4;

/// Values of properties that are sent along.
const PROPS: [(&str, &[&str]); 7] = [
    ("recordsize", &["512", "4K", "32K", "128K", "1M"]),
    ("compression", &["off", "lz4", "gzip-1", "zstd-1", "zle"]),
    ("checksum", &["fletcher4", "sha256"]),
    ("dnodesize", &["legacy", "auto", "1k"]),
    ("xattr", &["sa", "on"]),
    ("test:one", &["a", "b"]),
    ("test:two", &["", "some words"]),
];

/// See the module.
pub struct Source {
    /// File systems below the top that may go and get other names.
    loose: Vec<String>,
    number: u64,
    /// Snapshots that no copy of the tree will have, by guid.
    pub left_out: BTreeSet<u64>,
}

impl Source {
    pub fn create(life: &Life<'_>) -> std::result::Result<Source, String> {
        let create =
            |name: &str| Change::CreateFilesystem { name: name.into(), parents: false, props: Vec::new() };
        commit(life, &create(SOURCE))?;
        let volume = Change::CreateVolume {
            name: VOLUME.to_owned(),
            parents: false,
            sparse: false,
            props: properties(&[("volsize", &SIZE.to_string()), ("volblocksize", "8K")]),
        };
        commit(life, &volume)?;
        Ok(Source { loose: Vec::new(), number: 0, left_out: BTreeSet::new() })
    }

    /// Of everything, with properties of its own now and then, and a bookmark of what is copied
    /// alone; some are held.
    pub fn snapshot(&mut self, life: &Life<'_>, prng: &mut Prng, round: usize) -> Done {
        let names = vec![format!("{SOURCE}@{round}")];
        let props = if prng.chance(1, 3) { properties(&[("test:snap", "yes")]) } else { Vec::new() };
        commit(life, &Change::Snapshot { names: names.clone(), recursive: true, props })?;
        for of in [SOURCE, VOLUME] {
            let (source, name) = (format!("{of}@{round}"), format!("{of}#{round}"));
            commit(life, &Change::Bookmark { source, name })?;
        }
        if is_held(round) && prng.chance(1, 2) {
            commit(
                life,
                &Change::Hold { snapshots: names, tag: "keep".to_owned(), recursive: prng.chance(1, 2) },
            )?;
        }
        Ok(())
    }

    /// Snapshots of the rounds `spared` stay. `base`: the round that the copy of the tree has come
    /// to.
    pub fn step(&mut self, life: &Life<'_>, prng: &mut Prng, base: Option<usize>, spared: &[usize]) -> Done {
        match prng.weighted(&[20, 6, 3, 2, 1, 1, 1, 1, 2, 1]) {
            0 => self.change_files(life, prng),
            1 => change_volume(life, prng),
            2 => self.set(life, prng),
            3 => self.add(life, prng),
            4 => self.clone(life, prng),
            5 => self.promote(life, prng, base),
            6 => self.remove(life, prng),
            7 => self.rename(life, prng),
            8 => thin(life, prng, spared),
            _ => self.rename_snapshot(life, prng, spared),
        }
    }

    fn any(&self, prng: &mut Prng) -> String {
        let at = prng.below(self.loose.len() as u64 + 1) as usize;
        self.loose.get(at).map_or(SOURCE, String::as_str).to_owned()
    }

    fn new_name(&mut self) -> String {
        self.number += 1;
        format!("{SOURCE}/n{}", self.number)
    }

    fn change_files(&self, life: &Life<'_>, prng: &mut Prng) -> Done {
        let name = self.any(prng);
        life.say(|| format!("files of {name}"));
        let fs = life.api.open_fs(&name).map_err(failed(&name))?;
        for _ in 0..prng.range(1, 12) {
            // There may be nothing of this name, or something else.
            if let Some(error) = change_files(&*fs, prng).err().filter(is_damage) {
                return Err(failed(&name)(error));
            }
        }
        Ok(())
    }

    fn set(&self, life: &Life<'_>, prng: &mut Prng) -> Done {
        let (property, values) = *prng.pick(&PROPS).expect("some");
        let name = self.any(prng);
        life.say(|| format!("{property} of {name}"));
        if prng.chance(1, 4) {
            return commit(life, &Change::Inherit { name, property: property.to_owned(), received: false });
        }
        let value = prng.pick(values).expect("some");
        commit(life, &Change::SetProperties { name, props: properties(&[(property, value)]) })
    }

    fn add(&mut self, life: &Life<'_>, prng: &mut Prng) -> Done {
        if self.loose.len() >= DATASETS {
            return Ok(());
        }
        let name = self.new_name();
        let change = Change::CreateFilesystem { name: name.clone(), parents: false, props: Vec::new() };
        life.say(|| format!("create {name}"));
        commit(life, &change)?;
        self.loose.push(name);
        self.change_files(life, prng)
    }

    fn clone(&mut self, life: &Life<'_>, prng: &mut Prng) -> Done {
        let Some(of) = prng.pick(&self.loose).cloned().filter(|_| self.loose.len() < DATASETS) else {
            return Ok(());
        };
        let can = |one: &Seen| one.kind == DatasetKind::Snapshot && !self.left_out.contains(&one.guid);
        let snapshots: Vec<_> = see(&*life.api, &of)?.into_iter().filter(can).collect();
        let Some(snapshot) = prng.pick(&snapshots) else { return Ok(()) };
        let name = self.new_name();
        let (snapshot, props) = (snapshot.name.clone(), Vec::new());
        life.say(|| format!("clone {snapshot} {name}"));
        commit(life, &Change::Clone { snapshot, name: name.clone(), parents: false, props })?;
        self.loose.push(name);
        Ok(())
    }

    /// A clone that takes along snapshots which the copy has, but not the one that streams start
    /// from, would be sent from its beginning: OpenZFS's receiver has these snapshots in a dataset
    /// of another name then, and gets them twice.
    fn promote(&self, life: &Life<'_>, prng: &mut Prng, base: Option<usize>) -> Done {
        let Some(name) = prng.pick(&self.loose).cloned() else { return Ok(()) };
        let seen = see(&*life.api, SOURCE)?;
        let find = |name: &str| seen.iter().find(|one| one.name == name);
        let txg = |name: &str| find(name).map(|one| one.createtxg);
        let origin = find(&name).map_or("", |one| &one.origin);
        let is_sent = |base| txg(&format!("{name}@{base}")).is_some();
        let is_new = |base| txg(origin) >= txg(&format!("{SOURCE}@{base}"));
        if base.is_some_and(|base| !is_sent(base) && !is_new(base)) {
            return Ok(());
        }
        may(life, &Change::Promote { name }).map(drop)
    }

    fn remove(&mut self, life: &Life<'_>, prng: &mut Prng) -> Done {
        let Some(name) = prng.pick(&self.loose).cloned() else { return Ok(()) };
        let seen = see(&*life.api, &name)?;
        let mut names: Vec<String> = seen.into_iter().map(|seen| seen.name).collect();
        names.reverse();
        if may(life, &Change::Destroy { names, defer: false })? {
            self.loose.retain(|other| *other != name);
        }
        Ok(())
    }

    fn rename(&mut self, life: &Life<'_>, prng: &mut Prng) -> Done {
        if self.loose.is_empty() {
            return Ok(());
        }
        let (at, to) = (prng.below(self.loose.len() as u64) as usize, self.new_name());
        let from = std::mem::replace(&mut self.loose[at], to.clone());
        life.say(|| format!("rename {from} {to}"));
        commit(life, &Change::Rename { from, to, parents: false, recursive: false })
    }

    /// Gives the snapshots of a round another name, of one dataset or of all.
    fn rename_snapshot(&mut self, life: &Life<'_>, prng: &mut Prng, spared: &[usize]) -> Done {
        let seen = see(&*life.api, SOURCE)?;
        let can = |one: &&Seen| round_of(&one.name).is_some_and(|round| !spared.contains(&round));
        let snapshots: Vec<_> = seen.iter().filter(can).collect();
        let Some(one) = prng.pick(&snapshots) else { return Ok(()) };
        self.number += 1;
        let (of, _) = one.name.split_once('@').expect("a snapshot");
        let (from, to) = (one.name.clone(), format!("{of}@s{}", self.number));
        let recursive = prng.chance(1, 2);
        may(life, &Change::Rename { from, to, parents: false, recursive }).map(drop)
    }
}

/// Changes something of a copy, and may take a snapshot of that.
pub fn disturb(life: &Life<'_>, prng: &mut Prng, copy: &str) -> Done {
    let seen = see(&*life.api, copy)?;
    let files: Vec<_> = seen.iter().filter(|one| one.kind == DatasetKind::Filesystem).collect();
    let Some(one) = prng.pick(&files) else { return Ok(()) };
    life.say(|| format!("somebody works on {}", one.name));
    let fs = life.api.open_fs(&one.name).map_err(failed(&one.name))?;
    for _ in 0..prng.range(1, 6) {
        if let Some(error) = change_files(&*fs, prng).err().filter(is_damage) {
            return Err(failed(&one.name)(error));
        }
    }
    if prng.chance(1, 2) {
        let names = vec![format!("{}@own", one.name)];
        commit(life, &Change::Snapshot { names, recursive: prng.chance(1, 2), props: Vec::new() })?;
    }
    Ok(())
}

/// Of which round a snapshot is, as long as it has that name.
fn round_of(name: &str) -> Option<usize> {
    name.split_once('@').and_then(|(_, round)| round.parse().ok())
}

/// Rounds whose snapshots may be held: those are never destroyed, for copies of them could not be.
fn is_held(round: usize) -> bool {
    round.is_multiple_of(2)
}

/// Whether it was done; it may well be refused.
fn may(life: &Life<'_>, change: &Change) -> std::result::Result<bool, String> {
    let done = life.api.commit(change, "");
    life.say(|| format!("{change:?}: {:?}", done.as_ref().err()));
    match done {
        Err(error) if is_damage(&error) => Err(format!("{change:?}: {error:?}")),
        done => Ok(done.is_ok()),
    }
}

/// Not what a caller can be blamed for.
pub fn is_damage(error: &Error) -> bool {
    matches!(error, Error::Corrupt { .. } | Error::Suspended)
}

/// Destroys a snapshot.
fn thin(life: &Life<'_>, prng: &mut Prng, spared: &[usize]) -> Done {
    let seen = see(&*life.api, SOURCE)?;
    let can_go = |name: &str| round_of(name).is_some_and(|round| !is_held(round) && !spared.contains(&round));
    let snapshots: Vec<_> = seen.into_iter().filter(|seen| can_go(&seen.name)).collect();
    let Some(snapshot) = prng.pick(&snapshots) else { return Ok(()) };
    may(life, &Change::Destroy { names: vec![snapshot.name.clone()], defer: false }).map(drop)
}

fn change_volume(life: &Life<'_>, prng: &mut Prng) -> Done {
    life.say(|| "the volume".to_owned());
    if prng.chance(1, 6) {
        let size = (prng.below(SIZE_MAX / 8192) + 1) * 8192;
        let props = properties(&[("volsize", &size.to_string())]);
        return commit(life, &Change::SetProperties { name: VOLUME.to_owned(), props });
    }
    let volume = life.api.open_volume(VOLUME).map_err(failed(VOLUME))?;
    let size = volume.geometry().map_err(failed(VOLUME))?.size;
    let at = prng.below(size);
    let len = (prng.below(WRITE) + 1).min(size - at);
    let done = match prng.chance(1, 3) {
        true => volume.write_zeroes(at, len, Stable::Unstable),
        false => volume.write(at, &bytes(prng, len), Stable::Unstable),
    };
    done.map_err(failed(VOLUME))
}

/// Noise, or what can be compressed, or as little as fits a block pointer.
pub fn bytes(prng: &mut Prng, len: u64) -> Vec<u8> {
    let mut bytes = vec![0; len as usize];
    match prng.below(3) {
        0 => prng.fill(&mut bytes),
        1 => bytes.iter_mut().enumerate().for_each(|(at, byte)| *byte = (at / 61) as u8),
        _ => bytes.iter_mut().take(40).for_each(|byte| *byte = 7),
    }
    bytes
}

/// One call, of whatever is there.
pub fn change_files(fs: &dyn FileSystem, prng: &mut Prng) -> Result<()> {
    let (root, any) = (Cred::root(), SetAttr::default());
    let dir = match prng.below(3) {
        0 => fs.root(),
        n => directory(fs, &format!("d{n}"))?,
    };
    let name = format!("f{}", prng.below(6)).into_bytes();
    let node = || fs.lookup(&root, dir, &name).map(|found| found.node);
    match prng.weighted(&[10, 12, 3, 3, 3, 2, 2, 2, 3, 1, 1]) {
        0 => fs.create(&root, dir, &name, CreateMode::Unchecked, &any).map(drop),
        1 => {
            let (at, most) = (prng.below(FILE), 1 << prng.below(18));
            let data = bytes(prng, prng.clone().below(most) + 1);
            fs.write(&root, node()?, at, &data, Stable::Unstable).map(drop)
        }
        2 => fs.setattr(&root, node()?, &SetAttr { size: Some(prng.below(FILE)), ..any }).map(drop),
        3 => fs.punch(&root, node()?, prng.below(FILE), prng.below(FILE)),
        4 => fs.remove(&root, dir, &name).map(drop),
        5 => fs.rename(&root, (dir, &name), (fs.root(), b"f0"), RenameMode::Replace).map(drop),
        6 => fs.link(&root, node()?, fs.root(), b"linked").map(drop),
        7 => {
            let target = vec![b't'; prng.below(300) as usize + 1];
            fs.make(&root, dir, &name, &NewNode::Symlink { target }, &any).map(drop)
        }
        8 => {
            let value = vec![b'v'; prng.below(9000) as usize];
            let name = format!("user.x{}", prng.below(3));
            fs.setxattr(&root, node()?, name.as_bytes(), &value, XattrMode::Either)
        }
        9 => many(|name| fs.create(&root, dir, name, CreateMode::Unchecked, &any).map(drop)),
        _ => many(|name| fs.remove(&root, dir, name).map(drop)),
    }
}

fn directory(fs: &dyn FileSystem, name: &str) -> Result<NodeId> {
    let root = Cred::root();
    match fs.lookup(&root, fs.root(), name.as_bytes()) {
        Err(Error::NotFound) => {
            let made = fs.make(&root, fs.root(), name.as_bytes(), &NewNode::Dir, &SetAttr::default())?;
            Ok(made.attr.node)
        }
        found => Ok(found?.node),
    }
}

/// Files enough that their numbers are others' afterwards.
fn many(each: impl Fn(&[u8]) -> Result<()>) -> Result<()> {
    (0..MANY).try_for_each(|n| each(format!("one of many, with a long name, {n}").as_bytes()))
}
