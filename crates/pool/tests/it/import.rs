//! What an import must notice before it believes or writes anything.

use std::sync::Arc;

use api_types::VdevSpec;
use dmu::Tx;
use dmu::zap::Zap;
use env::{DiskError, Env, FaultDisks, FaultKind, FaultOp, FaultRule, MemDisks};
use ondisk::object_type::pool_directory;
use ondisk::scan::FUNC_RESILVER;
use pool::change::Change;
use pool::spa::config::Host;
use pool::spa::create::{Surroundings, create};
use pool::spa::import::{ImportSpec, import};
use pool::spa::labels::search;
use pool::verify::{Options, verify};
use pool::{Pool, PoolError};
use storage::VdevState;

use crate::create::spec;
use crate::support::{Dir, around, fixture, zdb, zdb_accepts};

const SIZE: u64 = 128 << 20;

pub fn again(dir: &Dir) -> Arc<Pool> {
    let around = around();
    let found = search(&around.env, &[dir.path()]);
    assert_eq!(found.len(), 1);
    let host = Host { id: 77, name: "here".into() };
    import(&around, &found[0], &ImportSpec { host, ..ImportSpec::default() }).unwrap()
}

fn sides(pool: &Pool) -> Vec<VdevState> {
    pool.core().storage.status().children[0].children.iter().map(|side| side.state).collect()
}

#[test]
fn a_side_that_was_away_is_not_believed_when_it_comes_back() {
    let dir = Dir::new("behind");
    let (a, b) = (dir.image("a.img", SIZE), dir.image("b.img", SIZE));
    let mirror = VdevSpec::Mirror(vec![VdevSpec::Leaf(a), VdevSpec::Leaf(b.clone())]);
    create(&around(), &spec("tank", vec![mirror])).unwrap().export().unwrap();
    let elsewhere = Dir::new("away");
    let away = elsewhere.image_path("b.img");
    std::fs::copy(&b, &away).and_then(|_| std::fs::remove_file(&b)).unwrap();
    let pool = again(&dir);
    assert_eq!(sides(&pool), [VdevState::Online, VdevState::Unavail]);
    let first = pool.core().txgs.synced();
    for _ in 0..3 {
        pool.core().txgs.sync_empty().unwrap();
    }
    pool.export().unwrap();
    let last = pool.core().txgs.synced();
    drop(pool);
    std::fs::copy(&away, &b).unwrap();
    zdb_accepts(&dir, "tank");
    let around = around();
    let found = search(&around.env, &[dir.path()]);
    let pool = import(&around, &found[0], &ImportSpec { readonly: true, ..ImportSpec::default() }).unwrap();
    assert_eq!(sides(&pool), [VdevState::Online; 2]);
    assert_eq!(pool.core().storage.behind().len(), 1);
    pool.export().unwrap();
    let logs = zdb(&dir, &["-ddd", "tank"]);
    let missing: Vec<u64> = logs.split_once("missing [").map_or_else(Vec::new, |(_, range)| {
        let numbers = range.split(|c: char| !c.is_ascii_digit()).filter_map(|word| word.parse().ok());
        numbers.take(2).collect()
    });
    assert!(missing.len() == 2 && missing[0] <= first && missing[1] >= last, "{first} to {last}: {logs}");
}

#[test]
fn a_side_that_could_not_flush_is_known_by_the_group_it_may_have_lost() {
    let memory = Arc::new(MemDisks::new());
    ["/m/a", "/m/b"].iter().for_each(|name| memory.add(name, SIZE));
    let faults = Arc::new(FaultDisks::new(memory));
    let env = Env { disks: faults.clone(), ..Env::real() };
    let around = Surroundings { env: env.clone(), ..around() };
    let mirror = VdevSpec::Mirror(vec![VdevSpec::Leaf("/m/a".into()), VdevSpec::Leaf("/m/b".into())]);
    let pool = create(&around, &spec("tank", vec![mirror])).unwrap();
    let rule = FaultRule::new(FaultOp::Flush, FaultKind::Fail(DiskError::Io(5)));
    faults.inject(FaultRule { path: Some("/m/a".into()), times: 1, ..rule });
    pool.core().txgs.sync_empty().unwrap();
    assert_eq!((faults.fired(), sides(&pool)), (1, vec![VdevState::Faulted, VdevState::Online]));
    // The power goes.
    pool.core().storage.close();
    pool.core().txgs.stop().unwrap();
    drop(pool);
    let found = search(&env, &["/m".into()]);
    let host = Host { id: 77, name: "here".into() };
    let pool = import(&around, &found[0], &ImportSpec { host, ..ImportSpec::default() }).unwrap();
    pool.wait_for_scan();
    assert_eq!(pool.scan_report().phys.func, FUNC_RESILVER, "it gets what it may have lost");
    assert_eq!(sides(&pool), [VdevState::Online; 2]);
    pool.export().unwrap();
}

