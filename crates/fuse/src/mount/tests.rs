use super::{why_not_mounted, why_not_remounted};
use std::io::{Error, ErrorKind};

#[test]
fn a_mount_that_failed_says_what_would_help() {
    let conf =
        "fusermount3: option allow_other only allowed if 'user_allow_other' is set in /etc/fuse.conf\n";
    let denied = Error::new(ErrorKind::PermissionDenied, conf);
    let cure = "a mount for all users takes root, or a line 'user_allow_other' in /etc/fuse.conf";
    assert_eq!(why_not_mounted(&denied, false).to_string(), cure);
    let missing = Error::from_raw_os_error(libc::ENOENT);
    assert_eq!(
        why_not_mounted(&missing, false).to_string(),
        "a mount takes root, or fusermount3 (package fuse3)"
    );
    assert_eq!(why_not_mounted(&missing, true).to_string(), "No such file or directory");
    let other = Error::other("fusermount3: user has no write access to mountpoint /mnt\n");
    assert_eq!(why_not_mounted(&other, false).to_string(), "user has no write access to mountpoint /mnt");
}

#[test]
fn a_remount_that_takes_root_says_what_does_not() {
    let refused = Error::from_raw_os_error(libc::EPERM);
    let cure = "that takes root: unmount it, and mount it with the new options";
    assert_eq!(why_not_remounted(&refused, false).to_string(), cure);
    assert_eq!(why_not_remounted(&refused, true).to_string(), "Operation not permitted");
}
