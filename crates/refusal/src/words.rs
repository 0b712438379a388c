//! OpenZFS's sentences. Ours where it has none.
//!
//! Sources: lib/libzfs/libzfs_util.c (`libzfs_error_description`, `zfs_standard_error`,
//! `zpool_standard_error`), libzfs_dataset.c, libzfs_pool.c, libzfs_sendrecv.c; cmd/zfs/zfs_main.c,
//! cmd/zpool/zpool_main.c and zpool_vdev.c.

mod fault;
mod stream;

use std::fmt::{self, Display, Formatter};

use crate::reason::{Dependents, Reason, Upgrade};
use crate::{Action, ImportFault, PropertyFault, ReceiveFault, Refused, SendFault, Stream, VdevFault};

impl Display for Refused {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Some(action) = &self.action else { return self.reason.fmt(f) };
        match (action, &self.reason) {
            (action, Reason::Several(all)) if all.is_empty() => action.fmt(f),
            // Each of them says what was to be done.
            (_, reason @ Reason::Several(_)) => reason.fmt(f),
            // The whole sentence is about something else.
            (_, reason @ Reason::Property(PropertyFault::NotInherited { .. } | PropertyFault::InheritReadOnly { .. }))
            | (Action::InheritProperty { .. }, reason @ Reason::Property(_))
            | (_, reason @ Reason::Import(ImportFault::CorruptCachefile))
            | (_, reason @ Reason::Receive(ReceiveFault::NothingToAbort { .. }))
            | (_, reason @ Reason::NoBookmark { .. })
            | (_, reason @ Reason::NotClearable { .. })
            | (Action::GetSpace { .. }, reason @ Reason::NotOfFilesystems)
            | (_, reason @ Reason::Send(SendFault::SourceElsewhere)) => reason.fmt(f),
            (Action::UseVdevs, reason @ Reason::Vdev(VdevFault::InUse { .. })) => {
                write!(f, "{action}\n{reason}")
            }
            (Action::ClearLabel { .. }, Reason::NoLabel) => action.fmt(f),
            (Action::FindDependents, Reason::DependInCircle { at }) => {
                write!(f, "{action}: recursive dependency at '{at}'")
            }
            (Action::CreateSnapshots, reason) => write!(f, "{action} : {reason}"),
            (Action::Diff, Reason::NotEarlier) => {
                write!(f, "{action}: \n   Not an earlier snapshot from the same fs")
            }
            (Action::Import { pool }, Reason::Import(ImportFault::MissingLogs { logs })) => {
                fault::missing_logs(f, pool, logs)
            }
            (Action::Send { name }, Reason::Send(fault)) => stream::not_sent(f, name, fault),
            (Action::Send { name }, reason) => write!(f, "warning: cannot send '{name}': {reason}"),
            // libzfs says it twice.
            (Action::Receive { .. }, Reason::Receive(ReceiveFault::Property { .. })) => {
                write!(f, "{action}: {action}: {}", self.reason)
            }
            (_, reason) => write!(f, "{action}: {reason}"),
        }
    }
}

