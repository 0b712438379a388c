use api_types::{FailMode, IoCounters, SuspendCause, SweepStatus};

use super::*;

pub fn vdev(name: &str, kind: &str, guid: u64, children: Vec<VdevStatus>) -> VdevStatus {
    VdevStatus {
        name: name.to_owned(),
        kind: kind.to_owned(),
        is_log: false,
        class: None,
        path: children.is_empty().then(|| format!("/dev/{name}")),
        guid,
        health: Health::Online,
        note: None,
        ashift: 12,
        read_errors: 0,
        write_errors: 0,
        checksum_errors: 0,
        allocated: 0,
        size: 0,
        physical: 0,
        fragmentation: None,
        rebuild: None,
        trim: SweepStatus::default(),
        initialize: SweepStatus::default(),
        expandable: 0,
        checkpoint: 0,
        used_by: None,
        io: IoCounters::default(),
        children,
    }
}

/// A mirror of two, or a raidz2 of four.
pub fn pool(kind: &str) -> PoolStatus {
    let count = if kind == "mirror" { 2 } else { 4 };
    let disks = (0..count).map(|n| vdev(&format!("sd{n}"), "disk", 10 + n, Vec::new())).collect();
    let name = if kind == "mirror" { "mirror-0" } else { "raidz2-0" };
    let mut root = vdev("tank", "root", 1, vec![vdev(name, kind, 2, disks)]);
    (root.allocated, root.size, root.fragmentation) = (10, 100, Some(5));
    PoolStatus {
        name: "tank".into(),
        guid: 1,
        health: Health::Online,
        txg: 4,
        root,
        cache: Vec::new(),
        spares: Vec::new(),
        condition: None,
        scan: None,
        error_scrub: None,
        removal: None,
        checkpoint: None,
        dedup: Default::default(),
        rewound: None,
        data_errors: 0,
        readonly: false,
    }
}

fn seen(pool: PoolStatus) -> Pools {
    Pools { imported: vec![pool], ..Pools::default() }
}

/// What would be raised.
fn firm(pool: &PoolStatus) -> Vec<(Severity, AlertKind)> {
    let findings = seen(pool.clone()).findings(&AlertSettings::default());
    findings.into_iter().filter(|it| it.is_firm).map(|it| (it.severity, it.what)).collect()
}

fn lose(pool: &mut PoolStatus, index: usize, health: Health) {
    pool.root.children[0].children[index].health = health;
    pool.health = Health::Degraded;
}

#[test]
fn one_trouble_is_one_alert() {
    let mut tank = pool("mirror");
    assert!(firm(&tank).is_empty());
    lose(&mut tank, 1, Health::Faulted);
    tank.root.children[0].children[1].write_errors = 12;
    let found = firm(&tank);
    assert!(
        matches!(&found[..], [(Severity::Critical, AlertKind::DiskUnhealthy { disk, health: Health::Faulted })]
            if disk.guid == 11),
        "a mirror of one is a failure away from loss: {found:?}"
    );
    tank.health = Health::Suspended;
    tank.condition = Some(Condition::Suspended { cause: SuspendCause::Io, failmode: FailMode::Wait });
    let found = firm(&tank);
    assert!(matches!(&found[..], [(Severity::Critical, AlertKind::PoolSuspended { .. })]), "{found:?}");
    (tank.health, tank.condition) = (Health::Unavail, None);
    let found = firm(&tank);
    assert!(
        matches!(&found[..], [(_, AlertKind::PoolUnhealthy { health: Health::Unavail, .. })]),
        "{found:?}"
    );
    // Degraded, and no disk says why.
    let mut odd = pool("mirror");
    odd.health = Health::Degraded;
    let found = firm(&odd);
    assert!(matches!(&found[..], [(Severity::Error, AlertKind::PoolUnhealthy { .. })]), "{found:?}");
}

#[test]
fn how_bad_a_lost_disk_is_follows_from_what_is_left() {
    let severity = |lost: &[usize], health| {
        let mut tank = pool("raidz");
        lost.iter().for_each(|index| lose(&mut tank, *index, health));
        firm(&tank)[0].0
    };
    assert_eq!(severity(&[0], Health::Unavail), Severity::Error);
    assert_eq!(severity(&[0, 3], Health::Unavail), Severity::Critical);
    assert_eq!(severity(&[0], Health::Offline), Severity::Warning, "somebody wanted it");
    let mut cached = pool("raidz");
    cached.cache.push(VdevStatus { health: Health::Faulted, ..vdev("c", "disk", 99, Vec::new()) });
    assert_eq!(firm(&cached)[0].0, Severity::Error, "no data is lost with a cache device");
}

#[test]
fn space_is_judged_by_three_limits_and_let_go_below_the_first() {
    let percent = |percent: u64| {
        let mut tank = pool("mirror");
        tank.root.allocated = percent;
        seen(tank).findings(&AlertSettings::default())
    };
    assert!(percent(77).is_empty());
    let near = percent(78);
    assert!(!near[0].is_firm && near.len() == 1);
    for (used, severity) in [(80, Severity::Warning), (90, Severity::Error), (96, Severity::Critical)] {
        assert_eq!((percent(used)[0].severity, percent(used)[0].is_firm), (severity, true));
    }
    let mut empty = pool("mirror");
    (empty.root.size, empty.root.fragmentation) = (0, None);
    assert!(seen(empty).findings(&AlertSettings::default()).is_empty(), "a pool of no size divides nothing");
}

#[test]
fn errors_are_told_of_a_disk_that_works_and_data_that_is_lost_always() {
    let mut tank = pool("mirror");
    tank.root.children[0].children[0].checksum_errors = 4;
    tank.data_errors = 2;
    let found = firm(&tank);
    assert!(matches!(found[0], (Severity::Warning, AlertKind::DiskErrors { checksum: 4, .. })), "{found:?}");
    assert!(matches!(found[1], (Severity::Critical, AlertKind::DataErrors { errors: 2, .. })), "{found:?}");
}

#[test]
fn why_it_is_over_is_said_as_far_as_it_is_known() {
    let disk = |guid| PoolDisk { pool: "tank".into(), guid, name: "sd1".into() };
    let unhealthy = |guid| AlertKind::DiskUnhealthy { disk: disk(guid), health: Health::Faulted };
    let here = seen(pool("mirror"));
    assert_eq!(here.cause(&unhealthy(11)), Some(ClearCause::OnlineAgain));
    assert_eq!(here.cause(&unhealthy(77)), Some(ClearCause::LeftPool));
    let errors = AlertKind::DiskErrors { disk: disk(11), read: 1, write: 0, checksum: 0 };
    assert_eq!(here.cause(&errors), Some(ClearCause::CountersReset));
    let full = AlertKind::PoolFull { pool: "tank".into(), percent: 80 };
    assert_eq!(here.cause(&full), Some(ClearCause::WithinLimits));
    assert_eq!(Pools::default().cause(&full), Some(ClearCause::PoolGone));
    let to_come = Pools { to_come: vec!["tank".into()], ..Pools::default() };
    assert_eq!(to_come.cause(&full), None, "what is still being imported is not gone");
    let absent = Pools { absent: vec!["tank".into()], ..Pools::default() };
    let found = absent.findings(&AlertSettings::default());
    assert!(matches!(&found[0].what, AlertKind::PoolAbsent { pool } if pool == "tank"));
}
