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
    let pool = Pool::new(20_000, 1, 1);
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
    let pool = Pool::new(2 * AHEAD, 1, 1);
    let mut wire = Vec::new();
    fragment(&mut wire, true, &[7; AHEAD]);
    let held = Reader::new(pool.clone()).next(&mut &wire[..]).expect("good").expect("one");
    let (pool2, wire2) = (pool.clone(), wire.clone());
    let other = std::thread::spawn(move || {
        Reader::new(pool2).next(&mut &wire2[..]).expect("good").expect("one").len()
    });
    assert_eq!(pool.in_use(), 1);
    drop(held);
    assert_eq!(other.join().expect("the other reader goes on"), AHEAD);
    assert_eq!(pool.in_use(), 0);
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
    let pool = Pool::new(8192, 1, 1);
    let read = |len: usize, step: usize, count: usize| {
        let mut wire = Vec::new();
        (0..count).for_each(|_| fragment(&mut wire, true, &vec![7; len]));
        let peer = IpAddr::from([192, 0, 2, 1]);
        let mut reader = Reader::guarded(pool.clone(), peer, patience.clone());
        let mut stream = Drip(Dribble { bytes: &wire, step }, clock.clone());
        (0..count).try_for_each(|_| reader.next(&mut stream).map(|record| assert!(record.is_some())))
    };
    assert!(matches!(read(8000, 1, 1), Err(RecordError::TooSlow)));
    assert_eq!(pool.in_use(), 0);
    // Small ones too, and those in time are none the worse for coming slowly one after the other.
    assert!(matches!(read(100, 1, 1), Err(RecordError::TooSlow)));
    read(8000, 200, 30).expect("forty seconds each");
    read(50, 1, 30).expect("fifty seconds each");
}

#[test]
fn a_peer_has_its_share_and_the_others_theirs() {
    let pool = Pool::shared(2 * AHEAD, 3, 2, 3);
    let [greedy, modest] = [1, 2].map(|last| IpAddr::from([192, 0, 2, last]));
    let patience = Patience { now: Arc::new(|| Duration::ZERO), record: Duration::from_secs(1) };
    let read = |peer: IpAddr, pool: Arc<Pool>| {
        let mut wire = Vec::new();
        fragment(&mut wire, true, &[7; AHEAD]);
        let mut reader = Reader::guarded(pool, peer, patience.clone());
        reader.next(&mut &wire[..]).expect("good").expect("one")
    };
    let first = read(greedy, pool.clone());
    let second = read(greedy, pool.clone());
    std::thread::scope(|scope| {
        let third = scope.spawn(|| read(greedy, pool.clone()));
        // Were the third not waiting for its own peer's, this one would find the pool empty and wait for ever.
        let other = read(modest, pool.clone());
        assert!(pool.in_use() <= 3 && !third.is_finished());
        drop(other);
        assert!(!third.is_finished());
        drop(first);
        drop(third.join().expect("the third goes on"));
    });
    drop(second);
    assert_eq!(pool.in_use(), 0);
    assert!(pool.lock().held.is_empty());
}
