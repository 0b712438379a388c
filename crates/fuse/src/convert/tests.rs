use super::*;

#[test]
fn device_numbers_round_trip() {
    for (major, minor) in [(0, 0), (1, 3), (8, 255), (8, 256), (0xfff, 0xfffff), (259, 70_000)] {
        assert_eq!(decode_rdev(encode_rdev((major, minor))), (major, minor));
        let libc_dev = libc::makedev(major, minor);
        // For numbers of 32 bits the kernel's encoding and the C library's agree.
        assert_eq!(u64::from(encode_rdev((major, minor))), libc_dev);
    }
}

#[test]
fn mknod_makes_what_it_can() {
    assert_eq!(new_node(libc::S_IFREG | 0o644, 0).ok(), Some(NewNode::File));
    let device = NewNode::CharDev { major: 1, minor: 3 };
    assert_eq!(new_node(libc::S_IFCHR, encode_rdev((1, 3))).ok(), Some(device));
    assert!(new_node(libc::S_IFDIR, 0).is_err());
}
