//! What is made and what goes, of all datasets that are looked at together.
//!
//! What is made of one target in one pool is made in one group; small targets share a group, so
//! that a thousand snapshots are few transaction groups. A dataset that failed before is in a group
//! of its own, so that it fails alone.

use std::collections::BTreeMap;

use api_types::{SnapCreate, SnapGroup, SnapNext, SnapNextReason, SnapPlan};

use crate::time::{FIRST, LAST, Time};

use super::coverage::Coverage;
use super::look::{Look, SOON, look};
use super::policy::Policy;
use super::state::{Memory, State, Work};
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
pub fn plan<'a>(
    policy: &Policy,
    coverage: &Coverage,
    state: &State,
    views: impl IntoIterator<Item = &'a View>,
    now: Time,
) -> Planned {
    let (nothing, now) = (Memory::default(), now.clamp(FIRST, LAST));
    let mut planned = Planned { plan: SnapPlan { at: now, ..SnapPlan::default() }, ..Planned::default() };
    // Pool and target → what is made of it.
    let mut together: BTreeMap<(&str, usize), Vec<SnapCreate>> = BTreeMap::new();
    let mut alone: Vec<(&str, Vec<SnapCreate>)> = Vec::new();
    let mut put_off = 0;
    for view in views {
        let guid = view.dataset.guid;
        let Some(target) = coverage.datasets.get(&guid) else { continue };
        let Look { creates, mut destroys, kept, skipped, findings, mut next } =
            look(policy, state.memory(guid).unwrap_or(&nothing), view, now);
        let pool = view.dataset.name.split('/').next().unwrap_or_default();
        if state.backoff(guid, Work::Create).is_some() {
            alone.push((pool, creates));
        } else {
            together.entry((pool, *target)).or_default().extend(creates);
        }
        let left = MOST - planned.plan.destroys.len();
        if destroys.len() > left {
            put_off += destroys.len() - left;
            destroys.truncate(left);
            // So many in each of the next minutes, so that none is looked at in vain.
            let at = now + SOON * i64::try_from(1 + put_off / MOST).unwrap_or(i64::MAX / SOON);
            if at < next.at {
                (next.at, next.reason) = (at, SnapNextReason::Thinning);
            }
        }
        planned.plan.destroys.extend(destroys);
        planned.plan.kept.extend(kept);
        planned.plan.skipped.extend(skipped);
        planned.plan.findings.extend(findings);
        planned.next.insert(guid, next);
    }
    let together = together.into_iter().map(|((pool, _), creates)| (pool, creates)).collect();
    planned.plan.groups = groups(together);
    let alone = alone.into_iter().filter(|(_, creates)| !creates.is_empty());
    planned.plan.groups.extend(alone.map(|(pool, creates)| SnapGroup { pool: pool.to_owned(), creates }));
    planned
}

/// Puts what is made together into groups. Those of one pool follow each other.
fn groups(units: Vec<(&str, Vec<SnapCreate>)>) -> Vec<SnapGroup> {
    let mut groups: Vec<SnapGroup> = Vec::new();
    for (pool, creates) in units.into_iter().filter(|(_, creates)| !creates.is_empty()) {
        match groups.last_mut() {
            Some(last) if last.pool == pool && last.creates.len() + creates.len() <= MOST => {
                last.creates.extend(creates);
            }
            _ => groups.push(SnapGroup { pool: pool.to_owned(), creates }),
        }
    }
    groups
}

#[cfg(test)]
mod tests;
