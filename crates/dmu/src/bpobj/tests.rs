use ondisk::ChecksumKind;
use ondisk::blkptr::Dva;
use stdx::prng::Prng;

use super::*;
use crate::testing::Bench;

fn bp(i: u64) -> BlkPtr {
    let mut bp = BlkPtr::new(ObjectType::PLAIN_FILE_CONTENTS, 0, 8192, 4096);
    bp.set_dva(0, Dva::new(0, i << 12, 512 * (1 + i % 3)));
    bp.set_checksum(ChecksumKind::Fletcher4, [i; 4]).set_birth(i, i);
    bp
}

fn numbers(list: &Bpobj) -> Vec<u64> {
    let mut all = Vec::new();
    let _: ControlFlow<()> = list
        .iterate(|bp, _| {
            all.push(bp.logical_birth());
            ControlFlow::Continue(())
        })
        .unwrap();
    all
}

fn space(numbers: impl IntoIterator<Item = u64>) -> Space {
    let mut sum = Space::default();
    for i in numbers {
        sum.add(Space { used: bp(i).asize(), comp: 4096, uncomp: 8192 }, 1);
    }
    sum
}

/// A list with these numbers.
fn list(bench: &Bench, numbers: std::ops::Range<u64>) -> Bpobj {
    let tx = bench.tx();
    let list = Bpobj::alloc(&bench.objset, BpobjForm::V2, &tx).unwrap();
    let list = Bpobj::open(&bench.objset, list).unwrap();
    let blocks: Vec<_> = numbers.map(|i| (bp(i), false)).collect();
    list.enqueue_all(&blocks, &tx).unwrap();
    list
}

#[test]
fn keeps_what_was_put_in() {
    let mut bench = Bench::meta();
    let object = list(&bench, 1..3000).object();
    bench.reopen();
    let list = Bpobj::open(&bench.objset, object).unwrap();
    assert!(numbers(&list).into_iter().eq((1..3000).rev()), "newest first");
    assert_eq!(list.space(), Ok(space(1..3000)));
    assert_eq!(list.space_between(10, 20), Ok(space(11..=20)));
    let found = list.iterate(|bp, freed| {
        assert!(!freed && bp.checksum() == [0; 4]);
        if bp.logical_birth() == 77 { ControlFlow::Break(*bp) } else { ControlFlow::Continue(()) }
    });
    assert!(matches!(found, Ok(ControlFlow::Break(found)) if found.same_block(&bp(77))));
}

#[test]
fn what_is_drained_is_gone() {
    let bench = Bench::meta();
    let list = list(&bench, 1..3000);
    let tx = bench.tx();
    let mut seen = Vec::new();
    let stopped = list.drain(&tx, |bp, _| {
        if seen.len() == 1500 {
            return Ok(ControlFlow::Break(bp.logical_birth()));
        }
        seen.push(bp.logical_birth());
        Ok(ControlFlow::Continue(()))
    });
    assert_eq!(stopped, Ok(ControlFlow::Break(1499)));
    assert_eq!(list.space(), Ok(space(1..1500)));
    assert_eq!(numbers(&list).len(), 1499);
    let failed: Result<ControlFlow<()>, _> = list.drain(&tx, |_, _| Err(DmuError::Io));
    assert_eq!(failed, Err(DmuError::Io));
    assert_eq!(numbers(&list).len(), 1499);
    let rest: Result<ControlFlow<()>, _> = list.drain(&tx, |_, _| Ok(ControlFlow::Continue(())));
    assert_eq!(rest, Ok(ControlFlow::Continue(())));
    assert_eq!((list.is_empty(), list.space()), (Ok(true), Ok(Space::default())));
}

#[test]
fn small_lists_are_copied_and_large_ones_kept() {
    let bench = Bench::meta();
    let outer = list(&bench, 1..5);
    let (small, large, empty) = (list(&bench, 10..20), list(&bench, 100..3000), list(&bench, 0..0));
    large.enqueue_subobj(list(&bench, 5000..7000).object(), &bench.tx()).unwrap();
    let tx = bench.tx();
    for list in [&small, &large, &empty] {
        outer.enqueue_subobj(list.object(), &tx).unwrap();
    }
    let phys = outer.phys().unwrap();
    assert_eq!(
        (phys.num_blkptrs, phys.num_subobjs),
        (4 + 10, 2),
        "the list within the large one was taken over"
    );
    for gone in [&small, &empty] {
        assert!(bench.objset.hold(gone.object()).is_err());
    }
    let all = || (1..5).chain(10..20).chain(100..3000).chain(5000..7000);
    assert_eq!(outer.space(), Ok(space(all())));
    let mut found = numbers(&outer);
    found.sort_unstable();
    assert!(found.into_iter().eq(all()));
    assert_eq!(outer.enqueue_subobj(outer.object(), &tx), Err(DmuError::Invalid("a list within itself")));
    drop(tx);

    // Drained, the lists within are gone as well.
    let before = bench.objset.object_count();
    let tx = bench.tx();
    let mut count = 0;
    let done: Result<ControlFlow<()>, _> = outer.drain(&tx, |_, _| {
        count += 1;
        Ok(ControlFlow::Continue(()))
    });
    assert_eq!((done, count), (Ok(ControlFlow::Continue(())), all().count()));
    assert_eq!(outer.space(), Ok(Space::default()));
    assert!(bench.objset.hold(large.object()).is_err());
    Bpobj::free(&bench.objset, outer.object(), &tx).unwrap();
    drop(tx);
    bench.sync();
    assert_eq!(bench.objset.object_count(), 0, "of {before}");
}

