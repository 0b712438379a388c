use env::{DiskError, FaultKind, FaultOp, FaultRule};
use ondisk::BlkPtr;

use super::{Sweep, SweepError};
use crate::testing::{noise, plain, rig};

/// Every disk is trimmed from end to end: blocks stay, and all else reads as zeros.
#[test]
fn no_block_that_lives_is_trimmed() {
    let rig = rig(&[2, 1]);
    let blocks: Vec<_> = (0..200).map(|n| noise(64 << 10, n)).collect();
    let bps: Vec<BlkPtr> = rig.write(&blocks, plain(), 4).into_iter().map(Result::unwrap).collect();
    for path in ["a", "b", "c"] {
        rig.disks.edit(path, |bytes| bytes[40 << 20..41 << 20].fill(0x77));
    }
    // Blocks come and go between the steps; what was freed in the last groups is kept too.
    for bp in bps.iter().step_by(2) {
        rig.storage.free(bp, 4);
    }
    rig.settle(4);
    let mut later: Vec<(u64, BlkPtr)> = Vec::new();
    let leaves: Vec<u64> = ["a", "b", "c"].map(|path| rig.leaf(path).guid).to_vec();
    let mut trims = Vec::new();
    for guid in leaves {
        let (mut at, mut bytes, mut count) = (0, 0, 0);
        while let Some(step) = rig.storage.sweep_next(guid, Sweep::Forget, at, 1 << 20).unwrap() {
            assert!(step.next > at);
            (at, bytes, count) = (step.next, bytes + step.bytes, count + u64::from(step.bytes > 0));
            if later.len() < 300 {
                let seed = 1000 + later.len() as u64;
                later.push((seed, rig.write(&[noise(32 << 10, seed)], plain(), 5).remove(0).unwrap()));
            }
        }
        assert!(bytes > 30 << 20, "{bytes}");
        trims.push(count);
    }
    // Each is counted by its size, as `zpool iostat -r` shows it.
    let counted = ["a", "b", "c"].map(|path| rig.leaf(path).io.tally.alone[5].iter().sum::<u64>());
    assert_eq!(counted[..], trims[..]);
    for (n, bp) in bps.iter().enumerate() {
        assert!(rig.read(bp).unwrap()[..] == blocks[n][..], "block {n}");
    }
    for (seed, bp) in &later {
        assert!(rig.read(bp).unwrap()[..] == noise(32 << 10, *seed)[..], "block {seed}");
    }
    assert_eq!(
        rig.leaf("a").checksum_errors + rig.leaf("b").checksum_errors + rig.leaf("c").checksum_errors,
        0
    );
    for path in ["a", "b", "c"] {
        let image = rig.disks.image(path);
        assert!(image[40 << 20..41 << 20].iter().all(|byte| *byte != 0x77), "{path}");
    }
}

#[test]
fn what_was_freed_is_trimmed_when_nobody_can_want_it() {
    let rig = rig(&[2]);
    rig.storage.remember_freed(true);
    let bps: Vec<BlkPtr> = (0..20).map(|n| rig.write_one(&noise(128 << 10, n), plain())).collect();
    rig.settle(4);
    bps[..10].iter().for_each(|bp| rig.storage.free(bp, 5));
    rig.settle(5);
    rig.settle(6);
    assert_eq!(rig.storage.trim_freed(0, 1 << 30), None, "the last groups' uberblocks may lead there");
    rig.settle(7);
    // Some of it is used again.
    let again = rig.write(&[noise(128 << 10, 77)], plain(), 8).remove(0).unwrap();
    let mut bytes = 0;
    while let Some(len) = rig.storage.trim_freed(0, 1 << 30) {
        bytes += len;
    }
    assert!((9 << 17..=10 << 17).contains(&bytes), "{bytes}");
    assert!(rig.read(&again).unwrap()[..] == noise(128 << 10, 77)[..]);
    for (n, bp) in bps.iter().enumerate() {
        let read = rig.read(bp);
        assert_eq!(read.is_ok(), n >= 10, "block {n}");
    }
}

#[test]
fn lent_space_comes_back_when_the_disk_refuses() {
    let rig = rig(&[1]);
    let before = rig.storage.space();
    let fault = FaultRule::new(FaultOp::Discard, FaultKind::Fail(DiskError::Unsupported));
    rig.faults.inject(fault);
    let guid = rig.leaf("a").guid;
    rig.write_one(&noise(512, 1), plain());
    let refused = rig.storage.sweep_next(guid, Sweep::Forget, 0, 1 << 20);
    assert_eq!(refused, Err(SweepError::Disk(DiskError::Unsupported)));
    assert_eq!(rig.storage.sweep_next(1, Sweep::Forget, 0, 1 << 20), Err(SweepError::Gone));
    assert_eq!(rig.storage.space().capacity, before.capacity);
    let mut written = 0;
    while rig.write(&[noise(128 << 10, 3)], plain(), 4).remove(0).is_ok() {
        written += 128 << 10;
    }
    assert!(written > before.capacity - (4 << 20), "{written} of {}", before.capacity);
}

/// Everything that is free is written, and nothing else.
#[test]
fn free_space_is_filled_and_blocks_stay() {
    let rig = rig(&[2]);
    let bps: Vec<BlkPtr> = (0..50).map(|n| rig.write_one(&noise(64 << 10, n), plain())).collect();
    let guid = rig.leaf("a").guid;
    let (mut at, mut bytes) = (0, 0);
    while let Some(step) = rig
        .storage
        .sweep_next(guid, Sweep::Fill { value: 0x0102_0304_0506_0708, chunk: 1000 }, at, 3 << 20)
        .unwrap()
    {
        (at, bytes) = (step.next, bytes + step.bytes);
    }
    let space = rig.storage.vdev_space(0).unwrap();
    assert!(bytes > (space.capacity - space.allocated) * 9 / 10, "{bytes} of {space:?}");
    let (a, b) = (rig.disks.image("a"), rig.disks.image("b"));
    let filled = a.chunks(8).filter(|word| **word == 0x0102_0304_0506_0708u64.to_ne_bytes()).count() as u64;
    assert_eq!(filled * 8, bytes);
    assert!(b.chunks(8).all(|word| *word != 0x0102_0304_0506_0708u64.to_ne_bytes()));
    assert!(bps.iter().enumerate().all(|(n, bp)| rig.read(bp).unwrap()[..] == noise(64 << 10, n as u64)[..]));
    assert_eq!(rig.leaf("a").checksum_errors, 0);
}
