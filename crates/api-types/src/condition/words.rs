//! OpenZFS's words about a pool's condition. Ours where it has none.
//!
//! Sources: cmd/zpool/zpool_main.c (`print_status_reason`), lib/libzfs/libzfs_status.c
//! (`zfs_msgid_table`).

mod import;

use std::borrow::Cow;

use super::{Condition, Errata, FailMode, SuspendCause};

impl Condition {
    /// What is wrong, with the line breaks of `zpool status`.
    pub fn status(&self) -> Cow<'_, str> {
        Cow::Borrowed(match self {
            Condition::Suspended { cause, .. } => suspended(*cause).0,
            // OpenZFS's words, but for what is waited for: the pool goes on.
            Condition::UnreplayableLogs { datasets } => {
                return Cow::Owned(format!(
                    "An intent log record could not be read.\n\tWaiting for administrator intervention to fix \
                     what is read-only:\n\t{}",
                    datasets.join("\n\t")
                ));
            }
            Condition::Resilvering => {
                "One or more devices is currently being resilvered.  The pool will\n\tcontinue to function, \
                 possibly in a degraded state."
            }
            Condition::UnverifiedRebuild => {
                "One or more devices have been sequentially resilvered, scrubbing\n\tthe pool is recommended."
            }
            Condition::LostLogs { datasets } => {
                return Cow::Owned(format!(
                    "Intent log records could not be read when the pool was imported.  The\n\tlast synchronous \
                     writes may be lost in:\n\t{}",
                    datasets.join("\n\t")
                ));
            }
            Condition::DataErrors => {
                "One or more devices has experienced an error resulting in data\n\tcorruption.  Applications may \
                 be affected."
            }
            Condition::DeviceFaulted => {
                "One or more devices are faulted in response to persistent errors.\n\tSufficient replicas exist \
                 for the pool to continue functioning in a\n\tdegraded state."
            }
            Condition::DeviceUnavailable => {
                "One or more devices could not be opened.  Sufficient replicas exist for\n\tthe pool to continue \
                 functioning in a degraded state."
            }
            Condition::DeviceErrors => {
                "One or more devices has experienced an unrecoverable error.  An\n\tattempt was made to correct \
                 the error.  Applications are unaffected."
            }
            Condition::DeviceOffline => {
                "One or more devices has been taken offline by the administrator.\n\tSufficient replicas exist \
                 for the pool to continue functioning in a\n\tdegraded state."
            }
            Condition::DeviceRemoved => {
                "One or more devices have been removed.\n\tSufficient replicas exist for the pool to continue \
                 functioning in a\n\tdegraded state."
            }
            Condition::Errata(errata) => {
                let what = about_errata(*errata).0;
                return Cow::Owned(format!("Errata #{} detected.\n\t{what}", *errata as u32));
            }
            Condition::LegacyVersion => {
                "The pool is formatted using a legacy on-disk format.  The pool can\n\tstill be used, but some \
                 features are unavailable."
            }
            Condition::Other { status, .. } => status.as_str(),
        })
    }

    /// What to do about it, likewise.
    pub fn action(&self) -> &str {
        match self {
            Condition::Suspended { cause, .. } => suspended(*cause).1,
            Condition::UnreplayableLogs { .. } => {
                "Either restore the affected device(s) and run 'zpool online',\n\tor ignore the intent log records \
                 by running 'zpool clear'."
            }
            Condition::Resilvering => "Wait for the resilver to complete.",
            Condition::UnverifiedRebuild => "Use 'zpool scrub' to verify all data checksums.",
            Condition::LostLogs { .. } => {
                "Check what was written last to these datasets, then run 'zpool clear'."
            }
            Condition::DataErrors => {
                "Restore the file in question if possible.  Otherwise restore the\n\tentire pool from backup."
            }
            Condition::DeviceFaulted => {
                "Replace the faulted device, or use 'zpool clear' to mark the device\n\trepaired."
            }
            Condition::DeviceUnavailable => "Attach the missing device and online it using 'zpool online'.",
            Condition::DeviceErrors => {
                "Determine if the device needs to be replaced, and clear the errors\n\tusing 'zpool clear' or \
                 replace the device with 'zpool replace'."
            }
            Condition::DeviceOffline => {
                "Online the device using 'zpool online' or replace the device with\n\t'zpool replace'."
            }
            Condition::DeviceRemoved => {
                "Online the device using zpool online' or replace the device with\n\t'zpool replace'."
            }
            Condition::Errata(errata) => about_errata(*errata).1,
            Condition::LegacyVersion => {
                "Upgrade the pool using 'zpool upgrade'.  Once this is done, the\n\tpool will no longer be \
                 accessible on software that does not support\n\tfeature flags."
            }
            Condition::Other { action, .. } => action,
        }
    }

    /// The name of OpenZFS's page about it, where there is one.
    pub fn msgid(&self) -> Option<&str> {
        Some(match self {
            Condition::Suspended { cause: SuspendCause::Multihost, .. } => "ZFS-8000-MM",
            Condition::Suspended { failmode: FailMode::Continue, .. } => "ZFS-8000-JQ",
            Condition::Suspended { .. } => "ZFS-8000-HC",
            Condition::UnreplayableLogs { .. } => "ZFS-8000-K4",
            Condition::DataErrors => "ZFS-8000-8A",
            Condition::DeviceUnavailable => "ZFS-8000-2Q",
            Condition::DeviceErrors => "ZFS-8000-9P",
            Condition::Errata(_) => "ZFS-8000-ER",
            Condition::Other { msgid, .. } => return msgid.as_deref(),
            Condition::Resilvering
            | Condition::UnverifiedRebuild
            | Condition::LostLogs { .. }
            | Condition::DeviceFaulted
            | Condition::DeviceOffline
            | Condition::DeviceRemoved
            | Condition::LegacyVersion => return None,
        })
    }
}

