//! The one place of sentences about alerts: what is said to people, and what they can do.

use crate::text::{bytes, span, utc};
use api_types::{AlertKind, ClearCause, Health, PaneMeasure, PoolDisk, SmartSign};

/// What is said of an alert.
pub struct Words {
    /// One line.
    pub title: String,
    pub text: String,
    /// What to do.
    pub advice: String,
}

fn words(title: String, text: String, advice: impl Into<String>) -> Words {
    Words { title, text, advice: advice.into() }
}

/// What is said of one of this kind.
pub fn of(what: &AlertKind) -> Words {
    match what {
        AlertKind::PoolAbsent { .. }
        | AlertKind::PoolSuspended { .. }
        | AlertKind::PoolUnhealthy { .. }
        | AlertKind::DataErrors { .. }
        | AlertKind::PoolFull { .. }
        | AlertKind::PoolFragmented { .. }
        | AlertKind::OverCommitted { .. } => of_pool(what),
        AlertKind::DiskUnhealthy { .. }
        | AlertKind::DiskErrors { .. }
        | AlertKind::DiskSlow { .. }
        | AlertKind::DiskFailing { .. }
        | AlertKind::DiskHot { .. } => of_disk(what),
        AlertKind::TooManySnapshots { .. } | AlertKind::Stale { .. } => of_dataset(what),
        AlertKind::ReplicaLags { .. }
        | AlertKind::PeerFails { .. }
        | AlertKind::PeerClock { .. }
        | AlertKind::ServiceFailed { .. } => of_service(what),
        AlertKind::PaneAbove { .. } => of_pane(what),
        _ => of_machine(what),
    }
}

fn of_pool(what: &AlertKind) -> Words {
    match what {
        AlertKind::PoolAbsent { pool } => words(
            format!("pool {pool} is not there"),
            format!("Pool {pool} was imported when the daemon last ran. It could not be imported."),
            "Look whether its disks are there: zpool import. To forget it: zpool export.",
        ),
        AlertKind::PoolSuspended { pool, .. } => words(
            format!("pool {pool} is suspended"),
            format!("Pool {pool} waits: I/O has failed beyond its redundancy. Its clients wait, too."),
            format!("Bring its disks back, then: zpool clear {pool}. See zpool status {pool}."),
        ),
        AlertKind::PoolUnhealthy { pool, health } => words(
            format!("pool {pool} is {}", health.name()),
            match health {
                Health::Degraded => format!(
                    "Pool {pool} serves all data, with less redundancy than it should have: a disk is missing, \
                     faulted or offline."
                ),
                _ => format!("Pool {pool} cannot serve all data: too many of its disks are missing."),
            },
            format!("See which disk it is, and replace it or bring it back: zpool status {pool}."),
        ),
        AlertKind::DataErrors { pool, errors } => words(
            format!("pool {pool} has damaged data"),
            format!("{errors} files or objects of pool {pool} are damaged, and no copy is good."),
            format!("See which: zpool status -v {pool}. Restore them from a backup, then scrub."),
        ),
        AlertKind::PoolFull { pool, percent } => words(
            format!("pool {pool} is {percent} % full"),
            format!(
                "{percent} % of the space of pool {pool} are in use. A full pool takes no writes, and gets slow before."
            ),
            "Destroy what is not needed, or add vdevs. cistern explain-space tells what the space is used for.",
        ),
        AlertKind::PoolFragmented { pool, percent } => words(
            format!("free space of pool {pool} is fragmented to {percent} %"),
            format!(
                "The free space of pool {pool} is in small pieces: fragmentation is {percent} %. Writes get slow."
            ),
            "Free space, or add vdevs.",
        ),
        AlertKind::OverCommitted { pool, promised, room } => words(
            format!("volumes promise more than pool {pool} has"),
            format!(
                "Volumes of pool {pool} may still grow by {}. There is room for {}. When it is used up, their clients' \
                 writes fail.",
                bytes(*promised),
                bytes(*room)
            ),
            "Add vdevs, destroy what is not needed, or reserve space for volumes that must never fail.",
        ),
        _ => unreachable!("it is about a pool"),
    }
}

