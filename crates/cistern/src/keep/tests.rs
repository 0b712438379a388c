//! How large the file is.

use super::size;

#[test]
fn it_follows_what_may_be_unwritten() {
    let mebi = |size: u64| size << 20;
    for (dirty, wanted) in [(1, 16), (128, 128), (256, 256), (300, 256), (800, 400), (4096, 1024)] {
        assert_eq!(size(mebi(dirty)), mebi(wanted));
    }
}
