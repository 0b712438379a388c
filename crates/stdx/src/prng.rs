//! A seeded random generator: xoshiro256** (Blackman and Vigna), its state filled by SplitMix64.
//!
//! Same seed, same numbers, on every machine and in every version of this program: failing seeds
//! are kept for years. Not for secrets; those come from `env`'s entropy.

/// The generator's state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prng {
    state: [u64; 4],
}

impl Prng {
    /// Any seed is good, zero included.
    pub const fn new(seed: u64) -> Self {
        let mut mix = seed;
        let mut state = [0; 4];
        let mut i = 0;
        while i < 4 {
            mix = mix.wrapping_add(0x9e37_79b9_7f4a_7c15);
            state[i] = finish(mix);
            i += 1;
        }
        Prng { state }
    }

    /// The next 64 random bits.
    pub const fn next_u64(&mut self) -> u64 {
        let s = &mut self.state;
        let result = s[1].wrapping_mul(5).rotate_left(7).wrapping_mul(9);
        let shifted = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= shifted;
        s[3] = s[3].rotate_left(45);
        result
    }

    /// Uniform in `0..bound`; the bias of at most `bound / 2^64` does not matter here. `bound` must
    /// not be 0.
    pub const fn below(&mut self, bound: u64) -> u64 {
        assert!(bound > 0);
        ((self.next_u64() as u128 * bound as u128) >> 64) as u64
    }

    /// Uniform in `low..high`, which must not be empty.
    pub const fn range(&mut self, low: u64, high: u64) -> u64 {
        assert!(low < high);
        low + self.below(high - low)
    }

    /// True in `numerator` of `denominator` cases.
    pub const fn chance(&mut self, numerator: u64, denominator: u64) -> bool {
        self.below(denominator) < numerator
    }

    /// Fills the slice with random bytes.
    pub fn fill(&mut self, bytes: &mut [u8]) {
        for chunk in bytes.chunks_mut(8) {
            let word = self.next_u64().to_le_bytes();
            chunk.copy_from_slice(&word[..chunk.len()]);
        }
    }

    /// One of the items, or none of an empty slice.
    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> Option<&'a T> {
        if items.is_empty() {
            return None;
        }
        items.get(self.below(items.len() as u64) as usize)
    }

    /// An index drawn by weight (swarm testing); the weights must not all be zero.
    pub fn weighted(&mut self, weights: &[u32]) -> usize {
        let total: u64 = weights.iter().map(|&w| u64::from(w)).sum();
        let mut left = self.below(total);
        for (i, &weight) in weights.iter().enumerate() {
            if left < u64::from(weight) {
                return i;
            }
            left -= u64::from(weight);
        }
        unreachable!("the draw is below the sum of the weights")
    }

    /// A generator of its own for a part, so that the draws of one part do not shift those of
    /// another.
    pub const fn fork(&mut self) -> Prng {
        Prng::new(self.next_u64())
    }
}

const fn finish(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests;
