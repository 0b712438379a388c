//! Counts of values by their magnitude, in powers of two.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::Sums;

/// Bucket `i` holds values in `2^i .. 2^(i+1)`, bucket 0 also holds 0. The scale of
/// `zpool iostat -w`.
pub struct Histogram([AtomicU64; 64]);

impl Default for Histogram {
    fn default() -> Histogram {
        Histogram(std::array::from_fn(|_| AtomicU64::new(0)))
    }
}

impl Histogram {
    pub fn record(&self, value: u64) {
        self.0[bucket(value)].fetch_add(1, Relaxed);
    }

    /// The counts, by bucket.
    pub fn snapshot(&self) -> [u64; 64] {
        std::array::from_fn(|i| self.0[i].load(Relaxed))
    }
}

fn bucket(value: u64) -> usize {
    (value | 1).ilog2() as usize
}

/// Buckets of [`Times`]: the last takes what is longer, from 9 minutes on.
const BUCKETS: usize = 40;

/// How long things took: a histogram of nanoseconds that many threads record in at the same time,
/// and the exact sum. It takes 3 KiB.
#[derive(Default)]
pub struct Times(Sums<{ BUCKETS + 1 }>);

/// As recorded so far.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimesSeen {
    /// Bucket `i` counts nanoseconds in `2^i .. 2^(i+1)`; the last, all that are longer.
    pub buckets: [u64; BUCKETS],
    /// Nanoseconds, all together.
    pub sum: u64,
}

impl Times {
    pub fn record(&self, nanos: u64) {
        self.0.add(bucket(nanos).min(BUCKETS - 1), 1);
        self.0.add(BUCKETS, nanos);
    }

    pub fn seen(&self) -> TimesSeen {
        let sums = self.0.get();
        TimesSeen { buckets: std::array::from_fn(|i| sums[i]), sum: sums[BUCKETS] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_fall_into_their_bucket() {
        let histogram = Histogram::default();
        for value in [0, 1, 2, 3, 4, 1023, 1024, u64::MAX] {
            histogram.record(value);
        }
        let counts = histogram.snapshot();
        let filled: Vec<_> = (0..64).filter(|&i| counts[i] > 0).map(|i| (i, counts[i])).collect();
        assert_eq!(filled, [(0, 2), (1, 2), (2, 1), (9, 1), (10, 1), (63, 1)]);
    }

    #[test]
    fn times_have_an_exact_sum_and_the_longest_share_a_bucket() {
        let times = Times::default();
        [0, 5, 1 << 39, 1 << 41].iter().for_each(|nanos| times.record(*nanos));
        let seen = times.seen();
        assert_eq!(seen.sum, 5 + (1 << 39) + (1 << 41));
        assert_eq!((seen.buckets[0], seen.buckets[2], seen.buckets[39]), (1, 1, 2));
        assert_eq!(size_of::<Times>(), 3 << 10);
    }
}