fn of_disk(what: &AlertKind) -> Words {
    let named = |disk: &PoolDisk| format!("disk {} of pool {}", disk.name, disk.pool);
    match what {
        AlertKind::DiskUnhealthy { disk, health } => words(
            format!("{} is {}", named(disk), health.name()),
            match health {
                Health::Faulted => {
                    format!("The {} has erred too often, or was faulted by somebody.", named(disk))
                }
                Health::Removed | Health::Unavail => format!("The {} cannot be opened.", named(disk)),
                Health::Offline => format!("The {} was taken offline by somebody.", named(disk)),
                _ => format!("The {} is not as it should be.", named(disk)),
            },
            format!(
                "Replace it: zpool replace {0} {1} NEW-DISK. Or bring it back: zpool online {0} {1}.",
                disk.pool, disk.name
            ),
        ),
        AlertKind::DiskErrors { disk, read, write, checksum } => words(
            format!("{} has errors", named(disk)),
            format!(
                "Of the {}, {read} reads and {write} writes have failed, and {checksum} blocks did not match their \
                 checksum. What could be repaired was.",
                named(disk)
            ),
            format!("Check the disk and its cables. Then: zpool clear {}.", disk.pool),
        ),
        AlertKind::DiskSlow { disk, micros, others } => words(
            format!("{} is slow", named(disk)),
            format!(
                "An I/O of the {} takes {} ms on average. Those of the other disks of its vdev take {} ms. All of the \
                 vdev waits for it.",
                named(disk),
                millis(*micros),
                millis(*others)
            ),
            "Disks that get slow often fail soon. Check it: smartctl -a. Replace it.",
        ),
        AlertKind::DiskFailing { device, model, serial, signs } => words(
            format!("disk {device} shows signs of failure"),
            format!(
                "Disk {device} ({model}, serial number {serial}): {}.",
                signs.iter().map(sign).collect::<Vec<_>>().join("; ")
            ),
            "Have a spare disk ready, and replace it.",
        ),
        AlertKind::DiskHot { device, celsius } => words(
            format!("disk {device} is hot: {celsius} °C"),
            format!("Disk {device} has {celsius} °C. Heat shortens its life."),
            "Check fans and air flow.",
        ),
        _ => unreachable!("it is about a disk"),
    }
}

fn of_dataset(what: &AlertKind) -> Words {
    match what {
        AlertKind::TooManySnapshots { dataset, snapshots, limit } => words(
            format!("{dataset} has {snapshots} snapshots"),
            format!(
                "{dataset} has {snapshots} snapshots, more than {limit}. Listing and destroying them takes long."
            ),
            "See what takes them, and what should destroy them: zfs list -t snapshot.",
        ),
        AlertKind::Stale { dataset, newest, limit, service } => {
            let who = match service {
                Some(id) => format!("Service {id}"),
                None => "Its property org.cistern:freshness".to_owned(),
            };
            let limit = span(*limit);
            words(
                format!("{dataset} has no new snapshot"),
                match newest {
                    Some(at) => {
                        format!("The newest snapshot of {dataset} is of {}. {who} allows {limit}.", utc(*at))
                    }
                    None => format!("{dataset} has no snapshot. {who} allows {limit} without one."),
                },
                "Look at what should take snapshots of it, or send them here.",
            )
        }
        _ => unreachable!("it is about a dataset"),
    }
}

fn of_machine(what: &AlertKind) -> Words {
    match what {
        AlertKind::MemoryLow { available, total } => words(
            "memory is nearly used up".to_owned(),
            format!("Programs can have {} of {} of memory.", bytes(*available), bytes(*total)),
            "See which program takes it, or give the daemon a smaller cache (--cache).",
        ),
        AlertKind::CertificateEnds { not_after, .. } => words(
            "the certificate of HTTPS ends".to_owned(),
            format!("The certificate of HTTPS is valid until {}.", utc(*not_after)),
            "Set another one: cistern certificate set. Or see why none comes by ACME: cistern certificate show.",
        ),
        AlertKind::LinkDown { interface } => words(
            format!("interface {interface} has no carrier"),
            format!("Network interface {interface} is up and has no carrier."),
            "Check the cable, and the switch at its other end.",
        ),
        AlertKind::UpsOnBattery { ups, charge, seconds } => words(
            format!("UPS {ups} runs on battery"),
            format!(
                "UPS {ups} has no power from outside.{}{}",
                charge.map(|percent| format!(" Its battery has {percent} %.")).unwrap_or_default(),
                seconds.map(|seconds| format!(" It lasts {}.", span(seconds))).unwrap_or_default()
            ),
            "When the battery is nearly empty, the daemon exports its pools and ends, unless that is switched off.",
        ),
        AlertKind::UpsLow { ups } => words(
            format!("the battery of UPS {ups} is nearly empty"),
            format!("UPS {ups} will soon give no power."),
            "The daemon exports its pools and ends, unless that is switched off. Shut the machine down.",
        ),
        AlertKind::ClockJumped { seconds } => words(
            format!("the clock has jumped by {seconds} s"),
            format!(
                "The wall clock was set {} by {}. Schedules and alerts go by another clock; stamps of files and \
                 snapshots are what it says.",
                if *seconds < 0 { "back" } else { "forward" },
                span(seconds.unsigned_abs())
            ),
            "Check how the clock is set (NTP).",
        ),
        AlertKind::CheckSilent { check, seconds } => words(
            format!("check {} does not answer", check.word()),
            format!(
                "Check {} has looked for {} and has not ended. What it looks for is not known meanwhile; all other \
                 checks go on.",
                check.word(),
                span(*seconds)
            ),
            "What it asks does not answer: a disk, a program or a server. The daemon's log says more.",
        ),
        AlertKind::CheckFailed { check, why } => words(
            format!("check {} cannot look", check.word()),
            format!("Check {}: {why}", check.word()),
            "What it looks for is not known meanwhile.",
        ),
        AlertKind::RouteFailing { route, tries, why } => words(
            format!("messages do not arrive by route {route}"),
            format!("The last {tries} tries to send by route {route} have failed: {why}"),
            format!(
                "Check its settings, then: cistern notify test {route}. Messages wait until one arrives."
            ),
        ),
        AlertKind::TooManyAlerts { left_out } => words(
            "too many alerts".to_owned(),
            format!("{left_out} more troubles were found than there may be alerts."),
            "Look at those that are open: cistern alert list.",
        ),
        _ => unreachable!("it is about the machine"),
    }
}

