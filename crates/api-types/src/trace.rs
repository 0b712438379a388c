//! Requests of clients one by one: which are wanted, and what is told of each.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// By what a client reaches data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Protocol {
    Nfs,
    Iscsi,
    Nbd,
    /// A mount of this machine.
    Local,
}

impl Protocol {
    pub const ALL: [Protocol; 4] = [Protocol::Nfs, Protocol::Iscsi, Protocol::Nbd, Protocol::Local];

    pub fn name(self) -> &'static str {
        match self {
            Protocol::Nfs => "nfs",
            Protocol::Iscsi => "iscsi",
            Protocol::Nbd => "nbd",
            Protocol::Local => "local",
        }
    }
}

/// The slowest of what served a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ServedBy {
    /// Blocks that were written and are on no disk yet.
    Overlay,
    Cache,
    /// It waited for stable storage.
    Log,
    Disk,
}

impl ServedBy {
    pub const ALL: [ServedBy; 4] = [ServedBy::Overlay, ServedBy::Cache, ServedBy::Log, ServedBy::Disk];

    pub fn name(self) -> &'static str {
        match self {
            ServedBy::Overlay => "overlay",
            ServedBy::Cache => "cache",
            ServedBy::Log => "log",
            ServedBy::Disk => "disk",
        }
    }
}

/// Which requests are wanted; what is not given is any.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RequestFilter {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protocol: Option<Protocol>,
    /// An address, the name of an iSCSI initiator, or `local` for programs of this machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client: Option<String>,
    /// The number of a user, or the name that an iSCSI initiator has proved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// A file system or volume, by its name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dataset: Option<String>,
    /// A file or directory of that file system, by its path in it. It is followed when it is
    /// renamed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// As the protocol calls it; capital letters or small ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operation: Option<String>,
    /// Only what touches the file or volume from this byte on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offset_from: Option<u64>,
    /// Only what touches it before this byte.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offset_to: Option<u64>,
    /// Bytes at the least.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_bytes: Option<u64>,
    /// Bytes at the most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_bytes: Option<u64>,
    /// Microseconds at the least.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slower_us: Option<u64>,
    /// Microseconds at the most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub faster_us: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub served: Option<ServedBy>,
    /// The leaf vdev that it waited for longest: the name of the pool, a colon, and the name of the
    /// vdev as `zpool status` has it, its path, or its guid.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
}

/// Seconds that a trace lasts, where nothing is said, and at the most.
pub const TRACE_SECONDS: u64 = 60;
pub const TRACE_SECONDS_MAX: u64 = 3_600;

/// `POST /v1/trace`
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct TraceRequest {
    pub filter: RequestFilter,
    /// When it ends by itself; absent: after a minute. An hour at the most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seconds: Option<u64>,
    /// It ends after so many requests; absent: it does not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
}

/// Nanoseconds of each stage of a request. Together they are its whole time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StageTimes {
    /// All of it had come, and it waited for a thread.
    pub queue: u64,
    /// The server decoded it and made its answer.
    pub protocol: u64,
    /// The engine worked on it, or it waited for others that did.
    pub engine: u64,
    /// It waited for disks that were read.
    pub disk: u64,
    /// It waited for stable storage: its turn, and the intent log.
    pub log: u64,
    /// It waited for a transaction group: that there was room in it, or that it was durable.
    pub group: u64,
    /// Its answer waited for its turn, or for a client that took it slowly.
    pub reply: u64,
}

impl StageTimes {
    /// Their names, in order, with their times.
    pub fn each(&self) -> [(&'static str, u64); 7] {
        [
            ("queue", self.queue),
            ("protocol", self.protocol),
            ("engine", self.engine),
            ("disk", self.disk),
            ("log", self.log),
            ("group", self.group),
            ("reply", self.reply),
        ]
    }
}

/// Blocks that a request read, by where they came from. Those of metadata count too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BlockSources {
    pub overlay: u32,
    pub cache: u32,
    pub disk: u32,
}

/// A request that is over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TracedRequest {
    /// When all of it had come: microseconds since 1970.
    pub time: u64,
    pub protocol: Protocol,
    /// An address, the name of an iSCSI initiator, or `local` for programs of this machine.
    pub client: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// As the protocol calls it.
    pub operation: String,
    /// The file system or volume that it was about. Absent where it was about none, or where that
    /// is no more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dataset: Option<String>,
    /// The path of the file or directory in that file system; absent where it has no name now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Its number in the file system.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub object: Option<u64>,
    /// The name in that directory that it was about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset: Option<u64>,
    pub bytes: u64,
    /// Nanoseconds, from when all of it had come until its answer had gone to the system.
    pub took: u64,
    pub stages: StageTimes,
    pub blocks: BlockSources,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub served: Option<ServedBy>,
    /// The leaf vdev that it waited for longest, with its pool: `tank:sda`. Of several that it
    /// waited for at once it is the last. Absent where it waited for none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
}

/// One event of `POST /v1/trace`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TraceEvent {
    /// The first: it will end after so many seconds.
    Began { seconds: u64 },
    /// Boxed: it is far larger than the others.
    Request(Box<TracedRequest>),
    /// So many requests that were wanted are missing here: they came faster than they were taken.
    Lost { requests: u64 },
    /// The last.
    Ended { why: TraceEnd },
}

/// Why a trace has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TraceEnd {
    /// Its time is over.
    Time,
    /// It has told of as many requests as were asked for.
    Count,
    /// The daemon stops.
    Stopping,
}
