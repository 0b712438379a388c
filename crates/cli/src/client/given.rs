//! Connections that the daemon hands over, to a process that may make none.
//!
//! A message on the line asks for one, and the answer has a descriptor: the other end of a
//! connection that the daemon serves already. An answer without one says that there is no place.

use std::io::{self, IoSliceMut};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, PoisonError};

use nix::cmsg_space;
use nix::sys::socket::{ControlMessageOwned, MsgFlags, recvmsg, send};

/// The line. Copies are one.
#[derive(Clone, Debug)]
pub struct Given(Arc<Mutex<OwnedFd>>);

impl Given {
    pub fn new(line: OwnedFd) -> Given {
        Given(Arc::new(Mutex::new(line)))
    }

    /// A new connection. Waits for as long as the line lets who receives.
    pub fn connect(&self) -> io::Result<UnixStream> {
        // Each asks and is answered before the next does.
        let line = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        send(line.as_raw_fd(), &[1], MsgFlags::MSG_NOSIGNAL)?;
        let answered = loop {
            match answer(&line) {
                Err(nix::Error::EINTR) => {}
                answered => break answered?,
            }
        };
        let no_place = || io::Error::new(io::ErrorKind::WouldBlock, "too many requests at a time");
        match answered {
            (0, _) => Err(io::ErrorKind::ConnectionAborted.into()),
            (_, fd) => Ok(UnixStream::from(fd.ok_or_else(no_place)?)),
        }
    }
}

/// The length of an answer, which is 0 where nobody answers any more, and what came with it.
fn answer(line: &OwnedFd) -> nix::Result<(usize, Option<OwnedFd>)> {
    let mut space = cmsg_space!(RawFd);
    let mut message = [0];
    let mut parts = [IoSliceMut::new(&mut message)];
    let flags = MsgFlags::MSG_CMSG_CLOEXEC;
    let found = recvmsg::<()>(line.as_raw_fd(), &mut parts, Some(&mut space), flags)?;
    let mut fds = Vec::new();
    for control in found.cmsgs()? {
        if let ControlMessageOwned::ScmRights(numbers) = control {
            // SAFETY: the kernel has just put these into the process, for nobody else.
            fds.extend(numbers.into_iter().map(|fd| unsafe { OwnedFd::from_raw_fd(fd) }));
        }
    }
    Ok((found.bytes, fds.pop()))
}
