//! What clients ask for, counted where it is done, and how long it takes.
//!
//! A call's time is the server's: from when all of it has come until its reply may leave.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use counters::{Seen, Sums, Table, Times, TimesSeen};

use crate::limits::COUNTED_CLIENTS;

/// Procedures of NFSv3.
pub const PROCEDURES: usize = 22;

/// Places of a client's sums: calls by the number of their procedure, then these.
pub(crate) const MOUNT_CALLS: usize = PROCEDURES;
pub(crate) const REFUSED: usize = PROCEDURES + 1;
pub(crate) const REPLAYS: usize = PROCEDURES + 2;
pub(crate) const BYTES_READ: usize = PROCEDURES + 3;
pub(crate) const BYTES_WRITTEN: usize = PROCEDURES + 4;
const PLACES: usize = PROCEDURES + 5;

/// What one client did.
pub(crate) type Counters = Sums<PLACES>;

/// What one client did, or several together, since the server started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientCounts {
    /// Calls by procedure number.
    pub calls: [u64; PROCEDURES],
    pub mount_calls: u64,
    /// Calls that were no proper RPC, unknown, or undecodable.
    pub refused: u64,
    /// Replies repeated from the duplicate request cache.
    pub replays: u64,
    pub bytes_read: u64,
    pub bytes_written: u64,
}

/// What a server was asked since it started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerStats {
    /// Who asked for most first.
    pub clients: Vec<(IpAddr, ClientCounts)>,
    /// All clients that are not listed, together.
    pub others: ClientCounts,
    /// READ, WRITE and all other calls of NFS.
    pub times: [TimesSeen; 3],
}

/// Of which calls it is told how long they took.
#[derive(Clone, Copy)]
pub(crate) enum Kind {
    Read,
    Write,
    Other,
}

/// All that is counted.
pub(crate) struct Stats {
    clients: Table<IpAddr, PLACES>,
    times: [Times; 3],
}

fn calls(sums: &[u64; PLACES]) -> u64 {
    sums[..=REFUSED].iter().fold(0, |sum, calls| sum.wrapping_add(*calls))
}

fn counts(sums: &[u64; PLACES]) -> ClientCounts {
    ClientCounts {
        calls: std::array::from_fn(|procedure| sums[procedure]),
        mount_calls: sums[MOUNT_CALLS],
        refused: sums[REFUSED],
        replays: sums[REPLAYS],
        bytes_read: sums[BYTES_READ],
        bytes_written: sums[BYTES_WRITTEN],
    }
}

impl Default for Stats {
    fn default() -> Stats {
        Stats { clients: Table::new(COUNTED_CLIENTS, calls), times: Default::default() }
    }
}

impl Stats {
    pub fn of(&self, client: IpAddr) -> Arc<Counters> {
        self.clients.of(&client)
    }

    /// A call of NFS was answered.
    pub fn took(&self, kind: Kind, time: Duration) {
        self.times[kind as usize].record(time.as_nanos() as u64);
    }

    pub fn seen(&self) -> ServerStats {
        let Seen { entries, rest, .. } = self.clients.seen();
        ServerStats {
            clients: entries.into_iter().map(|(client, sums)| (client, counts(&sums))).collect(),
            others: counts(&rest),
            times: self.times.each_ref().map(Times::seen),
        }
    }
}
