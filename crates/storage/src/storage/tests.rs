mod raidz;

use std::sync::Arc;

use env::{DiskError, FaultKind, FaultOp, FaultRule, Nanos, Quirk};
use ondisk::{BlkPtr, Dva};
use stdx::trail;

use crate::arc::Keep;
use crate::testing::{DISK, Rig, noise, on, plain, rig, rig_with_cache, rig_with_logs, text, with};
use crate::*;

#[test]
fn blocks_come_back_from_stripes_and_mirrors() {
    for widths in [&[1][..], &[2], &[3, 2], &[1, 1, 1]] {
        let rig = rig(widths);
        let blocks: Vec<_> =
            (0..300).map(|n| if n % 2 == 0 { noise(512 << (n % 9), n) } else { text(131_072, n) }).collect();
        let policy = with(ondisk::ChecksumKind::Sha256, ondisk::CompressKind::Lz4);
        let bps: Vec<BlkPtr> = rig.write(&blocks, policy, 4).into_iter().map(Result::unwrap).collect();
        rig.storage.flush_all().unwrap();
        let read = rig.storage.read_many(&bps, IoClass::SyncRead, Keep::ALL);
        for ((block, read), bp) in blocks.iter().zip(read).zip(&bps) {
            assert!(block[..] == read.unwrap()[..], "{bp:?}");
        }
        assert!(bps.iter().map(|bp| bp.first_dva().vdev).max() == Some(widths.len() as u32 - 1));
    }
}

#[test]
fn copies_lie_on_different_vdevs_and_replace_each_other() {
    let rig = rig(&[1, 1, 1]);
    let block = noise(16384, 1);
    let bp = rig.write_one(&block, WritePolicy { copies: 3, ..plain() });
    let mut vdevs = bp.dvas().map(|dva| dva.vdev);
    vdevs.sort_unstable();
    assert_eq!(vdevs, [0, 1, 2]);
    rig.faults.inject(on("a", FaultOp::Read, FaultKind::Fail(DiskError::Io(5))));
    rig.faults.inject(on("b", FaultOp::Read, FaultKind::Corrupt));
    assert!(rig.read(&bp).unwrap()[..] == block[..]);
    rig.faults.inject(on("c", FaultOp::Read, FaultKind::Corrupt));
    assert_eq!(rig.read(&bp).unwrap_err(), ReadError::Checksum);
}

#[test]
fn each_side_of_a_mirror_may_be_corrupt_and_is_repaired() {
    for (bad, good) in [("a", "b"), ("b", "a")] {
        let rig = rig(&[2]);
        let blocks: Vec<_> = (0..40).map(|n| noise(131_072, n)).collect();
        let bps: Vec<BlkPtr> = rig.write(&blocks, plain(), 4).into_iter().map(Result::unwrap).collect();
        rig.spoil(bad);
        // From both ends at once: two streams, one for each disk.
        for n in (0..20).flat_map(|n| [n, 39 - n]) {
            assert!(rig.read(&bps[n]).unwrap()[..] == blocks[n][..]);
        }
        let hurt = rig.leaf(bad).checksum_errors;
        assert!(hurt > 0 && rig.leaf(good).checksum_errors == 0, "{hurt}");
        // What was repaired is whole even without the other side.
        rig.disks.edit(good, |bytes| bytes[4 << 20..(60 << 20)].fill(0x11));
        let left = bps.iter().filter(|bp| rig.read(bp).is_ok()).count() as u64;
        assert_eq!(left, hurt);
    }
}

#[test]
fn each_side_of_a_mirror_may_fail_or_vanish() {
    for (bad, error, state) in [
        ("a", DiskError::Io(5), VdevState::Online),
        ("b", DiskError::Io(5), VdevState::Online),
        ("b", DiskError::Gone, VdevState::Faulted),
        ("c", DiskError::Gone, VdevState::Faulted),
    ] {
        let rig = rig(&[3]);
        let blocks: Vec<_> = (0..60).map(|n| noise(65536, n)).collect();
        for op in [FaultOp::Read, FaultOp::Write] {
            rig.faults.inject(on(bad, op, FaultKind::Fail(error)));
        }
        let bps: Vec<BlkPtr> = rig.write(&blocks, plain(), 4).into_iter().map(Result::unwrap).collect();
        rig.storage.flush_all().unwrap();
        let stat = rig.leaf(bad);
        assert!(stat.write_errors > 0);
        assert_eq!((stat.state, stat.is_behind), (state, state == VdevState::Online));
        // Whoever judges disks hears of each error, and whose it is.
        let reports = rig.storage.reports().take();
        assert!(reports.iter().all(|report| report.guid == stat.guid && report.what == What::Write(error)));
        assert!(!reports.is_empty());
        let health = if state == VdevState::Online { state } else { VdevState::Degraded };
        assert_eq!(rig.storage.status().state, health);
        rig.check(&bps, &blocks);
    }
}

