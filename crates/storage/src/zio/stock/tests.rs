use env::{Disks, OpenMode};
use ondisk::BlkPtr;

use crate::WriteError;
use crate::testing::{Rig, noise, plain, rig, rig_of_files};

const SIZE: usize = 8 << 10;

fn place(rig: &Rig, txg: u64) -> BlkPtr {
    rig.storage.allocate_log(SIZE, txg, &|| true).expect("there is room")
}

/// What the worker does until it has nothing to do; the steps.
fn stock(rig: &Rig) -> usize {
    std::iter::repeat_with(|| rig.storage.stock_logs()).take_while(|more| *more).count()
}

/// Whether the disk has a place for the whole block.
fn is_placed(rig: &Rig, path: &str, bp: &BlkPtr) -> bool {
    let disk = rig.disks.open(path, OpenMode::ReadOnly).unwrap();
    let dva = bp.dva(0);
    assert!(disk.places_on_write());
    disk.hole(dva.offset + ondisk::label::START, dva.asize).is_none()
}

#[test]
fn log_blocks_lie_where_the_file_has_room_already() {
    let rig = rig_of_files(&[2], &[], None);
    assert_eq!(stock(&rig), 0, "nobody logs");
    assert!(!is_placed(&rig, "a", &place(&rig, 4)), "nothing is in stock for the first");
    assert!(stock(&rig) > 0);
    let before = rig.storage.space().allocated;
    let writes = rig.disks.counts("a").writes;
    let blocks: Vec<BlkPtr> = (0..100).map(|_| place(&rig, 4)).collect();
    assert!(blocks.iter().all(|bp| is_placed(&rig, "a", bp) && is_placed(&rig, "b", bp)));
    assert!(blocks.windows(2).all(|pair| pair[1].dva(0).offset == pair[0].dva(0).offset + SIZE as u64));
    assert_eq!(rig.storage.space().allocated - before, 100 * SIZE as u64, "what is in stock counts as free");
    assert_eq!(rig.disks.counts("a").writes, writes, "who logs writes no zeros");
}

#[test]
fn what_logs_gave_back_is_stocked_again_and_not_written_again() {
    let rig = rig_of_files(&[1], &[], None);
    let first = place(&rig, 4);
    stock(&rig);
    let (mut txg, mut places) = (4, std::collections::BTreeSet::new());
    let mut zeros = 0;
    for round in 0..60 {
        let blocks: Vec<BlkPtr> = (0..64).map(|_| place(&rig, txg)).collect();
        let before = rig.disks.counts("a").write_bytes;
        stock(&rig);
        if round >= 30 {
            zeros += rig.disks.counts("a").write_bytes - before;
        }
        places.extend(blocks.iter().map(|bp| bp.dva(0).offset));
        rig.settle(txg);
        txg += 1;
        blocks.iter().for_each(|bp| rig.storage.free(bp, txg));
    }
    assert!(places.len() < 60 * 64 / 3, "{} places", places.len());
    let logged = (30 * 64 * SIZE) as u64;
    assert!(zeros < logged / 100, "after a while next to nothing is written ahead: {zeros} of {logged}");
    assert!(!places.contains(&first.dva(0).offset));
}

#[test]
fn each_column_of_a_raidz_is_written_ahead() {
    let rig = rig_of_files(&[4], &[], Some(1));
    let first = place(&rig, 4);
    stock(&rig);
    let second = place(&rig, 4);
    assert_ne!(first.dva(0).offset + first.dva(0).asize, second.dva(0).offset);
    let written = ["a", "b", "c", "d"].map(|path| rig.disks.counts(path).write_bytes);
    assert!(written.iter().all(|bytes| *bytes >= 256 << 10), "{written:?}");
}

#[test]
fn what_is_stocked_are_whole_sectors() {
    let rig = rig_of_files(&[4], &[], Some(1));
    for n in 0..400 {
        if n % 7 == 0 {
            rig.write_one(&noise(4 << 10, n), plain());
        }
        let dva = place(&rig, 4).dva(0);
        assert_eq!((dva.offset % 4096, dva.asize % 4096), (0, 0), "block {n}");
        stock(&rig);
        // What is short now is of another size than before.
        for _ in 0..n % 5 {
            rig.storage.allocate_log(128 << 10, 4, &|| true).expect("there is room");
        }
    }
}

#[test]
fn log_devices_on_files_have_a_stock_too() {
    let rig = rig_of_files(&[1], &[1], None);
    place(&rig, 4);
    stock(&rig);
    let bp = place(&rig, 4);
    assert!(rig.storage.is_on_log(&bp) && is_placed(&rig, "b", &bp));
    assert_eq!(rig.disks.counts("a").write_bytes, 0, "the pool's own disk has no logs");
}

#[test]
fn disks_that_are_no_files_have_no_stock() {
    let rig = rig(&[1]);
    let first = place(&rig, 4);
    let writes = rig.disks.counts("a").writes;
    assert_eq!((stock(&rig), rig.disks.counts("a").writes), (0, writes));
    assert_eq!(place(&rig, 4).dva(0).offset, first.dva(0).offset + SIZE as u64);
}

/// All that the pool can give is given, to whoever asks: to the same byte as without logs.
#[test]
fn a_stock_keeps_nothing_from_anybody() {
    let fill = |rig: &Rig| {
        let blocks = [noise(128 << 10, 1)];
        let write = || rig.write(&blocks, plain(), 5).remove(0);
        let count = std::iter::repeat_with(write).take_while(Result::is_ok).count();
        assert!(matches!(rig.write(&blocks, plain(), 5)[0], Err(WriteError::NoSpace)));
        count
    };
    let (without, with) = (rig(&[1]), rig_of_files(&[1], &[], None));
    place(&without, 4);
    place(&with, 4);
    assert!(stock(&with) > 0);
    assert_eq!(fill(&with), fill(&without));
    assert_eq!(stock(&with), 0, "and nothing is taken from what is nearly full");
    let allocated = |rig: &Rig| rig.storage.space().allocated;
    assert!(allocated(&with).abs_diff(allocated(&without)) < 128 << 10, "but for what gangs take");
}

#[test]
fn other_blocks_keep_away_from_where_logs_live() {
    let rig = rig_of_files(&[1], &[], None);
    place(&rig, 4);
    stock(&rig);
    let home = place(&rig, 4).dva(0).offset >> 22;
    let blocks: Vec<_> = (0..200).map(|n| noise(128 << 10, n)).collect();
    let bps: Vec<BlkPtr> = rig.write(&blocks, plain(), 4).into_iter().map(Result::unwrap).collect();
    assert!(bps.iter().all(|bp| bp.dva(0).offset >> 22 != home));
}