/// Adds an entry to the pool directory.
fn note(pool: &Pool, name: &str) {
    let core = pool.core();
    let group = core.txgs.enter(true).unwrap();
    let directory = Zap::open(&core.mos, pool_directory::OBJECT).unwrap();
    directory.add(name, 1u64, &Tx::syncing(group.txg())).unwrap();
    drop(group);
    core.txgs.sync_now().unwrap();
}

#[test]
fn sides_of_healthy_mirrors_of_openzfs_are_believed() {
    let dir = Dir::new("whole");
    fixture(&dir, "mirror2");
    let pool = again(&dir);
    assert!(!pool.core().readonly);
    assert_eq!(sides(&pool), [VdevState::Online; 2]);
    pool.export().unwrap();
}

/// Spares and cache devices are shown; the cache device is used, the spare and the lists of both
/// stay as they are.
#[test]
fn spares_and_cache_devices_of_openzfs_are_taken_over() {
    let dir = Dir::new("extras");
    fixture(&dir, "stripe-of-mirrors");
    // As `zpool status` named them on the machine that made the pool: vdf is the sixth disk, vdg
    // the seventh.
    let (cache, spare) = (dir.image_path("disk5.img"), dir.image_path("disk6.img"));
    let before = std::fs::read(&spare).unwrap();
    let shown = |pool: &Pool| {
        let report = pool.report();
        let of = |list: &[pool::spa::status::VdevReport]| match list {
            [one] => (one.stat.state, one.stat.path.clone().unwrap(), one.physical, one.size),
            other => panic!("one device: {other:?}"),
        };
        (of(&report.cache), of(&report.spares))
    };
    for _ in 0..2 {
        let pool = again(&dir);
        assert!(!pool.core().readonly);
        let path = |image: &std::path::Path| image.to_str().unwrap().to_owned();
        let (cached, spared) = shown(&pool);
        assert_eq!((cached.0, cached.1, cached.2 >> 20), (VdevState::Online, path(&cache), 86));
        // A sector of the device is the header's.
        assert_eq!(ondisk::label::allocatable_size(cached.2) - cached.3, 4096);
        assert_eq!((spared.0, spared.1, spared.2 >> 20), (VdevState::Online, path(&spare), 86));
        assert_eq!(spared.3, 0);
        note(&pool, &format!("written {}", pool.report().txg));
        pool.export().unwrap();
    }
    assert!(before == std::fs::read(&spare).unwrap());
    std::fs::remove_file(&spare).unwrap();
    let pool = again(&dir);
    let (cached, spared) = shown(&pool);
    assert_eq!((cached.0, spared.0, spared.2), (VdevState::Online, VdevState::Unavail, 0));
    assert_eq!(spared.1, "/dev/vdg1");
    pool.export().unwrap();
}

/// A pool of a mirror and a disk, with a file system, in a folder.
fn three_disks(dir: &Dir) {
    let [a, b, c] = ["a.img", "b.img", "c.img"].map(|name| VdevSpec::Leaf(dir.image(name, SIZE)));
    let pool = create(&around(), &spec("tank", vec![VdevSpec::Mirror(vec![a, b]), c])).unwrap();
    add_file_system(&pool, "tank/first");
    pool.export().unwrap();
}

fn add_file_system(pool: &Pool, name: &str) {
    let change = Change::CreateFilesystem { name: name.into(), parents: false, props: Vec::new() };
    pool.dsl.commit(change, "").unwrap();
}

fn file_systems(pool: &Pool) -> Vec<String> {
    pool.dsl.list(&Default::default()).unwrap().into_iter().map(|it| it.name).collect()
}

