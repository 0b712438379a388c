//! Checkpoints: taken, lived with, discarded in steps with the power failing between any two, and
//! gone back to.

use std::sync::Arc;

use api_types::{NewVdevs, VdevSpec};
use env::{Quirk, Tunable};
use pool::change::Change;
use pool::spa::config::Host;
use pool::spa::create::create;
use pool::spa::import::{ImportSpec, import};
use pool::spa::labels::search;
use pool::spa::rewind::Rewind;
use pool::verify::{Options, verify};
use pool::{Pool, PoolError};

use crate::create::spec;
use crate::support::{Dir, around, cut_partitions, shared_fixture, zdb, zdb_accepts};
use crate::vdevs::{Files, leaf};

fn host() -> Host {
    Host { id: 77, name: "here".into() }
}

fn come_back(dir: &Dir, rewind: Rewind, readonly: bool) -> pool::Result<Arc<Pool>> {
    let around = around();
    // Steps of one entry: so there are many.
    around.env.tunables.set(Tunable::DiscardMemoryLimit, 1);
    let found = search(&around.env, &[dir.path()]);
    let tank = found.iter().find(|pool| pool.config.name == "tank").unwrap();
    import(
        &around,
        tank,
        &ImportSpec { rewind, readonly, host: host(), force: true, ..ImportSpec::default() },
    )
}

fn names(pool: &Pool) -> Vec<String> {
    pool.dsl.list(&Default::default()).unwrap().into_iter().map(|listed| listed.name).collect()
}

fn is_whole(pool: &Pool) {
    let report = verify(pool, Options { data: true }, &mut |_, _| {}).unwrap();
    assert!(report.is_clean(), "{:?}", report.problems);
}

fn refused<T>(done: pool::Result<T>, why: &str) {
    match done.map(drop) {
        Err(PoolError::Refused(said)) => assert!(said.to_string().ends_with(why), "{said}"),
        other => panic!("{other:?}, not {why}"),
    }
}

/// A pool with files that was checkpointed, and then lost some of them and got others: the files
/// before, and after.
fn checkpointed(dir: &Dir) -> (Arc<Pool>, Files, Files) {
    let around = around();
    around.env.quirks.set(Quirk::NoResilver, true);
    around.env.tunables.set(Tunable::DiscardMemoryLimit, 1);
    let tops = vec![leaf(dir, "a.img"), VdevSpec::Mirror(vec![leaf(dir, "b.img"), leaf(dir, "c.img")])];
    let pool = create(&around, &spec("tank", tops)).unwrap();
    let before = change(&pool, 0);
    pool.take_checkpoint("zpool checkpoint tank").unwrap();
    before.remove(&pool, 6);
    let after = change(&pool, 100);
    (pool, before, after)
}

/// After the group under way.
fn power_fails(pool: Arc<Pool>) {
    pool.core().txgs.stop().unwrap();
    pool.core().storage.close();
}

/// Makes a file system and files.
fn change(pool: &Pool, number: u32) -> Files {
    let name = format!("tank/fs{number}");
    let create = Change::CreateFilesystem { name, parents: false, props: Vec::new() };
    pool.dsl.commit(create, "").unwrap();
    let mut files = Files::default();
    (0..8).for_each(|_| files.write(pool));
    files
}

#[test]
fn what_a_checkpoint_has_is_kept_and_can_be_had_again() {
    let dir = Dir::new("checkpoint");
    let (pool, before, after) = checkpointed(&dir);
    let stat = pool.core().checkpoint_stat().expect("there is one");
    assert!(!stat.discarding && stat.space >= 6 * (100 << 10), "{stat:?}");
    assert_eq!(stat.space, pool.report().root.children.iter().map(|top| top.checkpoint).sum::<u64>());
    refused(pool.take_checkpoint(""), "cannot checkpoint 'tank': checkpoint exists");
    refused(pool.reguid(None, ""), "cannot reguid 'tank': checkpoint exists");
    let b = crate::vdevs::guid(&pool, "b.img");
    refused(pool.detach_vdev(b, ""), ": checkpoint exists");
    refused(pool.attach_vdev(b, &crate::vdevs::disk(&dir, "d.img"), ""), ": checkpoint exists");
    refused(pool.remove_vdev(crate::vdevs::guid(&pool, "a.img"), ""), ": checkpoint exists");
    is_whole(&pool);
    pool.export().unwrap();
    drop(pool);
    zdb_accepts(&dir, "tank");
    let said = zdb(&dir, &["tank"]);
    assert!(said.contains("Checkpointed uberblock found"), "{said}");
    let said = zdb(&dir, &["-kbcc", "tank"]);
    assert!(said.contains("No leaks"), "{said}");

    // A look, which changes nothing.
    let pool = come_back(&dir, Rewind::Checkpoint, true).unwrap();
    assert_eq!(names(&pool), ["tank", "tank/fs0"]);
    before.check(&pool);
    pool.export().unwrap();
    drop(pool);
    let pool = come_back(&dir, Rewind::Never, false).unwrap();
    assert_eq!(names(&pool), ["tank", "tank/fs0", "tank/fs100"]);
    after.check(&pool);
    assert!(pool.core().checkpoint_stat().is_some_and(|now| now.space >= stat.space));
    is_whole(&pool);
    power_fails(pool);

    let pool = come_back(&dir, Rewind::Checkpoint, false).unwrap();
    assert_eq!((names(&pool), pool.core().checkpoint_stat()), (vec!["tank".into(), "tank/fs0".into()], None));
    before.check(&pool);
    is_whole(&pool);
    refused(pool.discard_checkpoint(""), "cannot discard checkpoint in 'tank': checkpoint does not exist");
    let more = change(&pool, 200);
    pool.export().unwrap();
    drop(pool);
    zdb_accepts(&dir, "tank");
    refused(come_back(&dir, Rewind::Checkpoint, false), "cannot import 'tank': checkpoint does not exist");
    let pool = come_back(&dir, Rewind::Never, false).unwrap();
    before.check(&pool);
    more.check(&pool);
    // Once more: nothing of the first is in the way.
    pool.take_checkpoint("").unwrap();
    pool.export().unwrap();
    drop(pool);
    zdb_accepts(&dir, "tank");
}

