//! The last of what a program writes.

use std::collections::VecDeque;
use std::io::{self, Read};
use std::sync::{Mutex, PoisonError};

/// Of what was added, so many bytes.
pub struct Tail {
    bytes: VecDeque<u8>,
    most: usize,
    is_cut: bool,
}

impl Tail {
    pub fn new(most: usize) -> Tail {
        Tail { bytes: VecDeque::new(), most, is_cut: false }
    }

    pub fn add(&mut self, bytes: &[u8]) {
        self.bytes.extend(bytes);
        let surplus = self.bytes.len().saturating_sub(self.most);
        self.is_cut |= surplus > 0;
        self.bytes.drain(..surplus);
    }

    /// Where the beginning is missing, so is the rest of its line.
    pub fn text(&mut self) -> String {
        let bytes = self.bytes.make_contiguous();
        let from = bytes.iter().position(|byte| *byte == b'\n').filter(|_| self.is_cut);
        String::from_utf8_lossy(&bytes[from.map_or(0, |at| at + 1)..]).into_owned()
    }
}

/// Reads to the end.
pub fn listen(mut from: impl Read, into: &Mutex<Tail>) {
    let mut buffer = [0; 8 << 10];
    loop {
        match from.read(&mut buffer) {
            Ok(0) => return,
            Ok(len) => into.lock().unwrap_or_else(PoisonError::into_inner).add(&buffer[..len]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return,
        }
    }
}
