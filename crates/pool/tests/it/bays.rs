//! Disks in other bays than before, and disks that come back with what they had long ago. What a
//! disk is, its label says; what it lacks, the pool knows; zdb judges.

use std::sync::Arc;

use api_types::{NewVdevs, VdevSpec};
use env::{Env, Nanos};
use ondisk::scan::STATE_NONE;
use pool::Pool;
use pool::spa::create::create;

use crate::create::spec;
use crate::support::{Dir, around, crash, zdb_accepts};
use crate::vdevs::{Files, guid, import_in, leaf, shown};

/// A pool "tank" of one top-level vdev, with a file in it.
fn pool_of(top: VdevSpec) -> (Arc<Pool>, Files) {
    let (pool, mut files) = (create(&around(), &spec("tank", vec![top])).unwrap(), Files::default());
    files.write(&pool);
    (pool, files)
}

fn leaves(dir: &Dir, names: &[&str]) -> Vec<VdevSpec> {
    names.iter().map(|name| leaf(dir, name)).collect()
}

/// Each disk of a circle moves to where the next one was.
fn rotate(dir: &Dir, names: &[&str]) {
    let rename = |from: &str, to: &str| std::fs::rename(dir.image_path(from), dir.image_path(to)).unwrap();
    let last = names.len() - 1;
    rename(names[last], "aside");
    (0..last).rev().for_each(|n| rename(names[n], names[n + 1]));
    rename("aside", names[0]);
}

/// Disks that have changed places are the disks they were: nothing is missing, nothing is
/// resilvered.
fn change_places(test: &str, top: impl Fn(&Dir) -> VdevSpec, circles: &[(&[&str], &str)]) {
    let dir = Dir::new(test);
    let (mut pool, mut files) = pool_of(top(&dir));
    for (circle, tree) in circles {
        pool.export().unwrap();
        drop(pool);
        rotate(&dir, circle);
        zdb_accepts(&dir, "tank");
        pool = import_in(&around(), &dir);
        files.check(&pool);
        files.write(&pool);
        assert_eq!(shown(&pool), *tree);
        assert_eq!(pool.core().storage.behind(), [0_u64; 0]);
        assert_eq!(pool.scan_report().phys.state, STATE_NONE, "there was nothing to be resilvered");
        let crashed = crash(&dir, &format!("{test}-crashed"));
        zdb_accepts(&crashed, "tank");
        let again = import_in(&around(), &crashed);
        files.check(&again);
        again.export().unwrap();
    }
    pool.export().unwrap();
    zdb_accepts(&dir, "tank");
}

#[test]
fn disks_of_a_raidz_change_places() {
    let top = |dir: &Dir| VdevSpec::Raidz { parity: 2, children: leaves(dir, &["a", "b", "c", "d"]) };
    let swapped: (&[&str], &str) = (&["a", "c"], "raidz2-0(c b a d)");
    // Every disk is where another was.
    let rotated: (&[&str], &str) = (&["a", "b", "c", "d"], "raidz2-0(d c b a)");
    change_places("bays-raidz", top, &[swapped, rotated]);
}

#[test]
fn sides_of_a_mirror_change_places() {
    let top = |dir: &Dir| VdevSpec::Mirror(leaves(dir, &["a", "b"]));
    change_places("bays-mirror", top, &[(&["a", "b"], "mirror-0(b a)")]);
}

/// Below a raidz a spare and the disk it stands in for are one column: before anything can be read
/// that says who lacks what, the old disk, which is back, must not speak for both where no other
/// column can be done without.
#[test]
fn a_disk_that_is_back_does_not_speak_for_its_spare() {
    let dir = Dir::new("bays-spare");
    let children = leaves(&dir, &["a", "b", "c"]);
    let (pool, mut files) = pool_of(VdevSpec::Raidz { parity: 1, children });
    let spares = vec![dir.image("s", 128 << 20)];
    pool.add_vdevs(&NewVdevs { spares, ..NewVdevs::default() }, false, "zpool add").unwrap();
    pool.export().unwrap();
    drop(pool);
    let away = Dir::new("bays-spare-away");
    std::fs::rename(dir.image_path("b"), away.image_path("b")).unwrap();
    let pool = import_in(&around(), &dir);
    for _ in 0..500 {
        if shown(&pool) == "raidz1-0(a spare-1(b- s) c)" {
            break;
        }
        Env::real().clock.sleep(Nanos::from_millis(10));
        pool.wait_for_scan();
    }
    (0..3).for_each(|_| files.write(&pool));
    assert_eq!(shown(&pool), "raidz1-0(a spare-1(b- s) c)");
    pool.export().unwrap();
    drop(pool);
    // The disk is back as it went, and another one goes.
    std::fs::rename(away.image_path("b"), dir.image_path("b")).unwrap();
    std::fs::remove_file(dir.image_path("c")).unwrap();
    let pool = import_in(&around(), &dir);
    files.check(&pool);
    assert_ne!(guid(&pool, "b"), guid(&pool, "s"));
    pool.export().unwrap();
    zdb_accepts(&dir, "tank");
}
