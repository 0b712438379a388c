//! A DSL directory: one node of the dataset tree, with its space accounting, quota and reservation.
//!
//! A bonus buffer of 256 bytes (`DMU_OT_DSL_DIR`). When the object itself is a ZAP
//! (`DMU_OTN_ZAP_METADATA`, "extensified"), that ZAP holds further fields, named by the `FIELD_*`
//! constants.
//!
//! Source: include/sys/dsl_dir.h.

use crate::words::words;

/// `used_breakdown` is kept.
pub const FLAG_USED_BREAKDOWN: u64 = 1 << 0;

pub const FIELD_FILESYSTEM_COUNT: &str = "com.joyent:filesystem_count";
pub const FIELD_SNAPSHOT_COUNT: &str = "com.joyent:snapshot_count";
pub const FIELD_CRYPTO_KEY_OBJ: &str = "com.datto:crypto_key_obj";
pub const FIELD_LIVELIST: &str = "com.delphix:livelist";
pub const FIELD_SNAPSHOTS_CHANGED: &str = "com.ixsystems:snapshots_changed";

/// Children of the root directory that are no datasets of the user.
pub const MOS_DIR: &str = "$MOS";
pub const ORIGIN_DIR: &str = "$ORIGIN";
pub const FREE_DIR: &str = "$FREE";
pub const LEAK_DIR: &str = "$LEAK";

words! {
    /// `dsl_dir_phys_t`. Space is in bytes.
    pub struct DslDirPhys [256, 256, "dsl dir"] {
        /// Not used by anyone.
        creation_time,
        /// The dataset that is the live file system or volume; 0 for `$MOS` and kin.
        head_dataset_obj,
        /// The DSL directory above; 0 for the root.
        parent_obj,
        /// For a clone, the snapshot it came from.
        origin_obj,
        /// ZAP: name → DSL directory.
        child_dir_zapobj,
        used_bytes,
        compressed_bytes,
        uncompressed_bytes,
        quota,
        reserved,
        /// ZAP of locally set properties.
        props_zapobj,
        /// ZAP of delegated permissions.
        deleg_zapobj,
        /// `FLAG_*`.
        flags,
        /// `used_bytes` by what uses it: the head, its snapshots, the children, and the two
        /// reservations.
        used_head,
        used_snap,
        used_child,
        used_child_rsrv,
        used_refrsrv,
        /// ZAP whose keys are the DSL directories that are clones of snapshots here.
        clones,
    }
}

#[cfg(test)]
mod tests;
