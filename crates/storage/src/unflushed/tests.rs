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
    let note = |vdev, io: Io| unflushed.note([(vdev, &io)].into_iter());
    note(0, write(0, 4096, 1));
    note(0, write(8192, 4096, 2));
    note(1, write(0, 4096, 3));
    note(0, write(0, 4096, 4));
    assert_eq!(noted(&unflushed), [(0, 0, 4), (0, 8192, 2), (1, 0, 3)]);
    // Space given up and taken by another block: what it overlaps, before and behind its start, is dead.
    note(0, write(2048, 8192, 5));
    assert_eq!(noted(&unflushed), [(0, 2048, 5), (1, 0, 3)]);
    unflushed.clear();
    assert!(noted(&unflushed).is_empty());
}

#[test]
fn a_disk_opened_anew_makes_all_of_it_stale_once() {
    let unflushed = Unflushed::default();
    assert!(!unflushed.take_stale());
    unflushed.reopening(|| assert!(!unflushed.is_stale()));
    assert!(unflushed.is_stale() && unflushed.take_stale() && !unflushed.take_stale());
}
