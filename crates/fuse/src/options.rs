//! How a file system is mounted.

use std::time::Duration;

/// How to mount: the dataset's properties, and how hard to try.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MountOptions {
    /// What `mount` and `df` show as the source: the dataset's name.
    pub source: String,
    /// readonly=on
    pub read_only: bool,
    /// Shown by the kernel only, both; the engine decides whether reads touch atime.
    pub atime: bool,
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
