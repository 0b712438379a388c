use env::{DiskError, FaultKind, FaultOp, Quirk};
use ondisk::BlkPtr;

use super::*;
use crate::testing::{noise, on, plain, rig, rig_of_raidz, rig_of_raidz_with};
use crate::{VdevState, WriteItem, WritePolicy};

fn patients(bps: &[BlkPtr]) -> Vec<Patient> {
    bps.iter().flat_map(|bp| (0..bp.ndvas()).map(|copy| Patient { bp: *bp, copy })).collect()
}

#[test]
fn a_spoiled_side_is_whole_again_and_blamed_once_a_block() {
    let rig = rig(&[3]);
    let blocks: Vec<_> = (0..40).map(|n| noise(16384, n)).collect();
    let bps: Vec<BlkPtr> = rig.write(&blocks, plain(), 4).into_iter().map(Result::unwrap).collect();
    rig.spoil("b");
    assert!(rig.storage.healer().heal(patients(&bps)).land().iter().all(Result::is_ok));
    assert_eq!([rig.leaf("a").checksum_errors, rig.leaf("b").checksum_errors], [0, 40]);
    assert_eq!(rig.storage.scan_processed(), 40 * 16384);
    rig.spoil("a");
    rig.spoil("c");
    rig.check(&bps, &blocks);
}

#[test]
fn a_copy_without_redundancy_is_rewritten_from_another_place() {
    let rig = rig(&[1, 1]);
    let bp = rig.write_one(&noise(8192, 3), WritePolicy { copies: 2, ..plain() });
    rig.spoil("a");
    assert_eq!(rig.storage.healer().heal(patients(&[bp])).land(), [Ok(()), Ok(())]);
    rig.spoil("b");
    assert!(rig.read(&bp).is_ok(), "the copy on a was rewritten");
    rig.spoil("a");
    assert_eq!(rig.storage.healer().heal(patients(&[bp])).land(), [Err(ReadError::Checksum); 2]);
}

#[test]
fn gangs_heal_with_their_headers() {
    let rig = rig(&[2]);
    rig.storage.env().quirks.set(Quirk::ForceGang, true);
    let block = noise(65536, 1);
    let bp = rig.write_one(&block, plain());
    assert!(bp.is_gang());
    rig.spoil("a");
    assert_eq!(rig.storage.heal_gang(&bp), Ok(()));
    rig.spoil("b");
    assert!(rig.read(&bp).unwrap()[..] == block[..]);
}

/// A side that was away for the last pass of a group has a gang's header as it was in the pass
/// before, good by itself.
#[test]
fn a_stale_header_of_a_gang_is_not_taken_for_its_own() {
    let rig = rig(&[2]);
    rig.storage.env().quirks.set(Quirk::ForceGang, true);
    let (old, new) = (noise(65536, 1), noise(65536, 2));
    let before = rig.write_one(&old, plain());
    let mut stale = Vec::new();
    rig.disks.edit("a", |bytes| stale = bytes.to_vec());
    let item = WriteItem { data: new.clone(), policy: plain(), rewrite: Some(before), unless: None };
    let bp = rig.storage.write_batch(vec![item], 4, &mut |_| {}).remove(0).unwrap();
    for (behind, whole) in [("a", "b"), ("b", "a")] {
        rig.disks.edit(behind, |bytes| bytes.copy_from_slice(&stale));
        assert_eq!(rig.storage.heal_gang(&bp), Ok(()));
        rig.spoil(whole);
        assert!(rig.read(&bp).unwrap()[..] == new[..], "{behind} was healed");
        assert_eq!(rig.storage.heal_gang(&bp), Ok(()));
    }
    // Where the newest bytes are lost, what there was before is not put in their place.
    rig.disks.edit("a", |bytes| bytes.copy_from_slice(&stale));
    let header = Target::of(&bp, 0, 512).here.offset as usize + (4 << 20);
    let (mut newest, mut after) = (Vec::new(), Vec::new());
    rig.disks.edit("b", |bytes| {
        newest = bytes[header..][..512].to_vec();
        bytes[4 << 20..header].fill(0xee);
        bytes[header + 512..60 << 20].fill(0xee);
    });
    assert!(rig.storage.heal_gang(&bp).is_err() && rig.read(&bp).is_err());
    rig.disks.edit("b", |bytes| after = bytes[header..][..512].to_vec());
    assert!(newest == after);
}

#[test]
fn a_leaf_gets_what_it_lacks_without_being_read() {
    let rig = rig(&[2]);
    let bps = [4, 9].map(|txg| rig.write(&[noise(4096, txg)], plain(), txg).remove(0).unwrap());
    rig.spoil("b");
    let guid = rig.leaf("b").guid;
    rig.storage.set_missing(guid, &RangeTree::whole(9, 1));
    assert!(rig.storage.mark_behind(guid));
    let needs = |bp: &BlkPtr| rig.storage.needs_resilver(&bp.dva(0), bp.psize(), bp.birth());
    assert_eq!(bps.each_ref().map(needs), [false, true]);
    let reads = rig.leaf("b").io.reads;
    assert_eq!(rig.storage.healer().heal(patients(&bps[1..])).land(), [Ok(())]);
    assert_eq!((rig.leaf("b").io.reads - reads, rig.storage.scan_processed()), (0, 4096));
    rig.storage.caught_up(guid);
    rig.spoil("a");
    assert!(rig.read(&bps[1]).is_ok() && rig.read(&bps[0]).is_err());
}

