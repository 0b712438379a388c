use env::IoClass;

use super::*;

fn healing(fresh: &[usize], lacking: &[usize]) -> Healing {
    let io = Io { op: Op::Heal { len: 512, birth: 7 }, offset: 0, class: IoClass::Scrub, repair: true };
    Healing::new(io, 512, 7, fresh.to_vec(), lacking.to_vec())
}

/// Sides asked, and whether they are to be rewritten.
fn asked(step: Step) -> Vec<(usize, bool)> {
    match step {
        Step::Issue(ios) => {
            ios.iter().map(|io| (io.child, matches!(io.io.op, Op::Repair { birth: 7, .. }))).collect()
        }
        Step::Finish(done) => panic!("finished: {}", done.is_ok()),
        Step::Blame(_) => panic!("who gave wrong bytes is told before"),
    }
}

fn good() -> Done {
    Ok(Some(AlignedBuf::zeroed(512)))
}

#[test]
fn every_side_is_read_and_the_bad_ones_are_rewritten() {
    let mut healing = healing(&[0, 1, 2], &[]);
    assert_eq!(asked(healing.step(vec![], &|_| true)), [(0, false), (1, false), (2, false)]);
    let answers = vec![good(), Err(IoError::Checksum), good()];
    assert_eq!(asked(healing.step(answers, &|_| true)), [(1, true)]);
    assert!(matches!(healing.step(vec![Ok(None)], &|_| true), Step::Finish(Ok(Some(_)))));
}

#[test]
fn what_a_side_lacks_is_written_without_reading_it() {
    let mut healing = healing(&[1], &[0]);
    assert_eq!(asked(healing.step(vec![], &|_| true)), [(1, false)]);
    assert_eq!(asked(healing.step(vec![good()], &|_| true)), [(0, true)]);
}

#[test]
fn a_side_that_lacks_the_block_is_the_last_resort() {
    let mut last = healing(&[1], &[0]);
    last.step(vec![], &|_| true);
    assert_eq!(asked(last.step(vec![Err(IoError::Checksum)], &|_| true)), [(0, false)]);
    assert_eq!(asked(last.step(vec![good()], &|_| true)), [(1, true)]);
    let mut lost = healing(&[1], &[]);
    lost.step(vec![], &|_| true);
    let end = lost.step(vec![Err(IoError::Checksum)], &|_| true);
    assert!(matches!(end, Step::Finish(Err(IoError::Checksum))));
    let mut unread = healing(&[0, 1], &[2]);
    unread.step(vec![], &|_| true);
    let failed = IoError::Disk(env::DiskError::Io(5));
    unread.step(vec![Err(failed), Err(IoError::Checksum)], &|_| true);
    let end = unread.step(vec![Err(IoError::Checksum)], &|_| true);
    assert!(
        matches!(end, Step::Finish(Err(error)) if error == failed),
        "a side that should have it may have it"
    );
    assert!(matches!(healing(&[], &[]).step(vec![], &|_| true), Step::Finish(Err(IoError::Unavailable))));
}
