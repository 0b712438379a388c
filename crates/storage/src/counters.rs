//! What is counted of one disk: I/O done, errors, writes that it took or refused.
//!
//! Whoever works with the disk counts here: its queue, those who judge what it gave, those who
//! flush it. Nothing here takes a disk out of use. Counting takes no lock.

pub mod tally;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use counters::{Counter, Histogram};
use env::{DiskError, Nanos};

use tally::Tallies;

/// Failures in a row, without one success between, after which a cache device is given up: it costs
/// only speed.
const FAILURES_TO_LOSE: u64 = 8;

/// Writes of a kind, counted until they are *settled*: all that was written then is durable on
/// enough disks, so that it does not matter any more what became of them here.
#[derive(Default)]
pub struct Unsettled {
    count: AtomicU64,
    settled: AtomicU64,
}

impl Unsettled {
    pub fn add(&self) {
        self.count.fetch_add(1, Relaxed);
    }

    /// So far.
    pub fn count(&self) -> u64 {
        self.count.load(Relaxed)
    }

    /// Whether there are any among the first `count`.
    pub fn has_any_of(&self, count: u64) -> bool {
        self.settled.load(Relaxed) < count
    }

    /// The first `count` are settled.
    pub fn settle(&self, count: u64) {
        self.settled.fetch_max(count, Relaxed);
    }
}

/// What is added up over a leaf's life.
#[derive(Default)]
pub struct Counters {
    pub read_errors: AtomicU64,
    pub write_errors: AtomicU64,
    /// A write failed since it was last noted who lacks what.
    pub missed_write: AtomicBool,
    /// Writes it took, and those it refused that count as done all the same, as others took them.
    pub taken: Unsettled,
    pub refused: Unsettled,
    /// It was opened anew while it was not whole: what it had taken and not flushed, repairs among
    /// it, may be lost.
    pub was_away: AtomicBool,
    pub checksum_errors: AtomicU64,
    /// Bytes that a scan has rewritten here, since it began.
    pub scan_processed: AtomicU64,
    /// Failures since the last success.
    pub in_a_row: AtomicU64,
    /// The device has vanished: nothing will succeed until it is opened anew.
    pub gone: AtomicBool,
    /// A flush failed: what the device took is not certain, and none will succeed until it is
    /// opened anew.
    pub lost_writes: AtomicBool,
    pub reads: Counter,
    pub writes: Counter,
    pub read_bytes: Counter,
    pub write_bytes: Counter,
    /// Nanoseconds on the disk.
    pub read_latency: Histogram,
    pub write_latency: Histogram,
    pub tallies: Tallies,
    /// Flushes of the disk, and how many callers were content with one of another's.
    pub flushes: Counter,
    pub flushes_shared: Counter,
    /// Where the last I/O ended, on the device.
    pub last_end: AtomicU64,
    /// I/Os waiting or on the disk.
    pub pending: AtomicU64,
}

impl Counters {
    /// Whether a device that nobody depends on should be given up.
    pub fn is_failing(&self) -> bool {
        self.gone.load(Relaxed) || self.in_a_row.load(Relaxed) >= FAILURES_TO_LOSE
    }

    /// Counts one I/O the disk has answered.
    pub fn record(&self, is_write: bool, end: u64, bytes: u64, took: Nanos, result: Result<(), DiskError>) {
        self.last_end.store(end, Relaxed);
        if result.is_err() {
            let errors = if is_write { &self.write_errors } else { &self.read_errors };
            errors.fetch_add(1, Relaxed);
            self.missed_write.fetch_or(is_write, Relaxed);
            self.in_a_row.fetch_add(1, Relaxed);
            return;
        }
        self.in_a_row.store(0, Relaxed);
        if is_write {
            self.taken.add();
            self.writes.add(1);
            self.write_bytes.add(bytes);
            self.write_latency.record(took.0);
        } else {
            self.reads.add(1);
            self.read_bytes.add(bytes);
            self.read_latency.record(took.0);
        }
    }
}
