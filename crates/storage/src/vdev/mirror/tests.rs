use env::{AlignedBuf, DiskError, IoClass};

use super::*;

fn io(offset: u64) -> Io {
    Io { op: Op::Read(512), offset, class: IoClass::SyncRead, repair: true }
}

fn children(step: Step) -> Vec<(usize, bool)> {
    match step {
        Step::Issue(ios) => ios.iter().map(|io| (io.child, matches!(io.io.op, Op::Write(_)))).collect(),
        Step::Blame(_) => panic!("sides judge themselves"),
        Step::Finish(done) => panic!("finished: {}", done.is_ok()),
    }
}

fn bytes() -> Done {
    Ok(Some(AlignedBuf::zeroed(512)))
}

#[test]
fn the_idlest_side_is_first_and_equals_take_turns() {
    let first = |offset, loads: &[Option<u64>]| {
        children(Mirror::new(io(offset), loads.to_vec()).step(vec![], &|_| true))[0].0
    };
    assert_eq!(first(0, &[Some(3), Some(1), None]), 1);
    assert_eq!(first(0, &[Some(0), Some(0)]), 0);
    assert_eq!(first(1 << 21, &[Some(0), Some(0)]), 1);
    assert_eq!(first(2 << 21, &[Some(0), Some(0)]), 0);
}

#[test]
fn bad_sides_are_rewritten_from_the_good_one() {
    let mut mirror = Mirror::new(io(0), vec![Some(0), Some(1), Some(2)]);
    assert_eq!(children(mirror.step(vec![], &|_| true)), [(0, false)]);
    assert_eq!(children(mirror.step(vec![Err(IoError::Checksum)], &|_| true)), [(1, false)]);
    assert_eq!(children(mirror.step(vec![Err(IoError::Disk(DiskError::Gone))], &|_| true)), [(2, false)]);
    assert_eq!(children(mirror.step(vec![bytes()], &|_| true)), [(0, true), (1, true)]);
    let last = mirror.step(vec![Ok(None), Err(IoError::Unavailable)], &|_| true);
    assert!(matches!(last, Step::Finish(Ok(Some(_)))));
}

#[test]
fn without_a_good_side_the_last_error_stands() {
    let mut mirror = Mirror::new(io(0), vec![Some(0), None]);
    assert_eq!(children(mirror.step(vec![], &|_| true)), [(0, false)]);
    let last = mirror.step(vec![Err(IoError::Checksum)], &|_| true);
    assert!(matches!(last, Step::Finish(Err(IoError::Checksum))));
    let mut none = Mirror::new(io(0), vec![None, None]);
    assert!(matches!(none.step(vec![], &|_| true), Step::Finish(Err(IoError::Unavailable))));
}

#[test]
fn a_side_that_is_behind_is_read_last_and_cannot_take_a_write_alone() {
    let loads = vec![Some(BEHIND), Some(900)];
    let mut mirror = Mirror::new(io(0), loads.clone());
    assert_eq!(children(mirror.step(vec![], &|_| true)), [(1, false)]);
    assert_eq!(children(mirror.step(vec![Err(IoError::Checksum)], &|_| true)), [(0, false)]);
    let write = Io { op: Op::Write(Payload::padded(b"x", 512)), ..io(0) };
    let finish = |loads: &[Option<u64>], failing: usize| {
        let mut mirror = Mirror::new(write.clone(), loads.to_vec());
        let asked = children(mirror.step(vec![], &|_| true));
        let answer =
            |&(side, _): &(usize, bool)| if side == failing { Err(IoError::Unavailable) } else { Ok(None) };
        matches!(mirror.step(asked.iter().map(answer).collect(), &|_| true), Step::Finish(Ok(_)))
    };
    assert!(finish(&loads, 0) && !finish(&loads, 1));
    assert!(finish(&[Some(BEHIND), Some(BEHIND)], 0), "where none is whole, any is better than none");
}

#[test]
fn one_side_that_takes_a_write_is_enough() {
    let write = Io { op: Op::Write(Payload::padded(b"x", 512)), ..io(0) };
    for (answers, good) in [
        (vec![Ok(None), Err(IoError::Unavailable)], true),
        (vec![Err(IoError::Unavailable), Err(IoError::Checksum)], false),
    ] {
        let mut mirror = Mirror::new(write.clone(), vec![Some(0), Some(0)]);
        assert_eq!(children(mirror.step(vec![], &|_| true)).len(), 2);
        assert!(matches!(mirror.step(answers, &|_| true), Step::Finish(done) if done.is_ok() == good));
    }
}
