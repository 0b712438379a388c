//! Feature flags: one table of every flag that OpenZFS knows.
//!
//! A flag is *enabled* (its guid is in a feature ZAP with count 0) or *active* (count above 0: the
//! pool has something on disk that only this feature explains). An active flag that a program does
//! not know makes the pool unreadable to it, or, with [`READONLY_COMPAT`], unwritable.
//!
//! Sources: module/zcommon/zfeature_common.c (flags and dependencies), cmd/zpool/compatibility.d
//! (sets), man zpool-features(7).

/// A program without it may still read: it is listed in `features_for_write`, the others in
/// `features_for_read`.
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
    /// What it is for, in OpenZFS's words; also in the pool, for programs that do not know it.
    pub description: &'static str,
    pub flags: u8,
    /// Names of those that must be enabled too.
    pub needs: &'static [&'static str],
}

impl Feature {
    pub const fn is(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }
}

/// The name that people use is what follows the colon.
const fn feature(
    guid: &'static str,
    description: &'static str,
    flags: u8,
    needs: &'static [&'static str],
) -> Feature {
    let mut colon = 0;
    while guid.as_bytes()[colon] != b':' {
        colon += 1;
    }
    Feature { guid, name: guid.split_at(colon + 1).1, description, flags, needs }
}

/// What most flags of datasets need.
const EXTENSIBLE: &[&str] = &["extensible_dataset"];

