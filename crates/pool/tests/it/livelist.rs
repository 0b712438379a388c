//! Livelists of clones: kept through writes, snapshots and crashes, condensed, given up, and freed
//! by; zdb and our verifier hold each against its clone.

use std::sync::Arc;

use api_types::VdevSpec;
use dmu::{Holds, ObjectSpec};
use ondisk::object_type::ObjectType;
use pool::Pool;
use pool::change::Change;
use pool::spa::create::{Surroundings, create};
use pool::spa::import::{ImportSpec, import};
use pool::spa::labels::search;
use stdx::prng::Prng;

use crate::create::spec;
use crate::snapshots::{commit, destroy, is_whole, make, snapshot};
use crate::support::{Dir, around, crash, zdb};

const BLOCK: u64 = 4 << 10;
const BLOCKS: u64 = 4096;

/// A pool with a file system of one object of many blocks, and a clone of it.
fn with_clone(dir: &Dir, around: &Surroundings) -> (Arc<Pool>, u64) {
    let leaf = VdevSpec::Leaf(dir.image("a.img", 256 << 20));
    let pool = create(around, &spec("tank", vec![leaf])).unwrap();
    commit(&pool, make("tank/a", "off")).unwrap();
    let dataset = pool.dsl.open_dataset("tank/a").unwrap();
    let tx = dataset.objset().begin(Holds::new(BLOCK, 16)).unwrap();
    let spec = ObjectSpec::new(ObjectType::PLAIN_FILE_CONTENTS).with_block_size(BLOCK as u32);
    let dnode = dataset.objset().alloc(spec, &tx).unwrap();
    let object = dnode.object();
    drop((tx, dnode, dataset));
    let random = &mut Prng::new(1);
    (0..BLOCKS).step_by(256).for_each(|at| write(&pool, "tank/a", object, at..at + 256, random));
    commit(&pool, snapshot(&["tank/a@s".into()], false)).unwrap();
    clone(&pool, "tank/a@s", "tank/c");
    (pool, object)
}

fn clone(pool: &Pool, snapshot: &str, name: &str) {
    let (snapshot, name) = (snapshot.into(), name.into());
    commit(pool, Change::Clone { snapshot, name, parents: false, props: Vec::new() }).unwrap();
}

fn write(pool: &Pool, name: &str, object: u64, blocks: std::ops::Range<u64>, random: &mut Prng) {
    let dataset = pool.dsl.open_dataset(name).unwrap();
    let mut bytes = vec![0; ((blocks.end - blocks.start) * BLOCK) as usize];
    random.fill(&mut bytes);
    let tx = dataset.objset().begin(Holds::new(bytes.len() as u64, 16)).unwrap();
    dataset.objset().hold(object).unwrap().write(blocks.start * BLOCK, &bytes, &tx).unwrap();
}

/// Writes some blocks below `until` anew, in one group.
fn scribble(pool: &Pool, name: &str, object: u64, (count, until): (u64, u64), random: &mut Prng) {
    for _ in 0..count {
        let at = random.below(until);
        write(pool, name, object, at..at + 1, random);
    }
    pool.core().txgs.sync_now().unwrap();
}

fn livelists(pool: &Pool) -> u64 {
    pool.core().features.count("livelist").unwrap()
}

fn drain(pool: &Pool) {
    while pool.dsl.is_freeing() {
        pool.core().txgs.sync_empty().unwrap();
    }
    assert_eq!(pool.dsl.freeing(), 0);
}

fn reopen(dir: &Dir, around: &Surroundings, readonly: bool) -> Arc<Pool> {
    let found = search(&around.env, &[dir.path()]);
    import(around, &found[0], &ImportSpec { force: true, readonly, ..ImportSpec::default() }).unwrap()
}

/// Lists of which the livelist after `title` consists; zdb has held it against the clone, and all
/// blocks against the maps.
fn judged(dir: &Dir, title: &str) -> Vec<u64> {
    let said = zdb(dir, &["-bccyddd", "tank"]);
    assert!(said.contains("Verifying deleted livelist entries") && said.contains("No leaks"), "{said}");
    for wrong in ["mismatch", "ERROR", "incorrect", "Discrepancy", "MOS object"] {
        assert!(!said.contains(wrong), "{said}");
    }
    let lines = said.lines().filter_map(|line| line.trim().strip_prefix(title)?.strip_prefix(": "));
    let count = |line: &str| line.rsplit(", ").next()?.strip_suffix(" entries")?.parse().ok();
    lines.map(|line| count(line).unwrap_or_else(|| panic!("{line}"))).collect()
}

fn whole(dir: &Dir, around: &Surroundings) {
    let looking = reopen(dir, around, true);
    is_whole(&looking);
    looking.export().unwrap();
}

