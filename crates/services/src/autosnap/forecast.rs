//! What will be made and destroyed in the next days.

use api_types::SnapForecast;

use crate::time::Time;

use super::coverage::Coverage;
use super::policy::Policy;
use super::state::State;
use super::view::View;

/// Most snapshots that a forecast makes and destroys.
pub const MOST: usize = 10_000;

/// Runs [`super::plan::plan`] forward from `now` until `until` over a copy of the facts, as if each
/// dataset changed all the time, nothing failed, space stayed as it is and nobody else did anything.
pub fn forecast(
    policy: &Policy,
    coverage: &Coverage,
    state: &State,
    views: &[View],
    now: Time,
    until: Time,
) -> SnapForecast {
    todo!()
}
