//! When a failure is tried again.
//!
//! What may succeed later is tried after a minute, two, four and so on up to [`CAP`], less up to
//! half of that by chance, so that many that failed together do not come back together. What needs
//! a person is not tried again until somebody has cleared it.
//!
//! Invariant: whatever clocks do, nothing waits for more than [`CAP`].

use api_types::FailureClass;
use serde::{Deserialize, Serialize};
use stdx::prng::Prng;

use crate::time::Time;

/// The failures of something since it last succeeded: to be kept over restarts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Backoff {
    pub failures: u32,
    pub class: FailureClass,
    /// When it failed last.
    pub since: Time,
    /// Not before then; of no meaning where the class is not retriable.
    pub until: Time,
}

/// The first wait in seconds.
const FIRST: u64 = 60;
/// The longest wait in seconds.
pub const CAP: u64 = 3_600;

impl Backoff {
    /// One more failure after those before.
    pub fn after(before: Option<Backoff>, class: FailureClass, now: Time, random: &mut Prng) -> Backoff {
        let failures = before.map_or(0, |before| before.failures).saturating_add(1);
        let wait = FIRST.saturating_mul(1 << (failures - 1).min(16)).min(CAP);
        let wait = wait - random.below(wait / 2 + 1);
        let until = now.saturating_add(i64::try_from(wait).unwrap_or(i64::MAX));
        Backoff { failures, class, since: now, until }
    }

    /// Whether it may be tried now. Only [`FailureClass::Retriable`] ever may.
    pub fn may_try(&self, now: Time) -> bool {
        // A wait that is longer than the longest was set by a clock that has gone back since.
        let waits = now < self.until && self.until.abs_diff(now) <= CAP;
        self.class == FailureClass::Retriable && !waits
    }
}

#[cfg(test)]
mod tests;
