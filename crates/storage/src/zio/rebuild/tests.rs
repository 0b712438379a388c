use env::{DiskError, FaultKind, FaultOp};
use ondisk::BlkPtr;

use super::*;
use crate::range_tree::RangeTree;
use crate::testing::{Rig, noise, on, plain, rig, rig_of_mirror_with};

const BLOCK: usize = 16384;

/// Some blocks on a mirror whose last side has lost all and is behind; and the runs that hold them.
fn lacking(width: usize) -> (Rig, Vec<BlkPtr>, Vec<Vec<Segment>>) {
    lacking_in(rig(&[width]), width)
}

/// The same of any mirror of so many disks.
fn lacking_in(rig: Rig, width: usize) -> (Rig, Vec<BlkPtr>, Vec<Vec<Segment>>) {
    let blocks: Vec<_> = (0..40).map(|n| noise(BLOCK, n)).collect();
    let bps: Vec<BlkPtr> = rig.write(&blocks, plain(), 4).into_iter().map(Result::unwrap).collect();
    let last = [(b'a' + width as u8 - 1) as char].iter().collect::<String>();
    rig.spoil(&last);
    assert!(rig.storage.mark_behind(rig.leaf(&last).guid));
    let mut space: Vec<Segment> =
        bps.iter().map(|bp| Segment { start: bp.dva(0).offset, len: BLOCK as u64 }).collect();
    space.sort_by_key(|segment| segment.start);
    let runs = space.chunks(10).map(<[Segment]>::to_vec).collect();
    (rig, bps, runs)
}

fn fail(rig: &Rig, path: &str, op: FaultOp) {
    rig.faults.inject(on(path, op, FaultKind::Fail(DiskError::Io(5))));
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
    rig.spoil("a");
    assert!(bps.iter().all(|bp| rig.read(bp).is_ok()));
}

#[test]
fn nothing_is_done_where_nobody_lacks_anything() {
    let (rig, _, runs) = lacking(2);
    rig.storage.caught_up(rig.leaf("b").guid);
    assert_eq!(rig.storage.rebuild(0, &mut runs.into_iter()), Rebuilt::default());
}

/// All lack something, and one has to pass for whole.
#[test]
fn nothing_is_copied_from_a_side_that_lacks_something() {
    let (rig, bps, runs) = lacking(2);
    let [a, b] = ["a", "b"].map(|path| rig.leaf(path).guid);
    rig.storage.caught_up(b);
    assert!(rig.storage.mark_behind(a));
    let lacking = |first: u64, end: u64| RangeTree::whole(first, end);
    rig.storage.set_missing(b, &lacking(0, 100));
    rig.storage.set_missing(a, &lacking(50, 51));
    assert_eq!(rig.storage.rebuild(0, &mut runs.into_iter()), Rebuilt::default());
    assert!(bps.iter().all(|bp| rig.read(bp).is_ok()), "what the other side has is still there");
}

/// The other side of the mirror is damaged, which nobody knows.
#[test]
fn a_disk_that_replaces_another_is_given_what_that_one_has() {
    let (rig, bps, runs) = lacking_in(rig_of_mirror_with(2, (1, 2)), 3);
    rig.spoil("a");
    let rebuilt = rig.storage.rebuild(0, &mut runs.clone().into_iter());
    assert_eq!((rebuilt.read, rebuilt.written, rebuilt.errors), (ALL, ALL, 0));
    // What the old disk cannot give the other side is asked for.
    fail(&rig, "b", FaultOp::Read);
    let rebuilt = rig.storage.rebuild(0, &mut runs[..1].iter().cloned());
    assert_eq!((rebuilt.written, rebuilt.errors), (ALL / 4, 0));
    rig.faults.clear();
    let rebuilt = rig.storage.rebuild(0, &mut runs.into_iter());
    assert_eq!((rebuilt.written, rebuilt.errors), (ALL, 0));
    rig.storage.caught_up(rig.leaf("c").guid);
    rig.spoil("b");
    assert!(bps.iter().all(|bp| rig.read(bp).is_ok()));
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
    ["a", "b"].iter().for_each(|path| rig.spoil(path));
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
