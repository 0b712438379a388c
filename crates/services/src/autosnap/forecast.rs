//! What will be made and destroyed in the next days: the planner itself, run forward over a copy of
//! the facts.

use std::collections::BTreeMap;

use api_types::{SnapForecast, SnapPlan};
use stdx::prng::Prng;

use crate::time::Time;

use super::agenda::Agenda;
use super::coverage::Coverage;
use super::plan::plan;
use super::policy::Policy;
use super::stamp::Stamp;
use super::state::State;
use super::view::{Snapshot, View};

/// Most snapshots that a forecast makes and destroys.
pub const MOST: usize = 10_000;
/// Most looks at a dataset that it takes.
const MOST_LOOKS: usize = 100_000;

/// Runs [`super::plan::plan`] forward from `now` until `until` over a copy of the facts, as if each
/// dataset changed all the time, nothing failed, space stayed as it is and nobody else did
/// anything.
pub fn forecast(
    policy: &Policy,
    coverage: &Coverage,
    state: &State,
    views: &[View],
    now: Time,
    until: Time,
) -> SnapForecast {
    let covered = views.iter().filter(|view| coverage.datasets.contains_key(&view.dataset.guid));
    let mut model: BTreeMap<u64, View> = covered.map(|view| (view.dataset.guid, view.clone())).collect();
    for view in model.values_mut() {
        view.dataset.written = view.dataset.written.max(1);
    }
    let mut agenda = Agenda::default();
    for dataset in model.keys() {
        agenda.set(*dataset, now);
    }
    let (mut state, mut forecast, mut done, mut looks) = (state.clone(), SnapForecast::default(), 0, 0);
    while let Some(at) = agenda.next().map(|at| at.max(now)).filter(|at| *at <= until) {
        let due = agenda.due(at, usize::MAX);
        looks += due.len();
        if done >= MOST || looks > MOST_LOOKS {
            forecast.ends_early = Some(at);
            break;
        }
        let planned = plan(policy, coverage, &state, due.iter().map(|dataset| &model[dataset]), at);
        for (dataset, next) in &planned.next {
            agenda.set(*dataset, next.at.max(at + 1));
        }
        // Nothing fails, so nothing is drawn.
        state.settle(&planned.plan, &[], &mut Prng::new(0));
        apply(&mut model, &planned.plan);
        let made: usize = planned.plan.groups.iter().map(|group| group.creates.len()).sum();
        if made + planned.plan.destroys.len() > 0 {
            done += made + planned.plan.destroys.len();
            forecast.plans.push(planned.plan);
        }
    }
    forecast
}

/// Does what a plan says to the model.
fn apply(model: &mut BTreeMap<u64, View>, plan: &SnapPlan) {
    for made in plan.groups.iter().flat_map(|group| &group.creates) {
        let Some(view) = model.get_mut(&made.dataset_guid) else { continue };
        let newest = view.snapshots.iter().map(|it| (it.createtxg, it.guid)).max().unwrap_or_default();
        view.snapshots.push(Snapshot {
            name: made.snapshot.clone(),
            // Of no pool: guids there are random, and the order of one group is that of its levels.
            guid: newest.1.wrapping_add(1),
            createtxg: newest.0.saturating_add(1),
            created: plan.at,
            written: 1,
            unique: 0,
            holds: 0,
            clones: 0,
            needed_by: None,
            stamp: Stamp::parse(&made.stamp),
        });
        view.dataset.written = 1;
    }
    for gone in &plan.destroys {
        let Some(view) = model.get_mut(&gone.dataset_guid) else { continue };
        let Some(at) = view.snapshots.iter().position(|it| it.guid == gone.guid) else { continue };
        let unique = view.snapshots.remove(at).unique;
        view.dataset.used_by_snapshots = view.dataset.used_by_snapshots.saturating_sub(unique);
        view.dataset.freeing = false;
    }
}

#[cfg(test)]
mod tests;
