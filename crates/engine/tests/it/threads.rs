//! Many clients at once, over a pool that syncs meanwhile: nothing waits for ever, and what is left
//! is consistent.

use std::collections::BTreeMap;
use std::sync::Arc;

use engine::{LocalEngine, Options};
use engine_api::{
    Change, CreateMode, Cred, DirLimit, Engine, Error, FileSystem, NewNode, NodeId, NodeKind, RenameMode,
    Seek, SetAttr, Stable, XattrMode,
};
use env::Env;
use model::dump;
use ondisk::object_type::ObjectType;
use pool::verify;
use stdx::prng::Prng;

use crate::disks::{Dir, new_pool, prop, zdb_is_content};

const ROOT: Cred = Cred::root();
const THREADS: u64 = 6;
const STEPS: u64 = 1500;
const CROWDED_STEPS: u64 = 4000;

/// Does something to the nodes it knows.
type Step = fn(&dyn FileSystem, &mut Prng, &mut Vec<NodeId>) -> Result<(), Error>;

/// The errors that a race may give.
fn expected(error: &Error) -> bool {
    use Error::{Exists, Invalid, IsDir, NotDir, NotEmpty, NotFound, NotPermitted, Stale};
    matches!(error, Exists | Invalid(_) | IsDir | NotDir | NotEmpty | NotFound | NotPermitted | Stale)
}

fn step(fs: &dyn FileSystem, rng: &mut Prng, known: &mut Vec<NodeId>) -> Result<(), Error> {
    let any = |rng: &mut Prng, known: &[NodeId]| *rng.pick(&known[known.len().saturating_sub(20)..]).unwrap();
    let (one, two) = (any(rng, known), any(rng, known));
    let one = if rng.chance(1, 3) { fs.root() } else { one };
    let names = (format!("n{}", rng.below(6)), format!("n{}", rng.below(6)));
    let (a, b) = (names.0.as_bytes(), names.1.as_bytes());
    let attr = SetAttr { mode: Some(0o755), ..SetAttr::default() };
    match rng.below(14) {
        0 | 1 => known.push(fs.create(&ROOT, one, a, CreateMode::Unchecked, &attr)?.attr.node),
        2 | 3 => known.push(fs.make(&ROOT, one, a, &NewNode::Dir, &attr)?.attr.node),
        4 => known.push(fs.lookup(&ROOT, one, a)?.node),
        5 => drop(fs.remove(&ROOT, one, a)?),
        6 => drop(fs.rmdir(&ROOT, one, a)?),
        7 => {
            let mode = if rng.chance(1, 3) { RenameMode::Exchange } else { RenameMode::Replace };
            fs.rename(&ROOT, (one, a), (two, b), mode)?;
        }
        8 => drop(fs.link(&ROOT, two, one, a)?),
        9 => {
            let data = vec![rng.below(256) as u8; rng.below(300_000) as usize];
            fs.write(&ROOT, two, rng.below(1 << 20), &data, Stable::Unstable)?;
        }
        10 => drop(fs.read(&ROOT, two, rng.below(1 << 20), 200_000)?.to_vec()),
        11 => {
            let size = Some(rng.below(1 << 20));
            fs.setattr(&ROOT, two, &SetAttr { size, ..SetAttr::default() })?;
        }
        12 => fs.setxattr(&ROOT, two, b"user.x", &vec![1; rng.below(9000) as usize], XattrMode::Either)?,
        _ => {
            fs.open(two)?;
            let listed =
                fs.readdir(&ROOT, one, 0, DirLimit { entries: 10, name_bytes: 999, with_attr: true });
            fs.close(two);
            drop(listed?);
        }
    }
    Ok(())
}

