//! OpenZFS's sentences. Ours where it has none.
//!
//! Sources: lib/libzfs/libzfs_util.c (`libzfs_error_description`, `zfs_standard_error`,
//! `zpool_standard_error`), libzfs_dataset.c, libzfs_pool.c, libzfs_sendrecv.c; cmd/zfs/zfs_main.c,
//! cmd/zpool/zpool_main.c and zpool_vdev.c.

mod fault;
mod mount;
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
            (action, reason) if stands_alone(action, reason) => reason.fmt(f),
            (Action::UseVdevs, reason @ Reason::Vdev(VdevFault::InUse { .. })) => {
                write!(f, "{action}\n{reason}")
            }
            (Action::ClearLabel { .. }, Reason::NoLabel) => action.fmt(f),
            (Action::CreateSnapshots, reason) => write!(f, "{action} : {reason}"),
            (Action::Diff, Reason::NotEarlier) => {
                write!(f, "{action}: \n   Not an earlier snapshot from the same fs")
            }
            (Action::Import { pool }, Reason::Import(ImportFault::MissingLogs { logs })) => {
                fault::missing_logs(f, pool, logs)
            }
            (Action::Send { name }, Reason::Send(fault)) => stream::not_sent(f, name, fault),
            (Action::Send { name }, reason) => write!(f, "warning: cannot send '{name}': {reason}"),
            (Action::UseMountpoint { path }, reason) => mount::mountpoint(f, path, reason),
            (action, Reason::Mount(fault)) => mount::not_mounted(f, action, fault),
            // libzfs says it twice.
            (Action::Receive { .. }, Reason::Receive(ReceiveFault::Property { .. })) => {
                write!(f, "{action}: {action}: {}", self.reason)
            }
            (_, reason) => write!(f, "{action}: {reason}"),
        }
    }
}

impl Refused {
    /// Whether its words are a whole sentence. Otherwise they are a reason, before which whoever
    /// shows it says what was to be done.
    pub fn is_sentence(&self) -> bool {
        match (&self.action, &self.reason) {
            (action, Reason::Several(all)) => all.first().map_or(action.is_some(), Refused::is_sentence),
            (_, Reason::NoSnapshotsFound | Reason::NotOfFilesystems) => true,
            // They name a part of what was to be done.
            (Some(Action::SetTo { .. } | Action::Use { .. } | Action::OpenCachefile), _) => false,
            (Some(action), reason) => !stands_alone(action, reason),
            (None, _) => false,
        }
    }
}

/// Whether the words are about something else than what was to be done, which they leave out.
fn stands_alone(action: &Action, reason: &Reason) -> bool {
    match reason {
        Reason::Property(PropertyFault::NotInherited { .. } | PropertyFault::InheritReadOnly { .. })
        | Reason::Import(ImportFault::CorruptCachefile)
        | Reason::Receive(ReceiveFault::NothingToAbort { .. })
        | Reason::NoBookmark { .. }
        | Reason::NotClearable { .. }
        | Reason::Send(SendFault::SourceElsewhere) => true,
        Reason::Property(_) => matches!(action, Action::InheritProperty { .. }),
        Reason::NotOfFilesystems => matches!(action, Action::GetSpace { .. }),
        _ => false,
    }
}

impl Display for Action {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Action::Create { name } => write!(f, "cannot create '{name}'"),
            Action::CreateSnapshot { name } => write!(f, "cannot create snapshot '{name}'"),
            Action::CreateSnapshots => f.write_str("cannot create snapshots"),
            Action::CreateBookmark { name } => write!(f, "cannot create bookmark '{name}'"),
            Action::Open { name } | Action::OpenFile { name } => write!(f, "cannot open '{name}'"),
            Action::RestoreFile { name } => write!(f, "cannot restore '{name}'"),
            Action::Destroy { name } => write!(f, "cannot destroy '{name}'"),
            Action::DestroySnapshot { name } => write!(f, "cannot destroy snapshot {name}"),
            Action::FindDependents => f.write_str("cannot determine dependent datasets"),
            Action::Rename { name } => write!(f, "cannot rename '{name}'"),
            Action::Promote { name } => write!(f, "cannot promote '{name}'"),
            Action::Rollback { name } => write!(f, "cannot rollback '{name}'"),
            Action::RollbackTo { snapshot } => write!(f, "cannot rollback to '{snapshot}'"),
            Action::HoldSnapshots => f.write_str("cannot hold"),
            Action::HoldSnapshot { name } => write!(f, "cannot hold snapshot '{name}'"),
            Action::ReleaseHold { name } => write!(f, "cannot release hold from snapshot '{name}'"),
            Action::SetProperty { name } => write!(f, "cannot set property for '{name}'"),
            Action::SetTo { property, value } => {
                write!(f, "property '{property}' cannot be set to '{value}'")
            }
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
            Action::CancelJob { job } => write!(f, "cannot cancel job {job}"),
            Action::AddFault => f.write_str("failed to add handler"),
            Action::Use { path } => f.write_str(path),
            Action::Mount { name } => write!(f, "cannot mount '{name}'"),
            Action::Remount { path } => write!(f, "cannot remount {path}"),
            Action::UseMountpoint { path } => write!(f, "mountpoint '{path}'"),
            Action::Unmount { path } => write!(f, "cannot unmount {path}"),
            Action::UnmountFilesystem { name } => write!(f, "cannot unmount '{name}'"),
            Action::Share { name } => write!(f, "cannot share '{name}'"),
            Action::Unshare { name } => write!(f, "cannot unshare '{name}'"),
            Action::KeepState { pool } => write!(f, "cannot keep the machine's state in '{pool}'"),
            Action::RestoreState { pool } => write!(f, "cannot restore the machine's state from '{pool}'"),
        }
    }
}

