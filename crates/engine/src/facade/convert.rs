//! Between the layers' types and `engine-api`'s: one function each, total.

use ::pool::PoolError;
use ::pool::rebuild::RebuildReport;
use ::pool::scan::ScanReport;
use ::pool::spa::status::{PoolReport, VdevReport};
use ::pool::sweep::LeafSweep;
use engine_api::{
    Error, ErrorScrubStatus, Health, IoCounters, RebuildState, RebuildStatus, Removal, RemovalState,
    ScanKind, ScanState, ScanStatus, Spender, SweepState, SweepStatus, VdevStatus,
};
use ondisk::prop;
use ondisk::rebuild;
use ondisk::scan::{self, STATE_CANCELED, STATE_FINISHED, STATE_SCANNING};
use ondisk::trim::{STATE_ACTIVE, STATE_COMPLETE};
use refusal::{Reason, Refused};
use storage::{LeafIo, VdevStat, VdevState};

/// What a failure below means to a caller of the interface.
pub(super) fn api_error(error: PoolError) -> Error {
    match error {
        PoolError::NotFound => Error::NotFound,
        PoolError::Exists => Error::Exists,
        PoolError::Busy => Error::Busy,
        PoolError::ReadOnly => Error::ReadOnly,
        PoolError::NoSpace => Error::NoSpace,
        PoolError::Quota => Error::Quota,
        PoolError::NameTooLong => Error::NameTooLong,
        PoolError::Corrupt(message) => Refused::because(Reason::Damaged { message }).into(),
        PoolError::Io => Error::Corrupt { object: 0, block: 0 },
        PoolError::Suspended => Error::Suspended,
        PoolError::Again => Error::Busy,
        PoolError::Invalid(what) => Error::Invalid(what),
        PoolError::Unsupported(what) => Error::Unsupported(what),
        // Who receives says more (`super::receive`).
        PoolError::Receive(failure) => {
            Refused::because(Reason::Failed { message: failure.to_string() }).into()
        }
        PoolError::Refused(refused) => Error::Refused(refused),
    }
}

pub(super) fn health(state: VdevState) -> Health {
    match state {
        VdevState::Online => Health::Online,
        VdevState::Degraded => Health::Degraded,
        VdevState::Faulted => Health::Faulted,
        VdevState::Offline => Health::Offline,
        VdevState::Unavail => Health::Unavail,
        VdevState::Removed => Health::Removed,
    }
}

/// Sum of a latency histogram's times, by the middle of each power of two.
fn nanos(histogram: &[u64; 64]) -> u64 {
    let middle = |bucket: usize| (1u64 << bucket.min(62)) + (1u64 << bucket.min(62)) / 2;
    histogram
        .iter()
        .enumerate()
        .fold(0, |sum, (bucket, count)| sum.wrapping_add(count.wrapping_mul(middle(bucket))))
}

fn counters(io: &LeafIo) -> IoCounters {
    IoCounters {
        read_ops: io.reads,
        write_ops: io.writes,
        read_bytes: io.read_bytes,
        write_bytes: io.write_bytes,
        read_nanos: nanos(&io.read_latency),
        write_nanos: nanos(&io.write_latency),
    }
}

/// `None` if there never was a scan, or one of a kind that is not known here.
pub(super) fn scan_status(report: &ScanReport) -> Option<ScanStatus> {
    let phys = &report.phys;
    let kind = match phys.func {
        scan::FUNC_SCRUB => ScanKind::Scrub,
        scan::FUNC_RESILVER => ScanKind::Resilver,
        _ => return None,
    };
    let state = match phys.state {
        scan::STATE_SCANNING if phys.is_paused() => ScanState::Paused,
        scan::STATE_SCANNING => ScanState::Running,
        scan::STATE_FINISHED => ScanState::Finished,
        scan::STATE_CANCELED => ScanState::Canceled,
        _ => return None,
    };
    Some(ScanStatus {
        kind,
        state,
        start: phys.start_time,
        end: phys.end_time,
        to_examine: phys.to_examine,
        examined: phys.examined,
        skipped: phys.skipped,
        issued: report.issued,
        processed: phys.processed,
        errors: phys.errors,
        pass_start: report.pass_start,
        pass_examined: report.pass_examined,
        pass_issued: report.pass_issued,
        paused: report.paused,
        spent_paused: report.spent_paused,
    })
}

