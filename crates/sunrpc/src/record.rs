//! Record marking (RFC 5531 §11): a record is fragments, each led by a word of one bit "last" and 31 bits of length.
//!
//! [`Reader`] reads ahead only a little, so that small calls cost one read together, and takes the body of a large
//! record from the stream straight into the buffer it will be worked on in. Large buffers come from a [`Pool`] with a
//! limit: when all are out, readers wait, their sockets fill, and the peers slow down. Small records have buffers of
//! their own size.
//!
//! The stream may have a read timeout. It is no error between records; inside one it is, so that nobody holds a
//! buffer by sending half a record. Nor by sending it byte by byte: a whole record has its time too ([`Patience`]),
//! which begins when there is a buffer for it. And one peer, however many connections it has, gets no more than its
//! share of the large buffers: the others' are there when it is slow.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, Read};
use std::net::IpAddr;
use std::ops::Deref;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How far to read ahead; a record up to this long, mark included, is small.
const AHEAD: usize = 16 << 10;
const MARK: usize = 4;
/// A record in more fragments than this is an attack.
const MAX_FRAGMENTS: u32 = 1024;
const LAST: u32 = 1 << 31;

/// Buffers for large records, all of one size.
#[derive(Debug)]
pub struct Pool {
    state: Mutex<PoolState>,
    returned: Condvar,
    /// Bytes of each buffer, and so the longest record.
    size: usize,
    limit: usize,
    /// Most buffers of one peer.
    share: usize,
    keep: usize,
}

#[derive(Debug, Default)]
struct PoolState {
    free: Vec<Box<[u8]>>,
    out: usize,
    /// Of those out, how many each peer has. Peers that have none are not listed.
    held: BTreeMap<IpAddr, usize>,
}

impl PoolState {
    fn held_by(&self, peer: Option<IpAddr>) -> usize {
        peer.and_then(|peer| self.held.get(&peer)).copied().unwrap_or(0)
    }
}

impl Pool {
    /// At most `limit` buffers of `size` bytes at a time; up to `keep` of them are kept when nobody uses them.
    pub fn new(size: usize, limit: usize, keep: usize) -> Arc<Pool> {
        Pool::shared(size, limit, limit, keep)
    }

    /// The same, with at most `share` buffers for each peer that is known.
    pub fn shared(size: usize, limit: usize, share: usize, keep: usize) -> Arc<Pool> {
        Arc::new(Pool { state: Mutex::default(), returned: Condvar::new(), size, limit, share, keep })
    }

    /// Longest record, in bytes.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Buffers in use.
    pub fn in_use(&self) -> usize {
        self.lock().out
    }

    fn lock(&self) -> MutexGuard<'_, PoolState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self, peer: Option<IpAddr>) -> Box<[u8]> {
        let mut state = self.lock();
        while state.out >= self.limit || state.held_by(peer) >= self.share {
            state = self.returned.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.out += 1;
        if let Some(peer) = peer {
            *state.held.entry(peer).or_default() += 1;
        }
        let free = state.free.pop();
        drop(state);
        // Fresh zeroed memory is not resident before it is written to.
        free.unwrap_or_else(|| vec![0; self.size].into_boxed_slice())
    }

    fn give_back(&self, peer: Option<IpAddr>, bytes: Box<[u8]>) {
        let mut state = self.lock();
        state.out -= 1;
        if let Some(peer) = peer {
            match state.held_by(Some(peer)) {
                0 | 1 => drop(state.held.remove(&peer)),
                more => drop(state.held.insert(peer, more - 1)),
            }
        }
        if state.free.len() < self.keep {
            state.free.push(bytes);
        }
        drop(state);
        // All of them: the one that would be woken may wait for its own peer's buffers, not for this one.
        self.returned.notify_all();
    }
}

/// One whole record; a large one's buffer goes back to its pool in the end.
#[derive(Debug)]
pub struct Record {
    bytes: Box<[u8]>,
    len: usize,
    pool: Option<Arc<Pool>>,
    peer: Option<IpAddr>,
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
            pool.give_back(self.peer, std::mem::take(&mut self.bytes));
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
    /// The record did not arrive in its time.
    TooSlow,
}

impl fmt::Display for RecordError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RecordError::Io(error) => error.fmt(f),
            RecordError::Impossible(what) => f.write_str(what),
            RecordError::Broken => f.write_str("stream broke off inside a record"),
            RecordError::TooSlow => f.write_str("record took too long to arrive"),
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
    peer: Option<IpAddr>,
    patience: Option<Patience>,
    /// When the record being read must be whole.
    deadline: Option<Duration>,
}

impl Reader {
    /// Records of at most `pool.size()` bytes, in whatever time they take.
    pub fn new(pool: Arc<Pool>) -> Reader {
        let ahead = vec![0; AHEAD].into_boxed_slice();
        Reader { ahead, start: 0, end: 0, pool, peer: None, patience: None, deadline: None }
    }

    /// Records of a peer that is not trusted to be quick, nor with all of the pool.
    pub fn guarded(pool: Arc<Pool>, peer: IpAddr, patience: Patience) -> Reader {
        Reader { peer: Some(peer), patience: Some(patience), ..Reader::new(pool) }
    }

    /// Whether the beginning of another record has been read already.
    pub fn has_more(&self) -> bool {
        self.start < self.end
    }

    /// Whether another whole record has been read already, so that `next` would not touch the stream.
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
            Record { bytes: vec![0; len].into_boxed_slice(), len: 0, pool: None, peer: None }
        } else if len > self.pool.size {
            return Err(RecordError::Impossible("record is longer than any call"));
        } else {
            let (pool, peer) = (Some(self.pool.clone()), self.peer);
            Record { bytes: self.pool.take(peer), len: 0, pool, peer }
        };
        self.deadline = self.patience.as_ref().map(|patience| (patience.now)() + patience.record);
        let mut fragments = 1;
        loop {
            let room = record.bytes.split_at_mut(record.len).1;
            let Some(part) = room.get_mut(..len) else {
                return Err(RecordError::Impossible("record is longer than any call"));
            };
            self.fill(from, part)?;
            record.len += len;
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

    fn fill(&mut self, from: &mut impl Read, out: &mut [u8]) -> Result<(), RecordError> {
        let mut at = self.take_buffered(out);
        while at < out.len() {
            let rest = out.split_at_mut(at).1;
            at += if rest.len() >= AHEAD / 2 {
                read(from, rest, false)?
            } else {
                self.read_ahead(from, false)?;
                self.take_buffered(rest)
            };
            self.check_time()?;
        }
        Ok(())
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
        let len = read(from, room, idle)?;
        self.end += len;
        Ok(len)
    }
}

/// Reads once. Where the stream may be `idle`, its end is 0 and its timeout is waited out again.
fn read(from: &mut impl Read, into: &mut [u8], idle: bool) -> Result<usize, RecordError> {
    loop {
        match from.read(into) {
            Ok(0) if !idle => return Err(RecordError::Broken),
            Ok(len) => return Ok(len),
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) if matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {
                if !idle {
                    return Err(RecordError::Broken);
                }
            }
            Err(e) => return Err(RecordError::Io(e)),
        }
    }
}

#[cfg(test)]
mod tests;
