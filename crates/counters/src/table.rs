//! Sums by who caused them, for as many as matter.
//!
//! Whoever is to count for a key resolves it once, when a connection or a file system is opened
//! ([`Table::of`]), and adds to the sums that it is given. As long as somebody holds those, the key
//! has an entry of its own. Of the keys that nobody holds, the table keeps the heaviest; the others
//! are *folded*: their sums are added to the rest.
//!
//! ```text
//!   held        ├─ client 192.0.2.1 ─┤├─ client 192.0.2.7 ─┤        bounded by who holds
//!   kept        ├─ client 192.0.2.3 ─┤├─ … ─┤                       bounded by `kept`
//!   rest        ├──────────── all that were folded ─────────────┤   one
//! ```
//! Invariants:
//! - All entries and the rest together are exactly what was added, at any time: a key is folded
//!   under the lock that readers take, and when nobody can add to it any more.
//! - There are no more entries than keys that are held, and `kept`, and an eighth of that.
//!
//! A key that was folded and comes again begins at 0.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::Sums;

/// What tells which of two is heavier.
type Weight<const N: usize> = fn(&[u64; N]) -> u64;

/// See the module.
pub struct Table<K, const N: usize> {
    state: Mutex<State<K, N>>,
    kept: usize,
    weight: Weight<N>,
}

struct State<K, const N: usize> {
    entries: HashMap<K, Arc<Sums<N>>>,
    rest: [u64; N],
    /// Keys that were folded so far.
    folded: u64,
    /// With so many entries it is looked again which to fold.
    look_at: usize,
}

/// What a table had when it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen<K, const N: usize> {
    /// The heaviest first.
    pub entries: Vec<(K, [u64; N])>,
    pub rest: [u64; N],
    /// How often a key was put to the rest.
    pub folded: u64,
}

impl<K: Clone + Eq + Hash + Ord, const N: usize> Table<K, N> {
    /// `kept`: keys that nobody holds and that have an entry still. `weight` is to be monotone.
    pub fn new(kept: usize, weight: Weight<N>) -> Table<K, N> {
        let state = State { entries: HashMap::new(), rest: [0; N], folded: 0, look_at: kept + 1 };
        Table { state: Mutex::new(state), kept, weight }
    }

    /// A panic under it leaves every sum as it was.
    fn state(&self) -> MutexGuard<'_, State<K, N>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The sums of a key, for as long as somebody is to add to them.
    pub fn of(&self, key: &K) -> Arc<Sums<N>> {
        let mut state = self.state();
        if let Some(known) = state.entries.get(key) {
            return known.clone();
        }
        if state.entries.len() >= state.look_at {
            self.fold(&mut state);
        }
        let new = Arc::<Sums<N>>::default();
        state.entries.insert(key.clone(), new.clone());
        new
    }

    /// Folds the lightest of those that nobody holds. Looks at all of them, so it is done once for
    /// an eighth of them.
    fn fold(&self, state: &mut State<K, N>) {
        let is_free = |sums: &Arc<Sums<N>>| Arc::strong_count(sums) == 1;
        let free = state.entries.iter().filter(|(_, sums)| is_free(sums));
        let mut free: Vec<(u64, K)> =
            free.map(|(key, sums)| ((self.weight)(&sums.get()), key.clone())).collect();
        let many = free.len().saturating_sub(self.kept);
        free.sort_unstable();
        for (_, key) in free.into_iter().take(many) {
            let Some(sums) = state.entries.remove(&key) else { continue };
            // Nobody has got hold of it in between, for that takes the lock; and with it come all
            // additions of who had.
            if let Ok(sums) = Arc::try_unwrap(sums) {
                add(&mut state.rest, &sums.get());
                state.folded += 1;
            }
        }
        state.look_at = state.entries.len().max(self.kept) + self.kept / 8 + 1;
    }

    pub fn seen(&self) -> Seen<K, N> {
        let state = self.state();
        let entries = state.entries.iter().map(|(key, sums)| (key.clone(), sums.get()));
        let mut seen = Seen { entries: entries.collect(), rest: state.rest, folded: state.folded };
        drop(state);
        seen.entries.sort_by_cached_key(|(key, sums)| (Reverse((self.weight)(sums)), key.clone()));
        seen
    }
}

impl<K, const N: usize> Seen<K, N> {
    /// The heaviest so many; the others are put to the rest.
    #[must_use]
    pub fn top(mut self, many: usize) -> Seen<K, N> {
        for (_, sums) in self.entries.drain(many.min(self.entries.len())..) {
            add(&mut self.rest, &sums);
        }
        self
    }

    /// All of them together.
    pub fn total(&self) -> [u64; N] {
        let mut total = self.rest;
        self.entries.iter().for_each(|(_, sums)| add(&mut total, sums));
        total
    }
}

fn add<const N: usize>(to: &mut [u64; N], more: &[u64; N]) {
    to.iter_mut().zip(more).for_each(|(sum, more)| *sum = sum.wrapping_add(*more));
}

#[cfg(test)]
mod tests;
