//! Counters, and advice that follows from them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// `GET /v1/cache` and `GET /v1/pools/{name}/log`: the kstats `arcstats` and `zil` by OpenZFS's
/// names. What is missing does not exist here and counts as 0.
pub type Counts = BTreeMap<String, u64>;

/// `GET /v1/pools/{name}/iostat` gives one for each vdev: what OpenZFS has in `vdev_stats_ex`, by
/// its names. Bucket `i` of a histogram counts nanoseconds or bytes in `2^i .. 2^(i+1)`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct VdevTallies {
    pub guid: u64,
    pub tallies: BTreeMap<String, Vec<u64>>,
}

/// Query of `GET /v1/pools/{name}/advice`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct AdviceQuestion {
    /// Nanoseconds until a log device has made a block durable.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log_latency: Option<u64>,
    /// Bytes of a cache device, and nanoseconds of a read from it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_size: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_latency: Option<u64>,
    /// Bytes of memory for the cache, in all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<u64>,
}

/// `GET /v1/pools/{name}/advice`: what log devices, memory and cache devices would change.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Advice {
    pub findings: Vec<Finding>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// `log`, `memory` or `cache`.
    pub about: String,
    /// In plain sentences.
    pub text: String,
    /// What it rests on and what it predicts; units are the ends of the names. Empty while too
    /// little was seen.
    pub figures: BTreeMap<String, f64>,
    /// What other sizes of memory, or of a cache device, would do; ascending. Empty where nothing
    /// is known of that.
    #[serde(default)]
    pub curve: Vec<CurvePoint>,
}

/// What one size would do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CurvePoint {
    /// Of memory, or of the cache device.
    pub bytes: f64,
    /// Requests that memory would answer; of a cache device, those of the ones that memory cannot.
    pub hit_percent: f64,
    /// Requests that would be answered in the time of one now; `null` where there is less memory
    /// than now.
    pub read_factor: Option<f64>,
}

impl Finding {
    pub fn new(about: &str, text: String, figures: impl IntoIterator<Item = (&'static str, f64)>) -> Finding {
        let figures = figures.into_iter().map(|(name, value)| (name.to_owned(), value));
        Finding { about: about.to_owned(), text, figures: figures.collect(), curve: Vec::new() }
    }

    /// With what other sizes would do.
    #[must_use]
    pub fn with_curve(self, curve: impl IntoIterator<Item = CurvePoint>) -> Finding {
        Finding { curve: curve.into_iter().collect(), ..self }
    }
}

impl Advice {
    /// A figure of the first finding that has it.
    pub fn figure(&self, name: &str) -> Option<f64> {
        self.findings.iter().find_map(|finding| finding.figures.get(name)).copied()
    }
}

/// `GET` and `POST /v1/log`
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct LogFilter {
    /// `info`, or with others for parts: `info,nfs=debug`.
    pub filter: String,
}
