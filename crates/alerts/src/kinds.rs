//! What each kind of alert is about: its subject, its key, the check that finds it, and for how
//! long something has to be so.

use api_types::{AlertCheckName as Check, AlertKind, PoolDisk};

/// What it is about, as people call it.
pub fn subject(what: &AlertKind) -> String {
    let of_disk = |disk: &PoolDisk| format!("{} {}", disk.pool, disk.name);
    match what {
        AlertKind::PoolAbsent { pool }
        | AlertKind::PoolSuspended { pool, .. }
        | AlertKind::PoolUnhealthy { pool, .. }
        | AlertKind::DataErrors { pool, .. }
        | AlertKind::PoolFull { pool, .. }
        | AlertKind::PoolFragmented { pool, .. }
        | AlertKind::OverCommitted { pool, .. } => pool.clone(),
        AlertKind::TooManySnapshots { dataset, .. } | AlertKind::Stale { dataset, .. } => dataset.clone(),
        AlertKind::DiskUnhealthy { disk, .. }
        | AlertKind::DiskErrors { disk, .. }
        | AlertKind::DiskSlow { disk, .. } => of_disk(disk),
        AlertKind::DiskFailing { device, .. } | AlertKind::DiskHot { device, .. } => device.clone(),
        AlertKind::MemoryLow { .. } => "memory".to_owned(),
        AlertKind::CertificateEnds { .. } => "certificate of HTTPS".to_owned(),
        AlertKind::LinkDown { interface } => interface.clone(),
        AlertKind::UpsOnBattery { ups, .. } | AlertKind::UpsLow { ups } => ups.clone(),
        AlertKind::ClockJumped { .. } => "clock".to_owned(),
        AlertKind::ServiceFailed { service, .. } => service.clone(),
        AlertKind::ReplicaLags { service, dataset, .. } => format!("{service}: {dataset}"),
        AlertKind::PeerFails { peer, .. } | AlertKind::PeerClock { peer, .. } => format!("peer {peer}"),
        AlertKind::PaneAbove { worksheet, pane, .. } => format!("worksheet {worksheet}, pane {pane}"),
        AlertKind::CheckSilent { check, .. } | AlertKind::CheckFailed { check, .. } => {
            format!("check {}", check.word())
        }
        AlertKind::RouteFailing { route, .. } => format!("route {route}"),
        AlertKind::TooManyAlerts { .. } => "alerts".to_owned(),
    }
}

/// The kind in one word.
pub fn word(what: &AlertKind) -> &'static str {
    match what {
        AlertKind::PoolAbsent { .. } => "pool-absent",
        AlertKind::PoolSuspended { .. } => "pool-suspended",
        AlertKind::PoolUnhealthy { .. } => "pool-unhealthy",
        AlertKind::DataErrors { .. } => "data-errors",
        AlertKind::PoolFull { .. } => "pool-full",
        AlertKind::PoolFragmented { .. } => "pool-fragmented",
        AlertKind::TooManySnapshots { .. } => "too-many-snapshots",
        AlertKind::OverCommitted { .. } => "over-committed",
        AlertKind::DiskUnhealthy { .. } => "disk-unhealthy",
        AlertKind::DiskErrors { .. } => "disk-errors",
        AlertKind::DiskSlow { .. } => "disk-slow",
        AlertKind::DiskFailing { .. } => "disk-failing",
        AlertKind::DiskHot { .. } => "disk-hot",
        AlertKind::MemoryLow { .. } => "memory-low",
        AlertKind::CertificateEnds { .. } => "certificate-ends",
        AlertKind::LinkDown { .. } => "link-down",
        AlertKind::UpsOnBattery { .. } => "ups-on-battery",
        AlertKind::UpsLow { .. } => "ups-low",
        AlertKind::Stale { .. } => "stale",
        AlertKind::ClockJumped { .. } => "clock-jumped",
        AlertKind::ReplicaLags { .. } => "replica-lags",
        AlertKind::PeerFails { .. } => "peer-fails",
        AlertKind::PeerClock { .. } => "peer-clock",
        AlertKind::ServiceFailed { .. } => "service-failed",
        AlertKind::PaneAbove { .. } => "pane-above",
        AlertKind::CheckSilent { .. } => "check-silent",
        AlertKind::CheckFailed { .. } => "check-failed",
        AlertKind::RouteFailing { .. } => "route-failing",
        AlertKind::TooManyAlerts { .. } => "too-many-alerts",
    }
}

/// What tells alerts apart: of one key there is at most one open. Disks are told by their guids,
/// for paths change.
pub fn key(what: &AlertKind) -> String {
    let about = match what {
        AlertKind::DiskUnhealthy { disk, .. }
        | AlertKind::DiskErrors { disk, .. }
        | AlertKind::DiskSlow { disk, .. } => format!("{}/{}", disk.pool, disk.guid),
        AlertKind::DiskFailing { device, serial, .. } if !serial.is_empty() => format!("{device}/{serial}"),
        other => subject(other),
    };
    format!("{}:{about}", word(what))
}

