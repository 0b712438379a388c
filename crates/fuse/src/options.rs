//! How a file system is mounted.

use mounter::Flags;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How to mount: the dataset's properties, and how hard to try.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MountOptions {
    /// What `mount` and `df` show as the source: the dataset's name.
    pub source: String,
    /// readonly=on
    pub read_only: bool,
    /// Not atime=off: what is read leaves an access time where the engine says so.
    pub atime: bool,
    /// Shown by the kernel only: the engine obeys the property.
    pub relatime: bool,
    /// setuid=on
    pub setuid: bool,
    /// devices=on
    pub devices: bool,
    /// exec=on
    pub exec: bool,
    /// Not xattr=off: attributes of users are there.
    pub xattr: bool,
    /// How long the kernel believes names and attributes that it is not told of without asking
    /// again (see the crate). What NFS clients change shows here after this long at the latest;
    /// what changes through the mount shows at once. 0 asks every time.
    pub cache: Duration,
}

impl Default for MountOptions {
    fn default() -> MountOptions {
        MountOptions {
            source: "cistern".into(),
            read_only: false,
            atime: true,
            relatime: false,
            setuid: true,
            devices: true,
            exec: true,
            xattr: true,
            cache: Duration::from_secs(1),
        }
    }
}

impl MountOptions {
    /// What the kernel is told of them.
    pub(crate) fn flags(&self) -> Flags {
        Flags::default()
            .and_when(self.read_only, Flags::READ_ONLY)
            .and_when(!self.setuid, Flags::NO_SETUID)
            .and_when(!self.devices, Flags::NO_DEVICES)
            .and_when(!self.exec, Flags::NO_EXEC)
            .and_when(!self.atime, Flags::NO_ATIME)
            .and_when(self.atime && self.relatime, Flags::RELATIME)
    }
}

/// Those options of a mount that are obeyed here, as they are now.
#[derive(Debug)]
pub struct Current {
    xattr: AtomicBool,
    atime: AtomicBool,
}

impl Current {
    pub fn new(options: &MountOptions) -> Current {
        let current = Current { xattr: AtomicBool::new(false), atime: AtomicBool::new(false) };
        current.set(options);
        current
    }

    pub fn set(&self, options: &MountOptions) {
        self.xattr.store(options.xattr, Ordering::Relaxed);
        self.atime.store(options.atime && !options.read_only, Ordering::Relaxed);
    }

    /// Attributes of users are there.
    pub fn has_xattr(&self) -> bool {
        self.xattr.load(Ordering::Relaxed)
    }

    /// What is read may leave an access time.
    pub fn has_atime(&self) -> bool {
        self.atime.load(Ordering::Relaxed)
    }
}
