//! The wall clock, beside the steady one: whether it was set, or jumped.

use api_types::{AlertKind, Severity};

use crate::Moment;
use crate::book::Finding;

/// Seconds by which the two may differ more from one look to the next.
const STEADY: i64 = 120;
/// Seconds for which a jump is told.
const TOLD: u64 = 24 * 60 * 60;

/// What the last look saw.
#[derive(Default)]
pub struct Clocks {
    last: Option<Moment>,
    /// The last jump: seconds, and when by the steady clock.
    jump: Option<(i64, u64)>,
}

impl Clocks {
    pub fn look(&mut self, now: Moment) -> Vec<Finding> {
        if let Some(last) = self.last {
            let steady = i64::try_from(now.steady.saturating_sub(last.steady)).unwrap_or(i64::MAX);
            let jump = now.wall.saturating_sub(last.wall).saturating_sub(steady);
            if jump.saturating_abs() > STEADY {
                self.jump = Some((jump, now.steady));
            }
        }
        self.last = Some(now);
        let (seconds, at) = match self.jump {
            Some((seconds, at)) if now.steady.saturating_sub(at) < TOLD => (seconds, at),
            _ => return Vec::new(),
        };
        debug_assert!(at <= now.steady);
        vec![Finding::new(Severity::Warning, AlertKind::ClockJumped { seconds })]
    }
}

#[cfg(test)]
mod tests;
