//! When a user's program runs, and within which bounds.
//!
//! Invariants: it never runs twice at once, and what it misses while it runs, or while nothing
//! runs, is one run.

use api_types::{RunReason, ScriptLimits, ScriptPolicy, ServiceFault};

use crate::schedule::{Calendar, Due, Zones};
use crate::time::Time;

/// A policy that was checked.
#[derive(Clone, Debug)]
pub struct Script {
    calendar: Calendar,
    limits: ScriptLimits,
}

/// What to do now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    Run {
        due: Due,
        reason: RunReason,
    },
    /// It still runs.
    Running,
    Wait {
        until: Option<Time>,
    },
}

impl Script {
    pub fn new(policy: &ScriptPolicy, zones: Zones<'_>) -> Result<Script, ServiceFault> {
        let words = policy.arguments.iter().chain([&policy.program]);
        if !policy.program.starts_with('/') || words.into_iter().any(|word| word.contains('\0')) {
            return Err(ServiceFault::Program);
        }
        let limits = policy.limits;
        let good = (1..=86_400).contains(&limits.seconds)
            && (16 << 20..=64 << 30).contains(&limits.memory)
            && limits.output <= 1 << 20
            && (1..=4_096).contains(&limits.processes);
        if !good {
            return Err(ServiceFault::Limits);
        }
        let calendar =
            Calendar::new(&policy.schedule, zones).map_err(|fault| ServiceFault::Schedule { fault })?;
        Ok(Script { calendar, limits })
    }

    /// `served`: up to when the schedule was served. `running`: since when it runs, if it does.
    pub fn step(&self, served: Time, running: Option<Time>, now: Time) -> Step {
        if running.is_some() {
            return Step::Running;
        }
        match self.calendar.due(served, now) {
            None => Step::Wait { until: self.calendar.next_after(now) },
            Some(due) => {
                let missed = due.missed;
                let reason = if missed == 0 { RunReason::Scheduled } else { RunReason::CatchUp { missed } };
                Step::Run { due, reason }
            }
        }
    }

    /// When a run that began then is to be ended, by a clock that does not leap.
    pub fn deadline(&self, began: Time) -> Time {
        began.saturating_add(i64::from(self.limits.seconds))
    }
}

#[cfg(test)]
mod tests;
