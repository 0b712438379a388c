//! Versions of pools, each named by what it brought, and which version of file systems a pool may
//! hold.
//!
//! Up to [`LAST_NUMBERED`] a version says all about a pool; from [`FEATURES`] on flags do
//! ([`crate::feature`]).
//!
//! Sources: include/sys/fs/zfs.h (`SPA_VERSION_*`), module/zcommon/zfs_comutil.c
//! (`zfs_version_table`).

use crate::znode;

pub const INITIAL: u64 = 1;
/// A block may have more than one copy.
pub const COPIES: u64 = 2;
/// Space is counted net of parity, that of objects in bytes, and lists of blocks have all sums.
pub const DEFLATE: u64 = 3;
/// Spares, and a second parity.
pub const SPARES: u64 = 3;
pub const HISTORY: u64 = 4;
pub const GZIP: u64 = 5;
pub const BOOTFS: u64 = 6;
/// Devices of their own for intent logs.
pub const LOGS: u64 = 7;
pub const DELEGATED_PERMS: u64 = 8;
/// Quotas and reservations without what is below, for which a head knows what only it has.
pub const REF_LIMITS: u64 = 9;
/// Cache devices.
pub const CACHES: u64 = 10;
/// Every dataset descends from one empty snapshot, and snapshots list their clones.
pub const ORIGIN: u64 = 11;
pub const SNAPSHOT_PROPS: u64 = 12;
/// Directories tell what of their space is whose.
pub const USED_BREAKDOWN: u64 = 13;
/// `aclinherit=passthrough-x`.
pub const PASSTHROUGH_X: u64 = 14;
/// Space is counted by user and group.
pub const USERSPACE: u64 = 15;
pub const RAIDZ3: u64 = 17;
pub const HOLDS: u64 = 18;
/// Log devices can be removed.
pub const HOLES: u64 = 19;
pub const ZLE: u64 = 20;
/// Blocks of data may be shared, as tables have it.
pub const DEDUP: u64 = 21;
/// Properties that were received are kept apart from those that were set.
pub const RECEIVED_PROPS: u64 = 22;
/// Dead lists are sorted by snapshot, and what was destroyed is freed in the background.
pub const DEADLISTS: u64 = 26;
/// A snapshot may have the head of an intent log.
pub const FAST_SNAPSHOTS: u64 = 27;
/// A disk that is being replaced can be replaced.
pub const MULTI_REPLACE: u64 = 28;
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
        REF_LIMITS.. => znode::VERSION_FUID,
        _ => znode::VERSION_DIRENT_TYPE,
    }
}

#[cfg(test)]
mod tests;