impl Display for Action {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Action::Create { name } => write!(f, "cannot create '{name}'"),
            Action::CreateSnapshot { name } => write!(f, "cannot create snapshot '{name}'"),
            Action::CreateSnapshots => f.write_str("cannot create snapshots"),
            Action::CreateBookmark { name } => write!(f, "cannot create bookmark '{name}'"),
            Action::Open { name } => write!(f, "cannot open '{name}'"),
            Action::Destroy { name } => write!(f, "cannot destroy '{name}'"),
            Action::DestroySnapshot { name } => write!(f, "cannot destroy snapshot {name}"),
            Action::FindDependents => f.write_str("cannot determine dependent datasets"),
            Action::Rename { name } => write!(f, "cannot rename '{name}'"),
            Action::Promote { name } => write!(f, "cannot promote '{name}'"),
            Action::Rollback { name } => write!(f, "cannot rollback '{name}'"),
            Action::HoldSnapshots => f.write_str("cannot hold"),
            Action::HoldSnapshot { name } => write!(f, "cannot hold snapshot '{name}'"),
            Action::ReleaseHold { name } => write!(f, "cannot release hold from snapshot '{name}'"),
            Action::SetProperty { name } => write!(f, "cannot set property for '{name}'"),
            Action::SetTo { property, value } => write!(f, "property '{property}' cannot be set to '{value}'"),
            Action::InheritProperty { name } => write!(f, "cannot inherit property for '{name}'"),
            Action::SetPermissions { name } => write!(f, "cannot set permissions on '{name}'"),
            Action::GetSpace { name } => write!(f, "cannot get used/quota for {name}"),
            Action::ExplainSpace { name } => write!(f, "cannot explain '{name}'"),
            Action::Diff => f.write_str("Unable to obtain diffs"),
            Action::SnapshotForDiff { name } => {
                write!(f, "Cannot create just-in-time snapshot of '{name}'")
            }
            Action::Send { name } => write!(f, "cannot send '{name}'"),
            Action::ResumeSend => f.write_str("cannot resume send"),
            Action::Receive { stream } => f.write_str(match stream {
                Stream::Any => "cannot receive",
                Stream::New => "cannot receive new filesystem stream",
                Stream::Incremental => "cannot receive incremental stream",
                Stream::Resumed => "cannot receive resume stream",
            }),
            Action::Restore { name } => write!(f, "cannot restore to {name}"),
            Action::Import { pool } => write!(f, "cannot import '{pool}'"),
            Action::Export { pool } => write!(f, "cannot export '{pool}'"),
            Action::Reguid { pool } => write!(f, "cannot reguid '{pool}'"),
            Action::Checkpoint { pool } => write!(f, "cannot checkpoint '{pool}'"),
            Action::DiscardCheckpoint { pool } => write!(f, "cannot discard checkpoint in '{pool}'"),
            Action::Scrub { pool } => write!(f, "cannot scrub {pool}"),
            Action::PauseScrub { pool } => write!(f, "cannot pause scrubbing {pool}"),
            Action::CancelScrub { pool } => write!(f, "cannot cancel scrubbing {pool}"),
            Action::RestartResilver { pool } => write!(f, "cannot restart resilver on {pool}"),
            Action::ClearErrors { name } => write!(f, "cannot clear errors for {name}"),
            Action::AddVdevs { pool } => write!(f, "cannot add to '{pool}'"),
            Action::UseVdevs => f.write_str("invalid vdev specification"),
            Action::RemoveVdev { vdev } => write!(f, "cannot remove {vdev}"),
            Action::Attach { device, to } => write!(f, "cannot attach {device} to {to}"),
            Action::Replace { vdev, with } => write!(f, "cannot replace {vdev} with {with}"),
            Action::Detach { vdev } => write!(f, "cannot detach {vdev}"),
            Action::Online { vdev } => write!(f, "cannot online {vdev}"),
            Action::Expand { vdev } => write!(f, "cannot expand {vdev}"),
            Action::Offline { vdev } => write!(f, "cannot offline {vdev}"),
            Action::Trim { device } => write!(f, "cannot trim '{device}'"),
            Action::Initialize { device } => write!(f, "cannot initialize '{device}'"),
            Action::ClearLabel { path } => write!(f, "failed to clear label for {path}"),
            Action::OpenCachefile => f.write_str("failed to open cache file"),
            Action::AddFault => f.write_str("failed to add handler"),
            Action::Use { path } => f.write_str(path),
            Action::Unmount { path } => write!(f, "cannot unmount {path}"),
        }
    }
}

