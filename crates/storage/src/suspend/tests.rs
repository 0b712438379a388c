use std::sync::Arc;

use env::{DiskError, FaultKind, FaultOp, FaultRule, IoClass};
use ondisk::BlkPtr;
use ondisk::nvlist::NvList;
use ondisk::uberblock::Uberblock;

use super::*;
use crate::testing::{Rig, noise, on, plain, rig};
use crate::{Block, Missed, ReadError, VdevState, WriteError};

const GONE: FaultKind = FaultKind::Fail(DiskError::Gone);

/// A mirror whose disks are known by their labels, in a pool that is in use.
fn patient() -> Rig {
    let rig = rig(&[2]);
    label(&rig, 7);
    rig.storage.suspension().be_patient();
    rig
}

fn label(rig: &Rig, pool: u64) {
    let pool = NvList::new().with("pool_guid", pool).with("txg", 4u64);
    for leaf in rig.storage.leaves() {
        leaf.device.init(&pool.clone().with("guid", leaf.guid)).unwrap();
    }
}

/// Waits until the pool is suspended, and does then what an operator does.
fn operator(rig: &Rig, help: impl FnOnce()) {
    rig.soon(|| rig.storage.is_suspended());
    help();
}

fn bring_back(rig: &Rig) {
    rig.faults.clear();
    assert_eq!(rig.storage.reopen(None).len(), 2);
    rig.storage.resume().unwrap();
}

fn blocks() -> Vec<Arc<Block>> {
    (0..40).map(|n| noise(65536, n)).collect()
}

#[test]
fn a_batch_goes_on_when_the_disks_are_back() {
    let rig = patient();
    let blocks = blocks();
    rig.faults.inject(FaultRule { skip: 7, ..on("a", FaultOp::Any, GONE) });
    rig.faults.inject(FaultRule { skip: 11, ..on("b", FaultOp::Any, GONE) });
    let bps: Vec<BlkPtr> = std::thread::scope(|scope| {
        scope.spawn(|| {
            operator(&rig, || {
                assert_eq!(rig.storage.resume(), Err(WriteError::Io), "the disks are not back");
                bring_back(&rig);
            });
        });
        rig.write(&blocks, plain(), 4).into_iter().map(Result::unwrap).collect()
    });
    rig.storage.flush_all().unwrap();
    rig.check(&bps, &blocks);
    assert_ne!(rig.leaf("a").is_behind, rig.leaf("b").is_behind, "one of them could be done without");
}

#[test]
fn what_a_failed_flush_may_have_lost_is_written_again() {
    let rig = patient();
    let blocks = blocks();
    let bps: Vec<BlkPtr> = rig.write(&blocks[..20], plain(), 4).into_iter().map(Result::unwrap).collect();
    rig.storage.flush_all().unwrap();
    // Both take the writes into a cache that is lost with the flush.
    for path in ["a", "b"] {
        rig.faults.inject(on(path, FaultOp::Write, FaultKind::Lie));
        rig.faults.inject(on(path, FaultOp::Flush, GONE));
    }
    let lost: Vec<BlkPtr> = rig.write(&blocks[20..], plain(), 4).into_iter().map(Result::unwrap).collect();
    std::thread::scope(|scope| {
        scope.spawn(|| operator(&rig, || bring_back(&rig)));
        rig.storage.flush_all().unwrap();
    });
    rig.check(&bps, &blocks[..20]);
    rig.check(&lost, &blocks[20..]);
    // On both of them.
    rig.faults.inject(on("a", FaultOp::Read, GONE));
    rig.check(&lost, &blocks[20..]);
}

#[test]
fn an_uberblock_is_written_when_the_disks_are_back() {
    let rig = patient();
    rig.storage.flush_all().unwrap();
    for path in ["a", "b"] {
        rig.faults.inject(on(path, FaultOp::Write, GONE));
    }
    let uberblock = Uberblock { txg: 4, ..Uberblock::new(5000) };
    std::thread::scope(|scope| {
        scope.spawn(|| operator(&rig, || bring_back(&rig)));
        rig.storage.commit_uberblock(&uberblock, None).unwrap();
    });
    let newest = |leaf: &crate::LeafHandle| leaf.device.read_labels().uberblocks.first().map(|ub| ub.txg);
    assert!(rig.storage.leaves().iter().any(|leaf| newest(leaf) == Some(4)));
}

#[test]
fn readers_wait_or_not_as_failmode_has_it() {
    let rig = patient();
    let block = noise(4096, 1);
    let bp = rig.write_one(&block, plain());
    rig.storage.flush_all().unwrap();
    let vanish = || {
        for path in ["a", "b"] {
            rig.faults.inject(on(path, FaultOp::Any, GONE));
        }
    };
    vanish();
    rig.storage.suspension().set_mode(FailMode::Continue);
    assert_eq!(rig.read(&bp).unwrap_err(), ReadError::Missing);
    assert!(!rig.storage.is_suspended(), "an error that is answered suspends nothing");
    rig.faults.clear();
    rig.storage.reopen(None);
    vanish();
    rig.storage.suspension().set_mode(FailMode::Wait);
    std::thread::scope(|scope| {
        scope.spawn(|| operator(&rig, || bring_back(&rig)));
        assert!(rig.storage.read(&bp, IoClass::SyncRead).unwrap()[..] == block[..]);
    });
}