/// Link counts and sizes say what is there.
fn consistent(fs: &dyn FileSystem) {
    let tree = dump(fs).unwrap();
    let mut names: BTreeMap<&[u8], u64> = BTreeMap::new();
    let mut children: BTreeMap<Vec<u8>, (u64, u64)> = BTreeMap::new();
    for (path, node) in &tree.nodes {
        *names.entry(&node.same_as).or_default() += 1;
        if !path.is_empty() {
            let parent = path.iter().rposition(|b| *b == b'/').map_or(&b""[..], |at| &path[..at]);
            let entry = children.entry(parent.to_vec()).or_default();
            entry.0 += 1;
            entry.1 += u64::from(node.kind == NodeKind::Dir);
        }
    }
    for (path, node) in &tree.nodes {
        let (entries, dirs) = children.get(path).copied().unwrap_or_default();
        let place = path.escape_ascii();
        if node.kind == NodeKind::Dir {
            assert_eq!((node.size, node.nlink), (entries + 2, dirs + 2), "/{place}");
        } else {
            assert_eq!(node.nlink, names[&node.same_as[..]], "/{place}");
        }
    }
}

/// Every operation, on names so few that they meet all the time.
fn crowded_step(fs: &dyn FileSystem, rng: &mut Prng, known: &mut Vec<NodeId>) -> Result<(), Error> {
    let any = |rng: &mut Prng, known: &[NodeId]| *rng.pick(&known[known.len().saturating_sub(6)..]).unwrap();
    let (one, two) = (any(rng, known), any(rng, known));
    let one = if rng.chance(1, 2) { fs.root() } else { one };
    let names = (format!("{}", rng.below(3)), format!("{}", rng.below(3)));
    let (a, b) = (names.0.as_bytes(), names.1.as_bytes());
    let attr = SetAttr { mode: Some(0o755), size: rng.chance(1, 3).then_some(0), ..SetAttr::default() };
    let value = vec![rng.below(256) as u8; rng.below(2000) as usize];
    let xattr: &[u8] = if rng.chance(1, 2) { b"user.x" } else { b"user.y" };
    match rng.below(24) {
        0..=2 => known.push(fs.create(&ROOT, one, a, CreateMode::Unchecked, &attr)?.attr.node),
        3 => {
            let exclusive = CreateMode::Exclusive { verifier: rng.below(3) };
            known.push(fs.create(&ROOT, one, a, exclusive, &SetAttr::default())?.attr.node);
        }
        4 | 5 => known.push(fs.make(&ROOT, one, a, &NewNode::Dir, &SetAttr::default())?.attr.node),
        6 => {
            let link = NewNode::Symlink { target: vec![b't'; 1 + rng.below(800) as usize] };
            known.push(fs.make(&ROOT, one, a, &link, &SetAttr::default())?.attr.node);
        }
        7 => known.push(fs.lookup(&ROOT, one, a)?.node),
        8 => known.push(fs.lookup(&ROOT, two, b"..")?.node),
        9 | 10 => drop(fs.remove(&ROOT, one, a)?),
        11 => drop(fs.rmdir(&ROOT, one, a)?),
        12 => {
            let mode =
                *rng.pick(&[RenameMode::Replace, RenameMode::NoReplace, RenameMode::Exchange]).unwrap();
            fs.rename(&ROOT, (one, a), (two, b), mode)?;
        }
        13 => drop(fs.link(&ROOT, two, one, a)?),
        14 => drop(fs.write(&ROOT, two, rng.below(9000), &value, Stable::Unstable)?),
        15 => drop(fs.append(&ROOT, two, &value, Stable::Unstable)?),
        16 => drop(fs.read(&ROOT, two, 0, 20_000)?.to_vec()),
        17 => fs.punch(&ROOT, two, rng.below(9000), 1 + rng.below(9000))?,
        // What the root has would be left in the end.
        18 if two != fs.root() => fs.setxattr(&ROOT, two, xattr, &value, XattrMode::Either)?,
        19 => fs.removexattr(&ROOT, two, xattr)?,
        20 => {
            // One byte over and over: whoever finds another has read a half-written value, or
            // another file.
            let read = fs.getxattr(&ROOT, two, xattr)?;
            assert!(read.windows(2).all(|pair| pair[0] == pair[1]), "a torn value");
            drop(fs.listxattr(&ROOT, two)?);
        }
        21 => {
            let limit = DirLimit { entries: 10, name_bytes: 999, with_attr: true };
            for entry in fs.readdir(&ROOT, one, 0, limit)?.entries {
                assert!(entry.attr.is_none_or(|attr| attr.node == entry.node && attr.kind == entry.kind));
            }
        }
        22 => {
            fs.commit(two)?;
            drop(fs.readlink(&ROOT, two)?);
            fs.seek(&ROOT, two, 0, Seek::Hole)?;
        }
        18 => {}
        _ => {
            fs.open(two)?;
            let removed = fs.remove(&ROOT, one, a);
            let written = fs.write(&ROOT, two, 0, &value, Stable::Unstable);
            fs.close(two);
            let _ = (removed?, written?);
        }
    }
    Ok(())
}