impl Display for Reason {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Reason::NoDataset => "dataset does not exist",
            Reason::NoPool => "no such pool",
            Reason::NoBookmark { name } => return write!(f, "bookmark '{name}' does not exist."),
            Reason::DatasetExists => "dataset already exists",
            Reason::PoolExists => "pool already exists",
            Reason::BookmarkExists => "bookmark exists",
            Reason::DatasetBusy => "dataset is busy",
            Reason::PoolBusy => "pool is busy",
            Reason::Importing => "pool is being imported",
            Reason::ImportingWait => "pool is being imported, try again later",
            Reason::Suspended => "pool I/O is currently suspended",
            Reason::NoSpace => "out of space",
            Reason::NameTooLong => "dataset name is too long",
            Reason::NameMissing => "missing dataset name",
            Reason::NoParent => "parent does not exist",
            Reason::ParentNotFilesystem => "parent is not a filesystem",
            Reason::TooLarge => "size is greater than available space",
            Reason::TooSmall => "size is less than current used or reserved space",
            Reason::NotOfThisType => "operation not applicable to datasets of this type",
            Reason::NotOfPoolRoot => "operation not applicable to the root of a pool",
            Reason::IsPool => {
                "operation does not apply to pools\nuse 'zfs destroy -r ' to destroy all datasets in the \
                 pool\nuse 'zpool destroy ' to destroy the pool itself"
            }
            Reason::NotByThisPool => "operation not supported on this type of pool",
            Reason::OtherPool => "source and target pools differ",
            Reason::LeavesPool => "datasets must be within same pool",
            Reason::BelowItself => "New dataset name cannot be a descendant of current dataset name",
            Reason::OtherDataset => "snapshots must be part of same dataset",
            Reason::NewNameTaken => "a child dataset already has a snapshot with the new name",
            Reason::SeveralSnapshotsOfOne => "multiple snapshots of same fs not allowed",
            Reason::SnapshotNotPromoted => "snapshots can not be promoted",
            Reason::NoClone => "not a cloned filesystem",
            Reason::Conflict { snapshot, parent } => {
                return write!(f, "conflicting snapshot '{snapshot}' from parent '{parent}'");
            }
            Reason::MoreRecent { than } => {
                return write!(f, "there is a snapshot or bookmark more recent than '{than}'");
            }
            Reason::NoAncestor { txg } => {
                return write!(f, "source is not an ancestor of the new bookmark's dataset ({txg})");
            }
            Reason::InvalidPermission => "invalid permission",
            Reason::Held { name } => {
                return write!(f, "it's being held. Run 'zfs holds -r {name}' to see holders.");
            }
            Reason::Cloned => "snapshot is cloned",
            Reason::HasChildren => "filesystem has children",
            Reason::Depend(Dependents { of, are_clones, names }) => {
                let (what, option) = match are_clones {
                    true => ("dependent clones", "-R"),
                    false => ("children", "-r"),
                };
                return write!(
                    f,
                    "{of} has {what}\nuse '{option}' to destroy the following datasets:\n{}",
                    names.join("\n")
                );
            }
            Reason::DependInCircle { at } => return write!(f, "recursive dependency at '{at}'"),
            Reason::NoSnapshotsFound => "could not find any snapshots to destroy; check snapshot names.",
            Reason::TagExists => "tag already exists on this dataset",
            Reason::NoTag => "no such tag on this dataset",
            Reason::TagTooLong => "tag too long",
            Reason::PoolTooOld(upgrade) => return upgrade.fmt(f),
            Reason::FileSystemTooNew { version, pool } => {
                return write!(
                    f,
                    "Can't mount a version {version} file system on a version {pool} pool. Pool must be \
                     upgraded to mount this file system."
                );
            }
            Reason::HasCheckpoint => "checkpoint exists",
            Reason::DiscardingCheckpoint => "currently discarding checkpoint",
            Reason::NoCheckpoint => "checkpoint does not exist",
            Reason::DeviceTooLarge => "device exceeds supported size",
            Reason::NotApplicable => "operation not supported on this dataset",
            Reason::NotOfFilesystems => "operation is only applicable to filesystems and their snapshots",
            Reason::NotCounted => "only support project quota on regular file or directory",
            Reason::NotEarlier => "not an earlier snapshot from the same fs",
            Reason::GuidZero => "invalid argument for this pool operation",
            Reason::SharedSpare { pool } => {
                return write!(
                    f,
                    "use '-f' to override the following errors:\n'{pool}' has an active shared spare which \
                     could be used by other pools once '{pool}' is exported."
                );
            }
            Reason::NoLabel => "there is no label",
            Reason::NotClearable { path, state, pool, can_force } => {
                if *can_force {
                    f.write_str("use '-f' to override the following error:\n")?;
                    return write!(f, "{path} is a member of {state} pool \"{pool}\"");
                }
                return write!(f, "{path} is a member ({state}) of pool \"{pool}\"");
            }
            Reason::NoSuchDevice => "No such device",
            Reason::NoSuchBlock => "no such block is on disk",
            Reason::Damaged { message } => return write!(f, "damaged: {message}"),
            Reason::Io => "I/O error",
            Reason::Os { message } => message,
            Reason::Name(fault) => return fault.fmt(f),
            Reason::Property(fault) => return fault.fmt(f),
            Reason::Vdev(fault) => return fault.fmt(f),
            Reason::Scan(fault) => return fault.fmt(f),
            Reason::Sweep(fault) => return fault.fmt(f),
            Reason::Import(fault) => return fault.fmt(f),
            Reason::Send(fault) => return fault.fmt(f),
            Reason::Receive(fault) => return fault.fmt(f),
            Reason::Several(all) => {
                for (number, one) in all.iter().enumerate() {
                    write!(f, "{}{one}", if number == 0 { "" } else { "\n" })?;
                }
                return Ok(());
            }
        })
    }
}

impl Display for Upgrade {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Upgrade::This => "pool must be upgraded",
            Upgrade::Bookmarks => "pool must be upgraded to support bookmarks",
            Upgrade::Bootfs => "pool must be upgraded to support 'bootfs' property",
            Upgrade::LogRemoval => "pool must be upgraded to support log removal",
            Upgrade::AddSpares => "pool must be upgraded to add hot spares",
            Upgrade::AddCaches => "pool must be upgraded to add cache devices",
            Upgrade::AddVdevs => "pool must be upgraded to add these vdevs",
            Upgrade::CreateVdevs => "unsupported version or feature",
        })
    }
}

#[cfg(test)]
mod tests;
