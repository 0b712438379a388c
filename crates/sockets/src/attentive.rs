//! Reading a socket attentively: where the next request follows at once, look for it for a moment
//! before going to sleep.
//!
//! A client with one request in flight sends the next one when it has the answer. Between two
//! processors, putting a thread to sleep and waking it takes longer than most requests. So a reader
//! whose last wait was short looks for more without sleeping, and lets others have the processor
//! meanwhile; one that looked in vain sleeps, and so does an idle connection from then on. Only one
//! reader at a time does so: where there are many, somebody is awake anyway.

use std::io::{self, Read};
use std::net::TcpStream;
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::sys::socket::{MsgFlags, recv};

use crate::Peer;

/// How long to look, and how short a wait must have been for the next one to be worth it.
const A_MOMENT: Duration = Duration::from_micros(100);

/// Whether somebody is looking; shared by all connections of a server.
pub(crate) type Lookout = Arc<AtomicBool>;

/// A stream of requests. See the module.
pub struct Attentive<'a> {
    stream: &'a TcpStream,
    peer: &'a Peer,
    lookout: Lookout,
    /// The last wait was short.
    is_worth_it: bool,
}

impl Attentive<'_> {
    /// What it reads, the peer was heard to say.
    pub(crate) fn new<'a>(stream: &'a TcpStream, peer: &'a Peer, lookout: Lookout) -> Attentive<'a> {
        Attentive { stream, peer, lookout, is_worth_it: false }
    }

    /// Whether more has arrived than was read.
    pub fn have_arrived(&self) -> bool {
        let flags = MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_PEEK;
        recv(self.stream.as_raw_fd(), &mut [0], flags).is_ok_and(|len| len > 0)
    }

    /// What is there within a moment.
    fn look(&self, into: &mut [u8]) -> Option<io::Result<usize>> {
        let begun = Instant::now();
        while begun.elapsed() < A_MOMENT {
            match recv(self.stream.as_raw_fd(), into, MsgFlags::MSG_DONTWAIT) {
                Err(Errno::EAGAIN) => thread::yield_now(),
                Err(error) => return Some(Err(error.into())),
                Ok(len) => return Some(Ok(len)),
            }
        }
        None
    }
}

impl Read for Attentive<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.wait(into);
        if read.is_ok() {
            self.peer.note_heard();
        }
        read
    }
}

impl Attentive<'_> {
    fn wait(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.is_worth_it && !self.lookout.swap(true, Ordering::Relaxed) {
            let found = self.look(into);
            self.lookout.store(false, Ordering::Relaxed);
            if let Some(read) = found {
                return read;
            }
            self.is_worth_it = false;
            return self.stream.read(into);
        }
        let begun = Instant::now();
        let read = self.stream.read(into);
        self.is_worth_it = begun.elapsed() < A_MOMENT;
        read
    }
}

#[cfg(test)]
mod tests;
