use api_types::{
    AutoSyncPolicy, Schedule, SnapTarget, SshHost, SshHostKey, SshTarget, SyncAbsence, SyncFault, SyncKeep,
    SyncLimit, SyncOrigin, SyncTarget, When, Window,
};
use jiff::tz::TimeZone;

use super::Policy;

fn policy(source: &str, target: &str) -> AutoSyncPolicy {
    AutoSyncPolicy {
        source: SnapTarget { dataset: source.to_owned(), ..SnapTarget::default() },
        origin: SyncOrigin::Here,
        target: SyncTarget::Pool { dataset: target.to_owned() },
        schedule: Schedule { when: When::Minute { step: 15, offset: 0 }, zone: None },
        keep: SyncKeep::default(),
        absence: SyncAbsence::default(),
        limits: Vec::new(),
        lag: None,
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
fn a_host_and_its_user_are_names_and_no_options() {
    let there = |host: &str, user: &str| {
        let (host, user) = (host.to_owned(), Some(user.to_owned()));
        let dataset = "tank/home".to_owned();
        let host_key = SshHostKey::default();
        let target = SyncTarget::Ssh(SshTarget { host, user, port: None, dataset, host_key });
        faults(&AutoSyncPolicy { target, ..policy("tank/home", "x/y") })
    };
    // The same name on another host is another dataset.
    for host in ["nas.example", "10.0.0.7", "fe80::1", "::1", "nas_2"] {
        assert_eq!(there(host, "backup"), [], "{host}");
    }
    for bad in ["", "-oProxyCommand=x", "a b", "a;b", "a%h", "a/b", "a@b", "[::1]"] {
        assert_eq!(there(bad, "backup"), [SyncFault::Host { host: bad.to_owned() }], "{bad}");
    }
    for bad in ["", "-l", "a b", "a@b", "a$b"] {
        assert_eq!(there("nas", bad), [SyncFault::User { user: bad.to_owned() }], "{bad}");
    }
}

#[test]
fn what_is_pulled_comes_to_a_pool_of_this_machine() {
    let place = |host: &str| SshHost {
        host: host.to_owned(),
        user: None,
        port: None,
        host_key: SshHostKey::default(),
    };
    let pulled = |host: &str, target| AutoSyncPolicy {
        origin: SyncOrigin::Ssh(place(host)),
        ..policy("tank/home", target)
    };
    assert_eq!(faults(&pulled("nas", "dozer/home")), []);
    // The same name on another host is another dataset.
    assert_eq!(faults(&pulled("nas", "tank/home")), []);
    assert_eq!(faults(&pulled("-oX", "dozer/home")), [SyncFault::Host { host: "-oX".to_owned() }]);
    let target = SyncTarget::Peer { peer: "south".to_owned(), dataset: "dozer/home".to_owned() };
    let both = AutoSyncPolicy { target, ..pulled("nas", "x/y") };
    assert_eq!(faults(&both), [SyncFault::NothingHere]);
    let of_peer = |peer: &str| AutoSyncPolicy {
        origin: SyncOrigin::Peer { peer: peer.to_owned() },
        ..policy("tank/home", "tank/home")
    };
    assert_eq!(faults(&of_peer("far")), []);
    for bad in ["", "Far", "a/b", "-o X"] {
        assert_eq!(faults(&of_peer(bad)), [SyncFault::Peer { peer: bad.to_owned() }], "{bad}");
    }
}

#[test]
fn a_policy_of_before_there_was_pulling_is_read_and_written_as_it_was() {
    let before = policy("tank/home", "dozer/home");
    let text = serde_json::to_string(&before).expect("it is written");
    assert!(!text.contains("origin"), "{text}");
    assert_eq!(serde_json::from_str::<AutoSyncPolicy>(&text).expect("it is read"), before);
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

#[test]
fn the_lowest_limit_that_is_in_force_counts() {
    let with = |limits: Vec<SyncLimit>| AutoSyncPolicy { limits, ..policy("tank", "backup/tank") };
    let day = Some(Window { from: 8 * 60, until: 18 * 60 });
    let limits = vec![SyncLimit { bytes: 1 << 20, window: day }, SyncLimit { bytes: 1 << 30, window: None }];
    let good = Policy::new("s", &with(limits), &|_| Some(TimeZone::UTC)).expect("it is good");
    let at = |hour: i64| good.rate(1_795_824_000 + hour * 3_600);
    assert_eq!([at(7), at(8), at(17), at(18)], [1 << 30, 1 << 20, 1 << 20, 1 << 30].map(Some));
    assert_eq!(Policy::new("s", &with(Vec::new()), &|_| Some(TimeZone::UTC)).expect("good").rate(0), None);
    let wrong = [
        SyncLimit { bytes: 65_535, window: None },
        SyncLimit { bytes: 1 << 20, window: Some(Window { from: 60, until: 60 }) },
    ];
    for limit in wrong {
        assert_eq!(faults(&with(vec![limit])), [SyncFault::Limit { low: 65_536, most: 16 }]);
    }
    assert_eq!(faults(&AutoSyncPolicy { lag: Some(0), ..policy("tank", "backup/tank") }), [SyncFault::Lag]);
}
