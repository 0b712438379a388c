//! What all clients together ask for.

use counters::{Sums, Times, TimesSeen};
use std::time::Duration;

use crate::wire::command;

const READ: usize = 0;
const WRITE: usize = 1;
const FLUSH: usize = 2;
const TRIM: usize = 3;
const WRITE_ZEROES: usize = 4;
const OTHER: usize = 5;
const BYTES_READ: usize = 6;
const BYTES_WRITTEN: usize = 7;

/// Being counted.
#[derive(Default)]
pub struct Stats {
    sums: Sums<8>,
    reads: Times,
    writes: Times,
}

/// What a server was asked since it started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerStats {
    pub reads: u64,
    pub writes: u64,
    pub flushes: u64,
    pub trims: u64,
    pub zeroes: u64,
    pub others: u64,
    pub bytes_read: u64,
    pub bytes_written: u64,
    /// Of reads and writes: each from when all of it has come until its answer is known.
    pub read_times: TimesSeen,
    pub write_times: TimesSeen,
}

impl Stats {
    /// A request was carried out, or not: then it moved no bytes.
    pub fn took(&self, what: u16, bytes: u64, time: Duration) {
        let nanos = time.as_nanos() as u64;
        let place = match what {
            command::READ => {
                self.sums.add(BYTES_READ, bytes);
                self.reads.record(nanos);
                READ
            }
            command::WRITE => {
                self.sums.add(BYTES_WRITTEN, bytes);
                self.writes.record(nanos);
                WRITE
            }
            command::FLUSH => FLUSH,
            command::TRIM => TRIM,
            command::WRITE_ZEROES => WRITE_ZEROES,
            _ => OTHER,
        };
        self.sums.add(place, 1);
    }

    pub fn seen(&self) -> ServerStats {
        let sums = self.sums.get();
        ServerStats {
            reads: sums[READ],
            writes: sums[WRITE],
            flushes: sums[FLUSH],
            trims: sums[TRIM],
            zeroes: sums[WRITE_ZEROES],
            others: sums[OTHER],
            bytes_read: sums[BYTES_READ],
            bytes_written: sums[BYTES_WRITTEN],
            read_times: self.reads.seen(),
            write_times: self.writes.seen(),
        }
    }
}
