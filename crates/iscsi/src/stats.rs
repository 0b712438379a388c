//! What sessions do to units: commands, bytes, how long those took, how many were under way at a
//! time.
//!
//! A command's time is the target's: from when all of it has come until its answer is known.

use std::time::Duration;

/// Buckets of latencies: the `i`th counts nanoseconds in `2^i .. 2^(i+1)`.
pub const BUCKETS: usize = 37;

/// Of one session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionStats {
    /// The initiator's port.
    pub initiator: String,
    pub target: String,
    /// Of portals.
    pub group: u16,
    pub connections: usize,
    /// Only those that were asked something.
    pub units: Vec<UnitStats>,
}

/// Of one unit, by one session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UnitStats {
    pub lun: u16,
    /// Empty where it is no more.
    pub volume: String,
    pub reads: Tally,
    pub writes: Tally,
    /// Commands that move no data of the volume's: or too little to matter.
    pub others: Tally,
    /// Commands that are under way, and the most that were.
    pub queue: usize,
    pub queue_most: usize,
}

/// Of one kind of commands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tally {
    pub commands: u64,
    pub bytes: u64,
    /// Nanoseconds, all together.
    pub time: u64,
    pub latencies: [u64; BUCKETS],
}

impl Default for Tally {
    fn default() -> Tally {
        Tally { commands: 0, bytes: 0, time: 0, latencies: [0; BUCKETS] }
    }
}

impl UnitStats {
    pub fn begin(&mut self) {
        self.queue += 1;
        self.queue_most = self.queue_most.max(self.queue);
    }

    /// `code`: the first byte of the command. The bytes count that came in, or went out.
    pub fn end(&mut self, code: u8, bytes: usize, took: Duration) {
        self.queue -= 1;
        let tally = match code {
            0x08 | 0x28 | 0xa8 | 0x88 => &mut self.reads,
            0x0a | 0x2a | 0xaa | 0x8a | 0x2e | 0xae | 0x8e | 0x89 | 0x8b | 0x9c | 0x41 | 0x93 => {
                &mut self.writes
            }
            _ => &mut self.others,
        };
        let nanos = took.as_nanos() as u64;
        tally.commands += 1;
        tally.bytes += bytes as u64;
        tally.time += nanos;
        tally.latencies[(nanos.max(1).ilog2() as usize).min(BUCKETS - 1)] += 1;
    }
}