const BELOW_ITSELF: &str = "New dataset name cannot be a descendant of current dataset name";
const IS_POOL: &str = "operation does not apply to pools\n\
                       use 'zfs destroy -r ' to destroy all datasets in the pool\n\
                       use 'zpool destroy ' to destroy the pool itself";

impl Display for Reason {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Reason::NoDataset => f.write_str("dataset does not exist"),
            Reason::NoPool => f.write_str("no such pool"),
            Reason::NoPoolNamed { pool } => write!(f, "no such pool: {pool}"),
            Reason::NoBookmark { name } => write!(f, "bookmark '{name}' does not exist."),
            Reason::DatasetExists => f.write_str("dataset already exists"),
            Reason::PoolExists => f.write_str("pool already exists"),
            Reason::BookmarkExists => f.write_str("bookmark exists"),
            Reason::DatasetBusy => f.write_str("dataset is busy"),
            Reason::PoolBusy => f.write_str("pool is busy"),
            Reason::Importing => f.write_str("pool is being imported"),
            Reason::ImportingWait => f.write_str("pool is being imported, try again later"),
            Reason::Outdated => f.write_str("it was changed since; read it anew"),
            Reason::Suspended => f.write_str("pool I/O is currently suspended"),
            Reason::KeyNotLoaded => f.write_str("encryption key not loaded"),
            Reason::NoSpace => f.write_str("out of space"),
            Reason::NameTooLong => f.write_str("dataset name is too long"),
            Reason::NameMissing => f.write_str("missing dataset name"),
            Reason::NoParent => f.write_str("parent does not exist"),
            Reason::ParentNotFilesystem => f.write_str("parent is not a filesystem"),
            Reason::TooLarge => f.write_str("size is greater than available space"),
            Reason::TooSmall => f.write_str("size is less than current used or reserved space"),
            Reason::NotOfThisType => f.write_str("operation not applicable to datasets of this type"),
            Reason::NotOfPoolRoot => f.write_str("operation not applicable to the root of a pool"),
            Reason::IsPool => f.write_str(IS_POOL),
            Reason::NotByThisPool => f.write_str("operation not supported on this type of pool"),
            Reason::OtherPool => f.write_str("source and target pools differ"),
            Reason::LeavesPool => f.write_str("datasets must be within same pool"),
            Reason::BelowItself => f.write_str(BELOW_ITSELF),
            Reason::OtherDataset => f.write_str("snapshots must be part of same dataset"),
            Reason::NoSnapshotsNamed => f.write_str("no snapshots are named"),
            Reason::SeveralPools => f.write_str("snapshots must be in the same pool"),
            Reason::NewNameTaken => f.write_str("a child dataset already has a snapshot with the new name"),
            Reason::SeveralSnapshotsOfOne => f.write_str("multiple snapshots of same fs not allowed"),
            Reason::SnapshotNotPromoted => f.write_str("snapshots can not be promoted"),
            Reason::NoClone => f.write_str("not a cloned filesystem"),
            Reason::Conflict { snapshot, parent } => conflict(f, snapshot, parent),
            Reason::MoreRecent { than } => {
                write!(f, "there is a snapshot or bookmark more recent than '{than}'")
            }
            Reason::YoungerExist { names, more } => younger_exist(f, names, *more),
            Reason::ClonesExist { names } => clones_exist(f, names),
            Reason::NoAncestor { txg } => {
                write!(f, "source is not an ancestor of the new bookmark's dataset ({txg})")
            }
            Reason::InvalidPermission => f.write_str("invalid permission"),
            Reason::Held { name } => write!(f, "it's being held. Run 'zfs holds -r {name}' to see holders."),
            Reason::Cloned => f.write_str("snapshot is cloned"),
            Reason::HasChildren => f.write_str("filesystem has children"),
            Reason::Depend(dependents) => dependents.fmt(f),
            Reason::DependInCircle { at } => write!(f, "recursive dependency at '{at}'"),
            Reason::NoSnapshotsFound => {
                f.write_str("could not find any snapshots to destroy; check snapshot names.")
            }
            Reason::TagExists => f.write_str("tag already exists on this dataset"),
            Reason::NoTag => f.write_str("no such tag on this dataset"),
            Reason::TagTooLong => f.write_str("tag too long"),
            Reason::InvalidTag => f.write_str("invalid tag"),
            Reason::PoolTooOld(upgrade) => upgrade.fmt(f),
            Reason::FileSystemTooNew { version, pool } => too_new(f, *version, *pool),
            Reason::HasCheckpoint => f.write_str("checkpoint exists"),
            Reason::DiscardingCheckpoint => f.write_str("currently discarding checkpoint"),
            Reason::NoCheckpoint => f.write_str("checkpoint does not exist"),
            Reason::DeviceTooLarge => f.write_str("device exceeds supported size"),
            Reason::NotApplicable => f.write_str("operation not supported on this dataset"),
            Reason::NotOfFilesystems => {
                f.write_str("operation is only applicable to filesystems and their snapshots")
            }
            Reason::NotCounted => f.write_str("only support project quota on regular file or directory"),
            Reason::NotEarlier => f.write_str("not an earlier snapshot from the same fs"),
            Reason::GuidZero => f.write_str("invalid argument for this pool operation"),
            Reason::SharedSpare { pool } => shared_spare(f, pool),
            Reason::NoLabel => f.write_str("there is no label"),
            Reason::NotClearable { path, state, pool, can_force: true } => not_cleared(f, path, state, pool),
            Reason::NotClearable { path, state, pool, can_force: false } => {
                write!(f, "{path} is a member ({state}) of pool \"{pool}\"")
            }
            Reason::NoSuchDevice => f.write_str("No such device"),
            Reason::NoSuchBlock => f.write_str("no such block is on disk"),
            Reason::Damaged { message } => write!(f, "damaged: {message}"),
            Reason::Io => f.write_str("I/O error"),
            Reason::Os { message } | Reason::Failed { message } => f.write_str(message),
            Reason::Because(refused) => refused.fmt(f),
            Reason::Name(fault) => fault.fmt(f),
            Reason::File(fault) => fault.fmt(f),
            Reason::Property(fault) => fault.fmt(f),
            Reason::Vdev(fault) => fault.fmt(f),
            Reason::Scan(fault) => fault.fmt(f),
            Reason::Sweep(fault) => fault.fmt(f),
            Reason::Import(fault) => fault.fmt(f),
            Reason::Send(fault) => fault.fmt(f),
            Reason::Receive(fault) => fault.fmt(f),
            Reason::Mount(fault) => fault.fmt(f),
            Reason::Job(fault) => fault.fmt(f),
            Reason::Lock(fault) => fault.fmt(f),
            Reason::State(fault) => fault.fmt(f),
            Reason::Several(all) => several(f, all),
        }
    }
}

