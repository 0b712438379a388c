use env::{DiskError, FaultKind, FaultOp, FaultRule};
use ondisk::nvlist::NvList;
use ondisk::uberblock::Uberblock;

use super::*;
use crate::suspend::Cause;
use crate::testing::{Rig, noise, on, plain, rig, rig_of_raidz, rig_with_logs};
use crate::{OpenIntent, VdevState};

const TXG: u64 = 4;

/// Bytes in use of a log block whose records are `records`.
fn block(next: BlkPtr, records: &[u8]) -> Vec<u8> {
    let nused = (CHAIN_SIZE + records.len()) as u64;
    let mut block = ZilChain { next, nused }.encode().to_vec();
    block.extend(records);
    block
}

fn place(rig: &Rig, size: usize, sequence: u64) -> BlkPtr {
    let mut bp = rig.storage.allocate_log(size, TXG, &|| true).expect("there is room");
    bp.set_checksum(ChecksumKind::Zilog2, [11, 12, 13, sequence]);
    bp
}

fn log(rig: &Rig, bp: &BlkPtr, records: &[u8]) -> Result<(), WriteError> {
    rig.storage.write_log(vec![(*bp, block(BlkPtr::HOLE, records))], &[], rig.storage.losses()).map(drop)
}

fn commit(rig: &Rig) -> Result<(), WriteError> {
    rig.storage.commit_uberblock(&Uberblock { txg: TXG, guid_sum: 7, ..Uberblock::new(5000) }, None)
}

#[test]
fn a_log_block_comes_back_with_its_records_and_the_next() {
    let rig = rig(&[1]);
    let first = place(&rig, 128 << 10, 1);
    let second = place(&rig, 8192, 2);
    assert_eq!((first.lsize(), first.psize(), first.logical_birth()), (128 << 10, 128 << 10, TXG));
    assert_eq!((first.object_type(), first.ndvas()), (ObjectType::INTENT_LOG, 1));
    assert!(first.validate().is_ok() && !rig.storage.is_on_log(&first));
    let before = rig.disks.counts("a");
    let records = vec![7; 5000];
    rig.storage.write_log(vec![(first, block(second, &records))], &[], rig.storage.losses()).unwrap();
    let after = rig.disks.counts("a");
    assert_eq!(after.write_bytes - before.write_bytes, 8192, "only what is in use, in 4 KiB");
    assert_eq!(after.flushes - before.flushes, 1);
    let found = rig.storage.read_log_block(&first).unwrap();
    assert_eq!((found.records, found.next), (records, second));
    assert_eq!(rig.storage.read_log_block(&second).unwrap_err(), ReadError::Checksum, "never written");
    let mut other = first;
    other.set_checksum(ChecksumKind::Zilog2, [11, 12, 13, 3]);
    assert_eq!(rig.storage.read_log_block(&other).unwrap_err(), ReadError::Checksum, "another's block");
}

#[test]
fn large_sectors_are_written_whole() {
    let rig = rig(&[1]);
    let mut root = rig.storage.config();
    root.children[0].ashift = Some(13);
    rig.storage.open_tree(&root, OpenIntent::Create).unwrap();
    let mut bp = BlkPtr::new(ObjectType::INTENT_LOG, 0, 4096, 4096);
    bp.set_dva(0, Dva::new(0, 8192, 8192)).set_birth(TXG, TXG);
    bp.set_checksum(ChecksumKind::Zilog2, [1, 2, 3, 4]);
    log(&rig, &bp, b"12345678").unwrap();
    assert_eq!(rig.storage.read_log_block(&bp).unwrap().records, b"12345678");
}

#[test]
fn logs_go_to_their_own_devices_while_those_have_room() {
    let rig = rig_with_logs(&[1], &[1, 1]);
    let size = 128 << 10;
    let blocks: Vec<BlkPtr> =
        (0..).map(|n| place(&rig, size, n)).take_while(|bp| rig.storage.is_on_log(bp)).collect();
    let on_first = blocks.iter().filter(|bp| bp.dva(0).vdev == 1).count();
    assert_eq!(on_first * 2, blocks.len(), "striped logs have as much each");
    assert!(blocks.windows(2).all(|pair| pair[0].dva(0).vdev != pair[1].dva(0).vdev), "and take turns");
    let capacity = |vdev| rig.storage.vdev_space(vdev).unwrap().capacity;
    assert_eq!(blocks.len() as u64 * size as u64, capacity(1) + capacity(2), "until they are full");
    assert_eq!(rig.storage.space().capacity, capacity(0), "the pool is not larger for its logs");
    assert_eq!(rig.storage.space().allocated, size as u64, "the one that had no room");
}

