//! A change that relies on something is made where that holds, and changes nothing where it does
//! not.

use engine::{LocalEngine, Options};
use engine_api::refusal::Reason;
use engine_api::{Change, Committed, DatasetFilter, DatasetKind, Error, Pool, Result};
use env::Env;
use stdx::premise::{Premise, relying_on};

use crate::disks::{Dir, new_pool, prop};

const MARK: &str = "com.example:mark";

fn count(pool: &dyn Pool) -> usize {
    let kinds = vec![DatasetKind::Snapshot];
    pool.datasets(&DatasetFilter { kinds, ..DatasetFilter::default() }).unwrap().len()
}

#[test]
fn what_got_a_mark_or_is_another_gets_no_snapshot_with_the_others() {
    let dir = Dir::new("premises");
    let engine = LocalEngine::new(Env::real(), Options::default());
    let pool = new_pool(&engine, &dir.0);
    let create = |name: &str| Change::CreateFilesystem { name: name.into(), parents: false, props: vec![] };
    for name in ["ours/a", "ours/b", "ours/b/c"] {
        pool.commit(&create(name), "").unwrap();
    }
    let things = || {
        let kinds = vec![DatasetKind::Filesystem];
        let all = pool.datasets(&DatasetFilter { kinds, ..DatasetFilter::default() }).unwrap();
        all.into_iter().map(|it| (it.name, it.guid)).collect::<Vec<_>>()
    };
    let snapshots = |name: &str, premise: Premise| -> Result<Committed> {
        let names = ["ours/a", "ours/b", "ours/b/c"].map(|of| format!("{of}@{name}")).to_vec();
        relying_on(Some(premise), || {
            pool.commit(&Change::Snapshot { names, recursive: false, props: vec![] }, "")
        })
    };
    let without = |things: Vec<(String, u64)>| Premise::Without { things, property: MARK.into() };
    let is_outdated = |done: Result<Committed>| {
        assert!(matches!(done, Err(Error::Refused(why)) if why.reason == Reason::Outdated));
    };
    snapshots("one", without(things())).unwrap();
    assert_eq!(count(&*pool), 3);

    // What is inherited is no mark of its own.
    let mark = |name: &str| Change::SetProperties { name: name.into(), props: vec![prop(MARK, "x")] };
    let before = things();
    pool.commit(&mark("ours/b"), "").unwrap();
    let only = |names: &[&str]| {
        let chosen = before.iter().filter(|(name, _)| names.contains(&name.as_str()));
        chosen.cloned().collect::<Vec<_>>()
    };
    snapshots("two", without(only(&["ours/a", "ours/b/c"]))).unwrap();
    is_outdated(snapshots("three", without(before.clone())));
    snapshots("four", Premise::Same { things: before.clone() }).unwrap();
    assert_eq!(count(&*pool), 9);
    let destroy = Change::Destroy { names: vec!["ours/a".into()], defer: false };
    let gone = ["one", "two", "four"].map(|name| format!("ours/a@{name}")).to_vec();
    pool.commit(&Change::Destroy { names: gone, defer: false }, "").unwrap();
    pool.commit(&destroy, "").unwrap();
    pool.commit(&create("ours/a"), "").unwrap();
    is_outdated(snapshots("five", Premise::Same { things: only(&["ours/a"]) }));
    is_outdated(snapshots("six", without(only(&["ours/a"]))));
    assert_eq!(count(&*pool), 6);
}
