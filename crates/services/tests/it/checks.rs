//! The promises, each checked against what the simulation knows.

use api_types::{
    FailureClass, SnapCreate, SnapDestroy, SnapDestroyReason, SnapFinding, SnapKeptReason, SnapPlan,
    SnapSkipReason, SpaceBudget,
};
use services::autosnap::plan::{MOST, plan};
use services::autosnap::state::{Failed, Work};
use services::autosnap::view::{Dataset, Snapshot};
use services::freshness::Stale;
use services::schedule::Calendar;
use services::time::{OLDEST, Time};

use crate::policies::{Kind, zones};
use crate::sim::{Sim, seconds};
use crate::world::SERVICE;

/// Seconds by which clocks may be off without anybody minding.
const SLACK: i64 = 900;

fn is_ours(it: &Snapshot) -> bool {
    it.stamp.as_ref().is_some_and(|stamp| stamp.service == SERVICE)
}

fn ours(sim: &Sim, dataset: u64) -> Vec<&Snapshot> {
    let Some(data) = sim.world.data.get(&dataset) else { return Vec::new() };
    data.view.snapshots.iter().filter(|it| is_ours(it)).collect()
}

/// Bytes that snapshots of a dataset may take.
pub fn space(sim: &Sim, dataset: &Dataset) -> Option<u64> {
    match sim.properties.budget.space? {
        SpaceBudget::Bytes { bytes } => Some(bytes),
        SpaceBudget::Percent { percent } => Some(
            (dataset.used + dataset.available) / 100 * u64::from(percent)
                + (dataset.used + dataset.available) % 100 * u64::from(percent) / 100,
        ),
    }
}

/// Targets cover what their names say, and nothing else.
pub fn findings(sim: &mut Sim) {
    for data in sim.world.data.values() {
        let name = &data.view.dataset.name;
        let below = |root: &str| name.strip_prefix(root).is_some_and(|rest| rest.starts_with('/'));
        let is_in = |target: &api_types::SnapTarget| {
            let out = target.exclude.iter().any(|out| name == out || below(out));
            *name == target.dataset || (target.recursive && below(&target.dataset) && !out)
        };
        let covered = sim.coverage.datasets.contains_key(&data.view.dataset.guid);
        if sim.coverage.targets.iter().any(is_in) != covered {
            sim.fail(&format!("{name} is covered: {covered}"));
        }
    }
    for finding in sim.coverage.findings.clone() {
        match finding {
            SnapFinding::TargetRenamed { .. } => sim.tried("found renamed"),
            SnapFinding::TargetGone { .. } => sim.tried("found gone"),
            _ => {}
        }
    }
}

/// A plan is bounded, is about what is due, and holds the budgets or says why not.
pub fn planned(sim: &mut Sim, plan: &SnapPlan, due: &[u64]) {
    let creates = || plan.groups.iter().flat_map(|group| &group.creates);
    if plan.destroys.len() > MOST || creates().count() > sim.properties.levels.len() * due.len() {
        sim.fail("a plan without bounds");
    }
    for group in &plan.groups {
        if group.creates.iter().any(|it| it.dataset.split('/').next() != Some(&group.pool)) {
            sim.fail("a group of several pools");
        }
    }
    let strangers = creates().map(|it| it.dataset_guid).chain(plan.destroys.iter().map(|it| it.dataset_guid));
    if strangers.into_iter().any(|it| !due.contains(&it) || !sim.coverage.datasets.contains_key(&it)) {
        sim.fail("a plan for what is not due, or not covered");
    }
    for dataset in due.iter().filter(|it| sim.coverage.datasets.contains_key(it)) {
        let Some(data) = sim.world.data.get(dataset) else { continue };
        let it = &data.view.dataset;
        let coming = creates().filter(|made| made.dataset_guid == *dataset).count();
        let going = plan.destroys.iter().filter(|gone| gone.dataset_guid == *dataset).count();
        if coming > 0 && (it.receiving || it.replica || !it.writable || it.available == 0) {
            sim.fail(&format!("{} cannot be snapshotted", it.name));
        }
        let waits = sim.state.backoff(*dataset, Work::Destroy).is_some_and(|it| !it.may_try(sim.now));
        let told = |bytes: bool| {
            plan.findings.iter().any(|finding| match finding {
                SnapFinding::BudgetCannotBeHeld { dataset, over } => {
                    *dataset == it.name && over.bytes.is_some() == bytes
                }
                _ => false,
            })
        };
        let room = sim.properties.budget.snapshots as usize - sim.properties.levels.len();
        if !waits && ours(sim, *dataset).len() + coming > room + going && !told(false) {
            sim.fail(&format!("{} has too many snapshots, and nobody says why", it.name));
        }
        let over = space(sim, it).is_some_and(|budget| it.used_by_snapshots > budget);
        if over && !waits && !it.freeing && going == 0 && !told(true) {
            sim.fail(&format!("snapshots of {} take too much, and nobody says why", it.name));
        }
    }
    count(sim, plan);
}

