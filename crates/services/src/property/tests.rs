use api_types::{
    AutoSnapPolicy, AutoSyncPolicy, Schedule, ScriptLimits, ScriptPolicy, SnapBudget, SnapNaming,
    SyncAbsence, SyncKeep, SyncOrigin, SyncTarget, UpkeepPolicy, When,
};
use stdx::prng::Prng;

use super::*;

const DAILY: Schedule = Schedule { when: When::Day { hour: 0, minute: 0 }, zone: None };

fn target(dataset: &str, guid: Option<u64>, exclude: &[&str]) -> SnapTarget {
    let exclude = exclude.iter().map(|&name| name.to_owned()).collect();
    SnapTarget { dataset: dataset.to_owned(), guid, recursive: true, exclude }
}

fn snap(targets: &[SnapTarget]) -> ServiceSpec {
    ServiceSpec::AutoSnap(AutoSnapPolicy {
        targets: targets.to_vec(),
        levels: Vec::new(),
        budget: SnapBudget::default(),
        skip_unchanged: false,
        naming: SnapNaming::default(),
        stale_after: None,
        lock: None,
    })
}

fn scrub(pools: &[&str]) -> ServiceSpec {
    let pools = pools.iter().map(|&name| name.to_owned()).collect();
    ServiceSpec::AutoScrub(UpkeepPolicy { pools, schedule: DAILY, window: None })
}

fn script() -> ServiceSpec {
    ServiceSpec::Script(ScriptPolicy {
        program: "/bin/true".into(),
        arguments: Vec::new(),
        schedule: DAILY,
        limits: ScriptLimits::default(),
    })
}

#[test]
fn a_home_is_above_all_targets_and_of_one_pool() {
    let home = |names: &[&str]| {
        let targets: Vec<SnapTarget> = names.iter().map(|name| target(name, None, &[])).collect();
        home_of(&snap(&targets))
    };
    assert_eq!(home(&["tank/a"]).as_deref(), Some("tank/a"));
    assert_eq!(home(&["tank/a/b", "tank/a/c", "tank/a"]).as_deref(), Some("tank/a"));
    assert_eq!(home(&["tank/ab", "tank/a"]).as_deref(), Some("tank"));
    assert_eq!(home(&["tank/a", "safe/a"]), None);
    assert_eq!(home(&[]), None);
    assert_eq!(home_of(&scrub(&["tank"])).as_deref(), Some("tank"));
    for none in [scrub(&[]), scrub(&["a", "b"]), script()] {
        assert_eq!(home_of(&none), None, "{none:?}");
    }
}

#[test]
fn names_are_those_below_the_home_whatever_it_is_called() {
    let spec = snap(&[target("tank/a", Some(7), &["tank/a/tmp"]), target("tank/a/b", Some(8), &[])]);
    let kept = at_home(&spec, "tank/a").expect("all of it is below");
    assert_eq!(kept, snap(&[target("", None, &["tmp"]), target("b", Some(8), &[])]));
    assert_eq!(away(&kept, "tank/a", 7), spec);
    let moved = away(&kept, "safe/x/y", 9);
    assert_eq!(
        moved,
        snap(&[target("safe/x/y", Some(9), &["safe/x/y/tmp"]), target("safe/x/y/b", Some(8), &[])])
    );
    assert_eq!(at_home(&spec, "tank/a/b"), None);
    assert_eq!(at_home(&snap(&[target("tank/ab", None, &[])]), "tank/a"), None);
    assert_eq!(at_home(&snap(&[target("tank/a", None, &["tank/b"])]), "tank/a"), None);
    let upkeep = at_home(&scrub(&["tank"]), "tank").expect("it is of a pool");
    assert_eq!((upkeep.clone(), away(&upkeep, "safe", 1)), (scrub(&[]), scrub(&["safe"])));
    assert_eq!(at_home(&script(), "tank"), None);
    let own = adopted(&Policy { disabled: true, spec: kept });
    assert_eq!(
        own,
        Policy { disabled: false, spec: snap(&[target("", None, &["tmp"]), target("b", None, &[])]) }
    );
}