/// Lists put into lists at random, drained in steps, across groups.
#[test]
fn agrees_with_a_bag_of_numbers() {
    let mut rng = Prng::new(3);
    for _ in 0..6 {
        let mut bench = Bench::meta();
        let outer = list(&bench, 0..0).object();
        let (mut bag, mut next) = (Vec::new(), 1);
        for _ in 0..30 {
            let outer = Bpobj::open(&bench.objset, outer).unwrap();
            let len = rng.below(if bag.len() < 9000 { 1500 } else { 40 });
            let within = list(&bench, next..next + len);
            bag.extend(next..next + len);
            next += len;
            let tx = bench.tx();
            if rng.chance(1, 2) {
                let between = list(&bench, next..next + 3);
                bag.extend(next..next + 3);
                next += 3;
                between.enqueue_subobj(within.object(), &tx).unwrap();
                outer.enqueue_subobj(between.object(), &tx).unwrap();
            } else {
                outer.enqueue_subobj(within.object(), &tx).unwrap();
            }
            let most = rng.below(2500);
            let mut taken = Vec::new();
            let _ = outer
                .drain(&tx, |bp, _| {
                    if taken.len() as u64 == most {
                        return Ok(ControlFlow::Break(()));
                    }
                    taken.push(bp.logical_birth());
                    Ok(ControlFlow::Continue(()))
                })
                .unwrap();
            taken.sort_unstable();
            let before = bag.len();
            bag.retain(|number| taken.binary_search(number).is_err());
            assert_eq!(before - bag.len(), taken.len());
            assert_eq!(outer.space(), Ok(space(bag.iter().copied())));
            drop((tx, outer, within));
            bench.reopen();
        }
        let mut left = numbers(&Bpobj::open(&bench.objset, outer).unwrap());
        left.sort_unstable();
        bag.sort_unstable();
        assert_eq!(left, bag);
        Bpobj::free(&bench.objset, outer, &bench.tx()).unwrap();
        bench.sync();
        assert_eq!(bench.objset.object_count(), 0);
    }
}

#[test]
fn frees_are_recorded() {
    let bench = Bench::meta();
    let tx = bench.tx();
    let list = Bpobj::alloc(&bench.objset, BpobjForm::V3, &tx).unwrap();
    let list = Bpobj::open(&bench.objset, list).unwrap();
    list.enqueue(&bp(1), false, &tx).unwrap();
    list.enqueue(&bp(2), false, &tx).unwrap();
    list.enqueue(&bp(1), true, &tx).unwrap();
    assert_eq!(list.space(), Ok(space([2])));
    assert_eq!(list.phys().unwrap().num_freed, 1);
    let mut flags = Vec::new();
    let _: ControlFlow<()> = list
        .drain(&tx, |_, freed| {
            flags.push(freed);
            Ok(ControlFlow::Continue(()))
        })
        .unwrap();
    assert_eq!(flags, [true, false, false]);
    assert_eq!((list.phys().unwrap().num_freed, list.space()), (0, Ok(Space::default())));
}

#[test]
fn a_list_within_itself_is_corrupt() {
    let bench = Bench::meta();
    let (one, other) = (list(&bench, 1..2000), list(&bench, 1..2000));
    let tx = bench.tx();
    one.enqueue_subobj(other.object(), &tx).unwrap();
    let phys = one.phys().unwrap();
    let lists = bench.objset.hold(phys.subobjs).unwrap();
    lists.write(0, &Endian::Little.put_u64(one.object()), &tx).unwrap();
    let corrupt = Err(DmuError::Corrupt { object: one.object(), block: 0 });
    assert_eq!(one.iterate::<()>(|_, _| ControlFlow::Continue(())), corrupt);
    assert_eq!(Bpobj::free(&bench.objset, one.object(), &tx).map(ControlFlow::<()>::Continue), corrupt);
    one.set_phys(&BpobjPhys { num_blkptrs: u64::MAX / 2, ..phys }, &tx).unwrap();
    assert_eq!(one.iterate::<()>(|_, _| ControlFlow::Continue(())), corrupt);
}
