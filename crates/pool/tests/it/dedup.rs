//! Deduplicated blocks in pools made here and by OpenZFS: zdb and our verifier count their
//! references.

use std::collections::BTreeSet;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use api_types::{DatasetFilter, DatasetKind, ScanCommand, VdevSpec};
use dmu::find::pointer_to;
use dmu::traverse::Part;
use dmu::{Holds, ObjectSpec};
use ondisk::BlkPtr;
use ondisk::object_type::ObjectType;
use pool::Pool;
use pool::change::Change;
use pool::dsl::{Dataset, LongHold};
use pool::spa::create::create;
use pool::spa::import::{ImportSpec, import};
use pool::spa::labels::search;
use pool::verify::{Options, verify};

use crate::create::spec;
use crate::support::{Dir, around, cut_partitions, shared_fixture, zdb, zdb_accepts};

const SIZE: u64 = 256 << 20;
const BLOCK: usize = 16 << 10;
/// Of a device, before its first block.
const LABELS: u64 = 4 << 20;

fn opened(dir: &Dir) -> Arc<Pool> {
    let around = around();
    let found = search(&around.env, &[dir.path()]);
    import(&around, &found[0], &ImportSpec { force: true, ..ImportSpec::default() }).unwrap()
}

fn whole(pool: &Pool) {
    let report = verify(pool, Options { data: true }, &mut |_, _| {}).unwrap();
    assert!(report.is_clean(), "{:?}", report.problems);
}

/// Exports, has zdb look, and opens again; what looks at all blocks may not meet a scan that still
/// writes.
fn judged(dir: &Dir, pool: Arc<Pool>) -> Arc<Pool> {
    let name = pool.name();
    pool.export().unwrap();
    drop(pool);
    zdb_accepts(dir, &name);
    let pool = opened(dir);
    pool.wait_for_scan();
    whole(&pool);
    pool
}

fn with(pool: &Pool, name: &str, props: &[(&str, &str)]) -> LongHold {
    let props = [("recordsize", "16k"), ("compression", "off")].iter().chain(props);
    let props = props.map(|(name, value)| ((*name).into(), (*value).into())).collect();
    let make = Change::CreateFilesystem { name: name.into(), parents: false, props };
    pool.dsl.commit(make, "").unwrap();
    pool.dsl.open_dataset(name).unwrap()
}

/// An object of blocks, each filled with one of these numbers.
fn write(dataset: &Dataset, blocks: &[u8]) -> u64 {
    let objset = dataset.objset();
    let tx = objset.begin(Holds::new((blocks.len() * BLOCK) as u64, 4)).unwrap();
    let spec = ObjectSpec::new(ObjectType::PLAIN_FILE_CONTENTS).with_block_size(BLOCK as u32);
    let dnode = objset.alloc(spec, &tx).unwrap();
    for (n, fill) in blocks.iter().enumerate() {
        dnode.write((n * BLOCK) as u64, &[*fill; BLOCK], &tx).unwrap();
    }
    dnode.object()
}

fn free(dataset: &Dataset, object: u64) {
    let tx = dataset.objset().begin(Holds::freeing(4)).unwrap();
    dataset.objset().free(object, &tx).unwrap();
}

fn content(dataset: &Dataset, object: u64) -> Vec<u8> {
    let dnode = dataset.objset().hold(object).unwrap();
    let bytes = dnode.read_bytes(0, (dnode.max_blkid() as usize + 1) * BLOCK).unwrap();
    assert!(bytes.chunks(BLOCK).all(|block| block.iter().all(|byte| *byte == block[0])));
    bytes.chunks(BLOCK).map(|block| block[0]).collect()
}

fn pointers(dataset: &Dataset, object: u64) -> Vec<BlkPtr> {
    dataset.objset().hold(object).unwrap().phys().blkptrs.clone()
}

