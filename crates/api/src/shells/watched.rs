//! Descriptors that a runtime looks after.

use std::io;
use std::os::fd::OwnedFd;
use tokio::io::unix::AsyncFd;

/// Has the runtime that this is called in look after a descriptor, which has to be one that does
/// not block.
pub fn watched(fd: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    // SAFETY: an `OwnedFd` is open until it is dropped, and is the same descriptor until then.
    unsafe { AsyncFd::register(fd) }.map_err(Into::into)
}
