//! What one disk did, by the kind of I/O: histograms of waiting and of sizes, as
//! `zpool iostat -w -r -q -l` shows them.
//!
//! A request of the queue costs three relaxed additions and no look at the clock: times are those
//! of a whole burst.

use counters::Histogram;

/// Kinds of I/O, in the order of [`crate::leaf_queue`]: sync read and write, async read and write,
/// scrub, trim.
pub const KINDS: usize = 6;

/// Being counted. Nanoseconds and bytes.
#[derive(Default)]
pub struct Tallies {
    /// In the queue and on the disk, of reads and of writes.
    pub total: [Histogram; 2],
    /// In the queue.
    pub queued: [Histogram; KINDS],
    /// Sizes of I/Os that went to the disk as they came, and of those made of several neighbours.
    pub alone: [Histogram; KINDS],
    pub joined: [Histogram; KINDS],
}

impl Tallies {
    pub fn snapshot(&self) -> Tally {
        Tally {
            total: self.total.each_ref().map(Histogram::snapshot),
            queued: self.queued.each_ref().map(Histogram::snapshot),
            alone: self.alone.each_ref().map(Histogram::snapshot),
            joined: self.joined.each_ref().map(Histogram::snapshot),
            ..Tally::zero()
        }
    }
}

/// As counted so far; see [`Tallies`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Tally {
    pub total: [[u64; 64]; 2],
    pub queued: [[u64; 64]; KINDS],
    pub alone: [[u64; 64]; KINDS],
    pub joined: [[u64; 64]; KINDS],
    /// Waiting now, and on the disk now.
    pub waiting: [u64; KINDS],
    pub active: [u64; KINDS],
}

impl Tally {
    pub fn zero() -> Tally {
        Tally {
            total: [[0; 64]; 2],
            queued: [[0; 64]; KINDS],
            alone: [[0; 64]; KINDS],
            joined: [[0; 64]; KINDS],
            waiting: [0; KINDS],
            active: [0; KINDS],
        }
    }

    pub fn add(&mut self, other: &Tally) {
        let pairs = [
            (&mut self.total[..], &other.total[..]),
            (&mut self.queued, &other.queued),
            (&mut self.alone, &other.alone),
            (&mut self.joined, &other.joined),
        ];
        for (own, other) in pairs {
            own.iter_mut().flatten().zip(other.iter().flatten()).for_each(|(own, other)| *own += other);
        }
        self.waiting.iter_mut().zip(other.waiting).for_each(|(own, other)| *own += other);
        self.active.iter_mut().zip(other.active).for_each(|(own, other)| *own += other);
    }
}
