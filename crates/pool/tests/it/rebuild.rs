//! Disks that are given what they lack in the order of places, with power failing meanwhile; zdb
//! judges the new disk alone.

use std::sync::Arc;

use api_types::{NewDevice, ScanCommand, VdevSpec};
use env::{Nanos, Quirk};
use ondisk::rebuild::{STATE_ACTIVE, STATE_CANCELED, STATE_COMPLETE};
use ondisk::scan::{FUNC_SCRUB, STATE_FINISHED};
use pool::Pool;
use pool::rebuild::RebuildReport;
use pool::spa::create::create;

use crate::create::spec;
use crate::support::{Dir, around, crash, zdb, zdb_accepts};
use crate::vdevs::{Files, disk, fresh_in, guid, import_in, leaf, refused, shown};

fn report(pool: &Pool) -> RebuildReport {
    pool.rebuild_report(0).expect("there was one")
}

/// To be rebuilt.
fn new(dir: &Dir, name: &str) -> NewDevice {
    NewDevice { sequential: true, ..disk(dir, name) }
}

/// Waits until a condition holds, with groups going by.
fn wait(pool: &Pool, what: &str, done: impl Fn() -> bool) {
    for _ in 0..3000 {
        if done() {
            return;
        }
        pool.core().env.clock.sleep(Nanos::from_millis(5));
        pool.core().txgs.sync_empty().unwrap();
    }
    panic!("{what} does not end: {} {:?}", shown(pool), report(pool));
}

/// Until the rebuild is over, and the scrub after it.
fn settle(pool: &Pool) {
    wait(pool, "a rebuild", || report(pool).phys.state != STATE_ACTIVE);
    // Its end shows while the group that begins the scrub is still being synced.
    pool.core().txgs.sync_empty().unwrap();
    wait(pool, "a scrub", || !pool.core().scan.is_running());
    let scrub = pool.scan_report().phys;
    assert_eq!((scrub.func, scrub.state, scrub.errors, scrub.processed), (FUNC_SCRUB, STATE_FINISHED, 0, 0));
}

/// zdb finds everything on this disk alone, and no sign of a rebuild in it.
fn alone(dir: &Dir, name: &str) {
    let lonely = Dir::new(&format!("rebuild-alone-{}", dir.path().rsplit('/').next().unwrap()));
    std::fs::copy(dir.image_path(name), lonely.image_path(name)).unwrap();
    zdb_accepts(&lonely, "tank");
    assert!(!zdb(&lonely, &["-CC", "tank"]).contains("rebuild_txg"));
}

/// Part of what there is to copy.
const PART: u64 = 1 << 20;

/// Nothing is copied meanwhile, and what was is written down.
fn rest(pool: &Pool, resting: bool) {
    pool.core().env.quirks.set(Quirk::NoResilver, resting);
    if resting {
        pool.core().env.clock.sleep(Nanos::from_millis(100));
        pool.core().txgs.sync_empty().unwrap();
    }
}

fn small_steps(pool: &Pool, small: bool) {
    pool.core().env.quirks.set(Quirk::SmallTxg, small);
}

#[test]
fn a_new_side_is_rebuilt_while_the_pool_is_written() {
    let dir = Dir::new("rebuild");
    let (pool, mut files) = (fresh_in(&around(), &dir, &["a"]), Files::default());
    (0..40).for_each(|_| files.write(&pool));
    small_steps(&pool, true);
    pool.attach_vdev(guid(&pool, "a"), &new(&dir, "b"), "zpool attach -s").unwrap();
    assert!(pool.is_resilvering() && shown(&pool) == "mirror-0(a b-)");
    assert!(zdb(&dir, &["-CC", "tank"]).contains("rebuild_txg"));
    (0..10).for_each(|_| files.write(&pool));
    small_steps(&pool, false);
    settle(&pool);
    assert_eq!(shown(&pool), "mirror-0(a b)");
    let phys = report(&pool).phys;
    assert_eq!((phys.state, phys.errors), (STATE_COMPLETE, 0));
    assert!(phys.rebuilt > 3 << 20 && phys.rebuilt == phys.scanned, "{phys:?}");
    files.check(&pool);
    let events: Vec<String> = pool.dsl.history(true).unwrap().into_iter().map(|record| record.text).collect();
    let of_rebuild = events.iter().filter(|text| text.starts_with("rebuild "));
    let ends: Vec<&str> = of_rebuild.map(|text| text.rsplit(' ').next().unwrap()).collect();
    assert_eq!(ends, ["started", "complete"]);
    pool.export().unwrap();
    zdb_accepts(&dir, "tank");
    alone(&dir, "b");
    // It is remembered, and over.
    let pool = import_in(&around(), &dir);
    assert_eq!(report(&pool).phys.state, STATE_COMPLETE);
    assert!(!pool.is_resilvering());
    files.check(&pool);
}