#[test]
fn freed_log_blocks_wait_and_come_back() {
    let rig = rig_with_logs(&[1], &[1]);
    let bp = place(&rig, 4096, 1);
    let allocs = |txg| rig.storage.take_changes(txg).iter().map(|change| change.allocs.len()).sum::<usize>();
    assert_eq!((allocs(TXG - 1), allocs(TXG), allocs(TXG)), (0, 1, 0));
    rig.storage.sync_done(TXG);
    rig.storage.free(&bp, TXG + 1);
    assert_eq!(rig.storage.take_changes(TXG + 1).len(), 1);
    rig.storage.sync_done(TXG + 1);
    assert!(rig.storage.has_deferred() && !rig.storage.is_suspended());
    (TXG + 2..TXG + 5).for_each(|txg| rig.storage.sync_done(txg));
    assert!(!rig.storage.has_deferred());
}

/// What breaks a log device, and what every one of these must leave alone.
fn loses_the_log(rule: FaultRule) {
    let rig = rig_with_logs(&[1], &[1]);
    let good = place(&rig, 4096, 1);
    log(&rig, &good, &[1; 8]).unwrap();
    rig.faults.inject(rule.clone());
    let bad = place(&rig, 4096, 2);
    assert!(rig.storage.is_on_log(&bad));
    assert_eq!(log(&rig, &bad, &[2; 8]), Err(WriteError::Io), "{rule:?}");
    assert_eq!(rig.leaf("b").state, VdevState::Faulted, "{rule:?}");
    assert_eq!((rig.leaf("a").state, rig.storage.status().state), (VdevState::Online, VdevState::Degraded));
    let next = place(&rig, 4096, 3);
    assert!(!rig.storage.is_on_log(&next), "logs go on in the pool");
    log(&rig, &next, &[3; 8]).unwrap();
    assert_eq!(rig.storage.read_log_block(&next).unwrap().records, [3; 8]);
    assert_eq!((rig.storage.flush_all(), commit(&rig)), (Ok(()), Ok(())));
    assert!(!rig.storage.is_suspended());
    // Its blocks are freed as always; the maps are in the pool.
    rig.storage.take_changes(TXG);
    rig.storage.free(&bad, TXG + 1);
    assert!(!rig.storage.is_suspended());
}

#[test]
fn a_log_that_fails_is_lost_and_nothing_else() {
    let io = FaultKind::Fail(DiskError::Io(5));
    loses_the_log(on("b", FaultOp::Write, io));
    loses_the_log(FaultRule { times: 1, ..on("b", FaultOp::Write, io) });
    loses_the_log(on("b", FaultOp::Flush, io));
    loses_the_log(FaultRule { times: 1, ..on("b", FaultOp::Flush, io) });
    loses_the_log(on("b", FaultOp::Any, FaultKind::Fail(DiskError::Gone)));
}

#[test]
fn a_log_that_fails_while_a_group_is_committed_is_lost_too() {
    let rig = rig_with_logs(&[2], &[1]);
    rig.faults.inject(on("c", FaultOp::Any, FaultKind::Fail(DiskError::Io(5))));
    assert_eq!(commit(&rig), Ok(()));
    assert_eq!(rig.leaf("c").state, VdevState::Faulted);
    assert_eq!((rig.leaf("a").state, rig.leaf("b").state), (VdevState::Online, VdevState::Online));
}

#[test]
fn a_mirrored_log_loses_sides_one_by_one() {
    for op in [FaultOp::Write, FaultOp::Flush] {
        let rig = rig_with_logs(&[1], &[2]);
        let io = FaultKind::Fail(DiskError::Io(5));
        rig.faults.inject(on("b", op, io));
        let bp = place(&rig, 4096, 1);
        assert_eq!(log(&rig, &bp, &[1; 8]), Ok(()), "the other side has it");
        let (b, c) = (rig.leaf("b"), rig.leaf("c"));
        assert!((b.is_behind || b.state < VdevState::Online) && !c.is_behind && c.state == VdevState::Online);
        assert_eq!(rig.storage.read_log_block(&bp).unwrap().records, [1; 8]);
        rig.faults.inject(on("c", op, io));
        let bp = place(&rig, 4096, 2);
        assert!(rig.storage.is_on_log(&bp));
        assert_eq!(log(&rig, &bp, &[2; 8]), Err(WriteError::Io));
        assert_eq!(rig.leaf("c").state, VdevState::Faulted);
        assert!(!rig.storage.is_on_log(&place(&rig, 4096, 3)));
        assert_eq!((commit(&rig), rig.leaf("a").state), (Ok(()), VdevState::Online));
    }
}