/// Notes what was tried.
fn count(sim: &mut Sim, plan: &SnapPlan) {
    for it in &plan.kept {
        sim.tried(match it.reason {
            SnapKeptReason::Held { .. } => "kept held",
            SnapKeptReason::Cloned { .. } => "kept cloned",
            SnapKeptReason::Needed { .. } => "kept needed",
            SnapKeptReason::AtLeast { .. } => "kept at-least",
            SnapKeptReason::BackOff { .. } => "kept back-off",
            SnapKeptReason::Stopped => "kept stopped",
        });
    }
    for it in &plan.skipped {
        sim.tried(match it.reason {
            SnapSkipReason::Unchanged => "skip unchanged",
            SnapSkipReason::Receiving => "skip receiving",
            SnapSkipReason::Replica => "skip replica",
            SnapSkipReason::NotWritable => "skip read-only",
            SnapSkipReason::NoSpace => "skip full",
            SnapSkipReason::SnapshotBudget { .. } => "skip budget",
            SnapSkipReason::BackOff { .. } => "skip back-off",
            SnapSkipReason::Stopped => "skip stopped",
        });
    }
    for it in &plan.findings {
        match it {
            SnapFinding::BudgetCannotBeHeld { .. } => sim.tried("found over-budget"),
            SnapFinding::LevelGone { .. } => sim.tried("found level-gone"),
            SnapFinding::TimeUnbelievable { .. } => sim.tried("found unbelievable"),
            _ => {}
        }
    }
}

/// One is made only within the budget, and not again before its schedule came by.
pub fn made(sim: &mut Sim, made: &SnapCreate) {
    sim.tried(if made.missed > 0 { "catch-up" } else { "create" });
    let count = ours(sim, made.dataset_guid).len();
    if count >= sim.properties.budget.snapshots as usize {
        sim.fail(&format!("{} has {count} already", made.dataset));
    }
    let key = (made.dataset_guid, made.level.clone());
    let level =
        sim.properties.levels.iter().find(|level| level.name == made.level).expect("there is such a level");
    let calendar = Calendar::new(&level.schedule, &zones).expect("it is good");
    if let Some(before) = sim.made.get(&key)
        && calendar.next_after(*before).is_none_or(|due| due > sim.now)
    {
        sim.fail(&format!("{}@{} follows one of {before}", made.dataset, made.snapshot));
    }
    sim.made.insert(key, sim.now);
    sim.note(format!("{}@{} is made, {} missed", made.dataset, made.snapshot, made.missed));
}

/// One is destroyed only if it is the service's, nobody needs it, the newest of its level stay, and
/// the reason is true.
pub fn destroyed(sim: &mut Sim, gone: &SnapDestroy) {
    let Some(data) = sim.world.data.get(&gone.dataset_guid) else { sim.fail("no such dataset") };
    let found = data.view.snapshots.iter().find(|it| it.guid == gone.guid && it.name == gone.snapshot);
    let Some(it) = found else { sim.fail(&format!("no such snapshot: {gone:?}")) };
    let truth = &sim.world.truth[&it.guid];
    if !truth.ours || !is_ours(it) || it.holds > 0 || it.clones > 0 || it.needed_by.is_some() {
        sim.fail(&format!("{gone:?} is not to be destroyed: {it:?}"));
    }
    let of_level = |other: &&Snapshot| other.stamp.as_ref().map(|it| &it.level) == Some(&gone.level);
    let order = |it: &Snapshot| (it.createtxg, it.guid);
    let of_dataset = ours(sim, gone.dataset_guid);
    let newer = of_dataset.iter().copied().filter(of_level).filter(|other| order(other) > order(it)).count();
    let level = sim.properties.levels.iter().find(|level| level.name == gone.level);
    if level.is_some_and(|level| newer < level.keep.at_least.max(1) as usize) {
        sim.fail(&format!("{gone:?} is among the newest: {newer}"));
    }
    let is_true = match gone.reason {
        SnapDestroyReason::Count { keep } => newer >= keep as usize,
        SnapDestroyReason::Age { age, limit } => age > limit && is_old(sim, &of_dataset, it, limit),
        SnapDestroyReason::SnapshotBudget { snapshots, budget } => {
            snapshots as usize > budget as usize - sim.properties.levels.len()
        }
        SnapDestroyReason::SpaceBudget { used, budget } => {
            used > budget && space(sim, &data.view.dataset) == Some(budget)
        }
    };
    if !is_true {
        sim.fail(&format!("{gone:?} for a reason that is not true"));
    }
    sim.note(format!("{}@{} is destroyed: {:?}", gone.dataset, gone.snapshot, gone.reason));
    sim.tried(match gone.reason {
        SnapDestroyReason::Count { .. } => "destroy count",
        SnapDestroyReason::Age { .. } => "destroy age",
        SnapDestroyReason::SnapshotBudget { .. } => "destroy snapshots",
        SnapDestroyReason::SpaceBudget { .. } => "destroy space",
    });
}

