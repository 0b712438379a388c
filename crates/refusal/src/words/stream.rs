//! Sentences about streams.

use std::fmt::{self, Display, Formatter};

use crate::stream::{ReceiveFault, SendFault};

/// Some are about what is sent as a whole, others about a part of it.
pub(super) fn not_sent(f: &mut Formatter<'_>, name: &str, fault: &SendFault) -> fmt::Result {
    match fault {
        SendFault::NoSnapshot { snapshot, is_tree } => {
            let what = if *is_tree { " recursively" } else { "@" };
            write!(
                f,
                "cannot send {name}{what}: snapshot {snapshot} does not exist\n\
                 warning: cannot send '{name}': backup failed"
            )
        }
        SendFault::Circle | SendFault::NothingSaved { .. } => write!(f, "cannot send '{name}': {fault}"),
        fault => write!(f, "warning: cannot send '{name}': {fault}"),
    }
}

impl Display for SendFault {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            SendFault::NoSource { from } => {
                return write!(f, "incremental source ({from}) does not exist");
            }
            SendFault::SourceElsewhere => "incremental source must be in same filesystem",
            SendFault::NotEarlier => "not an earlier snapshot from the same fs",
            SendFault::InUse => "target is busy; if a filesystem, it must not be mounted",
            SendFault::NoObject => "No such file or directory",
            SendFault::Broken { message } | SendFault::Token { message } => message,
            SendFault::Io => "I/O error",
            SendFault::Circle => "clones in a circle",
            SendFault::NoSnapshot { snapshot, .. } => {
                return write!(f, "snapshot {snapshot} does not exist");
            }
            SendFault::NothingSaved { dataset } => {
                return write!(f, "'{dataset}' does not have any resumable receive state");
            }
            SendFault::TokenOf { name, exists: true } => {
                return write!(f, "'{name}' is no longer the same snapshot used in the initial send");
            }
            SendFault::TokenOf { name, exists: false } => {
                return write!(f, "'{name}' used in the initial send no longer exists");
            }
            SendFault::NoTokenSource { guid } => {
                return write!(f, "incremental source {guid:#x} no longer exists");
            }
        })
    }
}

impl Display for ReceiveFault {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ReceiveFault::SnapshotNamed => "cannot specify snapshot name for multi-snapshot stream",
            ReceiveFault::SnapshotWith { option } => {
                return write!(f, "invalid argument - snapshot not allowed with {option}");
            }
            ReceiveFault::Property { property } => return write!(f, "invalid property '{property}'"),
            ReceiveFault::NotOfThisType { property } => {
                return write!(f, "property '{property}' does not apply to datasets of this type");
            }
            ReceiveFault::NoTarget { target } => return write!(f, "specified fs ({target}) does not exist"),
            ReceiveFault::NoOrigin { origin } => {
                return write!(f, "specified origin fs ({origin}) does not exist");
            }
            ReceiveFault::NoLocalOrigin { clone } => {
                return write!(f, "local origin for clone {clone} does not exist");
            }
            ReceiveFault::InvalidName => "invalid name",
            ReceiveFault::HealsAlone => "corrective recv can not be used when combined with this flag",
            ReceiveFault::NothingToHeal => "corrective recv must specify an existing snapshot to heal",
            ReceiveFault::OtherSnapshot => {
                "local snapshot doesn't match the snapshot in the provided stream"
            }
            ReceiveFault::Unreadable => "failed to read from stream",
            ReceiveFault::Magic => "invalid stream (bad magic number)",
            ReceiveFault::SnapshotName => "invalid stream (bad snapshot name)",
            ReceiveFault::RecordLength => "invalid stream (bad record length)",
            ReceiveFault::HeaderChecksum => "incorrect header checksum",
            ReceiveFault::Checksum => "checksum mismatch",
            ReceiveFault::Incomplete => "incomplete stream",
            ReceiveFault::Invalid => "invalid backup stream",
            ReceiveFault::Deduplicated => {
                "stream has deprecated feature: dedup, try 'zstream redup [send in a file] | zfs recv [...]'"
            }
            ReceiveFault::Features { flags, unknown } => {
                return write!(
                    f,
                    "stream has unsupported feature, feature flags = {flags:x} (unknown flags = {unknown:x})"
                );
            }
            ReceiveFault::NewerProgram => "kernel modules must be upgraded to receive this stream.",
            ReceiveFault::Interrupted { token } => {
                return write!(
                    f,
                    "checksum mismatch or incomplete stream.\n\
                     Partially received snapshot is saved.\n\
                     A resuming stream can be generated on the sending system by running:\n    \
                     zfs send -t {token}"
                );
            }
            ReceiveFault::NoDestination { dataset } => {
                return write!(f, "destination '{dataset}' does not exist");
            }
            ReceiveFault::ParentNotFilesystem { parent } => {
                return write!(f, "parent '{parent}' is not a filesystem");
            }
            ReceiveFault::TargetNotFilesystem => "parent dataset is not a filesystem",
            ReceiveFault::Exists => "destination already exists",
            ReceiveFault::DatasetExists { dataset } => {
                return write!(f, "destination '{dataset}' exists\nmust specify -F to overwrite it");
            }
            ReceiveFault::HasSnapshots { dataset, snapshot } => {
                return write!(
                    f,
                    "destination has snapshots (eg. {dataset}@{snapshot})\nmust destroy them to overwrite it"
                );
            }
            ReceiveFault::IsClone { dataset } => {
                return write!(f, "destination '{dataset}' is a clone\nmust destroy it to overwrite it");
            }
            ReceiveFault::VolumeOverRoot { dataset } => {
                return write!(
                    f,
                    "destination {dataset} is the root dataset\ncannot overwrite with a ZVOL"
                );
            }
            ReceiveFault::VolumeOverChildren { child } => {
                return write!(f, "destination has children (eg. {child})\ncannot overwrite with a ZVOL");
            }
            ReceiveFault::NotMade => "unable to restore to destination",
            ReceiveFault::NoMatchingSource { dataset } => {
                return write!(f, "most recent snapshot of {dataset} does not\nmatch incremental source");
            }
            ReceiveFault::Modified { dataset } => {
                return write!(f, "destination {dataset} has been modified\nsince most recent snapshot");
            }
            ReceiveFault::ResumeExists { dataset } => {
                return write!(
                    f,
                    "Resuming recv on existing destination '{dataset}'\nmust specify -F to overwrite it"
                );
            }
            ReceiveFault::PartlyReceived { dataset } => {
                return write!(
                    f,
                    "destination {dataset} contains partially-complete state from \"zfs receive -s\"."
                );
            }
            ReceiveFault::NothingToAbort { dataset } => {
                return write!(f, "'{dataset}' does not have any resumable receive state to abort");
            }
            ReceiveFault::PoolTooOld => "pool must be upgraded to receive this stream.",
            ReceiveFault::LargeBlocks => {
                "incremental send stream requires -L (--large-block), to match previous receive."
            }
            ReceiveFault::Unlike => "stream is not compatible with the data in the pool.",
            ReceiveFault::NotHealed => {
                "corrective receive was not able to reconstruct the data needed for healing."
            }
            ReceiveFault::Quota { dataset } => {
                return write!(f, "destination {dataset} space quota exceeded.");
            }
        })
    }
}
