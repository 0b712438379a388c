//! What a dataset's space is made of: the parts of random histories add up to `used`, and to each
//! `usedby`, to the byte.

use engine::{LocalEngine, Options};
use engine_api::{
    Change, CreateMode, Cred, DatasetFilter, FileSystem, Pool, SetAttr, SpaceExplained, SpaceHolder,
    SpacePart, Stable,
};
use env::Env;
use stdx::prng::Prng;

use crate::disks::{Dir, new_pool, prop};

const ROOT: Cred = Cred::root();

fn number(pool: &dyn Pool, dataset: &str, property: &str) -> i64 {
    let filter = DatasetFilter {
        roots: vec![dataset.into()],
        depth: Some(0),
        props: vec![property.into()],
        ..DatasetFilter::default()
    };
    pool.datasets(&filter).unwrap()[0].props[0].value.parse().unwrap()
}

fn sum(space: &SpaceExplained, wanted: impl Fn(&SpaceHolder) -> bool) -> i64 {
    space.parts.iter().filter(|part| wanted(&part.holder)).map(|part| part.bytes).sum()
}

fn judge(pool: &dyn Pool, dataset: &str, step: u64) {
    use SpaceHolder::{Child, ChildReservation, Contents, Deleted, Metadata, Overhead, Pool as OfPool};
    let space = pool.explain_space(dataset).unwrap();
    let parts = &space.parts;
    assert_eq!(sum(&space, |_| true), space.used as i64, "{dataset}, step {step}: {parts:#?}");
    assert_eq!(space.used as i64, number(pool, dataset, "used"), "{dataset}, step {step}");
    assert!(!parts.iter().any(|part| part.holder == SpaceHolder::Other), "{dataset}, {step}: {parts:#?}");
    let by = [
        ("usedbysnapshots", sum(&space, |holder| *holder == SpaceHolder::Snapshots)),
        ("usedbyrefreservation", sum(&space, |holder| *holder == SpaceHolder::RefReservation)),
        (
            "usedbychildren",
            sum(&space, |holder| matches!(holder, Child | ChildReservation | OfPool | SpaceHolder::Freeing)),
        ),
        ("usedbydataset", sum(&space, |holder| matches!(holder, Contents | Deleted | Metadata | Overhead))),
    ];
    for (property, told) in by {
        assert_eq!(told, number(pool, dataset, property), "{dataset}, step {step}: {property}, {parts:#?}");
    }
    for part in parts {
        if let (SpaceHolder::Snapshots, [only]) = (part.holder, &part.names[..]) {
            assert_eq!(part.bytes, number(pool, only, "used"), "{only}, step {step}");
        }
    }
}

fn scribble(fs: &dyn FileSystem, rng: &mut Prng) {
    let name = format!("f{}", rng.below(6));
    let attr = SetAttr { mode: Some(0o644), ..SetAttr::default() };
    if rng.below(4) == 0 {
        let _ = fs.remove(&ROOT, fs.root(), name.as_bytes());
        return;
    }
    let file = fs.create(&ROOT, fs.root(), name.as_bytes(), CreateMode::Unchecked, &attr).unwrap().attr.node;
    let mut data = vec![0; 1 + rng.below(200_000) as usize];
    rng.fill(&mut data);
    fs.write(&ROOT, file, rng.below(1 << 20), &data, Stable::Unstable).unwrap();
}

#[test]
fn parts_add_up_to_the_byte() {
    let dir = Dir::new("explain");
    let engine = LocalEngine::new(Env::real(), Options::default());
    let pool = new_pool(&engine, &dir.0);
    let mut rng = Prng::new(77);
    let create = |name: &str, props| {
        let change = Change::CreateFilesystem { name: name.into(), parents: false, props };
        pool.commit(&change, "").unwrap();
    };
    create("ours/a", vec![prop("refreservation", "3M")]);
    create("ours/a/b", vec![prop("reservation", "5M"), prop("copies", "2")]);
    let mut heads = vec!["ours/a".to_owned(), "ours/a/b".to_owned()];
    let mut snapshots: Vec<String> = Vec::new();
    // One that is deleted while it is open, all along.
    let fs = pool.open_fs("ours/a").unwrap();
    let open =
        fs.create(&ROOT, fs.root(), b"open", CreateMode::Guarded, &SetAttr::default()).unwrap().attr.node;
    fs.open(open).unwrap();
    fs.write(&ROOT, open, 0, &[1; 300_000], Stable::Unstable).unwrap();
    fs.remove(&ROOT, fs.root(), b"open").unwrap();
    for step in 0..24 {
        for _ in 0..3 {
            let at = rng.below(heads.len() as u64) as usize;
            scribble(&*pool.open_fs(&heads[at]).unwrap(), &mut rng);
        }
        match rng.below(6) {
            0..3 => {
                let name = format!("{}@s{step}", heads[rng.below(heads.len() as u64) as usize]);
                let names = vec![name.clone()];
                pool.commit(&Change::Snapshot { names, recursive: false, props: vec![] }, "").unwrap();
                snapshots.push(name);
            }
            3 if !snapshots.is_empty() => {
                let at = rng.below(snapshots.len() as u64) as usize;
                let names = vec![snapshots[at].clone()];
                if pool.commit(&Change::Destroy { names, defer: false }, "").is_ok() {
                    snapshots.remove(at);
                }
            }
            4 if !snapshots.is_empty() && heads.len() < 4 => {
                let snapshot = snapshots[rng.below(snapshots.len() as u64) as usize].clone();
                let name = format!("ours/clone{step}");
                let change = Change::Clone { snapshot, name: name.clone(), parents: false, props: vec![] };
                pool.commit(&change, "").unwrap();
                heads.push(name);
            }
            _ => {}
        }
        pool.sync().unwrap();
        judge(&*pool, &heads[rng.below(heads.len() as u64) as usize], step);
    }
    heads.push("ours".into());
    heads.iter().for_each(|head| judge(&*pool, head, 99));
    let deleted = pool.explain_space("ours/a").unwrap();
    let is_open = |part: &SpacePart| part.holder == SpaceHolder::Deleted && part.count == 1 && part.bytes > 0;
    assert!(deleted.parts.iter().any(is_open));
    fs.close(open);
}
