use api_types::{AutoSyncPolicy, Schedule, SnapTarget, SyncAbsence, SyncFault, SyncKeep, SyncTarget, When};
use jiff::tz::TimeZone;

use super::Policy;

fn policy(source: &str, target: &str) -> AutoSyncPolicy {
    AutoSyncPolicy {
        source: SnapTarget { dataset: source.to_owned(), ..SnapTarget::default() },
        target: SyncTarget::Pool { dataset: target.to_owned() },
        schedule: Schedule { when: When::Minute { step: 15, offset: 0 }, zone: None },
        keep: SyncKeep::default(),
        absence: SyncAbsence::default(),
        stuck_after: 600,
    }
}

fn faults(policy: &AutoSyncPolicy) -> Vec<SyncFault> {
    Policy::new("s", policy, &|_| Some(TimeZone::UTC)).err().unwrap_or_default()
}

#[test]
fn a_replica_is_below_a_pool_and_apart_from_its_source() {
    assert_eq!(faults(&policy("tank", "backup/tank")), []);
    assert_eq!(faults(&policy("tank/a b", "tank/a bc")), []);
    for target in ["tank/home", "tank/home/x", "tank/h"] {
        let source = if target == "tank/h" { "tank/h/a" } else { "tank/home" };
        assert_eq!(faults(&policy(source, target)), [SyncFault::Overlap], "{target}");
    }
    for bad in ["-o", "", "a//b", "a/", "/a", "a/..", "a/b@c", "a/b\nc", "a/ b", "a/b'c", "a/b;c", "1/a", "p"]
    {
        let dataset = bad.to_owned();
        assert_eq!(faults(&policy("tank", bad)), [SyncFault::Dataset { dataset }], "{bad}");
    }
}

#[test]
fn bounds_are_told() {
    let mut bad = policy("tank/a", "dozer/a");
    (bad.keep.count, bad.stuck_after, bad.absence.bytes) = (0, 9, Some(0));
    bad.schedule.when = When::Minute { step: 0, offset: 0 };
    let faults = faults(&bad);
    assert!(
        matches!(
            faults[..],
            [
                SyncFault::Keep { low: 1, .. },
                SyncFault::Absence,
                SyncFault::StuckAfter { low: 10, .. },
                SyncFault::Schedule { .. }
            ]
        ),
        "{faults:?}"
    );
}
