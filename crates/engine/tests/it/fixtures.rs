//! Pools that OpenZFS wrote: every path of their manifests, through a read-only import.

use engine::facade::{LocalEngine, Options};
use engine_api::{
    CreateMode, Cred, DirLimit, Engine, ImportOptions, NodeKind, PoolSpec, SetAttr, Stable, VdevSpec,
    VdevStatus,
};
use env::Env;

use crate::disks::zdb_is_content;
use crate::manifest::Fixture;

fn reads_whole(name: &str, pool: &str) {
    let fixture = Fixture::unpack(name);
    let engine = LocalEngine::new(Env::real(), Options::default());
    let options =
        ImportOptions { search: vec![fixture.images()], readonly: true, ..ImportOptions::default() };
    let imported = engine.import(pool, &options).unwrap();
    let wrong = fixture.check(&*imported);
    assert!(
        wrong.is_empty(),
        "{} of {} paths: {:#?}",
        wrong.len(),
        fixture.paths(),
        &wrong[..wrong.len().min(40)]
    );
    engine.export(pool, false).unwrap();
}

#[test]
fn a_single_disk_with_everything() {
    reads_whole("single-default", "g_single");
}

#[test]
fn a_mirror() {
    reads_whole("mirror2", "g_mirror2");
}

/// As it is, and with every permitted set of disks away.
fn reads_whole_without(name: &str, pool: &str, disks: usize, parity: u32) {
    let fixture = Fixture::unpack(name);
    for away in (0..1u32 << disks).filter(|away| away.count_ones() <= parity) {
        let path = |disk: usize| format!("{}/disk{disk}.img", fixture.images());
        let search = (0..disks).filter(|disk| away & (1 << disk) == 0).map(path).collect();
        let engine = LocalEngine::new(Env::real(), Options::default());
        let options = ImportOptions { search, readonly: true, ..ImportOptions::default() };
        let imported = engine.import(pool, &options).unwrap();
        let wrong = fixture.check(&*imported);
        assert!(wrong.is_empty(), "without {away:b}: {} of {}: {wrong:#?}", wrong.len(), fixture.paths());
        engine.export(pool, false).unwrap();
    }
}

#[test]
fn raidz_without_any_disk_it_can_lose() {
    reads_whole_without("raidz1-3disk", "g_raidz1_3disk", 3, 1);
}

#[test]
fn raidz2_without_any_disks_it_can_lose() {
    reads_whole_without("raidz2-5disk", "g_raidz2_5disk", 5, 2);
}

#[test]
fn a_stripe_of_mirrors() {
    reads_whole("stripe-of-mirrors", "g_som");
}

#[test]
fn snapshots_and_clones() {
    reads_whole("snapshots", "g_snap");
}

/// Holds what OpenZFS made of a dirty pool, after the import that replays its logs and after one
/// that finds nothing to do; `wrong` is what differs all the same.
fn replays(name: &str, pool: &str, wrong: &[String]) {
    let fixture = Fixture::unpack_dirty(name);
    let engine = LocalEngine::new(Env::real(), Options::default());
    let options = ImportOptions { search: vec![fixture.images()], force: true, ..ImportOptions::default() };
    for turn in ["replayed", "as replayed before"] {
        let imported = engine.import(pool, &options).unwrap();
        assert_eq!(fixture.check(&*imported), wrong, "{turn}, of {} paths", fixture.paths());
        drop(imported);
        engine.export(pool, false).unwrap();
        zdb_is_content(fixture.partitions().to_str().unwrap(), pool);
    }
}

/// Power was cut with records in the logs of two file systems, one with `logbias=throughput`, and
/// of a volume.
#[test]
fn the_logs_of_a_dirty_pool_are_replayed() {
    replays("dirty-zil", "g_zil", &[]);
}