fn in_folders(folders: &[&Dir]) -> pool::Result<Arc<Pool>> {
    let around = around();
    let places: Vec<String> = folders.iter().map(|dir| dir.path()).collect();
    let found = search(&around.env, &places);
    assert_eq!(found.len(), 1);
    let host = Host { id: 77, name: "here".into() };
    import(&around, &found[0], &ImportSpec { host, ..ImportSpec::default() })
}

fn is_whole(pool: &Pool) {
    let report = verify(pool, Options { data: true }, &mut |_, _| {}).unwrap();
    assert!(report.is_clean(), "{:?}", report.problems);
}

#[test]
fn disks_are_found_under_other_names_and_in_several_folders() {
    let (dir, other) = (Dir::new("renamed"), Dir::new("renamed-too"));
    three_disks(&dir);
    let (a, b, c) = (dir.image_path("a.img"), dir.image_path("b.img"), dir.image_path("c.img"));
    // Two have each other's names, the third is elsewhere.
    let between = dir.image_path("between");
    for (from, to) in [(&a, &between), (&c, &a), (&between, &c), (&b, &other.image_path("x.img"))] {
        std::fs::rename(from, to).unwrap();
    }
    let pool = in_folders(&[&dir, &other]).unwrap();
    assert_eq!(sides(&pool), [VdevState::Online; 2]);
    assert_eq!(file_systems(&pool), ["tank", "tank/first"]);
    add_file_system(&pool, "tank/second");
    is_whole(&pool);
    pool.export().unwrap();
    drop(pool);
    let pool = in_folders(&[&dir, &other]).unwrap();
    let tops = pool.core().storage.status().children;
    let disks = tops[0].children.iter().chain(&tops[1..]);
    let paths: Vec<String> = disks.filter_map(|disk| disk.path.clone()).collect();
    let path = |dir: &Dir, name: &str| dir.image_path(name).to_str().unwrap().to_owned();
    assert_eq!(paths, [path(&dir, "c.img"), path(&other, "x.img"), path(&dir, "a.img")]);
    pool.export().unwrap();
}

#[test]
fn of_a_disk_and_its_stale_copies_the_newest_is_taken() {
    let dir = Dir::new("copies");
    three_disks(&dir);
    let copies = [("a.img", "0.img"), ("b.img", "1.img"), ("c.img", "2.img")];
    for (disk, copy) in copies {
        std::fs::copy(dir.image_path(disk), dir.image_path(copy)).unwrap();
    }
    // Copies of the same age: those at home are the disks.
    let pool = again(&dir);
    add_file_system(&pool, "tank/second");
    pool.export().unwrap();
    drop(pool);
    // The disks have moved, and their copies have taken their names.
    for (disk, copy) in copies {
        let moved = dir.image_path("moved");
        std::fs::rename(dir.image_path(disk), &moved).unwrap();
        std::fs::rename(dir.image_path(copy), dir.image_path(disk)).unwrap();
        std::fs::rename(&moved, dir.image_path(copy)).unwrap();
    }
    let pool = again(&dir);
    assert_eq!(sides(&pool), [VdevState::Online; 2]);
    assert_eq!(file_systems(&pool), ["tank", "tank/first", "tank/second"]);
    is_whole(&pool);
    pool.export().unwrap();
}

#[test]
fn each_disk_is_zeroed_in_turn() {
    for (name, survives) in [("a.img", true), ("b.img", true), ("c.img", false)] {
        let dir = Dir::new(&format!("zeroed-{name}"));
        three_disks(&dir);
        std::fs::write(dir.image_path(name), vec![0; SIZE as usize]).unwrap();
        match in_folders(&[&dir]) {
            Ok(pool) => {
                assert!(survives && sides(&pool).contains(&VdevState::Unavail), "{name}");
                is_whole(&pool);
                pool.export().unwrap();
            }
            Err(refused) => {
                assert!(!survives, "{name}: {refused}");
                let said = "cannot import 'tank': one or more devices is currently unavailable";
                assert!(matches!(refused, PoolError::Refused(_)), "{refused:?}");
                assert_eq!(refused.to_string(), said);
            }
        }
    }
}
