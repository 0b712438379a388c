use std::collections::BTreeSet;

use api_types::{
    SnapDestroyReason, SnapFinding, SnapKeep, SnapKeptReason, SnapNextReason, SnapPlan, SnapSkipReason,
    SpaceBudget,
};

use super::{MOST, plan};
use crate::autosnap::state::State;
use crate::autosnap::testing::{MIDNIGHT, coverage, hourly, policy, properties, snapshot, view};
use crate::autosnap::view::View;
use crate::time::{DAY, Time};

fn planned(properties: &api_types::AutoSnapPolicy, views: &[View], now: Time) -> SnapPlan {
    plan(&policy(properties), &coverage(views), &State::default(), views, now).plan
}

fn made(plan: &SnapPlan) -> Vec<String> {
    plan.groups
        .iter()
        .flat_map(|group| &group.creates)
        .map(|it| format!("{} {}", it.level, it.missed))
        .collect()
}

fn gone(plan: &SnapPlan) -> Vec<u64> {
    plan.destroys.iter().map(|it| it.guid).collect()
}

#[test]
fn a_machine_that_slept_for_a_month_makes_one_of_each_level() {
    let mut snapshots = hourly(3, MIDNIGHT);
    snapshots.push(snapshot("daily", 2_000, MIDNIGHT));
    let views = [view("tank/home", 9, snapshots)];
    let plan = planned(&properties(24, 7), &views, MIDNIGHT + 30 * DAY + 60);
    assert_eq!(made(&plan), ["daily 29", "hourly 719"]);
    assert!(plan.destroys.is_empty());
}

#[test]
fn what_is_beyond_its_count_goes_counting_the_one_that_is_made() {
    let mut snapshots = hourly(5, MIDNIGHT - 3_600);
    snapshots.push(snapshot("daily", 2_000, MIDNIGHT));
    let views = [view("tank/home", 9, snapshots)];
    let plan = planned(&properties(4, 7), &views, MIDNIGHT);
    assert_eq!((made(&plan), gone(&plan)), (vec!["hourly 0".to_owned()], vec![1_001, 1_002]));
    assert_eq!(plan.destroys[0].reason, SnapDestroyReason::Count { keep: 4 });
}

#[test]
fn what_somebody_needs_stays_and_the_reason_is_told() {
    let mut snapshots = hourly(8, MIDNIGHT);
    snapshots.push(snapshot("daily", 2_000, MIDNIGHT));
    (snapshots[0].holds, snapshots[1].clones) = (2, 1);
    snapshots[2].needed_by = Some("replica of dozer".to_owned());
    let mut two = properties(1, 7);
    two.levels[0].keep.at_least = 3;
    let plan = planned(&two, &[view("tank/home", 9, snapshots)], MIDNIGHT + 1);
    assert_eq!(gone(&plan), [1_004, 1_005]);
    let reasons: Vec<&SnapKeptReason> = plan.kept.iter().map(|it| &it.reason).collect();
    let by = "replica of dozer".to_owned();
    assert_eq!(
        reasons,
        [
            &SnapKeptReason::AtLeast { at_least: 3 },
            &SnapKeptReason::AtLeast { at_least: 3 },
            &SnapKeptReason::Needed { by },
            &SnapKeptReason::Cloned { clones: 1 },
            &SnapKeptReason::Held { holds: 2 },
        ]
    );
}

#[test]
fn names_that_look_like_ours_are_nothing_to_us() {
    let imitation = |number| {
        let name = format!("auto-hourly-2020-01-01T00:00:{number:02}Z");
        crate::autosnap::view::Snapshot {
            name,
            stamp: None,
            ..snapshot("hourly", number, MIDNIGHT - 900 * DAY)
        }
    };
    let mut snapshots: Vec<_> = (1..50).map(imitation).collect();
    snapshots.extend([snapshot("hourly", 100, MIDNIGHT), snapshot("daily", 101, MIDNIGHT)]);
    let plan = planned(&properties(1, 1), &[view("tank/home", 9, snapshots)], MIDNIGHT + 1);
    assert_eq!(plan, SnapPlan { at: MIDNIGHT + 1, ..SnapPlan::default() });
}