#[test]
fn a_side_that_missed_one_write_gets_no_uberblock_and_is_not_believed() {
    for bad in ["a", "b"] {
        let rig = rig(&[2]);
        let raw = with(ondisk::ChecksumKind::Off, ondisk::CompressKind::Off);
        let blocks: Vec<_> = (0..30).map(|n| noise(131_072, n)).collect();
        let once = FaultRule { times: 1, ..on(bad, FaultOp::Write, FaultKind::Fail(DiskError::Io(5))) };
        rig.faults.inject(once);
        let bps: Vec<BlkPtr> = rig.write(&blocks, raw, 4).into_iter().map(Result::unwrap).collect();
        assert_eq!(rig.faults.fired(), 1);
        assert!(rig.leaf(bad).is_behind);
        // Nothing but the choice of the side tells these bytes from those that should be there.
        rig.check(&bps, &blocks);
        let uberblock = ondisk::uberblock::Uberblock { txg: 4, ..ondisk::uberblock::Uberblock::new(5000) };
        rig.storage.commit_uberblock(&uberblock, None).unwrap();
        for leaf in rig.storage.leaves() {
            let newest = leaf.device.read_labels().uberblocks.first().map(|uberblock| uberblock.txg);
            assert_eq!(newest, leaf.whole.then_some(4));
        }
        // The other side is all there is now.
        let other = rig.storage.leaves().into_iter().find(|leaf| leaf.whole).unwrap().guid;
        assert!(!rig.storage.fault(other) && !rig.storage.mark_behind(other));
    }
}

#[test]
fn a_flush_that_fails_costs_the_disk_or_the_txg() {
    let mirror = rig(&[2]);
    mirror.faults.inject(on("a", FaultOp::Flush, FaultKind::Fail(DiskError::Io(5))));
    mirror.write_one(&noise(4096, 1), plain());
    mirror.storage.flush_all().unwrap();
    assert_eq!(mirror.leaf("a").state, VdevState::Faulted);
    let single = rig(&[1]);
    single.faults.inject(on("a", FaultOp::Flush, FaultKind::Fail(DiskError::Io(5))));
    single.write_one(&noise(4096, 1), plain());
    assert_eq!(single.storage.flush_all(), Err(WriteError::Io));
}

/// Two blocks, of which each side of a mirror refuses the one that the other takes.
fn crosswise() -> [Arc<Block>; 2] {
    [noise(1 << 20, 1), noise(1 << 20, 2)]
}

/// Writes them. Only one of the sides can be called behind: which one, and where they are.
fn refuse_crosswise(rig: &Rig) -> (&'static str, Vec<BlkPtr>) {
    let blocks = crosswise();
    let write = |rig: &Rig| -> Vec<BlkPtr> {
        rig.write(&blocks, plain(), 4).into_iter().map(Result::unwrap).collect()
    };
    let places = write(&crate::testing::rig(&[2])).into_iter();
    for (side, bp) in ["a", "b"].into_iter().zip(places) {
        let at = ondisk::label::START + bp.first_dva().offset;
        let refused = on(side, FaultOp::Write, FaultKind::Fail(DiskError::Io(5)));
        rig.faults.inject(FaultRule { bytes: (at..at + (1 << 20)).into(), ..refused });
    }
    let written = write(rig);
    let behind: Vec<&str> = ["a", "b"].into_iter().filter(|side| rig.leaf(side).is_behind).collect();
    assert_eq!((rig.faults.fired(), behind.len()), (2, 1));
    rig.faults.clear();
    (behind[0], written)
}