#[test]
fn the_same_blocks_are_stored_once_whatever_they_are_known_by() {
    let dir = Dir::new("dedup-kinds");
    let pool = create(&around(), &spec("tank", vec![VdevSpec::Leaf(dir.image("a.img", SIZE))])).unwrap();
    let kinds = ["on", "verify", "sha512", "skein,verify", "edonr,verify"];
    let mut written = Vec::new();
    for (n, dedup) in kinds.into_iter().enumerate() {
        let name = format!("tank/{n}");
        let dataset = with(&pool, &name, &[("dedup", dedup)]);
        // Within one group, in the next, of zeros, and with more copies.
        let first = write(&dataset, &[1, 2, 2, 0, 1]);
        pool.core().txgs.sync_now().unwrap();
        let second = write(&dataset, &[2, 1, 3]);
        let set = Change::SetProperties { name: name.clone(), props: vec![("copies".into(), "2".into())] };
        pool.core().txgs.sync_now().unwrap();
        pool.dsl.commit(set, "").unwrap();
        let third = write(&dataset, &[1]);
        pool.core().txgs.sync_now().unwrap();
        let (one, two) = (pointers(&dataset, second), pointers(&dataset, third));
        assert!(one[0].physical_birth() < one[0].logical_birth() || one.len() == 1, "{one:?}");
        assert!(two[0].is_dedup() && two[0].ndvas() == 2, "{two:?}");
        written.push((name, first, second, third));
    }
    let report = pool.core().ddt.report();
    // sha256 is shared by two datasets.
    assert_eq!((report.entries, report.histogram.total().blocks), (4 * 3, 4 * 4));
    assert_eq!(report.histogram.total().ref_blocks, 5 * 8);
    assert!(report.saved() > 0 && report.ratio() > 200, "{report:?}");
    assert!(report.on_disk > 0 && report.in_core > 0);
    let pool = judged(&dir, pool);
    assert_eq!(pool.core().ddt.report().histogram, report.histogram);
    for (name, first, second, third) in &written {
        let dataset = pool.dsl.open_dataset(name).unwrap();
        assert_eq!(content(&dataset, *first), [1, 2, 2, 0, 1]);
        assert_eq!(content(&dataset, *second), [2, 1, 3]);
        free(&dataset, *first);
        free(&dataset, *third);
    }
    let pool = judged(&dir, pool);
    let tables = zdb(&dir, &["-DD", "tank"]);
    assert!(
        tables.contains("DDT-sha256-zap-duplicate") && tables.contains("DDT-edonr-zap-unique"),
        "{tables}"
    );
    for (name, _, second, _) in &written {
        let dataset = pool.dsl.open_dataset(name).unwrap();
        assert_eq!(content(&dataset, *second), [2, 1, 3]);
        free(&dataset, *second);
    }
    pool.core().txgs.sync_now().unwrap();
    assert_eq!(pool.core().ddt.report(), Default::default());
    judged(&dir, pool).export().unwrap();
    assert!(!zdb(&dir, &["-dd", "tank"]).contains("DDT ZAP"), "the tables have gone");
}

/// A block that many pointers lead to is read once, and counts once; all who have it are hurt with
/// it.
#[test]
fn a_scrub_reads_what_is_shared_once() {
    let dir = Dir::new("dedup-scrub");
    let pool = create(&around(), &spec("tank", vec![VdevSpec::Leaf(dir.image("a.img", SIZE))])).unwrap();
    let dataset = with(&pool, "tank/a", &[("dedup", "on")]);
    let objects: Vec<u64> = (0..30).map(|_| write(&dataset, &[7; 20])).collect();
    pool.core().txgs.sync_now().unwrap();
    let shared = pool.core().ddt.report().histogram.total();
    assert_eq!((shared.blocks, shared.ref_blocks), (1, 600));
    pool.scan_command(ScanCommand::Scrub, "").unwrap();
    pool.wait_for_scan();
    let report = pool.scan_report();
    assert!(report.phys.examined <= report.phys.to_examine, "{report:?}");
    assert_eq!((report.pass_examined, report.phys.errors), (report.issued, 0), "{report:?}");

    let (storage, root, part) =
        (&*pool.core().storage, dataset.objset().root(), Part::Tree { level: 0, blkid: 5 });
    let place = pointer_to(storage, &root, objects[3], part).unwrap().unwrap().dva(0).offset;
    drop(dataset);
    pool.export().unwrap();
    drop(pool);
    let disk = std::fs::OpenOptions::new().write(true).open(dir.image_path("a.img")).unwrap();
    disk.write_all_at(&[9; 4096], LABELS + place).unwrap();
    let pool = opened(&dir);
    pool.scan_command(ScanCommand::Scrub, "").unwrap();
    pool.wait_for_scan();
    assert_eq!(pool.scan_report().phys.errors, 1);
    let hurt: BTreeSet<u64> = pool.hurt_objects().unwrap().into_iter().map(|hurt| hurt.object).collect();
    assert_eq!(hurt, objects.into_iter().collect());
    pool.export().unwrap();
}