/// Every flag, in OpenZFS's order.
pub const FEATURES: &[Feature] = &[
    feature("com.delphix:async_destroy", "Destroy filesystems asynchronously.", READONLY_COMPAT, &[]),
    feature("com.delphix:empty_bpobj", "Snapshots use less space.", READONLY_COMPAT, &[]),
    feature("org.illumos:lz4_compress", "LZ4 compression algorithm support.", ACTIVATE_ON_ENABLE, &[]),
    feature("com.joyent:multi_vdev_crash_dump", "Crash dumps to multiple vdev pools.", 0, &[]),
    feature("com.delphix:spacemap_histogram", "Spacemaps maintain space histograms.", READONLY_COMPAT, &[]),
    feature("com.delphix:enabled_txg", "Record txg at which a feature is enabled", READONLY_COMPAT, &[]),
    feature(
        "com.delphix:hole_birth",
        "Retain hole birth txg for more precise zfs send",
        MOS | ACTIVATE_ON_ENABLE,
        &["enabled_txg"],
    ),
    feature(
        "com.delphix:zpool_checkpoint",
        "Pool state can be checkpointed, allowing rewind later.",
        READONLY_COMPAT,
        &[],
    ),
    feature(
        "com.delphix:spacemap_v2",
        "Space maps representing large segments are more efficient.",
        READONLY_COMPAT | ACTIVATE_ON_ENABLE,
        &[],
    ),
    feature(
        "com.delphix:extensible_dataset",
        "Enhanced dataset functionality, used by other features.",
        0,
        &[],
    ),
    feature("com.delphix:bookmarks", "\"zfs bookmark\" command", READONLY_COMPAT, EXTENSIBLE),
    feature("com.joyent:filesystem_limits", "Filesystem and snapshot limits.", READONLY_COMPAT, EXTENSIBLE),
    feature(
        "com.delphix:embedded_data",
        "Blocks which compress very well use even less space.",
        MOS | ACTIVATE_ON_ENABLE,
        &[],
    ),
    feature("com.delphix:livelist", "Improved clone deletion performance.", READONLY_COMPAT, EXTENSIBLE),
    feature(
        "com.delphix:log_spacemap",
        "Log metaslab changes on a single spacemap and flush them periodically.",
        READONLY_COMPAT,
        &["spacemap_v2"],
    ),
    feature("org.open-zfs:large_blocks", "Support for blocks larger than 128KB.", PER_DATASET, EXTENSIBLE),
    feature("org.zfsonlinux:large_dnode", "Variable on-disk size of dnodes.", PER_DATASET, EXTENSIBLE),
    feature("org.illumos:sha512", "SHA-512/256 hash algorithm.", PER_DATASET, EXTENSIBLE),
    feature("org.illumos:skein", "Skein hash algorithm.", PER_DATASET, EXTENSIBLE),
    feature("org.illumos:edonr", "Edon-R hash algorithm.", PER_DATASET, EXTENSIBLE),
    feature(
        "com.delphix:redaction_bookmarks",
        "Support for bookmarks which store redaction lists for zfs redacted send/recv.",
        0,
        &["bookmark_v2", "extensible_dataset", "bookmarks"],
    ),
    feature(
        "com.delphix:redacted_datasets",
        "Support for redacted datasets, produced by receiving a redacted zfs send stream.",
        PER_DATASET,
        EXTENSIBLE,
    ),
    feature(
        "com.delphix:bookmark_written",
        "Additional accounting, enabling the written#<bookmark> property (space written since a bookmark), and estimates of send stream sizes for incrementals from bookmarks.",
        0,
        &["bookmark_v2", "extensible_dataset", "bookmarks"],
    ),
    feature(
        "com.delphix:device_removal",
        "Top-level vdevs can be removed, reducing logical pool size.",
        MOS,
        &[],
    ),
    feature(
        "com.delphix:obsolete_counts",
        "Reduce memory used by removed devices when their blocks are freed or remapped.",
        READONLY_COMPAT,
        &["extensible_dataset", "device_removal"],
    ),
    feature(
        "org.zfsonlinux:userobj_accounting",
        "User/Group object accounting.",
        READONLY_COMPAT | PER_DATASET,
        EXTENSIBLE,
    ),
    feature("com.datto:bookmark_v2", "Support for larger bookmarks", 0, &["extensible_dataset", "bookmarks"]),
    feature(
        "com.datto:encryption",
        "Support for dataset level encryption",
        PER_DATASET,
        &["extensible_dataset", "bookmark_v2"],
    ),
    feature(
        "org.zfsonlinux:project_quota",
        "space/object accounting based on project ID.",
        READONLY_COMPAT | PER_DATASET,
        EXTENSIBLE,
    ),
    feature(
        "org.zfsonlinux:allocation_classes",
        "Support for separate allocation classes.",
        READONLY_COMPAT,
        &[],
    ),
    feature(
        "com.datto:resilver_defer",
        "Support for deferring new resilvers when one is already running.",
        READONLY_COMPAT,
        &[],
    ),
    feature(
        "org.openzfs:device_rebuild",
        "Support for sequential mirror/dRAID device rebuilds",
        READONLY_COMPAT,
        &[],
    ),
    feature("org.freebsd:zstd_compress", "zstd compression algorithm support.", PER_DATASET, EXTENSIBLE),
    feature("org.openzfs:draid", "Support for distributed spare RAID", MOS, &[]),
    feature("com.seagate:draid_failure_domains", "Support for failure domains in dRAID", MOS, &["draid"]),
    feature(
        "org.openzfs:zilsaxattr",
        "Support for xattr=sa extended attribute logging in ZIL.",
        READONLY_COMPAT | PER_DATASET,
        EXTENSIBLE,
    ),
    feature(
        "com.delphix:head_errlog",
        "Support for per-dataset on-disk error logs.",
        ACTIVATE_ON_ENABLE,
        &[],
    ),
    feature("org.openzfs:blake3", "BLAKE3 hash algorithm.", PER_DATASET, EXTENSIBLE),
    feature(
        "com.fudosecurity:block_cloning",
        "Support for block cloning via Block Reference Table.",
        READONLY_COMPAT,
        &[],
    ),
    feature(
        "com.truenas:block_cloning_endian",
        "Fixes BRT ZAP endianness on new pools.",
        READONLY_COMPAT,
        &[],
    ),
    feature("com.klarasystems:vdev_zaps_v2", "Support for root vdev ZAP.", MOS, &[]),
    feature(
        "com.delphix:redaction_list_spill",
        "Support for increased number of redaction_snapshot arguments in zfs redact.",
        0,
        &["redaction_bookmarks"],
    ),
    feature("org.openzfs:raidz_expansion", "Support for raidz expansion", MOS, &[]),
    feature("com.klarasystems:fast_dedup", "Support for advanced deduplication", READONLY_COMPAT, &[]),
    feature("org.zfsonlinux:longname", "support filename up to 1024 bytes", PER_DATASET, EXTENSIBLE),
    feature(
        "com.klarasystems:large_microzap",
        "Support for microzaps larger than 128KB.",
        READONLY_COMPAT | PER_DATASET,
        &["extensible_dataset", "large_blocks"],
    ),
    feature(
        "com.klarasystems:dynamic_gang_header",
        "Support for dynamically sized gang headers",
        MOS | NO_UPGRADE,
        &[],
    ),
    feature(
        "com.truenas:physical_rewrite",
        "Support for preserving logical birth time during rewrite.",
        READONLY_COMPAT | PER_DATASET,
        EXTENSIBLE,
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

/// Names of the features in a compatibility set; `None` where the set is not known. `legacy` has
/// none.
pub fn compatibility_set(name: &str) -> Option<Vec<&'static str>> {
    match name {
        "legacy" => Some(Vec::new()),
        // The same but for what came with 2.1.
        "openzfs-2.0-linux" => {
            Some(OPENZFS_2_1_LINUX.iter().copied().filter(|name| *name != "draid").collect())
        }
        "openzfs-2.1-linux" => Some(OPENZFS_2_1_LINUX.to_vec()),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
