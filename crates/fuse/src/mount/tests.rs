use super::in_words;
use std::io::{Error, ErrorKind};

#[test]
fn a_mount_that_failed_says_what_would_help() {
    let conf =
        "fusermount3: option allow_other only allowed if 'user_allow_other' is set in /etc/fuse.conf\n";
    let denied = Error::new(ErrorKind::PermissionDenied, conf);
    let cure = "a mount for all users takes root, or a line 'user_allow_other' in /etc/fuse.conf";
    assert_eq!(in_words(&denied, false), cure);
    let missing = Error::from_raw_os_error(libc::ENOENT);
    assert_eq!(in_words(&missing, false), "a mount takes root, or fusermount3 (package fuse3)");
    assert_eq!(in_words(&missing, true), "No such file or directory");
    let other = Error::other("fusermount3: user has no write access to mountpoint /mnt\n");
    assert_eq!(in_words(&other, false), "user has no write access to mountpoint /mnt");
}
