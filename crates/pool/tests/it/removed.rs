//! A pool of OpenZFS from which a top-level vdev was removed, and one with special and dedup vdevs.

use std::sync::Arc;

use api_types::NewDevice;
use dmu::DmuError;
use dmu::traverse::{Go, Visit, Visitor, traverse};
use ondisk::BlkPtr;
use ondisk::dsl_dataset::DslDatasetPhys;
use ondisk::object_type::ObjectType;
use pool::Pool;
use pool::spa::import::{ImportSpec, import};
use pool::spa::labels::search;
use pool::verify::{Options, Problem, verify};
use storage::{Bias, Segment, VdevState};

use crate::import::again;
use crate::support::{Dir, around, cut_partitions, fixture, zdb, zdb_accepts};

/// Imports read-only.
fn read(dir: &Dir) -> Arc<Pool> {
    let around = around();
    let found = search(&around.env, &[dir.path()]);
    import(&around, &found[0], &ImportSpec { readonly: true, ..ImportSpec::default() }).unwrap()
}

fn obsolete(pool: &Pool) -> u64 {
    let mut sum = 0;
    for vdev in pool.core().removed.vdevs() {
        assert!(
            pool.core().removed.obsolete(vdev, &mut |_, bytes| sum += bytes).unwrap(),
            "counts are precise"
        );
    }
    sum
}

fn is_clean(pool: &Pool) {
    let report = verify(pool, Options { data: true }, &mut |_, _| {}).unwrap();
    assert!(report.is_clean(), "{:?}", report.problems);
}

/// The newest block of a file system that lies on the removed vdev.
fn block_there(pool: &Pool, vdev: u32) -> BlkPtr {
    struct There(u32, Option<BlkPtr>);
    impl Visitor for There {
        fn block(&mut self, visit: &Visit<'_>) -> Go {
            let bp = visit.bp;
            let there =
                !bp.is_hole() && !bp.is_embedded() && bp.ndvas() == 1 && bp.first_dva().vdev == self.0;
            self.1 = self.1.or(there.then_some(*bp));
            Go::On
        }

        fn unreadable(&mut self, _: &Visit<'_>, error: DmuError) -> Go {
            panic!("{error}")
        }
    }
    let mut there = There(vdev, None);
    let mos = &pool.core().mos;
    let mut object = 0;
    while let Some(next) = mos.next_object(object, 0).unwrap() {
        object = next;
        let dnode = mos.hold(object).unwrap();
        if dnode.bonus_type() == ObjectType::DSL_DATASET {
            let bonus = dnode.bonus();
            let phys = DslDatasetPhys::decode(&bonus.bytes).unwrap();
            traverse(&*pool.core().storage, &phys.bp, 0, &mut there);
        }
    }
    there.1.expect("a block")
}

#[test]
fn what_is_freed_on_a_removed_vdev_is_obsolete() {
    let dir = Dir::new("removed");
    fixture(&dir, "removed");
    let pool = again(&dir);
    assert!(!pool.core().readonly);
    let last = pool.core().removed.last().unwrap();
    assert_eq!((last.removing_vdev, last.prev_indirect_vdev, last.copied >> 10), (1, 1, 12_353));
    assert_eq!(pool.core().removed.mapping_bytes(), 96);
    assert_eq!(pool.report().root.children.len(), 1);
    is_clean(&pool);
    pool.export().unwrap();
    drop(pool);
    cut_partitions(&dir);
    zdb_accepts(&dir, "g_rem");
    // A block is freed that is still in use: what that does to the maps is told exactly.
    let mut pool = again(&dir);
    let (before, core) = (obsolete(&pool), pool.core());
    let (bp, counted) = (block_there(&pool, 1), core.features.count("obsolete_counts"));
    let place = Segment { start: bp.first_dva().offset, len: bp.first_dva().asize };
    core.storage.free(&bp, core.txgs.synced() + 1);
    core.txgs.sync_empty().unwrap();
    let all = |pool: &Pool| verify(pool, Options { data: false }, &mut |_, _| {}).unwrap().problems;
    for _ in 0..2 {
        assert_eq!(obsolete(&pool), before + place.len);
        let problems = all(&pool);
        let free = |at: u32| {
            problems.iter().any(|it| {
            matches!(it, Problem::NotAllocated { vdev, segment } if *vdev == at && segment.len >= place.len)
        })
        };
        assert!(problems.len() == 2 && free(0) && free(1), "{problems:?}");
        pool.export().unwrap();
        drop(pool);
        pool = again(&dir);
    }
    // It had a map of obsolete space before; zdb counts the uses of the feature.
    assert_eq!(counted, pool.core().features.count("obsolete_counts"));
    pool.export().unwrap();
    let said = zdb(&dir, &["-d", "g_rem"]);
    assert!(said.contains("Verified indirect_refcount feature refcount of"), "{said}");
}

#[test]
fn a_new_side_gets_what_was_on_the_removed_vdev_too() {
    let dir = Dir::new("removed-resilver");
    fixture(&dir, "removed");
    cut_partitions(&dir);
    let pool = again(&dir);
    let leaf = pool.report().root.children[0].stat.guid;
    let new = NewDevice { ashift: Some(9), ..NewDevice::at(&dir.image("new", 512 << 20)) };
    pool.attach_vdev(leaf, &new, "zpool attach").unwrap();
    let sides = |pool: &Pool| pool.report().root.children[0].children.clone();
    for _ in 0..1000 {
        pool.wait_for_scan();
        pool.core().txgs.sync_empty().unwrap();
        if sides(&pool).iter().all(|side| side.stat.state == VdevState::Online) {
            break;
        }
    }
    assert!(sides(&pool).iter().all(|side| side.stat.state == VdevState::Online));
    assert_eq!(pool.scan_report().phys.errors, 0);
    pool.export().unwrap();
    let alone = Dir::new("removed-alone");
    std::fs::rename(dir.image_path("new"), alone.image_path("new")).unwrap();
    zdb_accepts(&alone, "g_rem");
}

#[test]
fn special_and_dedup_vdevs_of_openzfs_are_used() {
    let dir = Dir::new("special");
    fixture(&dir, "special");
    let apart = |pool: &Pool| {
        let allocated = |vdev| pool.core().storage.vdev_space(vdev).unwrap().allocated;
        allocated(1) + allocated(2)
    };
    let pool = read(&dir);
    let before = apart(&pool);
    // As `zpool list` had it: 240M, of which 7M were in use.
    let space = pool.core().storage.space();
    assert_eq!((space.capacity >> 20, space.allocated >> 20), (240, 7));
    pool.export().unwrap();
    drop(pool);
    let pool = again(&dir);
    assert!(!pool.core().readonly);
    let biases: Vec<Bias> = pool.report().root.children.iter().map(|top| top.stat.bias).collect();
    assert_eq!(biases, [Bias::None, Bias::Special, Bias::Dedup]);
    is_clean(&pool);
    assert!(apart(&pool) > before / 2, "what is replaced stays on such devices");
    is_clean(&pool);
    pool.export().unwrap();
    drop(pool);
    cut_partitions(&dir);
    zdb_accepts(&dir, "g_special");
}