#[test]
fn too_many_are_thinned_from_the_level_that_is_due_most_often() {
    let mut tight = properties(1_000, 1_000);
    tight.budget.snapshots = 10;
    let mut snapshots: Vec<_> =
        (1..=6).map(|day| snapshot("daily", day, MIDNIGHT - (7 - day as i64) * DAY)).collect();
    snapshots.extend(hourly(4, MIDNIGHT));
    snapshots.extend([snapshot("daily", 2_000, MIDNIGHT), snapshot("weekly", 500, MIDNIGHT - 5 * DAY)]);
    let plan = planned(&tight, &[view("tank/home", 9, snapshots)], MIDNIGHT + 1);
    // Of twelve eight are left: two levels have room for one more each.
    assert_eq!(
        gone(&plan).into_iter().collect::<BTreeSet<u64>>(),
        BTreeSet::from([500, 1_001, 1_002, 1_003])
    );
    let reason = SnapDestroyReason::SnapshotBudget { snapshots: 12, budget: 10 };
    assert!(plan.destroys.iter().all(|it| it.reason == reason), "{plan:?}");
}

#[test]
fn a_budget_that_cannot_be_held_makes_none_and_says_why() {
    let mut tight = properties(1_000, 1_000);
    tight.budget.snapshots = 6;
    let mut snapshots = hourly(6, MIDNIGHT - 3_600);
    snapshots.iter_mut().for_each(|it| it.holds = 1);
    snapshots.push(snapshot("daily", 2_000, MIDNIGHT));
    let plan = planned(&tight, &[view("tank/home", 9, snapshots)], MIDNIGHT);
    assert!(plan.groups.is_empty() && plan.destroys.is_empty());
    assert_eq!(plan.skipped[0].reason, SnapSkipReason::SnapshotBudget { snapshots: 7, budget: 6 });
    let SnapFinding::BudgetCannotBeHeld { over, .. } = &plan.findings[0] else { panic!("{plan:?}") };
    assert_eq!((over.snapshots, over.held, over.kept_at_least), (Some(3), 5, 2));
}

#[test]
fn space_is_given_back_oldest_first_and_no_more_than_it_takes() {
    let mut tight = properties(1_000, 1_000);
    tight.budget.space = Some(SpaceBudget::Bytes { bytes: 100 });
    let mut snapshots = hourly(40, MIDNIGHT);
    snapshots.iter_mut().for_each(|it| it.unique = 10);
    snapshots.push(snapshot("daily", 2_000, MIDNIGHT));
    let mut view = view("tank/home", 9, snapshots);
    view.dataset.used_by_snapshots = 125;
    let looked = |view: &View| planned(&tight, std::slice::from_ref(view), MIDNIGHT + 1);
    assert_eq!(gone(&looked(&view)), [1_001, 1_002, 1_003]);
    // What is on its way is waited for.
    view.dataset.freeing = true;
    assert!(gone(&looked(&view)).is_empty());
    // What is shared frees nothing alone: some of it goes, then it is looked at again.
    view.dataset.freeing = false;
    view.snapshots.iter_mut().for_each(|it| it.unique = 0);
    assert_eq!(gone(&looked(&view)), [1_001, 1_002, 1_003, 1_004, 1_005]);
    // Of all that is left nothing may go.
    view.snapshots.iter_mut().for_each(|it| it.holds = 1);
    let SnapFinding::BudgetCannotBeHeld { over, .. } = &looked(&view).findings[0] else {
        panic!("no finding")
    };
    assert_eq!((over.bytes, over.held, over.kept_at_least), (Some(25), 39, 2));
}

#[test]
fn what_has_not_changed_since_the_newest_of_its_level_is_skipped() {
    let mut skipping = properties(24, 7);
    skipping.skip_unchanged = true;
    let mut snapshots = hourly(2, MIDNIGHT - 3_600);
    snapshots.insert(0, snapshot("daily", 1, MIDNIGHT - DAY));
    let mut view = view("tank/home", 9, snapshots);
    view.dataset.written = 0;
    // The day has seen changes, which an hourly one has taken up already.
    let plan = planned(&skipping, std::slice::from_ref(&view), MIDNIGHT);
    assert_eq!(made(&plan), ["daily 0"]);
    assert_eq!(plan.skipped.len(), 1);
    assert_eq!(plan.skipped[0].reason, SnapSkipReason::Unchanged);
    view.snapshots.iter_mut().for_each(|it| it.written = 0);
    assert!(made(&planned(&skipping, std::slice::from_ref(&view), MIDNIGHT)).is_empty());
}

