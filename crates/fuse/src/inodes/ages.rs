//! Nodes that the kernel knows, in the order in which it came to know them, so that the oldest can
//! be found. What the kernel finds in its caches it does not ask for: so that is all we know of
//! age.
//!
//! Invariant: there is no more in the queue than twice what is known, and a little.

use std::collections::VecDeque;

/// Entries that are not known any more are left for so long at least.
const LITTLE: usize = 1024;

/// See the module.
#[derive(Default)]
pub struct Ages {
    queue: VecDeque<u64>,
}

impl Ages {
    /// The kernel came to know a node; with it, it knows so many.
    pub fn add(&mut self, ino: u64, known: usize, is_known: impl Fn(u64) -> bool) {
        if self.queue.len() >= 2 * known + LITTLE {
            self.queue.retain(|ino| is_known(*ino));
        }
        self.queue.push_back(ino);
    }

    /// The oldest, `how_many` at the most. They count as the newest from now on: one that the
    /// kernel does not forget is in use.
    pub fn oldest(&mut self, how_many: usize, is_known: impl Fn(u64) -> bool) -> Vec<u64> {
        let mut found = Vec::new();
        for _ in 0..self.queue.len() {
            if found.len() == how_many {
                break;
            }
            found.extend(self.queue.pop_front().filter(|ino| is_known(*ino)));
        }
        self.queue.extend(&found);
        found
    }
}

#[cfg(test)]
mod tests;
