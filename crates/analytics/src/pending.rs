//! What a lane has seen of one second, and is not merged yet.
//!
//! Keys are found by a small table of hashes, so that one that is known costs no copy of it.
//!
//! Invariants: there are no more than [`KEYS`] of them, so memory and the time of a merge have a
//! bound, and half of the table at the least is free.

use crate::key::{Key, KeyOf, hash, is_same, owned};
use crate::sums::{BUCKETS, Sum};

/// Keys at the most.
pub const KEYS: usize = 64;
const SLOTS: usize = 2 * KEYS;

/// See the module.
pub struct Pending {
    second: u64,
    cells: Vec<(Key, Sum)>,
    /// By hash: where in `cells` it is, and one more. What is nothing is free.
    slots: [u8; SLOTS],
    /// Requests by bucket of latency.
    latencies: [u32; BUCKETS],
}

impl Default for Pending {
    fn default() -> Pending {
        Pending { second: 0, cells: Vec::new(), slots: [0; SLOTS], latencies: [0; BUCKETS] }
    }
}

impl Pending {
    pub fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    pub fn second(&self) -> u64 {
        self.second
    }

    /// Where a key is, or in which slot it belongs.
    fn find(&self, key: &KeyOf<'_>) -> Result<usize, usize> {
        let mut slot = hash(key) as usize % SLOTS;
        while let Some(at) = usize::from(self.slots[slot]).checked_sub(1) {
            if is_same(&self.cells[at].0, key) {
                return Ok(at);
            }
            slot = (slot + 1) % SLOTS;
        }
        Err(slot)
    }

    /// Notes a request. False: the others have to be merged before.
    #[must_use]
    pub fn note(&mut self, second: u64, key: &KeyOf<'_>, sum: &Sum, bucket: u8) -> bool {
        if self.is_empty() {
            self.second = second;
        } else if self.second != second {
            return false;
        }
        match self.find(key) {
            Ok(at) => self.cells[at].1.add(sum),
            Err(_) if self.cells.len() == KEYS => return false,
            Err(slot) => {
                self.cells.push((owned(key), *sum));
                self.slots[slot] = self.cells.len() as u8;
            }
        }
        let count = &mut self.latencies[usize::from(bucket).min(BUCKETS - 1)];
        *count = count.saturating_add(1);
        true
    }

    /// What there is by key and by bucket of latency; nothing is left.
    pub fn take(&mut self) -> (impl Iterator<Item = (Key, Sum)>, [u32; BUCKETS]) {
        self.slots = [0; SLOTS];
        (self.cells.drain(..), std::mem::replace(&mut self.latencies, [0; BUCKETS]))
    }

    pub fn bytes(&self) -> usize {
        size_of::<Pending>() + self.cells.capacity() * size_of::<(Key, Sum)>()
    }
}