fn run_threads(fs: &Arc<dyn FileSystem>, steps: u64, step: Step) {
    let threads: Vec<_> = (0..THREADS)
        .map(|seed| {
            let fs = Arc::clone(fs);
            std::thread::spawn(move || {
                let mut rng = Prng::new(seed);
                let mut known = vec![fs.root()];
                for at in 0..steps {
                    if let Err(error) = step(&*fs, &mut rng, &mut known) {
                        assert!(expected(&error), "thread {seed}, step {at}: {error}");
                    }
                    if rng.chance(1, 200) {
                        fs.sync().unwrap();
                    }
                }
            })
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
}

fn empty(fs: &dyn FileSystem, dir: NodeId) {
    let limit = DirLimit { entries: 100, name_bytes: 9999, with_attr: false };
    for entry in fs.readdir(&ROOT, dir, 0, limit).unwrap().entries {
        if entry.kind == NodeKind::Dir {
            empty(fs, entry.node);
            fs.rmdir(&ROOT, dir, &entry.name).unwrap();
        } else {
            fs.remove(&ROOT, dir, &entry.name).unwrap();
        }
    }
}

/// Files and directories among a dataset's objects, named or not.
fn objects(below: &pool::Pool, dataset: &str) -> usize {
    let dataset = below.dsl.open_dataset(dataset).unwrap();
    let objset = dataset.objset();
    let numbers = std::iter::successors(objset.next_object(0, 0).unwrap(), |&object| {
        objset.next_object(object, 0).unwrap()
    });
    let kinds = numbers.map(|object| objset.hold(object).unwrap().object_type());
    let nodes = [ObjectType::PLAIN_FILE_CONTENTS, ObjectType::DIRECTORY_CONTENTS];
    kinds.filter(|kind| nodes.contains(kind)).count()
}

/// With extended attributes as system attributes, and as files.
#[test]
fn few_names_and_every_operation_leave_nothing_behind() {
    let dir = Dir::new("crowd");
    let engine = LocalEngine::new(Env::real(), Options::default());
    let pool = new_pool(&engine, &dir.0);
    let below = engine.pool_below("ours").unwrap();
    for xattr in ["sa", "dir"] {
        let name = format!("ours/{xattr}");
        let props = vec![prop("xattr", xattr)];
        let make = Change::CreateFilesystem { name: name.clone(), parents: false, props };
        pool.commit(&make, "zfs create").unwrap();
        let fs = pool.open_fs(&name).unwrap();
        let at_first = objects(&below, &name);
        run_threads(&fs, CROWDED_STEPS, crowded_step);
        consistent(&*fs);
        empty(&*fs, fs.root());
        fs.sync().unwrap();
        assert_eq!(objects(&below, &name), at_first, "{name}");
    }
    let report = verify::verify(&below, verify::Options { data: true }, &mut |_, _| {}).unwrap();
    assert!(report.is_clean(), "{:?}", report.problems);
    drop((below, pool));
    engine.export("ours", false).unwrap();
    zdb_is_content(dir.0.to_str().unwrap(), "ours");
}

#[test]
fn many_clients_at_once() {
    let dir = Dir::new("threads");
    let engine = LocalEngine::new(Env::real(), Options::default());
    let pool = new_pool(&engine, &dir.0);
    let fs = pool.open_fs("ours").unwrap();
    run_threads(&fs, STEPS, step);
    consistent(&*fs);
    fs.sync().unwrap();
    drop((fs, pool));
    engine.export("ours", false).unwrap();
    zdb_is_content(dir.0.to_str().unwrap(), "ours");
}
