//! Scrubs, resilvers, trims and initializations that stand in each other's way.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Why a scrub or a resilver is not begun, paused or ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ScanFault {
    Scrubbing,
    Resilvering,
    /// Sequentially.
    Rebuilding,
    ErrorScrubbing,
    ScrubPaused,
    /// An error scrub was to begin.
    ScrubPausedFirst,
    ErrorScrubPaused,
    NoScrub,
    NeedsResilverDefer,
}

/// Why a device is not trimmed or initialized, or that is not paused or ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SweepFault {
    NoDevice,
    OutOfUse,
    NotSupported,
    Trimming,
    NoTrim,
    Initializing,
    NoInitialization,
}
