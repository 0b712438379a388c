//! The dnodes in memory: one for each object, a bounded number of idle ones.
//!
//! A dnode leaves the cache only when nobody else refers to it: holders, and the lists of what is
//! dirty, keep it here, so that two of the same object can never exist. Which idle one goes is
//! decided by a clock: one that was looked up since the hand last passed stays for another round.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex};

use crate::dnode::Dnode;

/// Idle dnodes kept.
const IDLE: usize = 4096;
/// Entries looked at to make room for one.
const LOOKS: usize = 8;

/// See the module.
#[derive(Default)]
pub struct Cache {
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    dnodes: HashMap<u64, Arc<Dnode>>,
    /// Each object of `dnodes` once, and some that have gone.
    hand: VecDeque<u64>,
}

impl Cache {
    pub fn get(&self, object: u64) -> Option<Arc<Dnode>> {
        let inner = env::lock(&self.inner);
        let dnode = inner.dnodes.get(&object)?;
        dnode.touch();
        Some(dnode.clone())
    }

    /// Puts it in if the object is not there and `still` holds, both decided at once. The dnode in
    /// the cache, or `None` if `still` failed.
    pub fn insert(&self, dnode: Arc<Dnode>, still: impl FnOnce() -> bool) -> Option<Arc<Dnode>> {
        let mut inner = env::lock(&self.inner);
        if let Some(there) = inner.dnodes.get(&dnode.object()) {
            return Some(there.clone());
        }
        if !still() {
            return None;
        }
        inner.make_room();
        inner.hand.push_back(dnode.object());
        inner.dnodes.insert(dnode.object(), dnode.clone());
        Some(dnode)
    }

    /// The object is gone: its number may soon mean another.
    pub fn remove(&self, dnode: &Arc<Dnode>) {
        let mut inner = env::lock(&self.inner);
        if inner.dnodes.get(&dnode.object()).is_some_and(|there| Arc::ptr_eq(there, dnode)) {
            inner.dnodes.remove(&dnode.object());
        }
    }

    #[cfg(test)]
    pub fn len(&self) -> usize {
        env::lock(&self.inner).dnodes.len()
    }
}

impl Inner {
    fn make_room(&mut self) {
        if self.dnodes.len() < IDLE {
            return;
        }
        for _ in 0..LOOKS {
            let Some(object) = self.hand.pop_front() else { return };
            let Some(dnode) = self.dnodes.get(&object) else { continue };
            if Arc::strong_count(dnode) == 1 && !dnode.take_touched() {
                self.dnodes.remove(&object);
            } else {
                self.hand.push_back(object);
            }
        }
    }
}
