//! What hit rate the cache would have had with any other size: reuse distances of a sample of all
//! blocks (SHARDS; Waldspurger and others, "Efficient MRC Construction with SHARDS", FAST 2015).
//!
//! A block is in the sample if the hash of its name is below a threshold, so of a sampled block
//! every use is seen. Between two uses of it, so many bytes of other sampled blocks were used;
//! divided by the share of the sample, that is the size of a cache (least recently used goes first)
//! in which the second use would have been a hit. The sample has a limit: when it is full, the
//! threshold falls and blocks above it are forgotten, so memory is bounded and a larger working set
//! is sampled more thinly. The order of last uses is a Fenwick tree over a running number: a use
//! costs a logarithm. At first every block is in the sample, so that little says something soon;
//! the more was seen, the fewer are needed, down to one in [`LASTING`]. So a cache that is asked
//! much pays next to nothing.
//!
//! What is written or read ahead counts as used, since it takes a place, but not as asked for.

use std::collections::{BTreeSet, HashMap};

use super::Key;

/// Hashes are compared by so many bits.
const BITS: u32 = 24;
/// Once enough was seen, one block in so many is in the sample.
const LASTING: u32 = 32;
/// Uses after which half of the sample will do.
const ENOUGH: u64 = 1 << 14;
/// Blocks in the sample at the most.
const SAMPLE_MAX: usize = 8192;
/// Running numbers between two renumberings.
const NUMBERS: usize = 4 * SAMPLE_MAX;
/// Buckets of distance for each doubling.
const STEPS: f64 = 8.0;
const BUCKETS: usize = 64 * STEPS as usize;

struct Used {
    number: usize,
    bytes: u64,
    hash: u32,
}

/// See the module.
pub(crate) struct Curve {
    /// Hashes below are sampled.
    threshold: u32,
    used: HashMap<Key, Used>,
    by_hash: BTreeSet<(u32, Key)>,
    /// Bytes by running number of last use.
    order: Fenwick,
    next: usize,
    /// Requests by distance, of the sample, and those for blocks never seen before.
    near: Vec<f64>,
    cold: f64,
    /// Uses since the sample was last made smaller because of their number.
    seen: u64,
}

/// Hit rates by size.
#[derive(Clone, Debug)]
pub struct HitCurve {
    /// Requests with a distance below `2^((i + 1) / STEPS)` bytes, from the first bucket on, and
    /// all there were.
    below: Vec<f64>,
    requests: f64,
    /// Of the sample, before it was scaled up.
    sampled: f64,
}

fn bucket(distance: f64) -> usize {
    ((distance.max(1.0).log2() * STEPS) as usize).min(BUCKETS - 1)
}

impl Curve {
    pub fn new() -> Curve {
        Curve {
            threshold: 1 << BITS,
            used: HashMap::new(),
            by_hash: BTreeSet::new(),
            order: Fenwick::new(NUMBERS),
            next: 0,
            near: vec![0.0; BUCKETS],
            cold: 0.0,
            seen: 0,
        }
    }

    /// What sampling looks at of a name's hash.
    pub fn hash(hash: u64) -> u32 {
        hash as u32 & ((1 << BITS) - 1)
    }

    /// The threshold: blocks whose hash is not below are no business of ours.
    pub fn threshold(&self) -> u32 {
        self.threshold
    }

    fn share(&self) -> f64 {
        f64::from(self.threshold) / f64::from(1u32 << BITS)
    }

    /// Somebody asked for a block.
    pub fn asked(&mut self, key: &Key, hash: u32) {
        if hash >= self.threshold {
            return;
        }
        self.seen += 1;
        if self.seen >= ENOUGH && self.threshold / 2 >= (1 << BITS) / LASTING {
            self.seen = 0;
            self.thin_to(self.threshold / 2);
            return;
        }
        match self.used.get(key) {
            Some(used) if used.bytes > 0 => {
                let between = self.order.above(used.number) + used.bytes;
                let distance = between as f64 / self.share();
                self.near[bucket(distance)] += 1.0;
                let bytes = used.bytes;
                self.touch(key, hash, bytes);
            }
            Some(_) => self.cold += 1.0,
            None => {
                self.cold += 1.0;
                self.touch(key, hash, 0);
            }
        }
    }

    /// A block of so many bytes was put into the cache.
    pub fn arrived(&mut self, key: &Key, hash: u32, bytes: u64) {
        if hash < self.threshold {
            self.touch(key, hash, bytes);
        }
    }

