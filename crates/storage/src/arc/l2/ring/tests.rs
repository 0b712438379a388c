use ondisk::l2arc::Prop;

use super::*;

const MIB: u64 = 1 << 20;

fn ring() -> Ring {
    Ring::new(100 * MIB, 9, 0).unwrap()
}

/// Writes `payload` bytes and a log block of 4 KiB that lists them.
fn write(ring: &mut Ring, payload: u64) -> Vec<std::ops::Range<u64>> {
    let mut gone = Vec::new();
    ring.make_room(payload + 4096, &mut |range| gone.push(range));
    let payload_start = ring.hand;
    ring.hand += payload;
    let prop = Prop::of_sizes(64 << 10, 4096);
    let log =
        LogPointer { address: ring.hand, payload_asize: payload, payload_start, prop, ..Default::default() };
    ring.add_log(log);
    gone
}

#[test]
fn sizes_are_openzfs_s() {
    let ring = ring();
    assert_eq!((ring.start, ring.end), (4 * MIB + 512, 104 * MIB));
    assert_eq!(ring.log_entries, 6);
    assert_eq!(Ring::new(100 * MIB, 12, 1 << 30).unwrap().log_entries, 0);
    assert_eq!(Ring::new(100 << 30, 12, 1 << 30).unwrap().log_entries, 1022);
    assert_eq!(Ring::new(MIB / 4, 9, 0), None);
}

#[test]
fn the_first_round_gives_up_nothing_and_later_ones_what_is_ahead() {
    let mut ring = ring();
    for _ in 0..9 {
        assert_eq!(write(&mut ring, 10 * MIB), []);
    }
    assert!(ring.first_round && ring.logs.len() == 9);
    let gone = write(&mut ring, 10 * MIB);
    let first = ring.start..ring.start + 10 * MIB + 4096;
    assert_eq!(gone, [first]);
    assert!(!ring.first_round);
    assert_eq!(ring.evict, ring.hand);
    // The first has been written over; the second begins where the hand is, so it counts as gone
    // too.
    assert_eq!(ring.logs.len(), 9 - 2 + 1);
    let header = ring.header(1, 2);
    assert_eq!((header.log_count, header.log_asize), (8, 8 * 4096));
}

/// Also when the hand turns before it has come to the end.
#[test]
fn what_has_been_given_up_is_not_counted() {
    let mut ring = ring();
    for n in 0..100 {
        write(&mut ring, (n % 4 + 1) * 3 * MIB);
        assert!(ring.logs.iter().all(|log| ring.is_there(log)), "after {n}");
        let mut chain = ring.logs.iter().rev().zip(ring.logs.iter().rev().skip(1));
        assert!(chain.all(|(log, before)| !ring.ends_at(log, before)), "after {n}");
    }
}

#[test]
fn a_header_brings_it_back_to_the_newest_log_block() {
    let mut ring = ring();
    (0..13).for_each(|_| drop(write(&mut ring, 10 * MIB)));
    let mut again = super::tests::ring();
    assert!(again.take_up(&ring.header(1, 2)));
    assert_eq!((again.hand, again.evict, again.first_round), (ring.hand, ring.evict, false));
    let other_size = Ring::new(101 * MIB, 9, 0).unwrap();
    assert!(!other_size.clone().take_up(&ring.header(1, 2)));
    let mut empty = super::tests::ring();
    assert!(!super::tests::ring().take_up(&empty.header(1, 2)));
    // Walking the chain as a rebuild does comes upon exactly the log blocks that are there.
    let there: Vec<_> = ring.logs.iter().rev().copied().collect();
    let mut found = Vec::new();
    for (index, log) in there.iter().enumerate() {
        assert!(again.is_there(log));
        found.push(*log);
        if there.get(index + 1).is_some_and(|before| again.ends_at(log, before)) {
            break;
        }
    }
    assert_eq!(found.len(), ring.logs.len());
    empty.forget_logs();
    assert_eq!(empty, super::tests::ring());
}

#[test]
fn hostile_headers_and_pointers_are_refused() {
    let mut good = ring();
    write(&mut good, MIB);
    let header = good.header(1, 2);
    let mut hostile = Vec::new();
    hostile.push(DeviceHeader { evict: u64::MAX, ..header });
    hostile.push(DeviceHeader { version: 2, ..header });
    hostile.push(DeviceHeader { log_entries: 0, ..header });
    let mut far = header;
    far.newest[0].address = u64::MAX - 5;
    hostile.push(far);
    assert!(hostile.iter().all(|header| !ring().take_up(header)));
    let at = |address: u64, payload_start: u64, prop: Prop| LogPointer {
        address,
        payload_start,
        prop,
        ..LogPointer::default()
    };
    let small = Prop::of_sizes(512, 512);
    for log in [
        at(u64::MAX, good.start, small),
        at(good.start, 0, small),
        at(good.end, good.start, small),
        at(good.start, good.start, Prop(u64::MAX)),
    ] {
        assert!(!good.is_there(&log), "{log:?}");
    }
}
