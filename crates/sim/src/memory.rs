//! Memory that outlives programs, with a record: so a program can die at any of its changes
//! afterwards, or within one.

use std::io;
use std::sync::{Arc, Mutex};

use env::{Keepsake, MemKeepsake, lock};
use stdx::prng::Prng;

use crate::disk::SimDisks;

/// Bytes: sometimes too little.
const SIZE: usize = 7 << 20;
/// What is there or not, as a whole.
const WORD: usize = 8;

/// See the module.
pub struct SimMemory {
    bytes: MemKeepsake,
    /// Whose tape says when something happens.
    disks: SimDisks,
    tape: Mutex<Option<MemoryTape>>,
}

/// What became of the memory while a tape of the disks ran.
pub struct MemoryTape {
    start: Vec<u8>,
    changes: Vec<Change>,
}

struct Change {
    /// Writes and flushes of the disks by then.
    at: usize,
    place: u64,
    bytes: Vec<u8>,
}

impl SimMemory {
    pub fn new(disks: &SimDisks) -> Arc<SimMemory> {
        SimMemory::with(vec![0; SIZE], disks)
    }

    pub fn with(bytes: Vec<u8>, disks: &SimDisks) -> Arc<SimMemory> {
        let memory = MemKeepsake::new(bytes.len());
        memory.write(0, &[&bytes]).expect("it has so many bytes");
        Arc::new(SimMemory { bytes: memory, disks: disks.clone(), tape: Mutex::default() })
    }

    /// When the tape of the disks begins.
    pub fn start_tape(&self) {
        let mut start = vec![0; SIZE];
        self.bytes.read(0, &mut start).expect("it has so many bytes");
        *lock(&self.tape) = Some(MemoryTape { start, changes: Vec::new() });
    }

    pub fn take_tape(&self) -> Option<MemoryTape> {
        lock(&self.tape).take()
    }

    fn record(&self, place: u64, bytes: Vec<u8>) {
        if let Some(tape) = &mut *lock(&self.tape) {
            tape.changes.push(Change { at: self.disks.taped(), place, bytes });
        }
    }
}

impl Keepsake for SimMemory {
    fn size(&self) -> u64 {
        self.bytes.size()
    }

    fn reserve(&self, at: u64, len: u64) -> io::Result<()> {
        self.bytes.reserve(at, len)
    }

    fn write(&self, at: u64, parts: &[&[u8]]) -> io::Result<()> {
        self.record(at, parts.concat());
        self.bytes.write(at, parts)
    }

    fn read(&self, at: u64, into: &mut [u8]) -> io::Result<()> {
        self.bytes.read(at, into)
    }

    fn discard(&self, at: u64, len: u64) -> io::Result<()> {
        self.record(at, vec![0; len as usize]);
        self.bytes.discard(at, len)
    }
}

impl MemoryTape {
    /// What a program leaves that dies after so many writes and flushes of the disks, somewhere
    /// before the next.
    pub fn at_death(&self, at: usize, prng: &mut Prng) -> Vec<u8> {
        let mut bytes = self.start.clone();
        let mut put = |change: &Change, len: usize| {
            bytes[change.place as usize..][..len].copy_from_slice(&change.bytes[..len]);
        };
        self.changes
            .iter()
            .filter(|change| change.at < at)
            .for_each(|change| put(change, change.bytes.len()));
        let last: Vec<&Change> = self.changes.iter().filter(|change| change.at == at).collect();
        let done = prng.below(last.len() as u64 + 1) as usize;
        last[..done].iter().for_each(|change| put(change, change.bytes.len()));
        if let Some(torn) = last.get(done) {
            put(torn, prng.below(torn.bytes.len() as u64 + 1) as usize / WORD * WORD);
        }
        bytes
    }
}
