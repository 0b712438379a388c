//! What is asked of the appliance, and of what: the counts that commands, metrics and history are
//! made of.
//!
//! All of them are totals since the daemon started. Another [`Statistics::run`] says that it was
//! started anew: then all have begun at 0. Times are in nanoseconds, all together; what is missing
//! in a map is 0.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Health, IoCounters};

/// `GET /v1/statistics`
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Statistics {
    /// When the daemon started: nanoseconds since 1970, by the clock as it was then.
    pub run: u64,
    /// Nanoseconds since then: rates are differences of counts by those of this.
    pub uptime: u64,
    pub file_systems: Breakdown<FileSystemCounts>,
    pub volumes: Breakdown<VolumeCounts>,
    pub disks: Vec<DiskStatistics>,
    /// On the wire, its fields are members of the answer.
    #[serde(flatten)]
    pub program: ProgramStatistics,
    /// Answers of the management API, by the first digit of their status, as in `2xx`.
    pub api: BTreeMap<String, u64>,
    pub jobs: JobStatistics,
}

/// What the servers of the daemon count, and the daemon takes of its machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ProgramStatistics {
    pub nfs: NfsStatistics,
    pub iscsi: IscsiStatistics,
    pub nbd: NbdStatistics,
    pub fuse: FuseStatistics,
    pub process: ProcessStatistics,
}

/// Counts by who or what they are of. All together, with the others, are exactly what was counted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "BreakdownOf{T}")]
pub struct Breakdown<T> {
    /// The busiest since the start, the busiest first.
    pub each: Vec<Named<T>>,
    /// All that are not listed, together. One that comes to be listed again begins at 0.
    pub others: T,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Named{T}")]
pub struct Named<T> {
    pub name: String,
    #[serde(flatten)]
    pub counts: T,
}

/// Of a file system, by whatever protocol it was asked; snapshots count with their file system.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct FileSystemCounts {
    pub new_files: u64,
    pub names_removed: u64,
    /// Renames and links.
    pub names_changed: u64,
    pub attributes_read: u64,
    pub attributes_set: u64,
    pub lookups: u64,
    pub directory_reads: u64,
    pub reads: u64,
    pub read_bytes: u64,
    pub read_time: u64,
    pub writes: u64,
    pub write_bytes: u64,
    /// Until the data was as stable as was asked for.
    pub write_time: u64,
    pub syncs: u64,
    /// All else: permissions, extended attributes, space, holes.
    pub others: u64,
}

/// Of a volume, by whatever protocol it was asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct VolumeCounts {
    pub reads: u64,
    pub read_bytes: u64,
    pub read_time: u64,
    pub writes: u64,
    pub write_bytes: u64,
    /// Until the data was as stable as was asked for.
    pub write_time: u64,
    /// Ranges that were made to read as zeroes.
    pub frees: u64,
    pub free_bytes: u64,
    pub flushes: u64,
}

/// How long things took.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Latency {
    /// All together.
    pub time: u64,
    /// Bucket `i` counts nanoseconds in `2^i .. 2^(i+1)`; the last, all that are longer.
    pub buckets: Vec<u64>,
}

impl Latency {
    pub fn count(&self) -> u64 {
        self.buckets.iter().sum()
    }
}

/// Of NFS. A call's time is from when all of it has come until its reply may leave.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct NfsStatistics {
    /// By address.
    pub clients: Breakdown<NfsCounts>,
    pub read: Latency,
    pub write: Latency,
    /// Of all other calls.
    pub other: Latency,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct NfsCounts {
    /// Calls by procedure, as in `getattr`.
    pub calls: BTreeMap<String, u64>,
    /// Calls of MOUNT.
    pub mount_calls: u64,
    /// Calls that were no proper RPC, unknown, or undecodable.
    pub refused: u64,
    /// Calls that came again, and got the answer that they had got.
    pub replays: u64,
    pub read_bytes: u64,
    pub write_bytes: u64,
}

/// The procedures of NFSv3, by number, as [`NfsCounts::calls`] names them.
pub const NFS_PROCEDURES: [&str; 22] = [
    "null",
    "getattr",
    "setattr",
    "lookup",
    "access",
    "readlink",
    "read",
    "write",
    "create",
    "mkdir",
    "symlink",
    "mknod",
    "remove",
    "rmdir",
    "rename",
    "link",
    "readdir",
    "readdirplus",
    "fsstat",
    "fsinfo",
    "pathconf",
    "commit",
];

/// Of iSCSI. A command's time is from when all of it has come until its answer is known.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct IscsiStatistics {
    /// By the initiator's name.
    pub initiators: Breakdown<IscsiCounts>,
    /// That there are now.
    pub sessions: u64,
    pub read: Latency,
    pub write: Latency,
    /// Of all other commands.
    pub other: Latency,
}

