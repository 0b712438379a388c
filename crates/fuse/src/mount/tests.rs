use super::{in_words, mountinfo};
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

#[test]
fn a_mount_is_found_by_its_path_whatever_is_in_it() {
    let line = r"36 35 0:57 / /mnt/two\040words\134x rw,relatime shared:1 - fuse.cistern pool/fs rw";
    assert_eq!(mountinfo(line), Some(("0:57", br"/mnt/two words\x".to_vec())));
    assert_eq!(mountinfo("36 35 0:57 /"), None);
    assert_eq!(
        mountinfo(r"1 2 0:1 / /a\04"),
        Some(("0:1", br"/a\04".to_vec())),
        "not a number of three digits"
    );
}
