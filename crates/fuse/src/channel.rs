//! How answers reach the kernel: by the device, or in the place of their request in a ring.

use std::io::{self, IoSlice};

/// Where an answer goes.
pub trait Channel {
    /// One whole answer, in parts, of which the first is its header.
    ///
    /// # Errors
    /// The operating system's.
    fn send(&self, answer: &[IoSlice<'_>]) -> io::Result<()>;
}
