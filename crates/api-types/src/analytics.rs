//! Drill-downs: what requests of clients come to, by who or what they are of.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::RequestFilter;

/// By what requests are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Dimension {
    Protocol,
    Client,
    User,
    /// A file system or volume.
    Dataset,
    /// A file or directory, or a volume.
    File,
    Operation,
    /// Ranges of 16 MiB of a file or volume.
    Offset,
    /// Bytes, in powers of two.
    Size,
    /// In powers of two of microseconds.
    Latency,
    /// The slowest of what served it.
    Served,
    /// The leaf vdev that it waited for longest.
    Device,
}

impl Dimension {
    pub const ALL: [Dimension; 11] = [
        Dimension::Protocol,
        Dimension::Client,
        Dimension::User,
        Dimension::Dataset,
        Dimension::File,
        Dimension::Operation,
        Dimension::Offset,
        Dimension::Size,
        Dimension::Latency,
        Dimension::Served,
        Dimension::Device,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Dimension::Protocol => "protocol",
            Dimension::Client => "client",
            Dimension::User => "user",
            Dimension::Dataset => "dataset",
            Dimension::File => "file",
            Dimension::Operation => "operation",
            Dimension::Offset => "offset",
            Dimension::Size => "size",
            Dimension::Latency => "latency",
            Dimension::Served => "served",
            Dimension::Device => "device",
        }
    }
}

/// Dimensions of a drill-down at the most.
pub const DIMENSIONS: usize = 3;
/// Seconds that a drill-down lasts, where nothing is said, and at the most.
pub const DRILL_DOWN_SECONDS: u64 = 600;
pub const DRILL_DOWN_SECONDS_MAX: u64 = 86_400;

/// `POST /v1/analytics`
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DrillDownRequest {
    /// One to three; none of them twice.
    pub by: Vec<Dimension>,
    pub filter: RequestFilter,
    /// When it ends by itself; absent: after ten minutes. A day at the most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seconds: Option<u64>,
}

/// A drill-down, which takes requests as long as it runs, and is kept when it has ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DrillDown {
    pub id: u64,
    pub by: Vec<Dimension>,
    pub filter: RequestFilter,
    /// Who has asked for it.
    pub owner: String,
    pub running: bool,
    /// Seconds since 1970.
    pub began: u64,
    /// Seconds until it ends by itself; 0: it has ended.
    pub left: u64,
    /// A worksheet's pane that has an alert, or is kept, needs it: it goes on for as long as that
    /// does.
    pub watched: bool,
    pub cost: DrillDownCost,
}

/// What a drill-down costs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DrillDownCost {
    /// Requests that it has looked at.
    pub requests: u64,
    /// Nanoseconds of processors for that, as estimated by one request in 64.
    pub time: u64,
    /// Of memory.
    pub bytes: u64,
}

/// Query of `GET /v1/analytics/{id}`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DrillDownQuery {
    /// Only rows that end later than this, in seconds since 1970.
    pub from: u64,
}

/// What requests come to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RequestSum {
    pub operations: u64,
    pub bytes: u64,
    /// Nanoseconds, all together.
    pub time: u64,
}

impl RequestSum {
    pub fn add(&mut self, more: &RequestSum) {
        self.operations = self.operations.saturating_add(more.operations);
        self.bytes = self.bytes.saturating_add(more.bytes);
        self.time = self.time.saturating_add(more.time);
    }

    /// Takes a part of it away.
    pub fn take(&mut self, part: &RequestSum) {
        self.operations = self.operations.saturating_sub(part.operations);
        self.bytes = self.bytes.saturating_sub(part.bytes);
        self.time = self.time.saturating_sub(part.time);
    }
}

/// Requests that are of one kind, as a drill-down tells them apart.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DrillDownKey {
    pub number: u64,
    /// One for each dimension, as text for people: a path, an address, `64K`.
    pub values: Vec<String>,
    /// Where a value begins that is a range, one for each dimension: an offset or size in bytes, a
    /// latency in microseconds.
    pub begins: Vec<Option<u64>>,
    /// What takes these requests alone; absent where it cannot be said: nothing is known of them
    /// there, or their file has no name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filter: Option<RequestFilter>,
    /// Exact, since it is told apart.
    pub sum: RequestSum,
    /// Operations that it may have come to before that, at the most: they are among the others.
    pub missing: u64,
}

/// What came in a time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DrillDownRow {
    /// When it begins, in seconds since 1970, and how long it is.
    pub second: u64,
    pub seconds: u64,
    /// Exact, of all requests that the drill-down takes.
    pub total: RequestSum,
    /// By the number of a key.
    pub cells: Vec<(u64, RequestSum)>,
    /// Requests by how long they took: the number of a bucket, and how many.
    pub latencies: Vec<(u8, u32)>,
}

/// A dataset of files that a drill-down tells apart.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DrillDownDataset {
    /// As text for people.
    pub name: String,
    /// What takes the requests of this dataset alone; absent where it is gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filter: Option<RequestFilter>,
    /// Exact, of all of its files, since it is told apart.
    pub sum: RequestSum,
    /// Operations that it may have come to before that, at the most.
    pub missing: u64,
    /// Numbers of its keys, the heaviest first.
    pub keys: Vec<u64>,
    /// What is of none of these keys: exact where nothing is missing.
    pub others: RequestSum,
}

/// `GET /v1/analytics/{id}`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DrillDownFound {
    pub drill_down: DrillDown,
    /// The heaviest first.
    pub keys: Vec<DrillDownKey>,
    /// Exact, since it began.
    pub total: RequestSum,
    /// What is of none of the keys: what the total has and they have not.
    pub others: RequestSum,
    /// The datasets of files, the heaviest first, where files are told apart; what is of none of
    /// them is what the total has and they have not.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub datasets: Vec<DrillDownDataset>,
    /// Oldest first. Where nothing came there is none.
    pub rows: Vec<DrillDownRow>,
    /// Where the buckets of latencies begin, in nanoseconds.
    pub buckets: Vec<u64>,
}
