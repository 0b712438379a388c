//! Cache devices of a pool, judged by zdb.

use std::sync::Arc;
use std::time::Duration;

use api_types::{NewVdevs, VdevSpec};
use dmu::{Holds, ObjectSpec};
use ondisk::object_type::ObjectType;
use pool::Pool;
use pool::spa::config::Host;
use pool::spa::create::{CreateSpec, Surroundings, create};
use pool::spa::import::{ImportSpec, import};
use pool::spa::labels::search;
use stdx::prng::Prng;
use storage::VdevState;
use storage::arc::l2::Limits;
use storage::arc::{Cache, L2Stats};

use crate::create::spec;
use crate::support::{Dir, around, zdb, zdb_accepts};

/// Large enough to keep log blocks: of so many entries each.
const CACHE: u64 = 2 << 30;
const ENTRIES: u64 = 127;
const BLOCK: u32 = 32 << 10;
const OBJECTS: u64 = 20;
const PER_OBJECT: usize = 24;

fn make(dir: &Dir, around: &Surroundings, cache: &[&str]) -> Arc<Pool> {
    let leaf = VdevSpec::Leaf(dir.image("a.img", 2 << 30));
    let cache = cache.iter().map(|name| dir.image(name, CACHE)).collect();
    let pool = create(around, &CreateSpec { cache, ..spec("tank", vec![leaf]) }).unwrap();
    hurry(&pool);
    pool
}

fn again(dir: &Dir, around: &Surroundings) -> Arc<Pool> {
    let found = search(&around.env, &[dir.path()]);
    let host = Host { id: 77, name: "here".into() };
    let pool = import(around, &found[0], &ImportSpec { host, ..ImportSpec::default() }).unwrap();
    hurry(&pool);
    pool
}

/// Lets the writer come round often.
fn hurry(pool: &Pool) {
    let often = Duration::from_millis(20);
    pool.core().storage.set_cache_limits(Limits {
        interval: often,
        interval_min: often,
        ..Limits::default()
    });
}

fn text(object: u64) -> Vec<u8> {
    let line =
        |n: usize| format!("object {object}, line {n}, {}\n", n.wrapping_mul(0x9e37_79b9) ^ object as usize);
    let mut text: Vec<u8> =
        (0..).flat_map(|n| line(n).into_bytes()).take(BLOCK as usize * PER_OBJECT).collect();
    text[0] = object as u8;
    text
}

/// Objects with their contents, compressible, on disk.
fn fill(pool: &Pool) -> Vec<u64> {
    let dataset = pool.dsl.open_dataset("tank").unwrap();
    let objset = dataset.objset();
    let made = (0..OBJECTS).map(|n| {
        let tx = objset.begin(Holds::new(u64::from(BLOCK) * PER_OBJECT as u64, 8)).unwrap();
        let spec = ObjectSpec::new(ObjectType::PLAIN_FILE_CONTENTS).with_block_size(BLOCK);
        let dnode = objset.alloc(spec, &tx).unwrap();
        dnode.write(0, &text(n), &tx).unwrap();
        dnode.object()
    });
    let made = made.collect();
    pool.core().txgs.sync_now().unwrap();
    made
}

fn check(pool: &Pool, objects: &[u64]) {
    let dataset = pool.dsl.open_dataset("tank").unwrap();
    for (n, &object) in objects.iter().enumerate() {
        let expected = text(n as u64);
        let dnode = dataset.objset().hold(object).unwrap();
        assert!(dnode.read_bytes(0, expected.len()).unwrap() == expected, "object {object}");
    }
}

fn counts(around: &Surroundings) -> L2Stats {
    around.cache.stats().l2
}