/// Then the one that is behind loses what it took: it cannot flush, or vanishes before.
#[test]
fn a_side_does_not_stand_in_for_what_it_refused() {
    for (op, kind) in [(FaultOp::Flush, DiskError::Io(5)), (FaultOp::Any, DiskError::Gone)] {
        let rig = rig(&[2]);
        let (behind, _) = refuse_crosswise(&rig);
        // Who lacks what is noted before a group is flushed.
        assert_eq!(rig.storage.take_missed().len(), 2);
        rig.faults.inject(on(behind, op, FaultKind::Fail(kind)));
        if op == FaultOp::Any {
            rig.write_one(&noise(4096, 3), plain());
            assert_eq!(rig.leaf(behind).state, VdevState::Faulted);
        }
        assert_eq!(rig.storage.flush_all(), Err(WriteError::Io), "{op:?}");
    }
}

/// What it refused is in memory as long as no flush counts: once an operator has it tried again, it
/// stands in.
#[test]
fn a_side_stands_in_for_what_it_refused_when_it_has_taken_it() {
    let rig = rig(&[2]);
    rig.storage.suspension().be_patient();
    let (behind, bps) = refuse_crosswise(&rig);
    rig.faults.inject(on(behind, FaultOp::Any, FaultKind::Fail(DiskError::Gone)));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            rig.soon(|| rig.storage.is_suspended());
            rig.storage.resume().unwrap();
        });
        rig.storage.flush_all().unwrap();
    });
    assert_eq!(rig.leaf(behind).state, VdevState::Faulted);
    rig.check(&bps, &crosswise());
}

/// What was flushed before does not matter, wherever it is.
#[test]
fn a_side_that_refused_something_once_stands_in_later() {
    let rig = rig(&[2]);
    let (behind, _) = refuse_crosswise(&rig);
    rig.storage.flush_all().unwrap();
    rig.faults.inject(on(behind, FaultOp::Any, FaultKind::Fail(DiskError::Gone)));
    rig.write_one(&noise(4096, 3), plain());
    assert_eq!(rig.leaf(behind).state, VdevState::Faulted);
    rig.storage.flush_all().unwrap();
}

#[test]
fn the_nth_operation_may_fail() {
    let blocks: Vec<_> = (0..12).map(|n| noise(8192, n)).collect();
    let policy = WritePolicy { copies: 2, ..plain() };
    for n in 0.. {
        let rig = rig(&[1, 1]);
        rig.faults.inject(FaultRule {
            skip: n,
            times: 1,
            ..FaultRule::new(FaultOp::Any, FaultKind::Fail(DiskError::Io(5)))
        });
        let bps = rig.write(&blocks, policy, 4);
        for (bp, block) in bps.iter().zip(&blocks) {
            // One failure is within what a second try elsewhere repairs.
            assert!(rig.read(bp.as_ref().unwrap()).unwrap()[..] == block[..], "operation {n}");
        }
        if rig.faults.fired() == 0 {
            assert!(n > 2);
            return;
        }
    }
}

#[test]
fn a_write_that_no_disk_takes_is_an_error_and_returns_its_space() {
    let rig = rig(&[1]);
    rig.faults.inject(on("a", FaultOp::Write, FaultKind::Fail(DiskError::Io(5))));
    let result = rig.write(&[noise(8192, 1)], plain(), 4);
    assert_eq!(result, [Err(WriteError::Io)]);
    assert_eq!(rig.storage.space().allocated, 0);
}

#[test]
fn a_full_pool_says_so() {
    let rig = rig(&[1]);
    let blocks: Vec<_> = (0..70).map(|n| noise(1 << 20, n)).collect();
    let results = rig.write(&blocks, plain(), 4);
    let good = results.iter().filter(|result| result.is_ok()).count();
    assert!((50..60).contains(&good), "{good}");
    assert!(results.iter().all(|result| matches!(result, Ok(_) | Err(WriteError::NoSpace))));
}

#[test]
fn gangs_are_read_rewritten_and_freed() {
    let rig = rig(&[2, 1]);
    rig.storage.env().quirks.set(Quirk::ForceGang, true);
    for copies in [1, 2, 3] {
        let before = rig.storage.space().allocated;
        let (old, new) = (noise(100 << 10, 1), noise(100 << 10, 2));
        let policy = WritePolicy { copies, ..plain() };
        let bp = rig.write_one(&old, policy);
        assert!(bp.is_gang());
        assert!(rig.read(&bp).unwrap()[..] == old[..]);
        let after = rig.storage.space().allocated;
        assert_eq!(after - before, bp.asize());
        let item = WriteItem { data: new.clone(), policy, rewrite: Some(bp), unless: None };
        let again = rig.storage.write_batch(vec![item], 4, &mut |_| {}).remove(0).unwrap();
        assert_eq!(again.dvas(), bp.dvas());
        assert_eq!(rig.storage.space().allocated, after);
        assert!(rig.read(&again).unwrap()[..] == new[..]);
        rig.storage.free(&again, 5);
        (5..9).for_each(|txg| rig.settle(txg));
        assert_eq!(rig.storage.space().allocated, before, "copies {copies}");
    }
}