#[test]
fn a_block_that_fails_among_the_pools_own_costs_no_disk() {
    for op in [FaultOp::Write, FaultOp::Flush] {
        let rig = rig(&[1]);
        rig.faults.inject(FaultRule { times: 1, ..on("a", op, FaultKind::Fail(DiskError::Io(5))) });
        let bp = place(&rig, 4096, 1);
        assert_eq!(log(&rig, &bp, &[1; 8]), Err(WriteError::Io));
        assert_eq!(rig.leaf("a").state, VdevState::Online, "there is no other");
        assert!(!rig.storage.is_suspended(), "whether the group can be written is found out by it");
    }
}

#[test]
fn what_a_disk_made_of_a_log_block_is_found_out_when_it_is_read() {
    let rig = rig_with_logs(&[1], &[1]);
    let damaged = FaultRule { times: 1, ..on("b", FaultOp::Write, FaultKind::Corrupt) };
    rig.faults.inject(FaultRule { bytes: ((4 << 20) + 200..(4 << 20) + 201).into(), ..damaged });
    let bp = place(&rig, 4096, 1);
    assert_eq!(bp.dva(0).offset, 0, "it is the first block behind the labels");
    assert_eq!(log(&rig, &bp, &[1; 64]), Ok(()), "the disk says so");
    assert_eq!(rig.storage.read_log_block(&bp).unwrap_err(), ReadError::Checksum);
    assert_eq!(rig.leaf("b").state, VdevState::Online);
}

#[test]
fn a_suspended_pool_logs_nothing() {
    let rig = rig(&[1]);
    let bp = place(&rig, 4096, 1);
    rig.storage.suspension().suspend(Cause::Io);
    assert_eq!(log(&rig, &bp, &[1; 8]), Err(WriteError::Suspended));
    assert_eq!(rig.storage.allocate_log(4096, TXG, &|| true), Err(WriteError::Suspended));
}

#[test]
fn space_of_old_log_blocks_is_claimed_once() {
    let rig = rig_with_logs(&[1], &[1]);
    let claim = |vdev, offset| rig.storage.claim(&Dva::new(vdev, offset, 8192), TXG);
    assert_eq!((claim(1, 0), claim(1, 0), claim(0, 8192)), (Ok(()), Ok(()), Ok(())));
    assert_eq!(claim(1, 4096), Err(ReadError::Corrupt), "half of it is another's");
    assert_eq!(claim(7, 0), Err(ReadError::Corrupt));
    let capacity = rig.storage.vdev_space(1).unwrap().capacity;
    let mut given = 0;
    while let Some(bp) = Some(place(&rig, 65536, 1)).filter(|bp| rig.storage.is_on_log(bp)) {
        assert!(bp.dva(0).offset >= 8192, "what was claimed is not given again");
        given += bp.dva(0).asize;
    }
    assert_eq!(given, (capacity - 8192) / 65536 * 65536);
    let changes = rig.storage.take_changes(TXG);
    let first = changes.iter().find(|change| (change.vdev, change.metaslab) == (1, 0)).unwrap();
    assert_eq!(first.allocs[0].start, 0, "the space map hears of it");
}

/// Many threads at once over a disk that is slow to flush: whoever has landed finds its block.
#[test]
fn logging_threads_share_flushes() {
    let rig = rig_with_logs(&[1], &[1]);
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let rig = &rig;
            scope.spawn(move || {
                for round in 0..200 {
                    let bp = place(rig, 4096, thread << 32 | round);
                    log(rig, &bp, &round.to_le_bytes()).unwrap();
                    assert_eq!(rig.storage.read_log_block(&bp).unwrap().records, round.to_le_bytes());
                }
            });
        }
    });
    let io = rig.leaf("b").io;
    assert_eq!(io.flushes + io.flushes_shared, 800);
    assert_eq!(io.flushes, rig.disks.counts("b").flushes);
    assert_eq!(io.writes, 800);
}