fn wait(around: &Surroundings, until: impl Fn(&L2Stats) -> bool) -> L2Stats {
    for _ in 0..3000 {
        let counts = counts(around);
        if until(&counts) {
            return counts;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    panic!("{:?}", counts(around));
}

/// What zdb reads on a cache device.
fn zdb_label(dir: &Dir, name: &str) -> String {
    let path = dir.image_path(name);
    let out = std::process::Command::new("zdb").args(["-lll", path.to_str().unwrap()]).output().unwrap();
    let text = String::from_utf8_lossy(&out.stdout).into_owned() + &String::from_utf8_lossy(&out.stderr);
    assert!(out.status.success(), "{text}");
    text
}

#[test]
fn contents_of_a_cache_device_survive_export_and_zdb_reads_them() {
    let dir = Dir::new("cache");
    let first = around();
    let pool = make(&dir, &first, &["cache.img"]);
    let objects = fill(&pool);
    let blocks = OBJECTS * PER_OBJECT as u64;
    let before = wait(&first, |counts| counts.blocks >= blocks && counts.log_count >= blocks / ENTRIES);
    assert!(before.psize < before.size && before.write_errors == 0);
    let report = pool.report();
    assert_eq!(report.cache.len(), 1);
    assert!(report.cache[0].allocated > 0 && report.cache[0].stat.io.write_bytes > 0);
    assert_eq!(report.cache[0].stat.state, VdevState::Online);
    pool.export().unwrap();
    drop(pool);

    zdb_accepts(&dir, "tank");
    let said = zdb_label(&dir, "cache.img");
    let line = |key: &str| said.lines().find_map(|line| line.trim().strip_prefix(key)).map(str::trim);
    assert_eq!(
        line("log_blk_count:"),
        Some(format!("{} with valid cksum", before.log_count).as_str()),
        "{said}"
    );
    assert_eq!(line("log_blk_asize:"), Some(before.log_asize.to_string().as_str()));
    assert_eq!(line("lb_count_refcount:"), Some(before.log_count.to_string().as_str()));
    assert_eq!(line("log_blk_ent:"), Some(ENTRIES.to_string().as_str()));
    assert!(said.contains("0 with invalid cksum") && said.contains("version: 5000"), "{said}");
    assert_eq!(said.matches("lb[").count() as u64, before.log_count * (1 + ENTRIES), "{said}");

    let second = Surroundings { cache: Cache::new(64 << 20), ..around() };
    let pool = again(&dir, &second);
    let found = wait(&second, |counts| counts.rebuild_ok == 1);
    assert_eq!((found.rebuild_logs, found.rebuild_failed), (before.log_count, 0));
    check(&pool, &objects);
    let read = counts(&second);
    assert!(read.hits > 0 && read.checksum_errors == 0, "{read:?}");
    pool.export().unwrap();
    drop(pool);
    zdb_accepts(&dir, "tank");
}

#[test]
fn cache_devices_come_and_go_while_the_pool_runs() {
    let dir = Dir::new("cache-add");
    let around = around();
    let pool = make(&dir, &around, &[]);
    let objects = fill(&pool);
    let cache = vec![dir.image("one.img", CACHE), dir.image("two.img", 64 << 20)];
    let small = NewVdevs {
        cache: vec![dir.image("three.img", CACHE), dir.image("tiny.img", 1 << 20)],
        ..NewVdevs::default()
    };
    let refused = pool.add_vdevs(&small, false, "").unwrap_err().to_string();
    assert_eq!(refused, "cannot add to 'tank': device is less than the minimum size (64M)");
    assert!(pool.report().cache.is_empty(), "none or all");
    pool.add_vdevs(&NewVdevs { cache: cache.clone(), ..NewVdevs::default() }, false, "zpool add").unwrap();
    let busy = pool.add_vdevs(&NewVdevs { cache, ..NewVdevs::default() }, true, "").unwrap_err().to_string();
    assert!(busy.starts_with("cannot add to 'tank': one or more vdevs refer to the same device"), "{busy}");
    check(&pool, &objects);
    wait(&around, |counts| counts.blocks > 100);
    let report = pool.report().cache;
    assert_eq!(report.len(), 2);
    assert!(report.iter().all(|device| device.stat.state == VdevState::Online));

    pool.remove_vdev(report[0].stat.guid, "zpool remove").unwrap();
    assert!(pool.remove_vdev(report[0].stat.guid, "").is_err());
    let main = pool.config().tree.children[0].guid;
    assert!(pool.remove_vdev(main, "").is_err());
    check(&pool, &objects);
    pool.export().unwrap();
    drop(pool);
    zdb_accepts(&dir, "tank");
    let listed = zdb(&dir, &["-C", "tank"]);
    assert!(!listed.contains("one.img"), "{listed}");

    // The other one has gone: no error, and it can be removed all the same.
    std::fs::remove_file(dir.image_path("two.img")).unwrap();
    let pool = again(&dir, &around);
    let report = pool.report().cache;
    assert_eq!((report.len(), report[0].stat.state), (1, VdevState::Unavail));
    check(&pool, &objects);
    pool.remove_vdev(report[0].stat.guid, "").unwrap();
    pool.export().unwrap();
    drop(pool);
    zdb_accepts(&dir, "tank");
    assert!(again(&dir, &around).report().cache.is_empty());
}

#[test]
fn a_ring_that_has_gone_round_is_whole_for_zdb() {
    let dir = Dir::new("cache-ring");
    // So little memory that all of it is near its cold end.
    let around = Surroundings { cache: Cache::new(24 << 20), ..around() };
    let pool = make(&dir, &around, &[]);
    let often = Duration::from_millis(20);
    // Log blocks on a device far too small for them, so that it goes round.
    let limits = Limits { interval: often, interval_min: often, ..Limits::default() };
    around.env.tunables.set(env::Tunable::L2arcRebuildBlocksMinL2size, 0);
    pool.core().storage.set_cache_limits(limits);
    let cache = vec![dir.image("ring.img", 64 << 20)];
    pool.add_vdevs(&NewVdevs { cache, ..NewVdevs::default() }, false, "").unwrap();
    let dataset = pool.dsl.open_dataset("tank").unwrap();
    let mut random = Prng::new(11);
    let mut data = vec![0; 10 << 20];
    for _ in 0..100 {
        random.fill(&mut data);
        let tx = dataset.objset().begin(Holds::new(data.len() as u64, 8)).unwrap();
        let spec = ObjectSpec::new(ObjectType::PLAIN_FILE_CONTENTS).with_block_size(128 << 10);
        dataset.objset().alloc(spec, &tx).unwrap().write(0, &data, &tx).unwrap();
        drop(tx);
        let before = counts(&around).write_bytes;
        pool.core().txgs.sync_now().unwrap();
        if wait(&around, |counts| counts.write_bytes > before).evicted > 300 {
            break;
        }
    }
    drop(dataset);
    let counts = wait(&around, |counts| counts.evicted > 300);
    assert!(counts.write_errors == 0 && counts.log_writes > counts.log_count, "{counts:?}");
    pool.export().unwrap();
    drop(pool);
    let said = zdb_label(&dir, "ring.img");
    let line = |key: &str| said.lines().find_map(|line| line.trim().strip_prefix(key)).map(str::trim);
    assert_eq!(line("flags:"), Some("0"), "not the first round: {said}");
    assert!(said.contains("0 with invalid cksum"), "{said}");
    let there: u64 = line("lb_count_refcount:").unwrap().parse().unwrap();
    assert!(
        there > 10 && line("log_blk_count:") == Some(format!("{there} with valid cksum").as_str()),
        "{said}"
    );
    zdb_accepts(&dir, "tank");
}
