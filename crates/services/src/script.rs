//! When a user's program runs, and within which bounds.

use api_types::{RunReason, ScriptPolicy, ServiceFault};

use crate::schedule::{Due, Zones};
use crate::time::Time;

/// A policy that was checked.
#[derive(Clone, Debug)]
pub struct Script {}

/// What to do now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    Run { due: Due, reason: RunReason },
    /// It still runs: a time that comes meanwhile is not caught up with.
    Running,
    Wait { until: Option<Time> },
}

impl Script {
    pub fn new(policy: &ScriptPolicy, zones: Zones<'_>) -> Result<Script, ServiceFault> {
        todo!()
    }

    /// `served`: up to when the schedule was served. `running`: since when it runs, if it does.
    pub fn step(&self, served: Time, running: Option<Time>, now: Time) -> Step {
        todo!()
    }

    /// When a run that began then is to be ended.
    pub fn deadline(&self, began: Time) -> Time {
        todo!()
    }
}
