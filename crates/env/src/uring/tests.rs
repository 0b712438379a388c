use super::*;

/// The kernel may move less than it was asked for, up to anywhere.
#[test]
fn what_is_left_begins_where_the_kernel_stopped() {
    let data: Vec<u8> = (0..40).collect();
    let parts = [&data[20..30], &data[..10], &data[30..40]];
    for first in 1..30 {
        for second in 1..=30 - first {
            let mut transfer = Transfer::gather(0, 1000, &parts);
            assert!(!transfer.advance(-i64::from(libc::EINTR)));
            assert!(!transfer.advance(first));
            assert_eq!(transfer.advance(second), first + second == 30);
            assert_eq!(transfer.offset, 1000 + (first + second) as u64);
            let bytes = |part: &libc::iovec| {
                let at = part.iov_base.addr() - data.as_ptr().addr();
                &data[at..at + part.iov_len]
            };
            let left: Vec<u8> = transfer.rest().iter().flat_map(bytes).copied().collect();
            assert_eq!(left, parts.concat()[(first + second) as usize..]);
        }
    }
    let mut cut = Transfer::gather(0, 0, &parts);
    assert!(cut.advance(0));
    assert_eq!(cut.result(), Err(libc::EIO));
}
