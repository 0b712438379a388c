//! How far the trimming of a disk is: entries of the disk's ZAP, all single numbers.
//!
//! Source: include/sys/fs/zfs.h (`VDEV_LEAF_ZAP_TRIM_*`, `vdev_trim_state_t`).

/// Offset on the top-level vdev before which all free space was trimmed.
pub const LAST_OFFSET: &str = "org.zfsonlinux:next_offset_to_trim";
pub const STATE: &str = "org.zfsonlinux:vdev_trim_state";
/// When it was begun, suspended ones too, or has ended: seconds since 1970.
pub const ACTION_TIME: &str = "org.zfsonlinux:vdev_trim_action_time";
/// Bytes a second; 0: unlimited.
pub const RATE: &str = "org.zfsonlinux:vdev_trim_rate";
/// 1: metaslabs that were never used are passed over.
pub const PARTIAL: &str = "org.zfsonlinux:vdev_trim_partial";
/// 1: the disk is to make the data unreadable.
pub const SECURE: &str = "org.zfsonlinux:vdev_trim_secure";

pub const STATE_NONE: u64 = 0;
pub const STATE_ACTIVE: u64 = 1;
pub const STATE_CANCELED: u64 = 2;
pub const STATE_SUSPENDED: u64 = 3;
pub const STATE_COMPLETE: u64 = 4;
