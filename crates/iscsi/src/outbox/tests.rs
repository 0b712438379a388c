use std::net::TcpListener;
use std::thread;

use super::*;
use crate::limits::SEGMENT;
use crate::pdu::from_target::DATA;

/// Bytes of data, which need padding.
const SHORT: usize = 50_001;
const LONG: usize = 199_998;
const DIGESTS: Digests = Digests { header: true, data: true };

fn pair() -> (Outbox, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let near = TcpStream::connect(listener.local_addr().expect("bound")).expect("connected");
    let far = listener.accept().expect("accepted").0;
    (Outbox::new(Arc::new(near), DIGESTS), far)
}

/// The `number`th PDU, whose data lies in two slices, with its data for who wants to compare.
fn put(outbox: &Outbox, number: u32, len: usize) -> Vec<u8> {
    let bytes: Vec<u8> = (0..len as u32 + 3).map(|at| (at * 7 + number) as u8).collect();
    let slice = Slice::new(Arc::new(bytes.clone()), 1, len + 2);
    outbox.push_with(&numbered(number), vec![(slice.clone(), 0..len / 3), (slice, len / 3..len)]);
    bytes[1..len + 1].to_vec()
}

fn numbered(number: u32) -> Pdu {
    Pdu::new(DATA, 0).put_u32(16, number)
}

#[test]
fn who_may_not_wait_leaves_the_rest_to_another_writer() {
    let (outbox, mut far) = pair();
    let mut expected = Vec::new();
    // Sooner or later nothing more goes in.
    while outbox.write_now() {
        let number = expected.len() as u32;
        expected.push(put(&outbox, number, SHORT));
        outbox.push(&numbered(number));
    }
    // There is to be another writer: nobody else begins, and nobody waits.
    expected.push(put(&outbox, expected.len() as u32, LONG));
    assert!(outbox.write_now() && outbox.wait_for_room());
    thread::scope(|scope| {
        scope.spawn(|| outbox.write_rest());
        for (number, data) in expected.iter().enumerate() {
            let mut next = || Pdu::read(&mut far, DIGESTS, SEGMENT).expect("whole").expect("there");
            let read = next();
            assert_eq!(read.tag(), number as u32);
            assert!(read.data == *data);
            if number + 1 < expected.len() {
                assert_eq!(next(), numbered(number as u32));
            }
        }
    });
    outbox.finish();
    assert_eq!(outbox.state().bytes, 0);
}

#[test]
fn what_is_long_is_another_writers() {
    let (outbox, _far) = pair();
    put(&outbox, 0, SHORT);
    assert!(outbox.write_now() && outbox.state().pieces.is_empty());
    put(&outbox, 0, LONG);
    assert!(!outbox.write_now() && outbox.state().is_writing);
}

#[test]
fn who_puts_in_too_much_waits_until_it_is_taken_or_cannot_be() {
    let (outbox, far) = pair();
    while outbox.state().bytes < QUEUED {
        put(&outbox, 0, LONG);
    }
    thread::scope(|scope| {
        let writer = scope.spawn(|| outbox.write_all());
        while !outbox.state().is_writing {
            thread::yield_now();
        }
        let waiting = scope.spawn(|| outbox.wait_for_room());
        while outbox.state().waiting == 0 {
            thread::yield_now();
        }
        drop(far);
        writer.join().expect("it ends");
        assert!(!waiting.join().expect("it ends"), "nothing can be written any more");
    });
    put(&outbox, 0, LONG);
    assert!(outbox.write_now() && outbox.state().pieces.is_empty());
}
