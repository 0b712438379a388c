//! When a failure is tried again.

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

/// The longest wait in seconds.
pub const CAP: u64 = 3_600;

impl Backoff {
    /// One more failure after those before.
    pub fn after(before: Option<Backoff>, class: FailureClass, now: Time, random: &mut Prng) -> Backoff {
        todo!()
    }

    /// Whether it may be tried now. Only [`FailureClass::Retriable`] ever may.
    pub fn may_try(&self, now: Time) -> bool {
        todo!()
    }
}
