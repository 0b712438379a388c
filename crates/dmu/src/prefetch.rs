//! Read-ahead: a reader that walks through an object finds its next blocks already in the cache.
//!
//! Each object remembers a few *streams*: where a sequential reader will be next, and how far
//! blocks have been asked for. The first read that continues a stream asks for no more than it
//! reads itself: it may be a random one that hit by chance, and a disk that reads ahead for those
//! has no time left. Each further one doubles the distance up to [`SOON_AHEAD`] bytes, and then
//! adds an eighth up to [`MAX_AHEAD`]. Asking ahead never reads from disk itself: it goes as far as
//! the indirect blocks are in the cache, and asks for the next indirect block when it gets there.
//! The idea, not the code, of module/zfs/dmu_zfetch.c.

use std::sync::Mutex;

use crate::store::Foresight;
use crate::tree::Walker;

/// Streams an object has at most.
const MAX_STREAMS: usize = 8;
/// Bytes ahead of a reader that has only just proved to be one.
const SOON_AHEAD: u64 = 4 << 20;
/// Bytes ahead of the reader at most.
const MAX_AHEAD: u64 = 64 << 20;
/// Blocks asked for in one call at most.
const MAX_BATCH: u64 = 512;

/// A sequential reader, all in block numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stream {
    /// Where it will read next.
    next: u64,
    /// Blocks below this one have been asked for.
    asked: u64,
    /// How many blocks ahead it asks.
    ahead: u64,
    /// When it last moved, in reads of this object.
    used: u64,
}

/// The sequential readers of one object.
#[derive(Debug, Default)]
pub struct Streams {
    streams: Vec<Stream>,
    reads: u64,
}

impl Streams {
    /// Notes a read of blocks `first..=last`: what it was to the streams, and the blocks to ask
    /// for, if it continues one.
    fn note(&mut self, first: u64, last: u64, block_size: u64) -> (Foresight, Option<(u64, u64)>) {
        self.reads += 1;
        let reads = self.reads;
        // A reader that takes less than a block at a time reads the same block several times.
        let known = self.streams.iter_mut().find(|s| s.next == first || s.next == first + 1);
        let Some(stream) = known else {
            return (self.start(Stream { next: last + 1, asked: last + 1, ahead: 0, used: reads }), None);
        };
        stream.used = reads;
        (Foresight::Hit, stream.advance(first, last, block_size))
    }

    fn start(&mut self, stream: Stream) -> Foresight {
        if self.streams.len() < MAX_STREAMS {
            self.streams.push(stream);
            return Foresight::Miss;
        }
        if let Some(oldest) = self.streams.iter_mut().min_by_key(|s| s.used) {
            *oldest = stream;
        }
        Foresight::MissAtLimit
    }
}

impl Stream {
    /// Its reader reads `first..=last`, where this was expected; the blocks to ask for.
    fn advance(&mut self, first: u64, last: u64, block_size: u64) -> Option<(u64, u64)> {
        if self.next > last {
            return None;
        }
        let most = (MAX_AHEAD / block_size).max(1);
        let soon = (SOON_AHEAD / block_size).max(1);
        self.ahead = match self.ahead {
            0 => last - first + 1,
            near if near < soon => (near * 2).min(soon),
            far => far + far / 8 + 1,
        };
        self.ahead = self.ahead.min(most);
        self.next = last + 1;
        let from = self.asked.max(self.next);
        let to = (self.next + self.ahead).min(from + MAX_BATCH);
        // Many small requests cost more than few large ones: wait until a quarter of the distance
        // is used up.
        if from >= to || (from > self.next && to - from < self.ahead / 4) {
            return None;
        }
        self.asked = to;
        Some((from, to - 1))
    }
}

/// Called with the blocks a reader is about to read, and the streams of their object.
pub fn before_read(streams: &Mutex<Streams>, walker: &mut Walker<'_>, first: u64, last: u64) {
    let phys = walker.phys();
    let (end, size) = (phys.maxblkid, phys.data_block_size());
    if end == 0 {
        return;
    }
    let (seen, ask) = env::lock(streams).note(first, last, size);
    walker.foresaw(seen);
    if let Some((from, to)) = ask.filter(|&(from, _)| from <= end) {
        range(walker, from, to.min(end));
    }
}

/// Asks for data blocks `first..=last`, as far as their pointers are in the cache.
pub fn range(walker: &mut Walker<'_>, first: u64, last: u64) {
    let last = last.min(first.saturating_add(MAX_BATCH));
    let mut wanted = Vec::new();
    for blkid in first..=last {
        let Some(bp) = walker.cached_pointer(0, blkid) else {
            wanted.extend(walker.missing_indirect(blkid));
            break;
        };
        if !bp.is_hole() && !bp.is_embedded() && !bp.is_encrypted() && bp.validate().is_ok() {
            wanted.push(bp);
        }
    }
    if !wanted.is_empty() {
        walker.prefetch(wanted);
    }
}

#[cfg(test)]
mod tests;
