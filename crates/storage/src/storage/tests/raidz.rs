use ondisk::BlkPtr;

use crate::testing::{DISK, noise, plain, rig_of_raidz};
use crate::*;

#[test]
fn raidz_survives_as_many_disks_as_parities() {
    for (parity, width, ashift) in [(1, 3, 9), (1, 4, 12), (2, 5, 12), (3, 7, 9)] {
        let rig = rig_of_raidz(parity, width, ashift);
        let blocks: Vec<_> = (1..40).map(|n| noise(512 * n * (1 + n % 5), n as u64)).collect();
        let bps: Vec<BlkPtr> = rig.write(&blocks, plain(), 4).into_iter().map(Result::unwrap).collect();
        let check = |what: &str| {
            for (bp, block) in bps.iter().zip(&blocks) {
                assert_eq!(rig.read(bp).map(|read| read[..] == block[..]), Ok(true), "raidz{parity}: {what}");
            }
        };
        check("healthy");
        let leaves = rig.storage.config().children[0].children.clone();
        for leaf in leaves.iter().take(parity as usize) {
            assert!(rig.storage.fault(leaf.guid));
        }
        check("degraded");
        assert!(!rig.storage.fault(leaves[parity as usize].guid), "it cannot be done without");
        assert_eq!(rig.storage.status().children[0].state, VdevState::Degraded);
    }
}

#[test]
fn wrong_bytes_of_raidz_disks_are_counted_on_them_and_healed() {
    let rig = rig_of_raidz(2, 5, 12);
    let blocks: Vec<_> = (1..20).map(|n| noise(4096 * 3 * n, n as u64)).collect();
    let bps: Vec<BlkPtr> = rig.write(&blocks, plain(), 4).into_iter().map(Result::unwrap).collect();
    for path in ["b", "d"] {
        let behind_labels = ondisk::label::START as usize..(DISK - ondisk::label::END) as usize;
        rig.disks.edit(path, |bytes| bytes[behind_labels].iter_mut().for_each(|byte| *byte ^= 0x55));
    }
    rig.check(&bps, &blocks);
    let errors = |path: &str| rig.leaf(path).checksum_errors;
    assert!(errors("b") > 0 && errors("d") > 0);
    assert_eq!((errors("a"), errors("c"), errors("e")), (0, 0, 0));
    let before = (errors("b"), errors("d"));
    rig.check(&bps, &blocks);
    assert_eq!((errors("b"), errors("d")), before, "what was read has been healed");
}

#[test]
fn space_on_raidz_counts_parity_but_datasets_do_not_see_it() {
    let rig = rig_of_raidz(2, 5, 12);
    let usual = rig.write_one(&noise(128 << 10, 1), plain());
    assert_eq!(usual.asize(), 216 << 10);
    // 432 sectors of 512 bytes, each worth 131072 / 432 bytes.
    assert_eq!(rig.storage.dsize(&usual), 432 * (131_072 / 432));
    let small = rig.write_one(&noise(4096, 2), plain());
    assert_eq!((small.asize(), rig.storage.dsize(&small)), (12 << 10, 24 * 303));
    assert_eq!(rig.storage.largest_sector(), 24 * 303);
    let top = &rig.storage.tops()[0];
    assert_eq!(top.asize, 5 * ondisk::label::allocatable_size(DISK));
    let space = rig.storage.space();
    assert_eq!(rig.storage.deflated_capacity(), (space.capacity >> 9) * 303);
    assert_eq!(space.allocated, 228 << 10);
}

#[test]
fn gangs_on_raidz_are_read_rewritten_and_freed() {
    let rig = rig_of_raidz(1, 3, 9);
    rig.storage.env().quirks.set(env::Quirk::ForceGang, true);
    let blocks: Vec<_> = (1..20).map(|n| noise(512 * 7 * n, n as u64)).collect();
    let bps: Vec<BlkPtr> = rig.write(&blocks, plain(), 4).into_iter().map(Result::unwrap).collect();
    assert!(bps.iter().all(BlkPtr::is_gang));
    assert!(rig.storage.fault(rig.storage.config().children[0].children[1].guid));
    for (bp, block) in bps.iter().zip(&blocks) {
        assert!(rig.read(bp).unwrap()[..] == block[..]);
        rig.storage.free(bp, 5);
    }
    (5..9).for_each(|txg| rig.settle(txg));
    assert!(!rig.storage.is_suspended());
    assert_eq!((rig.storage.space().allocated, rig.storage.space().deferred), (0, 0));
}