/// Blocks that both disks have taken and will have lost when they are back.
fn lose(rig: &Rig, blocks: &[Arc<Block>]) -> Vec<BlkPtr> {
    for path in ["a", "b"] {
        rig.faults.inject(on(path, FaultOp::Write, FaultKind::Lie));
    }
    rig.write(blocks, plain(), 4).into_iter().map(Result::unwrap).collect()
}

fn errors(rig: &Rig) -> u64 {
    ["a", "b"].map(|path| rig.leaf(path).checksum_errors).iter().sum()
}

#[test]
fn what_disks_have_lost_is_read_from_memory_until_it_is_written_again() {
    let rig = patient();
    let blocks = blocks();
    let bps = lose(&rig, &blocks);
    for path in ["a", "b"] {
        rig.faults.inject(on(path, FaultOp::Read, GONE));
    }
    std::thread::scope(|scope| {
        scope.spawn(|| operator(&rig, || bring_back(&rig)));
        // Nobody is there who would write it again.
        rig.check(&bps, &blocks);
    });
    insisting(|| rig.check(&bps, &blocks));
    let stored = rig.storage.read_as_stored(&bps, IoClass::SyncRead);
    assert!(stored.iter().zip(&blocks).all(|(read, block)| read.as_ref().unwrap()[..] == block[..]));
    assert_eq!(errors(&rig), 0);
    rig.storage.flush_all().unwrap();
    rig.check(&bps, &blocks);
    assert_eq!(errors(&rig), 0, "and now they are on the disks");
}

/// It asked the old disks, or the new ones: nobody can say.
#[test]
fn who_reads_while_disks_are_opened_anew_reads_once_more() {
    let rig = patient();
    let block = noise(65536, 1);
    let bp = lose(&rig, std::slice::from_ref(&block)).remove(0);
    for path in ["a", "b"] {
        let delay = FaultKind::Delay(env::Nanos::from_millis(200));
        rig.faults.inject(FaultRule { times: 1, ..on(path, FaultOp::Read, delay) });
    }
    let before = rig.faults.fired();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            rig.soon(|| rig.faults.fired() != before);
            rig.storage.resume().unwrap();
        });
        assert!(rig.read(&bp).unwrap()[..] == block[..]);
    });
    assert!(!rig.storage.is_suspended());
}

#[test]
fn a_pool_that_is_given_up_fails_at_once() {
    for panic in [false, true] {
        let rig = patient();
        for path in ["a", "b"] {
            rig.faults.inject(on(path, FaultOp::Write, GONE));
        }
        let write = || rig.write(&[noise(4096, 1)], plain(), 4).remove(0);
        if panic {
            rig.storage.suspension().set_mode(FailMode::Panic);
            assert_eq!(write(), Err(WriteError::Io));
        } else {
            std::thread::scope(|scope| {
                scope.spawn(|| operator(&rig, || rig.storage.give_up()));
                assert_eq!(write(), Err(WriteError::Io));
            });
        }
        assert_eq!(rig.storage.suspension().refusal(), Some(Refusal::GivenUp));
        assert_eq!(write(), Err(WriteError::Suspended));
        rig.faults.clear();
        rig.storage.reopen(None);
        assert_eq!(rig.storage.resume(), Err(WriteError::Suspended), "what was given up stays so");
    }
}

/// Which guid of the pool the labels say depends on how far the group is that changes it; another
/// pool's disk is not taken.
#[test]
fn disks_are_opened_anew_after_the_pool_got_another_guid() {
    let rig = patient();
    for guid in [8, 9] {
        let tree = crate::VdevConfig { guid, ..rig.storage.config() };
        rig.storage.swap_tree(&tree, &[], &[]).unwrap();
    }
    for (said, count) in [(7, 2), (8, 2), (9, 2), (10, 0)] {
        label(&rig, said);
        for path in ["a", "b"] {
            rig.faults.inject(on(path, FaultOp::Read, GONE));
        }
        let bp = rig.write_one(&noise(4096, 1), plain());
        rig.storage.flush_all().unwrap();
        rig.storage.suspension().set_mode(FailMode::Continue);
        assert_eq!(rig.read(&bp).unwrap_err(), ReadError::Missing);
        rig.faults.clear();
        assert_eq!(rig.storage.reopen(None).len(), count, "the labels say {said}");
    }
}

#[test]
fn a_disk_that_was_opened_anew_was_away() {
    let rig = patient();
    rig.faults.inject(on("b", FaultOp::Read, GONE));
    let bps: Vec<BlkPtr> = rig.write(&blocks(), plain(), 4).into_iter().map(Result::unwrap).collect();
    rig.storage.flush_all().unwrap();
    rig.check(&bps, &blocks());
    assert_eq!(rig.leaf("b").state, VdevState::Faulted, "a read found it gone");
    rig.faults.clear();
    let guid = rig.leaf("b").guid;
    assert_eq!(rig.storage.reopen(None), [guid]);
    // It has taken all writes before and after, but whether it has kept those between is not known.
    assert_eq!(rig.storage.take_missed(), [(guid, Missed::Away)]);
    assert_eq!(rig.storage.take_missed(), []);
}
