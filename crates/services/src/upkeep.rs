//! Scrubs and trims by schedule.

use api_types::{ScheduleFault, UpkeepPolicy};

use crate::schedule::Zones;
use crate::time::Time;

/// What is to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    Scrub,
    Trim,
}

/// What is known of one pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pool {
    pub name: String,
    pub guid: u64,
    /// Neither suspended nor imported read-only.
    pub writable: bool,
    pub resilvering: bool,
    /// The scrub or trim of this planner's kind.
    pub progress: Progress,
    /// Up to when this pool's schedule was served; the pool's creation where it never was.
    pub served: Time,
    /// When the last one was complete, whoever began it.
    pub completed: Option<Time>,
    /// Some device can be trimmed; true for scrubs.
    pub possible: bool,
}

/// How a scrub or trim stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    Idle,
    /// Begun by this service.
    Ours,
    /// Begun by this service, and stopped at the end of its window.
    OursPaused,
    /// Begun or paused by somebody else.
    Theirs,
}

/// A policy that was checked.
#[derive(Clone, Debug)]
pub struct Upkeep {}

/// What to do with one pool now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// For this time of the schedule, and how many were missed before.
    Begin { slot: Time, missed: u64 },
    Pause,
    Resume,
    /// One was complete after the slot, begun by somebody else: it counts.
    Served { slot: Time },
    Wait { until: Option<Time>, reason: Wait },
}

/// Why nothing is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    NotDue,
    Window,
    Running,
    Resilver,
    NotWritable,
    NotPossible,
}

impl Upkeep {
    pub fn new(policy: &UpkeepPolicy, zones: Zones<'_>) -> Result<Upkeep, ScheduleFault> {
        todo!()
    }

    /// What to do with a pool at `now`.
    pub fn step(&self, pool: &Pool, now: Time) -> Step {
        todo!()
    }
}
