//! What `zpool status` says of a pool as a whole: the first thing wrong that an operator should
//! know.
//!
//! Source: lib/libzfs/libzfs_status.c (`check_status`: the order).

use ::pool::spa::status::{PoolReport, VdevReport};
use engine_api::{Condition, FailMode, Health, ScanKind, ScanState, ScanStatus, SuspendCause};
use ondisk::rebuild::STATE_COMPLETE;
use ondisk::version;
use storage::{Cause, VdevState};

/// `unreplayable`: datasets whose intent logs cannot be replayed. `stays_legacy`: no newer version
/// is wanted.
pub(super) fn of(
    report: &PoolReport,
    (health, mode): (Health, storage::FailMode),
    unreplayable: Vec<String>,
    scan: Option<&ScanStatus>,
    stays_legacy: bool,
) -> Option<Condition> {
    if health == Health::Suspended {
        return Some(suspended(report.cause, mode));
    }
    if !unreplayable.is_empty() {
        return Some(Condition::UnreplayableLogs { datasets: unreplayable });
    }
    if report.resilvering {
        return Some(Condition::Resilvering);
    }
    if is_unverified(report, scan) {
        return Some(Condition::UnverifiedRebuild);
    }
    if !report.lost_logs.is_empty() {
        return Some(Condition::LostLogs { datasets: report.lost_logs.clone() });
    }
    if report.data_errors > 0 {
        return Some(Condition::DataErrors);
    }
    let any = |wrong: &dyn Fn(&VdevReport) -> bool| find(&report.root, wrong);
    let is = |state: VdevState| move |vdev: &VdevReport| vdev.stat.state == state;
    if any(&is(VdevState::Faulted)) {
        return Some(Condition::DeviceFaulted);
    }
    if any(&is(VdevState::Unavail)) {
        return Some(Condition::DeviceUnavailable);
    }
    if any(&has_errors) {
        return Some(Condition::DeviceErrors);
    }
    if any(&is(VdevState::Offline)) {
        return Some(Condition::DeviceOffline);
    }
    if any(&is(VdevState::Removed)) {
        return Some(Condition::DeviceRemoved);
    }
    if let Some(errata) = report.errata {
        return Some(Condition::Errata(errata));
    }
    (report.version < version::FEATURES && !stays_legacy).then_some(Condition::LegacyVersion)
}

/// Of a pool that says nothing any more.
pub(super) fn faulted() -> Condition {
    suspended(Some(Cause::Fault), storage::FailMode::Wait)
}

fn suspended(cause: Option<Cause>, mode: storage::FailMode) -> Condition {
    let cause = match cause {
        Some(Cause::Multihost) => SuspendCause::Multihost,
        Some(Cause::Fault) => SuspendCause::Fault,
        Some(Cause::Io) | None => SuspendCause::Io,
    };
    let failmode = match mode {
        storage::FailMode::Wait => FailMode::Wait,
        storage::FailMode::Continue => FailMode::Continue,
        storage::FailMode::Panic => FailMode::Panic,
    };
    Condition::Suspended { cause, failmode }
}

/// Whether no scrub has ended since the last sequential resilver.
fn is_unverified(report: &PoolReport, scan: Option<&ScanStatus>) -> bool {
    let rebuilds = report.root.children.iter().filter_map(|top| top.rebuild);
    let complete = rebuilds.filter(|rebuild| rebuild.phys.state == STATE_COMPLETE);
    let Some(end) = complete.map(|rebuild| rebuild.phys.end_time).max() else { return false };
    let scrubbed = |scan: &ScanStatus| scan.kind == ScanKind::Scrub && scan.state == ScanState::Finished;
    scan.is_none_or(|scan| scrubbed(scan) && end > scan.end)
}

/// Whether something is so of any disk.
fn find(vdev: &VdevReport, wrong: &dyn Fn(&VdevReport) -> bool) -> bool {
    if vdev.stat.kind.is_leaf() { wrong(vdev) } else { vdev.children.iter().any(|child| find(child, wrong)) }
}

/// `vdev_errors`
fn has_errors(vdev: &VdevReport) -> bool {
    let stat = &vdev.stat;
    stat.state == VdevState::Degraded || stat.read_errors + stat.write_errors + stat.checksum_errors > 0
}
