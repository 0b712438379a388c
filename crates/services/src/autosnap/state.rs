//! What a service remembers of its datasets. If it is lost, all of it follows anew from the
//! snapshots that are there: at most one look is done twice.

use std::collections::BTreeMap;

use api_types::{FailureClass, SnapPlan};
use serde::{Deserialize, Serialize};
use stdx::prng::Prng;

use crate::backoff::Backoff;
use crate::time::Time;

/// To be kept over restarts. `Default`: nothing is remembered.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    /// guid of a dataset → what is remembered.
    datasets: BTreeMap<u64, Memory>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Memory {
    /// Level → up to which time its schedule was served.
    pub(super) served: BTreeMap<String, Time>,
    pub(super) backoff: Option<Backoff>,
}

/// What of a plan was not done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failed {
    /// guid of the dataset. A group that failed fails for each of its datasets.
    pub dataset: u64,
    pub work: Work,
    pub class: FailureClass,
}

/// A part of a plan, for one dataset. One that fails is tried again without the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    Create,
    Destroy,
}

impl State {
    /// A plan was carried out, but for these.
    pub fn settle(&mut self, plan: &SnapPlan, failed: &[Failed], random: &mut Prng) {
        todo!()
    }

    /// Somebody has looked: what was stopped may be tried again.
    pub fn clear(&mut self) {
        todo!()
    }

    /// Forgets the datasets that are not covered any more.
    pub fn retain(&mut self, covered: impl Fn(u64) -> bool) {
        todo!()
    }

    /// The failures of a dataset since it last succeeded.
    pub fn backoff(&self, dataset: u64) -> Option<Backoff> {
        self.datasets.get(&dataset)?.backoff
    }
}
