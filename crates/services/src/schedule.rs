//! When something is due.

use api_types::{Schedule, ScheduleFault};
use jiff::tz::TimeZone;

use crate::time::Time;

/// Finds the rules of a zone by its name, or of the machine's own. `None`: there is no such zone.
pub type Zones<'a> = &'a dyn Fn(Option<&str>) -> Option<TimeZone>;

/// A schedule that was checked, ready to be asked.
#[derive(Clone, Debug)]
pub struct Calendar {}

impl Calendar {
    /// Fails on what is out of range, on a pattern that is none, and where no day ever matches.
    pub fn new(schedule: &Schedule, zones: Zones<'_>) -> Result<Calendar, ScheduleFault> {
        todo!()
    }

    /// The first time it is due after `time`; `None` past [`crate::time::LAST`].
    pub fn next_after(&self, time: Time) -> Option<Time> {
        todo!()
    }

    /// The last time it was due up to `time`, itself included; `None` before the year 1.
    pub fn latest(&self, time: Time) -> Option<Time> {
        todo!()
    }

    /// How often it was due after `from` up to `until`, counted in local times.
    pub fn count(&self, from: Time, until: Time) -> u64 {
        todo!()
    }

    /// Whether it is due in every minute there is.
    pub fn is_every_minute(&self) -> bool {
        todo!()
    }

    /// If it is due at `now`, having been served up to `served`: for which time, and how many before
    /// that were missed.
    pub fn due(&self, served: Time, now: Time) -> Option<Due> {
        todo!()
    }
}

/// What is to be caught up with: one run, for the latest of the times that were missed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Due {
    pub slot: Time,
    pub missed: u64,
}
