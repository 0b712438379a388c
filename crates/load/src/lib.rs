//! Load for file systems, over NFSv3 and on a local mount, and for logical units over iSCSI, and
//! what came of it.
//!
//! [`Work`] says what one operation is, [`Crowd`] how many writers do it and for how long;
//! [`Share::run`] and [`Folder::run`] do the same work over the network and by system calls, so
//! that figures of both mean the same. Data is incompressible. [`Profile`] says what is done to
//! logical units. It knows no server and no engine: whatever answers NFS or iSCSI, or is mounted,
//! can be measured.

mod drive;
mod folder;
mod initiator;
mod io_analyzer;
mod nfs3;
mod outcome;
mod scripts;
mod usage;

use std::time::Duration;

use stdx::prng::Prng;

pub use folder::Folder;
pub use initiator::{Initiator, Unit};
pub use io_analyzer::{How, PROFILES, Profile};
pub use nfs3::Share;
pub use outcome::Outcome;
pub use usage::{machine_time, process_time};

pub type Fail = Box<dyn std::error::Error + Send + Sync>;

/// What one operation is. The names it uses are fixed, so that one work finds what another has
/// made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Work {
    /// A block written to the one file that all share; not `is_sync`: at the end all is made
    /// durable, which counts.
    Write { blocks: Blocks, is_sync: bool },
    /// A block of that file read.
    Read { blocks: Blocks },
    /// A block appended to the writer's own file, durable when it is answered.
    Append { block: u32 },
    /// A file made, written and durable.
    SmallFile { bytes: u32 },
    /// An empty file made; at most so many.
    Create { files: u64 },
    /// The attributes of one of so many files, over and over.
    Stat { files: u64 },
    /// One of so many files removed, each once.
    Unlink { files: u64 },
}

/// Which blocks of a file. In order: each once when written, over and over when read; the writers
/// of a connection (on a local mount: each writer) go through them together. At random: anywhere
/// below `size`, for as long as there is time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Blocks {
    /// Bytes of one.
    pub block: u32,
    /// Bytes of the file.
    pub size: u64,
    pub is_random: bool,
}

/// How many do it, and for how long.
#[derive(Debug, Clone, Copy)]
pub struct Crowd {
    /// Operations at a time.
    pub writers: usize,
    /// Connections that the writers share; of no account on a local mount, where each is a thread.
    pub connections: usize,
    /// No operation begins later than this; works that know their end may end before.
    pub span: Duration,
    /// Random places differ from turn to turn; the same turn visits the same ones.
    pub turn: u32,
}

impl Crowd {
    /// On one connection.
    pub fn new(writers: usize, span: Duration) -> Crowd {
        Crowd { writers, connections: 1, span, turn: 0 }
    }

    /// Its random places are those of this turn.
    pub fn in_turn(self, turn: u32) -> Crowd {
        Crowd { turn, ..self }
    }

    /// For the random places of one of its workers.
    fn seed(&self, worker: usize) -> u64 {
        u64::from(self.turn) << 32 | worker as u64
    }

    /// On so many connections; never more than writers.
    pub fn over(self, connections: usize) -> Crowd {
        Crowd { connections: connections.min(self.writers), ..self }
    }
}

/// The file that `Write` and `Read` share.
const FILE: &str = "load.data";

fn name(prefix: &str, number: u64) -> String {
    format!("{prefix}.{number:07}")
}

/// Incompressible bytes to take writes from, each from another place.
struct Payload(Vec<u8>);

impl Payload {
    fn new(block: u32, seed: usize) -> Payload {
        let mut bytes = vec![0; block as usize + (1 << 20)];
        Prng::new(seed as u64).fill(&mut bytes);
        Payload(bytes)
    }

    /// The data of the `i`th write. A step in golden ratio keeps blocks apart that follow each
    /// other: where they had bytes in common within 64 KiB, lz4 would find them.
    fn block(&self, i: u64, len: u32) -> &[u8] {
        const STEP: u64 = 648_055;
        let len = len as usize;
        let from = (i.wrapping_mul(STEP) % (self.0.len() - len) as u64) as usize;
        &self.0[from..from + len]
    }
}

/// Which block comes next.
struct Places {
    blocks: u64,
    next: u64,
    /// Begin anew after the last.
    is_endless: bool,
    random: Option<Prng>,
}

impl Places {
    fn next(&mut self) -> Option<u64> {
        if let Some(random) = &mut self.random {
            return Some(random.below(self.blocks));
        }
        if self.next == self.blocks && self.is_endless {
            self.next = 0;
        }
        let place = self.next;
        (place < self.blocks).then(|| {
            self.next += 1;
            place
        })
    }
}

impl Blocks {
    fn places(&self, is_endless: bool, seed: u64) -> Places {
        let blocks = (self.size / u64::from(self.block)).max(1);
        Places { blocks, next: 0, is_endless, random: self.is_random.then(|| Prng::new(seed)) }
    }

    fn offset(&self, place: u64) -> u64 {
        place * u64::from(self.block)
    }
}

#[cfg(test)]
mod tests;
