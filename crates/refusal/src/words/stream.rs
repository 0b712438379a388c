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

fn interrupted(f: &mut Formatter<'_>, token: &str) -> fmt::Result {
    write!(
        f,
        "checksum mismatch or incomplete stream.\n\
         Partially received snapshot is saved.\n\
         A resuming stream can be generated on the sending system by running:\n    \
         zfs send -t {token}"
    )
}

impl Display for ReceiveFault {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            ReceiveFault::SnapshotNamed => {
                f.write_str("cannot specify snapshot name for multi-snapshot stream")
            }
            ReceiveFault::SnapshotWith { option } => {
                write!(f, "invalid argument - snapshot not allowed with {option}")
            }
            ReceiveFault::Property { property } => write!(f, "invalid property '{property}'"),
            ReceiveFault::NotOfThisType { property } => {
                write!(f, "property '{property}' does not apply to datasets of this type")
            }
            ReceiveFault::NoTarget { target } => write!(f, "specified fs ({target}) does not exist"),
            ReceiveFault::NoOrigin { origin } => write!(f, "specified origin fs ({origin}) does not exist"),
            ReceiveFault::NoLocalOrigin { clone } => {
                write!(f, "local origin for clone {clone} does not exist")
            }
            ReceiveFault::InvalidName => f.write_str("invalid name"),
            ReceiveFault::HealsAlone => {
                f.write_str("corrective recv can not be used when combined with this flag")
            }
            ReceiveFault::NothingToHeal => {
                f.write_str("corrective recv must specify an existing snapshot to heal")
            }
            ReceiveFault::OtherSnapshot => {
                f.write_str("local snapshot doesn't match the snapshot in the provided stream")
            }
            ReceiveFault::Unreadable => f.write_str("failed to read from stream"),
            ReceiveFault::Magic => f.write_str("invalid stream (bad magic number)"),
            ReceiveFault::SnapshotName => f.write_str("invalid stream (bad snapshot name)"),
            ReceiveFault::RecordLength => f.write_str("invalid stream (bad record length)"),
            ReceiveFault::HeaderChecksum => f.write_str("incorrect header checksum"),
            ReceiveFault::Checksum => f.write_str("checksum mismatch"),
            ReceiveFault::Incomplete => f.write_str("incomplete stream"),
            ReceiveFault::Invalid => f.write_str("invalid backup stream"),
            ReceiveFault::Deduplicated => f.write_str(
                "stream has deprecated feature: dedup, try 'zstream redup [send in a file] | zfs recv [...]'",
            ),
            ReceiveFault::Several => {
                f.write_str("the stream is of more than one snapshot, or has properties with it")
            }
            ReceiveFault::Features { flags, unknown } => write!(
                f,
                "stream has unsupported feature, feature flags = {flags:x} (unknown flags = {unknown:x})"
            ),
            ReceiveFault::NewerProgram => {
                f.write_str("kernel modules must be upgraded to receive this stream.")
            }
            ReceiveFault::Interrupted { token } => interrupted(f, token),
            ReceiveFault::NoDestination { dataset } => write!(f, "destination '{dataset}' does not exist"),
            ReceiveFault::ParentNotFilesystem { parent } => {
                write!(f, "parent '{parent}' is not a filesystem")
            }
            ReceiveFault::TargetNotFilesystem => f.write_str("parent dataset is not a filesystem"),
            ReceiveFault::Exists => f.write_str("destination already exists"),
            ReceiveFault::DatasetExists { dataset } => {
                write!(f, "destination '{dataset}' exists\nmust specify -F to overwrite it")
            }
            ReceiveFault::HasSnapshots { dataset, snapshot } => write!(
                f,
                "destination has snapshots (eg. {dataset}@{snapshot})\nmust destroy them to overwrite it"
            ),
            ReceiveFault::IsClone { dataset } => {
                write!(f, "destination '{dataset}' is a clone\nmust destroy it to overwrite it")
            }
            ReceiveFault::VolumeOverRoot { dataset } => {
                write!(f, "destination {dataset} is the root dataset\ncannot overwrite with a ZVOL")
            }
            ReceiveFault::VolumeOverChildren { child } => {
                write!(f, "destination has children (eg. {child})\ncannot overwrite with a ZVOL")
            }
            ReceiveFault::NotMade => f.write_str("unable to restore to destination"),
            ReceiveFault::NoMatchingSource { dataset } => {
                write!(f, "most recent snapshot of {dataset} does not\nmatch incremental source")
            }
            ReceiveFault::Modified { dataset } => {
                write!(f, "destination {dataset} has been modified\nsince most recent snapshot")
            }
            ReceiveFault::ResumeExists { dataset } => write!(
                f,
                "Resuming recv on existing destination '{dataset}'\nmust specify -F to overwrite it"
            ),
            ReceiveFault::PartlyReceived { dataset } => {
                write!(f, "destination {dataset} contains partially-complete state from \"zfs receive -s\".")
            }
            ReceiveFault::NothingToAbort { dataset } => {
                write!(f, "'{dataset}' does not have any resumable receive state to abort")
            }
            ReceiveFault::PoolTooOld => f.write_str("pool must be upgraded to receive this stream."),
            ReceiveFault::LargeBlocks => {
                f.write_str("incremental send stream requires -L (--large-block), to match previous receive.")
            }
            ReceiveFault::Unlike => f.write_str("stream is not compatible with the data in the pool."),
            ReceiveFault::NotHealed => {
                f.write_str("corrective receive was not able to reconstruct the data needed for healing.")
            }
            ReceiveFault::Quota { dataset } => write!(f, "destination {dataset} space quota exceeded."),
        }
    }
}