/// `None` if there was none since the last scan.
pub(super) fn error_scrub_status(report: &ScanReport) -> Option<ErrorScrubStatus> {
    let phys = &report.errors;
    let state = match phys.state {
        scan::STATE_ERRORSCRUBBING if phys.is_paused() => ScanState::Paused,
        scan::STATE_ERRORSCRUBBING => ScanState::Running,
        scan::STATE_FINISHED => ScanState::Finished,
        scan::STATE_CANCELED => ScanState::Canceled,
        _ => return None,
    };
    Some(ErrorScrubStatus {
        state,
        start: phys.start_time,
        end: phys.end_time,
        to_examine: phys.to_examine,
        examined: phys.examined,
        paused: if phys.is_paused() { report.errors_paused } else { 0 },
    })
}

/// `None` if there never was one.
fn rebuild_status(report: &RebuildReport) -> Option<RebuildStatus> {
    let phys = &report.phys;
    let state = match phys.state {
        rebuild::STATE_ACTIVE => RebuildState::Running,
        rebuild::STATE_CANCELED => RebuildState::Canceled,
        rebuild::STATE_COMPLETE => RebuildState::Finished,
        _ => return None,
    };
    Some(RebuildStatus {
        state,
        start: phys.start_time,
        end: phys.end_time,
        took: phys.scan_time_ms,
        to_scan: phys.estimated,
        scanned: phys.scanned,
        issued: phys.issued,
        rebuilt: phys.rebuilt,
        errors: phys.errors,
        pass_took: report.pass_ms,
        pass_scanned: report.pass_scanned,
        pass_issued: report.pass_issued,
    })
}

/// `scan` is the kind of the scan that runs.
pub(super) fn vdev_status(report: &VdevReport, scan: Option<ScanKind>) -> VdevStatus {
    status_within(report, scan, report.size)
}

/// `space` is that of the top-level vdev which it is, or is below.
fn status_within(report: &VdevReport, scan: Option<ScanKind>, space: u64) -> VdevStatus {
    let stat = &report.stat;
    let rebuild = report.rebuild.as_ref().and_then(rebuild_status);
    let rebuilds = rebuild.is_some_and(|rebuild| rebuild.state == RebuildState::Running);
    let scan = if rebuilds { Some(ScanKind::Resilver) } else { scan };
    VdevStatus {
        name: report.name.clone(),
        kind: stat.kind.name().to_owned(),
        is_log: stat.is_log,
        class: stat.bias.name().map(str::to_owned),
        path: stat.path.clone(),
        guid: stat.guid,
        health: health(stat.state),
        note: note(report).or_else(|| scan_note(stat, scan)),
        ashift: report.ashift,
        read_errors: stat.read_errors,
        write_errors: stat.write_errors,
        checksum_errors: stat.checksum_errors,
        allocated: report.allocated,
        size: report.size,
        physical: report.physical,
        fragmentation: report.fragmentation,
        rebuild,
        trim: sweep(report.trim, report.can_trim, space),
        initialize: sweep(report.initialize, stat.kind.is_leaf(), space),
        expandable: report.expandable,
        checkpoint: report.checkpoint,
        used_by: report.used_by.clone(),
        io: counters(&stat.io),
        children: report
            .children
            .iter()
            .map(|child| status_within(child, scan, if child.size > 0 { child.size } else { space }))
            .collect(),
    }
}

