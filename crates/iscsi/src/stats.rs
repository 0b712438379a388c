//! What sessions do to units: commands, bytes, how long those took, how many were under way at a
//! time.
//!
//! A command's time is the target's: from when all of it has come until its answer is known.
//!
//! Counted is twice: by session and unit as long as the session lasts, and by initiator for good.

use std::sync::Arc;
use std::time::Duration;

use counters::{Seen, Sums, Table, Times, TimesSeen};

use crate::limits::COUNTED_INITIATORS;

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

/// Kinds of commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Read,
    Write,
    /// Moves no data of the volume's: or too little to matter.
    Other,
}

impl Kind {
    /// Of a command by its first byte.
    pub fn of(code: u8) -> Kind {
        match code {
            0x08 | 0x28 | 0xa8 | 0x88 => Kind::Read,
            0x0a | 0x2a | 0xaa | 0x8a | 0x2e | 0xae | 0x8e | 0x89 | 0x8b | 0x9c | 0x41 | 0x93 => Kind::Write,
            _ => Kind::Other,
        }
    }
}

impl UnitStats {
    pub fn begin(&mut self) {
        self.queue += 1;
        self.queue_most = self.queue_most.max(self.queue);
    }

    /// The bytes count that came in, or went out.
    pub fn end(&mut self, kind: Kind, bytes: usize, took: Duration) {
        self.queue -= 1;
        let tally = match kind {
            Kind::Read => &mut self.reads,
            Kind::Write => &mut self.writes,
            Kind::Other => &mut self.others,
        };
        let nanos = took.as_nanos() as u64;
        tally.commands += 1;
        tally.bytes += bytes as u64;
        tally.time += nanos;
        tally.latencies[(nanos.max(1).ilog2() as usize).min(BUCKETS - 1)] += 1;
    }
}

/// Of one kind of commands, of one initiator or several together, since the server started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KindCounts {
    pub commands: u64,
    pub bytes: u64,
    /// Nanoseconds, all together.
    pub time: u64,
}

/// Reads, writes and others.
pub type InitiatorCounts = [KindCounts; 3];

/// What a server was asked since it started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerStats {
    /// By the initiator's name; who asked for most first.
    pub initiators: Vec<(String, InitiatorCounts)>,
    /// All that are not listed, together.
    pub others: InitiatorCounts,
    /// Of reads, writes and others.
    pub times: [TimesSeen; 3],
}

/// Commands, bytes and nanoseconds of each kind.
const PLACES: usize = 9;

fn commands(sums: &[u64; PLACES]) -> u64 {
    [0, 3, 6].iter().fold(0, |sum, place| sum.wrapping_add(sums[*place]))
}

fn counts(sums: &[u64; PLACES]) -> InitiatorCounts {
    let (of_kind, _) = sums.as_chunks::<3>();
    std::array::from_fn(|kind| {
        let [commands, bytes, time] = of_kind[kind];
        KindCounts { commands, bytes, time }
    })
}

/// All that is counted by initiator.
pub struct Stats {
    initiators: Table<String, PLACES>,
    times: [Times; 3],
}

impl Default for Stats {
    fn default() -> Stats {
        Stats { initiators: Table::new(COUNTED_INITIATORS, commands), times: Default::default() }
    }
}

impl Stats {
    pub fn seen(&self) -> ServerStats {
        let Seen { entries, rest, .. } = self.initiators.seen();
        ServerStats {
            initiators: entries.into_iter().map(|(name, sums)| (name, counts(&sums))).collect(),
            others: counts(&rest),
            times: self.times.each_ref().map(Times::seen),
        }
    }
}

/// Where a session counts.
pub struct Counting {
    all: Arc<Stats>,
    own: Arc<Sums<PLACES>>,
}

impl Counting {
    /// For a session of this initiator.
    pub fn new(all: &Arc<Stats>, initiator: &String) -> Counting {
        Counting { all: all.clone(), own: all.initiators.of(initiator) }
    }

    /// A command has ended.
    pub fn end(&self, kind: Kind, bytes: usize, took: Duration) {
        let (first, nanos) = (kind as usize * 3, took.as_nanos() as u64);
        self.own.add(first, 1);
        self.own.add(first + 1, bytes as u64);
        self.own.add(first + 2, nanos);
        self.all.times[kind as usize].record(nanos);
    }
}
