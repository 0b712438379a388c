//! What reading ahead does, as `arcstat -z` tells it. Who follows the readers of an object is
//! `dmu::prefetch`; what it has seen and asked for is counted here, beside the cache that gets it.
//!
//! Source of the names: module/zfs/dmu_zfetch.c (`zfetch_stats`).

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// What a read was to the streams of its object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Foresight {
    /// It went on where one had ended.
    Hit,
    /// It belongs to none, and begins another.
    Miss,
    /// Likewise, in the place of an older one: there may be no more.
    MissAtLimit,
}

/// As counted since start; `active` blocks wait to be read ahead, or are being read, now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AheadStats {
    pub hits: u64,
    pub misses: u64,
    pub max_streams: u64,
    pub issued: u64,
    pub active: u64,
}

/// The same, being counted, of all pools together.
#[derive(Default)]
pub struct AheadCounts {
    hits: AtomicU64,
    misses: AtomicU64,
    max_streams: AtomicU64,
    issued: AtomicU64,
    active: AtomicU64,
}

impl AheadCounts {
    pub fn saw(&self, what: Foresight) {
        let count = if what == Foresight::Hit { &self.hits } else { &self.misses };
        count.fetch_add(1, Relaxed);
        if what == Foresight::MissAtLimit {
            self.max_streams.fetch_add(1, Relaxed);
        }
    }

    /// Blocks are asked for.
    pub fn begin(&self, blocks: u64) {
        self.issued.fetch_add(blocks, Relaxed);
        self.active.fetch_add(blocks, Relaxed);
    }

    /// They have been read, or nobody will.
    pub fn end(&self, blocks: u64) {
        self.active.fetch_sub(blocks, Relaxed);
    }

    pub fn snapshot(&self) -> AheadStats {
        AheadStats {
            hits: self.hits.load(Relaxed),
            misses: self.misses.load(Relaxed),
            max_streams: self.max_streams.load(Relaxed),
            issued: self.issued.load(Relaxed),
            active: self.active.load(Relaxed),
        }
    }
}
