//! Pool versions and feature flags: one table of every flag that OpenZFS knows.
//!
//! A flag is *enabled* (its guid is in a feature ZAP with count 0) or *active* (count above 0: the pool has something
//! on disk that only this feature explains). An active flag that a program does not know makes the pool unreadable to
//! it, or, with [`READONLY_COMPAT`], unwritable.
//!
//! Sources: module/zcommon/zfeature_common.c (flags and dependencies), cmd/zpool/compatibility.d (sets), man
//! zpool-features(7).

/// The first pool version.
pub const VERSION_INITIAL: u64 = 1;
/// The last numbered version, before feature flags.
pub const VERSION_LAST_LEGACY: u64 = 28;
/// The version of every pool with feature flags.
pub const VERSION_FEATURES: u64 = 5000;

/// Whether a version is one that ever was.
pub const fn version_is_supported(version: u64) -> bool {
    (version >= VERSION_INITIAL && version <= VERSION_LAST_LEGACY) || version == VERSION_FEATURES
}

/// A program without it may still read: it is listed in `features_for_write`, the others in `features_for_read`.
pub const READONLY_COMPAT: u8 = 1;
/// Needed to read the meta object set itself: repeated in the label, under `features_for_read`.
pub const MOS: u8 = 2;
/// Active as soon as it is enabled.
pub const ACTIVATE_ON_ENABLE: u8 = 4;
/// Active while a dataset uses it; the dataset's ZAP says which do.
pub const PER_DATASET: u8 = 8;
/// Not enabled by `zpool upgrade`.
pub const NO_UPGRADE: u8 = 16;

/// One feature flag.
#[derive(Debug, PartialEq, Eq)]
pub struct Feature {
    /// The name on disk: `com.delphix:async_destroy`.
    pub guid: &'static str,
    /// The name people use: `async_destroy`.
    pub name: &'static str,
    pub flags: u8,
    /// Names of those that must be enabled too.
    pub needs: &'static [&'static str],
}

impl Feature {
    pub const fn is(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }
}

const fn feature(
    guid: &'static str,
    name: &'static str,
    flags: u8,
    needs: &'static [&'static str],
) -> Feature {
    Feature { guid, name, flags, needs }
}

/// Every flag, in OpenZFS's order.
pub const FEATURES: &[Feature] = &[
    feature("com.delphix:async_destroy", "async_destroy", READONLY_COMPAT, &[]),
    feature("com.delphix:empty_bpobj", "empty_bpobj", READONLY_COMPAT, &[]),
    feature("org.illumos:lz4_compress", "lz4_compress", ACTIVATE_ON_ENABLE, &[]),
    feature("com.joyent:multi_vdev_crash_dump", "multi_vdev_crash_dump", 0, &[]),
    feature("com.delphix:spacemap_histogram", "spacemap_histogram", READONLY_COMPAT, &[]),
    feature("com.delphix:enabled_txg", "enabled_txg", READONLY_COMPAT, &[]),
    feature("com.delphix:hole_birth", "hole_birth", MOS | ACTIVATE_ON_ENABLE, &["enabled_txg"]),
    feature("com.delphix:zpool_checkpoint", "zpool_checkpoint", READONLY_COMPAT, &[]),
    feature("com.delphix:spacemap_v2", "spacemap_v2", READONLY_COMPAT | ACTIVATE_ON_ENABLE, &[]),
    feature("com.delphix:extensible_dataset", "extensible_dataset", 0, &[]),
    feature("com.delphix:bookmarks", "bookmarks", READONLY_COMPAT, &["extensible_dataset"]),
    feature("com.joyent:filesystem_limits", "filesystem_limits", READONLY_COMPAT, &["extensible_dataset"]),
    feature("com.delphix:embedded_data", "embedded_data", MOS | ACTIVATE_ON_ENABLE, &[]),
    feature("com.delphix:livelist", "livelist", READONLY_COMPAT, &["extensible_dataset"]),
    feature("com.delphix:log_spacemap", "log_spacemap", READONLY_COMPAT, &["spacemap_v2"]),
    feature("org.open-zfs:large_blocks", "large_blocks", PER_DATASET, &["extensible_dataset"]),
    feature("org.zfsonlinux:large_dnode", "large_dnode", PER_DATASET, &["extensible_dataset"]),
    feature("org.illumos:sha512", "sha512", PER_DATASET, &["extensible_dataset"]),
    feature("org.illumos:skein", "skein", PER_DATASET, &["extensible_dataset"]),
    feature("org.illumos:edonr", "edonr", PER_DATASET, &["extensible_dataset"]),
    feature(
        "com.delphix:redaction_bookmarks",
        "redaction_bookmarks",
        0,
        &["bookmark_v2", "extensible_dataset", "bookmarks"],
    ),
    feature("com.delphix:redacted_datasets", "redacted_datasets", PER_DATASET, &["extensible_dataset"]),
    feature(
        "com.delphix:bookmark_written",
        "bookmark_written",
        0,
        &["bookmark_v2", "extensible_dataset", "bookmarks"],
    ),
    feature("com.delphix:device_removal", "device_removal", MOS, &[]),
    feature(
        "com.delphix:obsolete_counts",
        "obsolete_counts",
        READONLY_COMPAT,
        &["extensible_dataset", "device_removal"],
    ),
    feature(
        "org.zfsonlinux:userobj_accounting",
        "userobj_accounting",
        READONLY_COMPAT | PER_DATASET,
        &["extensible_dataset"],
    ),
    feature("com.datto:bookmark_v2", "bookmark_v2", 0, &["extensible_dataset", "bookmarks"]),
    feature("com.datto:encryption", "encryption", PER_DATASET, &["extensible_dataset", "bookmark_v2"]),
    feature(
        "org.zfsonlinux:project_quota",
        "project_quota",
        READONLY_COMPAT | PER_DATASET,
        &["extensible_dataset"],
    ),
    feature("org.zfsonlinux:allocation_classes", "allocation_classes", READONLY_COMPAT, &[]),
    feature("com.datto:resilver_defer", "resilver_defer", READONLY_COMPAT, &[]),
    feature("org.openzfs:device_rebuild", "device_rebuild", READONLY_COMPAT, &[]),
    feature("org.freebsd:zstd_compress", "zstd_compress", PER_DATASET, &["extensible_dataset"]),
    feature("org.openzfs:draid", "draid", MOS, &[]),
    feature("com.seagate:draid_failure_domains", "draid_failure_domains", MOS, &["draid"]),
    feature("org.openzfs:zilsaxattr", "zilsaxattr", READONLY_COMPAT | PER_DATASET, &["extensible_dataset"]),
    feature("com.delphix:head_errlog", "head_errlog", ACTIVATE_ON_ENABLE, &[]),
    feature("org.openzfs:blake3", "blake3", PER_DATASET, &["extensible_dataset"]),
    feature("com.fudosecurity:block_cloning", "block_cloning", READONLY_COMPAT, &[]),
    feature("com.truenas:block_cloning_endian", "block_cloning_endian", READONLY_COMPAT, &[]),
    feature("com.klarasystems:vdev_zaps_v2", "vdev_zaps_v2", MOS, &[]),
    feature("com.delphix:redaction_list_spill", "redaction_list_spill", 0, &["redaction_bookmarks"]),
    feature("org.openzfs:raidz_expansion", "raidz_expansion", MOS, &[]),
    feature("com.klarasystems:fast_dedup", "fast_dedup", READONLY_COMPAT, &[]),
    feature("org.zfsonlinux:longname", "longname", PER_DATASET, &["extensible_dataset"]),
    feature(
        "com.klarasystems:large_microzap",
        "large_microzap",
        READONLY_COMPAT | PER_DATASET,
        &["extensible_dataset", "large_blocks"],
    ),
    feature("com.klarasystems:dynamic_gang_header", "dynamic_gang_header", MOS | NO_UPGRADE, &[]),
    feature(
        "com.truenas:physical_rewrite",
        "physical_rewrite",
        READONLY_COMPAT | PER_DATASET,
        &["extensible_dataset"],
    ),
];