#[test]
fn one_reason_is_told_where_none_can_be_made() {
    let reason = |change: &dyn Fn(&mut crate::autosnap::view::Dataset)| {
        let mut view = view("tank/home", 9, Vec::new());
        change(&mut view.dataset);
        let plan = planned(&properties(24, 7), std::slice::from_ref(&view), MIDNIGHT);
        assert!(plan.groups.is_empty() && plan.skipped.len() == 1, "{plan:?}");
        plan.skipped[0].reason
    };
    assert_eq!(reason(&|it| it.writable = false), SnapSkipReason::NotWritable);
    assert_eq!(reason(&|it| it.receiving = true), SnapSkipReason::Receiving);
    assert_eq!(reason(&|it| it.replica = true), SnapSkipReason::Replica);
    assert_eq!(reason(&|it| it.available = 0), SnapSkipReason::NoSpace);
}

#[test]
fn a_thousand_datasets_are_a_few_groups() {
    let name = |number: u64| format!("{}/d{number}", if number.is_multiple_of(2) { "tank" } else { "dozer" });
    let views: Vec<View> = (0..1_000).map(|number| view(&name(number), 10 + number, Vec::new())).collect();
    let plan = planned(&properties(24, 7), &views, MIDNIGHT);
    let sizes: Vec<(String, usize)> =
        plan.groups.iter().map(|group| (group.pool.clone(), group.creates.len())).collect();
    assert_eq!(sizes, [("dozer".to_owned(), 1_000), ("tank".to_owned(), 1_000)]);
}

#[test]
fn one_look_destroys_so_many_and_the_rest_in_the_next() {
    let mut long = properties(1, 7);
    long.budget.snapshots = 10_000;
    let mut snapshots = hourly(1_500, MIDNIGHT);
    snapshots.push(snapshot("daily", 1, MIDNIGHT));
    let views = [view("tank/home", 9, snapshots)];
    let planned = plan(&policy(&long), &coverage(&views), &State::default(), &views, MIDNIGHT + 1);
    assert_eq!(planned.plan.destroys.len(), MOST);
    assert_eq!((planned.next[&9].at, &planned.next[&9].reason), (MIDNIGHT + 61, &SnapNextReason::Thinning));
}

#[test]
fn the_next_look_is_when_something_can_change() {
    let mut aging = properties(24, 7);
    aging.levels[0].keep = SnapKeep { count: None, age: Some(7_200), at_least: 0 };
    let mut snapshots = hourly(2, MIDNIGHT - 1_800);
    snapshots.push(snapshot("daily", 2_000, MIDNIGHT));
    let views = [view("tank/home", 9, snapshots)];
    let next = |now| {
        let planned = plan(&policy(&aging), &coverage(&views), &State::default(), &views, now);
        (planned.next[&9].at - MIDNIGHT, planned.next[&9].reason.clone())
    };
    // An hourly one that is made at midnight, and the oldest one two hours after 22:30.
    assert_eq!(next(MIDNIGHT), (1_801, SnapNextReason::Expiry { level: "hourly".to_owned() }));
    assert_eq!(next(MIDNIGHT + 1_801), (3_600, SnapNextReason::Due { level: "hourly".to_owned() }));
}

#[test]
fn a_clock_that_comes_by_again_makes_no_name_twice() {
    let mut first = snapshot("hourly", 1, MIDNIGHT + DAY);
    first.name = "auto-hourly-2026-11-28T00:00:00Z".to_owned();
    let plan = planned(&properties(24, 7), &[view("tank/home", 9, vec![first])], MIDNIGHT);
    let names: Vec<&str> = plan.groups[0].creates.iter().map(|it| it.snapshot.as_str()).collect();
    assert_eq!(names, ["auto-daily-2026-11-28T00:00:00Z", "auto-hourly-2026-11-28T00:00:00Z-2"]);
    assert!(plan.findings.iter().any(|it| matches!(it, SnapFinding::TimeUnbelievable { snapshots: 1, .. })));
}
