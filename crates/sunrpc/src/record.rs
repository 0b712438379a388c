//! Record marking (RFC 5531 §11): a record is fragments, each led by a word of one bit "last" and
//! 31 bits of length.
//!
//! [`Reader`] reads ahead only a little, so that small calls cost one read together, and takes the
//! body of a large record from the stream straight into the buffer it will be worked on in. That
//! buffer grows as bytes arrive: what a mark promises takes no memory. What peers hold so is leased
//! ([`sockets::budget`]): where there is no room, the reader waits, the socket fills, and the peer
//! slows down.
//!
//! The stream may have a read timeout. It is no error between records, unless the next one is
//! owed ([`Reader::awaiting`]); inside one it is, so that nobody holds memory by sending half a
//! record. Nor by sending it byte by byte: a whole record has its time too ([`Patience`]).

use std::fmt;
use std::io::{self, Read};
use std::ops::Deref;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use sockets::{Lease, Peer, lock};

/// How far to read ahead; a record up to this long, mark included, is small.
const AHEAD: usize = 16 << 10;
const MARK: usize = 4;
/// A record in more fragments than this is an attack.
const MAX_FRAGMENTS: u32 = 1024;
const LAST: u32 = 1 << 31;

/// How much of a large record is made room for: so many times what has arrived, and a little more.
/// What has been read ahead of a record of 64 KiB makes room for all of it.
const STRIDE: usize = 4;

/// Buffers that were used for large records and are kept for the next.
#[derive(Debug)]
pub struct Pool {
    free: Mutex<Vec<Vec<u8>>>,
    size: usize,
    keep: usize,
}

impl Pool {
    /// For records of at most `size` bytes; up to `keep` buffers are kept.
    pub fn new(size: usize, keep: usize) -> Arc<Pool> {
        Arc::new(Pool { free: Mutex::default(), size, keep })
    }

    /// Longest record, in bytes.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Memory that was never written to is not there yet, as far as the system goes.
    fn take(&self) -> Vec<u8> {
        lock(&self.free).pop().unwrap_or_else(|| Vec::with_capacity(self.size))
    }

    fn give_back(&self, bytes: Vec<u8>) {
        let mut free = lock(&self.free);
        if free.len() < self.keep {
            free.push(bytes);
        }
    }
}

/// One whole record; a large one's buffer goes back to its pool in the end.
#[derive(Debug)]
pub struct Record {
    /// As much of a buffer as was ever written to.
    bytes: Vec<u8>,
    len: usize,
    /// Up to where there is room for what arrives.
    room: usize,
    pool: Option<Arc<Pool>>,
    lease: Option<Lease>,
}

impl Record {
    /// What was taken for it, if it is a large one of a guarded reader's: whoever takes that holds
    /// the record with it.
    pub fn take_lease(&mut self) -> Option<Lease> {
        self.lease.take()
    }
}

impl Deref for Record {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        self.bytes.split_at(self.len).0
    }
}

impl Drop for Record {
    fn drop(&mut self) {
        if let Some(pool) = self.pool.take() {
            pool.give_back(std::mem::take(&mut self.bytes));
        }
    }
}

/// Why a stream cannot go on.
#[derive(Debug)]
pub enum RecordError {
    Io(io::Error),
    /// A record longer than the reader takes, empty, or in absurdly many fragments.
    Impossible(&'static str),
    /// The stream ended, or stood still for its timeout, inside a record.
    Broken,
    /// The record did not arrive, or begin to, in its time.
    TooSlow,
    /// The server needs the memory for others.
    Cut,
}

impl fmt::Display for RecordError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RecordError::Io(error) => error.fmt(f),
            RecordError::Impossible(what) => f.write_str(what),
            RecordError::Broken => f.write_str("stream broke off inside a record"),
            RecordError::TooSlow => f.write_str("record took too long to arrive"),
            RecordError::Cut => f.write_str("cut off"),
        }
    }
}

impl std::error::Error for RecordError {}

/// The mark of the only fragment of a record of `len` bytes.
///
/// # Panics
/// When the record is 2 GiB or longer.
pub fn mark(len: usize) -> [u8; 4] {
    assert!(len < LAST as usize, "a fragment of {len} bytes");
    (LAST | len as u32).to_be_bytes()
}

