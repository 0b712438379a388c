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
fn times_before_1970_keep_their_nanoseconds() {
    // -1.2 s is second -2 and 800,000,000 ns; fuser receives it as 2.8 s before 1970.
    let received = UNIX_EPOCH - Duration::new(2, 800_000_000);
    assert_eq!(received_time(received), Time { secs: -2, nanos: 800_000_000 });
    let sent = system_time(Time { secs: -2, nanos: 800_000_000 });
    assert_eq!(sent, UNIX_EPOCH - Duration::new(1, 200_000_000));
    let later = Time { secs: 1_700_000_000, nanos: 1 };
    assert_eq!(received_time(system_time(later)), later);
    assert_eq!(system_time(Time { secs: i64::MIN, nanos: 0 }), UNIX_EPOCH - Duration::from_secs(1 << 63));
}

#[test]
fn mknod_makes_what_it_can() {
    assert_eq!(new_node(libc::S_IFREG | 0o644, 0), Some(NewNode::File));
    assert_eq!(new_node(libc::S_IFCHR, encode_rdev((1, 3))), Some(NewNode::CharDev { major: 1, minor: 3 }));
    assert_eq!(new_node(libc::S_IFDIR, 0), None);
}
