//! Objects against a model of bytes, in every state of their groups.

mod check;
mod model;

use std::sync::Arc;

use ondisk::object_type::ObjectType;
use ondisk::objset::ObjsetType;

use super::*;
use crate::owner::SyncTx;
use crate::testing::Bench;
use crate::{ObjsetPolicy, Seek};
use check::check_trees;
use model::Model;

fn file(block_size: u32) -> ObjectSpec {
    ObjectSpec::new(ObjectType::PLAIN_FILE_CONTENTS).with_block_size(block_size)
}

/// A dataset whose groups are synced late: reads and writes meet every state of an overlay.
#[test]
fn a_file_system_agrees_with_its_model_in_every_state() {
    for seed in 0..8 {
        let mut model = Model::new(seed, ObjsetType::Zfs);
        for _ in 0..40 {
            for _ in 0..model.below(12) {
                model.operate(super::super::testing::Bench::tx);
            }
            match model.below(4) {
                0 => model.open_next(),
                1 => model.sync_oldest(),
                2 => model.finish_oldest(),
                _ => model.compare(),
            }
        }
        model.settle();
        model.compare();
        model.reopen();
        model.compare_exactly();
        check_trees(&model.bench);
    }
}

/// The pool's own object set: changed only in syncing context, in several passes, from the second
/// on in place.
#[test]
fn passes_rewrite_what_they_wrote() {
    for seed in 0..8 {
        let mut model = Model::new(seed, ObjsetType::Meta);
        for _ in 0..10 {
            let txg = model.bench.books.open_next();
            for pass in 1..=1 + model.below(4) as u32 {
                for _ in 0..model.below(8) {
                    model.operate(|_| Tx::syncing(txg));
                }
                let root = model.bench.objset.sync(&SyncTx { txg, pass, rewrite: pass > 1 }).unwrap();
                assert!(!model.bench.objset.is_dirty(txg));
                assert_eq!(root, model.bench.objset.root());
                model.compare();
            }
            model.bench.objset.sync_done(txg);
            model.bench.books.bury();
            check_trees(&model.bench);
            model.compare_exactly();
        }
        model.reopen();
        model.compare_exactly();
    }
}

/// So a change of the pool that fails before has changed nothing: see `pool::dsl::task`.
#[test]
fn only_a_change_touches_a_transaction() {
    let bench = Bench::new(ObjsetType::Zfs, ObjsetPolicy::dataset());
    let dnode = bench.objset.alloc(file(512), &bench.tx()).unwrap();
    let tx = bench.tx();
    assert_ne!(tx.txg(), 0);
    assert!(dnode.set_block_size(100, &tx).is_err());
    assert!(dnode.set_bonus(ObjectType::SA, &[0; 1 << 14], &tx).is_err());
    assert!(!tx.is_touched(), "it was asked for its group, and refused changes");
    dnode.write(0, &[1; 512], &tx).unwrap();
    assert!(tx.is_touched());
    drop(tx);
    let tx = bench.tx();
    bench.objset.mark_dirty(&tx);
    assert!(tx.is_touched());
}

/// A number may have meant another object, whose handles are still about.
#[test]
fn an_object_is_found_when_it_is_whole() {
    let bench = Bench::new(ObjsetType::Zfs, ObjsetPolicy::dataset());
    let spec = file(512).with_bonus(ObjectType::SA, 4);
    let mut numbers = std::collections::BTreeSet::new();
    // The second time the number is one that was freed.
    for life in 0..2 {
        let tx = bench.tx();
        let objset = bench.objset.clone();
        let hidden = |dnode: &Arc<Dnode>| {
            let held = objset.hold(dnode.object()).map(|dnode| dnode.object());
            assert_eq!(held, Err(DmuError::NotFound), "life {life}");
            assert_ne!(objset.next_object(dnode.object() - 1, 0), Ok(Some(dnode.object())));
            dnode.set_bonus(ObjectType::SA, b"full", &tx)?;
            dnode.write(0, &[1; 512], &tx)
        };
        let dnode = objset.alloc_with(spec, &tx, hidden).unwrap();
        numbers.insert(dnode.object());
        let found = objset.hold(dnode.object()).unwrap();
        assert!(Arc::ptr_eq(&found, &dnode));
        assert_eq!(found.bonus().bytes, b"full");
        drop(tx);
        bench.sync();
        let tx = bench.tx();
        objset.free(dnode.object(), &tx).unwrap();
        drop(tx);
        bench.sync();
        assert!(!dnode.exists() && objset.hold(dnode.object()).is_err());
    }
    assert_eq!(numbers.len(), 1, "the number was to be given again");
}

