//! What is made and what goes.

use std::collections::BTreeMap;

use api_types::{SnapNext, SnapPlan};

use crate::time::Time;

use super::coverage::Coverage;
use super::policy::Policy;
use super::state::State;
use super::view::View;

/// Most snapshots that one look destroys, and that one group makes unless a single target has more.
pub const MOST: usize = 1_000;

/// A plan, and when its datasets are to be looked at again: guid of the dataset → when and why.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Planned {
    pub plan: SnapPlan,
    pub next: BTreeMap<u64, SnapNext>,
}

/// Plans for the datasets of `views` that are covered, and for no others.
pub fn plan(policy: &Policy, coverage: &Coverage, state: &State, views: &[View], now: Time) -> Planned {
    todo!()
}