#[test]
fn a_clone_is_freed_by_what_its_livelist_says() {
    let (dir, around) = (Dir::new("livelist"), around());
    let (pool, object) = with_clone(&dir, &around);
    assert_eq!(livelists(&pool), 1);
    // Short lists, and few blocks freed in a group.
    around.env.quirks.set(env::Quirk::SmallTxg, true);
    let random = &mut Prng::new(2);
    for round in 0..24 {
        scribble(&pool, "tank/c", object, (10, 200), random);
        match round {
            5 => commit(&pool, snapshot(&["tank/c@one".into()], false)).unwrap(),
            8 => commit(&pool, snapshot(&["tank/c@two".into()], false)).unwrap(),
            10 => clone(&pool, "tank/c@two", "tank/d"),
            15 => commit(&pool, destroy(&["tank/c@one".into()], false)).unwrap(),
            _ if round > 10 => scribble(&pool, "tank/d", object, (3, 2000), random),
            _ => {}
        }
    }
    drain(&pool);
    assert_eq!(livelists(&pool), 2);
    let cut = crash(&dir, "livelist-cut");
    pool.export().unwrap();
    drop(pool);
    let lists = judged(&dir, "Livelist");
    // Full ones follow each other, and are put together when most of theirs is gone: 240 blocks of
    // data were noted, and as many of other kinds, of which at most 200 live.
    assert!(lists.len() == 2 && lists.iter().all(|lists| (3..16).contains(lists)), "{lists:?}");
    whole(&dir, &around);
    let pool = reopen(&cut, &around, false);
    scribble(&pool, "tank/c", object, (6, 200), random);
    assert_eq!(livelists(&pool), 2);
    pool.export().unwrap();
    drop(pool);
    judged(&cut, "Livelist");

    let pool = reopen(&dir, &around, false);
    let before = pool.core().storage.space().allocated;
    commit(&pool, destroy(&["tank/d".into()], false)).unwrap();
    commit(&pool, destroy(&["tank/c@two".into()], false)).unwrap();
    drain(&pool);
    assert_eq!(livelists(&pool), 1);
    commit(&pool, destroy(&["tank/c".into()], false)).unwrap();
    let freeing = pool.dsl.freeing();
    assert!(freeing >= 90 * BLOCK, "{freeing}");
    // Half freed, as likely as not.
    pool.export().unwrap();
    drop(pool);
    assert!(judged(&dir, "Deleted Livelist").len() <= 1);
    whole(&dir, &around);
    let pool = reopen(&dir, &around, false);
    drain(&pool);
    assert_eq!(livelists(&pool), 0);
    assert!(pool.core().storage.space().allocated < before - 160 * BLOCK);
    let said = |wanted: &str| {
        let history = pool.dsl.history(true).unwrap();
        history.iter().filter(|record| record.text.contains(wanted)).count()
    };
    assert_eq!((said("(livelist, mintxg="), said("(bptree, mintxg=")), (2, 0), "no tree is walked");
    pool.export().unwrap();
    drop(pool);
    assert_eq!(judged(&dir, "Deleted Livelist"), [0_u64; 0]);
}

#[test]
fn a_livelist_that_is_of_no_use_is_given_up() {
    let (dir, around) = (Dir::new("livelist-given-up"), around());
    let (pool, object) = with_clone(&dir, &around);
    let random = &mut Prng::new(3);
    scribble(&pool, "tank/c", object, (40, 200), random);
    // Contents and origin change.
    commit(&pool, snapshot(&["tank/c@x".into()], false)).unwrap();
    clone(&pool, "tank/c@x", "tank/d");
    scribble(&pool, "tank/d", object, (40, 200), random);
    assert_eq!(livelists(&pool), 2);
    commit(&pool, Change::Promote { name: "tank/d".into() }).unwrap();
    assert_eq!(livelists(&pool), 0, "the one promoted, and the clone that it was of");
    clone(&pool, "tank/a@s", "tank/e");
    commit(&pool, snapshot(&["tank/e@x".into()], false)).unwrap();
    scribble(&pool, "tank/e", object, (40, 200), random);
    assert_eq!(livelists(&pool), 1);
    commit(&pool, Change::Rollback { snapshot: "tank/e@x".into() }).unwrap();
    assert_eq!(livelists(&pool), 0);
    // A quarter is written anew.
    clone(&pool, "tank/a@s", "tank/f");
    scribble(&pool, "tank/f", object, (400, 600), random);
    assert_eq!(livelists(&pool), 1);
    for at in (0..BLOCKS / 2).step_by(256) {
        write(&pool, "tank/f", object, at..at + 256, random);
    }
    pool.core().txgs.sync_now().unwrap();
    assert_eq!(livelists(&pool), 0);
    for name in ["tank/c", "tank/f"] {
        commit(&pool, destroy(&[name.into()], false)).unwrap();
    }
    drain(&pool);
    pool.export().unwrap();
    drop(pool);
    assert_eq!(judged(&dir, "Livelist"), [0_u64; 0]);
    whole(&dir, &around);
}