/// Likewise, the records on a log device. What is encrypted stays closed, and its log waits for
/// whoever has the key.
#[test]
fn logs_on_a_log_device_are_replayed() {
    replays(
        "dirty-zil-slog",
        "g_zils",
        &["g_zils/enc: cannot be opened: not supported: encrypted block".into()],
    );
}

/// Labels of spares and cache devices name no pool; a new pool must not be made on those of an
/// imported one.
#[test]
fn spares_and_cache_devices_of_imported_pools_are_not_taken() {
    let fixture = Fixture::unpack("stripe-of-mirrors");
    let engine = LocalEngine::new(Env::real(), Options::default());
    let options =
        ImportOptions { search: vec![fixture.images()], readonly: true, ..ImportOptions::default() };
    let pool = engine.import("g_som", &options).unwrap().status();
    let path = |list: &[VdevStatus]| list[0].path.clone().unwrap();
    let (cache, spare) = (path(&pool.cache), path(&pool.spares));
    let create = |path: &str, force: bool| {
        let spec = PoolSpec {
            name: "new".into(),
            vdevs: vec![VdevSpec::Leaf(path.into())],
            force,
            ..PoolSpec::default()
        };
        engine.create(&spec).map(|_| ()).unwrap_err().to_string()
    };
    for force in [false, true] {
        let said = create(&spare, force);
        assert!(said.ends_with(&format!("{spare} is reserved as a hot spare for pool g_som")), "{said}");
    }
    let said = create(&cache, false);
    assert!(said.ends_with(&format!("{cache} is part of unknown pool 'g_som'")), "{said}");
    for (path, state) in [(&spare, "SPARE"), (&cache, "L2CACHE")] {
        let said = engine.label_clear(path, true).unwrap_err().to_string();
        assert_eq!(said, format!("{path} is a member ({state}) of pool \"g_som\""));
    }
    engine.export("g_som", false).unwrap();
}

/// The pool equals its manifest, is written to and exported more than once, and OpenZFS's debugger
/// finds it whole.
fn is_written_on(name: &str, pool: &str, dataset: &str) {
    let fixture = Fixture::unpack(name);
    let engine = LocalEngine::new(Env::real(), Options::default());
    let options = ImportOptions { search: vec![fixture.images()], force: true, ..ImportOptions::default() };
    for turn in 0..3u8 {
        let imported = engine.import(pool, &options).unwrap();
        assert!(!imported.status().readonly, "{name} was imported read-only");
        let fs = imported.open_fs(dataset).unwrap();
        let cred = Cred::root();
        if turn == 0 {
            let wrong = fixture.check(&*imported);
            assert!(wrong.is_empty(), "{} of {}: {wrong:#?}", wrong.len(), fixture.paths());
        }
        // Everything that is not in the snapshot is freed, and much of what is, is replaced.
        let limit = DirLimit { entries: 10_000, name_bytes: 1 << 20, with_attr: false };
        let page = fs.readdir(&cred, fs.root(), 0, limit).unwrap();
        for entry in page.entries.iter().filter(|entry| turn == 1 && entry.kind == NodeKind::File) {
            fs.remove(&cred, fs.root(), &entry.name).unwrap();
        }
        let attr = SetAttr { mode: Some(0o644), ..SetAttr::default() };
        let name = format!("written here {turn}");
        let node =
            fs.create(&cred, fs.root(), name.as_bytes(), CreateMode::Guarded, &attr).unwrap().attr.node;
        fs.write(&cred, node, 0, &vec![turn + 1; 3 << 20], Stable::FileSync).unwrap();
        drop((fs, imported));
        engine.export(pool, false).unwrap();
        zdb_is_content(fixture.partitions().to_str().unwrap(), pool);
    }
}

#[test]
fn a_pool_with_a_removed_vdev() {
    is_written_on("removed", "g_rem", "g_rem/fs");
}

#[test]
fn a_pool_with_special_and_dedup_vdevs() {
    is_written_on("special", "g_special", "g_special/small");
    is_written_on("special", "g_special", "g_special/d");
}
