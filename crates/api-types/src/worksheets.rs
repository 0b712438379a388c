//! Worksheets: drill-downs that are asked for again and again, kept under a name.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Dimension, RequestFilter};

/// Panes of a worksheet at the most.
pub const WORKSHEET_PANES: usize = 8;
/// Bytes of its name at the most.
pub const WORKSHEET_NAME: usize = 64;

/// What a pane shows of its drill-down over time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PaneStatistic {
    /// Operations a second.
    #[default]
    Operations,
    /// Bytes a second.
    Bytes,
    /// How long requests took, on the average.
    Latency,
    /// How many took how long.
    Latencies,
    /// How many were of which size or offset, where that is what requests are told apart by last;
    /// else as `latencies`.
    Classes,
}

impl PaneStatistic {
    pub const ALL: [PaneStatistic; 5] = [
        PaneStatistic::Operations,
        PaneStatistic::Bytes,
        PaneStatistic::Latency,
        PaneStatistic::Latencies,
        PaneStatistic::Classes,
    ];

    pub fn name(self) -> &'static str {
        match self {
            PaneStatistic::Operations => "operations",
            PaneStatistic::Bytes => "bytes",
            PaneStatistic::Latency => "latency",
            PaneStatistic::Latencies => "latencies",
            PaneStatistic::Classes => "classes",
        }
    }
}

/// What an alert of a pane looks at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PaneMeasure {
    /// Operations a second.
    #[default]
    Operations,
    /// Bytes a second.
    Bytes,
    /// Microseconds that 99 of 100 requests took at the most, of the whole pane: told by classes of
    /// latency, of which there are two for each doubling.
    P99,
}

impl PaneMeasure {
    pub const ALL: [PaneMeasure; 3] = [PaneMeasure::Operations, PaneMeasure::Bytes, PaneMeasure::P99];

    pub fn name(self) -> &'static str {
        match self {
            PaneMeasure::Operations => "operations",
            PaneMeasure::Bytes => "bytes",
            PaneMeasure::P99 => "p99",
        }
    }
}

/// When a pane is an alert: the mean of some time, or the latencies of that time, are above a
/// number.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PaneAlert {
    pub measure: PaneMeasure,
    /// In what `measure` says.
    pub above: u64,
    /// The time that is looked at: 10 seconds to an hour.
    pub seconds: u64,
    /// Only what has these values, as a drill-down shows them: one for each of `by`. Absent: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub values: Option<Vec<String>>,
}

/// Panes of all worksheets that may have an alert, or be kept.
pub const PANES_WATCHED: usize = 8;
/// Seconds that an alert looks at, at the least and at the most.
pub const PANE_ALERT_SECONDS: (u64, u64) = (10, 3_600);

/// A drill-down of a worksheet, and what is shown of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct WorksheetPane {
    pub statistic: PaneStatistic,
    /// One to three; none of them twice.
    pub by: Vec<Dimension>,
    pub filter: RequestFilter,
    /// Its drill-down runs for as long as there is an alert.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alert: Option<PaneAlert>,
    /// Its drill-down always runs, and what it finds is kept for a year.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub kept: bool,
}

impl WorksheetPane {
    /// Its drill-down always runs.
    pub fn is_watched(&self) -> bool {
        self.alert.is_some() || self.kept
    }
}

/// `GET /v1/analytics/worksheets/{name}/history`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PaneHistoryQuery {
    /// Which of its panes; absent: the first, which is 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pane: Option<u64>,
    /// In seconds since 1970; absent: an hour before `to`, and now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<u64>,
}

/// `POST /v1/analytics/worksheets`
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct WorksheetAdd {
    /// Any text, of 64 bytes at the most, without control characters, and not only dots.
    pub name: String,
    /// One to eight.
    pub panes: Vec<WorksheetPane>,
}

/// `POST /v1/analytics/worksheets/{name}/change`
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct WorksheetChange {
    /// All that it has from now on: one to eight.
    pub panes: Vec<WorksheetPane>,
}

/// `POST /v1/analytics/worksheets/{name}/open`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct WorksheetOpen {
    /// How long its drill-downs last from now on at the least; absent: ten minutes. A day at the
    /// most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seconds: Option<u64>,
}

/// A worksheet that is kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Worksheet {
    pub name: String,
    pub panes: Vec<WorksheetPane>,
    /// When it was changed, in seconds since 1970, and by whom.
    pub changed: u64,
    pub by: String,
}