/// Of an initiator. Bytes are those that came in, or went out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct IscsiCounts {
    pub reads: u64,
    pub read_bytes: u64,
    pub read_time: u64,
    pub writes: u64,
    pub write_bytes: u64,
    pub write_time: u64,
    /// Commands that move no data of a volume's.
    pub others: u64,
    pub other_bytes: u64,
    pub other_time: u64,
}

/// Of volumes as network block devices.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct NbdStatistics {
    /// Requests by what they ask for, as in `read`.
    pub requests: BTreeMap<String, u64>,
    pub read_bytes: u64,
    pub write_bytes: u64,
    pub read: Latency,
    pub write: Latency,
}

/// Of local mounts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct FuseStatistics {
    /// That there are now.
    pub mounts: u64,
    /// Requests of the kernel by what they ask for, as in `lookup`. What it answers from its own
    /// caches is not among them.
    pub requests: BTreeMap<String, u64>,
}

/// Of long work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct JobStatistics {
    /// Now.
    pub running: u64,
    /// That have ended.
    pub done: u64,
    pub failed: u64,
}

/// What the daemon takes of its machine now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ProcessStatistics {
    /// Bytes of memory.
    pub resident: u64,
    /// Nanoseconds of all processors, since the start.
    pub processor_time: u64,
    pub threads: u64,
    pub open_files: u64,
}

/// Of a disk of a pool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DiskStatistics {
    pub pool: String,
    /// Its path; as `zpool status` calls it where it has none.
    pub name: String,
    /// What it is of the pool: `data`, `log`, `special`, `dedup`, `cache` or `spare`.
    pub class: String,
    pub health: Health,
    pub read_errors: u64,
    pub write_errors: u64,
    pub checksum_errors: u64,
    /// Since the import.
    #[serde(flatten)]
    pub io: IoCounters,
}

/// Counts that are added and compared member by member.
pub trait Counted: Clone + Default {
    /// Each member of this with the same of another.
    #[must_use]
    fn with(&self, other: &Self, combine: fn(u64, u64) -> u64) -> Self;

    #[must_use]
    fn plus(&self, other: &Self) -> Self {
        self.with(other, u64::wrapping_add)
    }

    /// What came since `before`. Where that is more, something began anew in between: then it is
    /// nothing, and never less.
    #[must_use]
    fn since(&self, before: &Self) -> Self {
        self.with(before, u64::saturating_sub)
    }
}

macro_rules! counted {
    ($($type:ident { $($member:ident),+ })+) => {
        $(impl Counted for $type {
            fn with(&self, other: &$type, combine: fn(u64, u64) -> u64) -> $type {
                $type { $($member: combine(self.$member, other.$member)),+ }
            }
        })+
    };
}

counted! {
    FileSystemCounts {
        new_files, names_removed, names_changed, attributes_read, attributes_set, lookups,
        directory_reads, reads, read_bytes, read_time, writes, write_bytes, write_time, syncs, others
    }
    VolumeCounts {
        reads, read_bytes, read_time, writes, write_bytes, write_time, frees, free_bytes, flushes
    }
    IscsiCounts {
        reads, read_bytes, read_time, writes, write_bytes, write_time, others, other_bytes, other_time
    }
    IoCounters { read_ops, write_ops, read_bytes, write_bytes, read_nanos, write_nanos }
}

impl Counted for NfsCounts {
    fn with(&self, other: &NfsCounts, combine: fn(u64, u64) -> u64) -> NfsCounts {
        let names = self.calls.keys().chain(other.calls.keys());
        NfsCounts {
            calls: names.map(|name| (name.clone(), combine(self.of(name), other.of(name)))).collect(),
            mount_calls: combine(self.mount_calls, other.mount_calls),
            refused: combine(self.refused, other.refused),
            replays: combine(self.replays, other.replays),
            read_bytes: combine(self.read_bytes, other.read_bytes),
            write_bytes: combine(self.write_bytes, other.write_bytes),
        }
    }
}

/// What is summed stands in the place of a name: no dataset and no address can have it.
pub const OTHERS: &str = "(other)";

impl<T> Breakdown<T> {
    /// Names with their counts, then the others.
    pub fn rows(&self) -> impl Iterator<Item = (&str, &T)> {
        let named = self.each.iter().map(|one| (one.name.as_str(), &one.counts));
        named.chain([(OTHERS, &self.others)])
    }
}

impl NfsCounts {
    /// Calls of one procedure.
    pub fn of(&self, procedure: &str) -> u64 {
        self.calls.get(procedure).copied().unwrap_or(0)
    }

    /// Calls of all procedures.
    pub fn requests(&self) -> u64 {
        self.calls.values().sum()
    }
}

impl IscsiCounts {
    /// Commands of all kinds.
    pub fn commands(&self) -> u64 {
        self.reads + self.writes + self.others
    }
}

