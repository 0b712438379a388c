//! A stream as long as there is time: for what has to be said before somebody is known, however
//! slowly it is sent.

use std::io::{self, Read};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

/// What waits for so long at the most.
pub trait Timed {
    fn set_patience(&self, patience: Duration) -> io::Result<()>;
}

impl Timed for TcpStream {
    fn set_patience(&self, patience: Duration) -> io::Result<()> {
        self.set_read_timeout(Some(patience))
    }
}

impl Timed for UnixStream {
    fn set_patience(&self, patience: Duration) -> io::Result<()> {
        self.set_read_timeout(Some(patience))
    }
}

/// See the module.
pub struct Hurried<'a, S> {
    pub stream: &'a S,
    pub until: Instant,
}

impl<'a, S> Hurried<'a, S> {
    pub fn new(stream: &'a S, patience: Duration) -> Hurried<'a, S> {
        Hurried { stream, until: Instant::now() + patience }
    }
}

impl<S: Timed> Read for Hurried<'_, S>
where
    for<'s> &'s S: Read,
{
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let left = self.until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        self.stream.set_patience(left)?;
        (&mut &*self.stream).read(bytes)
    }
}