/// Whether a snapshot is as old as that by a clock that is never wrong. A clock that is believed to
/// be ahead now, or that somebody said was right and was behind when it or a newer one was made, is
/// let pass; one that was before any service for a while is not.
fn is_old(sim: &Sim, of_dataset: &[&Snapshot], it: &Snapshot, limit: u64) -> bool {
    let stamped = |it: &Snapshot| it.stamp.as_ref().map_or(it.created, |stamp| stamp.at);
    let newer = of_dataset.iter().filter(|other| other.createtxg >= it.createtxg);
    let plausible = newer.filter(|it| stamped(it) >= OLDEST);
    let behind = plausible.map(|it| -sim.world.truth[&it.guid].moved).max().unwrap_or(0).max(0);
    let ahead = (sim.now - sim.world.time).max(0);
    sim.world.time - sim.world.truth[&it.guid].made + behind + ahead + SLACK > seconds(limit)
}

/// What was planned and done is not planned again.
pub fn settled(sim: &mut Sim, before: &SnapPlan, due: &[u64], failed: &[Failed]) {
    let stays = |it: &Failed| it.class != FailureClass::Retriable;
    for it in failed.iter().filter(|it| stays(it)) {
        if sim.state.backoff(it.dataset, it.work).is_none_or(|backoff| backoff.may_try(Time::MAX)) {
            sim.fail("tried again though somebody has to look");
        }
    }
    if !sim.random.chance(1, 8) {
        return;
    }
    let views = due.iter().filter_map(|dataset| sim.world.data.get(dataset)).map(|data| &data.view);
    let again = plan(&sim.policy, &sim.coverage, &sim.state, views, sim.now).plan;
    let waited = |dataset: u64| {
        before.skipped.iter().any(|it| {
            it.dataset_guid == dataset && matches!(it.reason, SnapSkipReason::SnapshotBudget { .. })
        })
    };
    let twice = again.groups.iter().flat_map(|group| &group.creates).find(|it| !waited(it.dataset_guid));
    if let Some(twice) = twice {
        sim.fail(&format!("made again: {twice:?}"));
    }
}

/// A fault of freshness is there if and only if the newest snapshot is too old, as far as clocks
/// were right.
pub fn fresh(sim: &Sim, dataset: u64, limit: u64, fault: Option<Stale>) {
    let view = &sim.world.data[&dataset].view;
    let truth = |it: &Snapshot| &sim.world.truth[&it.guid];
    let is_right = |it: &&Snapshot| {
        let made = it.stamp.as_ref().map_or(it.created, |stamp| stamp.at);
        (made - truth(it).made).abs() < SLACK / 3
    };
    let clock = (sim.now - sim.world.time).abs() < SLACK / 3;
    if !clock || view.snapshots.is_empty() || !view.snapshots.iter().all(|it| is_right(&it)) {
        return;
    }
    let newest = view.snapshots.iter().map(|it| truth(it).made).max().unwrap_or(0);
    let over = sim.world.time - newest - seconds(limit);
    let changed = view.dataset.written > 0;
    if changed && over > SLACK && fault.is_none() {
        sim.fail(&format!("{} is stale, and nobody says so", view.dataset.name));
    }
    if (!changed || over < -SLACK) && fault.is_some() {
        sim.fail(&format!("{} is said to be stale, and is not", view.dataset.name));
    }
}

/// What happened is what was told.
pub fn foretold(sim: &Sim, told: &[SnapPlan], happened: &[SnapPlan]) {
    let lines = |plans: &[SnapPlan]| {
        let mut lines = Vec::new();
        for plan in plans {
            for it in plan.groups.iter().flat_map(|group| &group.creates) {
                lines.push(format!("{} + {}@{} {} {}", plan.at, it.dataset, it.snapshot, it.slot, it.missed));
            }
            for it in &plan.destroys {
                lines.push(format!("{} - {}@{} {:?}", plan.at, it.dataset, it.snapshot, it.reason));
            }
        }
        lines
    };
    let (told, happened) = (lines(told), lines(happened));
    if told != happened {
        let at = told.iter().zip(&happened).take_while(|(a, b)| a == b).count();
        sim.fail(&format!("line {at}: {:?} was told, {:?} happened", told.get(at), happened.get(at)));
    }
}

/// Looks are those that schedules and reviews ask for, and some for what others did: nothing that
/// cannot be done is tried again and again.
pub fn worked(sim: &Sim) {
    let days = sim.years() * 365.25;
    let a_day = match sim.kind {
        Kind::Long => 16.0,
        Kind::Short => 180.0,
    };
    let datasets = 12.0;
    let most = days * a_day * datasets;
    if sim.looks as f64 > most {
        sim.fail(&format!("{} looks in {days:.0} days", sim.looks));
    }
}
