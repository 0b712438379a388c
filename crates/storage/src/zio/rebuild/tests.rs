use env::{DiskError, FaultKind, FaultOp, FaultRule};
use ondisk::BlkPtr;

use super::*;
use crate::testing::{Rig, noise, plain, rig};

const BLOCK: usize = 16384;

/// Some blocks on a mirror whose last side has lost all and is behind; and the runs that hold them.
fn lacking(width: usize) -> (Rig, Vec<BlkPtr>, Vec<Vec<Segment>>) {
    let rig = rig(&[width]);
    let blocks: Vec<_> = (0..40).map(|n| noise(BLOCK, n)).collect();
    let bps: Vec<BlkPtr> = rig.write(&blocks, plain(), 4).into_iter().map(Result::unwrap).collect();
    let last = [(b'a' + width as u8 - 1) as char].iter().collect::<String>();
    spoil(&rig, &last);
    assert!(rig.storage.mark_behind(rig.leaf(&last).guid));
    let mut space: Vec<Segment> =
        bps.iter().map(|bp| Segment { start: bp.dva(0).offset, len: BLOCK as u64 }).collect();
    space.sort_by_key(|segment| segment.start);
    let runs = space.chunks(10).map(<[Segment]>::to_vec).collect();
    (rig, bps, runs)
}

fn spoil(rig: &Rig, path: &str) {
    rig.disks.edit(path, |bytes| bytes[4 << 20..(60 << 20)].fill(0xee));
}

fn fail(rig: &Rig, path: &str, op: FaultOp) {
    let rule = FaultRule::new(op, FaultKind::Fail(DiskError::Io(5)));
    rig.faults.inject(FaultRule { path: Some(path.into()), ..rule });
}

const ALL: u64 = 40 * BLOCK as u64;

#[test]
fn a_side_that_lacks_something_gets_what_is_allocated() {
    let (rig, bps, runs) = lacking(2);
    let end = runs[3][9].end();
    let rebuilt = rig.storage.rebuild(0, &mut runs.into_iter());
    assert_eq!(rebuilt, Rebuilt { upto: end, scanned: ALL, read: ALL, written: ALL, errors: 0 });
    assert_eq!(rig.leaf("b").scan_processed, ALL);
    rig.storage.caught_up(rig.leaf("b").guid);
    spoil(&rig, "a");
    assert!(bps.iter().all(|bp| rig.read(bp).is_ok()));
}

#[test]
fn nothing_is_done_where_nobody_lacks_anything() {
    let (rig, _, runs) = lacking(2);
    rig.storage.caught_up(rig.leaf("b").guid);
    assert_eq!(rig.storage.rebuild(0, &mut runs.into_iter()), Rebuilt::default());
}

#[test]
fn what_one_side_cannot_give_comes_from_another() {
    let (rig, bps, runs) = lacking(3);
    fail(&rig, "a", FaultOp::Read);
    let rebuilt = rig.storage.rebuild(0, &mut runs.clone().into_iter());
    assert_eq!((rebuilt.written, rebuilt.errors), (ALL, 0));
    fail(&rig, "b", FaultOp::Read);
    let rebuilt = rig.storage.rebuild(0, &mut runs.clone().into_iter());
    assert_eq!((rebuilt.upto, rebuilt.written, rebuilt.errors), (runs[3][9].end(), 0, 40));
    rig.faults.clear();
    rig.storage.caught_up(rig.leaf("c").guid);
    ["a", "b"].iter().for_each(|path| spoil(&rig, path));
    assert!(bps.iter().all(|bp| rig.read(bp).is_ok()));
}

#[test]
fn what_cannot_be_written_is_counted() {
    let (rig, _, runs) = lacking(2);
    fail(&rig, "b", FaultOp::Write);
    let rebuilt = rig.storage.rebuild(0, &mut runs.into_iter());
    assert_eq!((rebuilt.scanned, rebuilt.written, rebuilt.errors), (ALL, 0, 40));
}

#[test]
fn it_stops_where_a_log_block_is_being_written() {
    let (rig, _, runs) = lacking(2);
    let turn = rig.storage.turns.log(rig.storage.env(), 0, runs[2][5]);
    let rebuilt = rig.storage.rebuild(0, &mut runs.clone().into_iter());
    assert_eq!((rebuilt.upto, rebuilt.written), (runs[1][9].end(), ALL / 2));
    drop(turn);
    let rebuilt = rig.storage.rebuild(0, &mut runs.clone().into_iter().skip(2));
    assert_eq!((rebuilt.upto, rebuilt.written), (runs[3][9].end(), ALL / 2));
}