impl<T: Counted> Breakdown<T> {
    /// All of them together: exactly what was counted.
    pub fn total(&self) -> T {
        self.each.iter().fold(self.others.clone(), |sum, one| sum.plus(&one.counts))
    }

    /// The busiest so many; all others together.
    #[must_use]
    pub fn top(mut self, many: usize) -> Breakdown<T> {
        for one in self.each.drain(many.min(self.each.len())..) {
            self.others = self.others.plus(&one.counts);
        }
        self
    }

    /// What came since `before`. What is listed only now, or not any more, is told by its own
    /// counts or with the others; all together is exact.
    #[must_use]
    pub fn since(&self, before: &Breakdown<T>) -> Breakdown<T> {
        let known: BTreeMap<&str, &T> =
            before.each.iter().map(|one| (one.name.as_str(), &one.counts)).collect();
        let none = T::default();
        let each = self.each.iter().map(|one| {
            let before = known.get(one.name.as_str()).copied().unwrap_or(&none);
            Named { name: one.name.clone(), counts: one.counts.since(before) }
        });
        let each: Vec<Named<T>> = each.collect();
        let listed = each.iter().fold(T::default(), |sum, one| sum.plus(&one.counts));
        let others = self.total().since(&before.total()).since(&listed);
        Breakdown { each, others }
    }
}

fn map_since(now: &BTreeMap<String, u64>, before: &BTreeMap<String, u64>) -> BTreeMap<String, u64> {
    let of = |name: &String| before.get(name).copied().unwrap_or(0);
    now.iter().map(|(name, count)| (name.clone(), count.saturating_sub(of(name)))).collect()
}

impl Latency {
    fn since(&self, before: &Latency) -> Latency {
        let of = |bucket: usize| before.buckets.get(bucket).copied().unwrap_or(0);
        let buckets = self.buckets.iter().enumerate();
        let buckets = buckets.map(|(bucket, count)| count.saturating_sub(of(bucket)));
        Latency { time: self.time.saturating_sub(before.time), buckets: buckets.collect() }
    }
}

impl DiskStatistics {
    fn since(&self, before: &Statistics) -> DiskStatistics {
        let known = before.disks.iter().find(|disk| (&disk.pool, &disk.name) == (&self.pool, &self.name));
        // One that counts less was imported anew: all that it did came since.
        let known =
            known.filter(|known| known.io.with(&self.io, u64::saturating_sub) == IoCounters::default());
        let io = known.map_or(self.io, |known| self.io.since(&known.io));
        DiskStatistics { io, ..self.clone() }
    }
}

impl Statistics {
    /// What came since `before`: counts are differences, and `uptime` is the time between; what is
    /// no count is as it is now. If the daemon was started anew in between, it is all since then.
    #[must_use]
    pub fn since(&self, before: &Statistics) -> Statistics {
        if self.run != before.run {
            return self.clone();
        }
        let (now, then) = (&self.program, &before.program);
        Statistics {
            run: self.run,
            uptime: self.uptime.saturating_sub(before.uptime),
            file_systems: self.file_systems.since(&before.file_systems),
            volumes: self.volumes.since(&before.volumes),
            disks: self.disks.iter().map(|disk| disk.since(before)).collect(),
            program: ProgramStatistics {
                nfs: NfsStatistics {
                    clients: now.nfs.clients.since(&then.nfs.clients),
                    read: now.nfs.read.since(&then.nfs.read),
                    write: now.nfs.write.since(&then.nfs.write),
                    other: now.nfs.other.since(&then.nfs.other),
                },
                iscsi: IscsiStatistics {
                    initiators: now.iscsi.initiators.since(&then.iscsi.initiators),
                    sessions: now.iscsi.sessions,
                    read: now.iscsi.read.since(&then.iscsi.read),
                    write: now.iscsi.write.since(&then.iscsi.write),
                    other: now.iscsi.other.since(&then.iscsi.other),
                },
                nbd: NbdStatistics {
                    requests: map_since(&now.nbd.requests, &then.nbd.requests),
                    read_bytes: now.nbd.read_bytes.saturating_sub(then.nbd.read_bytes),
                    write_bytes: now.nbd.write_bytes.saturating_sub(then.nbd.write_bytes),
                    read: now.nbd.read.since(&then.nbd.read),
                    write: now.nbd.write.since(&then.nbd.write),
                },
                fuse: FuseStatistics {
                    mounts: now.fuse.mounts,
                    requests: map_since(&now.fuse.requests, &then.fuse.requests),
                },
                process: ProcessStatistics {
                    processor_time: now.process.processor_time.saturating_sub(then.process.processor_time),
                    ..now.process
                },
            },
            api: map_since(&self.api, &before.api),
            jobs: JobStatistics {
                running: self.jobs.running,
                done: self.jobs.done.saturating_sub(before.jobs.done),
                failed: self.jobs.failed.saturating_sub(before.jobs.failed),
            },
        }
    }
}

#[cfg(test)]
mod tests;
