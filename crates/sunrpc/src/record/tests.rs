#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use super::*;
use stdx::prng::Prng;

/// A stream that gives its bytes in pieces of at most `step`.
struct Dribble<'a> {
    bytes: &'a [u8],
    step: usize,
}

impl Read for Dribble<'_> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let len = buf.len().min(self.step).min(self.bytes.len());
        buf[..len].copy_from_slice(&self.bytes[..len]);
        self.bytes = &self.bytes[len..];
        Ok(len)
    }
}

fn fragment(out: &mut Vec<u8>, last: bool, body: &[u8]) {
    let word = if last { LAST } else { 0 } | body.len() as u32;
    out.extend(word.to_be_bytes());
    out.extend(body);
}

fn read_all(bytes: &[u8], step: usize, pool: &Arc<Pool>) -> Result<Vec<Vec<u8>>, RecordError> {
    let mut reader = Reader::new(pool.clone());
    let mut stream = Dribble { bytes, step };
    let mut records = Vec::new();
    while let Some(record) = reader.next(&mut stream)? {
        records.push(record.to_vec());
    }
    Ok(records)
}

#[test]
fn records_come_out_whole_however_they_arrive() {
    let pool = Pool::new(100_000, 2, 1);
    let mut rng = Prng::new(1);
    for round in 0..60 {
        let (mut wire, mut expect) = (Vec::new(), Vec::new());
        for _ in 0..rng.range(1, 12) {
            let longest = if rng.chance(1, 3) { 90_000 } else { 300 };
            let mut body = vec![0; rng.range(1, longest) as usize];
            rng.fill(&mut body);
            let mut rest = &body[..];
            while rng.chance(1, 3) && !rest.is_empty() {
                let (first, tail) = rest.split_at(rng.below(rest.len() as u64) as usize);
                fragment(&mut wire, false, first);
                rest = tail;
            }
            fragment(&mut wire, true, rest);
            expect.push(body);
        }
        let step = [1, 7, 1000, 1 << 20][round % 4];
        assert_eq!(read_all(&wire, step, &pool).expect("good records"), expect);
    }
    assert_eq!(pool.in_use(), 0);
}

#[test]
fn impossible_lengths_end_the_stream() {
    let pool = Pool::new(10_000, 1, 1);
    let case = |parts: &[(bool, u32)]| {
        let mut wire = Vec::new();
        for &(last, len) in parts {
            wire.extend((if last { LAST } else { 0 } | len).to_be_bytes());
            wire.extend(vec![0; (len as usize).min(20_000)]);
        }
        read_all(&wire, 1 << 20, &pool)
    };
    assert!(matches!(case(&[(true, 10_001)]), Err(RecordError::Impossible(_))));
    assert!(matches!(case(&[(true, 0x7fff_ffff)]), Err(RecordError::Impossible(_))));
    assert!(matches!(case(&[(false, 6000), (true, 6000)]), Err(RecordError::Impossible(_))));
    assert!(matches!(case(&[(true, 0)]), Err(RecordError::Impossible(_))));
    assert!(matches!(case(&vec![(false, 0); 5000]), Err(RecordError::Impossible(_))));
    assert!(matches!(case(&[(false, 10)]), Err(RecordError::Broken)));
    assert!(matches!(read_all(&[0x80, 0, 0, 9, 1], 9, &pool), Err(RecordError::Broken)));
    assert!(matches!(read_all(&[0x80, 0], 9, &pool), Err(RecordError::Broken)));
    assert_eq!(pool.in_use(), 0);
}

#[test]
fn reading_ahead_is_visible() {
    let mut wire = Vec::new();
    fragment(&mut wire, true, b"one");
    fragment(&mut wire, true, b"two");
    wire.extend([0x80, 0, 0, 9, 1]);
    let mut reader = Reader::new(Pool::new(5000, 1, 1));
    let mut stream = Dribble { bytes: &wire, step: 4096 };
    reader.next(&mut stream).expect("one");
    assert!(reader.has_record());
    reader.next(&mut stream).expect("two");
    assert!(reader.has_more() && !reader.has_record());
}

/// A stream that times out between every two pieces.
struct Slow<'a>(Dribble<'a>, bool);

impl Read for Slow<'_> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        self.1 = !self.1;
        if self.1 { Err(io::ErrorKind::WouldBlock.into()) } else { self.0.read(buf) }
    }
}

#[test]
fn a_timeout_matters_inside_a_record_only() {
    let mut wire = Vec::new();
    fragment(&mut wire, true, b"abcd");
    let mut reader = Reader::new(Pool::new(5000, 1, 1));
    let mut whole = Slow(Dribble { bytes: &wire, step: 100 }, false);
    assert!(reader.next(&mut whole).is_ok_and(|record| record.is_some()));
    let mut pieces = Slow(Dribble { bytes: &wire, step: 5 }, false);
    assert!(matches!(reader.next(&mut pieces), Err(RecordError::Broken)));
}

#[test]
fn a_pool_makes_readers_wait_for_its_buffers() {
    let pool = Pool::new(8192, 1, 1);
    let mut wire = Vec::new();
    fragment(&mut wire, true, &[7; 8000]);
    let held = Reader::new(pool.clone()).next(&mut &wire[..]).expect("good").expect("one");
    let (pool2, wire2) = (pool.clone(), wire.clone());
    let other = std::thread::spawn(move || {
        Reader::new(pool2).next(&mut &wire2[..]).expect("good").expect("one").len()
    });
    assert_eq!(pool.in_use(), 1);
    drop(held);
    assert_eq!(other.join().expect("the other reader goes on"), 8000);
    assert_eq!(pool.in_use(), 0);
}