#[test]
fn a_rewrite_stays_in_place_only_with_the_same_size_and_birth() {
    let rig = rig(&[1]);
    let policy = with(ondisk::ChecksumKind::Fletcher4, ondisk::CompressKind::Lz4);
    let first = rig.write_one(&noise(16384, 1), policy);
    let rewrite = |data: Arc<Block>, txg| {
        let item = WriteItem { data, policy, rewrite: Some(first), unless: None };
        rig.storage.write_batch(vec![item], txg, &mut |_| {}).remove(0).unwrap()
    };
    let same = rewrite(noise(16384, 2), 4);
    assert_eq!(same.dvas(), first.dvas());
    assert!(rig.read(&same).unwrap()[..] == noise(16384, 2)[..]);
    assert_ne!(rewrite(text(16384, 1), 4).dvas(), first.dvas());
    assert_ne!(rewrite(noise(16384, 3), 5).dvas(), first.dvas());
}

#[test]
fn forged_pointers_are_corrupt_and_free_nothing() {
    let rig = rig(&[2]);
    let good = rig.write_one(&noise(8192, 1), plain());
    let forge = |dva| {
        let mut bp = good;
        bp.set_dva(0, dva);
        bp
    };
    let gang = |offset| {
        let mut dva = Dva::new(0, offset, 8192);
        dva.gang = true;
        dva
    };
    let mut huge = good;
    huge.set_psize(32 << 20);
    let wrong = [
        forge(Dva::new(0, 1 << 40, 8192)),
        forge(Dva::new(0, !511, 8192)),
        forge(Dva::new(77, 0, 8192)),
        forge(Dva::new((1 << 24) - 1, 0, 8192)),
        forge(gang(1 << 50)),
        huge,
    ];
    let before = rig.storage.space();
    for bp in wrong {
        assert_eq!(rig.read(&bp).unwrap_err(), ReadError::Corrupt, "{bp:?}");
        if bp != huge {
            rig.storage.free(&bp, 5);
        }
    }
    assert_eq!(rig.read(&forge(gang(0))).unwrap_err(), ReadError::Checksum);
    assert_eq!(rig.storage.space(), before);
    assert!(rig.read(&good).is_ok());
}

#[test]
fn prefetched_blocks_need_no_disk() {
    let rig = rig_with_cache(&[1], 64 << 20);
    let block = noise(65536, 1);
    let bp = rig.write_one(&block, plain());
    assert!(rig.storage.cached(&bp).is_some(), "what was written is at hand");
    rig.storage.cache().remove(&crate::arc::Key::of(7, &bp).unwrap());
    assert!(rig.storage.cached(&bp).is_none());
    rig.storage.prefetch(vec![bp; 5000], Keep::ALL);
    rig.soon(|| rig.storage.cached(&bp).is_some());
    rig.disks.edit("a", |bytes| bytes.fill(0));
    assert!(rig.read(&bp).unwrap()[..] == block[..]);
}

/// Labels a disk, which is not open, as the leaf of this guid.
fn label(rig: &Rig, path: &str, guid: u64) {
    let disk = env::Disks::open(&rig.faults, path, env::OpenMode::ReadWrite).unwrap();
    let label = ondisk::nvlist::NvList::new().with("pool_guid", 7u64).with("txg", 4u64);
    crate::labels::Device::locate(disk).unwrap().init(&label.with("guid", guid)).unwrap();
}

#[test]
fn a_tree_opens_again_only_on_its_own_disks() {
    let rig = rig(&[2]);
    let root = rig.storage.config();
    let reopened = || {
        rig.storage.close();
        rig.storage.open_tree(&root, OpenIntent::ReadWrite)
    };
    assert_eq!(reopened(), Err(OpenError::MissingTop { id: 0, guid: 50 }), "the disks have no labels yet");
    rig.storage.close();
    label(&rig, "a", root.children[0].children[0].guid);
    label(&rig, "b", 999);
    assert_eq!(reopened(), Ok(()));
    assert_eq!(rig.leaf("a").state, VdevState::Online);
    assert_eq!(rig.leaf("b").state, VdevState::Unavail);
    assert_eq!(rig.storage.leaves().len(), 1);
    assert!(!rig.storage.fault(root.children[0].children[0].guid), "it is the last side");
}

