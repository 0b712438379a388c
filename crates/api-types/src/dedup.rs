//! What tables of deduplication hold, and what they would.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What there is in all tables of a pool together. Bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DedupTables {
    pub entries: u64,
    /// What the tables occupy, and what they would in memory.
    pub on_disk: u64,
    pub in_core: u64,
    /// Those that are not empty, ascending.
    pub buckets: Vec<DedupBucket>,
}

/// Query of `GET /v1/pools/{name}/dedup-estimate`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DedupEstimateQuery {
    /// A dataset, with all below it; empty: the whole pool.
    pub dataset: String,
}

/// `GET /v1/pools/{name}/dedup-estimate`: what deduplication would bring.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DedupEstimate {
    /// Of all blocks of data, by the checksums that they have.
    pub buckets: Vec<DedupBucket>,
    /// One block in so many was looked at.
    pub sampled: u64,
    /// Blocks without a checksum, of which nothing can be said.
    pub unknown: u64,
    /// Entries that tables would have, and bytes that these would take in memory.
    pub entries: u64,
    pub table: u64,
    /// Allocated bytes that would be saved.
    pub saved: u64,
    /// Memory that the cache may use.
    pub cache: u64,
    pub would_pay: bool,
    /// Whether it would pay and what it wants, in sentences.
    pub verdict: String,
}

/// Blocks with about as many references: as they lie on disk, and as pointers see them. Logical,
/// stored and allocated bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DedupBucket {
    /// References of an entry: from so many on, up to twice as many.
    pub references: u64,
    pub blocks: u64,
    pub lsize: u64,
    pub psize: u64,
    pub dsize: u64,
    pub ref_blocks: u64,
    pub ref_lsize: u64,
    pub ref_psize: u64,
    pub ref_dsize: u64,
}
