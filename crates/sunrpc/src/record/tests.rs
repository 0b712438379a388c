#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use std::net::IpAddr;

use super::*;
use sockets::Budget;
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
    let pool = Pool::new(100_000, 1);
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
}

#[test]
fn impossible_lengths_end_the_stream() {
    let pool = Pool::new(20_000, 1);
    let case = |parts: &[(bool, u32)]| {
        let mut wire = Vec::new();
        for &(last, len) in parts {
            wire.extend((if last { LAST } else { 0 } | len).to_be_bytes());
            wire.extend(vec![0; (len as usize).min(40_000)]);
        }
        read_all(&wire, 1 << 20, &pool)
    };
    assert!(matches!(case(&[(true, 20_001)]), Err(RecordError::Impossible(_))));
    assert!(matches!(case(&[(true, 0x7fff_ffff)]), Err(RecordError::Impossible(_))));
    assert!(matches!(case(&[(false, 12_000), (true, 12_000)]), Err(RecordError::Impossible(_))));
    assert!(matches!(case(&[(true, 0)]), Err(RecordError::Impossible(_))));
    assert!(matches!(case(&vec![(false, 0); 5000]), Err(RecordError::Impossible(_))));
    assert!(matches!(case(&[(false, 10)]), Err(RecordError::Broken)));
    assert!(matches!(read_all(&[0x80, 0, 0, 9, 1], 9, &pool), Err(RecordError::Broken)));
    assert!(matches!(read_all(&[0x80, 0], 9, &pool), Err(RecordError::Broken)));
}

#[test]
fn reading_ahead_is_visible() {
    let mut wire = Vec::new();
    fragment(&mut wire, true, b"one");
    fragment(&mut wire, true, b"two");
    wire.extend([0x80, 0, 0, 9, 1]);
    let mut reader = Reader::new(Pool::new(5000, 1));
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
    let mut reader = Reader::new(Pool::new(5000, 1));
    let mut whole = Slow(Dribble { bytes: &wire, step: 100 }, false);
    assert!(reader.next(&mut whole).is_ok_and(|record| record.is_some()));
    let mut pieces = Slow(Dribble { bytes: &wire, step: 5 }, false);
    assert!(matches!(reader.next(&mut pieces), Err(RecordError::Broken)));
}

#[test]
fn who_waits_for_an_answer_waits_for_one_timeout() {
    let mut wire = Vec::new();
    fragment(&mut wire, true, b"abcd");
    let mut reader = Reader::awaiting(Pool::new(5000, 1));
    let mut silent = Slow(Dribble { bytes: &wire, step: 100 }, false);
    assert!(matches!(reader.next(&mut silent), Err(RecordError::TooSlow)));
    let mut quick = Dribble { bytes: &wire, step: 100 };
    assert!(reader.next(&mut quick).is_ok_and(|record| record.is_some()));
    assert!(reader.next(&mut quick).is_ok_and(|record| record.is_none()), "it ended");
}

/// A stream whose every byte takes a second by the test's own clock.
struct Drip<'a>(Dribble<'a>, Arc<Mutex<Duration>>);

impl Read for Drip<'_> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        *self.1.lock().unwrap() += Duration::from_secs(1);
        self.0.read(buf)
    }
}

#[test]
fn a_record_that_drips_is_cut_off_and_its_buffer_comes_back() {
    let clock = Arc::new(Mutex::new(Duration::from_secs(1000)));
    let now = clock.clone();
    let patience = Patience { now: Arc::new(move || *now.lock().unwrap()), record: Duration::from_secs(60) };
    let pool = Pool::new(8192, 1);
    let read = |len: usize, step: usize, count: usize| {
        let mut wire = Vec::new();
        (0..count).for_each(|_| fragment(&mut wire, true, &vec![7; len]));
        let peer = Arc::new(Budget::default()).peer(None, || {});
        let mut reader = Reader::guarded(pool.clone(), peer, patience.clone());
        let mut stream = Drip(Dribble { bytes: &wire, step }, clock.clone());
        (0..count).try_for_each(|_| reader.next(&mut stream).map(|record| assert!(record.is_some())))
    };
    assert!(matches!(read(8000, 1, 1), Err(RecordError::TooSlow)));
    // Small ones too, and those in time are none the worse for coming slowly one after the other.
    assert!(matches!(read(100, 1, 1), Err(RecordError::TooSlow)));
    read(8000, 200, 30).expect("forty seconds each");
    read(50, 1, 30).expect("fifty seconds each");
}

/// A stream that gives what it has and then ends.
fn half(len: usize) -> Vec<u8> {
    [&mark(1 << 20)[..], &vec![7; len]].concat()
}

#[test]
fn memory_follows_what_arrived_and_not_what_was_promised() {
    let budget = Arc::new(Budget::default());
    let patience = Patience { now: Arc::new(|| Duration::ZERO), record: Duration::from_secs(1) };
    let pool = Pool::new(1 << 20, 1);
    for (arrived, most) in [(0, AHEAD), (9 << 10, 52 << 10), (100 << 10, 416 << 10), (300 << 10, 1 << 20)] {
        let peer = budget.peer(Some(IpAddr::from([192, 0, 2, 1])), || {});
        let mut reader = Reader::guarded(pool.clone(), peer.clone(), patience.clone());
        let held = Mutex::new(0);
        let bytes = half(arrived);
        let watched = Watched { bytes: &bytes, peer: &peer, held: &held };
        assert!(matches!(reader.next(&mut { watched }), Err(RecordError::Broken)));
        let held = *held.lock().unwrap();
        assert!(held <= most, "{held} bytes are held for {arrived}");
        assert_eq!(peer.held(), 0, "and nothing is afterwards");
    }
}

/// Notes what is held when there is no more.
struct Watched<'a> {
    bytes: &'a [u8],
    peer: &'a Peer,
    held: &'a Mutex<usize>,
}

impl Read for Watched<'_> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        *self.held.lock().unwrap() = self.peer.held();
        self.bytes.read(buf)
    }
}

#[test]
fn a_record_has_its_lease_as_long_as_somebody_has_it() {
    let peer = Arc::new(Budget::default()).peer(None, || {});
    let patience = Patience { now: Arc::new(|| Duration::ZERO), record: Duration::from_secs(1) };
    let mut wire = Vec::new();
    fragment(&mut wire, true, &[7; 3 * AHEAD]);
    let mut reader = Reader::guarded(Pool::new(8 * AHEAD, 1), peer.clone(), patience);
    let mut record = reader.next(&mut &wire[..]).expect("good").expect("one");
    assert_eq!(peer.held(), 3 * AHEAD);
    let lease = record.take_lease();
    drop(record);
    assert_eq!(peer.held(), 3 * AHEAD);
    drop(lease);
    assert_eq!(peer.held(), 0);
}