#[test]
fn a_side_that_did_not_grow_with_the_others_is_left_out() {
    let rig = rig(&[2]);
    rig.disks.add("large", 2 * DISK);
    rig.storage.close();
    let mut root = rig.storage.config();
    let top = &mut root.children[0];
    top.children[1].path = Some("large".into());
    top.children.iter().for_each(|side| label(&rig, side.path.as_deref().unwrap(), side.guid));
    top.asize = Some(ondisk::label::allocatable_size(2 * DISK));
    assert_eq!(rig.storage.open_tree(&root, OpenIntent::ReadWrite), Ok(()));
    assert_eq!((rig.leaf("a").state, rig.leaf("large").state), (VdevState::Unavail, VdevState::Online));
    // All of them are too small.
    rig.storage.close();
    root.children[0].asize = Some(3 * DISK);
    let missing = OpenError::MissingTop { id: 0, guid: 50 };
    assert_eq!(rig.storage.open_tree(&root, OpenIntent::ReadWrite), Err(missing));
}

#[test]
fn a_missing_log_is_refused_unless_it_may_be_missing() {
    let rig = rig_with_logs(&[1], &[1]);
    let root = rig.storage.config();
    rig.storage.close();
    label(&rig, "a", root.children[0].guid);
    let missing = OpenError::MissingLog { id: 1, guid: root.children[1].guid };
    assert_eq!(rig.storage.open_tree(&root, OpenIntent::ReadWrite), Err(missing.clone()));
    let logs = Tolerated { logs: true, unknown: false };
    assert_eq!(rig.storage.open_tree_without(&root, OpenIntent::ReadWrite, logs), Ok(()));
    assert_eq!(rig.storage.refuse_missing(Tolerated::default()), Err(missing));
    assert_eq!((rig.leaf("b").state, rig.storage.status().state), (VdevState::Unavail, VdevState::Degraded));
    // Where the labels say nothing of a vdev, it may have been a log.
    let mut labels = root.clone();
    labels.children[1] = VdevConfig::new(VdevKind::Missing, 1, 0);
    let strict = rig.storage.open_tree_without(&labels, OpenIntent::ReadOnly, logs);
    assert_eq!(strict, Err(OpenError::MissingTop { id: 1, guid: 0 }));
    let lenient = Tolerated { logs: true, unknown: true };
    assert_eq!(rig.storage.open_tree_without(&labels, OpenIntent::ReadOnly, lenient), Ok(()));
}

#[test]
fn unbuilt_vdevs_are_named() {
    let rig = rig(&[1]);
    let mut root = rig.storage.config();
    root.children[0].kind = VdevKind::Other("draid".to_owned());
    let result = rig.storage.open_tree(&root, OpenIntent::Create);
    assert_eq!(result, Err(OpenError::Unsupported { kind: "draid".to_owned() }));
}

#[test]
fn who_is_looked_at_is_told_which_disk_his_reads_and_flushes_waited_for() {
    let rig = rig(&[1, 2]);
    let bps: Vec<BlkPtr> = (0..8).map(|n| rig.write_one(&noise(16384, n), plain())).collect();
    let guid =
        |path: &str| rig.storage.tree().leaves.iter().find(|leaf| leaf.path == path).map(|leaf| leaf.guid);
    let slowest = |work: &dyn Fn()| trail::followed(Box::default(), work).1.slowest.map(|waited| waited.vdev);
    let read = || {
        rig.storage
            .read_many(&bps, IoClass::SyncRead, Keep::ALL)
            .into_iter()
            .for_each(|it| drop(it.unwrap()));
    };
    let flush = || rig.storage.flush_on(&rig.storage.tree(), &[0, 1]).unwrap();
    for slow in ["a", "b"] {
        for op in [FaultOp::Read, FaultOp::Flush] {
            rig.faults.inject(on(slow, op, FaultKind::Delay(Nanos::from_millis(30))));
        }
        assert_eq!(slowest(&flush), guid(slow));
        let read = slowest(&read);
        // The other side of the mirror may have been read instead.
        assert!(read == guid(slow) || slow == "b", "{slow} {read:?}");
        rig.faults.clear();
    }
}