/// Who finds it.
pub fn check_of(what: &AlertKind) -> Check {
    match what {
        AlertKind::PoolAbsent { .. }
        | AlertKind::PoolSuspended { .. }
        | AlertKind::PoolUnhealthy { .. }
        | AlertKind::DataErrors { .. }
        | AlertKind::PoolFull { .. }
        | AlertKind::PoolFragmented { .. }
        | AlertKind::DiskUnhealthy { .. }
        | AlertKind::DiskErrors { .. } => Check::Pools,
        AlertKind::DiskSlow { .. } => Check::Speed,
        AlertKind::TooManySnapshots { .. } | AlertKind::OverCommitted { .. } | AlertKind::Stale { .. } => {
            Check::Datasets
        }
        AlertKind::DiskFailing { .. } | AlertKind::DiskHot { .. } => Check::Smart,
        AlertKind::MemoryLow { .. } => Check::Memory,
        AlertKind::CertificateEnds { .. } => Check::Certificate,
        AlertKind::LinkDown { .. } => Check::Network,
        AlertKind::UpsOnBattery { .. } | AlertKind::UpsLow { .. } => Check::Ups,
        AlertKind::ClockJumped { .. } => Check::Clock,
        AlertKind::ReplicaLags { .. } | AlertKind::ServiceFailed { .. } => Check::Services,
        AlertKind::PeerFails { .. } | AlertKind::PeerClock { .. } => Check::Peers,
        AlertKind::PaneAbove { .. } => Check::Analytics,
        AlertKind::CheckSilent { .. } | AlertKind::CheckFailed { .. } | AlertKind::TooManyAlerts { .. } => {
            Check::Checks
        }
        AlertKind::RouteFailing { .. } => Check::Delivery,
    }
}

/// Seconds for which something has to be found before it is an alert, and to be away before the
/// alert is over: none for a state that the engine knows, some for what is measured.
pub fn holds(what: &AlertKind) -> (u64, u64) {
    match what {
        AlertKind::DiskSlow { .. } => (240, 600),
        AlertKind::MemoryLow { .. } => (120, 300),
        AlertKind::PeerFails { .. } => (120, 0),
        AlertKind::LinkDown { .. } => (20, 60),
        AlertKind::UpsOnBattery { .. } => (0, 30),
        AlertKind::PoolFull { .. }
        | AlertKind::PoolFragmented { .. }
        | AlertKind::OverCommitted { .. }
        | AlertKind::DiskHot { .. } => (0, 120),
        AlertKind::CheckFailed { .. } => (100, 0),
        AlertKind::PoolAbsent { .. }
        | AlertKind::PoolSuspended { .. }
        | AlertKind::PoolUnhealthy { .. }
        | AlertKind::DataErrors { .. }
        | AlertKind::TooManySnapshots { .. }
        | AlertKind::DiskUnhealthy { .. }
        | AlertKind::DiskErrors { .. }
        | AlertKind::DiskFailing { .. }
        | AlertKind::CertificateEnds { .. }
        | AlertKind::UpsLow { .. }
        | AlertKind::Stale { .. }
        | AlertKind::ClockJumped { .. }
        | AlertKind::ReplicaLags { .. }
        | AlertKind::PeerClock { .. }
        | AlertKind::ServiceFailed { .. }
        | AlertKind::PaneAbove { .. }
        | AlertKind::CheckSilent { .. }
        | AlertKind::RouteFailing { .. }
        | AlertKind::TooManyAlerts { .. } => (0, 0),
    }
}

/// The pool that it is about.
pub fn pool(what: &AlertKind) -> Option<&str> {
    let of_dataset = |dataset: &str| dataset.find(['/', '@']).unwrap_or(dataset.len());
    match what {
        AlertKind::PoolAbsent { pool }
        | AlertKind::PoolSuspended { pool, .. }
        | AlertKind::PoolUnhealthy { pool, .. }
        | AlertKind::DataErrors { pool, .. }
        | AlertKind::PoolFull { pool, .. }
        | AlertKind::PoolFragmented { pool, .. }
        | AlertKind::OverCommitted { pool, .. } => Some(pool),
        AlertKind::DiskUnhealthy { disk, .. }
        | AlertKind::DiskErrors { disk, .. }
        | AlertKind::DiskSlow { disk, .. } => Some(&disk.pool),
        AlertKind::TooManySnapshots { dataset, .. } | AlertKind::Stale { dataset, .. } => {
            Some(&dataset[..of_dataset(dataset)])
        }
        _ => None,
    }
}
