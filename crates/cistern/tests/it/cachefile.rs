//! Cache files: OpenZFS's zdb finds pools through them, and so does `zpool import -c`.

use crate::daemon::{Daemon, Ran, Scratch, program};

/// `zdb -U FILE ...`
fn zdb(file: &str, words: &[&str]) -> Ran {
    let zdb = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/zdb");
    Ran::of(program(zdb, 300).args(["-U", file]).args(words))
}

#[test]
fn pools_stand_in_the_file_that_their_property_names() {
    let scratch = Scratch::new("cachefile");
    let daemon = Daemon::start(&scratch);
    let own = scratch.text("state/zpool.cache");
    let (other, third) = (scratch.text("other.cache"), scratch.text("third.cache"));
    let is_there = |file: &str| std::path::Path::new(file).exists();
    let value = |pool: &str| daemon.zpool(&format!("get -H -o value,source cachefile {pool}")).done();
    let (a, b) = (scratch.image("a", 128), scratch.image("b", 128));
    daemon.zpool(&format!("create -m none one mirror {a} {b}")).done();
    // What OpenZFS reads in it is what there is: devices, guids, all that zdb wants to look inside.
    let shown = zdb(&own, &["-C", "one"]).done();
    assert!(shown.contains(&a) && shown.contains(&b) && shown.contains("type: 'mirror'"), "{shown}");
    daemon.zpool("sync one").done();
    let listed = zdb(&own, &["-d", "one"]).done();
    assert!(listed.contains("Dataset one [ZPL]"), "{listed}");
    assert_eq!(value("one"), "-\tdefault\n");

    let c = scratch.image("c", 128);
    daemon.zpool(&format!("create -m none -o cachefile={other} two {c}")).done();
    assert_eq!(value("two"), format!("{other}\tlocal\n"));
    assert!(!zdb(&own, &["-C"]).done().contains("'two'"));
    assert!(zdb(&other, &["-C"]).done().contains("name: 'two'"));
    // Another file, and the old one is gone with its last pool.
    daemon.zpool(&format!("set cachefile={third} two")).done();
    assert!(is_there(&third) && !is_there(&other));
    daemon.zpool("set cachefile=none two").done();
    assert!(!is_there(&third));
    assert_eq!(value("two"), "none\tlocal\n");
    daemon.zpool("set cachefile= two").done();
    assert!(zdb(&own, &["-C"]).done().contains("name: 'two'"));
    let refused = daemon.zpool("set cachefile=here two");
    assert!(refused.err.contains("must be empty, an absolute path, or 'none'"), "{refused:?}");

    // Changes of devices are in it at once.
    daemon.zpool(&format!("detach one {b}")).done();
    assert!(!zdb(&own, &["-C", "one"]).done().contains(&b));
    daemon.zpool("export one").done();
    assert!(!zdb(&own, &["-C"]).done().contains("'one'"));
    daemon.zpool("destroy two").done();
    assert!(!is_there(&own));
}

#[test]
fn a_pool_is_imported_by_a_cache_file_though_its_devices_have_moved() {
    let scratch = Scratch::new("cachefile-import");
    let daemon = Daemon::start(&scratch);
    let (cache, kept) = (scratch.text("tank.cache"), scratch.text("kept.cache"));
    let (a, b) = (scratch.image_in("apart", "a", 128), scratch.image_in("apart", "b", 128));
    daemon.zpool(&format!("create -m none -o cachefile={cache} tank {a}")).done();
    std::fs::copy(&cache, &kept).unwrap();
    // It tells of one device, the pool of two.
    daemon.zpool(&format!("add tank {b}")).done();
    daemon.zpool("export tank").done();
    let refused = daemon.zpool(&format!("import -c {cache} tank"));
    assert!(refused.err.contains("failed to open cache file: No such file or directory"), "{refused:?}");
    let listed = daemon.zpool(&format!("import -c {kept}")).done();
    assert!(listed.contains("pool: tank"), "{listed}");
    daemon.zpool(&format!("import -c {kept} tank")).done();
    assert!(daemon.zpool("status -P tank").done().contains(&b));
    daemon.zpool("export tank").done();

    for disk in [&a, &b] {
        std::fs::rename(disk, format!("{disk}-new")).unwrap();
    }
    let moved = daemon.zpool(&format!("import -c {kept} tank")).done();
    assert!(moved.contains("cachefile import failed, retrying"), "{moved}");
    let status = daemon.zpool("status -P tank").done();
    assert!(status.contains(&format!("{a}-new")) && status.contains(&format!("{b}-new")), "{status}");
}