#[test]
fn a_log_block_on_raidz_is_read_without_any_one_disk() {
    for ill in 0..5 {
        for corrupt in [false, true] {
            let rig = rig_of_raidz(1, 5, 12);
            let (bp, next) = (place(&rig, 64 << 10, 1), place(&rig, 64 << 10, 2));
            let records = vec![0x5a; 9000];
            rig.storage.write_log(vec![(bp, block(next, &records))], &[], rig.storage.losses()).unwrap();
            let leaf = &rig.storage.config().children[0].children[ill];
            if corrupt {
                let behind_label = ondisk::label::START as usize;
                let spoil = |bytes: &mut [u8]| bytes[behind_label..][..1 << 20].fill(0x11);
                rig.disks.edit(leaf.path.as_deref().unwrap(), spoil);
            } else {
                assert!(rig.storage.fault(leaf.guid));
            }
            let read = rig.storage.read_log_block(&bp).expect("one disk may be ill");
            assert_eq!((read.records, read.next), (records, next), "disk {ill}, {corrupt}");
            assert_eq!(rig.storage.read_log_block(&next).unwrap_err(), ReadError::Checksum, "never written");
        }
    }
}

#[test]
fn what_is_restored_bears_the_loss_of_other_disks() {
    for (rig, some, others) in [
        (rig(&[2]), &["b"][..], &["a"][..]),
        (rig_of_raidz(1, 5, 9), &["b"], &["d"]),
        (rig_of_raidz(3, 5, 9), &["a", "c", "e"], &["b", "d", "e"]),
    ] {
        let spoil = |paths: &[&str]| paths.iter().for_each(|path| rig.spoil(path));
        let (bp, never) = (place(&rig, 8192, 1), place(&rig, 8192, 2));
        let data = noise(16384, 1);
        let target = rig.write_one(&data, plain());
        log(&rig, &bp, &[7; 5000]).unwrap();
        spoil(some);
        [&bp, &never, &target].into_iter().for_each(|bp| rig.storage.restore(bp));
        spoil(others);
        assert_eq!(rig.storage.read_log_block(&bp).unwrap().records, [7; 5000]);
        assert_eq!(rig.storage.read_log_block(&never).unwrap_err(), ReadError::Checksum);
        assert!(rig.read(&target).unwrap()[..] == data[..]);
    }
}

#[test]
fn a_side_that_lacks_what_is_restored_is_not_blamed() {
    let rig = rig(&[2]);
    let (bp, target) = (place(&rig, 8192, 1), rig.write_one(&noise(16384, 1), plain()));
    log(&rig, &bp, &[7; 5000]).unwrap();
    rig.spoil("a");
    [&bp, &target].into_iter().for_each(|bp| rig.storage.restore(bp));
    assert_eq!([rig.leaf("a").checksum_errors, rig.leaf("b").checksum_errors], [0, 0]);
    rig.spoil("b");
    assert!(rig.storage.read_log_block(&bp).is_ok() && rig.read(&target).is_ok());
}

/// Not even for a moment may the only good copy be under way.
#[test]
fn only_disks_that_lack_what_is_restored_are_written() {
    for (rig, all) in [(rig(&[3]), &["a", "b", "c"][..]), (rig_of_raidz(1, 3, 9), &["a", "b", "c"])] {
        let writes = || all.iter().map(|path| rig.disks.counts(path).writes).collect::<Vec<_>>();
        let bp = place(&rig, 8192, 1);
        log(&rig, &bp, &[7; 5000]).unwrap();
        let before = writes();
        rig.storage.restore(&bp);
        assert_eq!(writes(), before);
        rig.spoil("b");
        rig.storage.restore(&bp);
        assert_eq!(writes(), [before[0], before[1] + 1, before[2]]);
    }
}

/// Power that went and came back takes what a disk had not flushed, and lets the flush succeed.
#[test]
fn a_log_block_may_be_lost_with_the_handle_it_was_written_by() {
    let rig = rig(&[1]);
    let label = NvList::new().with("pool_guid", 7u64).with("txg", 4u64);
    rig.storage.leaves().iter().for_each(|leaf| {
        leaf.device.init(&label.clone().with("guid", leaf.guid)).unwrap();
    });
    let (first, second) = (place(&rig, 4096, 1), place(&rig, 4096, 2));
    let losses = rig.storage.losses();
    let gone = FaultKind::Fail(DiskError::Gone);
    rig.faults.inject(FaultRule { times: 1, ..on("a", FaultOp::Read, gone) });
    assert!(rig.storage.read_log_block(&first).is_err());
    assert_eq!(rig.storage.reopen(None).len(), 1);
    let write = |bp, losses| rig.storage.write_log(vec![(bp, block(BlkPtr::HOLE, &[1; 8]))], &[], losses);
    assert_eq!(write(first, losses).map(drop), Err(WriteError::Io));
    assert_eq!(write(second, rig.storage.losses()).map(drop), Ok(()));
}
