//! What can be asked for.

use std::path::PathBuf;

use crate::device_id::DeviceId;
use crate::flags::Flags;

/// See the methods of [`crate::Mounter`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    HasEntries { at: PathBuf },
    Resolve { at: PathBuf },
    RemoveDead { at: PathBuf },
    RemoveDirectory { at: PathBuf },
    Mount(Wanted),
    RaiseReadAhead { at: PathBuf },
    Remount { at: PathBuf, flags: Flags },
    Unmount { at: PathBuf, how: How },
    Cut { device: DeviceId },
}

/// A mount to make.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// A directory; made where it is missing.
    pub at: PathBuf,
    /// What `mount` and `df` show as the source: the dataset's name.
    pub source: String,
    pub flags: Flags,
    /// A directory with entries is covered, too.
    pub overlay: bool,
}

/// How to take a mount away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// Where nobody uses it (`EBUSY`), with what is dirty written first.
    Gently,
    /// Its name goes at once, the mount when nobody uses it any more (`MNT_DETACH`).
    Lazily,
    /// As lazily, and who uses it gets errors (`MNT_FORCE`).
    ByForce,
}
