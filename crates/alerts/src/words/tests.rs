use api_types::{AlertCheckName, PaneMeasure, SuspendCause};

use super::*;
use crate::kinds::{check_of, key, subject, word};

/// One of each kind.
fn all() -> Vec<AlertKind> {
    let disk = || PoolDisk { pool: "tank".into(), guid: 7, name: "/dev/sdb".into() };
    let pool = || "tank".to_owned();
    vec![
        AlertKind::PoolAbsent { pool: pool() },
        AlertKind::PoolSuspended { pool: pool(), cause: Some(SuspendCause::Io) },
        AlertKind::PoolUnhealthy { pool: pool(), health: Health::Degraded },
        AlertKind::DataErrors { pool: pool(), errors: 3 },
        AlertKind::PoolFull { pool: pool(), percent: 81 },
        AlertKind::PoolFragmented { pool: pool(), percent: 71 },
        AlertKind::TooManySnapshots { dataset: "tank/a".into(), snapshots: 5_000, limit: 2_000 },
        AlertKind::OverCommitted { pool: pool(), promised: 1 << 40, room: 1 << 30 },
        AlertKind::DiskUnhealthy { disk: disk(), health: Health::Faulted },
        AlertKind::DiskErrors { disk: disk(), read: 1, write: 2, checksum: 3 },
        AlertKind::DiskSlow { disk: disk(), micros: 81_234, others: 4_000 },
        AlertKind::DiskFailing {
            device: "/dev/sdb".into(),
            model: "M".into(),
            serial: "S".into(),
            signs: vec![SmartSign::Verdict, SmartSign::Pending(8)],
        },
        AlertKind::DiskHot { device: "/dev/sdb".into(), celsius: 61 },
        AlertKind::MemoryLow { available: 1 << 20, total: 1 << 30 },
        AlertKind::CertificateEnds { fingerprint: "AA".into(), not_after: 1_795_855_205 },
        AlertKind::LinkDown { interface: "eth0".into() },
        AlertKind::UpsOnBattery { ups: "main".into(), charge: Some(80), seconds: Some(900) },
        AlertKind::UpsLow { ups: "main".into() },
        AlertKind::Stale {
            dataset: "tank/a".into(),
            newest: Some(1_795_855_205),
            limit: 86_400,
            service: None,
        },
        AlertKind::ClockJumped { seconds: -3_600 },
        AlertKind::PeerFails { peer: "south".into(), why: "'south' cannot be reached".into() },
        AlertKind::PeerClock { peer: "south".into(), ahead: -3_600 },
        AlertKind::ServiceFailed { service: "auto-snap".into(), why: "no room".into() },
        AlertKind::PaneAbove {
            worksheet: "slow writes".into(),
            pane: 2,
            measure: PaneMeasure::P99,
            value: 12_288,
            above: 10_000,
            seconds: 60,
            values: None,
        },
        AlertKind::CheckSilent { check: AlertCheckName::Smart, seconds: 200 },
        AlertKind::CheckFailed { check: AlertCheckName::Ups, why: "nobody".into() },
        AlertKind::RouteFailing { route: "mail".into(), tries: 3, why: "silence".into() },
        AlertKind::TooManyAlerts { left_out: 12 },
    ]
}

#[test]
fn every_kind_has_a_line_sentences_and_a_key_of_its_own() {
    let mut keys = std::collections::BTreeSet::new();
    for what in all() {
        let said = of(&what);
        assert!(
            !said.title.is_empty() && !said.title.contains('\n') && said.title.len() < 100,
            "{}",
            said.title
        );
        assert!(said.text.ends_with('.') || said.text.contains(": "), "{}", said.text);
        assert!(said.advice.len() > 10, "{what:?}");
        assert!(keys.insert(key(&what)) && key(&what).starts_with(word(&what)), "{what:?}");
        assert!(!subject(&what).is_empty());
        let told = serde_json::to_value(&what).expect("JSON");
        assert_eq!(told.as_object().and_then(|it| it.keys().next()).map(String::as_str), Some(word(&what)));
        assert!(!check_of(&what).word().is_empty());
    }
}

#[test]
fn what_is_said_names_numbers_as_people_do() {
    let slow = of(&all()[10]);
    assert!(slow.text.contains("takes 81.2 ms") && slow.text.contains("take 4.0 ms"), "{}", slow.text);
    let stale = of(&all()[18]);
    assert!(
        stale.text.contains("is of 2026-11-28 08:40 UTC") && stale.text.contains("allows 24 h"),
        "{}",
        stale.text
    );
    let clock = of(&all()[19]);
    assert!(clock.text.contains("was set back by 60 min"), "{}", clock.text);
    let ups = of(&all()[16]);
    assert!(ups.text.contains("80 %") && ups.text.contains("15 min"), "{}", ups.text);
}

#[test]
fn a_disk_that_is_online_again_is_not_said_to_be_repaired() {
    let why = of_cause(&ClearCause::OnlineAgain);
    assert!(why.contains("whether it was repaired is not known"), "{why}");
    assert!(of_cause(&ClearCause::ByHand { by: "ada".into() }).starts_with("ada "));
}
