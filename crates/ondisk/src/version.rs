//! Versions of pools, each named by what it brought, and which version of file systems a pool may hold.
//!
//! Up to [`LAST_NUMBERED`] a version says all about a pool; from [`FEATURES`] on flags do ([`crate::feature`]).
//!
//! Sources: include/sys/fs/zfs.h (`SPA_VERSION_*`), module/zcommon/zfs_comutil.c (`zfs_version_table`).

use crate::znode;

pub const INITIAL: u64 = 1;
/// Space is counted net of parity.
pub const DEFLATE: u64 = 3;
pub const HISTORY: u64 = 4;
/// Space is counted by user and group.
pub const USERSPACE: u64 = 15;
/// Blocks of data may be shared, as tables have it.
pub const DEDUP: u64 = 21;
/// Dead lists are sorted by snapshot, and what was destroyed is freed in the background.
pub const DEADLISTS: u64 = 26;
/// A snapshot may have the head of an intent log.
pub const FAST_SNAPSHOTS: u64 = 27;
/// The last numbered version, before feature flags.
pub const LAST_NUMBERED: u64 = 28;
/// The version of every pool with feature flags.
pub const FEATURES: u64 = 5000;

/// Whether a version is one that ever was.
pub const fn is_known(version: u64) -> bool {
    (version >= INITIAL && version <= LAST_NUMBERED) || version == FEATURES
}

/// The newest version of file systems in a pool of this version.
pub const fn newest_file_system(pool: u64) -> u64 {
    match pool {
        24.. => znode::VERSION_SA,
        USERSPACE.. => znode::VERSION_USERSPACE,
        9.. => znode::VERSION_FUID,
        _ => znode::VERSION_DIRENT_TYPE,
    }
}

#[cfg(test)]
mod tests;
