use super::*;

#[test]
fn errnos_that_callers_act_upon_are_told_apart() {
    assert_eq!(from_errno(libc::ENOENT), DiskError::NotFound);
    assert_eq!(from_errno(libc::EWOULDBLOCK), DiskError::Busy);
    assert_eq!(from_errno(libc::ENXIO), DiskError::Gone);
    assert_eq!(from_errno(libc::EIO), DiskError::Io(libc::EIO));
    assert_eq!(from_io(&io::Error::other("no errno")), DiskError::Unsupported);
}