/// What is wrong, and what to do.
fn suspended(cause: SuspendCause) -> (&'static str, &'static str) {
    match cause {
        SuspendCause::Multihost => (
            "The pool is suspended because multihost writes failed or were delayed;\n\tanother system could import \
             the pool undetected.",
            "Make sure the pool's devices are connected, then reboot your system and\n\timport the pool or run \
             'zpool clear' to resume the pool.",
        ),
        SuspendCause::Fault => (
            "The pool is suspended because this program met a defect of its own;\n\twhat was not on its disks by \
             then is lost.",
            "Export the pool and import it again, and report what the log and\n\t'zpool events -v' say.",
        ),
        SuspendCause::Io => (
            "One or more devices are faulted in response to IO failures.",
            "Make sure the affected devices are connected, then run 'zpool clear'.",
        ),
    }
}

/// What is wrong, and what to do.
fn about_errata(errata: Errata) -> (&'static str, &'static str) {
    match errata {
        Errata::OldKeys => (
            "Existing encrypted datasets contain an on-disk incompatibility\n\twhich needs to be corrected.",
            "To correct the issue backup existing encrypted datasets to new\n\tencrypted datasets and destroy the \
             old ones. 'zfs mount -o ro' can\n\tbe used to temporarily mount existing encrypted datasets readonly.",
        ),
        Errata::NoIvSets => (
            "Existing encrypted snapshots and bookmarks contain an on-disk\n\tincompatibility. This may cause \
             on-disk corruption if they are used\n\twith 'zfs recv'.",
            "To correct the issue, enable the bookmark_v2 feature. No additional\n\taction is needed if there are \
             no encrypted snapshots or bookmarks.\n\tIf preserving the encrypted snapshots and bookmarks is \
             required, use\n\ta non-raw send to backup and restore them. Alternately, they may be\n\tremoved to \
             resolve the incompatibility.",
        ),
    }
}

#[cfg(test)]
mod tests;
