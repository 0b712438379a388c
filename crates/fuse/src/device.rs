//! The kernel's end of a mount: a file of /dev/fuse, on which the mount hangs.
//!
//! When the last copy of the file is closed, the kernel ends the connection: whoever still waits
//! for an answer gets an error, in every mount namespace.

use nix::poll::{PollFd, PollFlags, PollTimeout};
use std::fs::File;
use std::io::{self, IoSlice, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::time::Duration;

use crate::buffers::Buffer;
use crate::channel::Channel;

/// See the module.
pub struct Device(File);

/// What a read of the device gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Received {
    /// One whole request.
    Request,
    /// None after all, or a signal came.
    Nothing,
    /// It is unmounted, or was aborted.
    Gone,
}

impl From<File> for Device {
    fn from(file: File) -> Device {
        Device(file)
    }
}

impl Device {
    /// Wait until a request is there.
    ///
    /// # Errors
    /// `TimedOut` where none comes within `bound`.
    pub fn wait(&self, bound: Duration) -> io::Result<()> {
        let mut watched = [PollFd::new(self.0.as_fd(), PollFlags::POLLIN)];
        let bound = PollTimeout::try_from(bound).unwrap_or(PollTimeout::MAX);
        loop {
            match nix::poll::poll(&mut watched, bound) {
                Ok(0) => return Err(io::ErrorKind::TimedOut.into()),
                Ok(_) => return Ok(()),
                Err(nix::errno::Errno::EINTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// The next request, whole. Waits for it.
    pub fn receive(&self, buffer: &mut Buffer) -> io::Result<Received> {
        // SAFETY: the kernel writes into the room and no further.
        let read = buffer.fill(|room, len| unsafe { libc::read(self.0.as_raw_fd(), room, len) });
        let Err(error) = read else { return Ok(Received::Request) };
        match error.raw_os_error() {
            Some(libc::ENODEV) => Ok(Received::Gone),
            // ENOENT: whoever asked was interrupted meanwhile.
            Some(libc::EINTR | libc::ENOENT) => Ok(Received::Nothing),
            _ => Err(error),
        }
    }
}

impl Channel for Device {
    fn send(&self, answer: &[IoSlice<'_>]) -> io::Result<()> {
        loop {
            match (&self.0).write_vectored(answer) {
                Ok(_) => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}

impl AsFd for Device {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