#[test]
fn a_rebuild_goes_on_after_a_crash() {
    let dir = Dir::new("rebuild-crash");
    let (pool, mut files) = (fresh_in(&around(), &dir, &["a", "b"]), Files::default());
    (0..30).for_each(|_| files.write(&pool));
    small_steps(&pool, true);
    pool.replace_vdev(guid(&pool, "b"), &new(&dir, "c"), "zpool replace -s").unwrap();
    let begun = report(&pool).phys.start_time;
    for part in 1..=2u64 {
        wait(&pool, "a rebuild", || report(&pool).phys.issued > part * PART);
        rest(&pool, true);
        let (crashed, done) = (crash(&dir, &format!("rebuild-crash-{part}")), report(&pool).phys.issued);
        rest(&pool, false);
        zdb_accepts(&crashed, "tank");
        let back = import_in(&around(), &crashed);
        settle(&back);
        wait(&back, "a replacement", || shown(&back) == "mirror-0(a c)");
        let RebuildReport { phys, pass_issued, .. } = report(&back);
        assert_eq!((phys.state, phys.errors, phys.start_time), (STATE_COMPLETE, 0, begun));
        assert_eq!(phys.issued - pass_issued, done, "it goes on where it was");
        files.check(&back);
        back.export().unwrap();
        alone(&crashed, "c");
    }
    pool.export().unwrap();
    zdb_accepts(&dir, "tank");
}

#[test]
fn a_rebuild_begins_anew_for_another_disk_and_is_canceled_without_any() {
    let dir = Dir::new("rebuild-cancel");
    let (pool, mut files) = (fresh_in(&around(), &dir, &["a"]), Files::default());
    (0..30).for_each(|_| files.write(&pool));
    small_steps(&pool, true);
    let a = || guid(&pool, "a");
    rest(&pool, true);
    pool.attach_vdev(a(), &new(&dir, "b"), "").unwrap();
    refused(pool.attach_vdev(a(), &disk(&dir, "x"), ""), "/a: currently sequentially resilvering");
    let busy = pool.scan_command(ScanCommand::Scrub, "").unwrap_err().to_string();
    assert_eq!(busy, "cannot scrub tank: currently resilvering");
    pool.detach_vdev(guid(&pool, "b"), "").unwrap();
    assert_eq!((report(&pool).phys.state, shown(&pool)), (STATE_CANCELED, "a".to_owned()));
    assert!(!pool.is_resilvering());
    zdb_accepts(&crash(&dir, "rebuild-canceled"), "tank");

    pool.attach_vdev(a(), &new(&dir, "c"), "").unwrap();
    rest(&pool, false);
    wait(&pool, "a rebuild", || report(&pool).phys.issued > PART);
    rest(&pool, true);
    pool.attach_vdev(a(), &new(&dir, "d"), "").unwrap();
    let again = report(&pool).phys;
    assert_eq!((again.state, again.issued), (STATE_ACTIVE, 0), "from the start");
    small_steps(&pool, false);
    rest(&pool, false);
    settle(&pool);
    assert_eq!(shown(&pool), "mirror-0(a c d)");
    files.check(&pool);
    pool.export().unwrap();
    zdb_accepts(&dir, "tank");
    ["c", "d"].iter().for_each(|disk| alone(&dir, disk));
}

#[test]
fn only_mirrors_are_rebuilt_and_only_one_way_at_a_time() {
    let dir = Dir::new("rebuild-refused");
    let raidz = VdevSpec::Raidz { parity: 1, children: ["x", "y", "z"].map(|name| leaf(&dir, name)).into() };
    let pool = create(&around(), &spec("tank", vec![raidz])).unwrap();
    let only = "/n: only mirror and dRAID vdevs support sequential reconstruction";
    refused(pool.replace_vdev(guid(&pool, "x"), &new(&dir, "n"), ""), only);
    pool.export().unwrap();

    let dir = Dir::new("rebuild-refused-mirror");
    let (pool, mut files): (Arc<Pool>, _) = (fresh_in(&around(), &dir, &["a"]), Files::default());
    (0..30).for_each(|_| files.write(&pool));
    small_steps(&pool, true);
    let a = guid(&pool, "a");
    pool.attach_vdev(a, &disk(&dir, "b"), "").unwrap();
    refused(pool.attach_vdev(a, &new(&dir, "c"), ""), "/a: currently resilvering");
    pool.export().unwrap();
}
