//! Many clients at once, over a pool that syncs meanwhile: nothing waits for ever, and what is left is consistent.

use std::collections::BTreeMap;
use std::sync::Arc;

use engine::{LocalEngine, Options};
use engine_api::{
    CreateMode, Cred, DirLimit, Engine, Error, FileSystem, NewNode, NodeId, NodeKind, RenameMode, SetAttr,
    Stable, XattrMode,
};
use env::Env;
use model::dump;
use stdx::prng::Prng;

use crate::disks::{Dir, new_pool, zdb_is_content};

const ROOT: Cred = Cred::root();
const THREADS: u64 = 6;
const STEPS: u64 = 1500;

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

#[test]
fn many_clients_at_once() {
    let dir = Dir::new("threads");
    let engine = LocalEngine::new(Env::real(), Options::default());
    let pool = new_pool(&engine, &dir.0);
    let fs = pool.open_fs("ours").unwrap();
    let threads: Vec<_> = (0..THREADS)
        .map(|seed| {
            let fs = Arc::clone(&fs);
            std::thread::spawn(move || {
                let mut rng = Prng::new(seed);
                let mut known = vec![fs.root()];
                for at in 0..STEPS {
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
    consistent(&*fs);
    fs.sync().unwrap();
    drop((fs, pool));
    engine.export("ours", false).unwrap();
    zdb_is_content(dir.0.to_str().unwrap(), "ours");
}
