use super::*;
use engine_api::{NodeId, NodeKind};

const NONE: Trust = Trust { name: Duration::ZERO, attr: Duration::ZERO };

fn attr() -> Attr {
    let time = |secs| Time { secs, nanos: 5 };
    Attr {
        node: NodeId { object: 9, generation: 3 },
        kind: NodeKind::File,
        mode: 0o4755,
        withheld: 0o5,
        nlink: 1 << 40,
        uid: 1,
        gid: 2,
        size: 1000,
        used: 513,
        blksize: 131_072,
        rdev: (0, 0),
        atime: time(-2),
        mtime: time(20),
        ctime: time(30),
        crtime: time(40),
        change: 0,
        settled: true,
    }
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_ne_bytes(bytes[at..at + 4].try_into().unwrap())
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_ne_bytes(bytes[at..at + 8].try_into().unwrap())
}

/// Sizes of `struct fuse_*_out` in include/uapi/linux/fuse.h.
#[test]
fn answers_are_as_long_as_the_kernel_wants() {
    let cache = Duration::from_millis(1500);
    assert_eq!(entry(9, &attr(), Trust { name: cache, attr: cache }).bytes().len(), 128);
    assert_eq!(attributes(9, &attr(), cache).bytes().len(), 104);
    assert_eq!(statx(9, &attr(), cache).bytes().len(), 288);
    assert_eq!(created(9, &attr(), Trust { name: cache, attr: cache }, 1, 0).bytes().len(), 144);
    assert_eq!(ioctl().bytes().len(), 16);
    let limits = Limits { max_readahead: 1, max_background: 64, max_write: 3, max_pages: 256 };
    let init = init(40, 1 << 36 | 1, &limits);
    assert_eq!(init.bytes().len(), 64);
    assert_eq!((u32_at(init.bytes(), 12), u32_at(init.bytes(), 32)), (1, 16), "flags of both halves");
}

#[test]
fn attributes_stand_where_the_kernel_looks() {
    let fields = attributes(9, &attr(), Duration::from_millis(1500));
    let bytes = fields.bytes();
    assert_eq!((u64_at(bytes, 0), u32_at(bytes, 8)), (1, 500_000_000));
    assert_eq!((u64_at(bytes, 16), u64_at(bytes, 24), u64_at(bytes, 32)), (9, 1000, 2));
    assert_eq!(u64_at(bytes, 40) as i64, -2);
    assert_eq!(u32_at(bytes, 76), libc::S_IFREG | 0o4750, "less what the ACL withholds");
    assert_eq!(u32_at(bytes, 80), u32::MAX, "no count of links wraps");
}

#[test]
fn entries_fill_the_room_and_no_more() {
    let mut entries = Entries::new(64);
    assert!(entries.add(1, 1, libc::S_IFDIR, b"."));
    assert!(entries.add(1, 2, libc::S_IFDIR, b".."));
    assert!(!entries.add(9, 3, libc::S_IFREG, b"f"));
    let bytes = entries.into_bytes();
    assert_eq!(bytes.len(), 64);
    assert_eq!(u32_at(&bytes, 20), u32::from(libc::DT_DIR));
    let mut plus = Entries::new(160);
    assert!(plus.add_plus(9, &attr(), NONE, 3, b"12345678"));
    assert_eq!(plus.into_bytes().len(), 160);
    assert!(!Entries::new(159).add_plus(9, &attr(), NONE, 3, b"12345678"));
}
