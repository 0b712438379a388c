//! Seeded entropy.

use std::sync::Mutex;

use env::{Entropy, lock};
use stdx::prng::Prng;

/// Random bytes that are a function of the seed.
pub struct SimEntropy(Mutex<Prng>);

impl SimEntropy {
    pub fn new(prng: Prng) -> SimEntropy {
        SimEntropy(Mutex::new(prng))
    }
}

impl Entropy for SimEntropy {
    fn fill(&self, buf: &mut [u8]) {
        lock(&self.0).fill(buf);
    }
}