#[test]
fn a_repair_that_fails_leaves_its_group_lacking() {
    let rig = rig(&[2]);
    let bp = rig.write_one(&noise(4096, 1), plain());
    rig.spoil("b");
    rig.faults.inject(on("b", FaultOp::Write, FaultKind::Fail(DiskError::Io(5))));
    assert_eq!(rig.storage.healer().heal(patients(&[bp])).land(), [Ok(())]);
    let unrepaired = rig.storage.take_unrepaired();
    assert_eq!(unrepaired.len(), 1);
    assert!(unrepaired[0].1.contains(4, 1));
    assert_eq!(rig.storage.take_missed(), [(rig.leaf("b").guid, Missed::Failed)]);
    assert!(rig.storage.take_missed().is_empty());
}

#[test]
fn parity_heals_what_a_disk_spoiled_or_lacks() {
    for parity in 1..=3 {
        let rig = rig_of_raidz(parity, 5, 9);
        let blocks: Vec<_> = (0..30).map(|n| noise(512 << (n % 8), n)).collect();
        let bps: Vec<BlkPtr> = rig.write(&blocks, plain(), 4).into_iter().map(Result::unwrap).collect();
        let whole = || {
            bps.iter().zip(&blocks).all(|(bp, block)| rig.read(bp).is_ok_and(|read| read[..] == block[..]))
        };
        let hurt = &["b", "d", "e"][..parity as usize];
        hurt.iter().for_each(|path| rig.spoil(path));
        assert!(rig.storage.healer().heal(patients(&bps)).land().iter().all(Result::is_ok));
        assert!(
            hurt.iter().all(|path| rig.leaf(path).checksum_errors > 0) && rig.leaf("a").checksum_errors == 0
        );
        // As many others may go now.
        ["a", "c", "d"][..parity as usize].iter().for_each(|path| rig.spoil(path));
        assert!(whole(), "raidz{parity}");
        let guid = rig.leaf("a").guid;
        rig.storage.set_missing(guid, &RangeTree::whole(4, 1));
        assert!(rig.storage.mark_behind(guid));
        let lacks = |bp: &&BlkPtr| rig.storage.needs_resilver(&bp.dva(0), bp.psize(), bp.birth());
        let lacking = bps.iter().filter(lacks).count();
        assert!(
            lacking > 0 && (parity > 1 || lacking < bps.len()),
            "small blocks are not on all disks: {lacking}"
        );
    }
}

/// Below a raidz nobody can judge a disk's bytes: what one that lacks a block has all the same says
/// nothing of the others.
#[test]
fn all_disks_that_share_a_place_of_a_raidz_get_what_they_lack() {
    let lacking = |first: u64, len: u64| {
        let mut groups = RangeTree::new();
        groups.add(first, len);
        groups
    };
    let rig = rig_of_raidz_with(1, 3, 12, (1, 3));
    let blocks: Vec<_> = (1..30).map(|n| noise(4096 * (1 + n % 7), n as u64)).collect();
    let bps: Vec<BlkPtr> = rig.write(&blocks, plain(), 4).into_iter().map(Result::unwrap).collect();
    for (lackers, spoiled) in [
        (&["b", "c", "d"][..], &["c", "d"][..]),
        (&["c", "d"], &["c", "d"]),
        (&["c"], &["b", "d"]),
        (&["c"], &["d"]),
    ] {
        spoiled.iter().for_each(|path| rig.spoil(path));
        for path in lackers {
            assert!(rig.storage.mark_behind(rig.leaf(path).guid));
            rig.storage.set_missing(rig.leaf(path).guid, &lacking(4, 1));
        }
        assert!(rig.storage.healer().heal(patients(&bps)).land().iter().all(Result::is_ok));
        for path in ["b", "c", "d"] {
            rig.storage.set_missing(rig.leaf(path).guid, &RangeTree::new());
            rig.storage.caught_up(rig.leaf(path).guid);
        }
        let set = |paths: &[&str], state: VdevState| {
            paths.iter().for_each(|path| assert!(rig.storage.set_leaf_state(rig.leaf(path).guid, state)));
        };
        for only in ["b", "c", "d"] {
            let away: Vec<&str> = ["b", "c", "d"].into_iter().filter(|path| *path != only).collect();
            set(&away, VdevState::Offline);
            for path in ["a", "e"] {
                set(&[path], VdevState::Offline);
                for (bp, block) in bps.iter().zip(&blocks) {
                    assert!(rig.read(bp).unwrap()[..] == block[..], "{lackers:?} lacked it, {only} is asked");
                }
                set(&[path], VdevState::Online);
            }
            set(&away, VdevState::Online);
        }
    }
}
