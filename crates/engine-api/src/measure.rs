//! What a running engine counts, and what follows from that.

/// Numbers under the names that OpenZFS's kstats have for them: totals since start (or import), and
/// sizes in bytes as of now. What is not in the list does not exist here and counts as 0.
pub type Counts = Vec<(&'static str, u64)>;

/// Queues and histograms of one vdev, or the sum over the disks below it, under the names that
/// OpenZFS's `vdev_stats_ex` has for them. Bucket `i` of a histogram counts values (nanoseconds,
/// bytes) in `2^i .. 2^(i+1)`; what is waiting or on its way now is one number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VdevTallies {
    pub guid: u64,
    pub tallies: Vec<(&'static str, Vec<u64>)>,
}

/// What [`crate::Pool::advise`] is to reckon with; `None` takes what is typical.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AdviceQuestion {
    /// Nanoseconds until a log device has made a block durable.
    pub log_latency: Option<u64>,
    /// Bytes of a cache device.
    pub cache_size: Option<u64>,
    /// Nanoseconds of a read from a cache device.
    pub cache_latency: Option<u64>,
    /// Bytes of memory for the cache, in all.
    pub memory: Option<u64>,
}

/// What would change if something were added to a pool.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Advice {
    pub findings: Vec<Finding>,
}

/// One of them.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// `log`, `memory` or `cache`.
    pub about: &'static str,
    /// In plain sentences.
    pub text: String,
    /// What the text rests on, and what it predicts; the unit is the end of each name. Empty while
    /// too little was seen.
    pub figures: Vec<(&'static str, f64)>,
}

impl Advice {
    /// A figure of the first finding that has it.
    pub fn figure(&self, name: &str) -> Option<f64> {
        let figures = self.findings.iter().flat_map(|finding| &finding.figures);
        figures.into_iter().find(|(known, _)| *known == name).map(|(_, value)| *value)
    }
}
