use api_types::{Schedule, ServiceFault, SnapTarget, TierChoice, When};
use jiff::tz::TimeZone;

use super::*;

fn zones(_: Option<&str>) -> Option<TimeZone> {
    Some(TimeZone::UTC)
}

fn policy() -> AutoTierPolicy {
    AutoTierPolicy {
        source: SnapTarget { dataset: "tank/home".to_owned(), ..SnapTarget::default() },
        folder: String::new(),
        target: TierTarget::Dataset { dataset: "backup/cold".to_owned() },
        schedule: Schedule { when: When::Day { hour: 2, minute: 0 }, zone: None },
        action: TierAction::Copy,
        choose: TierChoice::default(),
        rate: None,
        plain: false,
        stuck_after: 600,
    }
}

fn ssh(host: &str, user: Option<&str>, path: &str) -> TierTarget {
    let user = user.map(str::to_owned);
    TierTarget::Ssh { host: host.to_owned(), user, port: None, path: path.to_owned() }
}

#[test]
fn each_fault_is_told() {
    let fault = |change: &dyn Fn(&mut AutoTierPolicy)| {
        let mut policy = policy();
        change(&mut policy);
        Policy::new("t", &policy, &zones).map(drop)
    };
    assert_eq!(fault(&|_| ()), Ok(()));
    assert_eq!(fault(&|it| it.target = ssh("box-1.lan", Some("backup"), "/srv/cold: -x")), Ok(()));
    assert_eq!(fault(&|it| it.target = ssh("fd00::1", None, "/")), Ok(()));
    assert_eq!(fault(&|it| it.folder = "a/b c".to_owned()), Ok(()));
    let path = |path: &str| Err(vec![TierFault::Path { path: path.to_owned() }]);
    for bad in ["/a", "a/", "a//b", "..", "a/../b", ".zfs/snapshot", "a\nb"] {
        assert_eq!(fault(&|it| it.folder = bad.to_owned()), path(bad));
    }
    for bad in ["", "a", "//a", "/a/", "/a/../b", "/a\nb"] {
        assert_eq!(fault(&|it| it.target = TierTarget::Folder { path: bad.to_owned() }), path(bad));
        assert_eq!(fault(&|it| it.target = ssh("box", None, bad)), path(bad));
    }
    for host in ["", "-oProxyCommand=x", "a b", "a@b", "a/b", "x;y"] {
        let wanted = Err(vec![TierFault::Host { host: host.to_owned() }]);
        assert_eq!(fault(&|it| it.target = ssh(host, None, "/a")), wanted);
    }
    for user in ["", "-l", "a@b", "a b"] {
        let wanted = Err(vec![TierFault::User { user: user.to_owned() }]);
        assert_eq!(fault(&|it| it.target = ssh("box", Some(user), "/a")), wanted);
    }
    let same = TierTarget::Dataset { dataset: "tank/home".to_owned() };
    assert_eq!(fault(&|it| it.target = same.clone()), Err(vec![TierFault::Same]));
    assert_eq!(fault(&|it| it.source.recursive = true), Err(vec![TierFault::Recursive]));
    assert_eq!(fault(&|it| it.rate = Some(1_000)), Err(vec![TierFault::Rate { low: 1_024 }]));
    assert_eq!(fault(&|it| it.stuck_after = 9), Err(vec![TierFault::StuckAfter { low: 10, high: 86_400 }]));
    let several = fault(&|it| {
        it.source.dataset = "-x".to_owned();
        it.schedule.when = When::Day { hour: 25, minute: 0 };
        it.choose.max_depth = Some(0);
    });
    let several = several.expect_err("faults");
    assert_eq!(several.len(), 3, "{several:?}");
    assert_eq!(ServiceFault::Tier { faults: several }.words().lines().count(), 3);
}

#[test]
fn it_runs_by_its_schedule_and_at_once_after_an_interruption() {
    let policy = Policy::new("t", &policy(), &zones).expect("a policy");
    let (day, two) = (86_400 * 20_000, 86_400 * 20_000 + 7_200);
    let at = |served, is_interrupted, now| policy.next(served, is_interrupted, now).map(|next| next.at);
    assert_eq!(at(day, false, day), Some(two));
    assert_eq!(at(day, false, two), Some(two));
    assert_eq!(at(two, false, two + 1), Some(two + 86_400));
    assert_eq!(at(two, true, two + 1), Some(two + 1));
    let missed = policy.next(day, false, two + 86_400 * 3).expect("a run");
    assert_eq!(missed.reason, RunReason::CatchUp { missed: 3 });
    assert_eq!(policy.name(two), "tier-t-2024-10-04T02:00:00Z");
}

#[test]
fn what_stays_for_a_while_goes_when_it_has_not_changed_for_so_long() {
    let moving = |action| {
        let policy = AutoTierPolicy { action, ..policy() };
        Policy::new("t", &policy, &zones).expect("a policy")
    };
    let copy = moving(TierAction::Copy);
    assert!(!copy.is_removable(0, 1_000));
    let kept = moving(TierAction::Move { keep: 60 });
    assert!(!kept.is_removable(941, 1_000) && kept.is_removable(940, 1_000));
    // A time that is still to come.
    assert!(!kept.is_removable(2_000, 1_000));
    assert!(moving(TierAction::Move { keep: 0 }).is_removable(1_000, 1_000));
}
