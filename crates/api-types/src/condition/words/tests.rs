use super::*;

fn tell(condition: Condition, status: &str, action: &str, msgid: Option<&str>) {
    assert_eq!((&*condition.status(), condition.action(), condition.msgid()), (status, action, msgid));
}

#[test]
fn a_suspended_pool_tells_what_it_waits_for() {
    let suspended = |cause, failmode| Condition::Suspended { cause, failmode };
    let lost = "One or more devices are faulted in response to IO failures.";
    let connect = "Make sure the affected devices are connected, then run 'zpool clear'.";
    let all = [
        (FailMode::Wait, "ZFS-8000-HC"),
        (FailMode::Continue, "ZFS-8000-JQ"),
        (FailMode::Panic, "ZFS-8000-HC"),
    ];
    for (failmode, msgid) in all {
        tell(suspended(SuspendCause::Io, failmode), lost, connect, Some(msgid));
    }
    tell(
        suspended(SuspendCause::Multihost, FailMode::Continue),
        "The pool is suspended because multihost writes failed or were delayed;\n\tanother system could import the \
         pool undetected.",
        "Make sure the pool's devices are connected, then reboot your system and\n\timport the pool or run 'zpool \
         clear' to resume the pool.",
        Some("ZFS-8000-MM"),
    );
    tell(
        suspended(SuspendCause::Fault, FailMode::Wait),
        "The pool is suspended because this program met a defect of its own;\n\twhat was not on its disks by then \
         is lost.",
        "Export the pool and import it again, and report what the log and\n\t'zpool events -v' say.",
        Some("ZFS-8000-HC"),
    );
}

#[test]
fn datasets_whose_logs_are_bad_or_lost_are_named() {
    let datasets = || vec!["tank".to_owned(), "tank/home".to_owned()];
    tell(
        Condition::UnreplayableLogs { datasets: datasets() },
        "An intent log record could not be read.\n\tWaiting for administrator intervention to fix what is \
         read-only:\n\ttank\n\ttank/home",
        "Either restore the affected device(s) and run 'zpool online',\n\tor ignore the intent log records by \
         running 'zpool clear'.",
        Some("ZFS-8000-K4"),
    );
    tell(
        Condition::LostLogs { datasets: datasets() },
        "Intent log records could not be read when the pool was imported.  The\n\tlast synchronous writes may be \
         lost in:\n\ttank\n\ttank/home",
        "Check what was written last to these datasets, then run 'zpool clear'.",
        None,
    );
}

#[test]
fn data_is_resilvered_unverified_or_damaged() {
    tell(
        Condition::Resilvering,
        "One or more devices is currently being resilvered.  The pool will\n\tcontinue to function, possibly in a \
         degraded state.",
        "Wait for the resilver to complete.",
        None,
    );
    tell(
        Condition::UnverifiedRebuild,
        "One or more devices have been sequentially resilvered, scrubbing\n\tthe pool is recommended.",
        "Use 'zpool scrub' to verify all data checksums.",
        None,
    );
    tell(
        Condition::DataErrors,
        "One or more devices has experienced an error resulting in data\n\tcorruption.  Applications may be \
         affected.",
        "Restore the file in question if possible.  Otherwise restore the\n\tentire pool from backup.",
        Some("ZFS-8000-8A"),
    );
}

#[test]
fn devices_are_faulted_unavailable_in_error_offline_or_removed() {
    tell(
        Condition::DeviceFaulted,
        "One or more devices are faulted in response to persistent errors.\n\tSufficient replicas exist for the \
         pool to continue functioning in a\n\tdegraded state.",
        "Replace the faulted device, or use 'zpool clear' to mark the device\n\trepaired.",
        None,
    );
    tell(
        Condition::DeviceUnavailable,
        "One or more devices could not be opened.  Sufficient replicas exist for\n\tthe pool to continue \
         functioning in a degraded state.",
        "Attach the missing device and online it using 'zpool online'.",
        Some("ZFS-8000-2Q"),
    );
    tell(
        Condition::DeviceErrors,
        "One or more devices has experienced an unrecoverable error.  An\n\tattempt was made to correct the error.  \
         Applications are unaffected.",
        "Determine if the device needs to be replaced, and clear the errors\n\tusing 'zpool clear' or replace the \
         device with 'zpool replace'.",
        Some("ZFS-8000-9P"),
    );
    tell(
        Condition::DeviceOffline,
        "One or more devices has been taken offline by the administrator.\n\tSufficient replicas exist for the pool \
         to continue functioning in a\n\tdegraded state.",
        "Online the device using 'zpool online' or replace the device with\n\t'zpool replace'.",
        None,
    );
    tell(
        Condition::DeviceRemoved,
        "One or more devices have been removed.\n\tSufficient replicas exist for the pool to continue functioning \
         in a\n\tdegraded state.",
        "Online the device using zpool online' or replace the device with\n\t'zpool replace'.",
        None,
    );
}

#[test]
fn what_older_programs_left_is_told() {
    tell(
        Condition::Errata(Errata::OldKeys),
        "Errata #3 detected.\n\tExisting encrypted datasets contain an on-disk incompatibility\n\twhich needs to be \
         corrected.",
        "To correct the issue backup existing encrypted datasets to new\n\tencrypted datasets and destroy the old \
         ones. 'zfs mount -o ro' can\n\tbe used to temporarily mount existing encrypted datasets readonly.",
        Some("ZFS-8000-ER"),
    );
    tell(
        Condition::Errata(Errata::NoIvSets),
        "Errata #4 detected.\n\tExisting encrypted snapshots and bookmarks contain an on-disk\n\tincompatibility. \
         This may cause on-disk corruption if they are used\n\twith 'zfs recv'.",
        "To correct the issue, enable the bookmark_v2 feature. No additional\n\taction is needed if there are no \
         encrypted snapshots or bookmarks.\n\tIf preserving the encrypted snapshots and bookmarks is required, \
         use\n\ta non-raw send to backup and restore them. Alternately, they may be\n\tremoved to resolve the \
         incompatibility.",
        Some("ZFS-8000-ER"),
    );
    tell(
        Condition::LegacyVersion,
        "The pool is formatted using a legacy on-disk format.  The pool can\n\tstill be used, but some features are \
         unavailable.",
        "Upgrade the pool using 'zpool upgrade'.  Once this is done, the\n\tpool will no longer be accessible on \
         software that does not support\n\tfeature flags.",
        None,
    );
}
