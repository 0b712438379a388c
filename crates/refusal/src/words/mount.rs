//! Sentences about mounts and shares.

use std::fmt::{self, Display, Formatter};

use crate::mount::MountFault;
use crate::{Action, Reason};

/// Some tell what else would do, which depends on what was to be done.
pub(super) fn not_mounted(f: &mut Formatter<'_>, action: &Action, fault: &MountFault) -> fmt::Result {
    let (verb, end) = match action {
        Action::Share { .. } => ("share", ", or set the sharenfs or sharesmb property"),
        Action::Unshare { .. } => ("unshare", ""),
        _ => ("mount", ""),
    };
    match (action, fault) {
        (Action::Mount { name }, MountFault::NotLegacy { mountpoint }) => write!(
            f,
            "filesystem '{name}' {fault}.\n\
             Use 'zfs set mountpoint={mountpoint}' or 'zfs mount {name}'.\n\
             See zfs(8) for more information."
        ),
        (Action::Destroy { name }, MountFault::StayMounted) => {
            write!(f, "could not destroy '{name}': {fault}")
        }
        (_, MountFault::LegacyMountpoint) => {
            write!(f, "{action}: {fault}\nuse {verb}(8) to {verb} this filesystem")
        }
        (_, MountFault::LegacyShare) => {
            write!(f, "{action}: {fault}\nuse exports(5) or smb.conf(5) to {verb} this filesystem{end}")
        }
        _ => write!(f, "{action}: {fault}"),
    }
}

/// Of the root of a new pool.
pub(super) fn mountpoint(f: &mut Formatter<'_>, path: &str, reason: &Reason) -> fmt::Result {
    match reason {
        Reason::Mount(MountFault::NotEmpty) => write!(f, "mountpoint '{path}' exists and is not empty")?,
        reason => write!(f, "mountpoint '{path}' : {reason}")?,
    }
    f.write_str("\nuse '-m' option to provide a different default")
}

impl Display for MountFault {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            MountFault::LegacyMountpoint => "legacy mountpoint",
            MountFault::NoMountpoint => "no mountpoint set",
            MountFault::CanmountOff => "'canmount' property is set to 'off'",
            MountFault::LegacyShare => "legacy share",
            MountFault::NotLegacy { .. } => "cannot be mounted using 'mount'",
            MountFault::AlreadyMounted => "filesystem already mounted",
            MountFault::NotMounted => "not currently mounted",
            MountFault::PartlyReceived => {
                "Contains partially-completed state from \"zfs receive -s\", which can be resumed with \
                 \"zfs send -t\""
            }
            MountFault::NotAbsolute { path } => return write!(f, "'{path}' is not an absolute path"),
            MountFault::NotEmpty => "directory is not empty",
            MountFault::NotMountpoint => "not a mountpoint",
            MountFault::InUse => "pool or dataset is busy",
            MountFault::Privileges => "Insufficient privileges",
            MountFault::UnderWay => "it is being mounted or unmounted",
            MountFault::Ending => "the program is ending",
            MountFault::NoAnswer { path } => {
                return write!(f, "the file system at {path} does not answer");
            }
            MountFault::NotForAll => {
                "a mount for all users takes root, or a line 'user_allow_other' in /etc/fuse.conf"
            }
            MountFault::NoHelper => "a mount takes root, or fusermount3 (package fuse3)",
            MountFault::RemountByRoot => "that takes root: unmount it, and mount it with the new options",
            MountFault::NoBroker { socket, message } => {
                return write!(
                    f,
                    "the mount broker does not answer at {socket} ({message}): \
                     systemctl start cistern-mount.socket"
                );
            }
            MountFault::BrokerBusy => "the mount broker is busy",
            MountFault::BrokerOfOther => {
                "the mount broker serves another user: see --user in cistern-mount.service"
            }
            MountFault::BrokerVersion => {
                "the mount broker is of another version: systemctl restart cistern-mount.service"
            }
            MountFault::Kept => {
                "the mount broker changes nothing there, for it belongs to the system or to somebody else"
            }
            MountFault::SymbolicLink => {
                "a symbolic link leads there, and the mount broker follows none: name the directory itself"
            }
            MountFault::StayMounted => "could not unmount datasets",
            MountFault::AlreadyShared => "filesystem already shared",
            MountFault::NotShared => "not currently shared",
        })
    }
}