fn several(f: &mut Formatter<'_>, all: &[Refused]) -> fmt::Result {
    for (number, one) in all.iter().enumerate() {
        write!(f, "{}{one}", if number == 0 { "" } else { "\n" })?;
    }
    Ok(())
}

fn conflict(f: &mut Formatter<'_>, snapshot: &str, parent: &str) -> fmt::Result {
    write!(f, "conflicting snapshot '{snapshot}' from parent '{parent}'")
}

fn too_new(f: &mut Formatter<'_>, version: u64, pool: u64) -> fmt::Result {
    write!(
        f,
        "Can't mount a version {version} file system on a version {pool} pool. Pool must be upgraded to \
         mount this file system."
    )
}

fn shared_spare(f: &mut Formatter<'_>, pool: &str) -> fmt::Result {
    write!(
        f,
        "use '-f' to override the following errors:\n'{pool}' has an active shared spare which could be \
         used by other pools once '{pool}' is exported."
    )
}

fn not_cleared(f: &mut Formatter<'_>, path: &str, state: &str, pool: &str) -> fmt::Result {
    write!(f, "use '-f' to override the following error:\n{path} is a member of {state} pool \"{pool}\"")
}

fn clones_exist(f: &mut Formatter<'_>, names: &[String]) -> fmt::Result {
    write!(
        f,
        "clones of previous snapshots exist\n\
         use '-R' to force deletion of the following clones and dependents:\n{}",
        names.join("\n")
    )
}

fn younger_exist(f: &mut Formatter<'_>, names: &[String], more: bool) -> fmt::Result {
    write!(
        f,
        "more recent snapshots or bookmarks exist\n\
         use '-r' to force deletion of the following snapshots and bookmarks:\n{}",
        names.join("\n")
    )?;
    if more {
        write!(f, "\nOutput limited to {} snapshots/bookmarks", names.len())?;
    }
    Ok(())
}

impl Display for Dependents {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let (what, option) = match self.are_clones {
            true => ("dependent clones", "-R"),
            false => ("children", "-r"),
        };
        write!(
            f,
            "{} has {what}\nuse '{option}' to destroy the following datasets:\n{}",
            self.of,
            self.names.join("\n")
        )
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
