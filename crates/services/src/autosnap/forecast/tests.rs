use super::{MOST, forecast};
use crate::autosnap::state::State;
use crate::autosnap::testing::{MIDNIGHT, coverage, hourly, policy, properties, snapshot, view};
use crate::time::DAY;

#[test]
fn a_day_ahead_is_told_hour_by_hour() {
    let mut snapshots = hourly(4, MIDNIGHT);
    snapshots.push(snapshot("daily", 1, MIDNIGHT));
    let views = [view("tank/home", 9, snapshots)];
    let told = forecast(
        &policy(&properties(4, 1)),
        &coverage(&views),
        &State::default(),
        &views,
        MIDNIGHT + 1,
        MIDNIGHT + DAY,
    );
    assert_eq!((told.plans.len(), told.ends_early), (24, None));
    let made: usize = told.plans.iter().flat_map(|plan| &plan.groups).map(|group| group.creates.len()).sum();
    let gone: usize = told.plans.iter().map(|plan| plan.destroys.len()).sum();
    assert_eq!((made, gone), (25, 25));
    assert_eq!(told.plans[0].at, MIDNIGHT + 3_600);
    assert_eq!(told.plans[0].destroys[0].guid, 1_001);
}

#[test]
fn it_is_as_long_as_may_be_and_says_where_it_ends() {
    let views: Vec<_> = (10..500).map(|guid| view(&format!("tank/{guid}"), guid, Vec::new())).collect();
    let (policy, coverage) = (policy(&properties(24, 7)), coverage(&views));
    let told = forecast(&policy, &coverage, &State::default(), &views, MIDNIGHT, MIDNIGHT + 3_650 * DAY);
    let made: usize = told.plans.iter().flat_map(|plan| &plan.groups).map(|group| group.creates.len()).sum();
    assert!((MOST..MOST + 2_000).contains(&made), "{made}");
    assert!(told.ends_early.is_some_and(|end| end < MIDNIGHT + 2 * DAY));
}