/// By the name on disk.
pub fn by_guid(guid: &str) -> Option<&'static Feature> {
    FEATURES.iter().find(|feature| feature.guid == guid)
}

/// By the name people use, or the name on disk.
pub fn by_name(name: &str) -> Option<&'static Feature> {
    FEATURES.iter().find(|feature| feature.name == name || feature.guid == name)
}

const OPENZFS_2_0_LINUX: &[&str] = &[
    "allocation_classes",
    "async_destroy",
    "bookmark_v2",
    "bookmark_written",
    "bookmarks",
    "device_rebuild",
    "device_removal",
    "edonr",
    "embedded_data",
    "empty_bpobj",
    "enabled_txg",
    "encryption",
    "extensible_dataset",
    "filesystem_limits",
    "hole_birth",
    "large_blocks",
    "large_dnode",
    "livelist",
    "log_spacemap",
    "lz4_compress",
    "multi_vdev_crash_dump",
    "obsolete_counts",
    "project_quota",
    "redacted_datasets",
    "redaction_bookmarks",
    "resilver_defer",
    "sha512",
    "skein",
    "spacemap_histogram",
    "spacemap_v2",
    "userobj_accounting",
    "zpool_checkpoint",
    "zstd_compress",
];
const OPENZFS_2_1_LINUX: &[&str] = &[
    "allocation_classes",
    "async_destroy",
    "bookmark_v2",
    "bookmark_written",
    "bookmarks",
    "device_rebuild",
    "device_removal",
    "draid",
    "edonr",
    "embedded_data",
    "empty_bpobj",
    "enabled_txg",
    "encryption",
    "extensible_dataset",
    "filesystem_limits",
    "hole_birth",
    "large_blocks",
    "large_dnode",
    "livelist",
    "log_spacemap",
    "lz4_compress",
    "multi_vdev_crash_dump",
    "obsolete_counts",
    "project_quota",
    "redacted_datasets",
    "redaction_bookmarks",
    "resilver_defer",
    "sha512",
    "skein",
    "spacemap_histogram",
    "spacemap_v2",
    "userobj_accounting",
    "zpool_checkpoint",
    "zstd_compress",
];

/// Names of the features in a compatibility set; `None` where the set is not known. `legacy` has none.
pub fn compatibility_set(name: &str) -> Option<&'static [&'static str]> {
    match name {
        "legacy" => Some(&[]),
        "openzfs-2.0-linux" => Some(OPENZFS_2_0_LINUX),
        "openzfs-2.1-linux" => Some(OPENZFS_2_1_LINUX),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
