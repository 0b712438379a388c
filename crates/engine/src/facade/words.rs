//! What `zpool status` says of a pool as a whole: the first thing wrong that an operator should
//! know, and what to do.
//!
//! Source: lib/libzfs/libzfs_status.c (`check_status`: the order; `zfs_msgid_table`),
//! cmd/zpool/zpool_main.c (`print_status_reason`: the words).

use ::pool::spa::errata::Errata;
use ::pool::spa::status::{PoolReport, VdevReport};
use engine_api::{Health, ScanKind, ScanState, ScanStatus};
use ondisk::rebuild::STATE_COMPLETE;
use ondisk::version;
use storage::{Cause, FailMode, VdevState};

/// Sentences of `zpool status`.
pub(super) struct Words {
    pub status: String,
    pub action: String,
    /// The name of OpenZFS's page about it, where there is one.
    pub msgid: Option<&'static str>,
}

impl Words {
    fn about(self, msgid: &'static str) -> Words {
        Words { msgid: Some(msgid), ..self }
    }
}

/// `unreplayable`: datasets whose intent logs cannot be replayed. `stays_legacy`: no newer version
/// is wanted.
pub(super) fn words(
    report: &PoolReport,
    (health, mode): (Health, FailMode),
    unreplayable: &[String],
    scan: Option<&ScanStatus>,
    stays_legacy: bool,
) -> Option<Words> {
    if health == Health::Suspended {
        return Some(suspended(report.cause, mode));
    }
    if !unreplayable.is_empty() {
        return Some(bad_logs(unreplayable));
    }
    if report.resilvering {
        return say(
            "One or more devices is currently being resilvered.  The pool will\n\tcontinue to function, possibly in a \
             degraded state.",
            "Wait for the resilver to complete.",
        );
    }
    if is_unverified(report, scan) {
        return say(
            "One or more devices have been sequentially resilvered, scrubbing\n\tthe pool is recommended.",
            "Use 'zpool scrub' to verify all data checksums.",
        );
    }
    if !report.lost_logs.is_empty() {
        return Some(lost_logs(&report.lost_logs));
    }
    if report.data_errors > 0 {
        return say(
            "One or more devices has experienced an error resulting in data\n\tcorruption.  Applications may be \
             affected.",
            "Restore the file in question if possible.  Otherwise restore the\n\tentire pool from backup.",
        )
        .map(|words| words.about("ZFS-8000-8A"));
    }
    let any = |wrong: &dyn Fn(&VdevReport) -> bool| find(&report.root, wrong);
    let is = |state: VdevState| move |vdev: &VdevReport| vdev.stat.state == state;
    if any(&is(VdevState::Faulted)) {
        return say(
            "One or more devices are faulted in response to persistent errors.\n\tSufficient replicas exist for the \
             pool to continue functioning in a\n\tdegraded state.",
            "Replace the faulted device, or use 'zpool clear' to mark the device\n\trepaired.",
        );
    }
    if any(&is(VdevState::Unavail)) {
        return say(
            "One or more devices could not be opened.  Sufficient replicas exist for\n\tthe pool to continue \
             functioning in a degraded state.",
            "Attach the missing device and online it using 'zpool online'.",
        )
        .map(|words| words.about("ZFS-8000-2Q"));
    }
    if any(&has_errors) {
        return say(
            "One or more devices has experienced an unrecoverable error.  An\n\tattempt was made to correct the \
             error.  Applications are unaffected.",
            "Determine if the device needs to be replaced, and clear the errors\n\tusing 'zpool clear' or \
             replace the device with 'zpool replace'.",
        )
        .map(|words| words.about("ZFS-8000-9P"));
    }
    if any(&is(VdevState::Offline)) {
        return say(
            "One or more devices has been taken offline by the administrator.\n\tSufficient replicas exist for the \
             pool to continue functioning in a\n\tdegraded state.",
            "Online the device using 'zpool online' or replace the device with\n\t'zpool replace'.",
        );
    }
    if any(&is(VdevState::Removed)) {
        return say(
            "One or more devices have been removed.\n\tSufficient replicas exist for the pool to continue \
             functioning in a\n\tdegraded state.",
            "Online the device using zpool online' or replace the device with\n\t'zpool replace'.",
        );
    }
    if let Some(errata) = report.errata {
        return Some(with_errata(errata));
    }
    if report.version < version::FEATURES && !stays_legacy {
        return say(
            "The pool is formatted using a legacy on-disk format.  The pool can\n\tstill be used, but some features \
             are unavailable.",
            "Upgrade the pool using 'zpool upgrade'.  Once this is done, the\n\tpool will no longer be accessible on \
             software that does not support\n\tfeature flags.",
        );
    }
    None
}