#[test]
fn an_object_that_could_not_be_made_leaves_nothing() {
    let mut bench = Bench::new(ObjsetType::Zfs, ObjsetPolicy::dataset());
    let tx = bench.tx();
    let mut number = 0;
    let made = bench.objset.alloc_with(file(512), &tx, |dnode| {
        number = dnode.object();
        dnode.write(0, &[1; 5000], &tx)?;
        Err(DmuError::NoSpace)
    });
    assert_eq!(made.map(|dnode| dnode.object()), Err(DmuError::NoSpace));
    assert_eq!(bench.objset.hold(number).map(|dnode| dnode.object()), Err(DmuError::NotFound));
    drop(tx);
    bench.sync();
    bench.reopen();
    assert_eq!(bench.objset.next_object(number - 1, 0), Ok(None));
    let tx = bench.tx();
    assert_eq!(bench.objset.alloc(file(512), &tx).unwrap().object(), number);
    drop(tx);
    check_trees(&bench);
}

#[test]
fn a_whole_block_is_written_without_being_read() {
    let mut bench = Bench::new(ObjsetType::Zfs, ObjsetPolicy::dataset());
    let tx = bench.tx();
    let object = bench.objset.alloc(file(4096), &tx).unwrap().object();
    bench.objset.hold(object).unwrap().write(0, &[1; 3 * 4096], &tx).unwrap();
    bench.reopen();
    let dnode = bench.objset.hold(object).unwrap();
    let reads = || bench.store.reads.load(std::sync::atomic::Ordering::Relaxed);
    let before = reads();
    dnode.write(0, &[2; 3 * 4096], &bench.tx()).unwrap();
    assert_eq!(reads(), before);
    dnode.write(4096 + 1, &[3; 10], &bench.tx()).unwrap();
    assert_eq!(reads(), before, "the block is dirty in this group");
}

#[test]
fn a_block_is_sound_until_something_else_changes_it() {
    let bench = Bench::new(ObjsetType::Zfs, ObjsetPolicy::dataset());
    let dnode = bench.objset.alloc(file(512), &bench.tx()).unwrap();
    let change = |fails: bool| {
        let asked = dnode.update_sound_block(0, &bench.tx(), |_, is_sound| match fails {
            true => Err(is_sound),
            false => Ok(is_sound),
        });
        asked.unwrap().unwrap_or_else(|is_sound| is_sound)
    };
    let others: [&dyn Fn(); 4] = [
        &|| dnode.update_block(0, &bench.tx(), |block| block[0] = 1).unwrap(),
        &|| dnode.write(0, &[2; 512], &bench.tx()).unwrap(),
        &|| dnode.write(7, &[3; 5], &bench.tx()).unwrap(),
        &|| assert!(change(true)),
    ];
    assert!(!change(false), "nobody has looked at it");
    for (n, other) in others.iter().enumerate() {
        assert!(change(false), "before {n}");
        other();
        assert!(!change(false), "after {n}");
    }
    assert!(change(false));
    bench.sync();
    assert!(!change(false), "who read it since from disk knows nothing");
}

#[test]
fn readers_keep_what_they_were_given() {
    let bench = Bench::new(ObjsetType::Zfs, ObjsetPolicy::dataset());
    let dnode = bench.objset.alloc(file(512), &bench.tx()).unwrap();
    dnode.write(0, &[1; 512], &bench.tx()).unwrap();
    let held = dnode.block(0).unwrap().unwrap();
    dnode.write(100, &[2; 1], &bench.tx()).unwrap();
    bench.sync();
    dnode.write(101, &[2; 1], &bench.tx()).unwrap();
    assert_eq!(held[..], [1; 512]);
    assert_eq!(dnode.read_bytes(99, 4).unwrap(), [1, 2, 2, 1]);
}

