//! A stream as long as there is time: for what has to be said before somebody is known, however
//! slowly it is sent.

use std::io::{self, Read};
use std::time::{Duration, Instant};

use crate::Stream;

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

impl<S: Stream> Read for Hurried<'_, S>
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
