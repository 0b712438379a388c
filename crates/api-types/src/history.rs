//! What the appliance did until now, in several resolutions.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Query of `GET /v1/statistics/history`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SeriesQuery {
    /// Comma-separated; empty: only which there are.
    pub series: String,
    /// Seconds since 1970; absent: an hour before the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<u64>,
    /// Absent: now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<u64>,
    /// Values of a series at the most, up to 10,000; absent: 1,000. The resolution is the finest
    /// that has no more, and reaches so far back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub points: Option<u64>,
}

/// `GET /v1/statistics/history`
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct History {
    /// Seconds between values.
    pub step: u64,
    /// The time of the first values: seconds since 1970.
    pub first: u64,
    /// Those asked for.
    pub series: Vec<HistorySeries>,
    /// All that there are.
    pub names: Vec<String>,
}

/// Means of each step. Rates are by the second, times in seconds, sizes in bytes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HistorySeries {
    pub name: String,
    /// `null` where nothing was noted.
    pub values: Vec<Option<f64>>,
}