#[test]
fn dnodes_of_any_size_never_cross_a_block_and_freed_numbers_come_back() {
    let mut bench = Bench::new(ObjsetType::Zfs, ObjsetPolicy::dataset());
    let mut prng = stdx::prng::Prng::new(3);
    let mut all = std::collections::BTreeMap::new();
    for round in 0..6 {
        for _ in 0..200 {
            let slots = prng.range(1, 17) as u8;
            let dnode = bench.objset.alloc(file(512).with_slots(slots), &bench.tx()).unwrap();
            let object = dnode.object();
            assert!(object % SLOTS + u64::from(slots) <= SLOTS);
            assert_eq!(all.insert(object, slots), None);
        }
        let ends: Vec<(u64, u64)> = all.iter().map(|(&o, &s)| (o, o + u64::from(s))).collect();
        assert!(ends.windows(2).all(|two| two[0].1 <= two[1].0), "round {round}: dnodes overlap");
        if round % 2 == 0 {
            bench.reopen();
        }
        let gone: Vec<u64> = all.keys().copied().filter(|_| prng.chance(1, 2)).collect();
        for object in gone {
            bench.objset.free(object, &bench.tx()).unwrap();
            assert_eq!(bench.objset.hold(object).err(), Some(DmuError::NotFound));
            all.remove(&object);
        }
        let mut listed = Vec::new();
        let mut after = 0;
        while let Some(object) = bench.objset.next_object(after, 0).unwrap() {
            listed.push(object);
            after = object;
        }
        assert!(listed.iter().eq(all.keys()), "round {round}");
        bench.sync();
        assert_eq!(bench.objset.object_count(), all.len() as u64);
    }
    let highest = *all.keys().last().unwrap();
    assert!(highest < 3 * 200 * 17, "freed slots were not used again: {highest}");
    check_trees(&bench);
}

#[test]
fn a_number_is_claimed_once() {
    let bench = Bench::meta();
    let tx = bench.tx();
    let dnode = bench.objset.claim(77, file(512).with_slots(3), &tx).unwrap();
    assert_eq!(dnode.object(), 77);
    for taken in [76, 77, 78, 79] {
        let error = bench.objset.claim(taken, file(512).with_slots(2), &tx).err();
        assert_eq!(error, Some(DmuError::Exists), "{taken}");
    }
    assert_eq!(bench.objset.hold(78).err(), Some(DmuError::NotFound));
    let crossing = bench.objset.claim(94, file(512).with_slots(3), &tx).err();
    assert_eq!(crossing, Some(DmuError::Invalid("object number")));
}

#[test]
fn the_cache_of_dnodes_is_bounded_and_holds_each_once() {
    let mut bench = Bench::new(ObjsetType::Zfs, ObjsetPolicy::dataset());
    let objects: Vec<u64> =
        (0..10_000).map(|_| bench.objset.alloc(file(512), &bench.tx()).unwrap().object()).collect();
    assert!(bench.objset.cache.len() >= objects.len(), "dirty dnodes stay");
    bench.reopen();
    let held = bench.objset.hold(objects[0]).unwrap();
    for &object in &objects {
        bench.objset.hold(object).unwrap();
    }
    assert!(bench.objset.cache.len() < 10, "{}", bench.objset.cache.len());
    assert!(Arc::ptr_eq(&held, &bench.objset.hold(objects[0]).unwrap()));
}

#[test]
fn a_large_object_is_freed_in_steps_and_leaves_nothing() {
    let bench = Bench::new(ObjsetType::Zfs, ObjsetPolicy::dataset());
    bench.sync();
    let before = bench.store.live();
    let dnode = bench.objset.alloc(file(512), &bench.tx()).unwrap();
    for far in [0, 1 << 20, 1 << 33, 1 << 50] {
        dnode.write(far, &[1; 512], &bench.tx()).unwrap();
    }
    bench.sync();
    assert!(dnode.nlevels() > 4);
    // The holes between the blocks are skipped at once, not step by step.
    bench.objset.free_in_steps(dnode.object()).unwrap();
    bench.sync();
    assert_eq!(bench.objset.object_count(), 0);
    assert!(bench.store.live() <= before, "{} blocks, {before} before", bench.store.live());
    check_trees(&bench);
}

