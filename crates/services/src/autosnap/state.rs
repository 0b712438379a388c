//! What a service remembers of its datasets. If it is lost, all of it follows anew from the
//! snapshots that are there: at most one look is done twice, and a failure is tried at once.

use std::collections::{BTreeMap, BTreeSet};

use api_types::{FailureClass, SnapDestroy, SnapPlan, SnapSkipReason};
use serde::{Deserialize, Serialize};
use stdx::prng::Prng;

use crate::backoff::Backoff;
use crate::time::Time;

/// Levels of one dataset that are remembered: more than a policy has.
const MOST_LEVELS: usize = 32;

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
    /// Failures to make snapshots, and to destroy them.
    pub(super) create: Option<Backoff>,
    pub(super) destroy: Option<Backoff>,
}

/// What of a plan was not done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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

/// What of a plan is still to be destroyed when its groups were made, but for some: where a dataset
/// got nothing new, nothing old goes.
pub fn to_destroy<'a>(plan: &'a SnapPlan, failed: &[Failed]) -> impl Iterator<Item = &'a SnapDestroy> {
    let without: BTreeSet<u64> =
        failed.iter().filter(|it| it.work == Work::Create).map(|it| it.dataset).collect();
    plan.destroys.iter().filter(move |destroy| !without.contains(&destroy.dataset_guid))
}

impl State {
    /// A plan was carried out, but for these.
    pub fn settle(&mut self, plan: &SnapPlan, failed: &[Failed], random: &mut Prng) {
        let failures = |work| {
            let of_work = failed.iter().filter(move |it| it.work == work);
            of_work.map(|it| (it.dataset, it.class)).collect::<BTreeMap<u64, FailureClass>>()
        };
        let (not_made, not_destroyed) = (failures(Work::Create), failures(Work::Destroy));
        for it in plan.groups.iter().flat_map(|group| &group.creates) {
            if !not_made.contains_key(&it.dataset_guid) {
                let memory = self.datasets.entry(it.dataset_guid).or_default();
                memory.serve(&it.level, plan.at);
                memory.create = None;
            }
        }
        for it in &plan.skipped {
            if let (SnapSkipReason::Unchanged, Some(level)) = (it.reason, &it.level) {
                self.datasets.entry(it.dataset_guid).or_default().serve(level, plan.at);
            }
        }
        for it in to_destroy(plan, failed).filter(|it| !not_destroyed.contains_key(&it.dataset_guid)) {
            if let Some(memory) = self.datasets.get_mut(&it.dataset_guid) {
                memory.destroy = None;
            }
        }
        for (dataset, class) in not_made {
            let memory = self.datasets.entry(dataset).or_default();
            memory.create = Some(Backoff::after(memory.create, class, plan.at, random));
        }
        for (dataset, class) in not_destroyed {
            let memory = self.datasets.entry(dataset).or_default();
            memory.destroy = Some(Backoff::after(memory.destroy, class, plan.at, random));
        }
    }

    /// Somebody has looked: what was stopped may be tried again.
    pub fn clear(&mut self) {
        for memory in self.datasets.values_mut() {
            (memory.create, memory.destroy) = (None, None);
        }
    }

    /// Forgets the datasets that are not covered any more.
    pub fn retain(&mut self, covered: impl Fn(u64) -> bool) {
        self.datasets.retain(|dataset, _| covered(*dataset));
    }

    /// The failures of a part of a dataset's work since it last succeeded.
    pub fn backoff(&self, dataset: u64, work: Work) -> Option<Backoff> {
        let memory = self.datasets.get(&dataset)?;
        match work {
            Work::Create => memory.create,
            Work::Destroy => memory.destroy,
        }
    }

    pub(super) fn memory(&self, dataset: u64) -> Option<&Memory> {
        self.datasets.get(&dataset)
    }
}

impl Memory {
    fn serve(&mut self, level: &str, at: Time) {
        self.served.insert(level.to_owned(), at);
        // Levels come and go: the one that was served longest ago is forgotten.
        if self.served.len() > MOST_LEVELS
            && let Some(oldest) =
                self.served.iter().min_by_key(|(_, at)| **at).map(|(level, _)| level.clone())
        {
            self.served.remove(&oldest);
        }
    }
}

#[cfg(test)]
mod tests;