/// How far a disk is: `space` is that of its top-level vdev, which it goes over.
fn sweep(sweep: Option<LeafSweep>, supported: bool, space: u64) -> SweepStatus {
    let Some(sweep) = sweep else { return SweepStatus { supported, ..SweepStatus::default() } };
    let state = match sweep.state {
        STATE_ACTIVE => SweepState::Running,
        ondisk::trim::STATE_SUSPENDED => SweepState::Suspended,
        ondisk::trim::STATE_CANCELED => SweepState::Canceled,
        STATE_COMPLETE => SweepState::Complete,
        _ => SweepState::Never,
    };
    let percent = (u128::from(sweep.next) * 100 / (u128::from(space) + 1)).min(100) as u8;
    let percent = if state == SweepState::Complete { 100 } else { percent };
    SweepStatus { state, percent, time: sweep.time, supported }
}

/// The last removal of a top-level vdev; `None` if none ever began.
pub(super) fn removal(report: &PoolReport) -> Option<Removal> {
    let (last, mapping) = report.removal?;
    let state = match last.state {
        STATE_SCANNING => RemovalState::Running,
        STATE_FINISHED => RemovalState::Finished,
        STATE_CANCELED => RemovalState::Canceled,
        _ => return None,
    };
    let named = report.root.children.iter().find(|top| top.id == last.removing_vdev);
    Some(Removal {
        state,
        vdev: last.removing_vdev,
        name: named.map(|top| top.name.clone()).unwrap_or_default(),
        start: last.start_time,
        end: last.end_time,
        to_copy: last.to_copy,
        copied: last.copied,
        mapping,
    })
}

/// A hot spare of the pool of this name.
pub(super) fn spare_status(report: &VdevReport, pool: &str) -> VdevStatus {
    let status = vdev_status(report, None);
    let user = |user: &String| match user == pool {
        true => "currently in use".to_owned(),
        false => format!("in use by pool '{user}'"),
    };
    VdevStatus { note: report.used_by.as_ref().map(user).or_else(|| status.note.clone()), ..status }
}

/// What it writes behind a disk that a scan has rewritten something on (`print_status_config`).
fn scan_note(stat: &VdevStat, scan: Option<ScanKind>) -> Option<String> {
    let what = match scan? {
        ScanKind::Scrub => "(repairing)",
        ScanKind::Resilver => "(resilvering)",
    };
    (stat.children.is_empty() && stat.scan_processed > 0).then(|| what.to_owned())
}

/// What `zpool status` writes behind a vdev that is not well.
fn note(report: &VdevReport) -> Option<String> {
    let why = if report.is_condemned { "external device fault" } else { "too many errors" };
    match report.stat.state {
        VdevState::Degraded if report.stat.is_worn => Some(why.into()),
        VdevState::Faulted => Some(why.into()),
        VdevState::Unavail => Some("cannot open".into()),
        VdevState::Online | VdevState::Degraded | VdevState::Offline | VdevState::Removed => None,
    }
}

pub(super) fn spender(of: Spender) -> prop::Spender {
    match of {
        Spender::User => prop::Spender::User,
        Spender::Group => prop::Spender::Group,
        Spender::Project => prop::Spender::Project,
    }
}

/// A vdev of which no more is known.
pub(super) fn blank_vdev(guid: u64, health: Health) -> VdevStatus {
    VdevStatus {
        name: String::new(),
        kind: String::new(),
        is_log: false,
        class: None,
        path: None,
        guid,
        health,
        note: None,
        ashift: 0,
        read_errors: 0,
        write_errors: 0,
        checksum_errors: 0,
        allocated: 0,
        size: 0,
        physical: 0,
        fragmentation: None,
        rebuild: None,
        trim: Default::default(),
        initialize: Default::default(),
        expandable: 0,
        checkpoint: 0,
        used_by: None,
        io: Default::default(),
        children: Vec::new(),
    }
}

#[cfg(test)]
mod tests;