/// How long a record may take from its mark to its end, by a clock of the caller's.
#[derive(Clone)]
pub struct Patience {
    /// Time since some moment in the past.
    pub now: Arc<dyn Fn() -> Duration + Send + Sync>,
    pub record: Duration,
}

impl fmt::Debug for Patience {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Patience").field("record", &self.record).finish_non_exhaustive()
    }
}

/// Cuts a stream into records.
#[derive(Debug)]
pub struct Reader {
    ahead: Box<[u8]>,
    start: usize,
    end: usize,
    pool: Arc<Pool>,
    peer: Option<Arc<Peer>>,
    patience: Option<Patience>,
    /// The next record is owed: the stream's timeout is no rest between two.
    is_owed: bool,
    /// When the record being read must be whole.
    deadline: Option<Duration>,
}

impl Reader {
    /// Records of at most `pool.size()` bytes, in whatever time they take.
    pub fn new(pool: Arc<Pool>) -> Reader {
        let ahead = vec![0; AHEAD].into_boxed_slice();
        Reader { ahead, start: 0, end: 0, pool, peer: None, patience: None, is_owed: false, deadline: None }
    }

    /// Records that answer what was asked: each is to begin within the stream's timeout.
    pub fn awaiting(pool: Arc<Pool>) -> Reader {
        Reader { is_owed: true, ..Reader::new(pool) }
    }

    /// Records of a peer that is not trusted to be quick, nor with all of the memory.
    pub fn guarded(pool: Arc<Pool>, peer: Arc<Peer>, patience: Patience) -> Reader {
        Reader { peer: Some(peer), patience: Some(patience), ..Reader::new(pool) }
    }

    /// Whether the beginning of another record has been read already.
    pub fn has_more(&self) -> bool {
        self.start < self.end
    }

    /// Whether another whole record has been read already, so that `next` would not touch the
    /// stream.
    pub fn has_record(&self) -> bool {
        let rest = self.buffered();
        rest.first_chunk().is_some_and(|mark| {
            let word = u32::from_be_bytes(*mark);
            word & LAST != 0 && (word & !LAST) as usize <= rest.len() - MARK
        })
    }

    /// The next record, or `None` where the stream ended between two.
    pub fn next(&mut self, from: &mut impl Read) -> Result<Option<Record>, RecordError> {
        let Some((mut last, mut len)) = self.next_mark(from, true)? else { return Ok(None) };
        let mut record = if last && len <= AHEAD - MARK {
            Record { bytes: vec![0; len], len: 0, room: 0, pool: None, lease: None }
        } else if len > self.pool.size {
            return Err(RecordError::Impossible("record is longer than any call"));
        } else {
            let lease = self.peer.as_ref().map(|peer| peer.charge(0));
            Record { bytes: self.pool.take(), len: 0, room: 0, pool: Some(self.pool.clone()), lease }
        };
        self.deadline = self.patience.as_ref().map(|patience| (patience.now)() + patience.record);
        let mut fragments = 1;
        loop {
            if record.len + len > if record.pool.is_some() { self.pool.size } else { AHEAD } {
                return Err(RecordError::Impossible("record is longer than any call"));
            }
            self.fill(from, &mut record, len)?;
            if last {
                break;
            }
            fragments += 1;
            if fragments > MAX_FRAGMENTS {
                return Err(RecordError::Impossible("record is in too many fragments"));
            }
            (last, len) = self.next_mark(from, false)?.ok_or(RecordError::Broken)?;
        }
        if record.len == 0 {
            return Err(RecordError::Impossible("record is empty"));
        }
        self.note_sending(&record, false);
        Ok(Some(record))
    }

    fn buffered(&self) -> &[u8] {
        self.ahead.get(self.start..self.end).unwrap_or(&[])
    }