fn say(status: &str, action: &str) -> Option<Words> {
    Some(Words { status: status.to_owned(), action: action.to_owned(), msgid: None })
}

fn with_errata(errata: Errata) -> Words {
    let (what, action) = match errata {
        Errata::OldKeys => (
            "Existing encrypted datasets contain an on-disk incompatibility\n\twhich needs to be corrected.",
            "To correct the issue backup existing encrypted datasets to new\n\tencrypted datasets and destroy the old ones. \
             'zfs mount -o ro' can\n\tbe used to temporarily mount existing encrypted datasets readonly.",
        ),
        Errata::NoIvSets => (
            "Existing encrypted snapshots and bookmarks contain an on-disk\n\tincompatibility. This may cause on-disk \
             corruption if they are used\n\twith 'zfs recv'.",
            "To correct the issue, enable the bookmark_v2 feature. No additional\n\taction is needed if there are no \
             encrypted snapshots or bookmarks.\n\tIf preserving the encrypted snapshots and bookmarks is required, \
             use\n\ta non-raw send to backup and restore them. Alternately, they may be\n\tremoved to resolve the \
             incompatibility.",
        ),
    };
    let status = format!("Errata #{} detected.\n\t{what}", errata as u32);
    Words { status, action: action.to_owned(), msgid: Some("ZFS-8000-ER") }
}

/// Of a pool that says nothing any more.
pub(super) fn faulted() -> Words {
    suspended(Some(Cause::Fault), FailMode::Wait)
}

fn suspended(cause: Option<Cause>, mode: FailMode) -> Words {
    let msgid = match (cause, mode) {
        (Some(Cause::Multihost), _) => "ZFS-8000-MM",
        (_, FailMode::Continue) => "ZFS-8000-JQ",
        _ => "ZFS-8000-HC",
    };
    let (status, action) = match cause {
        Some(Cause::Multihost) => (
            "The pool is suspended because multihost writes failed or were delayed;\n\tanother system could import \
             the pool undetected.",
            "Make sure the pool's devices are connected, then reboot your system and\n\timport the pool or run \
             'zpool clear' to resume the pool.",
        ),
        Some(Cause::Fault) => (
            "The pool is suspended because this program met a defect of its own;\n\twhat was not on its disks by then is \
             lost.",
            "Export the pool and import it again, and report what the log and\n\t'zpool events -v' say.",
        ),
        Some(Cause::Io) | None => (
            "One or more devices are faulted in response to IO failures.",
            "Make sure the affected devices are connected, then run 'zpool clear'.",
        ),
    };
    Words { status: status.to_owned(), action: action.to_owned(), msgid: Some(msgid) }
}

/// OpenZFS's words, but for what is waited for: the pool goes on, the datasets are read-only.
fn bad_logs(datasets: &[String]) -> Words {
    let status = format!(
        "An intent log record could not be read.\n\tWaiting for administrator intervention to fix what is read-only:\n\t{}",
        datasets.join("\n\t")
    );
    let action = "Either restore the affected device(s) and run 'zpool online',\n\tor ignore the intent log records by \
                  running 'zpool clear'.";
    Words { status, action: action.to_owned(), msgid: Some("ZFS-8000-K4") }
}

/// What to say after an import without devices that held intent logs.
fn lost_logs(datasets: &[String]) -> Words {
    let status = format!(
        "Intent log records could not be read when the pool was imported.  The\n\tlast synchronous writes may be \
         lost in:\n\t{}",
        datasets.join("\n\t")
    );
    let action = "Check what was written last to these datasets, then run 'zpool clear'.";
    Words { status, action: action.to_owned(), msgid: None }
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