#[test]
fn what_is_written_is_read_and_has_a_bound() {
    let mut policies = Policies::new();
    policies.insert("home".into(), Policy { disabled: true, spec: snap(&[target("", None, &["a b/c"])]) });
    policies.insert("scrub".into(), Policy { disabled: false, spec: scrub(&[]) });
    let text = write(&policies).expect("it is short");
    assert_eq!(parse(&text), Ok(policies.clone()));
    let many: Vec<SnapTarget> =
        (0..500).map(|number| target(&format!("d{number}"), Some(number), &[])).collect();
    policies.insert("many".into(), Policy { disabled: false, spec: snap(&many) });
    assert!(matches!(write(&policies), Err(PolicyFault::TooLong { limit: 8_191, .. })));
}

fn sync() -> ServiceSpec {
    ServiceSpec::AutoSync(AutoSyncPolicy {
        source: target("tank/a", None, &[]),
        origin: SyncOrigin::Here,
        target: SyncTarget::Pool { dataset: "dozer/a".into() },
        schedule: DAILY,
        keep: SyncKeep::default(),
        absence: SyncAbsence::default(),
        limits: Vec::new(),
        lag: None,
        stuck_after: 600,
    })
}

#[test]
fn whatever_a_pool_says_is_a_fault_or_below_its_home_and_no_program() {
    let one = |spec: &ServiceSpec| {
        let services = [("x".to_owned(), Policy { disabled: false, spec: spec.clone() })].into();
        serde_json::to_string(&Value { version: VERSION, services }).expect("JSON")
    };
    assert!(parse(&one(&snap(&[target("a/b", None, &[])]))).is_ok());
    assert_eq!(parse(&one(&script())), Err(PolicyFault::NotOfData { id: "x".into() }));
    assert_eq!(parse(&one(&sync())), Err(PolicyFault::NotOfData { id: "x".into() }));
    assert!(home_of(&sync()).is_none() && at_home(&sync(), "tank").is_none());
    assert_eq!(parse(&one(&scrub(&["other"]))), Err(PolicyFault::NotOfData { id: "x".into() }));
    for name in ["/a", "a/", "a//b", "..", "a/../b", "a@b", "a#b", "a\nb", "%recv", "/"] {
        let in_target = one(&snap(&[target(name, None, &[])]));
        let in_exclude = one(&snap(&[target("", None, &[name])]));
        for text in [in_target, in_exclude] {
            assert!(matches!(parse(&text), Err(PolicyFault::Name { .. })), "{name}");
        }
    }
    let bad_id = one(&scrub(&[])).replace("\"x\"", "\"X y\"");
    assert_eq!(parse(&bad_id), Err(PolicyFault::Id { id: "X y".into() }));
    let newer = one(&scrub(&[])).replace("\"version\":1", "\"version\":7,\"else\":{}");
    assert_eq!(parse(&newer), Err(PolicyFault::Version { found: 7, known: 1 }));
    let long = " ".repeat(9_000);
    assert!(matches!(parse(&long), Err(PolicyFault::TooLong { bytes: 9_000, .. })));
    for text in ["", "on", "[]", "{}", "{\"version\":1}", "{\"version\":1,\"services\":[]}", "\u{1b}[2J"] {
        assert!(matches!(parse(text), Err(PolicyFault::Form { .. })), "{text}");
    }
    assert!(matches!(parse(&"[".repeat(8_000)), Err(PolicyFault::Form { .. })));
    let mut random = Prng::new(5);
    let text = one(&snap(&[target("a/b", Some(u64::MAX), &["c"]), target("", None, &[])]));
    let mut read = 0;
    for _ in 0..40_000 {
        let mut bytes = text.clone().into_bytes();
        for _ in 0..=random.below(3) {
            let at = random.below(bytes.len() as u64) as usize;
            bytes[at] = random.next_u64() as u8;
        }
        let Ok(text) = String::from_utf8(bytes) else { continue };
        let Ok(policies) = parse(&text) else { continue };
        read += 1;
        for policy in policies.values() {
            for name in names(&away(&policy.spec, "tank/home", 1)) {
                assert!(name == "tank/home" || name.starts_with("tank/home/"), "{name}");
                assert!(!name.contains(".."), "{name}");
            }
        }
        assert!(parse(&write(&policies).expect("it was short")) == Ok(policies));
    }
    assert!(read > 50, "{read}");
}