/// However little of it fits in memory, and through an export in the middle of it.
#[test]
fn a_scrub_goes_through_the_tables_first() {
    let dir = Dir::new("dedup-tables-first");
    let around = around();
    around.env.quirks.set(env::Quirk::SmallTxg, true);
    let pool = create(&around, &spec("tank", vec![VdevSpec::Leaf(dir.image("a.img", SIZE))])).unwrap();
    let dataset = with(&pool, "tank/a", &[("dedup", "on")]);
    let shared: Vec<u8> = (1..=20).collect();
    let objects: Vec<u64> = (0..60).map(|_| write(&dataset, &shared)).collect();
    write(&dataset, &[99]);
    pool.core().txgs.sync_now().unwrap();
    pool.scan_command(ScanCommand::Scrub, "").unwrap();
    pool.scan_command(ScanCommand::Pause, "").unwrap();
    pool.scan_command(ScanCommand::Scrub, "").unwrap();
    // One more has several pointers now.
    write(&dataset, &[99]);
    pool.core().txgs.sync_now().unwrap();
    let pool = {
        drop(dataset);
        judged(&dir, pool)
    };
    let report = pool.scan_report();
    assert_eq!(
        (report.phys.errors, report.phys.ddt_class_max, report.phys.ddt_class),
        (0, 1, 2),
        "{report:?}"
    );
    // What leads to the place where a step goes on is read once more, but not all that is shared
    // each time: six times as much.
    assert!(report.phys.examined < 3 * report.phys.to_examine, "{report:?}");
    let dataset = pool.dsl.open_dataset("tank/a").unwrap();
    assert_eq!(content(&dataset, objects[59]), shared);
    drop(dataset);
    pool.export().unwrap();
}

/// That it waits to be looked at, for the tables were passed before it had a second pointer, ends
/// with the memory.
#[test]
fn a_scrub_looks_at_what_came_to_be_shared_before_an_import() {
    let dir = Dir::new("dedup-rose");
    let around = around();
    around.env.quirks.set(env::Quirk::SmallTxg, true);
    let pool = create(&around, &spec("tank", vec![VdevSpec::Leaf(dir.image("a.img", SIZE))])).unwrap();
    let many: Vec<u8> = (0..=250).collect();
    let before = with(&pool, "tank/a", &[]);
    for _ in 0..4 {
        write(&before, &many);
    }
    let dataset = with(&pool, "tank/b", &[("dedup", "on")]);
    let first = write(&dataset, &[99]);
    pool.core().txgs.sync_now().unwrap();
    // It is caught while it is in the first file system, be it in its second attempt.
    loop {
        pool.scan_command(ScanCommand::Scrub, "").unwrap();
        let _ = pool.scan_command(ScanCommand::Pause, "");
        let at = pool.scan_report().phys;
        if at.is_paused() && at.bookmark_objset == before.object() {
            break;
        }
        if at.bookmark_objset > before.object() {
            let _ = pool.scan_command(ScanCommand::Stop, "");
        }
    }
    let second = write(&dataset, &[99]);
    pool.core().txgs.sync_now().unwrap();
    assert_eq!(pool.core().ddt.report().histogram.total().ref_blocks, 2);
    assert!(before.object() < dataset.object());

    let (storage, root, part) =
        (&*pool.core().storage, dataset.objset().root(), Part::Tree { level: 0, blkid: 0 });
    let place = pointer_to(storage, &root, first, part).unwrap().unwrap().dva(0).offset;
    drop((before, dataset));
    pool.export().unwrap();
    drop(pool);
    let disk = std::fs::OpenOptions::new().write(true).open(dir.image_path("a.img")).unwrap();
    disk.write_all_at(&[9; 4096], LABELS + place).unwrap();
    let pool = opened(&dir);
    pool.scan_command(ScanCommand::Scrub, "").unwrap();
    pool.wait_for_scan();
    let hurt: BTreeSet<u64> = pool.hurt_objects().unwrap().into_iter().map(|hurt| hurt.object).collect();
    assert!(hurt.contains(&first), "{hurt:?}, not {first} and {second}: {:?}", pool.scan_report());
    pool.export().unwrap();
}

