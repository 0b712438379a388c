use api_types::{ScheduleFault, SnapFault, SnapFinding, SnapKeep, SnapNaming, SpaceBudget, When};

use super::Policy;
use crate::autosnap::testing::{MIDNIGHT, level, properties, utc};

#[test]
fn all_faults_are_told_at_once() {
    let mut bad = properties(24, 7);
    bad.targets.clear();
    bad.levels[1] = level("hourly", When::Cron { pattern: "0 0 30 2 *".to_owned() }, bad.levels[1].keep);
    bad.levels.push(level(
        "A",
        When::Day { hour: 0, minute: 0 },
        SnapKeep { count: Some(0), ..SnapKeep::default() },
    ));
    bad.naming = SnapNaming::Template { template: "auto-{time}".to_owned() };
    bad.budget.space = Some(SpaceBudget::Percent { percent: 0 });
    bad.budget.snapshots = 5;
    let faults = Policy::new("auto-1", &bad, &utc).expect_err("it is bad");
    assert_eq!(
        faults,
        [
            SnapFault::NoTargets,
            SnapFault::LevelTwice { level: "hourly".to_owned() },
            SnapFault::LevelName { level: "A".to_owned() },
            SnapFault::KeepsNothing { level: "A".to_owned() },
            SnapFault::Template { template: "auto-{time}".to_owned() },
            SnapFault::Percent { percent: 0 },
            SnapFault::SnapshotBudget { budget: 5, low: 6, high: 10_000 },
            SnapFault::Schedule { level: "hourly".to_owned(), fault: ScheduleFault::Never },
        ]
    );
}

#[test]
fn what_is_odd_is_told_and_taken() {
    let mut odd = properties(24, 7);
    odd.levels[0].keep = SnapKeep { count: Some(2), age: None, at_least: 3 };
    odd.levels.push(level("ever", When::Minute { step: 1, offset: 0 }, SnapKeep::default()));
    let policy = Policy::new("auto-1", &odd, &utc).expect("it is good");
    assert_eq!(
        policy.findings(),
        [
            SnapFinding::KeepContradicts { level: "hourly".to_owned() },
            SnapFinding::EveryMinute { level: "ever".to_owned() },
            SnapFinding::KeptForever { level: "ever".to_owned() },
        ]
    );
}

#[test]
fn names_are_in_utc_and_by_the_template() {
    let name = |naming: SnapNaming| {
        let policy = Policy::new("auto-1", &api_types::AutoSnapPolicy { naming, ..properties(1, 1) }, &utc);
        policy.expect("it is good").name("hourly", MIDNIGHT + 5 * 3_600 + 24 * 60 + 22)
    };
    assert_eq!(name(SnapNaming::Utc), "auto-hourly-2026-11-28T05:24:22Z");
    assert_eq!(name(SnapNaming::ZfsAutoSnapshot), "zfs-auto-snap_hourly-2026-11-28-0524");
    let template = "{time}.{level}".to_owned();
    assert_eq!(name(SnapNaming::Template { template }), "2026-11-28T05:24:22Z.hourly");
}

#[test]
fn what_makes_no_names_is_no_template() {
    for template in
        ["", "{level}", "{time}", "{level}{time}@", "{level} {time}", "{level}{time}{", &"x".repeat(101)]
    {
        let naming = SnapNaming::Template { template: template.to_owned() };
        let bad = api_types::AutoSnapPolicy { naming, ..properties(1, 1) };
        assert!(Policy::new("auto-1", &bad, &utc).is_err(), "{template:?}");
    }
}

#[test]
fn a_share_of_the_largest_dataset_is_no_overflow() {
    let mut share = properties(1, 1);
    share.budget.space = Some(SpaceBudget::Percent { percent: 100 });
    let policy = Policy::new("auto-1", &share, &utc).expect("it is good");
    assert_eq!(policy.space(u64::MAX, u64::MAX), Some(u64::MAX));
    assert_eq!(policy.space(150, 50), Some(200));
}