/// Services, and the other appliances that they replicate to.
fn of_service(what: &AlertKind) -> Words {
    match what {
        AlertKind::ReplicaLags { service, dataset, current, limit } => {
            let limit = span(*limit);
            words(
                format!("the replica of {dataset} lags"),
                match current {
                    Some(at) => format!(
                        "The replica of {dataset} has what its source had at {}. Service {service} allows {limit}.",
                        utc(*at)
                    ),
                    None => {
                        format!("There is no replica of {dataset} yet. Service {service} allows {limit}.")
                    }
                },
                format!("See why: cistern svc show {service}."),
            )
        }
        AlertKind::PeerFails { peer, why } => words(
            format!("peer {peer} does not answer"),
            format!("What is sent to {peer} waits: {why}."),
            format!("See whether that has changed: cistern peer check {peer}."),
        ),
        AlertKind::PeerClock { peer, ahead } => words(
            format!("the clock of peer {peer} differs by {}", span(ahead.unsigned_abs())),
            format!(
                "The clock of {peer} is {} {} the one here. Stamps of snapshots are compared when people look for one.",
                span(ahead.unsigned_abs()),
                if *ahead < 0 { "behind" } else { "ahead of" },
            ),
            "Check how both clocks are set (NTP).",
        ),
        AlertKind::ServiceFailed { service, why } => words(
            format!("service {service} has failed"),
            format!("Service {service}: {why}"),
            "See its state and log.",
        ),
        _ => unreachable!("it is about a service or a peer"),
    }
}

fn of_pane(what: &AlertKind) -> Words {
    let AlertKind::PaneAbove { worksheet, pane, measure, value, above, seconds, values } = what else {
        unreachable!("it is about a pane")
    };
    let said = |number: u64| match measure {
        PaneMeasure::Operations => format!("{number} operations a second"),
        PaneMeasure::Bytes => format!("{} a second", bytes(number)),
        PaneMeasure::P99 => format!("{} ms at the 99th percentile", millis(number)),
    };
    let of = values.as_ref().map_or_else(String::new, |values| format!(" of {}", values.join(", ")));
    words(
        format!("pane {pane} of worksheet {worksheet} is above its limit"),
        format!(
            "In the last {} there were {}{of}: more than {}.",
            span(*seconds),
            said(*value),
            said(*above),
        ),
        "Open the worksheet in the console (Analytics), and drill down: cistern analytics worksheet run.",
    )
}

fn sign(sign: &SmartSign) -> String {
    match sign {
        SmartSign::Verdict => "it says itself that it fails".to_owned(),
        SmartSign::Reallocated(count) => format!("{count} sectors were replaced by spare ones"),
        SmartSign::Pending(count) => format!("{count} sectors cannot be read"),
        SmartSign::Uncorrectable(count) => format!("{count} sectors could not be read in its own tests"),
        SmartSign::MediaErrors(count) => format!("{count} errors of media"),
        SmartSign::Worn(percent) => format!("{percent} % of its endurance are used up"),
        SmartSign::SpareLow(percent) => format!("only {percent} % of its spare blocks are left"),
        SmartSign::SelfTest => "its last test of itself failed".to_owned(),
    }
}

/// Why an alert is over.
pub fn of_cause(cause: &ClearCause) -> String {
    match cause {
        ClearCause::NotFound => "it is not found any more; why is not known".to_owned(),
        ClearCause::WithinLimits => "it is within its limits again".to_owned(),
        ClearCause::OnlineAgain => {
            "the disk is online again; whether it was repaired is not known".to_owned()
        }
        ClearCause::CountersReset => {
            "its counters of errors are at zero: they were cleared, or the pool was imported anew".to_owned()
        }
        ClearCause::LeftPool => "the disk is no part of the pool any more".to_owned(),
        ClearCause::PoolGone => "the pool is not imported any more".to_owned(),
        ClearCause::DatasetGone => "the dataset is gone, or need not be fresh any more".to_owned(),
        ClearCause::SwitchedOff => "what found it was switched off".to_owned(),
        ClearCause::Expired => "it was about a moment that is past".to_owned(),
        ClearCause::Reported => "who reported it says that it is over".to_owned(),
        ClearCause::ByHand { by } => format!("{by} has cleared it"),
    }
}

fn millis(micros: u64) -> String {
    format!("{}.{}", micros / 1_000, micros % 1_000 / 100)
}

#[cfg(test)]
mod tests;
