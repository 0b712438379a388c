//! What the servers of this daemon count, and what it takes of its machine, for the management API.

use std::fs;

use api_types::{
    Breakdown, FuseStatistics, IscsiCounts, IscsiStatistics, Latency, NFS_PROCEDURES, Named, NbdStatistics,
    NfsCounts, NfsStatistics, ProcessStatistics,
};
use counters::TimesSeen;
use env::{Clock, RealClock};

fn latency(seen: &TimesSeen) -> Latency {
    Latency { time: seen.sum, buckets: seen.buckets.to_vec() }
}

pub fn of_nfs(server: &nfs::Server) -> NfsStatistics {
    let nfs::ServerStats { clients, others, times: [read, write, other] } = server.stats();
    let each = clients
        .into_iter()
        .map(|(address, counts)| Named { name: address.to_string(), counts: nfs_counts(&counts) });
    NfsStatistics {
        clients: Breakdown { each: each.collect(), others: nfs_counts(&others) },
        read: latency(&read),
        write: latency(&write),
        other: latency(&other),
    }
}

fn nfs_counts(counts: &nfs::ClientCounts) -> NfsCounts {
    let calls = NFS_PROCEDURES.iter().zip(counts.calls).filter(|(_, count)| *count > 0);
    NfsCounts {
        calls: calls.map(|(name, count)| ((*name).to_owned(), count)).collect(),
        mount_calls: counts.mount_calls,
        refused: counts.refused,
        replays: counts.replays,
        read_bytes: counts.bytes_read,
        write_bytes: counts.bytes_written,
    }
}

pub fn of_iscsi(server: &iscsi::Server) -> IscsiStatistics {
    let iscsi::ServerStats { initiators, others, times: [read, write, other] } = server.stats();
    let each = initiators.into_iter().map(|(name, counts)| Named { name, counts: iscsi_counts(&counts) });
    IscsiStatistics {
        initiators: Breakdown { each: each.collect(), others: iscsi_counts(&others) },
        sessions: server.sessions().len() as u64,
        read: latency(&read),
        write: latency(&write),
        other: latency(&other),
    }
}

fn iscsi_counts([read, write, other]: &iscsi::InitiatorCounts) -> IscsiCounts {
    IscsiCounts {
        reads: read.commands,
        read_bytes: read.bytes,
        read_time: read.time,
        writes: write.commands,
        write_bytes: write.bytes,
        write_time: write.time,
        others: other.commands,
        other_bytes: other.bytes,
        other_time: other.time,
    }
}

pub fn of_nbd(server: &nbd::Server) -> NbdStatistics {
    let stats = server.stats();
    let requests = [
        ("read", stats.reads),
        ("write", stats.writes),
        ("flush", stats.flushes),
        ("trim", stats.trims),
        ("write_zeroes", stats.zeroes),
        ("other", stats.others),
    ];
    NbdStatistics {
        requests: requests.map(|(name, count)| (name.to_owned(), count)).into(),
        read_bytes: stats.bytes_read,
        write_bytes: stats.bytes_written,
        read: latency(&stats.read_times),
        write: latency(&stats.write_times),
    }
}

pub fn of_fuse(pool: &fuse::Pool, mounts: usize) -> FuseStatistics {
    let requests = pool.requests().into_iter().map(|(name, count)| (name.to_owned(), count));
    FuseStatistics { mounts: mounts as u64, requests: requests.collect() }
}

/// What /proc does not tell is 0.
pub fn of_process() -> ProcessStatistics {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    ProcessStatistics {
        resident: number(&status, "VmRSS:") << 10,
        processor_time: RealClock::new().processor_time().0,
        threads: number(&status, "Threads:"),
        open_files: fs::read_dir("/proc/self/fd").map_or(0, |files| files.count() as u64),
    }
}

fn number(status: &str, name: &str) -> u64 {
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    line.and_then(|rest| rest.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_has_memory_and_threads() {
        let process = of_process();
        assert!(process.resident > 1 << 20 && process.threads >= 1, "{process:?}");
        assert!(process.processor_time > 0 && process.open_files > 2, "{process:?}");
        assert_eq!((number("VmRSS:\t  12 kB\n", "VmRSS:"), number("", "VmRSS:")), (12, 0));
    }

    #[test]
    fn each_procedure_of_nfs_has_a_name() {
        assert_eq!(NFS_PROCEDURES.len(), nfs::PROCEDURES);
        assert_eq!(NFS_PROCEDURES[nfs::procedure::READDIRPLUS as usize], "readdirplus");
        assert_eq!(NFS_PROCEDURES[nfs::procedure::COMMIT as usize], "commit");
    }
}
