//! What a run did, as one number: two runs of a seed must give the same.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

const START: u64 = 0xcbf2_9ce4_8422_2325;
const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

/// A running hash of everything noted. Clones share it.
#[derive(Clone, Debug)]
pub struct Trace(Arc<AtomicU64>);

impl Default for Trace {
    fn default() -> Trace {
        Trace(Arc::new(AtomicU64::new(START)))
    }
}

impl Trace {
    pub fn note(&self, word: u64) {
        self.0.store(mix(self.0.load(Relaxed), word), Relaxed);
    }

    pub fn note_bytes(&self, bytes: &[u8]) {
        self.0.store(hash_bytes(self.0.load(Relaxed), bytes), Relaxed);
    }

    pub fn hash(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

fn mix(hash: u64, word: u64) -> u64 {
    (hash.rotate_left(23) ^ word).wrapping_mul(FACTOR)
}

/// The bytes and their number, mixed into `hash`.
pub fn hash_bytes(hash: u64, bytes: &[u8]) -> u64 {
    let mut words = bytes.chunks_exact(8);
    let mut hash = mix(hash, bytes.len() as u64);
    for word in &mut words {
        hash = mix(hash, u64::from_le_bytes(word.try_into().expect("eight bytes")));
    }
    words.remainder().iter().fold(hash, |hash, &byte| mix(hash, u64::from(byte)))
}