/// A gang is deduplicated as any block, and a group takes away a few references only: the rest
/// waits for the next.
#[test]
fn gangs_are_deduplicated_and_references_go_little_by_little() {
    let dir = Dir::new("dedup-gangs");
    let around = around();
    around.env.quirks.set(env::Quirk::ForceGang, true);
    around.env.quirks.set(env::Quirk::SmallTxg, true);
    let pool = create(&around, &spec("tank", vec![VdevSpec::Leaf(dir.image("a.img", SIZE))])).unwrap();
    let dataset = with(&pool, "tank/a", &[("dedup", "on")]);
    let objects: Vec<u64> = (0..12).map(|n| write(&dataset, &[n + 1, 40, n + 2, 41])).collect();
    pool.core().txgs.sync_now().unwrap();
    assert!(pool.core().ddt.report().ratio() > 200);
    objects.iter().for_each(|object| free(&dataset, *object));
    pool.core().txgs.sync_now().unwrap();
    assert!(pool.core().ddt.report().entries > 0, "all at once");
    drop(dataset);
    let pool = judged(&dir, pool);
    for _ in 0..40 {
        pool.core().txgs.sync_empty().unwrap();
    }
    assert_eq!(pool.core().ddt.report().entries, 0);
    judged(&dir, pool).export().unwrap();
}

/// What OpenZFS deduplicated is shared, and goes when its last owner has.
#[test]
fn tables_of_openzfs_are_taken_over() {
    let dir = Dir::new("dedup-golden");
    if !shared_fixture(&dir, "dedup") {
        return;
    }
    cut_partitions(&dir);
    let pool = opened(&dir);
    assert!(!pool.core().readonly);
    whole(&pool);
    let before = pool.core().ddt.report();
    assert!(before.entries > 0 && before.ratio() > 100, "{before:?}");
    let made = with(&pool, "g_dedup/made", &[("dedup", "sha256")]);
    write(&made, &[1, 2, 1]);
    drop(made);
    let pool = judged(&dir, pool);
    assert_eq!(pool.core().ddt.report().entries, before.entries + 2);
    let all = |kind| {
        let listed = pool.dsl.list(&DatasetFilter { kinds: vec![kind], ..DatasetFilter::default() }).unwrap();
        let names = listed.into_iter().map(|one| one.name);
        names.filter(|name| name != "g_dedup").collect::<Vec<String>>()
    };
    let destroy = |names: Vec<String>| {
        pool.dsl.commit(Change::Destroy { names, defer: false }, "").unwrap();
        while pool.dsl.is_freeing() {
            pool.core().txgs.sync_empty().unwrap();
        }
    };
    destroy(all(DatasetKind::Snapshot));
    let mut heads: Vec<String> = [all(DatasetKind::Filesystem), all(DatasetKind::Volume)].concat();
    let last = heads.pop().unwrap();
    heads.retain(|name| !last.starts_with(&format!("{name}/")));
    destroy(heads);
    let left = pool.core().ddt.report();
    assert!(left.entries < before.entries, "{left:?}");
    judged(&dir, pool).export().unwrap();
}