    /// A block is no more.
    pub fn gone(&mut self, key: &Key, hash: u32) {
        if hash < self.threshold {
            self.forget(key);
        }
    }

    fn touch(&mut self, key: &Key, hash: u32, bytes: u64) {
        if self.next == NUMBERS {
            self.renumber();
        }
        let number = self.next;
        self.next += 1;
        match self.used.insert(*key, Used { number, bytes, hash }) {
            Some(before) => self.order.sub(before.number, before.bytes),
            None => {
                self.by_hash.insert((hash, *key));
            }
        }
        self.order.add(number, bytes);
        if self.used.len() > SAMPLE_MAX
            && let Some(&(highest, _)) = self.by_hash.last()
        {
            self.thin_to(highest);
        }
    }

    fn forget(&mut self, key: &Key) {
        if let Some(used) = self.used.remove(key) {
            self.order.sub(used.number, used.bytes);
            self.by_hash.remove(&(used.hash, *key));
        }
    }

    /// Lowers the threshold, and gives the counts the weight that they have then.
    fn thin_to(&mut self, threshold: u32) {
        let before = self.share();
        self.threshold = threshold;
        while let Some(&(hash, key)) = self.by_hash.last() {
            if hash < threshold {
                break;
            }
            self.forget(&key);
        }
        let weight = self.share() / before;
        self.near.iter_mut().for_each(|count| *count *= weight);
        self.cold *= weight;
    }

    fn renumber(&mut self) {
        let mut all: Vec<(&Key, &mut Used)> = self.used.iter_mut().collect();
        all.sort_unstable_by_key(|(_, used)| used.number);
        self.order = Fenwick::new(NUMBERS);
        self.next = all.len();
        for (number, (_, used)) in all.into_iter().enumerate() {
            used.number = number;
            self.order.add(number, used.bytes);
        }
    }

    /// What was found. `requests` is how often a block was asked for in all: what the sample has
    /// too few or too many of belongs to very popular blocks, which hit in any cache.
    pub fn hit_curve(&self, requests: u64) -> HitCurve {
        let sampled = self.near.iter().sum::<f64>() + self.cold;
        let share = self.share();
        let missing = requests as f64 * share - sampled;
        let mut sum = missing.max(-self.near[..bucket(1e6)].iter().sum::<f64>());
        let mut below = Vec::with_capacity(BUCKETS);
        for count in &self.near {
            sum += count;
            below.push(sum.max(0.0) / share);
        }
        HitCurve { below, requests: requests as f64, sampled }
    }
}

impl HitCurve {
    /// Requests in the sample that all this rests on.
    pub fn sampled(&self) -> f64 {
        self.sampled
    }

    /// The share of requests, 0 to 1, that a cache of so many bytes would have answered.
    pub fn hit_rate(&self, bytes: f64) -> f64 {
        if self.requests <= 0.0 || bytes < 1.0 {
            return 0.0;
        }
        let at = bucket(bytes);
        let edge = |bucket: usize| 2f64.powf(bucket as f64 / STEPS);
        let before = if at == 0 { 0.0 } else { self.below[at - 1] };
        let part = ((bytes - edge(at)) / (edge(at + 1) - edge(at))).clamp(0.0, 1.0);
        ((before + (self.below[at] - before) * part) / self.requests).clamp(0.0, 1.0)
    }
}

/// Sums over a prefix of numbers, each of which may change.
struct Fenwick {
    tree: Vec<u64>,
    total: u64,
}

impl Fenwick {
    fn new(len: usize) -> Fenwick {
        Fenwick { tree: vec![0; len + 1], total: 0 }
    }

    fn add(&mut self, at: usize, by: u64) {
        self.total += by;
        self.change(at, by);
    }

    fn sub(&mut self, at: usize, by: u64) {
        self.total -= by;
        self.change(at, by.wrapping_neg());
    }

    fn change(&mut self, at: usize, by: u64) {
        let mut i = at + 1;
        while i < self.tree.len() {
            self.tree[i] = self.tree[i].wrapping_add(by);
            i += i & i.wrapping_neg();
        }
    }

    /// The sum behind `at`.
    fn above(&self, at: usize) -> u64 {
        let (mut i, mut upto) = (at + 1, 0u64);
        while i > 0 {
            upto = upto.wrapping_add(self.tree[i]);
            i &= i - 1;
        }
        self.total - upto
    }
}

#[cfg(test)]
mod tests;