#[test]
fn discarding_goes_on_wherever_it_was_cut() {
    let dir = Dir::new("checkpoint-discard");
    let (pool, _, after) = checkpointed(&dir);
    let full = pool.core().storage.space().allocated;
    let kept = pool.core().checkpoint_stat().unwrap().space;
    pool.discard_checkpoint("zpool checkpoint -d tank").unwrap();
    refused(pool.take_checkpoint(""), "cannot checkpoint 'tank': currently discarding checkpoint");
    let (mut pool, mut cuts) = (pool, 0);
    while let Some(stat) = pool.core().checkpoint_stat() {
        assert!(stat.discarding && stat.space <= kept, "{stat:?}");
        power_fails(pool);
        zdb_accepts(&dir, "tank");
        pool = come_back(&dir, Rewind::Never, false).unwrap();
        while pool.core().checkpoint_stat().is_some_and(|now| now.space + kept / 4 > stat.space) {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        cuts += 1;
    }
    assert!(cuts > 2, "{cuts} cuts");
    after.check(&pool);
    for _ in 0..3 {
        pool.core().txgs.sync_empty().unwrap();
    }
    let now = pool.core().storage.space().allocated;
    assert!(now <= full - kept / 2, "{now} of {full} are left, {kept} were kept");
    is_whole(&pool);
    let told = pool.dsl.history(true).unwrap();
    for event in ["checkpointed uberblock txg=", "started discarding", "finished discarding"] {
        assert!(told.iter().any(|record| record.text.contains(event)), "{event}: {told:?}");
    }
    pool.export().unwrap();
    drop(pool);
    zdb_accepts(&dir, "tank");
}

/// A vdev that came after the checkpoint goes with what was done since.
#[test]
fn a_vdev_that_came_later_is_none_any_more() {
    let dir = Dir::new("checkpoint-add");
    let (pool, before, _) = checkpointed(&dir);
    let new = NewVdevs { data: vec![leaf(&dir, "d.img")], ..Default::default() };
    pool.add_vdevs(&new, false, "").unwrap();
    change(&pool, 300);
    pool.export().unwrap();
    drop(pool);
    zdb_accepts(&dir, "tank");
    for rewind in [Rewind::Checkpoint, Rewind::Never] {
        let pool = come_back(&dir, rewind, false).unwrap();
        assert_eq!(pool.config().tree.children.len(), 2);
        before.check(&pool);
        is_whole(&pool);
        pool.export().unwrap();
    }
}

/// One that OpenZFS took, in a pool that has log space maps.
#[test]
fn a_checkpoint_of_openzfs_is_one() {
    for rewind in [Rewind::Never, Rewind::Checkpoint] {
        let dir = Dir::new("checkpoint-openzfs");
        if !shared_fixture(&dir, "checkpointed") {
            return;
        }
        cut_partitions(&dir);
        let around = around();
        let found = search(&around.env, &[dir.path()]);
        let spec = ImportSpec { rewind, host: host(), force: true, ..ImportSpec::default() };
        let pool = import(&around, &found[0], &spec).unwrap();
        assert!(!pool.core().readonly);
        is_whole(&pool);
        if rewind == Rewind::Never {
            let stat = pool.core().checkpoint_stat().expect("there is one");
            assert!(!stat.discarding && stat.time > 0 && stat.space > 0, "{stat:?}");
            pool.discard_checkpoint("").unwrap();
            while pool.core().checkpoint_stat().is_some() {
                pool.core().txgs.sync_empty().unwrap();
            }
            is_whole(&pool);
        }
        assert_eq!(pool.core().checkpoint_stat(), None);
        let name = pool.name();
        pool.export().unwrap();
        drop(pool);
        zdb_accepts(&dir, &name);
    }
}
