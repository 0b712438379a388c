use env::IoClass;

use super::*;

fn write(offset: u64, len: usize, byte: u8) -> Io {
    let payload = Payload::padded(&vec![byte; len], 512);
    Io { op: Op::Write(payload), offset, class: IoClass::AsyncWrite, repair: false }
}

fn noted(unflushed: &Unflushed) -> Vec<(u32, u64, u8)> {
    let byte = |io: &Io| match &io.op {
        Op::Write(payload) => payload.bytes()[0],
        _ => unreachable!("only writes are noted"),
    };
    unflushed.all().iter().map(|(vdev, io)| (*vdev, io.offset, byte(io))).collect()
}

#[test]
fn the_last_write_of_a_place_counts() {
    let unflushed = Unflushed::default();
    let note = |vdev, io: Io| unflushed.note([(vdev, &io)].into_iter(), 0);
    note(0, write(0, 4096, 1));
    note(0, write(8192, 4096, 2));
    note(1, write(0, 4096, 3));
    note(0, write(0, 4096, 4));
    assert_eq!(noted(&unflushed), [(0, 0, 4), (0, 8192, 2), (1, 0, 3)]);
    // Space given up and taken by another block: what it overlaps, before and behind its start, is
    // dead.
    note(0, write(2048, 8192, 5));
    assert_eq!(noted(&unflushed), [(0, 2048, 5), (1, 0, 3)]);
    let before = unflushed.count();
    note(1, write(0, 4096, 6));
    note(1, write(8192, 4096, 7));
    unflushed.clear(before);
    assert_eq!(noted(&unflushed), [(1, 0, 6), (1, 8192, 7)], "what landed during the flush");
    unflushed.clear(unflushed.count());
    assert!(noted(&unflushed).is_empty() && !unflushed.is_stale());
}

#[test]
fn a_disk_opened_anew_makes_all_of_it_stale_once() {
    let unflushed = Unflushed::default();
    unflushed.note([(0, &write(0, 4096, 1))].into_iter(), 0);
    let recalled = |offset, len| unflushed.recall(0, offset, len).map(|payload| payload.bytes()[0]);
    assert!(!unflushed.is_stale() && recalled(0, 4096).is_none(), "the disks have it");
    let (mut losses, mut during) = (0, None);
    unflushed.reopening(|| (losses, during) = (unflushed.losses(), recalled(0, 4096)));
    assert_eq!(during, Some(1), "disks that are being opened may have lost it");
    unflushed.make_good(losses);
    assert!(unflushed.is_stale(), "it went to what was open before");
    assert_eq!((recalled(0, 4096), recalled(0, 512), recalled(0, 8192)), (Some(1), Some(1), None));
    assert_eq!(recalled(512, 512), None);
    unflushed.make_good(unflushed.losses());
    assert!(!unflushed.is_stale() && recalled(0, 4096).is_none());
}

/// It landed on a handle that is no more, and whoever wrote all again did not know of it.
#[test]
fn what_is_noted_late_is_written_again() {
    let unflushed = Unflushed::default();
    let losses = unflushed.losses();
    unflushed.reopening(|| assert_ne!(unflushed.losses(), losses));
    unflushed.make_good(unflushed.losses());
    unflushed.note([(0, &write(0, 4096, 1))].into_iter(), losses);
    assert!(unflushed.is_stale());
    unflushed.make_good(unflushed.losses());
    unflushed.note([(0, &write(0, 4096, 1))].into_iter(), unflushed.losses());
    assert!(!unflushed.is_stale());
}