    /// The next mark; `None` where the stream ended in front of it.
    fn next_mark(
        &mut self,
        from: &mut impl Read,
        between_records: bool,
    ) -> Result<Option<(bool, usize)>, RecordError> {
        while self.end - self.start < MARK {
            let idle = between_records && !self.has_more();
            match self.read_ahead(from, idle)? {
                0 if idle => return Ok(None),
                0 => return Err(RecordError::Broken),
                _ if between_records => {}
                _ => self.check_time()?,
            }
        }
        let mut bytes = [0; MARK];
        self.take_buffered(&mut bytes);
        let word = u32::from_be_bytes(bytes);
        Ok(Some((word & LAST != 0, (word & !LAST) as usize)))
    }

    /// Takes so many bytes more of a record.
    fn fill(&mut self, from: &mut impl Read, record: &mut Record, len: usize) -> Result<(), RecordError> {
        let end = record.len + len;
        while record.len < end {
            let until = self.make_room(record, end)?;
            let Some(rest) = record.bytes.get_mut(record.len..until) else { return Err(RecordError::Broken) };
            let mut taken = self.take_buffered(rest);
            if taken == 0 {
                taken = if rest.len() >= AHEAD / 2 {
                    read(from, rest, Gap::default())?
                } else {
                    self.read_ahead(from, false)?;
                    self.take_buffered(rest)
                };
                self.note_sending(record, true);
                self.check_time()?;
            }
            record.len += taken;
        }
        Ok(())
    }

    /// Makes room behind what a record has, but not for all that it may get; how far that goes.
    fn make_room(&self, record: &mut Record, end: usize) -> Result<usize, RecordError> {
        if record.len < record.room {
            return Ok(record.room);
        }
        let arrived = record.len + self.buffered().len();
        let until = (STRIDE * arrived + AHEAD).min(end);
        if let Some(lease) = &mut record.lease
            && lease.bytes() < until
            && !lease.try_grow(until)
        {
            // Meanwhile it is the peer who waits for us.
            self.peer.iter().for_each(|peer| peer.note_sending(false));
            if !lease.grow(until) {
                return Err(RecordError::Cut);
            }
        }
        if record.bytes.len() < until {
            record.bytes.resize(until, 0);
        }
        record.room = until;
        Ok(until)
    }

    /// Tells whether we wait for more of a large record.
    fn note_sending(&self, record: &Record, is: bool) {
        if let (Some(peer), Some(_)) = (&self.peer, &record.lease) {
            peer.note_sending(is);
            if !is {
                peer.note_moved(record.len);
            }
        }
    }

    /// Looked at when something has arrived: what stands still ends by the stream's own timeout.
    fn check_time(&self) -> Result<(), RecordError> {
        match (&self.patience, self.deadline) {
            (Some(patience), Some(deadline)) if (patience.now)() > deadline => Err(RecordError::TooSlow),
            _ => Ok(()),
        }
    }

    /// Moves what was read ahead into `out`, as much as fits, and tells how much that was.
    fn take_buffered(&mut self, out: &mut [u8]) -> usize {
        let len = out.len().min(self.end - self.start);
        if let (Some(to), Some(from)) = (out.get_mut(..len), self.buffered().get(..len)) {
            to.copy_from_slice(from);
        }
        self.start += len;
        len
    }

    fn read_ahead(&mut self, from: &mut impl Read, idle: bool) -> Result<usize, RecordError> {
        if self.start > 0 {
            self.ahead.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
        }
        let room = self.ahead.split_at_mut(self.end).1;
        let len = read(from, room, Gap { idle, is_owed: self.is_owed })?;
        self.end += len;
        Ok(len)
    }
}

/// What may come between two reads.
#[derive(Clone, Copy, Default)]
struct Gap {
    /// The stream is between two records: it may end, and its timeout is waited out again...
    idle: bool,
    /// ...unless somebody waits for the next one.
    is_owed: bool,
}

/// Reads once; the end of the stream is 0.
fn read(from: &mut impl Read, into: &mut [u8], gap: Gap) -> Result<usize, RecordError> {
    loop {
        match from.read(into) {
            Ok(0) if !gap.idle => return Err(RecordError::Broken),
            Ok(len) => return Ok(len),
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) if matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => match gap {
                Gap { idle: false, .. } => return Err(RecordError::Broken),
                Gap { is_owed: true, .. } => return Err(RecordError::TooSlow),
                _ => {}
            },
            Err(e) => return Err(RecordError::Io(e)),
        }
    }
}

#[cfg(test)]
mod tests;
