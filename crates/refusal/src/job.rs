//! Why a job was not done, or is not cancelled.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// See the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum JobFault {
    /// The program ended while the job ran: nobody here knows how far it came.
    Interrupted,
    /// Somebody asked for that, and it ended at its next step.
    Cancelled,
    /// It cannot be cancelled any more.
    Ended,
    /// It cannot be cancelled where it is now.
    NotCancellable,
}
