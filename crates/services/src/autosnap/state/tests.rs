use api_types::{FailureClass, SnapSkipReason};
use stdx::prng::Prng;

use super::{Failed, State, Work, to_destroy};
use crate::autosnap::plan::plan;
use crate::autosnap::testing::{MIDNIGHT, coverage, hourly, policy, properties, snapshot, view};

#[test]
fn a_dataset_that_fails_is_alone_next_time_and_loses_nothing() {
    let (policy, mut state) = (policy(&properties(2, 7)), State::default());
    let of = |guid| {
        let mut snapshots = hourly(4, MIDNIGHT - 3_600);
        snapshots.push(snapshot("daily", 1, MIDNIGHT));
        view(&format!("tank/{guid}"), guid, snapshots)
    };
    let views = [of(10), of(11)];
    let coverage = coverage(&views);
    let look = |state: &State, now| plan(&policy, &coverage, state, &views, now).plan;
    let first = look(&state, MIDNIGHT);
    assert_eq!((first.groups.len(), first.destroys.len()), (1, 6));
    let failed = [Failed { dataset: 11, work: Work::Create, class: FailureClass::Retriable }];
    assert!(to_destroy(&first, &failed).all(|it| it.dataset_guid == 10));
    state.settle(&first, &failed, &mut Prng::new(1));
    let until = state.backoff(11, Work::Create).expect("it failed").until;
    let waiting = look(&state, until - 1);
    assert!(waiting.groups.is_empty());
    let reason = SnapSkipReason::BackOff { until, failures: 1 };
    assert!(waiting.skipped.iter().any(|it| it.dataset_guid == 11 && it.reason == reason));
    // The other one was served; this one is tried alone.
    let again = look(&state, until);
    assert_eq!(again.groups.len(), 1);
    assert!(again.groups[0].creates.iter().all(|it| it.dataset_guid == 11));
    state.settle(&again, &[], &mut Prng::new(1));
    assert_eq!(state.backoff(11, Work::Create), None);
}

#[test]
fn what_cannot_be_destroyed_does_not_stop_what_is_made() {
    let (policy, mut state) = (policy(&properties(2, 7)), State::default());
    let mut snapshots = hourly(4, MIDNIGHT);
    snapshots.push(snapshot("daily", 1, MIDNIGHT));
    let views = [view("tank/home", 9, snapshots)];
    let coverage = coverage(&views);
    let first = plan(&policy, &coverage, &state, &views, MIDNIGHT + 1).plan;
    let failed = [Failed { dataset: 9, work: Work::Destroy, class: FailureClass::NeedsPerson }];
    state.settle(&first, &failed, &mut Prng::new(1));
    let later = plan(&policy, &coverage, &state, &views, MIDNIGHT + 3_600).plan;
    assert_eq!((later.groups.len(), later.destroys.len(), later.kept.len()), (1, 0, 3));
    state.clear();
    assert_eq!(plan(&policy, &coverage, &state, &views, MIDNIGHT + 3_600).plan.destroys.len(), 3);
}

#[test]
fn what_is_kept_is_read_again_and_what_is_not_covered_is_forgotten() {
    let (policy, mut state) = (policy(&properties(2, 7)), State::default());
    let views = [view("tank/a", 10, Vec::new()), view("tank/b", 11, Vec::new())];
    let first = plan(&policy, &coverage(&views), &state, &views, MIDNIGHT).plan;
    state.settle(&first, &[], &mut Prng::new(1));
    let kept = serde_json::to_string(&state).expect("it can be kept");
    let mut again: State = serde_json::from_str(&kept).expect("it can be read");
    assert_eq!(again, state);
    again.retain(|dataset| dataset == 10);
    assert!(again.memory(10).is_some() && again.memory(11).is_none());
}

#[test]
fn levels_that_come_and_go_do_not_pile_up() {
    let mut state = State::default();
    for number in 0..100 {
        state.datasets.entry(1).or_default().serve(&format!("level-{number}"), number);
    }
    let served = &state.memory(1).expect("it is remembered").served;
    assert_eq!((served.len(), served.values().min()), (32, Some(&68)));
}
