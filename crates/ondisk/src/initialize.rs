//! How far the initializing of a disk is: entries of the disk's ZAP, all single numbers. The states
//! are those of [`crate::trim`].
//!
//! Source: include/sys/fs/zfs.h (`VDEV_LEAF_ZAP_INITIALIZE_*`, `vdev_initializing_state_t`).

/// Offset on the top-level vdev before which all free space was written.
pub const LAST_OFFSET: &str = "com.delphix:next_offset_to_initialize";
pub const STATE: &str = "com.delphix:vdev_initialize_state";
/// When it was begun, suspended ones too, or has ended: seconds since 1970.
pub const ACTION_TIME: &str = "com.delphix:vdev_initialize_action_time";
/// What is written, eight bytes again and again.
pub const VALUE: &str = "org.openzfs:vdev_initialize_value";
