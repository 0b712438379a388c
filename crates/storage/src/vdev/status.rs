//! What an operator sees of the vdevs: states and counters, as plain data.

use super::config::{Bias, VdevConfig, VdevKind};
use crate::counters::tally::Tally;

/// How a vdev is doing.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[repr(u8)]
pub enum VdevState {
    /// Taken out of service by an operator.
    Offline,
    /// Pulled out.
    Removed,
    /// Cannot be opened, or is not the disk it should be.
    Unavail,
    /// Given up because of errors.
    Faulted,
    /// Works, but not all of it.
    Degraded,
    Online,
}

impl VdevState {
    pub(crate) fn from_raw(raw: u8) -> VdevState {
        use VdevState::{Degraded, Faulted, Offline, Online, Removed, Unavail};
        [Offline, Removed, Unavail, Faulted, Degraded, Online][usize::from(raw)]
    }

    /// As `zpool status` prints it.
    pub fn name(self) -> &'static str {
        match self {
            VdevState::Offline => "OFFLINE",
            VdevState::Removed => "REMOVED",
            VdevState::Unavail => "UNAVAIL",
            VdevState::Faulted => "FAULTED",
            VdevState::Degraded => "DEGRADED",
            VdevState::Online => "ONLINE",
        }
    }
}

/// I/O of one disk, or the sum over the disks below.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LeafIo {
    pub reads: u64,
    pub writes: u64,
    pub read_bytes: u64,
    pub write_bytes: u64,
    /// Flushes of the disk, and callers that were content with one which another had begun.
    pub flushes: u64,
    pub flushes_shared: u64,
    /// Waiting or on the disk now.
    pub pending: u64,
    /// Counts by power of two of nanoseconds.
    pub read_latency: [u64; 64],
    pub write_latency: [u64; 64],
    /// The same and more, by the kind of I/O.
    pub tally: Box<Tally>,
}

impl LeafIo {
    pub fn zero() -> LeafIo {
        LeafIo {
            reads: 0,
            writes: 0,
            read_bytes: 0,
            write_bytes: 0,
            flushes: 0,
            flushes_shared: 0,
            pending: 0,
            read_latency: [0; 64],
            write_latency: [0; 64],
            tally: Box::new(Tally::zero()),
        }
    }

    pub fn add(&mut self, other: &LeafIo) {
        self.reads += other.reads;
        self.writes += other.writes;
        self.read_bytes += other.read_bytes;
        self.write_bytes += other.write_bytes;
        self.flushes += other.flushes;
        self.flushes_shared += other.flushes_shared;
        self.pending += other.pending;
        for i in 0..64 {
            self.read_latency[i] += other.read_latency[i];
            self.write_latency[i] += other.write_latency[i];
        }
        self.tally.add(&other.tally);
    }
}

/// One vdev as it is now, and those below.
#[derive(Clone, Debug)]
pub struct VdevStat {
    pub kind: VdevKind,
    pub guid: u64,
    pub path: Option<String>,
    pub is_log: bool,
    pub bias: Bias,
    pub state: VdevState,
    /// A disk that gave wrong bytes too often.
    pub is_worn: bool,
    /// A disk that lacks writes which others have.
    pub is_behind: bool,
    pub read_errors: u64,
    pub write_errors: u64,
    pub checksum_errors: u64,
    /// Bytes that the scan which runs has rewritten.
    pub scan_processed: u64,
    pub io: LeafIo,
    /// Bytes of the partition (leaf), or what can be allocated (other top-level), else 0.
    pub size: u64,
    pub children: Vec<VdevStat>,
}

impl VdevStat {
    /// Of a vdev without counters and without anything below.
    pub fn blank(config: &VdevConfig) -> VdevStat {
        VdevStat {
            kind: config.kind.clone(),
            guid: config.guid,
            path: config.path.clone(),
            is_log: config.is_log,
            bias: config.bias,
            state: VdevState::Online,
            is_worn: false,
            is_behind: false,
            read_errors: 0,
            write_errors: 0,
            checksum_errors: 0,
            scan_processed: 0,
            io: LeafIo::zero(),
            size: 0,
            children: Vec::new(),
        }
    }
}

/// A top-level vdev as pool needs it.
#[derive(Clone, Debug)]
pub struct TopVdevInfo {
    /// The number in DVAs.
    pub id: u32,
    pub guid: u64,
    pub kind: VdevKind,
    /// log2 of the smallest write.
    pub ashift: u32,
    /// Bytes that can be allocated, as configured or, for a new vdev, as measured.
    pub asize: u64,
    pub metaslab_array: u64,
    /// 0 for a vdev that was never synced.
    pub metaslab_shift: u32,
    pub is_log: bool,
    /// What it holds can be had, also from a log's disk that was given up while it was open.
    pub is_readable: bool,
    /// Guids of its disks.
    pub leaves: Vec<u64>,
}
