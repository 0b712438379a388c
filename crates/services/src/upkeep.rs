//! Scrubs and trims by schedule.
//!
//! Invariants: nothing begins or goes on while a pool resilvers, outside of the window, or beside
//! what somebody else has begun. What somebody else has paused stays paused. What was missed is one
//! run, and one that somebody else completed meanwhile counts.

use api_types::{ServiceFault, UpkeepPolicy, Window};

use crate::schedule::{Calendar, Due, Zones};
use crate::time::Time;
use crate::window::{MINUTES, is_open, is_window};

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
pub struct Upkeep {
    calendar: Calendar,
    window: Option<Window>,
}

/// What to do with one pool now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// For this time of the schedule, and how many were missed before.
    Begin {
        slot: Time,
        missed: u64,
    },
    Pause,
    Resume,
    /// One was complete after the slot, begun by somebody else: it counts.
    Served {
        slot: Time,
    },
    Wait {
        until: Option<Time>,
        reason: Wait,
    },
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
    pub fn new(policy: &UpkeepPolicy, zones: Zones<'_>) -> Result<Upkeep, ServiceFault> {
        if !policy.window.as_ref().is_none_or(is_window) {
            return Err(ServiceFault::Window);
        }
        let calendar =
            Calendar::new(&policy.schedule, zones).map_err(|fault| ServiceFault::Schedule { fault })?;
        Ok(Upkeep { calendar, window: policy.window })
    }

    /// What to do with a pool at `now`.
    pub fn step(&self, pool: &Pool, now: Time) -> Step {
        let wait = |until, reason| Step::Wait { until, reason };
        if !pool.writable {
            return wait(None, Wait::NotWritable);
        }
        let closed = self.opens_in(now);
        match pool.progress {
            Progress::Theirs => return wait(None, Wait::Running),
            Progress::Ours if closed.is_some() => return Step::Pause,
            Progress::Ours => return wait(None, Wait::Running),
            Progress::OursPaused if pool.resilvering => return wait(None, Wait::Resilver),
            Progress::OursPaused => return closed.map_or(Step::Resume, |at| wait(Some(at), Wait::Window)),
            Progress::Idle => {}
        }
        let Some(Due { slot, missed }) = self.calendar.due(pool.served, now) else {
            return wait(self.calendar.next_after(now), Wait::NotDue);
        };
        if pool.completed.is_some_and(|completed| (slot..=now).contains(&completed)) {
            return Step::Served { slot };
        }
        if !pool.possible {
            return wait(self.calendar.next_after(now), Wait::NotPossible);
        }
        if pool.resilvering {
            return wait(None, Wait::Resilver);
        }
        closed.map_or(Step::Begin { slot, missed }, |at| wait(Some(at), Wait::Window))
    }

    /// If the window is closed: when to look again, by what clocks show now. Where clocks leap
    /// until then, that look finds it closed and says when to look next.
    fn opens_in(&self, now: Time) -> Option<Time> {
        let window = self.window?;
        let minute = self.calendar.minute_of_day(now);
        let left = (window.from + MINUTES - minute) % MINUTES;
        (!is_open(&window, minute)).then(|| now - now.rem_euclid(60) + i64::from(left) * 60)
    }
}

#[cfg(test)]
mod tests;