#[test]
fn holes_remember_their_birth_where_something_was() {
    let bench = Bench::new(ObjsetType::Zfs, ObjsetPolicy::dataset());
    let dnode = bench.objset.alloc(file(512), &bench.tx()).unwrap();
    for block in [0, 1, 3, 2000] {
        dnode.write(block * 512, &[1; 512], &bench.tx()).unwrap();
    }
    bench.sync();
    dnode.free_range(512, 512, &bench.tx()).unwrap();
    dnode.write(0, &[0; 512], &bench.tx()).unwrap();
    let txg = bench.tx().txg();
    bench.sync();
    let pointer = |blkid| dnode.walker(&dnode.state()).pointer(0, blkid).unwrap();
    for punched in [0, 1] {
        let bp = pointer(punched);
        assert_eq!((bp.hole_birth(), bp.lsize()), (txg, 512), "block {punched}");
    }
    assert_eq!(pointer(2), BlkPtr::HOLE);
    assert_eq!(dnode.next_offset(0, Seek::Data).unwrap(), Some(3 * 512));
    assert_eq!(dnode.next_offset(2000 * 512, Seek::Hole).unwrap(), None);
}

/// Writers on several threads, each in its own blocks of one object, while groups are synced under
/// them. What they read back at once is what they wrote, and so is what lies on disk at the end.
#[test]
fn writers_and_the_sync_do_not_disturb_each_other() {
    const WRITERS: u64 = 4;
    let mut bench = Bench::new(ObjsetType::Zfs, ObjsetPolicy::dataset());
    let object = bench.objset.alloc(file(1024), &bench.tx()).unwrap().object();
    // Stands for admission: no transaction of the next group before the last of this one has left.
    let gate = std::sync::RwLock::new(());
    let left = std::sync::atomic::AtomicU64::new(WRITERS);
    let write = |writer: u64| {
        let mut prng = stdx::prng::Prng::new(writer);
        let dnode = bench.objset.hold(object).unwrap();
        let mut last = std::collections::BTreeMap::new();
        for _ in 0..1500 {
            // Neighbours share blocks: each has a quarter of every one.
            let at = prng.below(300) * 1024 + writer * 256;
            let byte = prng.below(256) as u8;
            {
                let _open = gate.read().unwrap();
                dnode.write(at, &[byte; 256], &bench.tx()).unwrap();
            }
            last.insert(at, byte);
            let (&at, &byte) = last.iter().nth(prng.below(last.len() as u64) as usize).unwrap();
            assert_eq!(dnode.read_bytes(at, 256).unwrap(), [byte; 256], "writer {writer} at {at}");
        }
        left.fetch_sub(1, std::sync::atomic::Ordering::SeqCst);
        last
    };
    let expected: Vec<_> = std::thread::scope(|scope| {
        let write = &write;
        let writers: Vec<_> = (0..WRITERS).map(|writer| scope.spawn(move || write(writer))).collect();
        while left.load(std::sync::atomic::Ordering::SeqCst) > 0
            && !writers.iter().all(std::thread::ScopedJoinHandle::is_finished)
        {
            let txg = {
                let _closed = gate.write().unwrap();
                bench.books.open_next()
            };
            bench.objset.sync(&SyncTx { txg, pass: 1, rewrite: false }).unwrap();
            bench.objset.sync_done(txg);
        }
        writers.into_iter().flat_map(|w| w.join().unwrap()).collect()
    });
    bench.reopen();
    let dnode = bench.objset.hold(object).unwrap();
    for (at, byte) in expected {
        assert_eq!(dnode.read_bytes(at, 256).unwrap(), [byte; 256], "at {at}");
    }
    check_trees(&bench);
}
